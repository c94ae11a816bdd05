package export

import (
	"bytes"
	"context"
	"slices"

	"logparser/rows"
)

// Each format of tables writes its default columns by code of its own, for speed. This file writes the columns that the user
// has chosen, cell by cell.

// csvColumns are the default columns of csv and jsonl. Logs with coroutines also have the stack, and logs of several processes
// the process. TestChosenDefault checks that the formats agree with the list.
var csvColumns = []string{"index", "time", "thread", "event", "depth", "duration", "function", "module", "source", "line",
	"address", "symbols", "note", "utc"}

// defaultColumns returns the default columns of a table for programs. names are those that every log has.
func defaultColumns(h *rows.Header, names []string) []*rows.Column {
	var list []*rows.Column
	for _, name := range names {
		list = append(list, rows.ColumnOf(name))
	}
	if h.Stacks {
		list = append(list, rows.ColumnOf("stack"))
	}
	if len(h.Processes) > 0 {
		list = append(list, rows.ColumnOf("process"))
	}
	if h.Values {
		list = append(list, valueColumns()...)
	}
	return list
}

// valueColumns returns the additional columns of logs with values of calls.
func valueColumns() []*rows.Column {
	return []*rows.Column{rows.ColumnOf("arguments"), rows.ColumnOf("result")}
}

// cells formats the cells of chosen columns. It is not safe for concurrent use.
type cells struct {
	columns    []*rows.Column
	digits     int
	zone       zone
	clock, utc recentTime
	reading    rows.Clock // for tables that people read
}

func newCells(src rows.Source, opt *Options) *cells {
	c := &cells{columns: opt.Columns, digits: src.TimeDigits(), zone: opt.zone()}
	c.reading.Separator = ' '
	return c
}

// append appends a cell that is not a text, in the form for programs.
func (c *cells) append(dst []byte, r *rows.Row, column *rows.Column) []byte {
	switch column.Kind {
	case rows.Time:
		return c.clock.append(dst, r, c.digits)
	case rows.UTC:
		if wall, ok := c.zone.utc(r); ok {
			dst = append(c.utc.appendWall(dst, wall, c.digits), 'Z')
		}
		return dst
	}
	return column.Append(dst, r, c.digits)
}

// appendReading appends a cell in the form for people.
func (c *cells) appendReading(dst []byte, r *rows.Row, column *rows.Column) []byte {
	switch {
	case column.Kind == rows.Text:
		return append(dst, rows.Visible(column.Text(r))...)
	case column.Kind == rows.Time:
		return c.reading.Append(dst, r, c.digits)
	case column.Kind == rows.Duration && column.Optional:
		ns, ok := column.Int(r)
		if !ok {
			return dst
		}
		return rows.AppendDuration(rows.AppendBound(dst, column.Bound(r), ns), ns, c.digits)
	}
	return c.append(dst, r, column)
}

func writeChosenCSV(ctx context.Context, out *output, src rows.Source, opt Options) error {
	head := csvHead(&opt, opt.Columns)
	end := opt.lineEnd()
	return writeRows(ctx, out, src, src.Len(), opt, func() []byte { return head }, nothing, func() func([]byte, *rows.Row) []byte {
		c := newCells(src, &opt)
		return func(dst []byte, r *rows.Row) []byte {
			start := len(dst)
			for i, column := range c.columns {
				if i > 0 {
					dst = append(dst, ',')
				}
				if column.Kind == rows.Text {
					dst = appendCSVText(dst, column.Text(r), opt.Raw)
				} else {
					dst = c.append(dst, r, column)
				}
			}
			if len(dst) == start {
				dst = append(dst, `""`...) // readers skip empty lines
			}
			return append(dst, end...)
		}
	})
}

