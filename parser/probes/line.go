package probes

import (
	"bytes"
	"math"
)

// A lineKind is what a line of a text says.
type lineKind uint8

const (
	otherLine lineKind = iota
	eventLine
	// nameLine is one of Names.
	nameLine
	// mapLine, forkLine, execLine and lostLine are what perf says of mappings, processes, which
	// may become other programs, and lost events.
	mapLine
	execLine
	forkLine
	lostLine
	// endLine is behind all that comes through a pipe.
	endLine
	// headLine is what tells a text of a tool's without being an event.
	headLine
)

// A line is what was read of a line. Its slices are of the text.
type line struct {
	kind lineKind
	// time is in ns, noTime where there is none; whole says that it had no decimal point.
	time  int64
	whole bool
	// pid and tid are -1 where they are not told.
	pid, tid int64
	command  []byte
	event    []byte
	// address is where the probe lies or, of a return, where the function begins; known says that the line has
	// one.
	address uint64
	known   bool
	leave   bool
	// sure says that the line itself shows whether it is an enter or a leave.
	sure bool
	// symbol is the kernel's function, where ftrace prints its name in place of the address.
	symbol []byte
	// onCPU says that the line names a processor, evident that only texts of probes have such lines.
	onCPU, evident bool
	arguments      []byte

	// of a mapLine and a forkLine
	start, length, offset uint64
	path                  []byte
	parent                int64
	lost                  int64

	unescaped []byte
	recent    recent
}

const noTime = math.MinInt64

// EndLine is written behind a text that has come through a pipe: nothing more will come.
const EndLine = "lp ."

// maxLine bounds the length of a line; longer ones are not read.
const maxLine = 64 << 10

// parse reads a line, which has no line feed.
func (l *line) parse(b []byte) {
	l.kind, l.time, l.whole, l.pid, l.tid = otherLine, noTime, false, -1, -1
	l.command, l.event, l.arguments = nil, nil, nil
	l.address, l.known, l.leave, l.sure = 0, false, false, false
	l.symbol, l.onCPU, l.evident = nil, false, false
	if n := len(b); n > 0 && b[n-1] == '\r' {
		b = b[:n-1]
	}
	if len(b) == 0 {
		return
	}
	switch b[0] {
	case 'l':
		if len(b) > 4 && b[1] == 'p' && b[2] == ' ' && b[4] == ' ' && (b[3] == 'E' || b[3] == 'L') {
			l.own(b)
			return
		}
		if isNames(b) {
			l.kind, l.arguments = nameLine, b
			return
		}
		if string(b) == EndLine {
			l.kind = endLine
			return
		}
	case '{':
		l.json(b)
		return
	case '#', '/', '$':
		if c := uncommented(b); isNames(c) {
			l.kind, l.arguments = nameLine, c
		} else if bytes.HasPrefix(b, []byte("# tracer:")) {
			l.kind = headLine
		}
		return
	case 'A':
		if bytes.HasPrefix(b, []byte("Attaching ")) && bytes.Contains(b, []byte(" probe")) {
			l.kind = headLine
			return
		}
	case 'L':
		if rest, ok := bytes.CutPrefix(b, []byte("Lost ")); ok {
			if n, k := decimal(rest); k > 0 && bytes.HasPrefix(rest[k:], []byte(" events")) {
				l.kind, l.lost = lostLine, n
				return
			}
		}
	case 'C':
		if i := bytes.Index(b, []byte("[LOST ")); i > 0 && bytes.HasPrefix(b, []byte("CPU:")) {
			if n, k := decimal(b[i+6:]); k > 0 {
				l.kind, l.lost = lostLine, n
				return
			}
		}
	}
	l.kernel(b)
}

// openText returns the mark of the text that the line ends within, which has a line feed; 0 where it ends within none.
func (l *line) openText() (mark byte) {
	a := l.arguments
	if n := len(a); n == 0 || a[n-1] == '"' && n > 2 && a[n-2] != '=' {
		return 0
	}
	if bytes.IndexByte(a, '"') < 0 && bytes.IndexByte(a, '\'') < 0 {
		return 0
	}
	// From the left: what looks like the beginning of a text may stand in another one.
	for len(a) > 0 {
		n := 0
		for n < len(a) && isWordByte(a[n]) {
			n++
		}
		if n > 0 && n+1 < len(a) && a[n] == '=' && (a[n+1] == '"' || a[n+1] == '\'') {
			end := textEnd(a[n+2:], a[n+1])
			if end < 0 {
				return a[n+1]
			}
			n += 2 + end
		}
		i := bytes.IndexByte(a[n:], ' ')
		if i < 0 {
			break
		}
		a = a[n+i+1:]
	}
	return 0
}

func isWordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// textEnd returns how many bytes a text has with the mark that ends it, of what follows the mark that it begins with, -1 where it
// does not end there. Behind the mark may be /N, which says how much of a text is taken.
func textEnd(b []byte, mark byte) int {
	for n := 0; ; {
		i := bytes.IndexByte(b[n:], mark)
		if i < 0 {
			return -1
		}
		n += i + 1
		k := n
		if k < len(b) && b[k] == '/' {
			_, digits := decimal(b[k+1:])
			k += 1 + digits
		}
		if k == len(b) || b[k] == ' ' || b[k] == '\r' && k+1 == len(b) {
			return n
		}
	}
}

// decimal reads digits and returns how many.
func decimal(b []byte) (v int64, n int) {
	for n < len(b) && n < 18 && b[n] >= '0' && b[n] <= '9' {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	if n < len(b) && b[n] >= '0' && b[n] <= '9' {
		return 0, 0
	}
	return v, n
}

var digit = func() (t [256]int8) {
	for i := range t {
		t[i] = -1
	}
	for i := range 10 {
		t['0'+i] = int8(i)
	}
	for i := range 6 {
		t['a'+i], t['A'+i] = int8(10+i), int8(10+i)
	}
	return t
}()

// hexadecimal reads digits, with or without 0x before them, and returns how many characters.
// WinDbg divides eight digits by `.
func hexadecimal(b []byte) (v uint64, n int) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		n = 2
	}
	from := n
	for n < len(b) && n-from < 17 {
		d := digit[b[n]]
		if d < 0 {
			if b[n] == '`' && n > from {
				n++
				continue
			}
			break
		}
		v = v<<4 | uint64(d)
		n++
	}
	if n == from {
		return 0, 0
	}
	return v, n
}

