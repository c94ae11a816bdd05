package export

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"logparser/rows"
)

// writeCSV writes a table by RFC 4180 in UTF-8. It does not use encoding/csv, which takes several times as long for text that
// is mostly numbers and repeated names.
func writeCSV(ctx context.Context, out *output, src rows.Source, opt Options) error {
	if len(opt.Columns) > 0 {
		return writeChosenCSV(ctx, out, src, opt)
	}
	head := csvHead(&opt, defaultColumns(&opt.Header, csvColumns))
	digits := src.TimeDigits()
	return writeLines(ctx, out, src, src.Len(), opt, func() []byte { return head }, nothing, func() lines {
		c := &csvLines{digits: digits, raw: opt.Raw, stacks: opt.Header.Stacks, processes: len(opt.Header.Processes) > 0, end: opt.lineEnd(), zone: opt.zone()}
		if c.stacks || c.processes {
			return lines{row: c.append} // brief rows do not support these columns
		}
		return lines{c.append, newColumnsBrief(c, digits).append}
	})
}

// csvHead returns the line with the names of the columns.
func csvHead(opt *Options, columns []*rows.Column) []byte {
	var head []byte
	if opt.BOM {
		head = append(head, byteOrderMark...)
	}
	for i, c := range columns {
		if i > 0 {
			head = append(head, ',')
		}
		head = append(head, opt.Header.ColumnName(c)...)
	}
	return append(head, opt.lineEnd()...)
}

// utcColumn is the name of the column with times as UTC.
const utcColumn = "time_utc"

// csvLines makes the lines of rows. It caches the texts of their pieces, most of which repeat from row to row.
type csvLines struct {
	digits    int
	raw       bool
	stacks    bool // there is a column for them
	processes bool
	end       string
	index     growing
	clock     recentTime
	zone      zone
	utc       recentTime
	calls     [1 << callBits]callText
	recent    recent
}

// callBits is the binary logarithm of the size of the caches of calls and durations.
const callBits = 8

// A piece is a short text in a buffer of fixed size. Copying the whole buffer takes a few instructions; copying only the text
// takes a call.
type piece struct {
	n    int
	text [pieceLen]byte
}

const pieceLen = 48

// A callText is the cached text of a thread, an event and a depth, with the commas around them.
type callText struct {
	thread uint32
	event  rows.Event
	depth  int
	piece
}

// A durationText is the cached text of a duration.
type durationText struct {
	ns    int64
	bound rows.Bound
	piece
}

// lineRoom is how many bytes the pieces of a line may write, with those that are copied beyond its end.
const lineRoom = 6*pieceLen + shortText

func (c *csvLines) append(dst []byte, r *rows.Row) []byte {
	if cap(dst)-len(dst) < lineRoom {
		dst = slices.Grow(dst, max(lineRoom, len(dst)))
	}
	b, n := dst[:cap(dst)], len(dst)
	n += c.index.put(b[n:n+growingRoom], r.Index)
	b[n] = ','
	n++

	n += c.clock.put(b[n:n+pieceLen], r, c.digits)

	k := c.callText(r.Thread, r.Event, r.Depth)
	*(*[pieceLen]byte)(b[n:]) = k.text
	n += k.n

	if r.Duration >= 0 {
		n += putMicroseconds(b[n:n+pieceLen], uint64(r.Duration))
	}

	dst = c.recent.append(b[:n], r, c)
	if r.Note != "" || r.Bound != rows.Exact {
		dst = appendCSVText(dst, r.SavedNote(), c.raw)
	}
	dst = append(dst, ',')
	if ahead, ok := c.zone.ahead(r); ok {
		dst = slices.Grow(dst, pieceLen)
		n := len(dst)
		dst = append(dst[:n+c.utc.putUTC(dst[n:n+pieceLen], &c.clock, r.Wall, ahead, c.digits)], 'Z')
	}
	if c.stacks {
		if dst = append(dst, ','); r.Stack != 0 {
			dst = strconv.AppendUint(dst, uint64(r.Stack), 10)
		}
	}
	if c.processes {
		dst = appendCSVText(append(dst, ','), r.Process.Text(), c.raw)
	}
	return append(dst, c.end...)
}

