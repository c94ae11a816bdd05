package app

import (
	"cmp"
	"context"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"logparser/calls"
	"logparser/modules"
	"logparser/parser"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/store"
	"logparser/symbols/unwind"
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
	// signature is the function's, "" if unknown, and start the RVA of the part of it that has the address, 0 of an inlined
	// function. label is the name that is shown instead of function, because other functions have that too, and part what
	// the compiler made of a function, where it makes several of one; "" for none.
	signature, label, part string
	start                  uint64
}

// names holds the place of each distinct address of the table.
type names struct {
	addresses *calls.Addresses
	places    []atomic.Pointer[place]
	// shown are what rows have of those that were shown.
	shown []atomic.Pointer[shownPlace]
}

// A shownPlace is what rows have of an address, made of a place. It is immutable.
type shownPlace struct {
	rows.Place
	note string
	of   *place
}

func newNames(a *calls.Addresses, n int) *names {
	return &names{a, make([]atomic.Pointer[place], n), make([]atomic.Pointer[shownPlace], n)}
}

// find returns the place of an address, or nil while it is unknown.
func (n *names) find(run int, space uint16, address uint64) *place {
	return n.at(n.index(run, space, address))
}

// index returns the number of an address, -1 where it has none.
func (n *names) index(run int, space uint16, address uint64) int {
	if n == nil {
		return -1
	}
	i, ok := n.addresses.Find(run, space, address)
	if !ok || i >= len(n.places) {
		return -1
	}
	return i
}

// at returns the place of address i, or nil while it is unknown.
func (n *names) at(i int) *place {
	if n == nil || i < 0 || i >= len(n.places) {
		return nil
	}
	return n.places[i].Load()
}

// extended returns names with room for all addresses that the table has now.
func (n *names) extended(a *calls.Addresses) *names {
	if n == nil {
		return newNames(a, a.Len())
	}
	if a.Len() <= len(n.places) {
		return n
	}
	longer := newNames(a, max(a.Len(), 2*len(n.places)))
	for i := range n.places {
		longer.places[i].Store(n.places[i].Load())
		longer.shown[i].Store(n.shown[i].Load())
	}
	return longer
}

// namer tells the functions of the addresses that are named.
func (n *names) namer(run int, space uint16, address uint64) calls.Function {
	if p := n.find(run, space, address); p != nil {
		return p.id
	}
	return 0
}

