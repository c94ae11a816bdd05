//go:build !unix

package main

import (
	"os"
	"time"
)

var begin = time.Now()

// cpuTime is the time that has passed, for want of something better.
func cpuTime() time.Duration { return time.Since(begin) }

// peak is not known here.
func peak(*os.ProcessState) int64 { return 0 }
