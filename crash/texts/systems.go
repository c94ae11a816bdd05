package texts

import (
	"strings"

	"logparser/modules"
)

// readKernelFault reads the kernel's message about a process that it ended:
//
//	seg[8730]: segfault at 8 ip 000055d0a1f00272 sp 00007ffd… error 4 in seg[1272,55d0a1f00000+1000]
//	traps: seg[8730] general protection fault ip:55d0a1f00272 sp:7ffd… error:0 in seg[55d0a1f00000+1000]
//
// The address is exact. Newer kernels print the offset in the file before the
// mapping. With older ones only the offset in the mapping with the code is known.
func (r *Reader) readKernelFault(line string) bool {
	c := scanner{s: line}
	if _, ok := c.to(" ip"); !ok || !c.text(" ") && !c.text(":") {
		return false
	}
	from := c.pos
	address, ok := c.hex()
	f := c.reference(from, address, Exact)
	if !ok || !c.text(" sp") {
		return false
	}
	if _, ok := c.to(" in "); ok {
		if name, ok := c.to("["); ok && name != "" && !strings.ContainsRune(name, ' ') {
			first, ok := c.hex()
			inFile := ok && c.text(",")
			start := first
			if inFile {
				start, ok = c.hex()
			}
			switch {
			case ok && inFile:
				f.Module, f.Space, f.Offset = name, File, first
			case ok && c.text("+") && address >= start:
				f.Module, f.Space, f.Offset = name, Code, address-start
			}
		}
	}
	r.add(f)
	return true
}

// readKernelTrace reads frames of the kernel's own traces:
//
//	RIP: 0010:drv_write+0x1c/0x90 [drv]
//	 ? vfs_write+0x10/0x20 [mod]
//
// The number after the slash is the size of the function. The line with RIP (pc, on
// other machines) is exact, the others are return addresses.
func (r *Reader) readKernelTrace(line string) bool {
	plus := strings.LastIndex(line, "+0x")
	c := scanner{line, plus + 1}
	offset, ok := c.prefixed()
	if !ok {
		return false
	}
	end := c.pos
	if !c.text("/") {
		return false
	}
	if _, ok := c.prefixed(); !ok {
		return false
	}
	start := plus
	for start > 0 && (isWord(line[start-1]) || line[start-1] == '.') {
		start--
	}
	if start == plus {
		return false
	}
	f := Reference{Start: start, End: end, Address: offset, Kind: Return, Module: "vmlinux", Space: Function, Offset: offset, Name: line[start:plus]}
	if before := line[:start]; strings.Contains(before, "RIP: ") || strings.HasSuffix(strings.TrimRight(before, " "), "pc :") {
		f.Kind = Exact
	}
	if name, ok := inside(c.rest(), "[", "]"); ok && name != "" {
		f.Module, _, _ = strings.Cut(name, " ")
		f.Module += ".ko"
	}
	r.refs = append(r.refs, f)
	return true
}

// readJava reads the native frames in the report of a Java virtual machine. The first is
// exact:
//
//	V  [libjvm.so+0xed2f94]  Unsafe_PutLong+0x124
//	C  [libjli.so+0x4592]  JavaMain+0xd82
func (r *Reader) readJava(line string) bool {
	c := scanner{s: line}
	// The head of the report repeats the first frame after "# ".
	c.text("# ")
	if !c.text("V  [") && !c.text("C  [") && !c.text("v  [") {
		return false
	}
	name, ok := c.to("+")
	from := c.pos
	offset, isOffset := c.prefixed()
	if !ok || !isOffset || !c.text("]") || name == "" {
		return false
	}
	c.pos--
	f := c.reference(from, offset, r.listed(javaList))
	f.within(name, offset, modules.Identity{})
	r.refs = append(r.refs, f)
	return true
}

// readGo reads the addresses in reports of Go programs: "[signal SIGSEGV: … addr=0x0
// pc=0x47a748]", which is exact, and "fp=0x… sp=0x… pc=0x471ecf", a return address.
func (r *Reader) readGo(line string) bool {
	isSignal := strings.Contains(line, "[signal ")
	c := scanner{s: line}
	if !isSignal && !strings.Contains(line, " fp=0x") {
		return false
	}
	if _, ok := c.to(" pc=0x"); !ok {
		return false
	}
	c.pos -= 2
	from := c.pos
	address, ok := c.prefixed()
	if !ok {
		return false
	}
	kind := Return
	if isSignal {
		kind = Exact
	}
	r.add(c.reference(from, address, kind))
	return true
}

