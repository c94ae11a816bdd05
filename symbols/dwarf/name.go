package dwarf

import (
	std "debug/dwarf"
	"sort"
	"strings"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/demangle"
)

// An entry is what naming needs of an entry of .debug_info.
type entry struct {
	u   *unit
	die int64
	tag std.Tag
	// name is left out where there is a linkage name that says it all.
	name, linkage string
	// demangled is what the linkage name stands for, if that was known before:
	// then neither name is read.
	demangled *funcName
	key       nameKey
	// next is the entry that completes this one: the abstract origin, the
	// declaration that a definition refers to, or the namespace that an
	// extension extends. It is 0 where there is none.
	next     int64
	nextUnit *unit
	external bool
}

const (
	// maxChain bounds the entries that one refers to in turn, maxScopes the
	// scopes around one, maxName the text made of their names, in bytes.
	maxChain  = 8
	maxScopes = 64
	maxName   = 8 << 10
)

// entryAt reads the entry at an offset of .debug_info.
func (l *lookup) entryAt(u *unit, die int64) (entry, error) {
	e := entry{u: u, die: die}
	t := l.t
	info, err := u.src.section("info")
	if err != nil {
		return e, err
	}
	table, err := l.table(u)
	if err != nil {
		return e, err
	}
	for n := int64(128); ; n *= 16 {
		var data []byte
		if l.bodyOf == u && die >= u.die && die < u.end {
			data = l.body[die-u.die:]
			n = int64(len(data)) + 1
		} else if data, err = info.ReadInto(&l.entry, die, min(n, u.end-die)); err != nil {
			return e, u.src.errorf(".debug_info: %w", err)
		}
		b := &buf{b: data, big: u.src.big}
		err = e.read(b, table, t)
		if !b.failed {
			if err != nil {
				err = u.src.errorf(".debug_info: entry at offset %#x: %w", die, err)
			}
			return e, err
		}
		if int64(len(data)) < n || n > maxRootEntry {
			return e, u.src.errorf(".debug_info: entry at offset %#x: %w", die, errTruncated)
		}
	}
}

func (e *entry) read(b *buf, table *abbrevTable, t *Table) error {
	code := b.uleb()
	if b.failed {
		return nil
	}
	a := table.get(code)
	if a == nil {
		return message.Errorf("no abbreviation %d", code)
	}
	e.tag = a.tag
	var name, linkage, origin, specification value
	for i := range a.attrs {
		s := &a.attrs[i]
		var v *value
		switch std.Attr(s.attr) {
		case std.AttrName:
			v = &name
		case std.AttrLinkageName, attrMIPSLinkage:
			v = &linkage
		case std.AttrAbstractOrigin:
			v = &origin
		case std.AttrSpecification, std.AttrExtension:
			v = &specification
		case std.AttrExternal:
			e.external = s.form == formFlagPresent || s.form == formFlag && b.pos < len(b.b) && b.b[b.pos] != 0
			fallthrough
		default:
			if s.size >= 0 {
				b.skip(uint64(s.size))
			} else {
				skipForm(b, e.u.encoding, s.form)
			}
			continue
		}
		implicit := int64(0)
		if s.form == formImplicitConst {
			implicit = table.implicit[s.implicit]
		}
		*v = read(b, e.u.encoding, s.form, implicit)
	}
	if b.failed {
		return nil
	}
	var err error
	if linkage.present() {
		if linkage.form == formStrp && e.u.src == t.src {
			e.key.offset = linkage.u
			if e.demangled = t.names.get(e.key); e.demangled != nil {
				return nil
			}
		}
		if e.linkage, err = t.text(e.u, linkage, b.b); err != nil {
			return err
		}
	}
	if name.present() && !mangled(e.linkage) {
		if e.name, err = t.text(e.u, name, b.b); err != nil {
			return err
		}
	}
	if !origin.present() {
		origin = specification
	}
	if origin.present() {
		e.nextUnit, e.next = t.target(e.u, origin)
	}
	return nil
}

// text returns a string value, which may lie in the alternate file.
func (t *Table) text(u *unit, v value, data []byte) (string, error) {
	if v.form == formGNUStrpAlt || v.form == formStrpSup {
		alt, err := t.alternate(u.src)
		if err != nil {
			return "", nil
		}
		section, err := alt.section("str")
		if err != nil {
			return "", nil
		}
		return section.String(int64(v.u))
	}
	return u.string(v, data)
}

// target returns the unit and the offset of what a reference refers to, or nil
// where that is not to be had.
func (t *Table) target(u *unit, v value) (*unit, int64) {
	if inAlternate(v) {
		return t.resolve(u, ^int64(v.u))
	}
	off, ok := u.reference(v)
	if !ok {
		return nil, 0
	}
	return t.resolve(u, off)
}

// inAlternate reports whether a reference is to the alternate file.
func inAlternate(v value) bool {
	switch v.form {
	case formGNURefAlt, formRefSup4, formRefSup8:
		return int64(v.u) >= 0
	}
	return false
}

// resolve returns the unit and the offset of an entry, given as its offset in
// the source of u, or the complement of its offset in the alternate file.
func (t *Table) resolve(u *unit, off int64) (*unit, int64) {
	if off < 0 {
		alt, err := t.alternate(u.src)
		if err != nil {
			return nil, 0
		}
		if to := alt.unitAt(^off); to != nil {
			return to, ^off
		}
		return nil, 0
	}
	if off >= u.die && off < u.end {
		return u, off
	}
	if to := u.src.unitAt(off); to != nil {
		return to, off
	}
	return nil, 0
}

// A funcName is a function's name in both forms, see symbols.Frame.
type funcName struct {
	function, signature string
	// plain says that the name is made of the names of scopes, because the
	// compiler wrote no linkage name.
	plain     bool
	printable bool        // see symbols.Symbol
	charged   atomic.Bool // see Table.charge
}

