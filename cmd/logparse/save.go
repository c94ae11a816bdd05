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

// saveOptions are what save is asked for.
type saveOptions struct {
	in                                inputFlags
	where                             whereFlag
	target, format, weight            string
	there                             replaceFlags
	bom, crlf, raw, replace, byThread bool
	split                             app.SaveLimits
	columns                           columnsFlag
}

func newSave() *cobra.Command {
	var o saveOptions
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
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	o.in.add(cmd)
	o.where.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&o.target, "output", "o", "", "the `file` to write; - is the standard output")
	flags.StringVar(&o.format, "format", "", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVar(&o.bom, "bom", false, "begin with a byte order mark, for spreadsheets")
	flags.BoolVar(&o.crlf, "crlf", false, "end lines as Windows does")
	flags.Int64Var(&o.split.Rows, "split-rows", 0, "begin another file after so many `rows`; -1 never (default: what the format's readers take)")
	flags.Int64Var(&o.split.Bytes, "split-bytes", 0, "begin another file after about so many `bytes`; -1 never (default: as above)")
	flags.BoolVar(&o.replace, "replace", false, "replace an earlier save of this name without asking, with its parts, and remove those that it had more")
	o.there.add(cmd)
	flags.StringVar(&o.weight, "weight", "ns", "what folded stacks count: ns or us in the function itself, or calls")
	flags.BoolVar(&o.byThread, "by-thread", false, "keep the folded stacks of each thread apart")
	flags.BoolVar(&o.raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
	o.columns.add(cmd)
	completeWith(cmd, "format", app.SaveFormats())
	completeWith(cmd, "weight", weights)
	return cmd
}

// check refuses what does not go together, and returns how the file is to be written.
func (o *saveOptions) check(cmd *cobra.Command) (opt app.SaveOptions, err error) {
	if o.target == "" {
		return opt, misused("save needs -o FILE")
	}
	if o.format == "" {
		if o.format = app.SaveFormatOf(o.target); o.format == "" {
			return opt, misused("-o %s does not say the format; give one with --format: %s", o.target, strings.Join(app.SaveFormats(), ", "))
		}
	}
	if err := oneOf("--format", o.format, app.SaveFormats()); err != nil {
		return opt, err
	}
	weight, ok := app.ParseWeight(o.weight)
	if !ok {
		return opt, oneOf("--weight", o.weight, weights)
	}
	if err := cmp.Or(checkSplit(cmd, o.target, o.format, o.split),
		only(cmd, "bom", o.format, "txt", "csv"), only(cmd, "crlf", o.format, "txt", "csv"),
		only(cmd, "raw-csv", o.format, "csv"), only(cmd, "weight", o.format, "folded"), only(cmd, "by-thread", o.format, "folded")); err != nil {
		return opt, err
	}
	chosen, err := o.columns.parse(cmd, o.format)
	if err != nil {
		return opt, err
	}
	if o.in.Corrected {
		if err := app.CheckCorrected(o.format); err != nil {
			return opt, usageError{err}
		}
	}
	return app.SaveOptions{BOM: o.bom, CRLF: o.crlf, Raw: o.raw, Columns: chosen, Weight: weight, ByThread: o.byThread, Split: o.split},
		o.where.check(cmd, &o.in)
}

func (o *saveOptions) run(cmd *cobra.Command, args []string) error {
	opt, err := o.check(cmd)
	if err != nil {
		return err
	}
	older := app.SavedBefore(o.target, o.format)
	if !o.replace && !asks(cmd) {
		// Parts are left alone.
		older = slices.DeleteFunc(older, func(path string) bool { return path != o.target })
	}
	asked, err := o.there.mayReplace(cmd, older, o.format, o.replace)
	if err != nil {
		return err
	}
	opt.KeepParts = !o.replace && !asked
	s, err := o.in.open(cmd, args)
	if err != nil {
		return err
	}
	defer s.Close()
	src, err := o.where.certainRows(cmd, &o.in, s)
	if err != nil {
		return err
	}
	if err := o.there.mayWriteMany(cmd, o.target, o.format, src.Len(), o.split); err != nil {
		return err
	}
	if err := writeRows(cmd, s, o.target, o.format, src, opt); err != nil {
		return err
	}
	return o.in.finish(s)
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
