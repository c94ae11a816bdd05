package texts

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"logparser/modules"
)

// A Reader reads the lines of a text in order. It is not safe for concurrent use.
type Reader struct {
	mappings []*Mapping // by Start, without overlaps; pointers, because they are moved when one comes between
	// markup has the modules of symbolizer markup by their numbers.
	markup map[uint64]markupModule
	// signal says that the last frame was the return from a signal handler.
	signal bool
	// list is the format of the current line, and before that of the line before, if they are frames of a list without numbers.
	list, before listFormat
	event        windowsEvent
	// builds has the identities from systemd's list of modules, by module name.
	builds map[string]modules.Identity
	// programs and folders are where the text says that programs lie and ran.
	programs, folders []string
	// apple is the state of reading a report of macOS. It is nil for other texts.
	apple *appleReport
	refs  []Reference
}

// A listFormat is a format of stacks whose frames have no numbers.
type listFormat uint8

const (
	noList listFormat = iota
	javaList
	perfList
	walkList
	debuggerList
)

// NewReader returns a reader without mappings.
func NewReader() *Reader { return &Reader{markup: make(map[uint64]markupModule)} }

// maxMappings bounds the mappings that are kept, because the text may be endless.
const maxMappings = 1 << 16

// Add adds a mapping, as a line of the text can. It removes mappings that overlap it, because they belong to another process or
// to an earlier time.
func (r *Reader) Add(m Mapping) {
	if m.Start >= m.End {
		return
	}
	i, _ := slices.BinarySearchFunc(r.mappings, m.Start, func(m *Mapping, at uint64) int { return cmp.Compare(m.End, at+1) })
	k := i
	for k < len(r.mappings) && r.mappings[k].Start < m.End {
		k++
	}
	r.mappings = slices.Replace(r.mappings, i, k, &m)
	if len(r.mappings) > maxMappings {
		clear(r.mappings)
		r.mappings = append(r.mappings[:0], &m)
	}
}

// find returns the mapping of an address, or nil.
func (r *Reader) find(address uint64) *Mapping {
	i, _ := slices.BinarySearchFunc(r.mappings, address, func(m *Mapping, at uint64) int { return cmp.Compare(m.End, at+1) })
	if i < len(r.mappings) && r.mappings[i].Start <= address {
		return r.mappings[i]
	}
	return nil
}

// locate sets the module and the offset of a reference to an address of the process. It returns false if no mapping contains
// the address.
func (r *Reader) locate(f *Reference) bool {
	m := r.find(f.Kind.Lookup(f.Address))
	if m == nil {
		f.Space, f.Offset = Process, f.Address
		return false
	}
	f.Module, f.Identity, f.Deleted = m.Module, m.Identity, m.Deleted
	f.Space, f.Offset = m.Space, f.Address-m.Start+m.Offset
	return true
}

// within sets the reference to an offset in a module as it was linked.
func (f *Reference) within(module string, offset uint64, id modules.Identity) {
	f.Module, f.Offset, f.Space, f.Identity = module, offset, Linked, id
}

// AfterSignal tells the reader that the last frame was the return from a signal handler. The next frame then has the address of
// the interrupted instruction, not a return address.
func (r *Reader) AfterSignal() { r.signal = true }

// A format reads a line and reports whether the line has that format.
type format func(r *Reader, line string) bool

// formats are tried in this order. A line that has none of these formats is free text.
var formats = [...]struct {
	// Only lines with one of these texts are tried.
	marks []string
	read  format
}{
	{[]string{"{{{"}, (*Reader).readMarkup},
	{[]string{"M "}, (*Reader).readMicrodumpModule},
	{[]string{"xp ", "--p ", "w-p ", "-xs ", "--s ", "w-s "}, (*Reader).readMaps},
	{[]string{"PERF_RECORD_MMAP"}, (*Reader).readPerfMap},
	{[]string{"#"}, (*Reader).readNumbered},
	{[]string{"==0x", "== ", "==ERROR", "==WARN"}, (*Reader).readDoubleEquals},
	{[]string{" ip ", " ip:"}, (*Reader).readKernelFault},
	{[]string{"+0x"}, (*Reader).readKernelTrace},
	{[]string{"Binary file "}, (*Reader).readPython},
	{[]string{"[0x"}, (*Reader).readBacktrace},
	{[]string{"[", "libjvm"}, (*Reader).readJava},
	{[]string{"pc=0x", "pc=0"}, (*Reader).readGo},
	{[]string{"@ 0"}, (*Reader).readFolly},
	{[]string{"0x"}, (*Reader).readStackwalk},
	{[]string{": 0x", ":     0x"}, (*Reader).readRust},
	{[]string{"symbols)", "(deferred)"}, (*Reader).readWinDbgModule},
	{[]string{exceptionAddress}, (*Reader).readExceptionAddress},
	{[]string{"!", "+0x", "`"}, (*Reader).readWinDbg},
	{[]string{"(/", "(["}, (*Reader).readPerf},
	{[]string{"0x"}, (*Reader).readMac},
	{[]string{sectionMark}, (*Reader).readSections},
	{[]string{": "}, (*Reader).readWindowsEvent},
}

