package app

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"logparser/calls"
	"logparser/parser"
	"logparser/symbols"
	"logparser/symbols/store"
)

// A place is what is shown of an address. Places are immutable, and addresses
// of which nothing is known share one.
type place struct {
	// module is an index into the run's modules, -1 for none.
	module int
	// address is the whole address (a VA), 0 where it is as recorded.
	address uint64
	// function is "" where the address has no name.
	function, source string
	line             int
	// symbols is the status of the module's symbols.
	symbols string
	note    string
	id      calls.Function
}

// names holds the place of each distinct address of the table.
type names struct {
	addresses *calls.Addresses
	places    []atomic.Pointer[place]
}

// find returns the place of an address of a run, or nil while it is unknown.
func (n *names) find(run int, address uint64) *place {
	if n == nil {
		return nil
	}
	i, ok := n.addresses.Find(run, address)
	if !ok {
		return nil
	}
	return n.places[i].Load()
}

// name finds the symbols of all modules and names all addresses. The caller
// holds the token; the table is built.
func (s *Session) name(ctx context.Context, p Progress) error {
	s.mu.Lock()
	in := s.in
	if s.names == nil {
		a := s.table.Addresses()
		s.names = &names{a, make([]atomic.Pointer[place], a.Len())}
	}
	n, old := s.names, s.bindings
	s.mu.Unlock()

	byModule := s.addressesByModule(n.addresses)
	bindings := make([][]symbols.Binding, len(s.runs))
	total := 0
	for run := range s.runs {
		bindings[run] = make([]symbols.Binding, s.runs[run].modules.Len())
		for i := range bindings[run] {
			bindings[run][i].Status = symbols.Pending
		}
		total += len(bindings[run])
	}
	s.mu.Lock()
	s.bindings = bindings
	s.mu.Unlock()
	closeTables(old)

	finder := newFinder(in, filepath.Dir(in.Log), p)
	functions := newFunctions()
	found := 0
	tell := throttled(p, StageSymbols)
	// Modules that records lie in come first, so that their names show soon.
	for _, wanted := range []bool{true, false} {
		for run := range s.runs {
			for i := range bindings[run] {
				key := moduleKey{run, i}
				if (len(byModule[key]) > 0) != wanted {
					continue
				}
				b := finder.Find(ctx, s.runs[run].modules.At(i))
				if err := ctx.Err(); err != nil {
					closeTables([][]symbols.Binding{{b}})
					return err
				}
				s.mu.Lock()
				bindings[run][i] = b
				s.mu.Unlock()
				if err := s.resolve(ctx, n, key, byModule[key], functions, p); err != nil {
					return err
				}
				found++
				tell(int64(found), int64(total))
			}
		}
	}
	if err := s.resolve(ctx, n, moduleKey{module: -1}, byModule[moduleKey{module: -1}], functions, p); err != nil {
		return err
	}
	if s.table.NeedsNames() {
		namer := func(run int, address uint64) calls.Function {
			if p := n.find(run, address); p != nil {
				return p.id
			}
			return 0
		}
		if err := s.table.Build(ctx, namer, p.of(StagePair)); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.loaded = true
	s.mu.Unlock()
	return nil
}

// newFinder makes the finder for a session's inputs, or for an image's.
func newFinder(in Inputs, folder string, p Progress) *store.Finder {
	f := store.NewFinder(symbolFormats, in.Symbols, folder, !in.NoRecordedPaths)
	f.Network, f.Cache = in.Network, in.SymbolCache
	if f.Cache == "" {
		if dir, err := os.UserCacheDir(); err == nil {
			f.Cache = filepath.Join(dir, "logparser", "symbols")
		}
	}
	if p != nil {
		tell := throttled(p, StageFetch)
		f.Progress = func(_ string, done, total int64) { tell(done, total) }
	}
	return f
}

// A moduleKey is a module of a chosen run; module -1 stands for addresses
// outside all modules of all runs.
type moduleKey struct{ run, module int }

// addressesByModule sorts the distinct addresses by the module they lie in.
func (s *Session) addressesByModule(a *calls.Addresses) map[moduleKey][]int {
	m := make(map[moduleKey][]int)
	for i := range a.Len() {
		address := a.At(i)
		key := moduleKey{module: -1}
		if loc := s.locate(int(address.Run), address.Value); loc.Module >= 0 {
			key = moduleKey{int(address.Run), loc.Module}
		}
		m[key] = append(m[key], i)
	}
	return m
}

// locate finds the module of an address without its symbols.
func (s *Session) locate(run int, address uint64) symbols.Location {
	r := &s.runs[run]
	return r.plain.Resolve(address, r.zero, s.back())
}

// back is what is subtracted from an event's address before it is looked up.
func (s *Session) back() uint64 {
	if s.log.Addresses() == parser.ReturnAddress {
		return 1
	}
	return 0
}

// functions numbers functions for pairing. It is safe for concurrent use.
type functions struct {
	mu  sync.Mutex
	ids map[functionKey]calls.Function
}

type functionKey struct {
	module moduleKey
	name   string
}

func newFunctions() *functions { return &functions{ids: make(map[functionKey]calls.Function)} }

func (f *functions) id(module moduleKey, name string) calls.Function {
	if name == "" {
		return 0
	}
	key := functionKey{module, name}
	f.mu.Lock()
	defer f.mu.Unlock()
	id, ok := f.ids[key]
	if !ok {
		id = calls.Function(len(f.ids) + 1)
		f.ids[key] = id
	}
	return id
}

// resolve names the given addresses, which all lie in one module.
func (s *Session) resolve(ctx context.Context, n *names, key moduleKey, list []int, functions *functions, p Progress) error {
	if len(list) == 0 {
		return nil
	}
	tell := throttled(p, StageResolve)
	unnamed := &place{module: key.module}
	var named *symbols.Resolver // nil outside all modules
	if key.module >= 0 {
		named = symbols.NewResolver(s.runs[key.run].modules, s.bindings[key.run], s.log.Truncated())
		unnamed.symbols = string(s.bindings[key.run][key.module].Status)
	}
	var next atomic.Int64
	var workers sync.WaitGroup
	var failed atomic.Pointer[error]
	const block = 64
	for range min(runtime.GOMAXPROCS(0), 1+len(list)/block) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for {
				from := int(next.Add(block)) - block
				if from >= len(list) {
					return
				}
				if err := ctx.Err(); err != nil {
					failed.Store(&err)
					return
				}
				for _, i := range list[from:min(from+block, len(list))] {
					a := n.addresses.At(i)
					n.places[i].Store(s.resolveOne(key, named, &a, unnamed, functions))
				}
				tell(int64(min(from+block, len(list))), int64(len(list)))
			}
		}()
	}
	workers.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// resolveOne makes the place of an address; it is unnamed where nothing but