// readRust reads a frame of a full backtrace of Rust, a return address:
//
//	0:     0x557dd76fa97a - <unknown>
func (r *Reader) readRust(line string) bool {
	c := scanner{s: line}
	c.blanks()
	if _, ok := c.decimal(); !ok || !c.text(":") || !c.blanks() {
		return false
	}
	from := c.pos
	address, ok := c.prefixed()
	f := c.reference(from, address, Return)
	if !ok || !c.text(" - ") {
		return false
	}
	r.add(f)
	return true
}

// readPerf reads the frames of perf script. The first is exact:
//
//	55d0a1f01380 app::f+0x0 (/opt/app)
//
// The number is an address of the process if mmap events tell where the module
// was mapped, otherwise an address of the module as it was linked.
func (r *Reader) readPerf(line string) bool {
	c := scanner{s: line}
	if !c.blanks() {
		return false
	}
	from := c.pos
	address, ok := c.hex()
	if !ok || c.pos-from < 3 || !c.text(" ") {
		return false
	}
	c.pos--
	rest := strings.TrimRight(c.rest(), " \r")
	open := strings.LastIndex(rest, " (")
	if open < 0 || !strings.HasSuffix(rest, ")") {
		return false
	}
	path := rest[open+2 : len(rest)-1]
	f := c.reference(from, address, r.listed(perfList))
	if !r.locate(&f) && strings.HasPrefix(path, "/") {
		f.within(path, address, modules.Identity{})
	}
	r.refs = append(r.refs, f)
	return true
}

// readMac reads frames and lists of modules in reports of macOS:
//
//	3   bdlli-bind    0x000000010507c1ac 0x105000000 + 508332
//	0x1000ac000 - 0x100c13fff app arm64  <uuid> /path
//
// The number after the second address is decimal. Frame 0 is exact.
func (r *Reader) readMac(line string) bool {
	if r.readBinaryImage(line) || r.readProcMappings(line) {
		return true
	}
	c := scanner{s: line}
	c.blanks()
	number, ok := c.decimal()
	if !ok || !c.blanks() {
		return false
	}
	name, ok := c.to("0x")
	if !ok || strings.TrimSpace(name) == "" || !strings.HasSuffix(name, " ") && !strings.HasSuffix(name, "\t") {
		return false
	}
	c.pos -= 2
	from := c.pos
	address, ok := c.prefixed()
	f := c.reference(from, address, Return)
	if !ok || !c.blanks() {
		return false
	}
	plus := strings.LastIndex(c.rest(), " + ")
	if plus < 0 {
		return false
	}
	tail := scanner{c.rest(), plus + 3}
	offset, ok := tail.decimal()
	if !ok {
		return false
	}
	f.Kind = r.kindOf(number)
	head := scanner{s: c.rest()}
	if _, ok := head.prefixed(); ok && head.pos == plus {
		f.within(strings.TrimSpace(name), offset, modules.Identity{})
	} else if !r.locate(&f) {
		f.Module = strings.TrimSpace(name)
	}
	r.refs = append(r.refs, f)
	return true
}

// buildIDWords is part of each line of systemd's list of modules, which comes before the stacks:
//
//	Module libc.so.6 with build-id 18b9a9a8c523e5cfe5b5d946d605d09242f09798
const buildIDWords = " with build-id "

// maxBuilds bounds the modules whose identities are kept.
const maxBuilds = 1 << 14

// readBuildIDs reads the build-ids of modules. In syslog all lines of a report are joined by "#012".
func (r *Reader) readBuildIDs(line string) {
	for _, part := range strings.Split(line, "#012") {
		head, digits, ok := strings.Cut(part, buildIDWords)
		_, name, ok2 := strings.Cut(head, "Module ")
		if !ok || !ok2 || name == "" {
			continue
		}
		digits, _, _ = strings.Cut(strings.TrimSpace(digits), " ")
		if id := identityOf(digits); id.BuildID != "" {
			if r.builds == nil || len(r.builds) >= maxBuilds {
				r.builds = make(map[string]modules.Identity)
			}
			r.builds[modules.BaseName(name)] = id
		}
	}
}
