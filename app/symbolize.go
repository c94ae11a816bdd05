package app

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"logparser/crash/minidump"
	"logparser/crash/texts"
	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/store"
)

// A NamedImage is an image that the user names for the addresses of a text.
type NamedImage struct {
	File string
	// Base is where its lowest address lay in memory, if HasBase.
	Base    uint64
	HasBase bool
}

// A Symbolizer names the addresses in a text. It is not safe for concurrent use.
type Symbolizer struct {
	in     Inputs
	reader *texts.Reader
	// opened are the modules that the user names, of which there are given, and those of
	// the text in the order in which they were met; modules are the latter by key.
	opened  []*textModule
	given   int
	modules map[textModuleKey]*textModule
	known   map[textPlace]*TextSymbol
	// recorded are the modules of the logs in the current folder, if askedLogs.
	recorded  []string
	askedLogs bool
	// microdump takes the lines of a microdump that has not ended; nil outside of one.
	microdump *minidump.Microdump
}

// A textModuleKey is a module as a text names it.
type textModuleKey struct {
	path     string
	identity modules.Identity
}

// A textModule is a module of a text with its symbols.
type textModule struct {
	*Image
	path string
	// guessed says that the file was found by its name alone, in a place that the text does not tell.
	guessed bool
	// functions are the first bytes of functions by name; nil while nobody asked.
	functions map[string]uint64
}

// A textPlace is an RVA in a module.
type textPlace struct {
	module *textModule
	rva    uint64
}

// A TextSymbol is what is known of an address in a text.
type TextSymbol struct {
	Symbol Symbol
	// File is the image or symbol file that named it.
	File   string
	Status symbols.Status
	// Guessed says that the file was found by its name alone, and nothing tells that it is the one that ran.
	Guessed bool
	// RVA is that of the byte that was looked up.
	RVA uint64
}

// A TextReference is an address in a line of text. Symbol is nil where nothing is
// known of it.
type TextReference struct {
	texts.Reference
	Symbol *TextSymbol
	// OtherBuild is the file that was found for the module, if it is of another build than the text
	// says: it gives no names, or marked ones where the user asked for them.
	OtherBuild string
}

// NewSymbolizer opens the images that the user names. Of the inputs only those count
// that say where symbols are.
func NewSymbolizer(ctx context.Context, in Inputs, given []NamedImage) (*Symbolizer, error) {
	s := &Symbolizer{in: in, reader: texts.NewReader(), modules: make(map[textModuleKey]*textModule), known: make(map[textPlace]*TextSymbol)}
	for _, g := range given {
		img, err := OpenImage(ctx, g.File, in)
		if err != nil {
			s.Close()
			return nil, err
		}
		s.opened = append(s.opened, &textModule{Image: img, path: g.File})
		if g.HasBase && img.linked != nil {
			s.reader.Add(texts.Mapping{Start: g.Base, End: g.Base + img.linked.Size, Space: texts.Linked, Module: g.File})
		}
	}
	s.given = len(s.opened)
	return s, nil
}

// TakeMaps takes the mappings of a process from a text: /proc/PID/maps, or what debuggers print of them. They hold for the addresses of
// the text until it has others. It returns how many there are.
func (s *Symbolizer) TakeMaps(maps io.Reader) (int, error) {
	const most = 64 << 20 // bytes
	lines := bufio.NewScanner(io.LimitReader(maps, most))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		s.reader.Line(strings.TrimRight(lines.Text(), "\r"))
	}
	return s.reader.Mappings(), lines.Err()
}

// Close closes what was opened.
func (s *Symbolizer) Close() error {
	var first error
	for _, m := range s.opened {
		first = cmp.Or(first, m.Close())
	}
	return first
}

