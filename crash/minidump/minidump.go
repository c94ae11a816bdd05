// Package minidump reads minidumps of x64, x86 and arm64. Windows writes them (MiniDumpWriteDump, WER), and so do Breakpad and
// Crashpad, also on Linux, Android and macOS. It also reads microdumps ([ReadMicrodump]): text that Breakpad writes to a log,
// with registers, stack and modules.
//
// A minidump is a directory of streams. This package reads the threads with their contexts and stacks, the modules with the
// identities of their symbols, the memory (in two forms), the exception, and the system. On Linux, Breakpad stores a signal as
// the code of the exception, and its older versions store a build-id as the GUID of a PDB. Strings are UTF-16.
//
// All positions in the file are 32-bit offsets. In a damaged or hostile file they can have any value, so each is checked.
// Streams may overlap.
package minidump

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"time"
	"unicode/utf16"

	"logparser/crash"
	"logparser/message"
	"logparser/modules"
	"logparser/symbols/unwind"
)

// ErrFormat says that a file is no minidump of a supported machine.
var ErrFormat = message.New("not a minidump of x64, x86 or arm64")

// Limits of a minidump.
const (
	maxStreams = 1 << 12
	maxThreads = 1 << 16
	maxModules = 1 << 14
	maxRanges  = 1 << 20
	maxString  = 64 << 10 // bytes
)

// Types of streams, and sizes of structures.
const (
	streamThreads       = 3
	streamModules       = 4
	streamMemory        = 5
	streamException     = 6
	streamSystem        = 7
	streamMemory64      = 9
	streamUnloaded      = 14
	streamMisc          = 15
	streamMemoryInfo    = 16
	streamThreadNames   = 24
	streamLinuxCommand  = 0x47670006
	streamCrashpad      = 0x43500001
	streamLinuxThread   = 0x4767000c // names the thread of a dump without an exception
	headerSize          = 32
	moduleSize          = 108
	codeViewPDB         = "RSDS"
	codeViewELF         = "LEpB" // the number 0x4270454c
	platformWindows     = 2
	platformMacOS       = 0x8101
	platformIOS         = 0x8102
	platformLinux       = 0x8201
	platformAndroid     = 0x8203
	architectureX86     = 0
	architectureX64     = 9
	architectureARM64   = 12
	architectureARM64BP = 0x8003 // Breakpad's number from before Windows had one
	requestedByUser     = 0xffffffff
	requestedOnMach     = 0x43507378
)

// Detect reports whether a file that begins with head may be a minidump.
func Detect(head []byte) bool { return len(head) >= 4 && string(head[:4]) == "MDMP" }

// A location is a part of the file.
type location struct{ size, at uint32 }

// A reader reads one minidump.
type reader struct {
	file    io.ReaderAt
	size    int64
	p       *crash.Process
	streams map[uint32]location
	ranges  []crash.Range
	// texts are the texts that were read, by offset. room is how many bytes more may be read of them.
	texts map[uint32]string
	room  int64
}

// leastRoom is how many bytes of texts the smallest file may have. Texts of a larger one have as many as the file: many may be one.
const leastRoom = 1 << 20

var order = binary.LittleEndian

// Read reads a minidump of size bytes. The process keeps reading file while it is used. Closing the process does not close
// file.
func Read(file io.ReaderAt, size int64) (*crash.Process, error) {
	r := &reader{file: file, size: size, streams: make(map[uint32]location), texts: make(map[uint32]string), room: max(size, leastRoom)}
	r.p = &crash.Process{Format: "minidump"}
	if err := r.directory(); err != nil {
		return nil, err
	}
	if err := r.system(); err != nil {
		return nil, err
	}
	r.misc()
	r.modules()
	r.unloaded()
	r.memory()
	if err := r.threads(); err != nil {
		return nil, err
	}
	r.names()
	var cut uint64
	if r.p.Memory, cut = crash.NewMemory(file, size, r.ranges); cut > 0 {
		r.p.Note("the file was cut: %d bytes of memory are missing", cut)
	}
	r.exception()
	return r.p, nil
}

