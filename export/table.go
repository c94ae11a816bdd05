package export

import (
	"bufio"
	"io"
	"slices"

	"logparser/rows"
)

// WriteTable writes a table of anything but rows, by the rules of the format csv. It calls row for 0 to n-1 to get the cells,
// and does not keep them, so that row may reuse the slice.
func WriteTable(w io.Writer, opt Options, columns []string, n int, row func(i int) []string) error {
	out := bufio.NewWriter(w)
	if opt.BOM {
		out.WriteString(byteOrderMark)
	}
	var line []byte
	write := func(cells []string) {
		line = line[:0]
		for i, c := range cells {
			if i > 0 {
				line = append(line, ',')
			}
			line = appendCSVText(line, c, opt.Raw)
		}
		out.Write(append(line, opt.lineEnd()...))
	}
	write(columns)
	for i := range n {
		write(row(i))
	}
	return out.Flush()
}

// WriteObjects writes a table by the rules of the format jsonl: one JSON object a line, with the columns as keys. Empty cells
// are left out. Cells of the columns in texts are written as strings, all others as numbers.
func WriteObjects(w io.Writer, columns, texts []string, n int, row func(i int) []string) error {
	out := bufio.NewWriter(w)
	var line []byte
	for i := range n {
		line = append(line[:0], '{')
		for c, cell := range row(i) {
			if cell == "" {
				continue
			}
			if len(line) > 1 {
				line = append(line, ',')
			}
			line = append(rows.AppendJSONString(line, columns[c]), ':')
			if slices.Contains(texts, columns[c]) {
				line = rows.AppendJSONString(line, cell)
			} else {
				line = append(line, cell...)
			}
		}
		out.Write(append(line, "}\n"...))
	}
	return out.Flush()
}
