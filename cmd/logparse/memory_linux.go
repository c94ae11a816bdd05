package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
)

// What there must be of an address space that is limited (ulimit -v), in bytes.
// Go's runtime takes some 700 to 1,200 MiB of it before main begins, and what it
// needs more in pieces of 64 MiB; where it gets none it ends the process with a page
// of goroutines. Below 700 MiB, and where just its beginning fits, it does so
// before anything can be said.
const (
	leastRoom         = 256 << 20
	usualAddressSpace = 2 << 30
)

// limitMemory makes the process stay within the limit of its address space, or
// says that it is too low.
func limitMemory() error {
	var limit syscall.Rlimit
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil || syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil {
		return nil
	}
	total, _, _ := bytes.Cut(statm, []byte(" "))
	pages, err := strconv.ParseUint(string(total), 10, 40)
	if err != nil {
		return nil
	}
	heap, err := heapLimit(limit.Cur, pages*uint64(os.Getpagesize()))
	if heap > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heap)
	}
	return err
}

// heapLimit returns what the process may take of memory of its own where its
// address space is limited, of which some is used; 0 for no limit. All are
// numbers of bytes.
func heapLimit(space, used uint64) (int64, error) {
	switch {
	case space > 64<<30:
		return 0, nil
	case space < used+leastRoom:
		return 0, fmt.Errorf("the address space is limited to %d MiB, which is too little: allow %d MiB (ulimit -v %d) or more",
			space>>20, usualAddressSpace>>20, usualAddressSpace>>10)
	}
	return int64(space-used) / 2, nil
}

// memoryFiles say how much memory there is: of the machine, and for a container, with versions 2 and 1 of control groups.
var memoryFiles = []string{"/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// machineMemory returns how much memory the machine has, or the container, in bytes. It is as much as there can be where nothing says so.
func machineMemory() uint64 {
	least := uint64(math.MaxUint64)
	for _, name := range memoryFiles {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		unit := uint64(1)
		if rest, ok := bytes.CutPrefix(text, []byte("MemTotal:")); ok {
			text, unit = rest, 1<<10
		}
		fields := bytes.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if n, err := strconv.ParseUint(string(fields[0]), 10, 64); err == nil && n <= math.MaxUint64/unit {
			least = min(least, n*unit)
		}
	}
	return least
}
