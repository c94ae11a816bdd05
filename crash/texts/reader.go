package texts

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"logparser/modules"
)

// A Reader reads the lines of a text in their order. It is not safe for
// concurrent use.
type Reader struct {
	mappings []Mapping // by Start, without overlaps
	// markup has the modules of symbolizer markup by number.
	markup map[uint64]markupModule
	// signal says that the frame before was that of a signal handler's return.
	signal bool
	// list is the format of the line, and before that of the line before, where they
	// are frames of a list that has no numbers.
	list, before listFormat
	event        windowsEvent
	// builds are the identities that systemd's list of modules gives, by the modules' names.
	builds map[string]modules.Identity
	// apple is what the frames of a report of macOS are read by; nil in other texts.
	apple *appleReport
	refs  []Reference
}

// A listFormat is a format of lists whose frames have no numbers.
type listFormat uint8

const (
	noList listFormat = iota
	javaList
	perfList
)

// NewReader returns a reader of a text about a process of which no mappings are
// known.
func NewReader() *Reader { return &Reader{markup: make(map[uint64]markupModule)} }

// maxMappings bounds the mappings that are kept; a text may go on for ever.
const maxMappings = 1 << 16

// Add adds a mapping, as a line of the text does. Mappings that it overlaps
// are forgotten: they are of another process, or of before.
func (r *Reader) Add(m Mapping) {
	if m.Start >= m.End {
		return
	}
	i, _ := slices.BinarySearchFunc(r.mappings, m.Start, func(m Mapping, at uint64) int { return cmp.Compare(m.End, at+1) })
	k := i
	for k < len(r.mappings) && r.mappings[k].Start < m.End {
		k++
	}
	r.mappings = slices.Replace(r.mappings, i, k, m)
	if len(r.mappings) > maxMappings {
		clear(r.mappings)
		r.mappings = append(r.mappings[:0], m)
	}
}

// find returns the mapping of an address, or nil.
func (r *Reader) find(address uint64) *Mapping {
	i, _ := slices.BinarySearchFunc(r.mappings, address, func(m Mapping, at uint64) int { return cmp.Compare(m.End, at+1) })
	if i < len(r.mappings) && r.mappings[i].Start <= address {
		return &r.mappings[i]
	}
	return nil
}

// locate says where an address of the process lies, if a mapping has it.
func (r *Reader) locate(f *Reference) bool {
	m := r.find(f.Kind.Lookup(f.Address))
	if m == nil {
		f.Space, f.Offset = Process, f.Address
		return false
	}
	f.Module, f.Identity = m.Module, m.Identity
	f.Space, f.Offset = m.Space, f.Address-m.Start+m.Offset
	return true
}

// within says that an address lies at an offset of a module as it was linked.
func (f *Reference) within(module string, offset uint64, id modules.Identity) {
	f.Module, f.Offset, f.Space, f.Identity = module, offset, Linked, id
}

// AfterSignal tells that the last frame was that of a signal handler's return, so
// that the one below it stopped at an instruction that is no call.
func (r *Reader) AfterSignal() { r.signal = true }

// A reader of one format returns whether a line is of the format.
type format func(r *Reader, line string) bool

// formats are tried in this order; what none of them knows is free text.
var formats = [...]struct {
	// A line that has none of these texts is not looked at.
	marks []string
	read  format
}{
	{[]string{`"`, "}"}, (*Reader).readApple},
	{[]string{"{{{"}, (*Reader).readMarkup},
	{[]string{"M "}, (*Reader).readMicrodumpModule},
	{[]string{"xp ", "--p ", "w-p ", "-xs ", "--s ", "w-s "}, (*Reader).readMaps},
	{[]string{"PERF_RECORD_MMAP"}, (*Reader).readPerfMap},
	{[]string{"#"}, (*Reader).readNumbered},
	{[]string{"==0x", "== ", "==ERROR", "==WARN"}, (*Reader).readDoubleEquals},
	{[]string{" ip ", " ip:"}, (*Reader).readKernelFault},
	{[]string{"+0x"}, (*Reader).readKernelTrace},
	{[]string{"[0x"}, (*Reader).readBacktrace},
	{[]string{"[", "libjvm"}, (*Reader).readJava},
	{[]string{"pc=0x", "pc=0"}, (*Reader).readGo},
	{[]string{": 0x", ":     0x"}, (*Reader).readRust},
	{[]string{"symbols)", "(deferred)"}, (*Reader).readWinDbgModule},
	{[]string{"!", "+0x", "`"}, (*Reader).readWinDbg},
	{[]string{"(/", "(["}, (*Reader).readPerf},
	{[]string{"0x"}, (*Reader).readMac},
	{[]string{sectionMark}, (*Reader).readSections},
	{[]string{": "}, (*Reader).readWindowsEvent},
}

