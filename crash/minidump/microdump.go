package minidump

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"strings"

	"logparser/crash"
	"logparser/message"
	"logparser/modules"
	"logparser/symbols/unwind"
)

// A microdump is text that Breakpad writes to a log if it cannot send a file: registers, the
// stack of the crashed thread and the modules, each line behind the log's own prefix.
//
//	W/google-breakpad( 3728): -----BEGIN BREAKPAD MICRODUMP-----
//	W/google-breakpad( 3728): O A arm64 02 aarch64 OS 64 VERSION INFO
//	W/google-breakpad( 3728): S 0 0000007FE2BA6120 0000007FE2BA6000 0000000000003000
//	W/google-breakpad( 3728): S 0000007FE2BA6000 0700000000000000A060BAE27F0000…
//	W/google-breakpad( 3728): C 060000800000000000000000000000…
//	W/google-breakpad( 3728): M 000000555F608000 0000000000000000 00000000000C0000 D6D1FEC9…0 app
//	W/google-breakpad( 3728): -----END BREAKPAD MICRODUMP-----
const (
	MicrodumpBegin = "-----BEGIN BREAKPAD MICRODUMP-----"
	MicrodumpEnd   = "-----END BREAKPAD MICRODUMP-----"
	breakpadTag    = "google-breakpad"
)

// Limits of a text with microdumps.
const (
	maxText  = 256 << 20 // bytes that are read
	maxLine  = 64 << 10  // bytes; longer lines are skipped
	maxStack = 16 << 20  // bytes
)

// ErrNoMicrodump says that a text has no complete microdump.
var ErrNoMicrodump = message.New("no Breakpad microdump")

// DetectMicrodump reports whether a text that begins with head has a microdump near its beginning. A log may have one anywhere,
// which [ReadMicrodump] finds.
func DetectMicrodump(head []byte) bool {
	return bytes.Contains(head, []byte(MicrodumpBegin)) || bytes.Contains(head, []byte(breakpadTag+"("))
}

// ReadMicrodump reads the last complete microdump in a text of size bytes. The process does not use file afterwards.
func ReadMicrodump(file io.ReaderAt, size int64) (*crash.Process, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(file, 0, min(size, maxText)), maxLine)
	var open *Microdump
	var last *crash.Process
	var why error
	count := 0
	for {
		line, err := in.ReadSlice('\n')
		for err == bufio.ErrBufferFull {
			line = nil
			_, err = in.ReadSlice('\n')
		}
		text := string(line)
		switch {
		case strings.Contains(text, MicrodumpBegin):
			open = NewMicrodump()
			open.Line(text)
		case open == nil:
		case strings.Contains(text, MicrodumpEnd):
			count++
			if p, err := open.Process(); err == nil {
				last = p
			} else {
				why = err
			}
			open = nil
		default:
			open.Line(text)
		}
		if err != nil {
			break
		}
	}
	if last == nil {
		return nil, cmp.Or(why, error(ErrNoMicrodump))
	}
	if count > 1 {
		last.Note("the text has %d microdumps, this is the last", count)
	}
	return last, nil
}

// A Microdump collects the lines of one microdump. It is not safe for concurrent use.
type Microdump struct {
	p       *crash.Process
	context []byte
	stack   []byte
	ranges  []crash.Range
	arm     bool // 32-bit ARM, whose stacks cannot be unwound
}

// NewMicrodump returns an empty microdump.
func NewMicrodump() *Microdump {
	return &Microdump{p: &crash.Process{Format: "microdump", Threads: []crash.Thread{{Crashed: true}}}}
}

// Line takes the line that begins a microdump, or a line after it. It ignores lines that it does not know.
func (d *Microdump) Line(line string) {
	if i := strings.Index(line, breakpadTag); i >= 0 {
		tag := line[i+len(breakpadTag):]
		if number, _, ok := strings.Cut(strings.TrimPrefix(tag, "("), ")"); ok && d.p.PID == 0 {
			d.p.PID, _ = strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		}
		if _, rest, ok := strings.Cut(tag, ": "); ok {
			line = rest
		}
	}
	kind, rest, ok := strings.Cut(strings.TrimRight(line, " \t\r\n"), " ")
	if !ok || len(kind) != 1 {
		return
	}
	fields := strings.Fields(rest)
	switch kind {
	case "O":
		d.system(fields)
	case "R":
		d.reason(fields)
	case "C":
		if b, err := hex.DecodeString(rest); err == nil && d.context == nil {
			d.context = b
		}
	case "S":
		d.memory(fields)
	case "M":
		d.module(fields)
	}
}

