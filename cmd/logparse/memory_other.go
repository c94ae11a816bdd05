//go:build !linux

package main

// limitMemory does nothing: a limit of the address space is usual on Linux alone.
func limitMemory() error { return nil }
