package pdb

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/demangle"
	"logparser/symbols/pdb/msf"
)

const (
	publicsHeaderSize = 28

	publicCode     = 1 << 0
	publicFunction = 1 << 1
	// publicIL says that the function is managed code, which does not run
	// where it lies.
	publicIL = 1 << 3

	// publicGroup is how many publics are read together.
	publicGroup = 64
)

// publics are the linker's public symbols: names and addresses without
// lengths. They are kept in groups by address, read when an address first
// falls into a group.
type publics struct {
	records *msf.Stream
	x86     bool
	// order is the part of the publics stream that lists the records' offsets
	// by address.
	order  part
	stream *msf.Stream

	once   sync.Once
	err    error
	starts []address // of the groups
	groups []atomic.Pointer[[]public]
	// all is used instead of the groups if the order is not one.
	all []public
}

// public is a public symbol.
type public struct {
	addr   address
	record uint32
	code   bool
}

// namedPublic is what is called by a public, or by several at one address.
type namedPublic struct {
	addr            address
	name, signature string
	aliases         []string
}

func openPublics(f *msf.File, d *dbi) (*publics, error) {
	p := &publics{x86: d.machine == machineX86}
	if d.publicStream == noStream || d.recordStream == noStream {
		return p, nil
	}
	s, err := f.Stream(int(d.publicStream))
	if err != nil {
		return nil, message.Errorf("pdb: publics: %w", err)
	}
	if s.Size() == 0 {
		return p, nil
	}
	h, err := s.Read(0, min(s.Size(), publicsHeaderSize))
	if err != nil {
		return nil, message.Errorf("pdb: publics: %w", err)
	}
	if len(h) < publicsHeaderSize {
		return nil, message.Errorf("pdb: %w: publics stream has %d bytes", ErrDamaged, len(h))
	}
	off, size := publicsHeaderSize+int64(le.Uint32(h)), int64(le.Uint32(h[4:]))
	if off > s.Size() || size > s.Size()-off {
		return nil, message.Errorf("pdb: %w: publics stream: order of %d bytes at %d of %d", ErrDamaged, size, off, s.Size())
	}
	if p.records, err = f.Stream(int(d.recordStream)); err != nil {
		return nil, message.Errorf("pdb: public records: %w", err)
	}
	p.stream, p.order = s, part{off, size &^ 3}
	return p, nil
}

// count is the number of publics in the order.
func (p *publics) count() int { return int(p.order.size / 4) }

// read reads the head of a public's record.
func (p *publics) read(record uint32) (public, error) {
	var b [14]byte
	if _, err := p.records.ReadAt(b[:], int64(record)); err != nil {
		return public{}, message.Errorf("pdb: public at %d: %w", record, err)
	}
	flags := le.Uint32(b[4:])
	switch k := le.Uint16(b[2:]); k {
	case sPub32:
	case sPub32ST:
		// The old form has a type where the flags are: it says nothing.
		flags = publicFunction
	default:
		return public{}, message.Errorf("pdb: %w: no public at %d of stream %d", ErrDamaged, record, p.records.Number())
	}
	return public{
		addr:   at(le.Uint16(b[12:]), le.Uint32(b[8:])),
		record: record,
		code:   flags&(publicCode|publicFunction) != 0 && flags&publicIL == 0,
	}, nil
}

