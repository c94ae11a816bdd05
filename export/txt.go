package export

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"logparser/rows"
)

// Widths of the columns of a text file, in character cells. Longer cells are not cut; they shift the rest of their line to the
// right.
const (
	threadWidth   = 10
	durationWidth = 11
	callWidth     = 60
	sourceWidth   = 24
	moduleWidth   = 16
	minIndexWidth = 5
	elapsedWidth  = 12

	indentWidth = 2
	// maxIndent is the largest depth that is indented. A deeper call has this indentation, and its depth as a number.
	maxIndent = 20
)

// writeTXT writes a table for people: the inputs of the log first, then one line for each row.
func writeTXT(ctx context.Context, out *output, src rows.Source, opt Options) error {
	if len(opt.Columns) > 0 {
		return writeChosenTXT(ctx, out, src, opt)
	}
	n := src.Len()
	t := txtLines{digits: src.TimeDigits(), end: opt.lineEnd(), base: shallowest(src, n, &opt)}
	if n > 0 {
		first, last := src.Row(0), src.Row(n-1)
		t.setWidths(&opt.Header, max(last.Index, opt.MostRows-1), first.HasWall || last.HasWall)
	} else {
		t.setWidths(&opt.Header, opt.MostRows-1, opt.hasWall())
	}
	var head []byte
	if opt.BOM {
		head = append(head, byteOrderMark...)
	}
	head = appendHeader(head, &opt.Header, n, t.end)
	head = t.titles(head)
	return writeLines(ctx, out, src, n, opt, func() []byte { return head }, nothing, func() lines {
		worker := t
		worker.clock.Separator = ' '
		worker.brief.cells = new([briefPlaces]txtBriefCells)
		return lines{worker.append, worker.appendBriefs}
	})
}

// hasWall reports whether rows that do not exist yet will have a local time.
func (o *Options) hasWall() bool {
	if o.Runs == nil {
		return false
	}
	runs := o.Runs()
	return len(runs) > 0 && runs[len(runs)-1].HasWall
}

// appendHeader appends the inputs and a table of the modules, each followed by an empty line.
func appendHeader(dst []byte, h *rows.Header, n int64, end string) []byte {
	line := func(name, value string) {
		if value != "" {
			dst = append(appendPadded(dst, name, 10), rows.Visible(value)...)
			dst = append(dst, end...)
		}
	}
	log := h.Log
	if h.Format != "" {
		log += " (" + h.Format + ")"
	}
	line("Log:", log)
	line("Modules:", h.Modules)
	for _, s := range h.Lines {
		line("Note:", s)
	}
	if h.Counting {
		line("Rows:", "\u2026")
	} else {
		line("Rows:", strconv.FormatInt(n, 10))
	}
	dst = append(dst, end...)
	if len(h.Images) == 0 {
		return dst
	}
	table := [][]string{{"base", "size", "symbols", "module", "symbol file", "identity"}}
	for _, m := range h.Images {
		table = append(table, []string{
			string(rows.AppendAddress(nil, m.Base)), string(rows.AppendAddress(nil, m.Size)),
			m.Status, rows.Visible(m.Name), rows.Visible(m.SymbolFile), rows.Visible(m.Identity),
		})
	}
	if len(h.Processes) > 0 {
		table[0] = append(table[0], "process")
		for i, m := range h.Images {
			table[i+1] = append(table[i+1], rows.Visible(m.Process.Text()))
		}
	}
	widths := make([]int, len(table[0]))
	for _, cells := range table {
		for i, s := range cells {
			widths[i] = max(widths[i], cellWidth(s))
		}
	}
	for _, cells := range table {
		start := len(dst)
		for i, s := range cells {
			if i < 2 { // numbers are aligned to the right
				dst = append(appendBlanks(dst, widths[i]-len(s)), s...)
			} else {
				dst = appendPadded(dst, s, widths[i])
			}
			dst = append(dst, "  "...)
		}
		dst = append(trimBlanks(dst, start), end...)
	}
	return append(dst, end...)
}

