package main

import (
	"runtime"
	"testing"
	"time"
)

func TestLatePercent(t *testing.T) {
	for _, test := range []struct {
		live    uint64
		percent int
	}{
		{0, 4800}, {1, 4800}, {3 << 20, 4800}, {32 << 20, 500}, {96 << 20, 100}, {leastHeap, 100}, {1 << 62, 100},
	} {
		if got := latePercent(test.live); got != test.percent {
			t.Errorf("of %d bytes: %d percent, want %d", test.live, got, test.percent)
		}
	}
}

func TestOnCollection(t *testing.T) {
	done := make(chan struct{}, 1)
	onCollection(func() {
		select {
		case done <- struct{}{}:
		default: // nobody waits for those after the test
		}
	})
	for range 3 {
		for waiting := true; waiting; {
			runtime.GC()
			select {
			case <-done:
				waiting = false
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
}
