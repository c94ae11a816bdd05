//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreBrokenPipes makes writing to a pipe without a reader an error instead of
// the process's end. Programs that this one starts are not to ignore the signal, so it is
// received, not ignored.
func ignoreBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
