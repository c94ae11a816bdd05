package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// settled is how long after a new log has taken the place of the old one this is
// still looked at: longer than an odd record waits for those behind it.
const settled = 500 * time.Millisecond

// A follower prints the rows of a log that come, and goes on with another that takes
// its place.
type follower struct {
	*inputFlags
	cmd    *cobra.Command
	where  *whereFlag
	format string
	// columns are those of a table, nil for the format's own.
	columns []*rows.Column
	// damaged says that one of the logs was.
	damaged bool
	// annotations has what the program wrote into its log written among the rows of a text.
	annotations bool
	// over, where not nil, is closed when the program has surely ended: the log is looked at once more then.
	over <-chan struct{}
}

// follow prints the last rows of a log, all of them if last is -1, and then
// those that come. Where the program is started again and has a new file of the same
// name, or writes the old one anew, it goes on with that from its beginning.
func (f *inputFlags) follow(cmd *cobra.Command, args []string, where *whereFlag, format string, columns []*rows.Column, last int64) error {
	f.live = true
	logs, err := f.logs(cmd, args)
	if err != nil {
		return err
	}
	if len(logs) > 1 {
		return misused("--follow takes one LOG, and %s has those of %d processes; --newest takes the one that was written last", args[0], len(logs))
	}
	w := &follower{inputFlags: f, cmd: cmd, where: where, format: format, columns: columns}
	path, err := w.one(logs[0], last, true)
	for err == nil && path != "" {
		path, err = w.one(path, -1, false)
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err == nil {
		err = terminated(cmd.Context())
	}
	if err == nil && f.strict && w.damaged {
		err = strictError("the log is damaged")
	}
	return err
}

func (w *follower) say(text string, args ...any) {
	fmt.Fprintln(w.cmd.ErrOrStderr(), "logparse:", rows.Visible(fmt.Sprintf(text, args...)))
}

// one follows one file. It returns the path to go on with, "" where following has
// ended. first says that no rows were printed before.
func (w *follower) one(log string, last int64, first bool) (path string, err error) {
	ctx := w.cmd.Context()
	s, err := w.openLogs(w.cmd, []string{log}, func(ctx context.Context, in app.Inputs, p app.Progress) (*app.Session, error) {
		return app.OpenLive(ctx, in, p, func() { w.say("waiting for %s", in.Log) })
	})
	if err != nil {
		return "", err
	}
	defer s.Close()
	defer func() { w.damaged = w.damaged || s.Damaged() }()
	path = s.Inputs().Log
	out := w.cmd.OutOrStdout()
	v, err := s.View(ctx, w.where.selection(), nil)
	if err == nil {
		err = v.Wait(ctx)
	}
	if err != nil {
		return "", err
	}
	var next int64
	if last >= 0 {
		next = v.Total()
		if first := v.Len() - last; last > 0 && v.Len() > 0 {
			next = v.RowOf(max(first, 0))
		}
	}
	if !first && w.format == "txt" {
		if _, err := fmt.Fprintln(out); err != nil {
			return "", err
		}
	}
	write := func(ctx context.Context, from int64, head bool) (int64, error) {
		return v.WriteLive(ctx, out, w.format, app.SaveOptions{Columns: w.columns}, from, head)
	}
	if w.annotations {
		lines := v.LiveWriter()
		write = func(ctx context.Context, from int64, head bool) (int64, error) {
			return lines.Write(ctx, out, app.SaveOptions{}, from, head)
		}
	}
	next, err = write(ctx, next, first || w.format == "txt")
	if err != nil {
		return "", err
	}
	following, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	var moved atomic.Bool
	changed := func(u app.Update) {
		if next, failed = write(ctx, next, false); failed != nil {
			stop()
			return
		}
		if u.Runs > 0 {
			w.say("the program was started again: a new run begins")
		}
		if u.Replaced {
			w.say("the log was renamed or replaced; what comes under its name is shown as soon as it is there")
			go func() {
				if appears(following, path) {
					moved.Store(true)
					stop()
				}
			}()
		}
		if u.Ended {
			w.say("the program has ended")
		}
	}
	err = s.Follow(following, changed)
	if err == nil && failed == nil && !moved.Load() && w.over != nil {
		err = w.lookAgain(ctx, s, changed)
	}
	switch {
	case failed != nil:
		return "", failed
	case err != nil && app.WasCut(err):
		w.say("the log was cut or written anew; it is shown from its beginning")
		return path, nil
	case err == nil && moved.Load():
		w.say("going on with the new %s", path)
		return path, nil
	}
	return "", err
}

// lookAgain takes in what a program wrote behind the end of its log, such as output that its C library kept back.
func (w *follower) lookAgain(ctx context.Context, s *app.Session, changed func(app.Update)) error {
	select {
	case <-w.over:
	case <-ctx.Done():
		return nil
	}
	return s.Follow(ctx, func(u app.Update) {
		u.Ended = false // that was said
		changed(u)
	})
}

// appears waits for a file, and then until the one that was there before it has
// surely been read to its end.
func appears(ctx context.Context, path string) bool {
	for wait := settled / 10; ; {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		if wait == settled {
			return true
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			wait = settled
		}
	}
}

// terminated returns the context's error if a signal ended it that is not Ctrl+C,
// the usual end of following.
func terminated(ctx context.Context) error {
	if s, ok := interruptedBy(ctx); ok && s != syscall.SIGINT {
		return ctx.Err()
	}
	return nil
}