func newName(function, signature string, plain bool) *funcName {
	n := &funcName{function: function, signature: signature, plain: plain}
	n.look()
	return n
}

// look tells whether the name is printable.
func (n *funcName) look() { n.printable = printable(n.function) && printable(n.signature) }

// printable reports whether a text consists of printable ASCII.
func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f {
			return false
		}
	}
	return true
}

// unnamed is the name of a function that has none in the debug information.
const unnamed = "<unnamed function>"

// unnamedClass is the name of a class that has none.
const unnamedClass = "{unnamed class}"

// nameOf names the function of an entry: a subprogram, or an inlined
// call, which its abstract origin names.
//
// The linkage name is the best source where there is one, because it has the
// parameters and always the same form. GCC writes none for functions that are
// not visible outside of their file, and C has none: these get the name in the
// entry with the scopes around the declaration in front.
func (l *lookup) nameOf(u *unit, die int64, depth int) (*funcName, error) {
	var name, linkage string
	// The last entry that has the name is the declaration, if there is one:
	// it lies in the scopes that count.
	var at *unit
	var where int64
	for range maxChain {
		e, err := l.entryAt(u, die)
		if err != nil {
			return nil, err
		}
		if e.demangled != nil {
			return e.demangled, nil
		}
		if mangled(e.linkage) {
			if e.key == (nameKey{}) {
				e.key.text = e.linkage
			}
			if n := l.t.demangled(e.linkage, e.key); n != nil {
				return n, nil
			}
		}
		if e.linkage != "" {
			linkage = e.linkage
		}
		if e.name != "" {
			name, at, where = e.name, u, die
		}
		if e.nextUnit == nil {
			break
		}
		u, die = e.nextUnit, e.next
	}
	switch {
	case name == "" && linkage != "":
		return newName(linkage, "", false), nil
	case name == "":
		return newName(unnamed, "", true), nil
	}
	name = lambda(name)
	prefix := l.scopePath(at, where, depth)
	if scope, ok := strings.CutSuffix(prefix, unnamedClass+"::"); ok && name == "operator()" {
		// GCC gives a lambda's class no name.
		prefix = scope + "{lambda}::"
	}
	if len(prefix)+len(name) <= maxName {
		name = prefix + name
	}
	return newName(name, "", true), nil
}

// mangled reports whether a linkage name may be one of a scheme that demangle
// knows; others, of C functions, say no more than the name does.
func mangled(linkage string) bool {
	return len(linkage) > 2 && (linkage[0] == '?' || linkage[0] == '_' && (linkage[1] == 'Z' || linkage[1] == 'R' || linkage[1] == '_'))
}

// demangled returns the two forms of a linkage name, or nil where the scheme
// is not known and the name in the entry is as good.
func (t *Table) demangled(linkage string, key nameKey) *funcName {
	if key.text != "" {
		if n := t.names.get(key); n != nil {
			return n
		}
	}
	short, full := demangle.Forms(linkage)
	// MinGW writes __dyn_tls_init@12, without the underscore that the
	// assembler adds to it and that cutting the decoration would take.
	if short == linkage || short == demangle.CName(linkage, false) {
		return nil
	}
	n := newName(short, full, false)
	t.names.put(key, n)
	return n
}

// scopePath returns the names of the scopes around an entry, each with "::"
// behind it. A function's name has its own scopes already.
func (l *lookup) scopePath(u *unit, die int64, depth int) string {
	if depth > maxChain {
		return ""
	}
	tree, err := l.lastTree, l.treeErr
	if l.treeOf != u {
		tree, err = l.t.tree(u)
	}
	if tree == nil || err != nil && len(tree.scopes) == 0 {
		return ""
	}
	var names []string
	length := 0
	at := tree.around(die)
	for n := 0; at != none && n < maxScopes && length < maxName; n++ {
		s := tree.scopes[at]
		at = s.parent
		e, err := l.entryAt(u, s.off)
		if err != nil {
			break
		}
		if e.tag == std.TagSubprogram {
			if f, err := l.nameOf(u, s.off, depth+1); err == nil {
				names = append(names, f.function)
			}
			break
		}
		name := l.scopeName(e)
		names = append(names, name)
		length += len(name)
	}
	var b strings.Builder
	for i := len(names) - 1; i >= 0; i-- {
		b.WriteString(names[i])
		b.WriteString("::")
	}
	return b.String()
}

// around returns the innermost scope around an offset, or none.
func (t *tree) around(off int64) int32 {
	i := int32(sort.Search(len(t.scopes), func(i int) bool { return t.scopes[i].off >= off })) - 1
	for i != none && t.scopes[i].end <= off {
		i = t.scopes[i].parent
	}
	return i
}

// scopeName names a namespace or a class.
func (l *lookup) scopeName(e entry) string {
	for n := 0; e.name == "" && e.nextUnit != nil && n < maxChain; n++ {
		next, err := l.entryAt(e.nextUnit, e.next)
		if err != nil {
			break
		}
		e = next
	}
	switch {
	case e.name != "":
		return lambda(e.name)
	case e.tag == std.TagNamespace:
		return "(anonymous namespace)"
	case e.tag == std.TagUnionType:
		return "{unnamed union}"
	}
	return unnamedClass
}

// lambda writes GCC's name of a lambda's class, "<lambda(int)>", as demanglers
// do; GCC does not write which of several in a function it is.
func lambda(name string) string {
	if inner, ok := strings.CutPrefix(name, "<lambda("); ok && strings.HasSuffix(inner, ")>") {
		return "{lambda(" + inner[:len(inner)-1] + "}"
	}
	return name
}