// name finds the symbols of all modules and names all addresses. The caller
// holds the token; the table is built.
func (s *Session) name(ctx context.Context, p Progress) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	s.generation.Add(1)
	defer s.generation.Add(1)
	s.mu.Lock()
	in := s.in
	s.names = s.names.extended(s.table.Addresses())
	n, old := s.names, s.bindings
	s.mu.Unlock()

	byModule, err := s.addressesByModule(ctx, n.addresses)
	if err != nil {
		return err
	}
	bindings := make([][]symbols.Binding, len(s.runs()))
	total := 0
	for run := range s.runs() {
		bindings[run] = make([]symbols.Binding, s.runs()[run].modules.Len())
		for i := range bindings[run] {
			bindings[run][i].Status = symbols.Pending
		}
		total += len(bindings[run])
	}
	s.mu.Lock()
	s.bindings = bindings
	s.mu.Unlock()
	closeTables(old)

	finder := s.symbolFinder(in)
	finder.Progress = s.fetchProgress(p)
	defer s.fetching.Store(nil)
	functions := newFunctions()
	known := make(map[imageKey]symbols.Binding)
	found := 0
	tell := throttled(p, StageSymbols)
	crashed := s.crashModules()
	// Modules that records lie in come first, so that their names show soon.
	for _, wanted := range []bool{true, false} {
		for run := range s.runs() {
			for i := range bindings[run] {
				key := moduleKey{run, i}
				if (len(byModule[key]) > 0 || crashed[key]) != wanted {
					continue
				}
				find := finder.Find
				if !wanted {
					find = finder.FindUnused
				}
				mod := s.runs()[run].modules.At(i)
				b, ok := known[imageOf(mod)]
				if !ok {
					var err error
					b, err = beside(ctx, func() symbols.Binding { return find(ctx, mod) }, closeTable)
					s.fetching.Store(nil)
					if err == nil && ctx.Err() != nil {
						closeTable(b)
						err = ctx.Err()
					}
					if err != nil {
						return err
					}
					known[imageOf(mod)] = b
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
		if err := s.table.Build(ctx, n.namer, p.of(StagePair)); err != nil {
			return err
		}
	}
	s.functions, s.named = functions, n.addresses.Len()
	s.namesakes = nil
	if _, err := s.distinguish(ctx, n, s.named); err != nil {
		return err
	}
	s.nameCrashes()
	s.mu.Lock()
	s.loaded = true
	s.mu.Unlock()
	return nil
}

// An imageKey is what finding the symbols of a module depends on. Several processes, or runs,
// have one of each file that they loaded, and its symbols are read once.
type imageKey struct {
	path        string
	size        uint64
	pointerSize int
	identity    modules.Identity
}

func imageOf(m *modules.Module) imageKey { return imageKey{m.Path, m.Size, m.PointerSize, m.Identity} }

// wait waits for look-ups of a naming that was cancelled, which have no more to
// do with it but read its tables and name its addresses.
func (s *Session) wait(ctx context.Context) error {
	if s.looking == nil {
		return nil
	}
	select {
	case <-s.looking:
		s.looking = nil
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetchProgress returns the progress of a finder, which also keeps what is
// being fetched.
func (s *Session) fetchProgress(p Progress) func(url string, done, total int64) {
	tell := throttled(p, StageFetch)
	return func(url string, done, total int64) {
		if u := s.fetching.Load(); u == nil || *u != url {
			s.fetching.Store(&url)
		}
		tell(done, total)
	}
}

// newFinder makes the finder for a session's inputs, or for an image's.
func newFinder(in Inputs, folder string) *store.Finder {
	f := store.NewFinder(symbolFormats, in.Symbols, folder, !in.NoRecordedPaths)
	f.LoadMismatched, f.Network, f.Cache = in.LoadMismatched, in.Network, in.symbolCache()
	// Inflated sections take as much room as the program's debug information:
	// they are kept where the user named a folder, and not in the default one.
	f.Inflated = in.SymbolCache
	f.Environment = store.EnvironmentPath(os.Getenv)
	f.Bound = unwind.Bound
	return f
}

// A moduleKey is a module of a chosen run; module -1 stands for addresses
// outside all modules of all runs.
type moduleKey struct{ run, module int }

// addressesByModule sorts the distinct addresses by the module they lie in.
func (s *Session) addressesByModule(ctx context.Context, a *calls.Addresses) (map[moduleKey][]int, error) {
	m := make(map[moduleKey][]int)
	for i := range a.Len() {
		if i%cancelEvery == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		address := a.At(i)
		key := moduleKey{module: -1}
		if loc := s.locate(int(address.Run), address.Space, address.Value); loc.Module >= 0 {
			key = moduleKey{int(address.Run), loc.Module}
		}
		m[key] = append(m[key], i)
	}
	return m, nil
}

// cancelEvery is after how many steps a loop over addresses looks whether it was
// cancelled: few milliseconds, whatever a step does.
const cancelEvery = 1 << 10

// locate finds the module of an address without its symbols.
func (s *Session) locate(run int, space uint16, address uint64) symbols.Location {
	r := &s.runs()[run]
	sp := r.spaces[space]
	return r.plain.Resolve(address, sp.Time, back(sp.Kind))
}

// back is what is subtracted from an address before it is looked up: 1 from a return address, so that the call itself is
// found. symbols.Resolver.locate does it.
func back(kind parser.AddressKind) uint64 {
	if kind == parser.ReturnAddress {
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
		named = symbols.NewResolver(s.runs()[key.run].modules, s.bindings[key.run], s.log.Truncated())
		unnamed.symbols = string(s.bindings[key.run][key.module].Status)
	}
	if named == nil {
		for k, i := range list {
			if k%cancelEvery == 0 && ctx.Err() != nil {
				break
			}
			a := n.addresses.At(i)
			n.places[i].Store(s.resolveOne(key, nil, &a, unnamed, functions))
		}
		return ctx.Err()
	}
	queries := make([]symbols.Query, len(list))
	for k, i := range list {
		a := n.addresses.At(i)
		space := s.runs()[a.Run].spaces[a.Space]
		queries[k] = symbols.Query{Address: a.Value, At: space.Time, Back: back(space.Kind)}
	}
	table := s.bindings[key.run][key.module].Table
	if prompt, ok := table.(symbols.Prompt); ok && prompt.Slow() {
		// Names without lines, at once; Lookup has the last word.
		for k, i := range list {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if loc, ok := named.Prompt(queries[k]); ok {
				a := n.addresses.At(i)
				pl := *s.place(key, loc, &a, unnamed, nil)
				pl.note = "debug information is being read"
				n.places[i].Store(&pl)
			}
		}
	}
	var done atomic.Int64
	// The first look-up may read much of the symbol file.
	looked := make(chan struct{})
	failed, err := beside(ctx, func() error {
		defer close(looked)
		return named.ResolveAll(ctx, queries, func(k int, loc symbols.Location) {
			if ctx.Err() != nil {
				return
			}
			a := n.addresses.At(list[k])
			n.places[list[k]].Store(s.place(key, loc, &a, unnamed, functions))
			if count := done.Add(1); count%64 == 0 || count == int64(len(list)) {
				tell(count, int64(len(list)))
			}
		})
	}, func(error) {})
	if err != nil {
		s.looking = looked
	}
	return cmp.Or(failed, err)
}

// resolveOne makes the place of an address; it is unnamed where nothing but
// the module is known.
func (s *Session) resolveOne(key moduleKey, named *symbols.Resolver, a *calls.Address, unnamed *place, functions *functions) *place {
	r := &s.runs()[a.Run]
	if named == nil {
		named = r.plain
	}
	space := r.spaces[a.Space]
	return s.place(key, named.Resolve(a.Value, space.Time, back(space.Kind)), a, unnamed, functions)
}

// place makes the place of an address that was resolved. functions is nil
// where the name is not final.
func (s *Session) place(key moduleKey, loc symbols.Location, a *calls.Address, unnamed *place, functions *functions) *place {
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
		if s.can.Namer != nil {
			if name := s.can.Namer.Name(s.runs()[a.Run].number, a.Space, a.Value); name != "" {
				pl.function = name
				if functions != nil {
					pl.id = functions.id(key, name)
				}
			}
		}
		if *pl == *unnamed {
			return unnamed
		}
		return pl
	}
	f := frame(&loc, s.runs()[a.Run].spaces[a.Space].Kind)
	pl.function, pl.signature, pl.source, pl.line = f.Function, f.Signature, f.File, f.Line
	if f == loc.Symbol.Outermost() {
		switch loc.Symbol.Kind {
		case symbols.Procedure, symbols.Symtab, symbols.Public:
			pl.start = loc.Symbol.Start
		}
	}
	if pl.symbols == string(symbols.Mismatched) {
		pl.function, pl.signature, pl.source = rows.TagFunction(pl.function), rows.TagFunction(pl.signature), rows.TagSource(pl.source)
	}
	if functions != nil {
		pl.id = functions.id(key, strings.TrimPrefix(cmp.Or(withoutCopies(f.Signature), f.Function), unwind.NearestTag))
	}
	return pl
}

// firstCall is where a call returns to that a function of x86-64 begins with, in bytes from its begin. Such a function has
// not made its frame yet: it calls nobody but the hook of its entry (-mfentry).
const firstCall = 5

// frame chooses the frame that a record stands for: at an entry the procedure
// that starts there, at a return address the innermost function that is not
// the recorder's own. A hook of a function's entry is the function's, whatever debug information says of code that was
// inlined behind it.
func frame(loc *symbols.Location, kind parser.AddressKind) *symbols.Frame {
	sym := &loc.Symbol
	if kind == parser.EntryAddress || loc.RVA-sym.Start <= firstCall && sym.Kind == symbols.Procedure {
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

// closeTables closes the tables, of which several modules may have one.
func closeTables(bindings [][]symbols.Binding) {
	closed := make(map[symbols.Table]bool)
	for _, list := range bindings {
		for i := range list {
			if t := list[i].Table; t != nil && !closed[t] {
				closed[t] = true
				t.Close()
			}
		}
	}
}

func closeTable(b symbols.Binding) {
	if b.Table != nil {
		b.Table.Close()
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
	for run := range s.runs() {
		for i := range s.runs()[run].modules.Len() {
			list = append(list, s.moduleState(run, i, counts))
		}
	}
	return list
}

func (s *Session) moduleState(run, i int, counts map[moduleKey]int64) ModuleState {
	m := s.runs()[run].modules.At(i)
	state := ModuleState{Process: s.processOfModule(i), Name: m.Name(), Path: m.Path, Base: m.Base, Size: m.Size,
		Identity: m.Identity.String(), Status: symbols.Pending, Records: -1}
	if s.loaded {
		state.Records = counts[moduleKey{run, i}]
	}
	if run < len(s.bindings) && i < len(s.bindings[run]) {
		b := &s.bindings[run][i]
		state.Status, state.SymbolFile, state.Reason, state.Attempts, state.About = b.Status, b.File, b.Reason, b.Attempts, b.About
		state.OnRequest = b.Status == symbols.Mismatched && b.Table != nil
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