// txtLines makes the lines of rows. It caches what rows share with those before them: the beginning of a line without its last
// digits, durations, and the names of an address.
type txtLines struct {
	digits int
	// base is the depth of the shallowest row, which is not indented.
	base                  int
	end                   string
	indexWidth, timeWidth int
	processWidth          int // 0 if there is only one process
	clock                 rows.Clock
	head                  txtHead
	threads               [16]txtThread
	durations             [1 << callBits]durationText // padded to the width of the column
	recent                places[txtCells]
	brief                 txtBrief
}

// wide is the size of buffers for texts that are copied as a whole, whatever their length. Copying a fixed number of bytes
// takes a few instructions; copying only the text takes a call.
const wide = 64

// A txtHead is the cached beginning of a line: the index and the time.
type txtHead struct {
	// ok says that the other fields are valid.
	ok      bool
	hasWall bool
	// high is the index without its last four digits (lowDigits).
	high   int64
	second int64
	// low is the offset of these digits in the text, and fraction that of the decimals of the time.
	low, fraction int
	n             int
	text          [wide]byte
}

// A txtThread is the cached text between time and duration: the process, if there are several, and the thread.
type txtThread struct {
	// n is the length of text, 0 if nothing is cached.
	n       int
	thread  uint32
	stack   uint32
	process *rows.Process
	text    [wide]byte
}

type txtCells struct {
	names rowNames
	// short says that name and tail are valid: name has the whole function's name, which is ASCII, and tail the columns after
	// the call with the end of the line. Both are padded with blanks.
	short      bool
	name, tail [wide]byte
	tailLen    int
	// function is the visible name, and width its width. rest has the columns after the call, padded.
	function string
	width    int
	rest     string
}

// setWidths sets the widths that depend on the log. last is the index of the last row, and hasWall says that rows have local
// times.
func (t *txtLines) setWidths(h *rows.Header, last int64, hasWall bool) {
	t.indexWidth = max(minIndexWidth, len(strconv.FormatInt(last, 10)))
	t.timeWidth = elapsedWidth
	if hasWall {
		t.timeWidth = len("2006-01-02 15:04:05.") + t.digits
	}
	for _, p := range h.Processes {
		t.processWidth = max(t.processWidth, len("process"), cellWidth(p.Label))
	}
}

func (t *txtLines) titles(dst []byte) []byte {
	start := len(dst)
	dst = append(appendBlanks(dst, t.indexWidth-len("index")), "index  "...)
	dst = append(appendPadded(dst, "time", t.timeWidth), "  "...)
	if t.processWidth > 0 {
		dst = append(appendPadded(dst, "process", t.processWidth), "  "...)
	}
	dst = append(appendBlanks(dst, threadWidth-len("thread")), "thread  "...)
	dst = append(appendBlanks(dst, durationWidth-len("duration")), "duration  "...)
	dst = append(appendPadded(dst, "call", callWidth), "  "...)
	dst = append(appendPadded(dst, "source", sourceWidth), "  "...)
	dst = appendPadded(dst, "module", moduleWidth)
	n := len(dst) - start
	dst = append(trimBlanks(dst, start), t.end...)
	for range n {
		dst = append(dst, '-')
	}
	return append(dst, t.end...)
}

// txtRoom is how many bytes the pieces of a line may write, with those that are copied beyond its end.
const txtRoom = 5 * wide

// arrows stand for events.
var arrows = [...][4]byte{rows.Enter: {'-', '>', ' '}, rows.Leave: {'<', '-', ' '}, rows.Unknown: {'?', '?', ' '}}

const arrowWidth = 3

// indentation is the largest indentation.
var indentation = [maxIndent * indentWidth]byte([]byte(blanks[:maxIndent*indentWidth]))

