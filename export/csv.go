package export

import (
	"context"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"logparser/rows"
)

// writeCSV writes a table by RFC 4180, in UTF-8. It does not use encoding/csv,
// which takes several times as long for what is mostly numbers and the same
// few names.
func writeCSV(ctx context.Context, w io.Writer, src rows.Source, opt Options) error {
	var head []byte
	if opt.BOM {
		head = append(head, byteOrderMark...)
	}
	for c := range rows.Column(rows.NumColumns) {
		if c > 0 {
			head = append(head, ',')
		}
		head = append(head, c.String()...)
	}
	head = append(head, opt.lineEnd()...)
	if err := opt.writeHead(w, head); err != nil {
		return err
	}
	digits := src.TimeDigits()
	return writeRows(ctx, w, src, opt.From, src.Len(), opt.Progress, func() func([]byte, *rows.Row) []byte {
		c := &csvLines{digits: digits, raw: opt.Raw, end: opt.lineEnd()}
		return c.append
	})
}

// csvLines makes lines of rows.
type csvLines struct {
	digits int
	raw    bool
	end    string
	clock  rows.Clock
	recent recent
}

func (c *csvLines) append(dst []byte, r *rows.Row) []byte {
	dst = strconv.AppendInt(dst, r.Index, 10)
	dst = append(dst, ',')
	dst = c.clock.Append(dst, r, c.digits)
	dst = append(dst, ',')
	dst = strconv.AppendUint(dst, uint64(r.Thread), 10)
	dst = append(dst, ',')
	dst = append(dst, r.Event.String()...)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(r.Depth), 10)
	dst = append(dst, ',')
	dst = rows.AppendMicroseconds(dst, r.Duration)
	dst = c.recent.append(dst, r, c.cells)
	dst = appendCSVText(dst, r.Note, c.raw)
	return append(dst, c.end...)
}

// cells appends the cells from function to symbols with the commas around.
func (c *csvLines) cells(dst []byte, r *rows.Row) []byte {
	dst = append(dst, ',')
	dst = appendCSVText(dst, r.Function, c.raw)
	dst = append(dst, ',')
	dst = appendCSVText(dst, r.Module, c.raw)
	dst = append(dst, ',')
	dst = appendCSVText(dst, r.Source, c.raw)
	dst = append(dst, ',')
	dst = rows.AppendLine(dst, r.Line)
	dst = append(dst, ',')
	dst = rows.AppendAddress(dst, r.Address)
	dst = append(dst, ',')
	dst = appendCSVText(dst, r.Symbols, c.raw)
	return append(dst, ',')
}

// appendCSVText appends a cell of text: quoted where RFC 4180 asks for it,
// broken UTF-8 replaced, and with an apostrophe in front, unless raw, where a
// spreadsheet would take it for a formula.
func appendCSVText(dst []byte, s string, raw bool) []byte {
	if s == "" {
		return dst
	}
	quote, ascii := false, true
	for i := range len(s) {
		switch b := s[i]; {
		case b >= utf8.RuneSelf:
			ascii = false
		case b == ',' || b == '"' || b == '\n' || b == '\r':
			quote = true
		}
	}
	if !ascii {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if quote {
		dst = append(dst, '"')
	}
	if !raw {
		switch s[0] {
		case '=', '+', '-', '@', '\t', '\r':
			dst = append(dst, '\'')
		}
	}
	if !quote {
		return append(dst, s...)
	}
	for {
		i := strings.IndexByte(s, '"')
		if i < 0 {
			break
		}
		dst = append(append(dst, s[:i]...), `""`...)
		s = s[i+1:]
	}
	return append(append(dst, s...), '"')
}
