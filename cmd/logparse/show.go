package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newShow() *cobra.Command {
	var in inputFlags
	var where whereFlag
	var asJSON, follow bool
	var format string
	var last int64
	var columns columnsFlag
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
  zcat app.lptrace.gz | logparse show -`,
		Args: severalLogs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneOf("--format", format, app.SaveFormats()); err != nil {
				return err
			}
			if asJSON {
				if cmd.Flags().Changed("format") && format != "jsonl" {
					return misused("--json stands for --format jsonl, and %s was given, too", format)
				}
				format = "jsonl"
			}
			if last < -1 {
				return misused("--limit is a number of rows, such as 20, not %d", last)
			}
			chosen, err := columns.parse(cmd, format)
			if err != nil {
				return err
			}
			if err := where.check(cmd, &in); err != nil {
				return err
			}
			if len(args) > 1 && !in.newest {
				if follow {
					return misused("--follow takes one LOG, not %d; --newest takes the one that was written last", len(args))
				}
				if format != "txt" && !together(args) {
					return misused("several logs that are no traces are printed as txt only, not as %s; --newest takes the one that was written last", format)
				}
			}
			if follow {
				if args[0] == standardInput {
					return misused("--follow is not for -, the standard input, which does not grow")
				}
				if err := oneOf("with --follow --format", format, app.LiveFormats()); err != nil {
					return err
				}
				return in.follow(cmd, args, &where, format, chosen, last)
			}
			logs, err := in.logs(cmd, args)
			if err != nil {
				return err
			}
			show := func(logs ...string) error {
				s, err := in.openLogs(cmd, logs, app.Open)
				if err != nil {
					return err
				}
				defer s.Close()
				if err := cmp.Or(in.doubtNames(cmd, s), where.doubt(cmd, &in, s)); err != nil {
					return err
				}
				src, err := where.rows(cmd.Context(), s, cmd.ErrOrStderr())
				if err != nil {
					return err
				}
				opt := app.SaveOptions{Columns: chosen}
				if last >= 0 {
					opt.From = max(src.Len()-last, 0)
				}
				if err := s.WriteRows(cmd.Context(), cmd.OutOrStdout(), format, src, opt, nil); err != nil {
					return err
				}
				return in.finish(s)
			}
			if together(logs) {
				return show(logs...)
			}
			return each(cmd, logs, func(log string) error { return show(log) })
		},
	}
	in.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a row, as --format jsonl does")
	flags.StringVar(&format, "format", "txt", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVarP(&follow, "follow", "f", false, "go on with the rows that come")
	flags.Int64VarP(&last, "limit", "n", -1, "at most `N` rows: the last that there are, and with --follow those that come (default: all)")
	columns.add(cmd)
	completeWith(cmd, "format", app.SaveFormats())
	return cmd
}
