package texts

import (
	"strings"

	"logparser/modules"
)

// readWinDbg reads what the debuggers of Windows print of a stack, by k, kn, kb and kv:
//
//	00 006ffb2c 778624c0 ntdll!RtlpNtSetValueKey+0x27a0
//	01 00000012`7f2ff8d0 00007ff6`12341072 app+0x1072
//	006ffb2c 778624c0 00000001 00000002 00000003 ntdll!RtlpNtSetValueKey+0x27a0
//	01 00000012`7f2ff8d0 00007ff6`12341072 : 00000000`00000001 00000000`00000002 … : app+0x1072
//
// A row has the name of its own frame, but its second column has the return address, which is the address of the row
// after it. What is between that and the name are arguments. Row 0 is exact, and without numbers the first.
func (r *Reader) readWinDbg(line string) bool {
	c := scanner{s: line}
	c.blanks()
	row, numbered := c.hex()
	if numbered = numbered && c.pos <= 4 && c.blanks(); !numbered {
		c.pos = 0
	}
	c.blanks()
	columns := 0
	for c.column() {
		columns++
	}
	if columns > 0 && c.text(": ") {
		for c.column() {
		}
		if !c.text(": ") {
			return false
		}
	} else if columns < 2 {
		return false
	}
	f, ok := symbolOffset(line, c.pos)
	if !ok {
		return false
	}
	if numbered {
		f.Kind = r.kindOf(row)
	} else {
		f.Kind = r.listed(debuggerList)
	}
	r.refs = append(r.refs, f)
	return true
}

// column skips a number of at least eight digits and the blanks behind it.
func (c *scanner) column() bool {
	from := c.pos
	if _, ok := c.hex(); ok && c.pos-from >= 8 && c.blanks() {
		return true
	}
	c.pos = from
	return false
}

// readWinDbgModule reads a line of the debuggers' list of modules (lm):
//
//	00007ff6`12340000 00007ff6`12350000   app        (pdb symbols)          c:\sym\app.pdb
func (r *Reader) readWinDbgModule(line string) bool {
	c := scanner{s: line}
	c.blanks()
	var at [2]uint64
	for i := range at {
		from := c.pos
		var ok bool
		if at[i], ok = c.hex(); !ok || c.pos-from < 8 || !c.blanks() {
			return false
		}
	}
	name, _, ok := strings.Cut(c.rest(), " ")
	if !ok || name == "" || at[1] <= at[0] || at[1]-at[0] >= 1<<32 {
		return false
	}
	r.Add(Mapping{Start: at[0], End: at[1], Space: Linked, Module: name})
	return true
}

// exceptionAddress is what the debuggers of Windows have before the address of an exception.
const exceptionAddress = "ExceptionAddress: "

// readExceptionAddress reads where an exception was, as .exr and !analyze print it, which is exact:
//
//	ExceptionAddress: 00007ff6`12341072 (app!main+0x0000000000000022)
func (r *Reader) readExceptionAddress(line string) bool {
	c := scanner{s: line}
	c.to(exceptionAddress)
	from := c.pos
	c.prefix()
	address, ok := c.hex()
	if !ok {
		return false
	}
	f := c.reference(from, address, Exact)
	if !r.locate(&f) && c.text(" (") {
		if end := strings.IndexByte(c.rest(), ')'); end >= 0 {
			if g, ok := symbolOffset(line[:c.pos+end], c.pos); ok {
				g.Kind, f = Exact, g
			}
		}
	}
	r.refs = append(r.refs, f)
	return true
}

