package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newAnnotations() *cobra.Command {
	var in inputFlags
	var query app.AnnotationQuery
	var out tableFlags
	var rows bool
	cmd := &cobra.Command{
		Use:     "annotations LOG",
		Aliases: []string{"marks"},
		Short:   "Print what the program itself wrote into its trace: annotations and counters",
		Long: `annotations prints the texts of LOGREC_MARK and the values of logrec_counter_i64, _u64
and _f64 in order of time: when, on which thread, what. Only traces have them.`,
		Example: `  logparse annotations program.4711.lptrace
  logparse annotations . --match frame --thread render --rows
  logparse annotations . --match queue -o queue.csv`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := out.check(cmd); err != nil {
				return err
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			texts, counters, ok := s.AnnotationCount()
			if !ok {
				fmt.Fprintln(cmd.ErrOrStderr(), "logparse: warning: a log of this format has no annotations")
			}
			var written int64
			err = out.write(cmd, s, func(w io.Writer) (err error) {
				written, err = s.WriteAnnotations(cmd.Context(), w, query, app.AnnotationTable{Format: out.format, Rows: rows, SaveOptions: out.opt})
				return err
			})
			if err != nil {
				return err
			}
			if query != (app.AnnotationQuery{}) {
				nothing := ""
				if written == 0 {
					nothing = ": nothing passes the filter"
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %d of %d annotations%s\n", written, texts+counters, nothing)
				if written == 0 && in.strict {
					return strictError("no annotation has what --match and --thread name")
				}
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&query.Text, "match", "", "only those whose text, or name of a counter, holds `TEXT`")
	flags.StringVar(&query.Thread, "thread", "", "only those of a `THREAD`: its id, or part of its name")
	flags.BoolVar(&rows, "rows", false, "say the row of each: the first of its thread that is not before it")
	out.add(cmd, []string{"txt", "csv", "jsonl"}, []string{"txt", "csv"})
	return cmd
}
