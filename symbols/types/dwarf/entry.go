package dwarf

import (
	"debug/dwarf"

	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/types"
	"logparser/symbols/x86"
)

// Operations of location expressions.
const (
	opDeref     = 0x06
	opReg0      = 0x50
	opReg31     = 0x6f
	opBreg0     = 0x70
	opBreg31    = 0x8f
	opFrameBase = 0x91
	opFrameCFA  = 0x9c
)

// entryOf tells where a parameter is when the function that begins at low is entered. The frame's base must be
// the CFA: the arguments that the caller has put on the stack begin there. A parameter below the CFA is put
// there by the function itself (InFrame).
func (r *reader) entryOf(function, parameter *dwarf.Entry, low uint64) types.Entry {
	var where []byte
	switch v := parameter.Val(dwarf.AttrLocation).(type) {
	case []byte:
		where = v
	case int64:
		where = r.locationAt(uint64(v), low)
	}
	base, _ := function.Val(dwarf.AttrFrameBase).([]byte)
	if len(where) == 0 || len(base) != 1 || base[0] != opFrameCFA {
		return types.Entry{}
	}
	return placeOf(where)
}

// placeOf returns the place that a location expression has, in a function whose frame's base is the CFA.
func placeOf(where []byte) types.Entry {
	if len(where) == 0 {
		return types.Entry{}
	}
	op, rest := where[0], where[1:]
	switch {
	case op >= opReg0 && op <= opReg31 && len(rest) == 0:
		return types.Entry{Kind: types.InRegister, Number: int(op - opReg0)}
	case op >= opBreg0 && op <= opBreg31 && len(rest) == 1 && rest[0] == 0:
		return types.Entry{Kind: types.InRegister, Number: int(op - opBreg0), Pointed: true}
	case op == opFrameBase:
		offset, n := signedLEB(rest)
		if n == 0 {
			return types.Entry{}
		}
		rest = rest[n:]
		pointed := len(rest) == 1 && rest[0] == opDeref
		if len(rest) > 0 && !pointed {
			return types.Entry{}
		}
		if offset < 0 && !pointed {
			return types.Entry{Kind: types.InFrame}
		}
		if offset >= 0 && offset <= 1<<20 {
			return types.Entry{Kind: types.OnStack, Number: int(offset), Pointed: pointed}
		}
	}
	return types.Entry{}
}

// signedLEB reads a number and returns how many bytes it has, 0 if it has no end.
func signedLEB(b []byte) (v int64, n int) {
	for shift := 0; n < len(b) && shift < 64; shift += 7 {
		c := b[n]
		n++
		v |= int64(c&0x7f) << shift
		if c < 0x80 {
			if shift+7 < 64 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v, n
		}
	}
	return 0, 0
}

// section returns the content of a section of debug information, nil if there is none.
func (r *reader) section(name string) []byte {
	if b, ok := r.lists[name]; ok {
		return b
	}
	if r.lists == nil {
		r.lists = make(map[string][]byte)
	}
	r.lists[name] = nil
	s := r.im.Debug(name)
	if s == nil {
		return nil
	}
	c, err := s.Content()
	if err != nil || c.Size() > maxSection {
		return nil
	}
	b, err := c.Bytes(0, c.Size())
	if err != nil {
		return nil
	}
	r.lists[name] = b
	return b
}

// mostListed bounds the entries of location lists that are read of an image: many parameters may name one list.
const mostListed = 1 << 24

// locationAt returns the expression that a location list has for an address, of a machine with pointers of 4 bytes.
func (r *reader) locationAt(at, address uint64) (found []byte) {
	r.eachLocation(at, false, func(from, to uint64, expression []byte) bool {
		if from <= address && address < to {
			found = expression
		}
		return found == nil
	})
	return found
}

// findLoaded is for numbers of less or more than 4 bytes that are parameters of a function of the x86, when
// debug information tells only where the function puts them, as that of gcc without optimization does. If all
// parameters would lie on the stack, one behind the other, and the function's first instructions load each of
// them from there, they are there when the function is entered; else it is not known where they are.
func (r *reader) findLoaded(f *types.Function, low uint64) {
	const word = 4
	at := 0
	if t := f.Result; t != nil && (t.Kind == types.Struct || t.Kind == types.Text && (t.Name == types.StdString || t.Name == types.StdStringView)) {
		at = word // its address
	}
	places := make([]int, len(f.Parameters))
	var loaded map[int]bool
	for i := range f.Parameters {
		p := &f.Parameters[i]
		places[i] = -1
		switch {
		case p.Type == nil || p.Type.Size <= 0 && p.Type.Kind != types.Text:
			return
		case p.Entry.Kind == types.InFrame && p.Type.Size != word && isNumber(p.Type):
			if loaded == nil {
				loaded = r.loads(low)
			}
			if !loaded[at] {
				return
			}
			places[i] = at
		case p.Entry.Kind != types.OnStack || p.Entry.Number != at:
			return
		}
		size := max(p.Type.Size, word)
		if p.Entry.Pointed || p.Type.Kind == types.Text && p.Type.Size == 0 {
			size = word
		}
		at += (size + word - 1) &^ (word - 1)
	}
	for i, place := range places {
		if place >= 0 {
			f.Parameters[i].Entry = types.Entry{Kind: types.OnStack, Number: place}
		}
	}
}

func isNumber(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Uint, types.Bool, types.Char, types.Enum, types.Flags, types.Float:
		return true
	}
	return false
}

// loads returns the offsets behind the return address from which a function with a frame pointer loads
// registers before its first call or jump. A call that is its first instruction (a hook) does not count.
func (r *reader) loads(low uint64) map[int]bool {
	const most, saved = 256, 8 // the frame pointer and the return address
	found := make(map[int]bool)
	s := r.im.SectionAt(low)
	if s == nil {
		return nil
	}
	c, err := s.Content()
	if err != nil {
		return nil
	}
	code, err := c.Bytes(int64(low-s.Addr), min(most, c.Size()-int64(low-s.Addr)))
	if err != nil {
		return nil
	}
	framed := false
	for first := true; len(code) > 0; first = false {
		inst, err := x86.Decode(code, 32)
		if err != nil || inst.PCRel > 0 && !first {
			break
		}
		code = code[inst.Len:]
		if inst.Op == x86asm.MOV && inst.Args[0] == x86asm.EBP && inst.Args[1] == x86asm.ESP {
			framed = true
		}
		m, ok := inst.Args[1].(x86asm.Mem)
		if inst.Op == x86asm.FLD {
			m, ok = inst.Args[0].(x86asm.Mem)
		}
		_, to := inst.Args[0].(x86asm.Reg)
		if framed && ok && (to || inst.Op == x86asm.FLD) && inst.Op != x86asm.LEA && m.Base == x86asm.EBP && m.Index == 0 && m.Disp >= saved {
			found[int(m.Disp)-saved] = true
		}
	}
	return found
}
