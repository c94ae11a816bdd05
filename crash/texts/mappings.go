package texts

import (
	"strings"

	"logparser/modules"
)

// readMaps reads a line of /proc/PID/maps. Reports of Java and of the
// recorder contain such lines, too:
//
//	00c5d000-00c5e000 r-xp 00000000 08:05 2129013    /opt/libbt_so.so
func (r *Reader) readMaps(line string) bool {
	c := scanner{s: line}
	c.blanks()
	start, ok := c.hex()
	if !ok || !c.text("-") {
		return false
	}
	end, ok := c.hex()
	if !ok || !c.blanks() || !permissions(c.rest()) {
		return false
	}
	c.pos += 4
	c.blanks()
	offset, ok := c.hex()
	if !ok || !c.blanks() {
		return false
	}
	if _, ok := c.hex(); !ok || !c.text(":") {
		return false
	}
	if _, ok := c.hex(); !ok || !c.blanks() {
		return false
	}
	if _, ok := c.decimal(); !ok {
		return false
	}
	c.blanks()
	if path := mappedFile(c.rest()); path != "" {
		r.Add(Mapping{Deleted: isDeleted(c.rest()), Start: start, End: end, Offset: offset, Space: File, Module: path})
	}
	return true
}

// permissions reports whether a text begins with permissions such as "r-xp ".
func permissions(s string) bool {
	return len(s) > 4 && (s[0] == 'r' || s[0] == '-') && (s[1] == 'w' || s[1] == '-') && (s[2] == 'x' || s[2] == '-') &&
		(s[3] == 'p' || s[3] == 's') && s[4] == ' '
}

// deletedMark is what the kernel adds to the path of a mapped file that was removed or replaced.
const deletedMark = " (deleted)"

// isDeleted reports whether a mapped file was removed or replaced while the program ran.
func isDeleted(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), deletedMark) }

// mappedFile returns the path of a mapping, or "" if no file is mapped: [heap], [stack], //anon.
func mappedFile(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), deletedMark)
	if s == "" || s[0] == '[' || strings.HasPrefix(s, "//anon") {
		return ""
	}
	return s
}

// readPerfMap reads perf's mmap events:
//
//	PERF_RECORD_MMAP2 41/41: [0x55d0a1f00000(0x1000) @ 0x1000 08:01 123 0]: r-xp /opt/seg
func (r *Reader) readPerfMap(line string) bool {
	c := scanner{s: line}
	if _, ok := c.to("PERF_RECORD_MMAP"); !ok {
		return false
	}
	if _, ok := c.to(": ["); !ok {
		return false
	}
	start, ok := c.prefixed()
	if !ok || !c.text("(") {
		return false
	}
	size, ok := c.prefixed()
	if !ok || !c.text(") @ ") {
		return false
	}
	offset, ok := c.prefixed()
	if !ok {
		// An offset of 0 is written without 0x.
		if offset, ok = c.hex(); !ok {
			return false
		}
	}
	if _, ok := c.to("]: "); !ok {
		return false
	}
	if permissions(c.rest()) {
		c.pos += 5
	}
	if path := mappedFile(c.rest()); path != "" && start+size > start {
		r.Add(Mapping{Deleted: isDeleted(c.rest()), Start: start, End: start + size, Offset: offset, Space: File, Module: path})
	}
	return true
}

// A markupModule is a module of symbolizer markup.
type markupModule struct {
	name     string
	identity modules.Identity
}

// readMarkup reads LLVM's symbolizer markup. A line may have several
// elements:
//
//	{{{module:0:/opt/ac:elf:b9b7…}}}
//	{{{mmap:0x5611…:0xdfb95:load:0:rx:0x2c000}}}
//	{{{bt:0:0x55a15d74ca96}}}  {{{pc:0x55a15d74ca96:ra}}}
//
// ra and pc tell the kind of an address. Without them, frame 0 is exact
// and the others are return addresses.
func (r *Reader) readMarkup(line string) bool {
	c := scanner{s: line}
	found := false
	for {
		if _, ok := c.to("{{{"); !ok {
			return found
		}
		from := c.pos
		element, ok := c.to("}}}")
		if !ok {
			return found
		}
		found = true
		fields := strings.Split(element, ":")
		switch fields[0] {
		case "reset":
			r.mappings = r.mappings[:0]
			clear(r.markup)
		case "module":
			r.markupModule(fields)
		case "mmap":
			r.markupMapping(fields)
		case "bt", "pc":
			r.markupAddress(line, from, fields)
		}
	}
}

func (r *Reader) markupModule(fields []string) {
	if len(fields) < 3 || len(r.markup) >= maxMappings {
		return
	}
	number := scanner{s: fields[1]}
	n, ok := number.number()
	if !ok {
		return
	}
	m := markupModule{name: fields[2]}
	if len(fields) >= 5 && fields[3] == "elf" {
		m.identity = identityOf(fields[4])
	}
	r.markup[n] = m
}

