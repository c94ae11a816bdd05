package app

import (
	"context"
	"io"
	"slices"
	"strconv"
	"strings"

	"logparser/export"
	"logparser/rows"
)

// SaveStatistics writes statistics as csv to a file, whole or not at all.
// Durations are in microseconds.
func (s *Session) SaveStatistics(ctx context.Context, path string, list []FunctionStat, opt SaveOptions) error {
	opt.Header.Corrected = s.in.Corrected
	return s.SaveTable(ctx, path, func(w io.Writer) error { return WriteStatistics(w, "csv", list, opt) })
}

// SaveTable has write make the content of a file that is not one of the
// session's inputs, whole or not at all.
func (s *Session) SaveTable(ctx context.Context, path string, write func(w io.Writer) error) error {
	if err := s.checkTarget(path); err != nil {
		return err
	}
	return export.WriteFile(ctx, path, s.outputMode(), write)
}

// durationColumns says of columns of durations that these are corrected.
func durationColumns(columns []string, opt *SaveOptions) []string {
	if opt.Header.Corrected {
		for i, name := range columns {
			if time, ok := strings.CutSuffix(name, "_us"); ok {
				columns[i] = time + "_corrected_us"
			}
		}
	}
	return columns
}

// WriteStatistics writes statistics in a format: csv or jsonl. Of the header of the
// options only Corrected counts. docs/formats.md has the columns.
func WriteStatistics(w io.Writer, format string, list []FunctionStat, opt SaveOptions) error {
	columns := durationColumns([]string{"function", "module", "source", "line", "thread", "calls", "timed", "running", "total_us", "self_us", "nonrecursive_us",
		"mean_us", "min_us", "p50_us", "p95_us", "p99_us", "max_us", "thread_name"}, &opt)
	several := slices.ContainsFunc(list, func(f FunctionStat) bool { return f.Process != nil })
	if several {
		columns = append(columns, "process")
	}
	var cells []string
	return writeTable(w, format, opt, columns, len(list), func(i int) []string {
		f := &list[i]
		thread := ""
		if f.ByThread {
			thread = decimal(f.Thread)
		}
		cells = append(cells[:0], f.Function, f.Module, f.Source, lineText(f.Line), thread, integer(f.Calls), integer(f.Timed), integer(f.Running))
		for _, ns := range []int64{f.Sum(f.Total), f.Sum(f.Self), f.Sum(f.NonRecursive),
			f.Single(f.Mean), f.Single(f.Min), f.Single(f.P50), f.Single(f.P95), f.Single(f.P99), f.Single(f.Max)} {
			cells = append(cells, string(rows.AppendMicroseconds(nil, ns)))
		}
		if cells = append(cells, f.ThreadName); several {
			cells = append(cells, f.Process.Text())
		}
		return cells
	})
}

// writeTable writes a table in a format: csv or jsonl.
func writeTable(w io.Writer, format string, opt SaveOptions, columns []string, n int, row func(i int) []string) error {
	if format == "jsonl" {
		return export.WriteObjects(w, columns, []string{"function", "module", "source", "thread_name", "process", "bound"}, n, row)
	}
	return export.WriteTable(w, opt, columns, n, row)
}

// WriteTree writes a call tree in a format, csv or jsonl: its nodes, each before its
// children. Of the header of the options only Corrected counts.
// docs/formats.md has the columns.
func WriteTree(w io.Writer, format string, tree *Tree, opt SaveOptions) error {
	columns := durationColumns([]string{"depth", "function", "module", "source", "line", "thread", "calls", "timed", "running", "total_us", "self_us", "thread_name", "bound"}, &opt)
	type place struct {
		*TreeNode
		depth int
	}
	var list []place
	tree.Walk(func(n *TreeNode, path []*TreeNode) bool {
		list = append(list, place{n, len(path)})
		return true
	})
	several := slices.ContainsFunc(list, func(p place) bool { return p.Process != nil })
	if several {
		columns = append(columns, "process")
	}
	var cells []string
	return writeTable(w, format, opt, columns, len(list), func(i int) []string {
		n := list[i]
		thread := ""
		if n.ByThread {
			thread = decimal(n.Thread)
		}
		cells = append(cells[:0], strconv.Itoa(n.depth), n.Label(), n.Module, n.Source, lineText(n.Line), thread, integer(n.Calls), integer(n.Timed), integer(n.Running),
			string(rows.AppendMicroseconds(nil, n.Total)), string(rows.AppendMicroseconds(nil, n.Self)), n.ThreadName, n.Bound.Words())
		if several {
			cells = append(cells, n.Process.Text())
		}
		return cells
	})
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

func lineText(line int) string { return string(rows.AppendLine(nil, line)) }
