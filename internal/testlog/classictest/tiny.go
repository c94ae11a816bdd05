package classictest

import (
	"encoding/binary"
	"io"
)

// A tinyStep is an enter or leave of a function, counted from its thread's
// first.
type tinyStep struct {
	function uint32
	flag     byte
}

// tinyProgram returns what a thread of a tiny program does again and again:
// loops of small calls, and a Fibonacci number.
func tinyProgram() []tinyStep {
	var list []tinyStep
	call := func(f uint32, body func()) {
		list = append(list, tinyStep{f, 1})
		if body != nil {
			body()
		}
		list = append(list, tinyStep{f, 0})
	}
	for i := range uint32(40) {
		call(1, func() {
			for j := range uint32(25) {
				call(2+j%5, func() {
					call(7+(i+j)%20, nil)
					call(27+i%8, func() { call(35+j%3, nil) })
				})
			}
		})
	}
	var fib func(n int)
	fib = func(n int) {
		call(38, func() {
			if n > 1 {
				fib(n - 1)
				fib(n - 2)
			}
		})
	}
	fib(14)
	return list
}

// tiny writes a log of the Spec's threads, each of which runs the program in
// a function of its own that it never leaves.
func (g *generator) tiny(w io.Writer) error {
	program := tinyProgram()
	const blockRecords = 8192
	block := make([]byte, blockRecords*g.RecordSize)
	for i := range block {
		block[i] = g.Padding
	}
	next := make([]int, len(g.threads))
	for i := range next {
		next[i] = -1
	}
	used, inTick, tick := 0, 0, g.StartTick
	for left := g.Records; left > 0; {
		n := g.rng.next()
		k := int(n % uint64(len(g.threads)))
		burst := min(left, int64(n>>32&0x3ff)+1)
		left -= burst
		id, at := g.threads[k].id, next[k]
		for ; burst > 0; burst-- {
			var step tinyStep
			if at < 0 {
				step = tinyStep{0, 1}
			} else {
				step = program[at]
			}
			if at++; at == len(program) {
				at = 0
			}
			r := block[used : used+g.RecordSize]
			used += len(r)
			address := g.addresses[int(step.function)%len(g.addresses)]
			if len(r) == 24 {
				binary.LittleEndian.PutUint64(r, address)
				r = r[8:]
			} else {
				binary.LittleEndian.PutUint32(r, uint32(address))
				r = r[4:]
			}
			binary.LittleEndian.PutUint32(r, id)
			binary.LittleEndian.PutUint32(r[4:], tick)
			r[8] = step.flag
			if inTick++; inTick >= g.PerMillisecond {
				inTick = 0
				tick++
			}
			if used == len(block) {
				if _, err := w.Write(block); err != nil {
					return err
				}
				used = 0
			}
		}
		next[k] = at
	}
	_, err := w.Write(block[:used])
	return err
}
