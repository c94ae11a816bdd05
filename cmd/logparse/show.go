package main

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// styleTracer is the style that show prints rows in besides those of its formats.
const styleTracer = "tracer"

// showOptions are what show is asked for.
type showOptions struct {
	in             inputFlags
	where          whereFlag
	asJSON, follow bool
	format, style  string
	last           int64 // rows, -1 for all
	columns        columnsFlag
}

func newShow() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show LOG...",
		Short: "Print a log as a readable table",
		Long: `show prints the log's rows. With --follow it goes on with the rows that the
program writes from then on, each within a quarter of a second, until it is
interrupted (status 0), its output is closed, or the log says that the program
has ended. It waits for a log that is not there yet, and goes on with the new
file where the program is started again and makes one of the same name. A row is printed once: the
duration of a call stands at its leave.

Several traces are printed as one, in order of time, with a column for the
process; other logs one after another, each below its name; with --newest
only the one that was written last.

` + whereHelp,
		Example: `  logparse show LogDetails.dat | less -S
  logparse show . --symbols build --json | head
  logparse show . --where 'in:Render (mark:open or dur:>5ms)'
  logparse show LogDetails.dat --follow -n 20
  logparse show app.*.lptrace --newest
  logparse show traced.lptrace --style tracer --follow
  zcat app.lptrace.gz | logparse show -
  perf script | logparse show -
  cat /sys/kernel/tracing/trace_pipe | logparse show --follow -`,
		Args: severalLogs,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.in.add(cmd)
	o.where.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object a row, as --format jsonl does")
	flags.StringVar(&o.format, "format", "txt", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVarP(&o.follow, "follow", "f", false, "go on with the rows that come")
	flags.Int64VarP(&o.last, "limit", "n", -1, "at most `N` rows: the last that there are, and with --follow those that come (default: all)")
	flags.StringVar(&o.style, "style", "", "tracer: a `line` a row as interposing tracers print them, as --format tracer does")
	o.columns.add(cmd)
	completeWith(cmd, "format", app.SaveFormats())
	completeWith(cmd, "style", []string{styleTracer})
	return cmd
}

// check refuses what does not go together, and completes the rest.
func (o *showOptions) check(cmd *cobra.Command) error {
	if err := oneOf("--format", o.format, app.SaveFormats()); err != nil {
		return err
	}
	switch {
	case o.style != "" && o.style != styleTracer:
		return oneOf("--style", o.style, []string{styleTracer})
	case o.style != "" && (o.asJSON || cmd.Flags().Changed("format") && o.format != styleTracer):
		return misused("--style tracer stands for --format tracer, and another format was given, too")
	case o.style != "":
		o.format = styleTracer
	}
	if o.asJSON {
		if cmd.Flags().Changed("format") && o.format != "jsonl" {
			return misused("--json stands for --format jsonl, and %s was given, too", o.format)
		}
		o.format = "jsonl"
	}
	if o.last < -1 {
		return misused("--limit is a number of rows, such as 20, not %d", o.last)
	}
	return nil
}

// checkLogs refuses logs that cannot be shown as is asked for.
func (o *showOptions) checkLogs(args []string) error {
	if len(args) > 1 && !o.in.newest {
		if o.follow {
			return misused("--follow takes one LOG, not %d; --newest takes the one that was written last", len(args))
		}
		if o.format != "txt" && !together(args) {
			return misused("several logs that are no traces are printed as txt only, not as %s; --newest takes the one that was written last", o.format)
		}
	}
	if !o.follow {
		return nil
	}
	return oneOf("with --follow --format", o.format, app.LiveFormats())
}

func (o *showOptions) run(cmd *cobra.Command, args []string) error {
	if err := o.check(cmd); err != nil {
		return err
	}
	chosen, err := o.columns.parse(cmd, o.format)
	if err != nil {
		return err
	}
	if err := cmp.Or(o.where.check(cmd, &o.in), o.checkLogs(args)); err != nil {
		return err
	}
	if o.follow {
		err := o.in.follow(cmd, args, &o.where, o.format, chosen, o.last)
		if errors.Is(err, context.Canceled) {
			return terminated(cmd.Context()) // before the first line came
		}
		return err
	}
	logs, err := o.in.logs(cmd, args)
	if err != nil {
		return err
	}
	if together(logs) {
		return o.show(cmd, chosen, logs...)
	}
	return each(cmd, logs, func(log string) error { return o.show(cmd, chosen, log) })
}

// show prints the rows of logs, which are opened as one.
func (o *showOptions) show(cmd *cobra.Command, columns []*rows.Column, logs ...string) error {
	var first *app.Session
	shown := int64(0)
	if app.LiveFormat(o.format) && len(logs) == 1 && columns == nil && o.last < 0 && o.where.none() {
		var err error
		if first, shown, err = o.in.showFirst(cmd, logs[0], o.format); err != nil {
			return err
		}
		if first != nil {
			defer first.Close()
		}
	}
	s, err := o.in.openLogs(cmd, logs, app.Open)
	if err != nil {
		return err
	}
	defer s.Close()
	src, err := o.where.certainRows(cmd, &o.in, s)
	if err != nil {
		return err
	}
	if shown, err = after(cmd, first, shown, s); err != nil {
		return err
	}
	opt := app.SaveOptions{Columns: columns, From: shown, NoHead: shown > 0}
	if o.last >= 0 {
		opt.From = max(src.Len()-o.last, 0)
	}
	if err := s.WriteRows(cmd.Context(), cmd.OutOrStdout(), o.format, src, opt, nil); err != nil {
		return err
	}
	return o.in.finish(s)
}
