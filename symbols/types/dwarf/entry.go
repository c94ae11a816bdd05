package dwarf

import (
	"debug/dwarf"
	"encoding/binary"

	"logparser/symbols/types"
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
	opRegX      = 0x90
	opPiece     = 0x93
)

// entryOf tells where a parameter is when the function that begins at low is entered. The frame's base must be
// the CFA: the arguments that the caller has put on the stack begin there. A parameter below the CFA is put
// there by the function itself (InFrame; spill.go finds where from).
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
		if offset < 0 && offset >= -1<<20 {
			return types.Entry{Kind: types.InFrame, Number: int(offset), Pointed: pointed}
		}
		if offset >= 0 && offset <= 1<<20 {
			return types.Entry{Kind: types.OnStack, Number: int(offset), Pointed: pointed}
		}
	}
	return types.Entry{}
}

// unsignedLEB reads a number and returns how many bytes it has, 0 if it has no end or is no register's.
func unsignedLEB(b []byte) (v, n int) {
	u, n := binary.Uvarint(b)
	if n <= 0 || u > 1<<20 {
		return 0, 0
	}
	return int(u), n
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
