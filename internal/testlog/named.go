package testlog

import (
	"math/rand/v2"
)

// NamedLog makes a log whose pairs depend on names.
func NamedLog(seed uint64, n int) *Broken {
	c := Chaos{Threads: 3, Functions: 20, Enters: 52, Foreign: true, Tail: 10, Unwind: 10}
	return c.Log(rand.New(rand.NewPCG(seed, 9)), n, 1)
}
