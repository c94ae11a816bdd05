package main

import (
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
	cmd := &cobra.Command{
		Use:   "show LOG",
		Short: "Print the log as a readable table",
		Long: `show prints the log's rows. With --follow it goes on with the rows that the
program writes from then on, each within a quarter of a second, until it is
interrupted (status 0), its output is closed, or the log says that the program
has ended. It waits for a log that is not there yet. A row is printed once: the
duration of a call stands at its leave.

` + whereHelp,
		Example: `  logparse show LogDetails.dat | less -S
  logparse show . --symbols build --json | head
  logparse show . --where 'in:Render (mark:open or dur:>5ms)'
  logparse show LogDetails.dat --follow -n 20`,
		Args: oneLog,
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
				return misused("-n is a number of rows, such as 20, not %d", last)
			}
			if err := where.check(); err != nil {
				return err
			}
			if follow {
				if err := oneOf("with --follow --format", format, app.LiveFormats()); err != nil {
					return err
				}
				return in.follow(cmd, args, &where, format, last)
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			src, err := where.rows(cmd.Context(), s, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			var opt app.SaveOptions
			if last >= 0 {
				opt.From = max(src.Len()-last, 0)
			}
			if err := s.WriteRows(cmd.Context(), cmd.OutOrStdout(), format, src, opt, nil); err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a row, as --format jsonl does")
	flags.StringVar(&format, "format", "txt", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVarP(&follow, "follow", "f", false, "go on with the rows that come")
	flags.Int64VarP(&last, "last", "n", -1, "begin with the last `N` rows (default: all)")
	completeWith(cmd, "format", app.SaveFormats())
	return cmd
}
