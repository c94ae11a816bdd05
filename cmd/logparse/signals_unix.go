//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes makes writing to a pipe without a reader an error instead of
// the process's end.
func ignoreBrokenPipes() { signal.Ignore(syscall.SIGPIPE) }