// Line names the addresses of the next line of the text. The list is good until the
// next call.
func (s *Symbolizer) Line(ctx context.Context, line []byte) ([]TextReference, error) {
	if s.microdump == nil && !texts.Interesting(line) {
		s.reader.Pass(string(line))
		return nil, nil
	}
	if list, err := s.microdumpLine(ctx, line); list != nil || err != nil {
		return list, err
	}
	var list []TextReference
	for _, f := range s.reader.Line(string(line)) {
		r := TextReference{Reference: f}
		m, err := s.module(ctx, &f)
		if err != nil {
			return nil, err
		}
		if m != nil {
			r.Symbol = s.symbol(m, &f)
			if m.otherBuild(&f) || f.Deleted && s.replaced(m, &f) {
				r.OtherBuild = cmp.Or(m.binding.File, m.path)
				r.Symbol = s.marked(m, r.Symbol)
			}
			if t := s.trampoline(m, f, r.Symbol); t != nil {
				r.Symbol = t
				s.reader.AfterSignal()
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// Unresolved returns the modules of the text that have no symbols, with the reason.
func (s *Symbolizer) Unresolved() (list []TextModule) {
	for _, m := range s.opened {
		if m.binding.Table == nil {
			list = append(list, TextModule{m.path, m.binding.Status, m.binding.Reason})
		}
	}
	return list
}

// A TextModule is a module that a text names.
type TextModule struct {
	Path   string
	Status symbols.Status
	Reason message.Text
}

// trampoline returns the function that a signal handler returns to, if a reference is to
// it: the frame below was interrupted. No call leads there, so that its address is the
// function's first byte. found is what the reference was found to be.
func (s *Symbolizer) trampoline(m *textModule, f texts.Reference, found *TextSymbol) *TextSymbol {
	if f.Kind == texts.Return && (found == nil || found.isTrampoline() || found.RVA+1 >= found.Symbol.Start+found.Symbol.Size) {
		f.Kind = texts.Exact
		found = s.symbol(m, &f)
	}
	if found == nil || !found.isTrampoline() {
		return nil
	}
	return found
}

// match compares the build that a text names with the module's.
func (m *textModule) match(id modules.Identity) modules.Match {
	if m.linked != nil {
		if got := id.Compare(m.linked.Identity); got != modules.Unknown {
			return got
		}
	}
	if t, ok := symbols.As[interface {
		Compare(modules.Identity) modules.Match
	}](m.binding.Table); ok {
		return t.Compare(id)
	}
	if m.binding.Table != nil {
		return id.Compare(m.binding.Table.Identity())
	}
	return modules.Unknown
}

// otherBuild reports whether a reference is to another build of the module than the file that was found
// or that the user named.
func (m *textModule) otherBuild(f *texts.Reference) bool {
	if m.binding.Status == symbols.Mismatched {
		return true
	}
	return !f.Identity.IsZero() && m.match(f.Identity) == modules.Different
}

// replaced reports whether a module's file is another one than that which ran: the text says that this was removed, the user has not
// named the file, and no identity says that it is that one all the same.
func (s *Symbolizer) replaced(m *textModule, f *texts.Reference) bool {
	return !slices.Contains(s.opened[:s.given], m) && (m.linked != nil || m.binding.Table != nil) && (f.Identity.IsZero() || m.match(f.Identity) != modules.Same)
}

// marked returns what a file of another build says of an address, with its names marked; nil where
// they are not wanted.
func (s *Symbolizer) marked(m *textModule, found *TextSymbol) *TextSymbol {
	if found == nil || m.binding.Status == symbols.Mismatched {
		return found // marked by the look-up
	}
	if !s.in.LoadMismatched {
		return nil
	}
	other := *found
	other.Status = symbols.Mismatched
	tagNames(&other.Symbol)
	return &other
}

// isTrampoline reports whether a symbol is a function that signal handlers return to.
func (t *TextSymbol) isTrampoline() bool {
	switch t.Symbol.Outermost().Function {
	case "__restore_rt", "__restore", "__kernel_rt_sigreturn", "__kernel_sigreturn", "_sigtramp", "KiUserExceptionDispatcher", "KiUserExceptionDispatch":
		return true
	}
	return false
}

// module returns the module of a reference, nil where none is known.
func (s *Symbolizer) module(ctx context.Context, f *texts.Reference) (*textModule, error) {
	if f.Module == "" {
		if f.Space == texts.Process && s.given == 1 {
			return s.opened[0], nil
		}
		return nil, nil
	}
	for _, m := range s.opened[:s.given] {
		if m.path == f.Module || sameModule(m.path, f.Module) {
			return m, nil
		}
	}
	key := textModuleKey{f.Module, f.Identity}
	if m := s.modules[key]; m != nil {
		return m, nil
	}
	const most = 1 << 12
	if len(s.modules) >= most {
		return nil, nil
	}
	m, err := beside(ctx, func() *textModule { return s.find(ctx, f) }, func(m *textModule) { m.Close() })
	if err != nil {
		return nil, err
	}
	s.modules[key] = m
	s.opened = append(s.opened, m)
	return m, nil
}

// find looks for a module that the user has not named.
func (s *Symbolizer) find(ctx context.Context, f *texts.Reference) *textModule {
	finder := newFinder(s.in, "")
	finder.LooseNames = true
	binding, linked := finder.FindWithImage(ctx, &modules.Module{Path: f.Module, Identity: f.Identity})
	m := &textModule{Image: &Image{binding: binding, linked: linked}, path: f.Module}
	if binding.Table != nil && !m.otherBuild(f) || s.in.NoRecordedPaths || absolute(f.Module) {
		return m
	}
	found := s.lookAround(ctx, f)
	if found == nil {
		return m
	}
	m.Close()
	return found
}

// absolute reports whether a path begins at the root of a file system, of Windows or of Unix.
func absolute(path string) bool {
	return strings.HasPrefix(path, "/") || strings.HasPrefix(path, `\\`) || len(path) > 2 && path[1] == ':' && (path[2] == '\\' || path[2] == '/')
}

// sameModule reports whether a file that the user named is the module that a text
// names. Only their names count, and texts leave the extension out and change what cannot be
// in a symbol's name.
func sameModule(file, module string) bool {
	a, b := filepath.Base(file), modules.BaseName(module)
	if strings.EqualFold(a, b) {
		return true
	}
	stem := strings.TrimSuffix(a, filepath.Ext(a))
	return b != "" && (strings.EqualFold(stem, b) || store.LooseName(a) == store.LooseName(b) || store.LooseName(stem) == store.LooseName(b))
}

// symbol looks a reference up.
func (s *Symbolizer) symbol(m *textModule, f *texts.Reference) *TextSymbol {
	if m.binding.Table == nil {
		return nil
	}
	rva, ok := m.rva(f)
	if !ok {
		return nil
	}
	place := textPlace{m, f.Kind.Lookup(rva)}
	if known, ok := s.known[place]; ok {
		return known
	}
	const most = 1 << 17
	if len(s.known) >= most {
		clear(s.known)
	}
	var found *TextSymbol
	if sym, err := m.Lookup(place.rva); err == nil {
		found = &TextSymbol{Symbol: sym, File: m.binding.File, Status: m.binding.Status, RVA: place.rva, Guessed: m.guessed}
	}
	s.known[place] = found
	return found
}

// rva returns the RVA of a reference, before its rule.
func (m *textModule) rva(f *texts.Reference) (rva uint64, ok bool) {
	offset := f.Offset
	switch f.Space {
	case texts.Function:
		start, ok := m.function(f.Name)
		return start + offset, ok
	case texts.Process, texts.Linked:
		if rva, ok = m.linkedRVA(offset); !ok || f.Space == texts.Linked {
			rva = m.RVA(offset)
		}
		return rva, m.linked == nil || rva < m.linked.Size
	}
	if m.linked == nil {
		return 0, false
	}
	switch f.Space {
	case texts.File:
		offset, ok = m.linked.AtOffset(offset)
	case texts.Code:
		offset, ok = m.linked.AtCode(offset)
	case texts.Section:
		if n := f.SectionNumber; n <= len(m.linked.Sections) && offset < m.linked.Sections[n-1].MemSize {
			offset, ok = m.linked.Sections[n-1].Addr+offset, true
		}
	}
	return offset - m.linked.Base, ok
}

// function returns the first byte of the only function of a name.
func (m *textModule) function(name string) (rva uint64, ok bool) {
	const ambiguous = ^uint64(0)
	if m.functions == nil {
		m.functions = make(map[string]uint64)
		// What was read before damage counts.
		_ = m.binding.Table.Procedures(func(rva uint64, name string) bool {
			if at, ok := m.functions[name]; ok && at != rva {
				rva = ambiguous
			}
			m.functions[name] = rva
			return true
		})
	}
	rva, ok = m.functions[demangle.Short(strings.TrimSuffix(name, "()"))]
	return rva, ok && rva != ambiguous
}