// Line returns the references in a line in order. The line must not contain a line break. The result is valid until the next
// call.
func (r *Reader) Line(line string) []Reference {
	r.refs = r.refs[:0]
	r.before = r.list
	u := undress(line)
	r.pass(u.text)
	if !r.readApple(u.text) {
		r.readLine(u.text)
	}
	if len(u.text) != len(line) {
		for i := range r.refs {
			f := &r.refs[i]
			f.Start, f.End = u.at(f.Start), u.at(f.End-1)+1
		}
	}
	return r.refs
}

// readLine reads a line by the first format that it has.
func (r *Reader) readLine(line string) {
	if strings.Contains(line, buildIDWords) {
		r.readBuildIDs(line)
	}
	r.readPlaces(line)
	for i := range formats {
		f := &formats[i]
		if slices.ContainsFunc(f.marks, func(m string) bool { return strings.Contains(line, m) }) && f.read(r, line) {
			return
		}
	}
	r.readFree(line)
}

// Pass is called instead of Line for a line that is not [Interesting].
func (r *Reader) Pass(line string) {
	r.pass(line)
	r.readApple(line) // which objects begin and end there
}

func (r *Reader) pass(line string) {
	if r.list != javaList || !isJavaFrame(line) {
		r.list = noList
	}
}

// isJavaFrame reports whether a line is a Java frame in the report of a Java virtual machine: of interpreted code, of compiled
// code, or of code that the machine has generated.
func isJavaFrame(line string) bool {
	return len(line) > 2 && line[1] == ' ' && strings.IndexByte("jJAv", line[0]) >= 0
}

// add adds a reference. If the text names no module, the mappings tell the module of an address.
func (r *Reader) add(f Reference) {
	if f.Module == "" && f.Name == "" && f.Space == Process {
		r.locate(&f)
	}
	r.refs = append(r.refs, f)
}

// kindOf returns the kind of a frame in a numbered list, in which frame 0 and frames below a signal handler are exact.
func (r *Reader) kindOf(number uint64) Kind {
	exact := number == 0 || r.signal
	r.signal = false
	if exact {
		return Exact
	}
	return Return
}

// listed returns the kind of a frame in a list without numbers, in which the first frame is exact.
func (r *Reader) listed(l listFormat) Kind {
	r.list = l
	if r.before == l {
		return r.kindOf(1)
	}
	return r.kindOf(0)
}

// Looks reports whether a text that begins with head has a reference to an address, or a mapping or identity of a module.
func Looks(head []byte) bool {
	r := NewReader()
	for line := range bytes.Lines(head) {
		if Interesting(line) && (len(r.Line(string(bytes.TrimRight(line, "\r\n")))) > 0 || len(r.mappings)+len(r.markup)+len(r.builds) > 0) {
			return true
		}
	}
	return false
}

// needles are texts such that each line with a reference or a mapping contains at least one. They are searched for by the byte
// at index, which must be rare in ordinary text.
var needles = [...]struct {
	text string
	rare int
}{
	{"0x", 1}, {"0X", 1}, {"0×", 1}, {"{{{", 0}, {" ip ", 2}, {" ip:", 3}, {"pc ", 0}, {"xp ", 0}, {"--p ", 1}, {"w-p ", 1}, {"--s ", 1},
	{"w-s ", 1}, {"-xs ", 0}, {"(/", 0}, {"([", 0}, {sectionMark, 0}, {"!", 0}, {".dll, ", 0}, {".exe, ", 0}, {".DLL, ", 0}, {".EXE, ", 0},
	{"<signal handler called>", 0}, {`"imageOffset"`, 0}, {`"imageIndex"`, 0}, {`"frames"`, 0}, {"google-breakpad", 6}, {" symbols)", 8}, {"(deferred)", 0},
	{" build-id ", 6}, {exceptionAddress, 9}, {programWords[0], 10}, {programWords[1], 15}, {folderWords[0], 3}, {folderWords[1], 16}, {folderWords[2], 3}, {"@ 0", 0}, {"\x1b[", 0}, // between whose parts colours may stand
}

// rare has the needles by the byte that is searched for.
var rare = func() (table [256][]needle) {
	for _, n := range needles {
		b := n.text[n.rare]
		table[b] = append(table[b], needle{n.text[:n.rare], n.text[n.rare:]})
	}
	return table
}()

// A needle is a text, divided at its rare byte: before it, and from it on.
type needle struct{ before, from string }

// isRare says for which bytes there are needles.
var isRare = func() (table [256]bool) {
	for b, list := range rare {
		table[b] = len(list) > 0
	}
	return table
}()

// sectionMark is part of a section number with an offset, such as 0001:00000099, but also of many times of day.
const sectionMark = ":00"

// isSection reports whether a colon of a line may belong to an address that readSections reads. No time of day passes this
// test.
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

// Interesting reports whether a line may contain an address or a mapping. If it returns false, [Reader.Line] would return
// nothing for the line, and calling [Reader.Pass] instead is enough.
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
