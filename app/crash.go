package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"

	"logparser/crash"
	"logparser/crash/core"
	"logparser/crash/minidump"
	"logparser/message"
	"logparser/modules"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/image"
	"logparser/symbols/store"
	"logparser/symbols/unwind"
)

// dumpFormats are the files that show a dead process. A new one is a folder under
// crash and a line here.
var dumpFormats = []struct {
	detect func(head []byte) bool
	read   func(file io.ReaderAt, size int64) (*crash.Process, error)
}{
	{core.Detect, core.Read},
	{minidump.Detect, minidump.Read},
	{minidump.DetectMicrodump, minidump.ReadMicrodump},
}

// ErrNoDump says that a file shows no dead process.
var ErrNoDump = message.New("neither an ELF core file nor a minidump, and no text with a microdump")

// A Crash is a dead process with the symbols of its modules, which are looked for when
// they are needed. It may be used by one goroutine at a time.
type Crash struct {
	*crash.Process
	// File is the path of the dump.
	File    string
	ctx     context.Context
	finder  *store.Finder
	images  *modules.Map
	modules []crashModule // by index of Process.Modules
	err     error         // of a cancelled look-up
	// takesDown says that what is read of modules' code is taken down, to be kept.
	takesDown bool
}

// A crashModule is what was found of a module.
type crashModule struct {
	looked  bool
	binding symbols.Binding
	image   *image.Image
	unwind  unwind.Module
	// kept are the unwind rules where the image is not there, read is what was read of the code.
	kept *attached.Unwind
	read *readCode
	// records is the file that has STACK records, nil for none: a symbol file of Breakpad's, or keptStack.
	records   *symbols.File
	keptStack *attached.Stack
}

// A CrashFrame is a frame of a thread's stack.
type CrashFrame struct {
	unwind.Frame
	// Module is the index of its module in Process.Modules, -1 for none.
	Module int
	// RVA is the PC within the module.
	RVA uint64
	// Start is the address of the function's first byte, 0 where it is not known.
	Start uint64
	// Functions are the function and what was inlined there, the innermost
	// first; empty where nothing is known. Lines are those of the calls.
	Functions []symbols.Frame
}

// A CrashModule is a module with the state of its symbols.
type CrashModule struct {
	modules.Module
	// Looked says that symbols were looked for: they are for modules on stacks.
	Looked  bool
	Binding symbols.Binding
	// Image is the path of the image that unwind rules come from, "" for none.
	Image string
}

// OpenCrash opens a dump. Of the inputs only those count that say where symbols are.
func OpenCrash(ctx context.Context, file string, in Inputs) (*Crash, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		return nil, &InputError{OtherInput, file, ErrNoDump}
	}
	f, _, err := openInput(file)
	if err != nil {
		return nil, err
	}
	type read struct {
		p   *crash.Process
		err error
	}
	got, err := beside(ctx, func() (r read) {
		r.p, r.err = readDump(f)
		return r
	}, func(read) { f.Close() })
	if err != nil {
		return nil, err
	}
	p, err := got.p, got.err
	if err != nil {
		f.Close()
		return nil, &InputError{OtherInput, file, unwrapPath(err)}
	}
	p.Closer = f
	return newCrash(ctx, p, file, in, nil), nil
}

func readDump(f *os.File) (*crash.Process, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var head [4096]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	for _, format := range dumpFormats {
		if format.detect(head[:n]) {
			return format.read(f, info.Size())
		}
	}
	// A log may have a microdump anywhere.
	if bytes.IndexByte(head[:n], 0) < 0 {
		if p, err := minidump.ReadMicrodump(f, info.Size()); !errors.Is(err, minidump.ErrNoMicrodump) {
			return p, err
		}
	}
	return nil, ErrNoDump
}

// Close closes the dump and all symbol files.
func (c *Crash) Close() error {
	for i := range c.modules {
		c.modules[i].close()
	}
	return c.Process.Close()
}

func (m *crashModule) close() {
	closeTable(m.binding)
	if m.image != nil {
		m.image.Close()
	}
}

// memoryFile is saved memory as a file.
type memoryFile struct {
	m    *crash.Memory
	base uint64
}

func (f memoryFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.m.ReadMemory(p, f.base+uint64(off)); err != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return len(p), nil
}

