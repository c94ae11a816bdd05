//go:build !linux

package main

import "math"

// limitMemory does nothing: a limit of the address space is usual on Linux alone.
func limitMemory() error { return nil }

// machineMemory returns how much memory the machine has, in bytes: as much as there can be, since it is not asked.
func machineMemory() uint64 { return math.MaxUint64 }