// symbolOffset reads MODULE!FUNCTION+0xOFFSET, MODULE!FUNCTION or MODULE+0xOFFSET.
func symbolOffset(line string, from int) (f Reference, ok bool) {
	text := line[from:]
	end := len(text)
	if i := strings.Index(text, " ["); i >= 0 {
		end = i // the source line follows
	}
	for _, note := range [...]string{" (FPO:", " (CONV:"} {
		if i := strings.Index(text[:end], note); i >= 0 {
			end = i
		}
	}
	text = strings.TrimRight(text[:end], " \t\r")
	name, offset := text, uint64(0)
	if plus := strings.LastIndex(text, "+0x"); plus >= 0 {
		c := scanner{text, plus + 1}
		n, isOffset := c.prefixed()
		if !isOffset || c.pos != len(text) {
			return f, false
		}
		name, offset = text[:plus], n
	} else if !strings.Contains(text, "!") {
		return f, false
	}
	f = Reference{Start: from, End: from + len(text), Address: offset, Offset: offset}
	module, function, has := strings.Cut(name, "!")
	if module == "" || has && function == "" || strings.ContainsAny(module, " \t:(<") {
		return f, false
	}
	f.Module, f.Space = module, Linked
	if has {
		f.Space, f.Name = Function, function
	}
	return f, true
}

// readSections reads an address in the form of a linker's map and of the report exelog: a
// section's number and an offset in it, then the module:
//
//	at 00601099 0001:00000099 H:\Log\MAPEXE\Debug\MAPDLL.dll
func (r *Reader) readSections(line string) bool {
	// A module's name has a dot. It is behind the last separator of the line, or of an address.
	name, dot := strings.LastIndexAny(line, `/\`)+1, strings.LastIndexByte(line, '.')
	for at := strings.IndexByte(line, ':'); at >= 0; {
		c := scanner{line, at + 1}
		if at >= 4 && strings.HasPrefix(line[at:], ":00") && (at == 4 || line[at-5] == ' ') {
			n := scanner{line[:at], at - 4}
			number, ok := n.hex()
			from := c.pos
			offset, isOffset := c.hex()
			if ok && isOffset && n.pos == at && c.pos-from == 8 && number > 0 && number < 1<<15 && c.blanks() && dot >= max(name, c.pos) {
				if path := strings.TrimSpace(strings.TrimPrefix(c.rest(), "H ")); path != "" {
					r.refs = append(r.refs, Reference{Start: at - 4, End: from + 8, Address: offset, Module: path, Space: Section, SectionNumber: int(number), Offset: offset})
					return true
				}
			}
		}
		i := strings.IndexByte(line[at+1:], ':')
		if i < 0 {
			return false
		}
		at += 1 + i
	}
	return false
}

// A windowsEvent is the state of reading an event that Windows logs when a program has
// ended by itself ("Application Error", 1000). Its words are in the language of the
// system, but its order and form are always the same:
//
//	Faulting module name: ntdll.dll, version: 10.0.19041.5607, time stamp: 0x15600361
//	Exception code: 0xc0000374
//	Fault offset: 0x000e6d23
type windowsEvent struct {
	module string
	stamp  uint32
	// numbers counts the lines after the module that have one number.
	numbers int
}

// readWindowsEvent reads the lines of such an event. The module is the last one that is named. The second number after it is
// the offset, which is exact.
func (r *Reader) readWindowsEvent(line string) bool {
	_, value, ok := strings.Cut(strings.TrimRight(line, " \t\r"), ": ")
	if !ok {
		return false
	}
	if name, rest, ok := strings.Cut(value, ", "); ok {
		lower := strings.ToLower(name)
		i := strings.LastIndex(rest, ": 0x")
		if i < 0 || !strings.HasSuffix(lower, ".dll") && !strings.HasSuffix(lower, ".exe") || strings.ContainsAny(name, `:\/`) {
			return false
		}
		c := scanner{rest, i + 2}
		stamp, ok := c.prefixed()
		if !ok || c.pos != len(rest) || stamp > 1<<32-1 {
			return false
		}
		r.event = windowsEvent{module: name, stamp: uint32(stamp)}
		return true
	}
	if r.event.module == "" {
		return false
	}
	c := scanner{line, len(line) - len(strings.TrimLeft(line, " \t"))}
	c.to(": ")
	from := c.pos
	n, ok := c.prefixed()
	if !ok || strings.TrimSpace(c.rest()) != "" {
		return false
	}
	if r.event.numbers++; r.event.numbers < 2 {
		return true
	}
	f := c.reference(from, n, Exact)
	f.within(r.event.module, n, modules.Identity{Timestamp: r.event.stamp})
	r.event = windowsEvent{}
	r.refs = append(r.refs, f)
	return true
}
