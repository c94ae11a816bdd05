package texts

import (
	"encoding/hex"
	"strings"

	"logparser/modules"
)

// readNumbered reads frames that begin with "#" and a number:
//
//	gdb                 #1  0x000055555555528e in mid (p=0x8) at seg.c:11
//	AddressSanitizer        #0 0x5650da804a96  (/opt/ac+0x10ba96) (BuildId: b9b7…)
//	ThreadSanitizer         #0 <null> <null> (tc+0xe45ff) (BuildId: fc78…)
//	systemd-coredump    #0  0x0000555668fbe11d n/a (/tmp/a.out + 0x111d)
//	Android                 #01 pc 000083fe  /system/lib/libc.so (f+40) (BuildId: …)
//
// gdb and systemd print return addresses unchanged; the sanitizers and
// Android's unwinder have subtracted 1. Syslog joins the lines of systemd with
// "#012".
func (r *Reader) readNumbered(line string) bool {
	const lineBreak = "#012" // as syslog writes it
	found := false
	for begin := 0; begin < len(line); {
		end := len(line)
		if i := strings.Index(line[begin:], lineBreak); i >= 0 {
			end = begin + i
		}
		if r.numberedIn(line[:end], begin) {
			found = true
		}
		begin = end + len(lineBreak)
	}
	if !found && strings.Contains(line, "<signal handler called>") {
		r.signal = true
		return true
	}
	return found
}