// module returns what is known of a module, which is looked for the first time.
func (c *Crash) module(i int) *crashModule {
	m := &c.modules[i]
	if m.looked || c.err != nil {
		return m
	}
	mod := &c.Modules[i]
	if mod.Path == "[vdso]" {
		// The kernel's image is in no file but in the memory.
		if lo, hi, ok := c.Memory.Range(mod.Base); ok && lo <= mod.Base {
			m.image, _ = image.Open(&symbols.File{Path: mod.Path, ReaderAt: memoryFile{c.Memory, mod.Base}, Size: int64(min(hi-mod.Base, 1<<20))})
		}
		m.binding = c.ofMemory(m.image)
	} else {
		got, err := beside(c.ctx, func() (f crashModule) {
			f.binding, f.image = c.finder.FindAndOpen(c.ctx, mod)
			return f
		}, func(f crashModule) { f.close() })
		if err != nil {
			c.err = err
			return m
		}
		m.binding, m.image = got.binding, got.image
	}
	m.looked = true
	m.unwind = c.unwindOf(m, mod)
	m.records = breakpadFile(&m.binding)
	if m.records == nil && mod.Path != "[vdso]" {
		if m.keptStack = c.finder.Stack(mod, &m.binding); m.keptStack != nil {
			m.records = m.keptStack.File()
		}
	}
	if m.records != nil {
		m.unwind.Rules = append(m.unwind.Rules, unwind.NewStackRecords(m.records))
	}
	return m
}

// ofMemory returns the symbols of an image in memory.
func (c *Crash) ofMemory(im *image.Image) symbols.Binding {
	if im == nil {
		return symbols.Binding{Status: symbols.NotFound, Reason: message.Textf("the image was not saved")}
	}
	for _, f := range symbolFormats {
		file := *im.File()
		if t, err := f.Open(&file); err == nil {
			return symbols.Binding{Status: symbols.Embedded, Table: t, File: file.Path, Reason: message.Textf("%s, saved with the memory", t.Describe())}
		}
	}
	return symbols.Binding{Status: symbols.NotFound, Reason: message.Textf("the image was found, but it holds no names, and no symbol file was found")}
}

// unwinder returns an unwinder over the process.
func (c *Crash) unwinder() *unwind.Unwinder {
	return &unwind.Unwinder{
		Machine: c.Machine, Memory: c.Memory, Windows: c.Windows(),
		Find: func(address uint64) *unwind.Module {
			if i, owners := c.images.Find(address, 0); owners > 0 {
				return &c.module(i).unwind
			}
			return nil
		},
		Executable: func(address uint64) bool {
			if r, ok := c.Memory.Find(address); ok && r.Rights {
				return r.Executable
			}
			// Where no rights were saved, a module's addresses count, and of one with symbols
			// its functions.
			i, owners := c.images.Find(address, 0)
			if owners == 0 {
				return false
			}
			if t := c.module(i).binding.Table; t != nil {
				_, err := t.Lookup(address - c.Modules[i].Base)
				return err == nil
			}
			return true
		},
	}
}

// Stack returns a thread's frames, the innermost first. Of more than most the ones in
// the middle are left out: omitted is how many, first how many frames precede them.
func (c *Crash) Stack(thread, most int) (frames []CrashFrame, first, omitted int, err error) {
	return c.stack(thread, most, c.walkable())
}

// walkable returns how many frames the stacks of all threads can have: each takes a word of the stack, and no two
// have a stack in common.
func (c *Crash) walkable() int {
	const least = 1 << 12 // of a dump that has no stacks
	return least + len(c.Threads) + int(c.Memory.Size()/int64(c.Machine.PointerSize()))
}

// stack is [Crash.Stack] of a walk that ends behind so many frames.
func (c *Crash) stack(thread, most, walk int) (frames []CrashFrame, first, omitted int, err error) {
	outer := most / 4
	first = most - outer
	var ring []unwind.Frame // the last outer frames
	total := 0
	var inner []unwind.Frame
	c.unwinder().Walk(c.Threads[thread].Registers, func(f *unwind.Frame) bool {
		total++
		if total <= first {
			inner = append(inner, *f)
		} else if len(ring) < outer {
			ring = append(ring, *f)
		} else if outer > 0 {
			ring[(total-first-1)%outer] = *f
		}
		return total < walk && c.err == nil && (total%64 != 0 || c.ctx.Err() == nil)
	})
	if c.err == nil {
		c.err = c.ctx.Err()
	}
	if c.err != nil {
		return nil, 0, 0, c.err
	}
	if omitted = max(0, total-first-len(ring)); omitted > 0 && outer > 0 {
		at := (total - first) % outer
		ring = append(ring[at:len(ring):len(ring)], ring[:at]...)
	}
	for _, list := range [][]unwind.Frame{inner, ring} {
		for i := range list {
			frames = append(frames, c.name(&list[i]))
		}
	}
	return frames, min(first, total), omitted, c.err
}

