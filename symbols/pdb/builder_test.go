package pdb

import (
	"encoding/binary"
	"slices"

	"logparser/symbols/pdb/msf/msftest"
)

// program describes a PDB to be built for a test. It has one section of code
// at RVA 0x1000 and one of data at 0x100000.
type program struct {
	pageSize int
	objects  []object
	types    [][]byte // records without their length, the first is 0x1000
	ids      [][]byte
	publics  []publicSymbol
	// shuffle spoils the publics' order by address.
	shuffle bool
	omap    [2][]omapEntry // to source, from source
	flags   uint16
	age     uint32
	infoAge uint32
	machine uint16
	// version is that of the information stream, 0 Visual C++ 7's. features is
	// nil for those of a linker of today; an empty list has none.
	version  uint32
	features []uint32
	// stream4 is what is there instead of the ids.
	stream4 []byte
	// stream4Name gives it a name.
	stream4Name string
	// newContributions takes the second layout.
	newContributions bool
}

// object is an object file of the program.
type object struct {
	name     string
	symbols  [][]byte // records without their length
	raw      []byte   // instead of symbols
	c13      []byte
	code     [][2]uint32 // offset and size of its contributions
	noStream bool
}

type publicSymbol struct {
	name   string
	flags  uint32
	sec    uint16
	offset uint32
}

// bin joins numbers of their own width and texts into bytes.
func bin(parts ...any) []byte {
	var b []byte
	for _, p := range parts {
		switch p := p.(type) {
		case []byte:
			b = append(b, p...)
		case string:
			b = append(append(b, p...), 0)
		default:
			var err error
			if b, err = binary.Append(b, binary.LittleEndian, p); err != nil {
				panic(err)
			}
		}
	}
	return b
}

