package pdb

import (
	"errors"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// errNoDBI says that the file has no DBI stream, or an empty one.
var errNoDBI = message.New("no DBI stream")

const (
	dbiHeaderSize = 64
	noStream      = 0xFFFF
)

// Flags of the DBI header.
const (
	dbiIncremental = 1 << 0
	dbiStripped    = 1 << 1
)

// machineX86 is the DBI header's and the PE header's word for 32-bit x86,
// where C names carry an underscore more than in the source.
const machineX86 = 0x14C

// Slots of the optional debug header that are used.
const (
	slotOmapToSource   = 3
	slotOmapFromSource = 4
	slotSections       = 5
	slotTokens         = 6 // of managed code: its tokens, by the compiler's
	slotOriginal       = 10
)

// dbi is the header of the DBI stream and where its parts lie.
type dbi struct {
	stream        *msf.Stream
	age           uint32
	publicStream  uint16
	recordStream  uint16
	flags         uint16
	machine       uint16
	modules       part
	contributions part
	optional      part
}

// part is a part of a stream.
type part struct{ off, size int64 }

func readDBIHeader(f *msf.File) (*dbi, error) {
	s, err := f.Stream(streamDBI)
	if errors.Is(err, msf.ErrNoStream) || err == nil && s.Size() == 0 {
		return nil, errNoDBI
	}
	if err != nil {
		return nil, err
	}
	if s.Size() < dbiHeaderSize {
		return nil, message.Errorf("pdb: %w: DBI stream has %d bytes", ErrDamaged, s.Size())
	}
	h, err := s.Read(0, dbiHeaderSize)
	if err != nil {
		return nil, message.Errorf("pdb: DBI stream: %w", err)
	}
	if le.Uint32(h) != 0xFFFFFFFF {
		return nil, message.Errorf("pdb: DBI stream of a format before Visual C++ 5 (no signature at offset 0): %w", ErrUnsupported)
	}
	d := &dbi{
		stream:       s,
		age:          le.Uint32(h[8:]),
		publicStream: le.Uint16(h[16:]),
		recordStream: le.Uint16(h[20:]),
		flags:        le.Uint16(h[56:]),
		machine:      le.Uint16(h[58:]),
	}
	// The parts lie one behind the other; the header gives their lengths, in
	// nearly that order.
	at := int64(dbiHeaderSize)
	for _, p := range []struct {
		name   string
		length int
		part   *part
	}{
		{"modules", 24, &d.modules},
		{"section contributions", 28, &d.contributions},
		{"section map", 32, nil},
		{"source files", 36, nil},
		{"type servers", 40, nil},
		{"edit and continue", 52, nil},
		{"optional debug header", 48, &d.optional},
	} {
		size := int64(int32(le.Uint32(h[p.length:])))
		if size < 0 || size > s.Size()-at {
			return nil, message.Errorf("pdb: %w: DBI stream: %s of %d bytes at offset %d of %d",
				ErrDamaged, p.name, size, at, s.Size())
		}
		if p.part != nil {
			*p.part = part{at, size}
		}
		at += size
	}
	return d, nil
}

// slot returns the number of the stream in a slot of the optional debug
// header, or noStream.
func (d *dbi) slot(i int64) (uint16, error) {
	if d.optional.size < (i+1)*2 {
		return noStream, nil
	}
	b, err := d.stream.Read(d.optional.off+i*2, 2)
	if err != nil {
		return noStream, message.Errorf("pdb: optional debug header: %w", err)
	}
	return le.Uint16(b), nil
}

// module is one object file of the program, as the DBI stream lists it.
type module struct {
	// info is where its entry lies in the DBI stream.
	info int64
	// stream is noStream where the module has no symbols.
	stream uint16
	// symbols, c11 and c13 are the lengths of the parts of its stream.
	symbols, c11, c13 uint32
}

const moduleInfoSize = 64

// readModules reads the list of modules.
func (d *dbi) readModules() ([]module, error) {
	var w msf.Window
	if err := w.Reset(d.stream, d.modules.off, d.modules.off+d.modules.size); err != nil {
		return nil, message.Errorf("pdb: modules: %w", err)
	}
	var list []module
	for at := w.Start(); at < w.End(); {
		b, err := w.Bytes(at, moduleInfoSize)
		if err != nil {
			return nil, message.Errorf("pdb: module %d: %w", len(list), err)
		}
		m := module{
			info:    at,
			stream:  le.Uint16(b[34:]),
			symbols: le.Uint32(b[36:]),
			c11:     le.Uint32(b[40:]),
			c13:     le.Uint32(b[44:]),
		}
		at += moduleInfoSize
		for range 2 {
			if at, err = skipString(&w, at); err != nil {
				return nil, message.Errorf("pdb: name of module %d: %w", len(list), err)
			}
		}
		at = min((at+3)&^3, w.End())
		list = append(list, m)
	}
	return list, nil
}

// moduleName returns a module's name: the path of its object file.
func (d *dbi) moduleName(m *module) (string, error) {
	name, err := readString(d.stream, m.info+moduleInfoSize, d.modules.off+d.modules.size)
	if err != nil {
		return "", message.Errorf("pdb: name of a module: %w", err)
	}
	return name, nil
}

// maxPath bounds the paths that are read, in bytes. Windows allows 32,767
// UTF-16 units.
const maxPath = 32 << 10

// skipString returns the offset behind the zero byte that ends the string at
// an offset.
func skipString(w *msf.Window, at int64) (int64, error) {
	for {
		n := min(256, w.End()-at)
		if n <= 0 {
			return at, message.Errorf("%w: stream %d: string at %d has no end", ErrDamaged, w.Stream().Number(), at)
		}
		b, err := w.Bytes(at, int(n))
		if err != nil {
			return at, err
		}
		for i, c := range b {
			if c == 0 {
				return at + int64(i) + 1, nil
			}
		}
		at += n
	}
}
