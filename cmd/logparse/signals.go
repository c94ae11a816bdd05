package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"logparser/app"
)

// exitSignal plus a signal's number is the exit status of a command that was
// ended by it, as shells have it.
const exitSignal = 128

// endSignal is the signal that ended a recorded program, 0 for none: the command is to end by
// it, too.
var endSignal atomic.Int32

// patience is how long what is under way may take to end after a signal. Windows
// ends a program whose console was closed after 5 seconds.
const patience = 4 * time.Second

// An interruption is the signal that ended a command, the cause of its context's
// end.
type interruption struct{ syscall.Signal }

func (i interruption) Error() string { return "ended by the signal: " + i.Signal.String() }

// interruptible returns a context that the signals end which ask a program to
// end: Ctrl+C, SIGTERM and SIGHUP; on Windows Ctrl+C, Ctrl+Break, and the closing of
// the console, which Go gives as SIGTERM. Those that the caller has this process
// ignore, as nohup does, stay ignored. A second one, or some seconds, end the
// process at once, with nothing left of what it was writing.
func interruptible(ctx context.Context) context.Context {
	// Who reads our output may have seen enough, as head does.
	ignoreBrokenPipes()
	var wanted []os.Signal
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan os.Signal, 2)
	signal.Notify(came, wanted...)
	go func() {
		var first syscall.Signal
		for s := range came {
			// While a program is recorded they are for the program.
			if !recording.Load() {
				first = s.(syscall.Signal)
				break
			}
		}
		cancel(interruption{first})
		select {
		case <-came:
		case <-time.After(patience):
		}
		app.RemoveUnfinished()
		removeLeftovers()
		os.Exit(exitSignal + int(first))
	}()
	return ctx
}

// interruptedBy returns the signal that ended a context, if one did.
func interruptedBy(ctx context.Context) (syscall.Signal, bool) {
	var i interruption
	ok := errors.As(context.Cause(ctx), &i)
	return i.Signal, ok
}

// leftovers are folders of the command's own to remove when it ends.
var leftovers struct {
	sync.Mutex
	paths []string
}

// removeAtEnd has a temporary folder removed when the command ends.
func removeAtEnd(path string) {
	leftovers.Lock()
	defer leftovers.Unlock()
	leftovers.paths = append(leftovers.paths, path)
}

func removeLeftovers() {
	leftovers.Lock()
	defer leftovers.Unlock()
	for _, path := range leftovers.paths {
		app.RemoveTemporary(path)
	}
	leftovers.paths = nil
}
