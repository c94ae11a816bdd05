package texts

import (
	"strings"

	"logparser/modules"
)

// readFolly reads a frame of folly's and of glog's handlers that has no 0x, a return address:
//
//	@ 000000000051c1dd folly::symbolizer::(anonymous namespace)::innerSignalHandler(int, siginfo_t*, void*)
func (r *Reader) readFolly(line string) bool {
	c := scanner{s: line}
	c.blanks()
	if !c.text("@ ") {
		return false
	}
	c.blanks()
	from := c.pos
	address, ok := c.hex()
	if !ok || c.pos-from != 16 || c.rest() != "" && c.rest()[0] != ' ' {
		return false
	}
	r.add(c.reference(from, address, r.kindOf(1)))
	return true
}

// readPython reads a frame of the C stack that Python prints, a return address. What is before the sign is a function, or nothing if
// the offset is one in the module:
//
//	Binary file "/usr/lib/libpython3.14.so.1.0", at _Py_DumpStack+0x4a [0x7f0123456789]
//	Binary file "/usr/bin/app", at +0x1d3ae7 [0x5580123d3ae7]
func (r *Reader) readPython(line string) bool {
	c := scanner{s: line}
	c.blanks()
	path, ok := "", c.text("Binary file '<unknown>'")
	if !ok && c.text(`Binary file "`) {
		path, ok = c.to(`"`)
		ok = ok && path != ""
	}
	if !ok {
		return false
	}
	name, offset, relative := "", uint64(0), false
	if c.text(", at ") {
		if name, ok = c.to("+0x"); !ok {
			return false
		}
		c.pos -= 2
		if offset, relative = c.prefixed(); !relative {
			return false
		}
	}
	if !c.text(" [") {
		return false
	}
	from := c.pos
	address, ok := c.prefixed()
	if !ok || c.rest() != "]" {
		return false
	}
	f := c.reference(from, address, r.kindOf(1))
	if !r.locate(&f) && path != "" {
		switch {
		case relative && name == "":
			f.within(path, offset, modules.Identity{})
		case relative:
			f.Module, f.Space, f.Name, f.Offset = path, Function, name, offset
		default:
			f.within(path, address, modules.Identity{}) // the program lies where it was linked to
		}
	}
	r.refs = append(r.refs, f)
	return true
}

// readStackwalk reads the stacks that minidump_stackwalk prints, of Breakpad and of rust-minidump:
//
//	0  crash + 0x1d72
//	    rip = 0x00000000004041b9   rsp = 0x00007fff00000000
//	   Found by: given as instruction pointer in context
//	1  crash!main + 0x12
//
// Frame 0 is exact. The registers are those that the frame's function had, its rip too: the frame itself says where that is.
func (r *Reader) readStackwalk(line string) bool {
	if r.before == walkList && isRegisters(line) {
		r.list = walkList
		return true
	}
	c := scanner{s: line}
	c.blanks()
	number, ok := c.decimal()
	if !ok || !c.text("  ") || c.rest() == "" || c.rest()[0] == ' ' {
		return false
	}
	from := c.pos
	text := strings.TrimRight(c.rest(), " \t\r")
	name, _, source := strings.Cut(text, " [")
	if source && strings.HasSuffix(text, "]") && strings.Contains(name, "!") {
		r.list = walkList
		r.kindOf(number)
		return true // it has its source line
	}
	plus := strings.LastIndex(text, " + 0x")
	if plus <= 0 {
		return false
	}
	o := scanner{text, plus + 3}
	offset, ok := o.prefixed()
	if !ok || o.rest() != "" {
		return false
	}
	module, function, has := strings.Cut(text[:plus], "!")
	if module == "" || strings.HasPrefix(module, "0x") || has && function == "" {
		return false
	}
	f := Reference{Start: from, End: from + len(text), Address: offset, Module: module, Space: Linked, Offset: offset, Kind: r.kindOf(number)}
	if has {
		f.Space, f.Name = Function, function
	}
	r.list = walkList
	r.refs = append(r.refs, f)
	return true
}

// isRegisters reports whether a line has registers and nothing else: "    rip = 0x…   rsp = 0x…".
func isRegisters(line string) bool {
	c := scanner{s: line}
	if !c.blanks() {
		return false
	}
	for n := 0; ; n++ {
		if c.rest() == "" {
			return n > 0
		}
		from := c.pos
		for c.pos < len(c.s) && isWord(c.s[c.pos]) {
			c.pos++
		}
		if c.pos == from || !c.text(" = ") {
			return false
		}
		if _, ok := c.prefixed(); !ok {
			return false
		}
		c.blanks()
	}
}
