//go:build go1.18
// +build go1.18

package geometry

// Words maps numbers to words by way of generic functions and methods.
func Words(numbers []int, add func(int) int, word func(int) string) []string {
	var stack Stack[string]
	for _, w := range Map(Map(numbers, add), word) {
		stack.Push(w)
	}
	return stack.items
}

// Map is generic; it is not inlined.
//
//go:noinline
func Map[T, U any](list []T, f func(T) U) []U {
	var out []U
	for _, v := range list {
		out = append(out, f(v))
	}
	return out
}

// A Stack is a generic type with methods.
type Stack[T any] struct{ items []T }

// Push is not inlined.
//
//go:noinline
func (s *Stack[T]) Push(v T) { s.items = append(s.items, v) }