// callText returns the text of a thread, an event and a depth, from the cache if possible.
func (c *csvLines) callText(thread uint32, event rows.Event, depth int) *callText {
	k := &c.calls[(uint32(depth)*0x9e3779b9+thread*0x85ebca6b+uint32(event)<<(32-callBits))>>(32-callBits)]
	if k.n == 0 || k.thread != thread || k.depth != depth || k.event != event {
		k.set(thread, event, depth)
	}
	return k
}

func (k *callText) set(thread uint32, event rows.Event, depth int) {
	k.thread, k.event, k.depth, k.n = thread, event, depth, len(appendCSVCall(k.text[:0], thread, event, depth))
}

// appendCSVCall appends the cells of a thread, an event and a depth, with the commas around them.
func appendCSVCall(dst []byte, thread uint32, event rows.Event, depth int) []byte {
	dst = strconv.AppendUint(append(dst, ','), uint64(thread), 10)
	dst = append(append(dst, ','), event.String()...)
	return append(strconv.AppendInt(append(dst, ','), int64(depth), 10), ',')
}

// start implements [briefColumns].
func (c *csvLines) start(dst []byte, r *rows.Row) (text []byte, low int) {
	dst = c.index.append(dst, r.Index)
	low = len(dst) - 4
	return c.clock.append(append(dst, ','), r, c.digits), low
}

// call implements [briefColumns].
func (c *csvLines) call(dst []byte, thread uint32, event rows.Event, depth int) []byte {
	return appendCSVCall(dst, thread, event, depth)
}

// rest implements [briefColumns].
func (c *csvLines) rest(dst []byte, r *rows.Row) (text []byte, end int, ok bool) {
	dst = append(dst, ',')
	ahead, known := c.zone.ahead(r)
	if known {
		if ahead%time.Second != 0 {
			return nil, 0, false // the decimals of UTC differ from those of the local time
		}
		dst = c.utc.appendWall(dst, r.Wall.Add(-ahead), c.digits)
		c.utc.ofSecond, c.utc.ahead = c.clock.second, ahead
		end = len(dst)
		dst = append(dst, 'Z')
	}
	return append(dst, c.end...), end, true
}

// names appends the cells from function to symbols, with the commas around them.
func (c *csvLines) names(dst []byte, r *rows.Row) []byte {
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

// isFormula reports whether a spreadsheet may treat a cell as a formula. s must not be empty. A formula begins with one of the
// characters =, +, - and @, also in their full-width forms. Before them there may be characters that the spreadsheet drops.
func isFormula(s string) bool {
	if c := s[0]; c > '@' && c < 0x7f || c >= '0' && c <= '9' {
		return false
	}
	if s[0] == '-' && strings.Trim(s[1:], ".0123456789") == "" {
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			return false // a number
		}
	}
	for i, r := range s {
		switch {
		case strings.ContainsRune("=+-@＝＋－＠", r):
			return true
		case unicode.IsControl(r):
			return true // it may hide a formula behind it
		case r == '\'' || !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r):
			return false
		case i > 64:
			return true
		}
	}
	return false
}

// appendCSVText appends a cell with text. It quotes the cell if RFC 4180 requires it, or if a spreadsheet may treat a character
// in it as the end of the cell. It replaces invalid UTF-8. Unless raw is set, it puts an apostrophe before a text that a
// spreadsheet would treat as a formula.
func appendCSVText(dst []byte, s string, raw bool) []byte {
	if s == "" {
		return dst
	}
	quote, ascii := false, true
	for i := range len(s) {
		switch b := s[i]; {
		case b >= utf8.RuneSelf:
			ascii = false
		case b == ',' || b == '"' || b == '\n' || b == '\r' || b == ';' || b == '\t':
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
		if isFormula(s) {
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