// bytes reads n bytes at an offset.
func (r *reader) bytes(at uint64, n uint64) ([]byte, error) {
	if at > uint64(r.size) || n > uint64(r.size)-at {
		return nil, message.Errorf("%d bytes at offset %#x: %w", n, at, io.ErrUnexpectedEOF)
	}
	b := make([]byte, n)
	if k, err := r.file.ReadAt(b, int64(at)); uint64(k) < n {
		return nil, message.Errorf("%d bytes at offset %#x: %w", n, at, err)
	}
	return b, nil
}

// directory reads the header and the directory of streams. If it has several streams of a type, the first one is used.
func (r *reader) directory() error {
	b, err := r.bytes(0, headerSize)
	if err != nil || !Detect(b) {
		return ErrFormat
	}
	count, at := order.Uint32(b[8:]), order.Uint32(b[12:])
	if when := order.Uint32(b[20:]); when != 0 {
		r.p.Time = time.Unix(int64(when), 0)
	}
	if count > maxStreams {
		return message.Errorf("%w: %d streams", ErrFormat, count)
	}
	list, err := r.bytes(uint64(at), uint64(count)*12)
	if err != nil {
		return message.Errorf("list of streams: %w", err)
	}
	for ; len(list) > 0; list = list[12:] {
		kind := order.Uint32(list)
		if _, ok := r.streams[kind]; !ok && kind != 0 {
			r.streams[kind] = location{order.Uint32(list[4:]), order.Uint32(list[8:])}
		}
	}
	return nil
}

// stream returns the first n bytes of a stream.
func (r *reader) stream(kind uint32, n uint32) ([]byte, bool) {
	s, ok := r.streams[kind]
	if !ok || s.size < n {
		return nil, false
	}
	b, err := r.bytes(uint64(s.at), uint64(n))
	return b, err == nil
}

// list reads a stream that consists of a count and entries of a size in bytes. Some writers put four bytes between them to
// align entries of 64-bit numbers. most bounds the number of entries.
func (r *reader) list(kind uint32, size, most uint64) (entries []byte) {
	s, ok := r.streams[kind]
	if !ok {
		return nil
	}
	b, err := r.bytes(uint64(s.at), 4)
	if err != nil {
		r.p.Note("stream %d: %v", kind, err)
		return nil
	}
	count, at := uint64(order.Uint32(b)), uint64(s.at)+4
	if uint64(s.size) == 8+count*size {
		at += 4
	}
	if count > most {
		r.p.Note("stream %d has %d entries, the limit is %d", kind, count, most)
		return nil
	}
	if b, err = r.bytes(at, count*size); err != nil {
		// Use the entries that a truncated file has.
		r.p.Note("stream %d: %v", kind, err)
		if at < uint64(r.size) {
			b, _ = r.bytes(at, (uint64(r.size)-at)/size*size)
		}
	}
	return b
}

// name reads a string: its length in bytes, then UTF-16.
func (r *reader) name(at uint32) string {
	s, ok := r.texts[at]
	if !ok {
		s = r.newName(at)
		r.texts[at] = s
	}
	if r.room -= int64(len(s)); r.room < 0 {
		if r.room+int64(len(s)) >= 0 {
			r.p.Note("its names lie over each other: those from offset %#x on are left out", at)
		}
		return ""
	}
	return s
}