// the module is known.
func (s *Session) resolveOne(key moduleKey, named *symbols.Resolver, a *calls.Address, unnamed *place, functions *functions) *place {
	r := &s.runs[a.Run]
	if named == nil {
		named = r.plain
	}
	loc := named.Resolve(a.Value, r.zero, s.back())
	pl := &place{module: loc.Module, symbols: unnamed.symbols}
	if loc.Address != a.Value {
		pl.address = loc.Address
	}
	switch {
	case loc.Ambiguous:
		pl.note = "address in several modules"
	case loc.Err != nil:
		pl.note = "symbol file damaged"
	}
	if len(loc.Symbol.Frames) == 0 {
		if *pl == *unnamed {
			return unnamed
		}
		return pl
	}
	f := s.frame(&loc.Symbol)
	pl.function, pl.source, pl.line = f.Function, f.File, f.Line
	pl.id = functions.id(key, f.Function)
	return pl
}

// frame chooses the frame that a record stands for: at an entry the procedure
// that starts there, at a return address the innermost function that is not
// the recorder's own.
func (s *Session) frame(sym *symbols.Symbol) *symbols.Frame {
	if s.log.Addresses() == parser.EntryAddress {
		return sym.Outermost()
	}
	for i := range sym.Frames {
		if !isRecorder(sym.Frames[i].Function) {
			return &sym.Frames[i]
		}
	}
	return sym.Outermost()
}

// isRecorder reports whether a function belongs to the recorder's object.
func isRecorder(function string) bool {
	return strings.HasPrefix(function, "LogEnterLeave::")
}

func closeTables(bindings [][]symbols.Binding) {
	for _, list := range bindings {
		for i := range list {
			if list[i].Table != nil {
				list[i].Table.Close()
			}
		}
	}
}

// Modules returns the modules of the chosen runs with the state of their
// symbols.
func (s *Session) Modules() []ModuleState {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[moduleKey]int64)
	if s.loaded {
		for i := range s.names.places {
			if pl := s.names.places[i].Load(); pl != nil && pl.module >= 0 {
				a := s.names.addresses.At(i)
				counts[moduleKey{int(a.Run), pl.module}] += a.Records
			}
		}
	}
	var list []ModuleState
	for run := range s.runs {
		for i := range s.runs[run].modules.Len() {
			list = append(list, s.moduleState(run, i, counts))
		}
	}
	return list
}

func (s *Session) moduleState(run, i int, counts map[moduleKey]int64) ModuleState {
	m := s.runs[run].modules.At(i)
	state := ModuleState{Name: m.Name(), Path: m.Path, Base: m.Base, Size: m.Size,
		Identity: m.Identity.String(), Status: symbols.Pending, Records: -1}
	if s.loaded {
		state.Records = counts[moduleKey{run, i}]
	}
	if run < len(s.bindings) {
		b := &s.bindings[run][i]
		state.Status, state.SymbolFile, state.Reason, state.Attempts = b.Status, b.File, b.Reason, b.Attempts
	}
	return state
}

// of returns the progress of one stage.
func (p Progress) of(stage Stage) func(done, total int64) {
	if p == nil {
		return nil
	}
	return func(done, total int64) { p(stage, done, total) }
}

// throttled returns the progress of one stage, told at most some twenty times
// a second. It is safe for concurrent use.
func throttled(p Progress, stage Stage) func(done, total int64) {
	if p == nil {
		return func(int64, int64) {}
	}
	var last atomic.Int64
	start := time.Now()
	return func(done, total int64) {
		now := time.Since(start).Milliseconds()
		before := last.Load()
		if now-before < 50 && done < total || !last.CompareAndSwap(before, now) {
			return
		}
		p(stage, done, total)
	}
}
