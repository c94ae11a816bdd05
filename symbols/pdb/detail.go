package pdb

import (
	"fmt"
	"slices"
	"strings"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// detail is a decoded entry of a module: what a look-up needs and nothing
// more. It is never changed once made.
type detail struct {
	// err is set if the entry is damaged; then there is nothing else.
	err error

	name, signature string
	// rows are the lines of the procedure itself: for inlined code, of the
	// call.
	rows  []row
	sites []site
	// spans give the innermost inline site at an offset.
	spans []span
	// files are the paths that rows refer to, by number.
	files []string
}

func (d *detail) bytes() int64 {
	n := len(d.name) + len(d.signature) + len(d.rows)*12 + len(d.spans)*24 + len(d.files)*16 + 200
	for i := range d.sites {
		s := &d.sites[i]
		n += len(s.name) + len(s.signature) + len(s.rows)*12 + 72
	}
	return int64(n)
}

// detail returns the decoded form of an entry of a module.
func (t *Table) detail(x *moduleIndex, i int) (*detail, error) {
	d := x.details[i].Load()
	if d == nil {
		var err error
		if d, err = t.decode(x, i); err != nil {
			d = &detail{err: message.Errorf("pdb: module %d: %w", x.number, err)}
		}
		if x.details[i].CompareAndSwap(nil, d) {
			t.grow(x, d.bytes())
		}
	}
	return d, d.err
}

// decode reads all there is about an entry.
func (t *Table) decode(x *moduleIndex, i int) (*detail, error) {
	w := t.window()
	defer t.release(w)
	e := &x.entries[i]
	c, err := t.codeAt(w, x.number, e.record)
	if err != nil {
		return nil, err
	}
	d := &detail{}
	if d.name, d.signature, err = t.name(w, x, c); err != nil {
		return nil, err
	}
	switch c.kind {
	case kindIncremental, kindIsland:
		return d, nil
	case kindProcedure, kindSeparated:
		if d.sites, d.spans, err = t.sites(w, x, c); err != nil {
			return nil, err
		}
	}
	// The first of several at one start is rank 0, and so on.
	rank := 0
	for rank < i && x.entries[i-rank-1].addr() == e.addr() {
		rank++
	}
	if d.rows, err = x.c13.rows(w, e, rank); err != nil {
		return nil, err
	}
	numbers := map[uint32]uint32{}
	if err := t.numberFiles(d, x.c13, numbers, d.rows); err != nil {
		return nil, err
	}
	for i := range d.sites {
		if err := t.numberFiles(d, x.c13, numbers, d.sites[i].rows); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// numberFiles replaces the rows' references to files by numbers of paths.
func (t *Table) numberFiles(d *detail, c *c13, numbers map[uint32]uint32, rows []row) error {
	last, number := uint32(noFile), uint32(noFile)
	for i := range rows {
		if ref := rows[i].file; ref != last {
			var ok bool
			if number, ok = numbers[ref]; !ok {
				path, err := t.path(c, ref)
				if err != nil {
					return err
				}
				number = uint32(len(d.files))
				d.files = append(d.files, path)
				numbers[ref] = number
			}
			last = ref
		}
		rows[i].file = number
	}
	return nil
}

// codeAt reads one code record of a module. Its name is valid until the
// window moves.
func (t *Table) codeAt(w *msf.Window, number int, pos uint32) (*code, error) {
	if err := t.resetSymbols(w, &t.modules[number]); err != nil {
		return nil, err
	}
	w.Hint(int64(pos), recordHint)
	b, _, err := record(w, int64(pos))
	if err != nil {
		return nil, err
	}
	c := parseCode(b, pos)
	if c.kind == kindNone {
		return nil, message.Errorf("%w: stream %d: no procedure at %d", ErrDamaged, w.Stream().Number(), pos)
	}
	return &c, nil
}

// recordHint is how much is read at first where one record is wanted, in
// bytes.
const recordHint = 1 << 10

// name returns what a piece of code is called.
func (t *Table) name(w *msf.Window, x *moduleIndex, c *code) (name, signature string, err error) {
	switch c.kind {
	case kindIncremental, kindIsland:
		return t.targetName(c.target, 0)
	case kindSeparated:
		// The procedure that it was cut out of may lie in this module only.
		i := x.find(c.target)
		if i < 0 || x.entries[i].kind == kindSeparated {
			return "", "", message.Errorf("%w: module %d: separated code at %d belongs to no procedure", ErrDamaged, x.number, c.record)
		}
		parent, err := t.codeAt(w, x.number, x.entries[i].record)
		if err != nil {
			return "", "", err
		}
		// The sites are read from the record that was given.
		return t.name(w, x, parent)
	}
	name = string(c.name)
	// Clang records thunks and its own helpers by their linkage names.
	if strings.HasPrefix(name, "?") || strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "__Z") {
		name, signature = t.publics.plain(name)
		return name, signature, nil
	}
	if t.decorated(name, c.addr) {
		name, signature = t.publics.plain(name)
		return name, signature, nil
	}
	name = normalise(name)
	switch {
	case c.kind != kindProcedure:
	case c.typIsID:
		signature = t.typeNames.signature(name, t.typeNames.idType(c.typ))
	default:
		signature = t.typeNames.signature(name, c.typ)
	}
	return name, signature, nil
}

// decorated reports whether a procedure's name is that of the object file and
// not of the source. Compilers record the source's, assemblers what they were
// given. On 32-bit x86, where the two differ for C too, the linker's public of
// the same place tells them apart. Damage among the publics does not keep the
// procedure from having a name.
func (t *Table) decorated(name string, addr address) bool {
	if t.dbi.machine != machineX86 || name == "" || name[0] != '_' && name[0] != '@' {
		return false
	}
	list, err := t.publics.last(addr)
	if err != nil {
		return false
	}
	for _, p := range list {
		if p.addr != addr {
			break
		}
		if public, err := t.publics.decorated(p.record); err == nil && public == name {
			return true
		}
	}
	return false
}

// maxHops bounds how many trampolines lead from one to the next.
const maxHops = 4

// targetName returns the name of the procedure that a trampoline leads to.
func (t *Table) targetName(target address, hops int) (name, signature string, err error) {
	unknown := message.Errorf("trampoline to %d:%#x: %w", target.section(), target.offset(), errNoName)
	if hops > maxHops {
		return "", "", message.Errorf("%w: trampolines lead to trampolines", ErrDamaged)
	}
	if con := t.contributions.find(target); con != nil && int(con.module) < len(t.modules) {
		x, err := t.module(int(con.module))
		if err != nil {
			return "", "", err
		}
		if i := x.find(target); i >= 0 && x.entries[i].addr() == target {
			w := t.window()
			defer t.release(w)
			c, err := t.codeAt(w, x.number, x.entries[i].record)
			if err != nil {
				return "", "", err
			}
			if c.kind == kindIncremental || c.kind == kindIsland {
				return t.targetName(c.target, hops+1)
			}
			return t.name(w, x, c)
		}
	}
	p, err := t.publics.find(target)
	if err != nil {
		return "", "", err
	}
	if p == nil || p.addr != target {
		return "", "", unknown
	}
	return p.name, p.signature, nil
}

// maxSiteDepth bounds how deep inlined calls nest, maxInlined how many lines
// and ranges are inlined into one procedure.
const (
	maxSiteDepth = 1000
	maxInlined   = 1 << 17
)

// sites reads the inline sites of a procedure, or of a separated part of one.
func (t *Table) sites(w *msf.Window, x *moduleIndex, c *code) ([]site, []span, error) {
	if err := t.resetSymbols(w, &t.modules[x.number]); err != nil {
		return nil, nil, err
	}
	w.Hint(int64(c.record), int64(c.end)-int64(c.record)+4)
	_, pos, err := record(w, int64(c.record))
	if err != nil {
		return nil, nil, err
	}
	var sites []site
	var ranges []ranked
	rows := 0
	// scopes holds what is open: the number of a site, or that of the scope
	// around it for anything else.
	scopes := []int32{-1}
	for len(scopes) > 0 && pos < w.End() {
		b, next, err := record(w, pos)
		if err != nil {
			return nil, nil, err
		}
		top := scopes[len(scopes)-1]
		switch k := le.Uint16(b[2:]); k {
		case sBlock32, sWith32, sThunk32, sSepCode,
			sGProc32, sLProc32, sGProc32ID, sLProc32ID, sLProc32DPC, sLProc32DPCID, sGManProc, sLManProc:
			if len(scopes) > maxSiteDepth {
				return nil, nil, message.Errorf("%w: stream %d: scopes nest deeper than %d at %d",
					ErrDamaged, w.Stream().Number(), maxSiteDepth, pos)
			}
			scopes = append(scopes, top)
		case sEnd, sProcIDEnd, sInlineSiteEnd:
			scopes = scopes[:len(scopes)-1]
		case sInlineSite, sInlineSite2:
			header := 16
			if k == sInlineSite2 {
				header = 20
			}
			if len(b) < header {
				return nil, nil, message.Errorf("%w: stream %d: inline site of %d bytes at %d",
					ErrDamaged, w.Stream().Number(), len(b), pos)
			}
			s := site{parent: top, id: le.Uint32(b[12:])}
			if top >= 0 {
				s.depth = sites[top].depth + 1
			}
			if s.depth > maxSiteDepth {
				return nil, nil, message.Errorf("%w: stream %d: calls are inlined deeper than %d at %d",
					ErrDamaged, w.Stream().Number(), maxSiteDepth, pos)
			}
			body, ok := x.c13.inlinee(s.id)
			if !ok {
				body.file = noFile
			}
			var pieces []piece
			s.rows, pieces = annotations(b[header:], body, c.size)
			if !ok {
				// Without the body's first line its other lines are unknown.
				s.rows = nil
			}
			if body.line == 0 {
				for i := range s.rows {
					s.rows[i].line = 0
				}
			}
			if rows += len(s.rows) + len(pieces) + 1; rows > maxInlined {
				return nil, nil, message.Errorf("%w: stream %d: more than %d lines inlined into the procedure at %d",
					ErrDamaged, w.Stream().Number(), maxInlined, c.record)
			}
			number := int32(len(sites))
			for _, p := range pieces {
				ranges = append(ranges, ranked{span{uint64(p.start), uint64(p.end), number}, uint64(s.depth)})
			}
			sites = append(sites, s)
			scopes = append(scopes, number)
		}
		pos = next
	}
	if len(sites) == 0 {
		return nil, nil, nil
	}
	for i := range sites {
		if err := t.nameSite(x, &sites[i]); err != nil {
			return nil, nil, err
		}
	}
	return slices.Clip(sites), flatten(ranges), nil
}

// nameSite finds the name of an inlined function. Where the file does not
// give one, the frame says so: the caller's name would be wrong.
func (t *Table) nameSite(x *moduleIndex, s *site) error {
	id, err := t.resolveID(x.c13, s.id)
	if err == nil {
		s.name, s.signature, err = t.typeNames.function(id)
	}
	if err != nil || s.name == "" {
		s.name = fmt.Sprintf("(inlined function %#x)", s.id)
	}
	return nil
}
