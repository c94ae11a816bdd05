package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// tableFlags are the flags of verbs that print a table or save it as csv.
type tableFlags struct {
	target, format string
	opt            app.SaveOptions
}

func (f *tableFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.target, "output", "o", "-", "the `file` to write; - is the standard output")
	flags.StringVar(&f.format, "format", "", "the `format`: txt or csv (default: by the file's extension, else txt)")
	flags.BoolVar(&f.opt.BOM, "bom", false, "begin csv with a byte order mark, for spreadsheets")
	flags.BoolVar(&f.opt.CRLF, "crlf", false, "end csv lines as Windows does")
	flags.BoolVar(&f.opt.Raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
}

func (f *tableFlags) check() error {
	if f.format == "" {
		if f.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(f.target), ".")); f.target == "-" || f.format == "" {
			f.format = "txt"
		}
	}
	if f.format != "txt" && f.format != "csv" {
		return usageError{fmt.Errorf("the format must be txt or csv, by extension or --format, not %q", f.format)}
	}
	return nil
}

// write writes the table by the functions for its formats.
func (f *tableFlags) write(cmd *cobra.Command, s *app.Session, text, csv func(w io.Writer) error) error {
	f.opt.Header.Corrected = s.Inputs().Corrected
	write := func(w io.Writer) error {
		if f.opt.Header.Corrected {
			fmt.Fprintf(w, "%s\n\n", app.CorrectedNote)
		}
		return text(w)
	}
	if f.format == "csv" {
		write = csv
	}
	if f.target == "-" {
		return write(cmd.OutOrStdout())
	}
	return s.SaveTable(cmd.Context(), f.target, write)
}

// The orders of --sort.
var statOrders = map[string]func(f *app.FunctionStat) int64{
	"total": func(f *app.FunctionStat) int64 { return f.Total },
	"self":  func(f *app.FunctionStat) int64 { return f.Self },
	"calls": func(f *app.FunctionStat) int64 { return f.Calls },
	"mean":  func(f *app.FunctionStat) int64 { return f.Mean() },
	"min":   func(f *app.FunctionStat) int64 { return f.Min },
	"p50":   func(f *app.FunctionStat) int64 { return f.P50 },
	"p95":   func(f *app.FunctionStat) int64 { return f.P95 },
	"p99":   func(f *app.FunctionStat) int64 { return f.P99 },
	"max":   func(f *app.FunctionStat) int64 { return f.Max },
}

const statOrderNames = "total, self, calls, mean, min, p50, p95, p99, max or name"

func newStats() *cobra.Command {
	var in inputFlags
	var where whereFlag
	var out tableFlags
	var by, order string
	var limit int
	cmd := &cobra.Command{
		Use:   "stats LOG",
		Short: "Sum up the calls of each function: number, total, self, mean, quantiles",
		Long: `stats prints a line for each function, or for each module or function of each
thread, the greatest total first. A call counts if its enter is among the rows
chosen, and counts whole. Self is the time that was not spent in calls that it
made. Quantiles are right to within a sixteenth.

` + whereHelp,
		Example: `  logparse stats LogDetails.dat --sort self --limit 20
  logparse stats LogDetails.dat --where 'in:Render -module:ntdll' --by thread
  logparse stats LogDetails.dat -o stats.csv`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			value, known := statOrders[order]
			if !known && order != "name" {
				return usageError{fmt.Errorf("--sort is %s, not %q", statOrderNames, order)}
			}
			statistics := map[string]func(*app.Session, context.Context, app.Selection, app.Progress) ([]app.FunctionStat, error){
				"function": (*app.Session).Statistics, "thread": (*app.Session).ThreadStatistics, "module": (*app.Session).ModuleStatistics,
			}[by]
			if statistics == nil {
				return usageError{fmt.Errorf("--by is function, module or thread, not %q", by)}
			}
			if limit < 0 {
				return usageError{fmt.Errorf("--limit is a number of lines, not %d", limit)}
			}
			if err := cmp.Or(where.check(), out.check()); err != nil {
				return err
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			p := newProgress(cmd.ErrOrStderr())
			defer p.clear()
			list, err := statistics(s, cmd.Context(), where.selection(), p.report)
			if err != nil {
				return err
			}
			p.clear()
			slices.SortStableFunc(list, func(a, b app.FunctionStat) int {
				if c := cmp.Compare(a.Thread, b.Thread); c != 0 || value == nil {
					return cmp.Or(c, cmp.Compare(a.Function, b.Function), cmp.Compare(a.Module, b.Module))
				}
				return cmp.Compare(value(&b), value(&a))
			})
			left := 0
			if limit > 0 && len(list) > limit {
				list, left = list[:limit], len(list)-limit
			}
			digits := s.Rows().TimeDigits()
			err = out.write(cmd, s,
				func(w io.Writer) error { return printStats(w, list, by, digits, left) },
				func(w io.Writer) error { return app.WriteStatistics(w, list, out.opt) })
			if err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	where.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&by, "by", "function", "sum up by `what`: function, module or thread (functions of each thread)")
	flags.StringVar(&order, "sort", "total", "the `order`: "+statOrderNames)
	flags.IntVar(&limit, "limit", 0, "at most `N` lines (default: all)")
	out.add(cmd)
	return cmd
}

func printStats(w io.Writer, list []app.FunctionStat, by string, digits, left int) error {
	out := bufio.NewWriter(w)
	thread := func(text string) {
		if by == "thread" {
			fmt.Fprintf(out, "%10s ", text)
		}
	}
	thread("thread")
	fmt.Fprintf(out, "%12s %12s %12s %12s %12s %12s %12s %12s  %s\n", "calls", "total", "self", "mean", "p50", "p95", "p99", "max", cmp.Or(map[string]string{"module": "module"}[by], "function"))
	for i := range list {
		f := &list[i]
		thread(fmt.Sprint(f.Thread))
		fmt.Fprintf(out, "%12d", f.Calls)
		for _, ns := range []int64{f.Total, f.Self, f.Mean(), f.P50, f.P95, f.P99, f.Max} {
			if f.Timed == 0 {
				ns = rows.NoDuration
			}
			fmt.Fprintf(out, " %12s", rows.AppendDuration(nil, ns, digits))
		}
		out.WriteString("  ")
		switch {
		case by != "module":
			out.WriteString(rows.Visible(f.Function))
			// Of a function without a name the module is part of what stands for one.
			if f.Module != "" && !strings.HasPrefix(f.Function, f.Module+"+0x") {
				out.WriteString("  [" + rows.Visible(f.Module) + "]")
			}
		case f.Module == "":
			out.WriteString("(no module)")
		default:
			out.WriteString(rows.Visible(f.Module))
		}
		out.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(out, "... and %d more\n", left)
	}
	return out.Flush()
}