func (t *txtLines) append(dst []byte, r *rows.Row) []byte {
	start := len(dst)
	if cap(dst)-start < txtRoom {
		dst = slices.Grow(dst, max(txtRoom, start))
	}
	if h := &t.head; h.ok && h.high == r.Index/lowDigits {
		second, ns := r.Elapsed/1e9, r.Elapsed%1e9
		if r.HasWall {
			second, ns = r.Wall.Unix(), int64(r.Wall.Nanosecond())
		}
		if h.hasWall == r.HasWall && h.second == second && ns >= 0 {
			text := (*[wide]byte)(dst[start : start+wide])
			*text = h.text
			put4(text[h.low:], uint32(r.Index%lowDigits))
			putFraction(text[h.fraction:], uint32(ns), t.digits)
			dst = dst[:start+h.n]
		}
	}
	if len(dst) == start {
		dst = t.appendHead(dst, r)
	}
	th := &t.threads[(r.Thread+r.Stack)%uint32(len(t.threads))]
	if n := len(dst); th.n > 0 && th.thread == r.Thread && th.stack == r.Stack && th.process == r.Process && cap(dst)-n >= wide {
		*(*[wide]byte)(dst[n : n+wide]) = th.text
		dst = dst[:n+th.n]
	} else {
		dst = t.appendThread(dst, r, th)
	}
	if r.Pending {
		dst = append(appendBlanks(dst, durationWidth-1), "\u2026  "...)
	} else {
		dst = t.appendDuration(dst, r.Duration, r.Bound)
	}

	m := t.recent.at(r.Address)
	if !m.names.are(r) {
		*m = t.newCells(r)
	}
	depth := r.Depth - t.base
	indent := min(max(depth, 0), maxIndent) * indentWidth
	used := indent
	event := min(r.Event, rows.Unknown)
	values, from := r.HasValues(), r.FromSite()
	if m.short && !values && !from && r.Note == "" && 0 <= depth && depth <= maxIndent && used+arrowWidth+m.width <= callWidth && cap(dst)-len(dst) >= callWidth+wide {
		n := len(dst)
		b := dst[:cap(dst)]
		*(*[len(indentation)]byte)(b[n:]) = indentation
		*(*[4]byte)(b[n+indent:]) = arrows[event]
		*(*[wide]byte)(b[n+indent+arrowWidth:]) = m.name
		*(*[wide]byte)(b[n+callWidth:]) = m.tail
		return b[:n+callWidth+m.tailLen]
	}
	dst = appendBlanks(dst, indent)
	if depth > maxIndent {
		n := len(dst)
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, int64(r.Depth), 10)
		dst = append(dst, "] "...)
		used += len(dst) - n
	}
	dst = append(dst, arrows[event][:arrowWidth]...)
	if values {
		call := rows.Visible(string(rows.AppendCall(nil, r)))
		dst = append(dst, call...)
		used += arrowWidth + cellWidth(call)
	} else {
		dst = append(dst, m.function...)
		used += arrowWidth + m.width
	}
	if r.Note != "" {
		note := rows.Visible(r.Note)
		dst = append(append(append(dst, "  ("...), note...), ')')
		used += 4 + cellWidth(note)
	}
	dst = appendBlanks(dst, callWidth-used)
	dst = append(dst, m.rest...)
	if len(m.function)+len(m.rest) > maxRecent {
		*m = txtCells{}
	}
	dst = trimBlanks(dst, start)
	if from {
		// The path may come from any system.
		source := rows.Visible(r.Site.Source[strings.LastIndexAny(r.Site.Source, `/\`)+1:])
		dst = rows.AppendLine(append(append(append(dst, "  from "...), source...), ':'), r.Site.Line)
	}
	return append(dst, t.end...)
}

// appendHead appends the index and the time. It caches them if the text is suitable.
func (t *txtLines) appendHead(dst []byte, r *rows.Row) []byte {
	start := len(dst)
	var number [24]byte
	dst = appendRight(dst, strconv.AppendInt(number[:0], r.Index, 10), t.indexWidth)
	low := len(dst) - len("  ") - 4 - start
	if r.HasWall {
		dst = append(t.clock.Append(dst, r, t.digits), "  "...)
	} else {
		dst = appendRight(dst, t.clock.Append(number[:0], r, t.digits), t.timeWidth)
	}
	fraction := len(dst) - len("  ") - t.digits - start

	h := &t.head
	h.ok = false
	n := len(dst) - start
	if n > wide || r.Index < lowDigits || t.digits != 3 && t.digits != 6 && t.digits != 9 || !r.HasWall && r.Elapsed < 0 {
		return dst
	}
	*h = txtHead{ok: true, hasWall: r.HasWall, high: r.Index / lowDigits, second: r.Elapsed / 1e9, low: low, fraction: fraction, n: n}
	if r.HasWall {
		h.second = r.Wall.Unix()
	}
	copy(h.text[:], dst[start:])
	return dst
}

// appendThread appends the process and the thread, and caches them in th if they fit.
func (t *txtLines) appendThread(dst []byte, r *rows.Row, th *txtThread) []byte {
	start := len(dst)
	var number [24]byte
	if t.processWidth > 0 {
		dst = append(appendPadded(dst, rows.Visible(r.Process.Text()), t.processWidth), "  "...)
	}
	dst = appendRight(dst, rows.AppendThread(number[:0], r), threadWidth)
	if n := len(dst) - start; n <= wide {
		*th = txtThread{n: n, thread: r.Thread, stack: r.Stack, process: r.Process}
		copy(th.text[:], dst[start:])
	}
	return dst
}

// appendRight appends a column that is aligned to the right, and the two blanks between columns.
func appendRight(dst, text []byte, width int) []byte {
	return append(append(appendBlanks(dst, width-len(text)), text...), "  "...)
}

func (t *txtLines) appendDuration(dst []byte, ns int64, bound rows.Bound) []byte {
	if t.digits == 9 && bound == rows.Exact && 0 <= ns && ns < 1e9 && cap(dst)-len(dst) >= pieceLen {
		n := len(dst) + durationWidth + len("  ")
		putDuration((*[durationWidth + 2]byte)(dst[len(dst):n]), uint32(ns))
		return dst[:n]
	}
	d := &t.durations[uint64(ns)*0x9e3779b97f4a7c15>>(64-callBits)]
	if d.n == 0 || d.ns != ns || d.bound != bound {
		var number [32]byte
		text := rows.AppendBound(number[:0], bound, ns)
		signs := len(text) - cellWidth(string(text))
		text = rows.AppendDuration(text, ns, t.digits)
		column := append(appendBlanks(d.text[:0], durationWidth+signs-len(text)), text...)
		d.ns, d.bound, d.n = ns, bound, len(appendBlanks(column, len("  ")))
	}
	if cap(dst)-len(dst) < pieceLen {
		return append(dst, d.text[:d.n]...)
	}
	n := len(dst)
	dst = dst[:n+pieceLen]
	*(*[pieceLen]byte)(dst[n:]) = d.text
	return dst[:n+d.n]
}

func (t *txtLines) newCells(r *rows.Row) txtCells {
	c := txtCells{function: rows.Visible(r.Function)}
	c.names.set(r)
	c.width = cellWidth(c.function)
	// The path may come from any system.
	source := []byte(rows.Visible(r.Source[strings.LastIndexAny(r.Source, `/\`)+1:]))
	if r.Line != 0 {
		source = rows.AppendLine(append(source, ':'), r.Line)
	}
	rest := append([]byte(nil), "  "...)
	rest = append(appendPadded(rest, string(source), sourceWidth), "  "...)
	rest = append(rest, rows.Visible(r.Module)...)
	c.rest = string(rest)
	tail := trimBlanks(rest, 0)
	c.short = len(tail) > 0 && len(tail)+len(t.end) <= wide && c.width == len(c.function) && c.width <= wide
	if c.short {
		copy(c.name[:], blanks)
		copy(c.name[:], c.function)
		c.tailLen = copy(c.tail[:], append(tail, t.end...))
	}
	return c
}

const blanks = "                                                                "

func appendBlanks(dst []byte, n int) []byte {
	for ; n > len(blanks); n -= len(blanks) {
		dst = append(dst, blanks...)
	}
	if n > 0 {
		dst = append(dst, blanks[:n]...)
	}
	return dst
}

// appendPadded appends s, padded with blanks to a width.
func appendPadded(dst []byte, s string, width int) []byte {
	return appendBlanks(append(dst, s...), width-cellWidth(s))
}

// trimBlanks removes blanks at the end of dst, but nothing before start.
func trimBlanks(dst []byte, start int) []byte {
	for len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// cellWidth returns how many character cells s takes in a fixed-width font.
func cellWidth(s string) int {
	n := 0
	for _, r := range s {
		if r < utf8.RuneSelf {
			n++
			continue
		}
		if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			continue
		}
		n++
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n++
		}
	}
	return n
}