// name finds the function of a frame.
func (c *Crash) name(f *unwind.Frame) CrashFrame {
	out := CrashFrame{Frame: *f, Module: -1}
	look := f.Lookup()
	i, owners := c.images.Find(look, 0)
	if owners == 0 {
		return out
	}
	out.Module, out.RVA = i, f.PC-c.Modules[i].Base
	m := c.module(i)
	sym, err := symbols.Symbol{}, error(symbols.ErrNotFound)
	if m.binding.Table != nil {
		sym, err = m.binding.Table.Lookup(look - c.Modules[i].Base)
	}
	if err != nil {
		// Its unwind rules at least tell which function it is.
		if start, ok := unwind.FunctionStart(&m.unwind, look); ok {
			out.Start = start
			out.Functions = []symbols.Frame{{Function: unwind.StartName(start - c.Modules[i].Base)}}
		}
		return out
	}
	if m.binding.Status == symbols.Mismatched {
		tagNames(&sym)
	}
	out.Start, out.Functions = c.Modules[i].Base+sym.Start, sym.Frames
	return out
}

// StartOf returns the address of the first byte of the function that an address lies in,
// 0 where it is not known.
func (c *Crash) StartOf(address uint64) uint64 {
	f := c.name(&unwind.Frame{PC: address, Exact: true})
	return f.Start
}

// ModuleStates returns the modules with what was found of their symbols so far. If all is set
// they are looked for of all modules.
func (c *Crash) ModuleStates(all bool) (list []CrashModule, err error) {
	for i := range c.Modules {
		if all {
			c.module(i)
		}
		m := &c.modules[i]
		s := CrashModule{Module: c.Modules[i], Looked: m.looked, Binding: m.binding}
		if m.image != nil {
			s.Image = m.image.File().Path
		}
		list = append(list, s)
	}
	return list, c.err
}

// Code returns the code from lo up to hi, as far as it was saved or is in the module's image;
// start is the address of its first byte.
func (c *Crash) Code(thread int, before, behind uint64) (code []byte, start uint64) {
	pc, ok := c.Threads[thread].Registers.Get(c.Machine.PC())
	if !ok {
		return nil, 0
	}
	if code, n := c.code(pc-min(pc, before), pc+behind); n > 0 {
		return code, pc - min(pc, before)
	}
	code, _ = c.code(pc, pc+behind)
	return code, pc
}

// code reads [lo, hi), or less where the end is not there.
func (c *Crash) code(lo, hi uint64) ([]byte, int) {
	for ; hi > lo; hi-- {
		b := make([]byte, hi-lo)
		if c.Memory.ReadMemory(b, lo) == nil {
			return b, len(b)
		}
		if i, owners := c.images.Find(lo, 0); owners > 0 {
			if m := c.module(i); m.unwind.Code != nil {
				if b, err := m.unwind.Code.Read(lo-c.Modules[i].Base, int64(hi-lo)); err == nil {
					return b, len(b)
				}
			}
		}
	}
	return nil, 0
}

// Joined joins a thread's frames with the calls that a log has open, the innermost
// first.
func (c *Crash) Joined(frames []CrashFrame, calls []OpenCall) []crash.Joined {
	starts := make([]uint64, len(frames))
	for i := range frames {
		starts[i] = frames[i].Start
	}
	open := make([]crash.OpenCall, len(calls))
	for i := range calls {
		open[i] = crash.OpenCall{Row: calls[i].Row}
		if a := calls[i].Address; a != 0 {
			if open[i].Start = c.StartOf(a); open[i].Start == 0 {
				open[i].Start = a
			}
		}
	}
	return crash.Join(starts, open)
}

// An OpenCall is a call that was open when a log ended.
type OpenCall struct {
	FunctionRef
	Thread Thread
	// Row is the row that entered it, -1 where it is missing; Address is what the
	// record says, within the function.
	Row     int64
	Address uint64
	// Elapsed is when it was entered, in nanoseconds since the log began, and Lasted
	// how long it had been running when the log ended.
	Elapsed, Lasted int64
	Bound           rows.Bound
}

// OpenCalls returns the calls that were open when the log ended, thread by thread, each
// from the innermost on; of each thread at most so many. The log is loaded.
func (s *Session) OpenCalls(most int) (list []OpenCall) {
	if s.live.Load() {
		return nil
	}
	threads, _ := s.table.OpenAtEnd(most)
	if len(threads) == 0 {
		return nil
	}
	g, endKnown, addresses := s.groups(), s.endKnown(), s.table.Addresses()
	r := &s.runs()[len(s.runs())-1]
	end := s.endTime(r)
	for _, calls := range threads {
		for k := range calls {
			c := &calls[k]
			o := OpenCall{FunctionRef: g.ref(c.Address), Thread: s.threadAt(c.Thread), Row: c.Enter, Elapsed: c.Time - r.zero, Lasted: max(0, end-c.Time)}
			o.Bound, _ = sumBounds(0, 1, endKnown, false)
			a := addresses.At(int(c.Address))
			o.Address = a.Value
			list = append(list, o)
		}
	}
	return list
}
