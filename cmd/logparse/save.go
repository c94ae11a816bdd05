package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newSave() *cobra.Command {
	var in inputFlags
	var where whereFlag
	var target, format, weight string
	var bom, crlf, raw bool
	var split app.SaveLimits
	cmd := &cobra.Command{
		Use:   "save LOG -o FILE",
		Short: "Save the log as a table, a web page, a trace or a profile",
		Long: `save writes the log's rows to FILE. The format follows the file's extension;
--format names it where there is none, as for "-", the standard output.
The file is written whole or not at all: an error or an interrupt leaves an
older file of that name as it was.

Where there is more than the format's usual readers take, or than --split-rows
and --split-bytes allow, FILE becomes several, each whole by itself:
calls.json becomes calls.001.json, calls.002.json and so on.

` + whereHelp + `

Formats:
` + formatList(),
		Example: `  logparse save LogDetails.dat -o calls.csv
  logparse save LogDetails.dat -o calls.csv --bom --crlf
  logparse save LogDetails.dat -o - --format csv | head
  logparse save LogDetails.dat -o slow.csv --where 'thread:12 dur:>5ms'
  logparse save LogDetails.dat -o calls.json
  logparse save LogDetails.dat -o calls.parquet --split-rows 5000000
  logparse save LogDetails.dat -o - --format folded --weight calls | flamegraph.pl`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			if target == "" {
				return usageError{fmt.Errorf("save needs -o FILE")}
			}
			if format == "" {
				format = app.SaveFormatOf(target)
			}
			if !slices.Contains(app.SaveFormats(), format) {
				return usageError{fmt.Errorf("%q: the format must be one of %s, by extension or --format", target, strings.Join(app.SaveFormats(), ", "))}
			}
			w, ok := app.ParseWeight(weight)
			if !ok {
				return usageError{fmt.Errorf("--weight is ns, us or calls, not %q", weight)}
			}
			if in.Corrected {
				if err := app.CheckCorrected(format); err != nil {
					return usageError{err}
				}
			}
			if err := where.check(); err != nil {
				return err
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			opt := app.SaveOptions{BOM: bom, CRLF: crlf, Raw: raw, Weight: w, Split: split}
			src, err := where.rows(cmd.Context(), s, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			p := newProgress(cmd.ErrOrStderr())
			defer p.clear()
			if target == "-" {
				err = s.WriteRows(cmd.Context(), cmd.OutOrStdout(), format, src, opt, p.report)
			} else {
				var files []string
				files, err = s.SaveRows(cmd.Context(), target, format, src, opt, p.report)
				if len(files) > 1 {
					p.clear()
					fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %d files, from %s to %s\n", len(files), files[0], files[len(files)-1])
				}
			}
			if err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&target, "output", "o", "", "the `file` to write; - is the standard output")
	flags.StringVar(&format, "format", "", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVar(&bom, "bom", false, "begin with a byte order mark, for spreadsheets")
	flags.BoolVar(&crlf, "crlf", false, "end lines as Windows does")
	flags.Int64Var(&split.Rows, "split-rows", 0, "begin another file after so many `rows`; -1 never (default: what the format's readers take)")
	flags.Int64Var(&split.Bytes, "split-bytes", 0, "begin another file after about so many `bytes`; -1 never (default: as above)")
	flags.StringVar(&weight, "weight", "ns", "what folded stacks count: ns or us in the function itself, or calls")
	flags.BoolVar(&raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
	return cmd
}

// formatList is a line a format, for the help.
func formatList() string {
	var lines []string
	for _, name := range app.SaveFormats() {
		title, extension := app.SaveTitle(name)
		lines = append(lines, fmt.Sprintf("  %-11s .%-16s %s", name, extension, title))
	}
	return strings.Join(lines, "\n")
}
