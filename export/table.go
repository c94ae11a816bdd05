package export

import (
	"bufio"
	"io"
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