func (r *Reader) markupMapping(fields []string) {
	if len(fields) < 7 || fields[3] != "load" {
		return
	}
	var n [4]uint64
	for i, k := range [...]int{1, 2, 4, 6} {
		c := scanner{s: fields[k]}
		var ok bool
		if n[i], ok = c.number(); !ok {
			return
		}
	}
	m, ok := r.markup[n[2]]
	if !ok || n[0]+n[1] <= n[0] {
		return
	}
	r.Add(Mapping{Start: n[0], End: n[0] + n[1], Offset: n[3], Space: Linked, Module: m.name, Identity: m.identity})
}

// markupAddress reads a bt or pc element. Its fields begin at index from of the line.
func (r *Reader) markupAddress(line string, from int, fields []string) {
	at := 1
	if fields[0] == "bt" {
		at = 2
	}
	if len(fields) <= at {
		return
	}
	start := from
	for _, f := range fields[:at] {
		start += len(f) + 1
	}
	c := scanner{line, start}
	address, ok := c.number()
	if !ok || c.pos != start+len(fields[at]) {
		return
	}
	kind := Exact
	if fields[0] == "bt" && strings.Trim(fields[1], "0x") != "" {
		kind = Return
	}
	if len(fields) > at+1 {
		switch fields[at+1] {
		case "ra":
			kind = Return
		case "pc":
			kind = Exact
		}
	}
	r.add(c.reference(start, address, kind))
}

// number reads a number of markup: hexadecimal with 0x, or decimal.
func (c *scanner) number() (uint64, bool) {
	if n, ok := c.prefixed(); ok {
		return n, true
	}
	return c.decimal()
}

// readBinaryImage reads a line of the list of modules in reports of macOS:
//
//	0x1000ac000 -        0x100c13fff +app arm64  <uuid> /path
func (r *Reader) readBinaryImage(line string) bool {
	c := scanner{s: line}
	c.blanks()
	start, ok := c.prefixed()
	if !ok || !c.blanks() || !c.text("-") {
		return false
	}
	c.blanks()
	end, ok := c.prefixed()
	if !ok || !c.blanks() || end < start || end == 1<<64-1 {
		return false
	}
	// gdb's list of mappings looks similar, but has size and offset after the addresses, and no "-".
	if i := strings.Index(c.rest(), "> /"); i >= 0 {
		id := modules.Identity{}
		if open := strings.LastIndexByte(c.rest()[:i], '<'); open >= 0 {
			id = uuidIdentity(c.rest()[open+1 : i])
		}
		r.Add(Mapping{Start: start, End: end + 1, Space: Linked, Module: c.rest()[i+2:], Identity: id})
	}
	return true
}

// readMicrodumpModule reads a module of a microdump, which Breakpad writes to a log:
//
//	W/google-breakpad( 3728): M 000000555F608000 0000000000000000 00000000000C0000 D6D1FEC9A15DE7F38A236898871A2E770 app
func (r *Reader) readMicrodumpModule(line string) bool {
	_, tag, ok := strings.Cut(line, "google-breakpad")
	if !ok {
		return false
	}
	_, rest, ok := strings.Cut(tag, ": M ")
	if !ok {
		return false
	}
	f := strings.Fields(rest)
	if len(f) < 5 || len(f[3]) < 33 {
		return false
	}
	start, size := scanner{s: f[0]}, scanner{s: f[2]}
	base, ok := start.hex()
	n, isSize := size.hex()
	if !ok || !isSize || base+n < base {
		return false
	}
	r.Add(Mapping{Start: base, End: base + n, Space: Linked, Module: strings.Join(f[4:], " "), Identity: uuidIdentity(f[3][:32])})
	return true
}

// readProcMappings reads a line of gdb's "info proc mappings":
//
//	0x555555554000     0x555555555000     0x1000        0x0  r--p   /opt/seg
func (r *Reader) readProcMappings(line string) bool {
	c := scanner{s: line}
	var n [4]uint64
	for i := range n {
		if !c.blanks() && i > 0 {
			return false
		}
		var ok bool
		if n[i], ok = c.prefixed(); !ok {
			return false
		}
	}
	if !c.blanks() || n[1] <= n[0] || n[1]-n[0] != n[2] {
		return false
	}
	if permissions(c.rest()) {
		c.pos += 4
		c.blanks()
	}
	if path := mappedFile(c.rest()); path != "" {
		r.Add(Mapping{Deleted: isDeleted(c.rest()), Start: n[0], End: n[1], Offset: n[3], Space: File, Module: path})
	}
	return true
}