// pad fills up to a multiple of four bytes.
func pad(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// records puts lengths in front of records.
func records(list [][]byte) []byte {
	var b []byte
	for _, r := range list {
		for (len(r)+2)%4 != 0 {
			r = append(r, 0)
		}
		b = append(b, bin(uint16(len(r)), r)...)
	}
	return b
}

// symbolRecords does the same for a module's symbols, behind the signature,
// and closes the scopes: each record that opens one is told where it ends.
func symbolRecords(list [][]byte) []byte {
	b := bin(uint32(4))
	var open []int
	for _, r := range list {
		for (len(r)+2)%4 != 0 {
			r = append(slices.Clip(r), 0)
		}
		at := len(b)
		b = append(b, bin(uint16(len(r)), r)...)
		switch le.Uint16(r) {
		case sGProc32, sLProc32, sGProc32ID, sLProc32ID, sThunk32, sSepCode, sInlineSite, sInlineSite2, sBlock32, sGManProc:
			open = append(open, at)
		case sEnd, sInlineSiteEnd, sProcIDEnd:
			if n := len(open); n > 0 {
				le.PutUint32(b[open[n-1]+8:], uint32(at))
				open = open[:n-1]
			}
		}
	}
	return b
}

func procedureRecord(kind uint16, name string, off, size, typ uint32) []byte {
	return bin(kind, uint32(0), uint32(0), uint32(0), size, uint32(0), size, typ, off, uint16(1), uint8(0), name)
}

func endRecord() []byte { return bin(uint16(sEnd)) }

func typeStreamBytes(list [][]byte) []byte {
	body := records(list)
	h := bin(uint32(20040203), uint32(typeHeaderSize), uint32(firstType), uint32(firstType+len(list)), uint32(len(body)),
		uint16(noStream), uint16(noStream))
	return append(append(h, make([]byte, typeHeaderSize-len(h))...), body...)
}

const (
	testInfo     = 1
	testNames    = 5
	testHeaders  = 6
	testPublics  = 7
	testRecords  = 8
	testToSource = 9
	testFrom     = 10
	testModules  = 11
)

// testPaths is the string table of every built program.
const testPaths = "\x00C:\\src\\a.cpp\x00C:\\src\\a.h\x00b.obj\x00"

// file returns the streams of the PDB.
func (p *program) file() *msftest.File {
	f := &msftest.File{PageSize: max(p.pageSize, 512), Streams: make([][]byte, testModules+len(p.objects))}
	f.Streams[0] = []byte{}
	f.Streams[testInfo] = p.infoStream()
	f.Streams[streamTPI] = typeStreamBytes(p.types)
	f.Streams[streamIPI] = typeStreamBytes(p.ids)
	if p.stream4 != nil {
		f.Streams[streamIPI] = p.stream4
	}
	f.Streams[testNames] = bin(uint32(namesSignature), uint32(1), uint32(len(testPaths)), []byte(testPaths))
	for _, s := range []section{{rva: 0x1000, size: 0x80000, code: true}, {rva: 0x100000, size: 0x1000}} {
		flags := uint32(0x40000040)
		if s.code {
			flags = 0x60000020
		}
		f.Streams[testHeaders] = append(f.Streams[testHeaders],
			bin([]byte(".section"), s.size, s.rva, s.size, uint32(0), make([]byte, 12), flags)...)
	}
	f.Streams[testPublics], f.Streams[testRecords] = p.publicStreams()
	for i := range p.omap {
		for _, e := range p.omap[i] {
			f.Streams[testToSource+i] = append(f.Streams[testToSource+i], bin(e.from, e.to)...)
		}
	}
	var list, contributions []byte
	type contribution struct {
		off, size uint32
		module    int
	}
	var all []contribution
	for i, o := range p.objects {
		symbols := symbolRecords(o.symbols)
		if o.raw != nil {
			symbols = o.raw
		}
		stream := uint16(testModules + i)
		if o.noStream {
			stream, symbols, o.c13 = noStream, nil, nil
		}
		f.Streams[testModules+i] = append(slices.Clip(symbols), o.c13...)
		list = append(list, pad(bin(uint32(0), make([]byte, 28), uint16(0), stream, uint32(len(symbols)), uint32(0),
			uint32(len(o.c13)), uint16(0), uint16(0), uint32(0), uint32(0), uint32(0), o.name, o.name))...)
		for _, c := range o.code {
			all = append(all, contribution{c[0], c[1], i})
		}
	}
	if len(all) > 0 {
		slices.SortFunc(all, func(a, b contribution) int { return int(a.off) - int(b.off) })
		contributions = bin(uint32(contributionsV60))
		if p.newContributions {
			contributions = bin(uint32(contributionsV2))
		}
		for _, c := range all {
			contributions = append(contributions, bin(uint16(1), uint16(0), c.off, c.size, uint32(0x60000020),
				uint16(c.module), uint16(0), uint32(0), uint32(0))...)
			if p.newContributions {
				contributions = append(contributions, bin(uint32(7))...)
			}
		}
	}
	slots := []uint16{noStream, noStream, noStream, noStream, noStream, testHeaders}
	if p.omap[0] != nil {
		slots[slotOmapToSource], slots[slotOmapFromSource] = testToSource, testFrom
	}
	f.Streams[streamDBI] = bin(uint32(0xFFFFFFFF), uint32(19990903), p.age, uint16(noStream), uint16(0),
		uint16(testPublics), uint16(0), uint16(testRecords), uint16(0),
		uint32(len(list)), uint32(len(contributions)), uint32(0), uint32(0), uint32(0), uint32(0), uint32(2*len(slots)), uint32(0),
		p.flags, p.machine, uint32(0), list, contributions, slots)
	return f
}

// infoStream returns the information stream.
func (p *program) infoStream() []byte {
	version := p.version
	if version == 0 {
		version = 20000404
	}
	info := bin(version, uint32(1), p.infoAge)
	if version > vc70Deprecated {
		info = append(info, "0123456789abcdef"...)
	}
	names, entries := bin("/names"), bin(uint32(0), uint32(testNames))
	if p.stream4Name != "" {
		entries = append(entries, bin(uint32(len(names)), uint32(streamIPI))...)
		names = append(names, bin(p.stream4Name)...)
	}
	count := uint32(len(entries) / 8)
	info = append(info, bin(uint32(len(names)), names, count, count, uint32(1), uint32(1)<<count-1, uint32(0), entries, uint32(0))...)
	features := p.features
	if features == nil {
		features = []uint32{featureVC140}
	}
	return append(info, bin(features)...)
}

// publicStreams returns the publics stream and that of the records.
func (p *program) publicStreams() (publics, list []byte) {
	type ref struct {
		addr   address
		record uint32
	}
	var order []ref
	for _, s := range p.publics {
		order = append(order, ref{at(s.sec, s.offset), uint32(len(list))})
		list = append(list, records([][]byte{bin(uint16(sPub32), s.flags, s.offset, s.sec, s.name)})...)
	}
	if !p.shuffle {
		slices.SortStableFunc(order, func(a, b ref) int { return int(a.addr) - int(b.addr) })
	}
	publics = bin(uint32(4), uint32(4*len(order)), make([]byte, 20), uint32(0))
	for _, r := range order {
		publics = append(publics, bin(r.record)...)
	}
	return publics, list
}

// open builds and opens the PDB.
func (p *program) open() (*Table, error) { return openBytes(p.file().Bytes()) }

// subsection is a part of a module's C13 information.
func subsection(kind uint32, parts ...any) []byte {
	b := bin(parts...)
	return append(bin(kind, uint32(len(b))), pad(b)...)
}

// checksums lists the files a.cpp, at 0, and a.h, at 8.
func checksums() []byte {
	return subsection(c13Checksums, uint32(1), uint8(0), uint8(0), uint16(0), uint32(14), uint8(0), uint8(0), uint16(0))
}

// lines is a block of lines, offset and line in turns, of one file.
func lines(off, size, file uint32, rows ...uint32) []byte {
	return subsection(c13Lines, off, uint16(1), uint16(0), size, file, uint32(len(rows)/2), uint32(12+len(rows)*4), rows)
}
