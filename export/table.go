package export

import (
	"bufio"
	"io"
	"slices"

	"logparser/rows"
)

// WriteTable writes a table other than that of the rows as csv, by the rules of
// the format csv. row is called for 0 to n-1 and returns the cells, which it may
// use again.
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

// WriteObjects writes a table as a JSON object a line, by the rules of the format
// jsonl: the columns are the keys, and empty cells are left out. Cells of the columns
// in texts are texts, others numbers.
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