func writeChosenJSONL(ctx context.Context, out *output, src rows.Source, opt Options) error {
	var keys []string
	for _, c := range opt.Columns {
		keys = append(keys, `"`+opt.Header.ColumnName(c)+`":`)
	}
	return writeRows(ctx, out, src, src.Len(), opt, nothing, nothing, func() func([]byte, *rows.Row) []byte {
		c := newCells(src, &opt)
		return func(dst []byte, r *rows.Row) []byte {
			dst = append(dst, '{')
			for i, column := range c.columns {
				start := len(dst)
				if dst[start-1] != '{' {
					dst = append(dst, ',')
				}
				dst = append(dst, keys[i]...)
				value := len(dst)
				switch column.Kind {
				case rows.Text:
					if column.HasValues() {
						if list := column.Values(r); len(list) > 0 {
							dst = rows.AppendJSONValues(dst, list)
						}
					} else if s := column.Text(r); s != "" {
						dst = rows.AppendJSONString(dst, s)
					}
				case rows.Number, rows.Duration:
					dst = c.append(dst, r, column)
				default:
					if dst = c.append(append(dst, '"'), r, column); len(dst) == value+1 {
						dst = dst[:value]
					} else {
						dst = append(dst, '"')
					}
				}
				if len(dst) == value {
					dst = dst[:start] // the row has no value here
				}
			}
			return append(dst, "}\n"...)
		}
	})
}

// letters returns the width of a column of a text table, in character cells.
func letters(c *rows.Column, h *rows.Header, digits int) int {
	n := int(c.Width) / 8
	if c.Kind == rows.Time || c.Kind == rows.UTC {
		n = len("2006-01-02 15:04:05.Z") + digits
	}
	return max(n, len(h.ColumnName(c)))
}

func writeChosenTXT(ctx context.Context, out *output, src rows.Source, opt Options) error {
	n, digits, end := src.Len(), src.TimeDigits(), opt.lineEnd()
	var head []byte
	if opt.BOM {
		head = append(head, byteOrderMark...)
	}
	head = appendHeader(head, &opt.Header, n, end)
	start := len(head)
	widths := make([]int, len(opt.Columns))
	for i, c := range opt.Columns {
		widths[i] = letters(c, &opt.Header, digits)
		head = appendAligned(head, []byte(c.Name), widths[i], c.Right)
	}
	titles := len(head) - start - len("  ")
	head = append(trimBlanks(head, start), end...)
	head = append(append(head, bytes.Repeat([]byte{'-'}, titles)...), end...)
	return writeRows(ctx, out, src, n, opt, func() []byte { return head }, nothing, func() func([]byte, *rows.Row) []byte {
		c := newCells(src, &opt)
		var cell []byte
		return func(dst []byte, r *rows.Row) []byte {
			start := len(dst)
			for i, column := range c.columns {
				cell = c.appendReading(cell[:0], r, column)
				dst = appendAligned(dst, cell, widths[i], column.Right)
			}
			return append(trimBlanks(dst, start), end...)
		}
	})
}

// appendAligned appends a cell of a text table, padded to a width, and the two blanks between columns.
func appendAligned(dst, cell []byte, width int, right bool) []byte {
	blank := width - cellWidth(string(cell))
	if right {
		dst = append(appendBlanks(dst, blank), cell...)
	} else {
		dst = appendBlanks(append(dst, cell...), blank)
	}
	return append(dst, "  "...)
}

// onPage are the columns that a page always shows, some of them within other cells.
var onPage = []string{"index", "time", "elapsed", "thread", "stack", "event", "depth", "duration", "function", "module", "source", "line",
	"address", "symbols", "note"}

// besidePage returns the chosen columns that a page shows after its own ones. The page itself needs its own columns for folding
// and searching.
func besidePage(columns []*rows.Column) []*rows.Column {
	return slices.DeleteFunc(slices.Clone(columns), func(c *rows.Column) bool { return slices.Contains(onPage, c.Name) })
}

// appendPageCells appends the cells of the chosen columns to a row of a page.
func (c *cells) appendPageCells(dst []byte, r *rows.Row) []byte {
	var buffer [64]byte
	for _, column := range c.columns {
		dst = append(dst, "<td>"...)
		dst = append(appendPageText(dst, string(c.appendReading(buffer[:0], r, column))), "</td>"...)
	}
	return dst
}