// numberedIn reads the frame of a line that begins at an index. Other text may stand before its "#", with such signs of its
// own.
func (r *Reader) numberedIn(line string, from int) bool {
	const most = 32 // signs; each is tried with all that follows it
	for range most {
		i := strings.IndexByte(line[from:], '#')
		if i < 0 {
			return false
		}
		at := from + i
		from = at + 1
		n := digits(line[from:])
		if n == 0 || n > 4 || at > 0 && (isWord(line[at-1]) || line[at-1] == '&') && !strings.HasSuffix(line[:at], "#012") {
			continue
		}
		if r.numbered(line, at) {
			return true
		}
	}
	return false
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// numbered reads the frame whose "#" is at an index.
func (r *Reader) numbered(line string, at int) bool {
	c := scanner{line, at + 1}
	number, ok := c.decimal()
	behind := c.pos
	if !ok || !c.blanks() {
		return false
	}
	if c.text("pc ") {
		return r.android(&c)
	}
	if c.text("<signal handler called>") {
		r.signal = true
		return true
	}
	from := c.pos
	address, absolute := c.prefixed()
	f := c.reference(from, address, Called)
	module, offset, place, systemd := moduleOffset(c.rest())
	// Sanitizers indent the number and put one blank after it; gdb and systemd do neither.
	indented := at > 0 && strings.Trim(line[:at], " ") == "" && line[behind:from] == " "
	switch {
	case module != "":
		id := buildID(c.rest())
		if systemd && id == (modules.Identity{}) {
			id = r.builds[modules.BaseName(module)]
		}
		f.within(module, offset, id)
		if !absolute {
			f.Start, f.End, f.Address = c.pos+place[0], c.pos+place[1], offset
		}
	case !absolute:
		return r.withoutAddress(&c, number)
	}
	if systemd || !indented {
		f.Kind = r.kindOf(number)
	}
	r.add(f)
	return true
}

// withoutAddress recognises a frame of gdb that is at the beginning of a source line, and so has no address: "#0  inner (p=0x0)
// at seg.c:5". It has no reference, but it decides the kind of the next frame.
func (r *Reader) withoutAddress(c *scanner, number uint64) bool {
	if !strings.Contains(c.rest(), " (") || !strings.Contains(c.rest(), " at ") && !strings.Contains(c.rest(), " from ") {
		return false
	}
	r.kindOf(number)
	return true
}

// android reads what follows "pc ".
func (r *Reader) android(c *scanner) bool {
	from := c.pos
	address, ok := c.hex()
	if !ok {
		return false
	}
	f := c.reference(from, address, Called)
	c.blanks()
	rest := c.rest()
	if end := strings.Index(rest, " ("); end >= 0 {
		rest = rest[:end]
	}
	path := strings.TrimSpace(rest)
	if path == "" {
		return false
	}
	f.within(path, address, buildID(c.rest()))
	r.add(f)
	return true
}

// moduleOffset finds the last "(PATH+0xOFFSET)" or "(PATH + 0xOFFSET)" of a text. place is where the number is in the text;
// spaced says that there are blanks around "+".
func moduleOffset(s string) (module string, offset uint64, place [2]int, spaced bool) {
	for end := len(s); end > 0; {
		plus := strings.LastIndex(s[:end], "+")
		if plus < 0 {
			return "", 0, place, false
		}
		end = plus
		c := scanner{s, plus + 1}
		blank := c.blanks()
		from := c.pos
		n, ok := c.prefixed()
		if !ok || !strings.HasPrefix(c.rest(), ")") {
			continue
		}
		open := strings.LastIndexByte(s[:plus], '(')
		if open < 0 {
			return "", 0, place, false
		}
		if name := strings.TrimSpace(s[open+1 : plus]); name != "" {
			return name, n, [2]int{from, c.pos}, blank
		}
	}
	return "", 0, place, false
}

// buildID finds "(BuildId: HEX)".
func buildID(line string) (id modules.Identity) {
	c := scanner{s: line}
	if _, ok := c.to("(BuildId: "); !ok {
		return id
	}
	if text, ok := c.to(")"); ok {
		return identityOf(text)
	}
	return id
}

// identityOf returns the identity with a build-id in hexadecimal digits.
func identityOf(digits string) (id modules.Identity) {
	if raw, err := hex.DecodeString(digits); err == nil && len(raw) <= modules.MaxBuildID {
		id.BuildID = string(raw)
	}
	return id
}

// readDoubleEquals reads what begins with "==PID==": the head of a sanitizer's
// report, "==1==ERROR: AddressSanitizer: … at pc 0x55… bp 0x7f… sp 0x7f…", and
// Valgrind's frames:
//
//	==9010==    by 0x10928D: mid (seg.c:11)
//	==9010==    at 0x109272: ??? (in /opt/segs)
//
// Valgrind has subtracted 1 in frames with "by". It loads position-independent
// programs at 0x108000. The pc in a sanitizer's head is one more than that of the first
// frame.
func (r *Reader) readDoubleEquals(line string) bool {
	c := scanner{s: line}
	if i := strings.Index(line, "=="); i < 0 {
		return false
	} else {
		c.pos = i + 2
	}
	if _, ok := c.decimal(); !ok || !c.text("==") {
		return false
	}
	if _, ok := c.to(" pc 0x"); ok {
		c.pos -= 2
		from := c.pos
		if n, ok := c.prefixed(); ok {
			r.add(c.reference(from, n, Return))
			return true
		}
		return false
	}
	c.blanks()
	kind := Called
	if c.text("at ") {
		kind = Exact
	} else if !c.text("by ") {
		return false
	}
	from := c.pos
	n, ok := c.prefixed()
	f := c.reference(from, n, kind)
	if !ok || !c.text(":") {
		return false
	}
	if r.locate(&f) {
		r.refs = append(r.refs, f)
		return true
	}
	const positionIndependent, libraries = 0x108000, 0x4000000
	if path, ok := inside(c.rest(), "(in ", ")"); ok {
		switch {
		case n < 0x400000 && n >= positionIndependent:
			f.within(path, n-positionIndependent, modules.Identity{})
		case n < libraries:
			f.within(path, n, modules.Identity{})
		default:
			f.Module = path // the load address of a library is not printed
		}
	}
	r.add(f)
	return true
}

// inside returns the text between two others.
func inside(s, open, end string) (string, bool) {
	c := scanner{s: s}
	if _, ok := c.to(open); !ok {
		return "", false
	}
	return c.to(end)
}

// readBacktrace reads a line of glibc's backtrace_symbols, which prints return
// addresses unchanged:
//
//	./seg(mid+0x18)[0x55b25f3cb28e]
//	./seg(+0x1272) [0x55b25f3cb272]
//	./segnp[0x40125f]
func (r *Reader) readBacktrace(line string) bool {
	trimmed := strings.TrimRight(line, " \t\r")
	open := strings.LastIndex(trimmed, "[0x")
	if open <= 0 || !strings.HasSuffix(trimmed, "]") {
		return false
	}
	c := scanner{trimmed, open + 1}
	from := c.pos
	address, ok := c.prefixed()
	if !ok || c.pos != len(trimmed)-1 {
		return false
	}
	f := c.reference(from, address, r.kindOf(1))
	before := strings.TrimRight(trimmed[:open], " ")
	path, inner := before, ""
	if strings.HasSuffix(before, ")") {
		k := strings.LastIndexByte(before, '(')
		if k < 0 {
			return false
		}
		path, inner = before[:k], before[k+1:len(before)-1]
	}
	if path = pathBehind(path); path == "" {
		return false
	}
	if r.locate(&f) {
		r.refs = append(r.refs, f)
		return true
	}
	f.Module = path
	plus := strings.LastIndexByte(inner, '+')
	o := scanner{inner, plus + 1}
	offset, isOffset := o.prefixed()
	switch {
	case plus == 0 && isOffset:
		f.within(path, offset, modules.Identity{})
	case plus > 0 && isOffset:
		f.Space, f.Name, f.Offset = Function, inner[:plus], offset
	default:
		// The program was loaded at the addresses to which it was linked.
		f.Space, f.Offset = Linked, address
	}
	r.refs = append(r.refs, f)
	return true
}

// pathBehind returns the path at the end of a text that may have something else before it, such as the words that a program
// puts before each line of its log. A path that begins the text may have blanks.
func pathBehind(text string) string {
	text = strings.TrimLeft(text, " \t")
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") {
		return text
	}
	for _, begin := range [...]string{" /", " ./", " ../", "\t/", "\t./"} {
		if i := strings.Index(text, begin); i >= 0 {
			return text[i+1:]
		}
	}
	return text[strings.LastIndexAny(text, " \t")+1:]
}
