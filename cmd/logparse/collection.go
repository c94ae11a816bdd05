package main

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// leastHeap is the size in bytes that the heap may have without a garbage collection. Go's own value is 4 MiB: a command that needs
// 100 MiB for a moment collects six times on the way, and nearly all of what it finds is still in use. runtimeHeap is that value, for a
// percentage of 100.
const (
	leastHeap   = 192 << 20
	runtimeHeap = 4 << 20

	leastMachine = 2 << 30
)

// collectLate has the garbage collector run only where the heap has grown to leastHeap; larger ones are collected as usual.
func collectLate() {
	if os.Getenv("GOGC") != "" || debug.SetMemoryLimit(-1) != math.MaxInt64 || machineMemory() < leastMachine {
		return // somebody has decided, or memory is short
	}
	debug.SetGCPercent(latePercent(0))
	onCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(latePercent(live[0].Value.Uint64()))
	})
}

// latePercent returns the percentage by which a heap may grow of which live bytes were in use at the last collection.
func latePercent(live uint64) int {
	const most = 100 * leastHeap / runtimeHeap // more would raise the runtime's own least size above leastHeap
	if live == 0 {
		return most
	}
	return int(min(max(100, 100*(leastHeap-min(live, leastHeap))/live), most))
}

// onCollection calls f after each garbage collection.
func onCollection(f func()) {
	// Nothing refers to the value, so that the next collection finds it.
	runtime.AddCleanup(new(*int), func(f func()) {
		f()
		onCollection(f)
	}, f)
}