// readGroup reads the publics of a group, in the order of the file.
func (p *publics) readGroup(i int) ([]public, error) {
	first := i * publicGroup
	n := min(publicGroup, p.count()-first)
	b, err := p.stream.Read(p.order.off+int64(first)*4, int64(n)*4)
	if err != nil {
		return nil, message.Errorf("pdb: publics: %w", err)
	}
	list := make([]public, n)
	for j := range list {
		if list[j], err = p.read(le.Uint32(b[j*4:])); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// index reads where each group starts and ends. If they are in no order, all
// publics are read and sorted.
func (p *publics) index() {
	groups := (p.count() + publicGroup - 1) / publicGroup
	p.starts = make([]address, groups)
	var before address
	for i := range p.starts {
		first := i * publicGroup
		last := min(first+publicGroup, p.count()) - 1
		for _, n := range []int{first, last} {
			var b [4]byte
			if _, p.err = p.stream.ReadAt(b[:], p.order.off+int64(n)*4); p.err != nil {
				return
			}
			var s public
			if s, p.err = p.read(le.Uint32(b[:])); p.err != nil {
				return
			}
			if s.addr < before {
				p.sortAll()
				return
			}
			before = s.addr
			if n == first {
				p.starts[i] = s.addr
			}
		}
	}
	p.groups = make([]atomic.Pointer[[]public], groups)
}

func (p *publics) sortAll() {
	p.starts = nil
	p.all = make([]public, 0, p.count())
	n := (p.count() + publicGroup - 1) / publicGroup
	for i := range n {
		list, err := p.readGroup(i)
		if err != nil {
			p.err = err
			return
		}
		p.all = append(p.all, list...)
	}
	slices.SortStableFunc(p.all, func(a, b public) int { return cmp.Compare(a.addr, b.addr) })
}

// group returns group i by address, or nil if there is none.
func (p *publics) group(i int) ([]public, error) {
	if p.groups == nil {
		first := i * publicGroup
		if i < 0 || first >= len(p.all) {
			return nil, nil
		}
		return p.all[first:min(first+publicGroup, len(p.all))], nil
	}
	if i < 0 || i >= len(p.groups) {
		return nil, nil
	}
	if g := p.groups[i].Load(); g != nil {
		return *g, nil
	}
	list, err := p.readGroup(i)
	if err != nil {
		return nil, err
	}
	if !slices.IsSortedFunc(list, func(a, b public) int { return cmp.Compare(a.addr, b.addr) }) {
		slices.SortStableFunc(list, func(a, b public) int { return cmp.Compare(a.addr, b.addr) })
	}
	p.groups[i].Store(&list)
	return list, nil
}

// last returns the publics at the greatest address that is not above the
// given one, none if there is no such address.
func (p *publics) last(a address) ([]public, error) {
	if p.records == nil {
		return nil, nil
	}
	p.once.Do(p.index)
	if p.err != nil {
		return nil, p.err
	}
	var i int
	if p.groups != nil {
		i = sort.Search(len(p.starts), func(i int) bool { return p.starts[i] > a }) - 1
	} else {
		n := sort.Search(len(p.all), func(i int) bool { return p.all[i].addr > a })
		i = (n - 1) / publicGroup
		if n == 0 {
			return nil, nil
		}
	}
	g, err := p.group(i)
	if err != nil {
		return nil, err
	}
	n := sort.Search(len(g), func(i int) bool { return g[i].addr > a })
	if n == 0 {
		return nil, nil
	}
	found := g[n-1].addr
	from := n - 1
	for from > 0 && g[from-1].addr == found {
		from--
	}
	list := g[from:n]
	// The ones before may lie in the group before.
	for from == 0 && i > 0 {
		i--
		if g, err = p.group(i); err != nil {
			return nil, err
		}
		from = len(g)
		for from > 0 && g[from-1].addr == found {
			from--
		}
		if from == len(g) {
			break
		}
		list = append(slices.Clone(g[from:]), list...)
		if len(list) > maxAliases {
			break
		}
	}
	return list, nil
}

// maxAliases bounds how many names are given for one address.
const maxAliases = 1 << 10

// find returns the code public at the greatest address that is not above the
// given one. It is nil if what lies there is not code: beyond a string or a
// table no function goes on.
func (p *publics) find(a address) (*namedPublic, error) {
	list, err := p.last(a)
	if err != nil {
		return nil, err
	}
	var found *namedPublic
	for _, s := range list {
		if !s.code {
			continue
		}
		decorated, err := p.decorated(s.record)
		if err != nil {
			return nil, err
		}
		if isData(decorated) {
			continue
		}
		name, signature := p.plain(decorated)
		switch {
		case found == nil:
			found = &namedPublic{addr: s.addr, name: name, signature: signature}
		case name != found.name && !slices.Contains(found.aliases, name) && len(found.aliases) < maxAliases:
			found.aliases = append(found.aliases, name)
		}
	}
	return found, nil
}

// isData reports whether a decorated name is of something that is never a
// function, whatever its flags say: strings, tables of virtual functions and
// bases, type descriptions, constants, and import pointers.
func isData(decorated string) bool {
	for _, prefix := range [...]string{"??_C@", "??_7", "??_8", "??_R", "__real@", "__xmm@", "__ymm@", "__imp_"} {
		if strings.HasPrefix(decorated, prefix) {
			return true
		}
	}
	return false
}

// decorated returns the name of a public as the linker has it.
func (p *publics) decorated(record uint32) (string, error) {
	var h [4]byte
	if _, err := p.records.ReadAt(h[:], int64(record)); err != nil {
		return "", message.Errorf("pdb: public at %d: %w", record, err)
	}
	n := int64(le.Uint16(h[:])) + 2
	if n <= 14 {
		return "", nil
	}
	b, err := p.records.Read(int64(record)+14, n-14)
	if err != nil {
		return "", message.Errorf("pdb: public at %d: %w", record, err)
	}
	if le.Uint16(h[2:]) == sPub32ST {
		return string(b[1:min(1+int(b[0]), len(b))]), nil
	}
	return cString(b), nil
}

// plain returns the name that a decorated name stands for, and its signature.
func (p *publics) plain(decorated string) (name, signature string) {
	name = demangle.Short(decorated)
	if name == decorated {
		return demangle.CName(name, p.x86), ""
	}
	return normalise(name), cutReturn(normalise(demangle.Full(decorated)), normalise(name))
}

// cutReturn cuts what stands around the name and its parameters off a
// demangled signature: access, return type and calling convention. It returns
// "" for a signature that says no more than the name.
func cutReturn(signature, name string) string {
	for i := 0; i < len(signature); i++ {
		n := strings.Index(signature[i:], name+"(")
		if n < 0 {
			break
		}
		if i += n; i > 0 && signature[i-1] != ' ' {
			continue
		}
		list, rest := signature[i+len(name):], ""
		depth := 0
		for j := range len(list) {
			switch list[j] {
			case '(':
				depth++
			case ')':
				depth--
			}
			if depth == 0 {
				list, rest = list[:j+1], list[j+1:]
				break
			}
		}
		if list == "(void)" {
			list = "()"
		}
		// Behind a function that returns a pointer to one stand the
		// parameters of that.
		if strings.HasPrefix(rest, ")") {
			rest = ""
		}
		return name + list + rest
	}
	if signature == name {
		return ""
	}
	return signature
}
