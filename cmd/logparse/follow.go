package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"logparser/app"
)

// follow prints the last rows of a log, all of them if last is -1, and then
// those that come.
func (f *inputFlags) follow(cmd *cobra.Command, args []string, where *whereFlag, format string, last int64) error {
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	say := func(text string, args ...any) {
		fmt.Fprintf(cmd.ErrOrStderr(), "logparse: "+text+"\n", args...)
	}
	s, err := f.openWith(cmd, args, func(ctx context.Context, in app.Inputs, p app.Progress) (*app.Session, error) {
		return app.OpenLive(ctx, in, p, func() { say("waiting for %s", in.Log) })
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	out := cmd.OutOrStdout()
	v, err := s.View(ctx, where.selection(), nil)
	if err == nil {
		err = v.Wait(ctx)
	}
	if err != nil {
		return err
	}
	var next int64
	if last >= 0 {
		next = v.Total()
		if first := v.Len() - last; last > 0 && v.Len() > 0 {
			next = v.RowOf(max(first, 0))
		}
	}
	if next, err = v.WriteLive(ctx, out, format, app.SaveOptions{}, next, true); err == nil {
		var failed error
		err = s.Follow(ctx, func(u app.Update) {
			if next, failed = v.WriteLive(ctx, out, format, app.SaveOptions{}, next, false); failed != nil {
				stop()
				return
			}
			if u.Runs > 0 {
				say("the program was started again: a new run begins")
			}
			if u.Replaced {
				say("the log was renamed or replaced; what comes is from the old file, follow again for the new one")
			}
			if u.Ended {
				say("the program has ended")
			}
		})
		if failed != nil {
			err = failed
		}
	}
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if err != nil {
		return err
	}
	return f.finish(s)
}