func (r *reader) newName(at uint32) string {
	b, err := r.bytes(uint64(at), 4)
	if at == 0 || err != nil {
		return ""
	}
	n := order.Uint32(b)
	if n > maxString || r.room < 0 {
		return ""
	}
	if b, err = r.bytes(uint64(at)+4, uint64(n&^1)); err != nil {
		return ""
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// system reads the machine and the operating system.
func (r *reader) system() error {
	b, ok := r.stream(streamSystem, 24)
	if !ok {
		return message.Errorf("%w: it does not say which machine it is of", ErrFormat)
	}
	switch a := order.Uint16(b); a {
	case architectureX86:
		r.p.Machine = unwind.X86
	case architectureX64:
		r.p.Machine = unwind.X8664
	case architectureARM64, architectureARM64BP:
		r.p.Machine = unwind.ARM64
	default:
		return message.Errorf("%w: processor %d", ErrFormat, a)
	}
	switch platform := order.Uint32(b[20:]); {
	case platform <= platformWindows:
		r.p.System = "Windows"
	case platform == platformLinux:
		r.p.System = "Linux"
	case platform == platformAndroid:
		r.p.System = "Android"
	case platform == platformMacOS:
		r.p.System = "macOS"
	case platform == platformIOS:
		r.p.System = "iOS"
	}
	return nil
}

// misc reads the process id, and on Linux the command line.
func (r *reader) misc() {
	if b, ok := r.stream(streamMisc, 12); ok && order.Uint32(b[4:])&1 != 0 {
		r.p.PID = int64(order.Uint32(b[8:]))
	}
	if s, ok := r.streams[streamLinuxCommand]; ok {
		if b, err := r.bytes(uint64(s.at), uint64(min(s.size, maxString))); err == nil {
			for i, c := range b {
				if c == 0 {
					b[i] = ' '
				}
			}
			r.p.CommandLine = string(b[:len(trimRight(b))])
		}
	}
}

func trimRight(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

// modules reads the modules. The first one is the program.
func (r *reader) modules() {
	b := r.list(streamModules, moduleSize, maxModules)
	for first := true; len(b) >= moduleSize; b, first = b[moduleSize:], false {
		m := modules.Module{
			Base: order.Uint64(b), Size: uint64(order.Uint32(b[8:])), Path: r.name(order.Uint32(b[20:])),
			PointerSize: r.p.Machine.PointerSize(), Loaded: -1 << 63, Unloaded: modules.Always,
		}
		if r.p.System == "Windows" {
			m.Identity.Timestamp, m.Identity.ImageSize = order.Uint32(b[16:]), order.Uint32(b[8:])
		}
		r.codeView(&m.Identity, location{order.Uint32(b[76:]), order.Uint32(b[80:])})
		if m.Path == "linux-gate.so" || m.Path == "linux-vdso.so" {
			m.Path = "[vdso]"
		}
		if first {
			r.p.Program = m.Name()
		}
		r.p.Modules = append(r.p.Modules, m)
	}
	slices.SortStableFunc(r.p.Modules, func(a, b modules.Module) int { return cmp.Compare(a.Base, b.Base) })
}

// unloaded reads the modules that were unloaded before: the sizes of the stream's head and of its entries come before their number.
func (r *reader) unloaded() {
	const least, most = 24, 1 << 12
	head, ok := r.stream(streamUnloaded, 12)
	if !ok {
		return
	}
	size, entry, count := uint64(order.Uint32(head)), uint64(order.Uint32(head[4:])), uint64(order.Uint32(head[8:]))
	if size < 12 || entry < least || entry > 1<<12 || count > most {
		r.p.Note("stream %d: %d entries of %d bytes", streamUnloaded, count, entry)
		return
	}
	b, err := r.bytes(uint64(r.streams[streamUnloaded].at)+size, count*entry)
	if err != nil {
		r.p.Note("stream %d: %v", streamUnloaded, err)
		return
	}
	for ; uint64(len(b)) >= entry; b = b[entry:] {
		m := modules.Module{Base: order.Uint64(b), Size: uint64(order.Uint32(b[8:])), Path: r.name(order.Uint32(b[20:]))}
		m.Identity.Timestamp, m.Identity.ImageSize = order.Uint32(b[16:]), order.Uint32(b[8:])
		if m.Path != "" {
			r.p.Unloaded = append(r.p.Unloaded, m)
		}
	}
}

// codeView reads the CodeView record, which identifies the symbols of a module.
func (r *reader) codeView(id *modules.Identity, l location) {
	const most = 4 << 10
	b, err := r.bytes(uint64(l.at), uint64(min(l.size, most)))
	if err != nil || len(b) < 4 {
		return
	}
	switch kind := string(b[:4]); {
	case kind == codeViewPDB && len(b) >= 24 && r.p.System == "Windows":
		copy(id.PDB[:], b[4:20])
		id.Age = order.Uint32(b[20:])
	case kind == codeViewPDB && len(b) >= 24:
		// Breakpad has stored the first 16 bytes of a build-id as a GUID.
		id.BuildID = string(b[4:20])
	case kind == codeViewELF && len(b) > 4 && len(b)-4 <= modules.MaxBuildID:
		id.BuildID = string(b[4:])
	}
}

// memory collects the ranges of memory from the streams.
func (r *reader) memory() {
	for b := r.list(streamMemory, 16, maxRanges); len(b) >= 16; b = b[16:] {
		r.add(order.Uint64(b), uint64(order.Uint32(b[8:])), uint64(order.Uint32(b[12:])))
	}
	head, ok := r.stream(streamMemory64, 16)
	if !ok {
		return
	}
	count, at := order.Uint64(head), order.Uint64(head[8:])
	if count > maxRanges {
		r.p.Note("stream %d has %d entries, the limit is %d", streamMemory64, count, maxRanges)
		return
	}
	b, err := r.bytes(uint64(r.streams[streamMemory64].at)+16, count*16)
	if err != nil {
		r.p.Note("stream %d: %v", streamMemory64, err)
	}
	for ; len(b) >= 16; b = b[16:] {
		n := order.Uint64(b[8:])
		r.add(order.Uint64(b), n, at)
		if at += n; at < n {
			break
		}
	}
}

func (r *reader) add(start, n, at uint64) {
	if n > 0 && start+n > start && at < 1<<62 {
		r.ranges = append(r.ranges, crash.Range{Start: start, End: start + n, Saved: n, Offset: int64(at)})
	}
}

func (r *reader) threads() error {
	const size = 48
	for b := r.list(streamThreads, size, maxThreads); len(b) >= size; b = b[size:] {
		t := crash.Thread{ID: uint64(order.Uint32(b))}
		r.add(order.Uint64(b[24:]), uint64(order.Uint32(b[32:])), uint64(order.Uint32(b[36:])))
		if err := r.context(&t.Registers, location{order.Uint32(b[40:]), order.Uint32(b[44:])}); err != nil {
			r.p.Note("thread %d: %v", t.ID, err)
		}
		r.p.Threads = append(r.p.Threads, t)
	}
	if len(r.p.Threads) == 0 {
		return message.Errorf("%w: it has no threads", ErrFormat)
	}
	return nil
}

func (r *reader) names() {
	const size = 12
	names := make(map[uint64]uint64) // offsets, by thread
	for b := r.list(streamThreadNames, size, maxThreads); len(b) >= size; b = b[size:] {
		names[uint64(order.Uint32(b))] = order.Uint64(b[4:])
	}
	for i := range r.p.Threads {
		t := &r.p.Threads[i]
		if at, ok := names[t.ID]; ok && at <= 1<<32-1 {
			t.Name = r.name(uint32(at))
		}
	}
}

// The order of registers in contexts, by their numbers in package unwind.
var (
	x64Order = []int{0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15, 16} // from offset 120
	x86Order = []int{7, 6, 3, 2, 1, 0, 5, 8, -1, -1, 4}                        // from offset 156
	contexts = map[unwind.Machine]struct{ first, size int }{
		unwind.X8664: {120, 8}, unwind.X86: {156, 4}, unwind.ARM64: {8, 8},
	}
)

func (r *reader) context(to *unwind.Registers, l location) error {
	const most = 4 << 10
	b, err := r.bytes(uint64(l.at), uint64(min(l.size, most)))
	if err != nil {
		return message.Errorf("registers: %w", err)
	}
	return takeContext(r.p.Machine, b, to)
}

// takeContext reads the registers from the bytes of a CONTEXT.
func takeContext(machine unwind.Machine, b []byte, to *unwind.Registers) error {
	c := contexts[machine]
	registers := x64Order
	switch machine {
	case unwind.X86:
		registers = x86Order
	case unwind.ARM64:
		registers = nil
		for n := range 33 {
			registers = append(registers, n)
		}
	}
	if len(b) < c.first+c.size*len(registers) {
		return message.Errorf("registers: %w", io.ErrUnexpectedEOF)
	}
	for i, n := range registers {
		if c.size == 4 {
			to.Set(n, uint64(order.Uint32(b[c.first+4*i:])))
		} else {
			to.Set(n, order.Uint64(b[c.first+8*i:]))
		}
	}
	return nil
}

// exception reads the exception and its thread.
func (r *reader) exception() {
	b, ok := r.stream(streamException, 168)
	if !ok {
		return
	}
	c := &r.p.Cause
	code, flags, address := order.Uint32(b[8:]), order.Uint32(b[12:]), order.Uint64(b[24:])
	parameters := min(order.Uint32(b[32:]), 15)
	parameter := func(i int) uint64 { return order.Uint64(b[40+8*i:]) }
	switch {
	case r.p.System == "Windows":
		c.Exception, c.HasException, c.Flags, c.Address = code, true, flags, address
		if (code == 0xc0000005 || code == 0xc0000006) && parameters >= 2 {
			c.Access = map[uint64]crash.Access{0: crash.Read, 1: crash.Write, 8: crash.Execute}[parameter(0)]
			c.Address = parameter(1)
			if r.p.Machine == unwind.X86 {
				c.Address = uint64(uint32(c.Address))
			}
		}
		if parameters >= 1 {
			c.TakeFastFail(parameter(0))
		}
	case r.p.System == "macOS" || r.p.System == "iOS":
		if code == requestedOnMach {
			break
		}
		c.Mach = crash.Mach{Exception: code, Code: uint64(flags), ARM: r.p.Machine == unwind.ARM64}
		c.Address = address
		// The parameters repeat the type and the code, which flags have cut to 32 bits.
		if parameters >= 2 && parameter(0) == uint64(code) && uint32(parameter(1)) == flags {
			c.Mach.Code = parameter(1)
		}
		if parameters >= 3 {
			c.Mach.Subcode = parameter(2)
		}
	case code == requestedByUser:
	case r.p.System == "":
		c.Said = message.Textf("exception %#x of a system that is not known", code)
	default:
		c.Signal, c.Code, c.HasCode, c.Address = int(code), int32(flags), true, address
		if flags == 0 && c.IsFaultSignal() {
			// Breakpad has not always written the code; 0 is also that of a signal that was sent.
			c.HasCode, c.Uncoded = false, true
		}
	}
	id := uint64(order.Uint32(b))
	for i := range r.p.Threads {
		if r.p.Threads[i].ID != id {
			continue
		}
		t := r.p.Threads[i]
		// The context of the exception is that of the fault. The context of the thread is that of the handler that wrote the
		// dump.
		var registers unwind.Registers
		if r.context(&registers, location{order.Uint32(b[160:]), order.Uint32(b[164:])}) == nil {
			t.Registers = registers
		}
		t.Crashed = c.Name() != "" || !c.Said.IsZero()
		copy(r.p.Threads[1:i+1], r.p.Threads[:i])
		r.p.Threads[0] = t
		break
	}
	c.Refine(r.p)
}
