package app

import (
	"maps"
	"slices"

	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/breakpad"
	"logparser/symbols/unwind"
)

// What is packed or kept of a crash besides names: the unwind rules of the modules that are on stacks, and the pieces of
// their code that the walk looked at.

// A readCode is code that takes down what is read of it.
type readCode struct {
	unwind.Code
	pieces map[uint64][]byte
}

// maxPieces bounds the pieces that are taken down of a module.
const maxPieces = 1 << 13

// Read implements [unwind.Code].
func (r *readCode) Read(rva uint64, n int64) ([]byte, error) {
	b, err := r.Code.Read(rva, n)
	if err == nil && (len(r.pieces) < maxPieces || r.pieces[rva] != nil) && len(b) > len(r.pieces[rva]) {
		r.pieces[rva] = slices.Clone(b)
	}
	return b, err
}

// take returns what was read, by rising RVA.
func (r *readCode) take() (list []attached.CodePiece) {
	for _, rva := range slices.Sorted(maps.Keys(r.pieces)) {
		list = append(list, attached.CodePiece{RVA: rva, Bytes: r.pieces[rva]})
	}
	return list
}

// unwindOf returns the code and the rules of a module whose image was found, or of which they were kept.
func (c *Crash) unwindOf(m *crashModule, mod *modules.Module) unwind.Module {
	u := unwind.Module{Base: mod.Base, Size: mod.Size}
	if m.image != nil {
		u.Code, u.Rules = unwind.CodeOf(m.image), unwind.RulesOf(m.image)
	} else if m.kept = c.finder.Unwind(mod, &m.binding); m.kept != nil {
		u.Code, u.Rules = m.kept, []unwind.Rules{m.kept.Rules()}
	}
	if c.takesDown && u.Code != nil {
		m.read = &readCode{u.Code, make(map[uint64][]byte)}
		u.Code = m.read
	}
	return u
}

// breakpadFile returns the symbol file of Breakpad's that a module's symbols come from, nil for others.
func breakpadFile(b *symbols.Binding) *symbols.File {
	if t, ok := symbols.As[*breakpad.Table](b.Table); ok && b.Status != symbols.Mismatched {
		return t.File()
	}
	return nil
}

// section returns the section of a module that an RVA lies in, by its number and the RVA that it begins at.
func (m *crashModule) section(rva uint64) (index int, start uint64, ok bool) {
	if m.image != nil {
		if s := m.image.SectionAt(m.image.Base + rva); s != nil {
			return s.Index, s.Addr - m.image.Base, true
		}
	} else if m.kept != nil {
		return m.kept.Section(rva)
	}
	return 0, 0, false
}

// addCrash adds what a crash that the log recorded needs to be shown without the images: the RVAs of the frames on
// stacks to found, by module, and the unwind rules of their modules. Modules that the log does not list but that lay in
// memory are returned. The process stays open until the packer is closed.
func (w *packer) addCrash(found map[moduleKey][]uint64) (unlisted []packSource, err error) {
	if w.s.dump != nil || len(w.s.Crashes()) == 0 || len(w.s.processes) > 1 {
		return nil, nil
	}
	c, err := w.s.openCrash(w.ctx, true)
	if err != nil {
		return nil, err
	}
	w.crash = c
	const run, most = 0, 1 << 12 // the run of a trace, the only one; frames of a thread
	m := w.s.runs()[run].modules
	rvas := make(map[int][]uint64)
	for thread := range c.Threads {
		frames, _, _, err := c.Stack(thread, most)
		if err != nil {
			return nil, err
		}
		for i := range frames {
			if f := &frames[i]; f.Module >= 0 {
				rvas[f.Module] = append(rvas[f.Module], f.Lookup()-c.Modules[f.Module].Base)
			}
		}
		if c.Threads[thread].Crashed {
			c.Code(thread, codeBefore, codeBehind)
		}
	}
	for i := range c.Modules {
		mod := &c.Modules[i]
		listed := false
		for k := range m.Len() {
			if at := m.At(k); at.Base == mod.Base && at.Path == mod.Path {
				listed = true
				found[moduleKey{run, k}] = append(found[moduleKey{run, k}], rvas[i]...)
			}
		}
		if !listed && len(rvas[i]) > 0 {
			unlisted = append(unlisted, packSource{mod, c.modules[i].binding, rvas[i]})
		}
		if err := w.addUnwind(c, i); err != nil {
			return nil, err
		}
	}
	return unlisted, nil
}

// addUnwind takes the unwind rules of a module that the walk over the stacks has asked for.
func (w *packer) addUnwind(c *Crash, i int) error {
	mod, m := &c.Modules[i], &c.modules[i]
	var parts []func(owner uint32) []attached.Part
	switch {
	case m.image != nil:
		var pieces []attached.CodePiece
		if m.read != nil {
			pieces = m.read.take()
		}
		e, err := attached.EncodeUnwind(w.ctx, m.image, pieces)
		if err != nil {
			return err
		}
		if e != nil {
			parts = append(parts, e.Parts)
		}
	case m.kept != nil:
		parts = append(parts, m.kept.Parts)
	}
	switch {
	case m.keptStack != nil:
		parts = append(parts, m.keptStack.Parts)
	case m.records != nil:
		e, err := attached.EncodeStack(w.ctx, m.records)
		if err != nil {
			return err
		}
		if e != nil {
			parts = append(parts, e.Parts)
		}
	}
	if len(parts) > 0 {
		w.unwind[imageOf(mod)] = func(owner uint32) (list []attached.Part) {
			for _, p := range parts {
				list = append(list, p(owner)...)
			}
			return list
		}
	}
	return nil
}
