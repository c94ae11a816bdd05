package store

import (
	"errors"
	"strings"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/image"
)

// Kept is a container of symbols that lies beside a log, or that a log was
// packed in.
type Kept struct {
	*attached.Container
	// Path is the container's file.
	Path string
	// Packed says that the container has the log too: what it says of modules is
	// all there is, and nothing else is looked for.
	Packed bool
}

// usePacked takes what a packed log says of the module, and reports whether
// the log is a packed one.
func (s *search) usePacked() (b symbols.Binding, ok bool) {
	for i := range s.Kept {
		k := &s.Kept[i]
		if !k.Packed {
			continue
		}
		ok = true
		m := keptModule(k, s.module)
		if m == nil {
			continue
		}
		b.Status, b.File = symbols.Status(m.Status), m.File
		b.Reason = message.Textf("as it was when the log was packed")
		if m.Source != "" {
			b.Reason = message.Textf("%s, as it was when the log was packed", m.Source)
		}
		if m.HasSymbols() {
			table, err := m.Open()
			if err != nil {
				b.Status, b.Reason = symbols.NotFound, message.Textf("%s: %v", k.Path, err)
				return b, true
			}
			b.Table = table
		}
		b.Attempts = []symbols.Attempt{{Path: k.Path, Outcome: b.Reason}}
		return b, true
	}
	if ok {
		b.Status = symbols.NotFound
		b.Reason = message.Textf("the log was packed without this module's symbols")
	}
	return b, ok
}

// keptModule returns what a container says of a recorded module, nil for nothing: it must
// be recorded in the same way.
func keptModule(k *Kept, mod *modules.Module) *attached.Module {
	for _, m := range k.Modules() {
		if m.Path == mod.Path && m.Identity == mod.Identity && m.Size == mod.Size {
			return m
		}
	}
	return nil
}

// Unwind returns the unwind rules that were kept of a module of which a binding was found: with its symbols, or in
// a container that belongs to the log. It is nil where there are none.
func (f *Finder) Unwind(mod *modules.Module, b *symbols.Binding) *attached.Unwind {
	for _, m := range f.withUnwind(mod, b) {
		if u, err := m.OpenUnwind(); err == nil {
			return u
		}
	}
	return nil
}

// Stack is [Finder.Unwind] for STACK records.
func (f *Finder) Stack(mod *modules.Module, b *symbols.Binding) *attached.Stack {
	for _, m := range f.withUnwind(mod, b) {
		if s, err := m.OpenStack(); err == nil {
			return s
		}
	}
	return nil
}

// withUnwind returns what may have the unwind rules of a module, the best first.
func (f *Finder) withUnwind(mod *modules.Module, b *symbols.Binding) (from []*attached.Module) {
	for i := range f.Kept {
		k := &f.Kept[i]
		if m := keptModule(k, mod); m != nil {
			from = append(from, m)
		}
		for _, m := range k.Modules() {
			if !k.Packed && strings.EqualFold(m.Name, mod.Name()) && mod.Identity.Compare(m.Identity) == modules.Same {
				from = append(from, m)
			}
		}
	}
	if t, ok := symbols.As[interface{ Module() *attached.Module }](b.Table); ok && b.Status != symbols.Mismatched {
		from = append(from, t.Module())
	}
	return from
}

// useKept takes the module's symbols that were kept beside the log. unknown says
// whether those count of modules of which no identity was recorded.
func (s *search) useKept(unknown bool) {
	for i := range s.Kept {
		k := &s.Kept[i]
		if k.Packed || s.NoAttached {
			continue
		}
		for _, m := range k.Modules() {
			if !m.HasSymbols() || s.best[rankMatched] != nil {
				continue
			}
			match := s.expected.Compare(m.Identity)
			if match == modules.Unknown && unknown && keptModule(k, s.module) == m && m.Status != string(symbols.Mismatched) {
				s.offerKept(rankUnverified, k, m, match)
			} else if match == modules.Same && !unknown && (strings.EqualFold(m.Name, s.module.Name()) || s.tellsApart(m.Identity)) {
				s.offerKept(rankMatched, k, m, match)
			}
		}
	}
}

func (s *search) offerKept(rank int, k *Kept, m *attached.Module, match modules.Match) {
	if s.best[rank] != nil {
		return
	}
	table, err := m.Open()
	if err != nil {
		s.note(k.Path, "%v", plainError(err))
		return
	}
	why := s.explain(match, m.Identity)
	s.note(k.Path, "%s, %s", table.Describe(), why)
	s.offer(rank, &candidate{table: table, path: k.Path, match: match, reason: message.Textf("%s: %s", table.Describe(), why)})
}

