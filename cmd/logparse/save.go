package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

func newSave() *cobra.Command {
	var in inputFlags
	var where whereFlag
	var target, format, weight string
	var there replaceFlags
	var bom, crlf, raw, replace, byThread bool
	var split app.SaveLimits
	var columns columnsFlag
	cmd := &cobra.Command{
		Use:   "save LOG -o FILE",
		Short: "Save the log as a table, a web page, a trace or a profile",
		Long:  saveHelp(),
		Example: `  logparse save LogDetails.dat -o calls.csv
  logparse save LogDetails.dat -o calls.csv --bom --crlf
  logparse save LogDetails.dat -o - --format csv | head
  logparse save LogDetails.dat -o slow.csv --where 'thread:12 dur:>5ms'
  logparse save LogDetails.dat -o self.csv --columns index,thread_name,function,duration,self,site
  logparse save LogDetails.dat -o calls.json
  logparse save LogDetails.dat -o calls.parquet --split-rows 5000000
  logparse save LogDetails.dat -o - --format folded --weight calls | flamegraph.pl`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if target == "" {
				return misused("save needs -o FILE")
			}
			if format == "" {
				if format = app.SaveFormatOf(target); format == "" {
					return misused("-o %s does not say the format; give one with --format: %s", target, strings.Join(app.SaveFormats(), ", "))
				}
			}
			if err := oneOf("--format", format, app.SaveFormats()); err != nil {
				return err
			}
			w, ok := app.ParseWeight(weight)
			if !ok {
				return oneOf("--weight", weight, weights)
			}
			if err := cmp.Or(checkSplit(cmd, target, format, split),
				only(cmd, "bom", format, "txt", "csv"), only(cmd, "crlf", format, "txt", "csv"),
				only(cmd, "raw-csv", format, "csv"), only(cmd, "weight", format, "folded"), only(cmd, "by-thread", format, "folded")); err != nil {
				return err
			}
			chosen, err := columns.parse(cmd, format)
			if err != nil {
				return err
			}
			if in.Corrected {
				if err := app.CheckCorrected(format); err != nil {
					return usageError{err}
				}
			}
			if err := where.check(cmd, &in); err != nil {
				return err
			}
			older := app.SavedBefore(target, format)
			if !replace && !asks(cmd) {
				// Parts are left alone.
				older = slices.DeleteFunc(older, func(path string) bool { return path != target })
			}
			asked, err := there.mayReplace(cmd, older, format, replace)
			if err != nil {
				return err
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			opt := app.SaveOptions{BOM: bom, CRLF: crlf, Raw: raw, Columns: chosen, Weight: w, ByThread: byThread, Split: split, KeepParts: !replace && !asked}
			if err := cmp.Or(in.doubtNames(cmd, s), where.doubt(cmd, &in, s)); err != nil {
				return err
			}
			src, err := where.rows(cmd.Context(), s, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := there.mayWriteMany(cmd, target, format, src.Len(), split); err != nil {
				return err
			}
			if err := writeRows(cmd, s, target, format, src, opt); err != nil {
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
	flags.BoolVar(&replace, "replace", false, "replace an earlier save of this name without asking, with its parts, and remove those that it had more")
	there.add(cmd)
	flags.StringVar(&weight, "weight", "ns", "what folded stacks count: ns or us in the function itself, or calls")
	flags.BoolVar(&byThread, "by-thread", false, "keep the folded stacks of each thread apart")
	flags.BoolVar(&raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
	columns.add(cmd)
	completeWith(cmd, "format", app.SaveFormats())
	completeWith(cmd, "weight", weights)
	return cmd
}

func saveHelp() string {
	return `save writes the log's rows to FILE. The format follows the file's extension;
--format names it where there is none, as for "-", the standard output.
The file is written whole or not at all: an error or an interrupt leaves an
older file of that name as it was. On a terminal save asks before it replaces
anything. Elsewhere it replaces a file that was saved in the same format, as its
content shows, and any other only with --force. More than 50 files, where no limits were
given for them, are a question on a terminal, too, and elsewhere need --force.

Where there is more than the format's usual readers take, or than --split-rows
and --split-bytes allow, FILE becomes several, each whole by itself:
calls.json becomes calls.001.json, calls.002.json and so on. Where such files are
there already, nothing is written without --replace.

` + whereHelp + `

Formats:
` + formatList()
}

// writeRows writes rows to the target, and says what files that made.
func writeRows(cmd *cobra.Command, s *app.Session, target, format string, src rows.Source, opt app.SaveOptions) error {
	p := newProgress(cmd.ErrOrStderr())
	defer p.clear()
	if target == "-" {
		return s.WriteRows(cmd.Context(), cmd.OutOrStdout(), format, src, opt, p.report)
	}
	files, err := s.SaveRows(cmd.Context(), target, format, src, opt, p.report)
	p.clear()
	if len(files) > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %d files, from %s to %s\n", len(files), files[0], files[len(files)-1])
	} else if older := app.SavedBefore(target, format); err == nil && len(older) > 1 {
		fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: parts of an earlier save are still there, %d of them from %s on; --replace removes them\n", len(older)-1, older[1])
	}
	return err
}

var weights = []string{"ns", "us", "calls"}

// checkSplit refuses limits where nothing can be divided.
func checkSplit(cmd *cobra.Command, target, format string, split app.SaveLimits) error {
	if split.Rows < -1 || split.Bytes < -1 {
		return misused("--split-rows and --split-bytes are numbers from 1, or -1 for never, not %d", min(split.Rows, split.Bytes))
	}
	options := []string{"replace"}
	if split.Rows > 0 {
		options = append(options, "split-rows")
	}
	if split.Bytes > 0 {
		options = append(options, "split-bytes")
	}
	if _, whole := app.SaveLimitsOf(format); whole {
		return notFor(cmd, format+", which sums up all rows in one file", options...)
	}
	if target == "-" {
		return notFor(cmd, "the standard output, which is one file", options...)
	}
	return nil
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
