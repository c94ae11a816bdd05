package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"logparser/crash"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/merged"
	"logparser/symbols/store"
	"logparser/symbols/unwind"
)

// Errors of [Session.OpenCrash].
var (
	// ErrNoCrash says that a log has no crash.
	ErrNoCrash = message.New("the log tells of no crash")
	// ErrSeveralProcesses says that a log is of several processes.
	ErrSeveralProcesses = message.New("the logs are of several processes: open the one that crashed alone")
)

// OpenCrash returns the process of a dump, or the last crash that the log recorded as a dead process: the thread that crashed with
// its registers and stack, the others with their open calls alone, of which there are none until the session is
// loaded. Of it nothing is closed with the process.
func (s *Session) OpenCrash(ctx context.Context) (*Crash, error) { return s.openCrash(ctx, false) }

// openCrash is OpenCrash; takesDown says that what is read of modules' code is taken down.
func (s *Session) openCrash(ctx context.Context, takesDown bool) (*Crash, error) {
	if s.dump != nil {
		return s.ofDump(ctx), nil
	}
	if len(s.processes) > 1 {
		return nil, ErrSeveralProcesses
	}
	list := s.Crashes()
	if len(list) == 0 {
		return nil, ErrNoCrash
	}
	in := s.Inputs()
	p := s.deadProcess(&list[len(list)-1])
	for _, o := range s.OpenCalls(1) {
		if !slices.ContainsFunc(p.Threads, func(t crash.Thread) bool { return t.ID == uint64(o.Thread.ID) }) {
			p.Threads = append(p.Threads, crash.Thread{ID: uint64(o.Thread.ID), Name: o.Thread.Name})
		}
	}
	c := prepareCrash(ctx, p, in.Log, in, s.openKept())
	c.takesDown = takesDown
	c.decodeCause()
	return c, nil
}

// machines are those whose registers a crash record has.
var machines = map[parser.Machine]unwind.Machine{parser.X86: unwind.X86, parser.X86_64: unwind.X8664, parser.ARM64: unwind.ARM64}

// deadProcess makes a process of a crash record.
func (s *Session) deadProcess(c *RecordedCrash) *crash.Process {
	p := &crash.Process{Format: "crash record of a trace", System: "Linux", Machine: machines[c.Machine]}
	if c.Windows {
		p.System = "Windows"
	}
	r := &s.runs()[0]
	if list := s.can.ProcessTeller.Processes(r.number); c.Crash.Process < len(list) {
		p.PID, p.Program = int64(list[c.Crash.Process].ID), modules.BaseName(list[c.Crash.Process].Path)
	}
	if s.can.ClockTeller != nil {
		if began, _ := s.can.ClockTeller.Began(r.number); len(began) > 0 {
			p.Time = began[len(began)-1].Add(time.Duration(c.Time))
		}
	}
	space := r.spaces[c.Space].Time
	for i := range r.modules.Len() {
		if m := r.modules.At(i); m.Loaded <= space && space < m.Unloaded {
			here := *m
			here.Loaded, here.Unloaded = math.MinInt64, modules.Always
			p.Modules = append(p.Modules, here)
		}
	}
	p.Modules = append(p.Modules, unlisted(c.Maps, p.Modules, p.Machine.PointerSize())...)
	slices.SortFunc(p.Modules, func(a, b modules.Module) int { return cmp.Compare(a.Base, b.Base) })
	t := crash.Thread{ID: uint64(c.Thread), Name: c.Name, Crashed: true}
	for i, v := range c.Registers {
		// The last are flags, which have no number.
		if p.Machine.RegisterName(i) != "" {
			t.Registers.Set(i, v)
		}
	}
	p.Threads = []crash.Thread{t}
	p.Memory = crashMemory(c)
	p.Cause = crash.Cause{Address: c.Address, Sender: int64(c.Sender), PC: c.IP}
	switch c.Kind {
	case parser.SignalCrash:
		p.Cause.Signal, p.Cause.Code, p.Cause.HasCode = int(c.Code), c.Detail, true
	case parser.ExceptionCrash:
		p.Cause.Exception, p.Cause.HasException, p.Cause.Flags = c.Code, true, uint32(c.Detail)
		if !c.AddressKnown {
			p.Cause.Address = ^uint64(0)
		}
	default:
		p.Cause.Said = c.Cause()
	}
	if c.AddressKnown {
		p.Cause.Access = map[parser.Access]crash.Access{parser.ReadAccess: crash.Read, parser.WriteAccess: crash.Write, parser.ExecuteAccess: crash.Execute}[c.Access]
	}
	p.Cause.Refine(p)
	if c.Message != "" {
		p.Note("the program said: %s", strings.TrimSpace(c.Message))
	}
	if c.InRecorder {
		p.Note("the recorder's own code was running")
	}
	if c.Handled {
		p.Note("a handler of the program's own came next: it may have gone on")
	}
	return p
}