// useAttached takes symbols that the module's image carries, or that another
// image of the program carries for it.
func (s *search) useAttached() {
	if s.NoAttached {
		return
	}
	for _, img := range []*image.Image{s.verified, s.unknown} {
		if img != nil {
			s.tryAttached(s.pathOf(img), img == s.verified, true)
		}
	}
	if s.best[rankAttached] != nil {
		return
	}
	for _, c := range s.carriers() {
		if c.path != s.verifiedPath && c.path != s.unknownPath {
			s.tryAttached(c.path, c.verified, false)
		}
	}
}

// tryAttached looks for the module among the symbols that a file carries. verified
// says that the file is of the recorded build, own that it is the module itself.
func (s *search) tryAttached(path string, verified, own bool) {
	file, c := s.openCarried(path)
	if c == nil {
		return
	}
	for _, m := range c.Modules() {
		mine := own && m.Carrier || !own && !m.Carrier && strings.EqualFold(m.Name, s.module.Name())
		if !m.HasSymbols() || !mine && !s.tellsApart(m.Identity) {
			continue
		}
		match := s.expected.Compare(m.Identity)
		if own && match == modules.Unknown && verified {
			match = modules.Same
		}
		rank, why := rankAttached, s.explain(match, m.Identity)
		switch match {
		case modules.Different:
			s.note(path, "the symbols attached to it are of another build: %s", why)
			continue
		case modules.Unknown:
			rank = rankUnverified
		}
		if s.best[rank] != nil {
			continue
		}
		table, err := m.Open()
		if err != nil {
			s.note(path, "the symbols attached to it: %v", plainError(err))
			continue
		}
		s.note(path, "attached to it: %s, %s", m.Source, why)
		reason := message.Textf("%s, attached to %s: %s", m.Source, modules.BaseName(path), why)
		if m.Unchecked {
			reason = reason.And(message.Textf("that file did not say which build it belongs to, and was taken for this one when it was attached"))
		}
		if err := m.Check(); err != nil {
			reason = reason.And(message.Textf("some of it is damaged, so names are missing: %v", plainError(err)))
		}
		s.offer(rank, &candidate{table: &carried{table, file}, path: path, match: match, image: own, reason: reason})
		return
	}
	file.Close()
}

// tellsApart reports whether an identity equals the module's and is one that no other module of the program has: two that
// were linked in one second may have time stamp and size in common, and of those the name decides.
func (s *search) tellsApart(id modules.Identity) bool {
	strong := !s.expected.PDB.IsZero() && !id.PDB.IsZero() || s.expected.BuildID != "" && id.BuildID != ""
	return strong && s.expected.Compare(id) == modules.Same
}

// openCarried opens the container that a file carries. It is nil where there is none.
func (s *search) openCarried(path string) (*symbols.File, *attached.Container) {
	file, err := s.open(path)
	if err != nil {
		return nil, nil
	}
	c, err := attached.Find(file, file.Size)
	if err != nil {
		file.Close()
		if !errors.Is(err, attached.ErrNone) && !errors.Is(err, attached.ErrNotCarrier) {
			s.note(path, "the symbols attached to it: %v", plainError(err))
		}
		return nil, nil
	}
	return file, c
}

// carried is a table whose file is closed with it.
type carried struct {
	*attached.Table
	file *symbols.File
}

func (c *carried) Close() error { return c.file.Close() }

// A carrierFile is an image that carries symbols.
type carrierFile struct {
	path     string
	verified bool
}

// carriers returns the images of the program's modules that carry symbols.
func (s *search) carriers() []carrierFile {
	s.carriersOnce.Do(func() {
		seen := make(map[string]bool)
		for _, mod := range s.Program {
			if s.ctx.Err() != nil || seen[mod.Path] {
				continue
			}
			seen[mod.Path] = true
			other := &search{Finder: s.Finder, ctx: s.ctx, module: mod, expected: mod.Identity, seen: make(map[string]bool)}
			other.findImages()
			for _, img := range []*image.Image{other.verified, other.unknown} {
				if img == nil {
					continue
				}
				if file, c := s.openCarried(other.pathOf(img)); c != nil {
					file.Close()
					s.carrierFiles = append(s.carrierFiles, carrierFile{other.pathOf(img), img == other.verified})
				}
			}
		}
	})
	return s.carrierFiles
}
