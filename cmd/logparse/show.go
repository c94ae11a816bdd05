package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newShow() *cobra.Command {
	var in inputFlags
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
duration of a call stands at its leave.`,
		Example: `  logparse show LogDetails.dat | less -S
  logparse show . --symbols build --json | head
  logparse show LogDetails.dat --follow -n 20`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "jsonl"
			}
			if !slices.Contains(app.SaveFormats(), format) {
				return usageError{fmt.Errorf("--format is one of %s, not %q", strings.Join(app.SaveFormats(), ", "), format)}
			}
			if last < -1 {
				return usageError{fmt.Errorf("-n is a number of rows, not %d", last)}
			}
			if follow {
				return in.follow(cmd, args, format, last)
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			var opt app.SaveOptions
			if last >= 0 {
				opt.From = max(s.Rows().Len()-last, 0)
			}
			if err := s.Write(cmd.Context(), cmd.OutOrStdout(), format, opt, nil); err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a row, as --format jsonl does")
	flags.StringVar(&format, "format", "txt", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVarP(&follow, "follow", "f", false, "go on with the rows that come")
	flags.Int64VarP(&last, "last", "n", -1, "begin with the last `N` rows (default: all)")
	return cmd
}