// word cuts the first word off, at single blanks.
func word(b []byte) (w, rest []byte) {
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// own reads a line that a script of ours has printed:
//
//	lp E|L TIME|- PID|- TID|- ADDRESS|- EVENT NAME=VALUE...
func (l *line) own(b []byte) {
	leave := b[3] == 'L'
	w, rest := word(b[5:])
	if len(w) != 1 || w[0] != '-' {
		t, n := ownTime(w)
		if n == 0 {
			return
		}
		l.time = t
	}
	for i := range 2 {
		w, rest = word(rest)
		v := int64(-1)
		if len(w) != 1 || w[0] != '-' {
			n := 0
			if v, n = decimal(w); n == 0 || n != len(w) || v > math.MaxUint32 {
				return
			}
		}
		if i == 0 {
			l.pid = v
		} else {
			l.tid = v
		}
	}
	w, rest = word(rest)
	if len(w) != 1 || w[0] != '-' {
		v, n := hexadecimal(w)
		if n == 0 || n != len(w) {
			return
		}
		l.address, l.known = v, true
	}
	if w, rest = word(rest); len(w) == 0 {
		return
	}
	l.event, l.arguments = w, rest
	l.kind, l.leave, l.sure, l.evident = eventLine, leave, true, true
}

// ownTime reads nanoseconds.
func ownTime(w []byte) (int64, int) {
	v, n := int64(0), 0
	for n < len(w) && w[n] >= '0' && w[n] <= '9' {
		if v > (math.MaxInt64-9)/10 {
			return 0, 0
		}
		v = v*10 + int64(w[n]-'0')
		n++
	}
	if n != len(w) {
		return 0, 0
	}
	return v, n
}

// json reads a line of bpftrace -f json.
func (l *line) json(b []byte) {
	switch {
	case bytes.HasPrefix(b, []byte(`{"type": "attached_probes"`)):
		l.kind = headLine
	case bytes.HasPrefix(b, []byte(`{"type": "lost_events"`)):
		if i := bytes.LastIndex(b, []byte(`: `)); i > 0 {
			if n, k := decimal(b[i+2:]); k > 0 {
				l.kind, l.lost = lostLine, n
			}
		}
	case bytes.HasPrefix(b, []byte(`{"type": "printf", "data": "`)):
		text := b[len(`{"type": "printf", "data": "`):]
		out := l.unescaped[:0]
	loop:
		for i := 0; i < len(text); i++ {
			c := text[i]
			switch {
			case c == '"':
				break loop
			case c == '\\' && i+1 < len(text):
				i++
				switch c = text[i]; c {
				case 'n':
					if i+1 < len(text) && text[i+1] == '"' {
						break loop // one printf is one line
					}
					c = '\n'
				case 't':
					c = '\t'
				case 'r':
					c = '\r'
				case 'u':
					if i+4 < len(text) {
						v, n := hexadecimal(text[i+1 : i+5])
						if n == 4 {
							c = byte(v)
							i += 4
						}
					}
				}
			}
			out = append(out, c)
		}
		l.unescaped = out
		if len(out) > 0 && out[0] != '{' {
			unescaped := l.unescaped
			l.parse(out)
			l.unescaped = unescaped
		}
	}
}

var (
	traceStart = []byte(": (")
	perfRecord = []byte("PERF_RECORD_")
)

// kernel reads a line of ftrace, trace-cmd report or perf script. These have an event's name, a
// colon and, in parentheses, the probe's address, and before them, from right to left, time,
// processor and thread, each of which may be missing.
func (l *line) kernel(b []byte) {
	from := 0
	for {
		i := bytes.Index(b[from:], traceStart)
		if i < 0 {
			break
		}
		if i += from; l.trace(b, i) {
			l.kind = eventLine
			return
		}
		from = i + len(traceStart)
	}
	if from > 0 {
		return
	}
	if i := bytes.Index(b, perfRecord); i >= 0 {
		l.record(b, i)
	}
}

// lowest is the lowest address that a program may map.
const lowest = 1 << 12

// trace reads an event whose colon is at i.
func (l *line) trace(b []byte, i int) bool {
	first, rest, ok := readPlace(b[i+len(traceStart):])
	if !ok {
		return false
	}
	second, leave := place{}, false
	if behind, arrow := bytes.CutPrefix(rest, []byte(" <- ")); arrow {
		leave = true
		if second, rest, ok = first.caller(behind); !ok {
			return false
		}
	}
	if len(rest) == 0 || rest[0] != ')' {
		return false
	}
	start := i
	for start > 0 && b[start-1] != ' ' {
		start--
	}
	event, grouped := b[start:i], false
	if k := bytes.IndexByte(event, ':'); k >= 0 {
		event, grouped = event[k+1:], true
	}
	function := first
	// perf and trace-cmd have the function before the return address, ftrace, which also
	// writes 0x and names, behind it.
	if leave && (first.prefixed || first.symbol != nil || second.symbol != nil) {
		function = second
	}
	// Nothing is mapped that low: this is another text with a number in parentheses.
	if len(event) == 0 || function.symbol == nil && function.address < lowest {
		return false
	}
	l.head(b[:start])
	if !leave && function.symbol == nil && l.time == noTime && l.pid < 0 && l.tid < 0 && !grouped {
		return false // ftrace always writes a thread, perf the group where it writes none
	}
	l.event, l.address, l.known, l.symbol = event, function.address, function.symbol == nil, function.symbol
	l.leave, l.sure = leave, leave
	l.evident = leave || l.symbol != nil || l.time != noTime && !l.whole || l.tid >= 0 && (grouped || l.onCPU)
	if len(rest) > 1 {
		l.arguments = rest[min(2, len(rest)):]
	}
	return true
}

// trimRight takes blanks off the end.
func trimRight(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// trimLeft takes blanks off the beginning.
func trimLeft(b []byte) []byte {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b
}

// lastWord cuts the last word off.
func lastWord(b []byte) (rest, w []byte) {
	end := len(b)
	for end > 0 && b[end-1] == ' ' {
		end--
	}
	i := end
	for i > 0 && b[i-1] != ' ' {
		i--
	}
	return b[:i], b[i:end]
}

// head reads what stands before an event's name.
func (l *line) head(b []byte) {
	rest, w := lastWord(b)
	if n := len(w); n > 1 && w[n-1] == ':' {
		if t, whole, ok := seconds(w[:n-1]); ok {
			l.time, l.whole = t, whole
			rest, w = lastWord(rest)
		}
	}
	bracketed := func(w []byte) bool { return len(w) > 2 && w[0] == '[' && w[len(w)-1] == ']' }
	if !bracketed(w) && len(w) >= 4 && len(w) <= 6 {
		// the flags of ftrace
		if r, c := lastWord(rest); bracketed(c) {
			rest, w = r, c
		}
	}
	if bracketed(w) {
		_, n := decimal(w[1:])
		l.onCPU = n == len(w)-2
		rest, w = lastWord(rest)
	}
	if n := len(w); n > 0 && w[n-1] == ')' {
		// ftrace with record-tgid
		if i := bytes.LastIndexByte(b[:len(rest)+n], '('); i >= 0 {
			inside := trimLeft(b[i+1 : len(rest)+n-1])
			if v, k := decimal(inside); k > 0 && k == len(inside) {
				l.pid = v
			}
			rest, w = lastWord(b[:i])
		}
	}
	if len(w) == 0 {
		return
	}
	if v, k := decimal(w); k > 0 {
		switch {
		case k == len(w):
			l.tid, l.command = v, trimLeft(trimRight(rest))
			return
		case w[k] == '/':
			if t, n := decimal(w[k+1:]); n > 0 && n == len(w)-k-1 {
				l.pid, l.tid, l.command = v, t, trimLeft(trimRight(rest))
				return
			}
		}
	}
	if i := bytes.LastIndexByte(w, '-'); i >= 0 {
		if v, k := decimal(w[i+1:]); k > 0 && k == len(w)-i-1 {
			l.tid = v
			l.command = trimLeft(b[:len(rest)+i])
			if len(l.command) == 5 && string(l.command) == "<...>" {
				l.command = nil
			}
			return
		}
	}
	l.command = trimLeft(b[:len(rest)+len(w)])
}

// seconds reads a time in seconds with decimals, or a whole number.
func seconds(w []byte) (ns int64, whole, ok bool) {
	v, n := decimal(w)
	if n == 0 || v > math.MaxInt64/2/1_000_000_000 && n < len(w) {
		return 0, false, false
	}
	if n == len(w) {
		return v, true, true
	}
	if w[n] != '.' || len(w)-n-1 > 9 || len(w)-n-1 == 0 {
		return 0, false, false
	}
	frac := int64(0)
	for _, c := range w[n+1:] {
		if c < '0' || c > '9' {
			return 0, false, false
		}
		frac = frac*10 + int64(c-'0')
	}
	for k := len(w) - n - 1; k < 9; k++ {
		frac *= 10
	}
	return v*1_000_000_000 + frac, false, true
}

// record reads a line of perf script about something other than a sample; i is where the record's name begins.
func (l *line) record(b []byte, i int) {
	name := b[i+len(perfRecord):]
	l.head(b[:i])
	switch {
	case bytes.HasPrefix(name, []byte("MMAP")):
		// MMAP2 PID/TID: [0xSTART(0xLENGTH) @ OFFSET ...]: r-xp PATH
		_, rest := word(name)
		pid, n := decimal(rest)
		at := bytes.Index(rest, []byte(": ["))
		if n == 0 || at < 0 {
			return
		}
		rest = rest[at+3:]
		start, n := hexadecimal(rest)
		if n == 0 || n >= len(rest) || rest[n] != '(' {
			return
		}
		rest = rest[n+1:]
		length, n := hexadecimal(rest)
		rest, ok := bytes.CutPrefix(rest[n:], []byte(") @ "))
		if !ok || n == 0 {
			return
		}
		offset, n := hexadecimal(rest)
		end := bytes.Index(rest, []byte("]: "))
		if n == 0 || end < 0 {
			return
		}
		flags, path := word(rest[end+3:])
		if len(flags) < 3 && string(flags) != "x" || len(path) == 0 || path[0] != '/' || bytes.IndexByte(flags, 'x') < 0 {
			return
		}
		l.kind, l.pid, l.start, l.length, l.offset, l.path = mapLine, pid, start, length, offset, path
	case bytes.HasPrefix(name, []byte("COMM exec: ")):
		// COMM exec: NAME:PID/TID
		pid, n := decimal(name[bytes.LastIndexByte(name, ':')+1:])
		if n > 0 {
			l.kind, l.pid = execLine, pid
		}
	case bytes.HasPrefix(name, []byte("FORK(")):
		// FORK(PID:TID):(PARENT:TID)
		pid, n := decimal(name[5:])
		at := bytes.Index(name, []byte("):("))
		if n == 0 || at < 0 {
			return
		}
		parent, n := decimal(name[at+3:])
		if n == 0 || parent == pid {
			return
		}
		l.kind, l.pid, l.parent = forkLine, pid, parent
	case bytes.HasPrefix(name, []byte("LOST")):
		if at := bytes.LastIndexByte(name, ' '); at >= 0 {
			if n, k := decimal(name[at+1:]); k > 0 {
				l.kind, l.lost = lostLine, n
			}
		}
	}
}
