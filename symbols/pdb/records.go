package pdb

import (
	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// Symbol records that are used. The names are those of cvinfo.h.
const (
	sEnd           = 0x0006
	sThunk32       = 0x1102
	sBlock32       = 0x1103
	sWith32        = 0x1104
	sLProc32ST     = 0x100A
	sGProc32ST     = 0x100B
	sPub32ST       = 0x1009
	sPub32         = 0x110E
	sLProc32       = 0x110F
	sGProc32       = 0x1110
	sGManProc      = 0x112A
	sLManProc      = 0x112B
	sTrampoline    = 0x112C
	sSepCode       = 0x1132
	sLProc32ID     = 0x1146
	sGProc32ID     = 0x1147
	sInlineSite    = 0x114D
	sInlineSiteEnd = 0x114E
	sProcIDEnd     = 0x114F
	sLProc32DPC    = 0x1155
	sLProc32DPCID  = 0x1156
	sInlineSite2   = 0x115D
)

// kind is what sort of code a symbol record describes.
type kind uint8

const (
	kindNone kind = iota
	kindProcedure
	kindManaged // of .NET: code for its virtual machine
	kindThunk
	kindIncremental // an incremental linker's jump to a procedure
	kindIsland      // a jump that brings a far procedure into reach
	kindSeparated   // a part of a procedure that lies elsewhere
)

// code is a symbol record that describes code.
type code struct {
	kind kind
	addr address
	size uint32
	// record is the record's offset in the module's stream, end that of the
	// record that closes it, 0 where it has no scope.
	record, end uint32
	// name is the name as recorded, "" for a trampoline and for separated
	// code. It is valid as long as the record's bytes.
	name []byte
	// typ is the index of the procedure's type, or of its id if typIsID.
	typ     uint32
	typIsID bool
	// target is where a trampoline leads, or an address in the procedure
	// that separated code belongs to.
	target address
}

// cutName returns the bytes of a zero-terminated name.
func cutName(b []byte) []byte {
	for i, c := range b {
		if c == 0 {
			return b[:i]
		}
	}
	return b
}

// parseCode reads a record, given with its length and kind words, if it
// describes code. A record that is too short describes none.
func parseCode(b []byte, record uint32) (c code) {
	c.record = record
	switch k := le.Uint16(b[2:]); k {
	case sGProc32, sLProc32, sGProc32ID, sLProc32ID, sLProc32DPC, sLProc32DPCID, sGProc32ST, sLProc32ST:
		if len(b) < 40 {
			return code{}
		}
		c.kind = kindProcedure
		c.end, c.size, c.typ = le.Uint32(b[8:]), le.Uint32(b[16:]), le.Uint32(b[28:])
		c.addr = at(le.Uint16(b[36:]), le.Uint32(b[32:]))
		c.typIsID = k == sGProc32ID || k == sLProc32ID || k == sLProc32DPCID
		c.name = cutName(b[39:])
		if k == sGProc32ST || k == sLProc32ST {
			c.name = b[40:min(40+int(b[39]), len(b))]
		}
	case sGManProc, sLManProc:
		if len(b) < 42 {
			return code{}
		}
		c.kind = kindManaged
		c.end, c.size = le.Uint32(b[8:]), le.Uint32(b[16:])
		c.addr = at(le.Uint16(b[36:]), le.Uint32(b[32:]))
		c.name = cutName(b[41:])
	case sThunk32:
		if len(b) < 26 {
			return code{}
		}
		c.kind = kindThunk
		c.end, c.size = le.Uint32(b[8:]), uint32(le.Uint16(b[22:]))
		c.addr = at(le.Uint16(b[20:]), le.Uint32(b[16:]))
		c.name = cutName(b[25:])
	case sTrampoline:
		if len(b) < 20 {
			return code{}
		}
		c.kind = kindIncremental
		if le.Uint16(b[4:]) != 0 {
			c.kind = kindIsland
		}
		c.size = uint32(le.Uint16(b[6:]))
		c.addr = at(le.Uint16(b[16:]), le.Uint32(b[8:]))
		c.target = at(le.Uint16(b[18:]), le.Uint32(b[12:]))
	case sSepCode:
		if len(b) < 32 {
			return code{}
		}
		c.kind = kindSeparated
		c.end, c.size = le.Uint32(b[8:]), le.Uint32(b[12:])
		c.addr = at(le.Uint16(b[28:]), le.Uint32(b[20:]))
		c.target = at(le.Uint16(b[30:]), le.Uint32(b[24:]))
	}
	return c
}

// record returns the symbol record at an offset, its length and kind words
// included, and the offset of the next one. The bytes are valid until the
// window moves.
func record(w *msf.Window, pos int64) (b []byte, next int64, err error) {
	h, err := w.Bytes(pos, 4)
	if err != nil {
		return nil, 0, err
	}
	n := int(le.Uint16(h)) + 2
	if n < 4 {
		return nil, 0, message.Errorf("%w: stream %d: symbol record of %d bytes at offset %d",
			ErrDamaged, w.Stream().Number(), n, pos)
	}
	b, err = w.Bytes(pos, n)
	return b, pos + int64(n), err
}

// symbolsVersion is the version of the symbols that compilers have written
// since Visual C++ 7. Older modules may be linked into newer programs; the
// linker's publics are all that is read of them.
const symbolsVersion = 4

// resetSymbols makes a window show a module's symbol records, without the
// signature in front. It shows nothing where there are none that are
// understood.
func (t *Table) resetSymbols(w *msf.Window, m *module) error {
	if m.stream == noStream || m.symbols <= 4 {
		return w.Reset(t.dbi.stream, 0, 0)
	}
	s, err := t.msf.Stream(int(m.stream))
	if err != nil {
		return err
	}
	var version [4]byte
	if _, err := s.ReadAt(version[:], 0); err != nil {
		return err
	}
	if le.Uint32(version[:]) != symbolsVersion {
		return w.Reset(s, 0, 0)
	}
	return w.Reset(s, 4, int64(m.symbols))
}