// system parses "A arm64 02 aarch64 VERSION".
func (d *Microdump) system(fields []string) {
	if len(fields) < 2 {
		return
	}
	d.p.System = map[string]string{"A": "Android", "L": "Linux"}[fields[0]]
	switch fields[1] {
	case "x86":
		d.p.Machine = unwind.X86
	case "x86_64":
		d.p.Machine = unwind.X8664
	case "arm64", "aarch64":
		d.p.Machine = unwind.ARM64
	case "arm":
		d.arm = true
	}
}

// reason parses "0000000B SIGSEGV 0000000000000008", which newer versions write.
func (d *Microdump) reason(fields []string) {
	if len(fields) < 3 {
		return
	}
	number, err := strconv.ParseUint(fields[0], 16, 32)
	address, err2 := strconv.ParseUint(fields[len(fields)-1], 16, 64)
	if err != nil || err2 != nil {
		return
	}
	if number == 0 || number == requestedByUser {
		d.p.Threads[0].Crashed = false
		return
	}
	if number < 128 {
		d.p.Cause.Signal, d.p.Cause.Address = int(number), address
	}
}

// memory parses "ADDRESS BYTES". The line "0 SP LOW SIZE" before these has nothing that the others do not have.
func (d *Microdump) memory(fields []string) {
	if len(fields) != 2 {
		return
	}
	at, err := strconv.ParseUint(fields[0], 16, 64)
	b, err2 := hex.DecodeString(fields[1])
	n := uint64(len(b))
	if err != nil || err2 != nil || n == 0 || at+n < at || len(d.stack)+len(b) > maxStack || len(d.ranges) >= maxRanges {
		return
	}
	d.ranges = append(d.ranges, crash.Range{Start: at, End: at + n, Saved: n, Offset: int64(len(d.stack))})
	d.stack = append(d.stack, b...)
}

// module parses "BASE OFFSET SIZE IDENTIFIER NAME".
func (d *Microdump) module(fields []string) {
	if m, ok := MicrodumpModule(fields); ok && len(d.p.Modules) < maxModules {
		d.p.Modules = append(d.p.Modules, m)
	}
}

// MicrodumpModule parses the fields of a module: "BASE OFFSET SIZE IDENTIFIER NAME". The identifier is the first 16 bytes of a
// build-id, written like the GUID of a PDB, with the age 0 after it.
func MicrodumpModule(fields []string) (m modules.Module, ok bool) {
	if len(fields) < 5 || len(fields[3]) < 33 {
		return m, false
	}
	base, err := strconv.ParseUint(fields[0], 16, 64)
	_, err2 := strconv.ParseUint(fields[1], 16, 64)
	size, err3 := strconv.ParseUint(fields[2], 16, 64)
	id, err4 := modules.ParseGUID(fields[3][:32])
	if cmp.Or(err, err2, err3, err4) != nil || size == 0 || base+size < base {
		return m, false
	}
	m = modules.Module{Base: base, Size: size, Path: strings.Join(fields[4:], " "), PointerSize: 8, Loaded: -1 << 63, Unloaded: modules.Always}
	if len(fields[0]) <= 8 {
		m.PointerSize = 4
	}
	if !id.IsZero() {
		m.Identity.BuildID = string(id[:])
	}
	if m.Path == "linux-gate.so" || m.Path == "linux-vdso.so" {
		m.Path = "[vdso]"
	}
	return m, true
}

// Process returns the process that the lines describe.
func (d *Microdump) Process() (*crash.Process, error) {
	p := d.p
	if p.Machine == unwind.Unknown {
		if d.arm {
			return nil, message.Errorf("%w: it is of a 32-bit arm processor, whose stacks are not unwound", ErrFormat)
		}
		return nil, message.Errorf("%w: it does not say which machine it is of", ErrFormat)
	}
	if len(d.context) == 0 {
		return nil, message.Errorf("%w: it has no registers", ErrNoMicrodump)
	}
	if err := takeContext(p.Machine, d.context, &p.Threads[0].Registers); err != nil {
		return nil, err
	}
	if len(p.Modules) > 0 {
		p.Program = p.Modules[0].Name()
	}
	slices.SortStableFunc(p.Modules, func(a, b modules.Module) int { return cmp.Compare(a.Base, b.Base) })
	p.Memory, _ = crash.NewMemory(bytes.NewReader(d.stack), int64(len(d.stack)), d.ranges)
	p.Cause.Refine(p)
	return p, nil
}
