package pdb

import (
	"context"
	"math"
	"strings"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// A Procedure is a procedure of the program as its module describes it. It is what symbols/types/pdb starts from.
type Procedure struct {
	// RVA and Size are in bytes.
	RVA, Size uint64
	// Section and Offset are where it begins as records have it.
	Section uint16
	Offset  uint32
	// Name is as people read it, Signature the same with the types of its parameters, "" where these are not known.
	Name, Signature string
	// Local says that other modules cannot call it by its name.
	Local bool
	// Type is the index of its type, 0 where it has none.
	Type uint32
	// Flags are those of its record (CV_PROCFLAGS).
	Flags uint8
	// Language, Options and Compiler are what the module says of itself (S_COMPILE3): a number of CV_CFL_LANG, the rest
	// of the flags, and the compiler's name with its version.
	Language uint8
	Options  uint32
	Compiler string
}

// Symbol records that EachProcedure reads besides those of code.
const (
	sCompile2 = 0x1116
	sCompile3 = 0x113C
)

// EachProcedure calls begin with each procedure of native code; where that says so, own with the records that stand in the
// procedure itself, not in a block or an inlined call of it, and then end. What own is given, a record's kind and what
// stands behind it, is valid until it returns. A module that is damaged is left out from there on; its error is returned
// at the end. Procedures of images that were rearranged after linking are not where their modules say: there are none.
func (t *Table) EachProcedure(ctx context.Context, begin func(p *Procedure) bool, own func(kind uint16, body []byte), end func()) error {
	if t.layout.present() {
		return message.Errorf("pdb: rearranged after linking (OMAP): %w", ErrUnsupported)
	}
	var w msf.Window
	var damage error
	for i := range t.modules {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.eachOwn(ctx, &w, i, begin, own, end); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil && damage == nil {
			damage = message.Errorf("pdb: module %d: %w", i, err)
		}
	}
	return damage
}

// eachOwn is EachProcedure for one module.
func (t *Table) eachOwn(ctx context.Context, w *msf.Window, module int, begin func(p *Procedure) bool, own func(kind uint16, body []byte), end func()) error {
	if err := t.resetSymbols(w, &t.modules[module]); err != nil {
		return err
	}
	var of Procedure // what the module says of itself
	depth, wanted, seen := 0, false, 0
	for pos := w.Start(); pos < w.End(); {
		b, next, err := record(w, pos)
		if err != nil {
			return err
		}
		switch k := le.Uint16(b[2:]); k {
		case sGProc32, sLProc32, sGProc32ID, sLProc32ID, sLProc32DPC, sLProc32DPCID:
			if depth == 0 {
				const often = 256 // one module may have all procedures
				if seen++; seen%often == 0 && ctx.Err() != nil {
					return ctx.Err()
				}
				var p Procedure
				p, wanted = t.procedure(b, uint32(pos), &of)
				wanted = wanted && begin(&p)
			}
			depth++
		case sBlock32, sWith32, sThunk32, sSepCode, sInlineSite, sInlineSite2, sGManProc, sLManProc, sGProc32ST, sLProc32ST:
			depth++
		case sEnd, sProcIDEnd, sInlineSiteEnd:
			if depth = max(depth-1, 0); depth == 0 && wanted {
				wanted = false
				end()
			}
		case sCompile2, sCompile3:
			of.compiler(k, b[4:])
		default:
			if depth == 1 && wanted {
				own(k, b[4:])
			}
		}
		pos = next
	}
	return nil
}

// procedure returns what a record says of a procedure.
func (t *Table) procedure(b []byte, pos uint32, of *Procedure) (p Procedure, ok bool) {
	c := parseCode(b, pos)
	rva, ok := t.sections.rva(c.addr.section(), c.addr.offset())
	if !ok || c.kind != kindProcedure {
		return p, false
	}
	p = *of
	p.RVA, p.Size, p.Section, p.Offset = uint64(rva), uint64(c.size), c.addr.section(), c.addr.offset()
	p.Type, p.Flags = c.typ, b[38]
	if c.typIsID {
		p.Type = t.typeNames.idType(c.typ)
	}
	switch le.Uint16(b[2:]) {
	case sLProc32, sLProc32ID, sLProc32DPC, sLProc32DPCID:
		p.Local = true
	}
	var err error
	p.Name, p.Signature, err = t.name(nil, nil, &c)
	return p, err == nil && p.Name != ""
}

// compiler reads what a module says of its compiler.
func (p *Procedure) compiler(kind uint16, b []byte) {
	name := 6 + 8*2 // behind flags, machine and versions of four numbers
	if kind == sCompile2 {
		name = 6 + 6*2
	}
	if len(b) < name {
		return
	}
	flags := le.Uint32(b)
	p.Language, p.Options, p.Compiler = uint8(flags), flags>>8, cString(b[name:])
}

// Types returns the range of indexes of types that have a record.
func (t *Table) Types() (begin, end uint32) { return t.typeNames.types.begin, t.typeNames.types.end }

// Type returns the record of a type, its kind in front, nil where there is none. It must not be changed.
func (t *Table) Type(index uint32) []byte {
	b, err := t.typeNames.types.record(index)
	if err != nil || len(b) < 2 {
		return nil
	}
	return b
}

// BuiltInType returns the name and the size in bytes of a type without a record: not of a pointer to one.
func BuiltInType(index uint32) (name string, size int, ok bool) {
	t, ok := builtInTypes[index&0xFF]
	return t.name, int(t.size), ok
}

// Data returns the public symbol of data, such as a table of virtual methods, at an RVA or before it, and how far before.
// Publics have no sizes: what lies behind one may be something else.
func (t *Table) Data(rva uint64) (name string, offset uint64, ok bool) {
	if rva > math.MaxUint32 || t.layout.present() {
		return "", 0, false
	}
	sec, off, found := t.sections.find(uint32(rva))
	if !found || t.sections.isCode(sec) {
		return "", 0, false
	}
	list, err := t.publics.last(at(sec, off))
	if err != nil || len(list) == 0 || list[0].addr.section() != sec {
		return "", 0, false
	}
	decorated, err := t.publics.decorated(list[0].record)
	if err != nil || decorated == "" {
		return "", 0, false
	}
	name, _ = t.publics.plain(decorated)
	if class, _, table := strings.Cut(name, "::`vftable'"); table {
		name = "vtable for " + class
	}
	return name, uint64(off - list[0].addr.offset()), true
}
