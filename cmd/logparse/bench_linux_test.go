package main

import (
	"os"
	"syscall"
)

// maxResident returns the most memory that an ended process took, in bytes.
func maxResident(p *os.ProcessState) int64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	return int64(usage.Maxrss) * 1024
}
