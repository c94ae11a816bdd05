// Shapes is a program with the kinds of functions that Go has: methods,
// closures, method values, generics, inlined and deferred calls. It reads
// addresses of its own code, hexadecimal, one a line, and writes for each the
// frame that runtime.CallersFrames gives.
package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"

	"example.com/shapes/geometry"
)

//go:noinline
func total(shapes []geometry.Shape) (sum int) {
	defer func() {
		if recover() != nil {
			sum = -1
		}
	}()
	for _, s := range shapes {
		sum += s.Area()
	}
	return sum
}

// twice is inlined, and inlines what it calls.
func twice(s geometry.Square) int { return half(s) + half(s) }

func half(s geometry.Square) int { return s.Area() / 2 }

//go:noinline
func run() int {
	s := geometry.Square{Side: 3}
	grow := s.Grow
	grow(2)
	add := func(n int) int { return n + twice(s) }
	words := geometry.Words([]int{1, 2}, func(n int) int { return add(n) }, func(n int) string { return strconv.Itoa(n) })
	return total([]geometry.Shape{s, &s}) + len(words)
}

func main() {
	if run() == 0 {
		os.Exit(1)
	}
	in := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		pc, err := strconv.ParseUint(in.Text(), 16, 64)
		if err != nil {
			os.Exit(2)
		}
		// CallersFrames takes return addresses.
		f, _ := runtime.CallersFrames([]uintptr{uintptr(pc) + 1}).Next()
		out.WriteString(f.Function + "\t" + f.File + ":" + strconv.Itoa(f.Line) + "\n")
	}
}
