package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newMarks() *cobra.Command {
	var in inputFlags
	var query app.MarkQuery
	var table app.MarkTable
	var target string
	cmd := &cobra.Command{
		Use:   "marks LOG",
		Short: "Print what the program itself wrote into its trace: marks and counters",
		Long: `marks prints the texts of LOGREC_MARK and the values of logrec_counter_i64, _u64
and _f64 in order of time: when, on which thread, what. Only traces have them.`,
		Example: `  logparse marks program.4711.lptrace
  logparse marks . --match frame --thread render --rows
  logparse marks . --match queue -o queue.csv`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			if table.Format == "" {
				if table.Format = strings.ToLower(strings.TrimPrefix(filepath.Ext(target), ".")); target == "-" || table.Format == "" {
					table.Format = "txt"
				}
			}
			switch table.Format {
			case "txt", "csv", "jsonl":
			default:
				return usageError{fmt.Errorf("the format must be txt, csv or jsonl, by extension or --format, not %q", table.Format)}
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			texts, counters, ok := s.MarkCount()
			if !ok {
				fmt.Fprintln(cmd.ErrOrStderr(), "logparse: warning: a log of this format has no marks")
			}
			var written int64
			write := func(w io.Writer) (err error) {
				written, err = s.WriteMarks(cmd.Context(), w, query, table)
				return err
			}
			if target == "-" {
				err = write(cmd.OutOrStdout())
			} else {
				err = s.SaveTable(cmd.Context(), target, write)
			}
			if err != nil {
				return err
			}
			if query != (app.MarkQuery{}) {
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %d of %d marks\n", written, texts+counters)
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&query.Text, "match", "", "only those whose text, or name of a counter, holds `TEXT`")
	flags.StringVar(&query.Thread, "thread", "", "only those of a `THREAD`: its id, or part of its name")
	flags.BoolVar(&table.Rows, "rows", false, "say the row of each: the first of its thread that is not before it")
	flags.StringVarP(&target, "output", "o", "-", "the `file` to write; - is the standard output")
	flags.StringVar(&table.Format, "format", "", "the `format`: txt, csv or jsonl (default: by the file's extension, else txt)")
	flags.BoolVar(&table.BOM, "bom", false, "begin csv with a byte order mark, for spreadsheets")
	flags.BoolVar(&table.CRLF, "crlf", false, "end lines as Windows does")
	flags.BoolVar(&table.Raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
	return cmd
}