// unlisted returns the images among a process's mappings that are in none of its modules: libraries
// that were loaded just before the crash.
func unlisted(maps string, known []modules.Module, pointerSize int) (list []modules.Module) {
	have := modules.NewMap(known)
	at := make(map[string]int)
	code := make(map[string]bool)
	for line := range strings.Lines(maps) {
		// 00c5d000-00c5e000 r-xp 00000000 08:05 2129013 /lib/x.so
		f := strings.SplitN(strings.TrimRight(line, "\n"), " ", 6)
		if len(f) < 6 {
			continue
		}
		path := strings.TrimLeft(f[5], " ")
		from, to, _ := strings.Cut(f[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		end, err2 := strconv.ParseUint(to, 16, 64)
		if err != nil || err2 != nil || end <= start || !filepath.IsAbs(path) && path != "[vdso]" {
			continue
		}
		if _, owners := have.Find(start, 0); owners > 0 {
			continue
		}
		i, ok := at[path]
		if !ok {
			i = len(list)
			at[path] = i
			list = append(list, modules.Module{Base: start, Path: path, PointerSize: pointerSize, Loaded: -1 << 63, Unloaded: modules.Always})
		}
		list[i].Size = max(list[i].Size, end-list[i].Base)
		code[path] = code[path] || strings.Contains(f[1], "x")
	}
	kept := list[:0]
	for _, m := range list {
		if code[m.Path] {
			kept = append(kept, m)
		}
	}
	return kept
}

// crashMemory makes a memory of what a record has of it, with the rights that the mappings say. What lies in
// no mapping that was written down has no known rights.
func crashMemory(c *RecordedCrash) *crash.Memory {
	saved := append(slices.Clone(c.Stack), c.Instructions)
	saved = append(saved, c.Memory...)
	saved = slices.DeleteFunc(saved, func(m parser.Memory) bool { return len(m.Bytes) == 0 })
	// Of two that overlap the longer one counts as a whole.
	slices.SortStableFunc(saved, func(a, b parser.Memory) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), cmp.Compare(len(b.Bytes), len(a.Bytes)))
	})
	var file bytes.Buffer
	var ranges []crash.Range
	for _, m := range saved {
		end := m.Address + uint64(len(m.Bytes))
		if end < m.Address {
			continue
		}
		ranges = append(ranges, crash.Range{Start: m.Address, End: end, Saved: uint64(len(m.Bytes)), Offset: int64(file.Len())})
		file.Write(m.Bytes)
	}
	whole, _ := crash.NewMemory(bytes.NewReader(file.Bytes()), int64(file.Len()), ranges)
	ranges = slices.Clone(whole.Ranges())
	known := len(ranges)
	for line := range strings.Lines(c.Maps) {
		of, ok := parseMapping(line)
		if !ok {
			continue
		}
		// What lies between the saved parts is known to be there.
		at := of.Start
		for i := range known {
			m := &ranges[i]
			if m.End <= of.Start || m.Start >= of.End {
				continue
			}
			m.Readable, m.Writable, m.Executable, m.Rights = of.Readable, of.Writable, of.Executable, true
			if m.Start > at {
				gap := of
				gap.Start, gap.End = at, m.Start
				ranges = append(ranges, gap)
			}
			at = max(at, m.End)
		}
		if at < of.End {
			of.Start = at
			ranges = append(ranges, of)
		}
	}
	memory, _ := crash.NewMemory(bytes.NewReader(file.Bytes()), int64(file.Len()), ranges)
	return memory
}

// parseMapping reads bounds and rights of a line of /proc/self/maps.
func parseMapping(line string) (r crash.Range, ok bool) {
	bounds, rest, _ := strings.Cut(line, " ")
	low, high, _ := strings.Cut(bounds, "-")
	var err, err2 error
	r.Start, err = strconv.ParseUint(low, 16, 64)
	r.End, err2 = strconv.ParseUint(high, 16, 64)
	if err != nil || err2 != nil || len(rest) < 4 || r.Start >= r.End {
		return r, false
	}
	r.Readable, r.Writable, r.Executable, r.Rights = rest[0] == 'r', rest[1] == 'w', rest[2] == 'x', true
	return r, true
}

// newCrash makes a Crash of a process. kept are the containers of symbols that belong to its log.
func newCrash(ctx context.Context, p *crash.Process, file string, in Inputs, kept []store.Kept) *Crash {
	c := prepareCrash(ctx, p, file, in, kept)
	c.decodeCause()
	return c
}

// prepareCrash is newCrash without a look at the code.
func prepareCrash(ctx context.Context, p *crash.Process, file string, in Inputs, kept []store.Kept) *Crash {
	c := &Crash{Process: p, File: file, ctx: ctx, finder: newFinder(in, filepath.Dir(file)), images: modules.NewMap(p.Modules), modules: make([]crashModule, len(p.Modules))}
	c.finder.Kept = kept
	for i := range p.Modules {
		c.finder.Program = append(c.finder.Program, &p.Modules[i])
	}
	return c
}

// decodeCause takes from the instruction at which the process ended what the system did not tell.
func (c *Crash) decodeCause() {
	p := c.Process
	if t := p.Crashed(); t != nil {
		if pc, ok := t.Registers.Get(p.Machine.PC()); ok {
			code, _ := c.code(pc, pc+crash.MaxInstruction)
			p.Cause.Decode(p, code)
		}
	}
}

// CrashedLog returns what to open to see how a program crashed. That is the path itself, unless it is a folder with more logs than
// are shown together: then it is the log with a crash that was written last.
func CrashedLog(ctx context.Context, path string) (string, error) {
	var several *SeveralLogs
	if _, _, err := FindPair(path); !errors.As(err, &several) || len(several.Logs) <= merged.MaxLogs {
		return path, nil
	}
	for _, log := range LatestFirst(several.Logs) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		// One that cannot be opened tells of nothing.
		if tells, err := tellsOfCrash(ctx, Inputs{Log: log}); err == nil && tells {
			return log, nil
		}
	}
	return "", &InputError{LogInput, path, ErrNoCrash}
}