// Line returns the references in a line, which has no line break, in the order in
// which they stand there. They are good until the next call.
func (r *Reader) Line(line string) []Reference {
	r.refs = r.refs[:0]
	r.before = r.list
	r.Pass(line)
	if strings.Contains(line, buildIDWords) {
		r.readBuildIDs(line)
	}
	for i := range formats {
		f := &formats[i]
		if slices.ContainsFunc(f.marks, func(m string) bool { return strings.Contains(line, m) }) && f.read(r, line) {
			return r.refs
		}
	}
	r.readFree(line)
	return r.refs
}

// Pass takes note of a line that is not [Interesting], in the place of Line.
func (r *Reader) Pass(line string) {
	if r.list != javaList || !isJavaFrame(line) {
		r.list = noList
	}
}

// isJavaFrame reports whether a line is a frame of Java code in the list of a Java machine's report:
// interpreted, compiled, or made by the machine itself.
func isJavaFrame(line string) bool {
	return len(line) > 2 && line[1] == ' ' && strings.IndexByte("jJAv", line[0]) >= 0
}

// add adds a reference. Where the text names no module, the mappings say which one an address of
// the process lies in.
func (r *Reader) add(f Reference) {
	if f.Module == "" && f.Name == "" && f.Space == Process {
		r.locate(&f)
	}
	r.refs = append(r.refs, f)
}

// kindOf returns the kind of a frame in a list where frame 0 and those below a
// signal handler are exact.
func (r *Reader) kindOf(number uint64) Kind {
	exact := number == 0 || r.signal
	r.signal = false
	if exact {
		return Exact
	}
	return Return
}

// listed returns the kind of a frame in a list without numbers, whose first frame is
// exact.
func (r *Reader) listed(l listFormat) Kind {
	r.list = l
	if r.before == l {
		return r.kindOf(1)
	}
	return r.kindOf(0)
}

// Looks reports whether the beginning of a text has a reference to an address, or a module's mapping or identity.
func Looks(head []byte) bool {
	r := NewReader()
	for line := range bytes.Lines(head) {
		if Interesting(line) && (len(r.Line(string(bytes.TrimRight(line, "\r\n")))) > 0 || len(r.mappings)+len(r.markup)+len(r.builds) > 0) {
			return true
		}
	}
	return false
}

// needles are texts of which each line with a reference or a mapping has one. Each is looked for by the byte
// at an index that is rare in ordinary text.
var needles = [...]struct {
	text string
	rare int
}{
	{"0x", 1}, {"0X", 1}, {"0×", 1}, {"{{{", 0}, {" ip ", 2}, {" ip:", 3}, {"pc ", 0}, {"xp ", 0}, {"--p ", 1}, {"w-p ", 1}, {"--s ", 1},
	{"w-s ", 1}, {"-xs ", 0}, {"(/", 0}, {"([", 0}, {sectionMark, 0}, {"!", 0}, {".dll, ", 0}, {".exe, ", 0}, {".DLL, ", 0}, {".EXE, ", 0},
	{"<signal handler called>", 0}, {`"imageOffset"`, 0}, {`"imageIndex"`, 0}, {`"frames"`, 0}, {"google-breakpad", 6}, {" symbols)", 8}, {"(deferred)", 0},
	{" build-id ", 6},
}

// rare has, for each byte that a needle is looked for by, those needles.
var rare = func() (table [256][]needle) {
	for _, n := range needles {
		b := n.text[n.rare]
		table[b] = append(table[b], needle{n.text[:n.rare], n.text[n.rare:]})
	}
	return table
}()

// A needle is a text before and from its rare byte on.
type needle struct{ before, from string }

// isRare says which bytes a needle is looked for by.
var isRare = func() (table [256]bool) {
	for b, list := range rare {
		table[b] = len(list) > 0
	}
	return table
}()

// sectionMark is in the number of a section with an offset in it, 0001:00000099, and in the time of day of every
// line that is written within a minute or a second.
const sectionMark = ":00"

// isSection reports whether a colon of a line may stand in what readSections reads, which no time of day looks like.
func isSection(line []byte, colon int) bool {
	const before, behind = 4, 8 // digits
	if colon < before || colon > before && line[colon-before-1] != ' ' || len(line)-colon < 1+behind+1 {
		return false
	}
	for _, b := range line[colon-before : colon+1+behind] {
		if !isHex(b) && b != '`' && b != ':' {
			return false
		}
	}
	end := line[colon+1+behind]
	return end == ' ' || end == '\t'
}

// Interesting reports whether a line has anything that could be an address or
// a mapping. Where it is false, [Reader.Line] has nothing to say of it, and to the lines behind
// it matters no more than [Reader.Pass] tells.
func Interesting(line []byte) bool {
	for i, b := range line {
		if !isRare[b] {
			continue
		}
		for _, n := range rare[b] {
			if at := i - len(n.before); at >= 0 && string(line[at:i]) == n.before && len(line)-i >= len(n.from) && string(line[i:i+len(n.from)]) == n.from {
				if n.from != sectionMark || isSection(line, i) {
					return true
				}
			}
		}
	}
	return false
}
