package attached

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"testing"

	"logparser/symbols"
)

// use asks a container everything.
func use(c *Container) {
	for _, m := range c.Modules() {
		if u, err := m.OpenUnwind(); err == nil {
			for _, at := range []uint64{0, 1, 0x1000, 0x1001, 0x1234, 0x2000, 1 << 40, ^uint64(0)} {
				if k, err := u.Rule(at); err == nil && k.Start < k.End && (at < k.Start || at >= k.End) {
					panic("the rule of another place")
				}
			}
		}
		if s, err := m.OpenStack(); err == nil {
			f := s.File()
			if n, err := io.Copy(io.Discard, io.NewSectionReader(f, 0, f.Size)); err == nil && n != f.Size {
				panic("records of another size")
			}
		}
		table, err := m.Open()
		if err != nil {
			continue
		}
		n := 0
		_ = table.Procedures(func(rva uint64, _ string) bool {
			for _, at := range []uint64{rva - 1, rva, rva + 1, rva + 100} {
				if s, err := table.Lookup(at); err == nil && len(s.Frames) == 0 {
					panic("an answer without frames")
				}
			}
			n++
			return n < 1000
		})
		for _, at := range []uint64{0, 1, 0x1000, 0x1234, 1 << 40, ^uint64(0)} {
			_, _ = table.Lookup(at)
		}
	}
	files, err := c.Files()
	if err != nil {
		return
	}
	for _, f := range files {
		if f.Size < 16<<20 {
			if n, err := f.WriteTo(io.Discard); err == nil && n != f.Size {
				panic("a file of another size")
			}
		}
	}
}

// repaired makes the checksums of a container right, so that what is behind them is reached.
func repaired(data []byte) []byte {
	le := binary.LittleEndian
	b := bytes.Clone(data)
	if len(b) < headerSize || !Detect(b) {
		return b
	}
	n := int64(le.Uint32(b[16:]))
	if n > 1000 || headerSize+n*entrySize > int64(len(b)) {
		return b
	}
	le.PutUint64(b[20:], uint64(len(b)))
	dir := b[headerSize : headerSize+n*entrySize]
	for e := dir; len(e) > 0; e = e[entrySize:] {
		at := le.Uint64(e[8:])
		if at > uint64(len(b)) {
			continue
		}
		switch Kind(le.Uint16(e)) {
		case KindFunctions, KindStrings:
			at += 8
		case KindUnwind:
			if at+4 > uint64(len(b)) {
				continue
			}
			at += 4 + uint64(le.Uint32(b[at:]))
		case KindRuns, KindRules, KindStack:
		default:
			continue
		}
		if at+indexHead > uint64(len(b)) {
			continue
		}
		index := b[at+indexHead:]
		blocks := uint64(le.Uint32(b[at:])) * indexEntry
		if blocks > uint64(len(index)) {
			continue
		}
		stored := index[blocks:]
		for i := uint64(0); i < blocks; i += indexEntry {
			length := uint64(le.Uint32(index[i+8:]))
			if length > uint64(len(stored)) {
				break
			}
			le.PutUint32(index[i+16:], checksum(stored[:length]))
			stored = stored[length:]
		}
		le.PutUint32(b[at+4:], checksum(index[:blocks]))
	}
	le.PutUint32(b[28:], checksum(dir))
	return b
}

func FuzzContainer(f *testing.F) {
	table := openFile(f, "../dwarf/testdata/gcc5.so")
	ranges, _ := codeOf(f, table, "../dwarf/testdata/gcc5.so")
	data, _ := encodeFile(f, table, ranges)
	f.Add(data)
	table = openFile(f, "../pdb/testdata/shapes-x86_64.pdb")
	ranges, _ = codeOf(f, table, "../pdb/testdata/shapes-x86_64.pdb")
	data, _ = encodeFile(f, table, ranges)
	f.Add(data)
	e, err := EncodeUnwind(context.Background(), openImage(f, "../dwarf/testdata/x86_64.dll"), []CodePiece{{0x1000, []byte("code")}})
	if err != nil {
		f.Fatal(err)
	}
	data, _ = withUnwind(f, e)
	f.Add(data)
	data, _ = withStack(f, "STACK CFI INIT 0 100 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n")
	f.Add(data)
	f.Add(packedFile(f, []byte("a log that is packed, packed, packed, packed, packed, packed")))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, data := range [][]byte{data, repaired(data)} {
			c, err := OpenContainer(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				continue
			}
			use(c)
		}
	})
}

// FuzzRuns decodes blocks of runs that are not compressed, which the fuzzer can change
// better.
func FuzzRuns(f *testing.F) {
	e := newRunEncoder(0x1000)
	e.add(4, part{start: 0x1000, size: 20}, []frame{{0, 0, 10}})
	e.add(2, part{start: 0x1000, size: 20}, []frame{{0, 0, 11}, {1, 1, 5}})
	e.add(6, part{start: 0x1000, size: 20}, []frame{{0, 0, 12}})
	e.add(9, part{}, nil)
	e.add(9, part{start: 0x1020, size: 9, kind: 2, aliases: []uint32{1}}, []frame{{2, noID, 0}})
	var seed []byte
	for _, c := range e.column {
		seed = append(append(seed, byte(len(c))), c...)
	}
	f.Add(seed)
	f.Fuzz(func(t *testing.T, data []byte) {
		var list [][]byte
		for range columns {
			n := 0
			if len(data) > 0 {
				n = min(int(data[0]), len(data)-1)
				data = data[1:]
			}
			list = append(list, data[:n])
			data = data[n:]
		}
		b, err := decodeRuns(list, 0x1000, 3, 3)
		if err != nil {
			return
		}
		for i, rva := range b.starts {
			if b.find(rva) != i {
				t.Errorf("run %d at %#x is not found", i, rva)
			}
			depth := 0
			for n := b.nodes[i]; n >= 0; n = b.frames[n].caller {
				if depth++; depth > maxFrames {
					t.Fatal("frames without end")
				}
				if f := b.frames[n]; f.function >= 3 || f.file >= 3 && f.file != noID {
					t.Errorf("frame %+v", f)
				}
			}
		}
	})
}

// FuzzUnwindRules reads the columns of entries and the fields before them without their container.
func FuzzUnwindRules(f *testing.F) {
	f.Add([]byte("\x02\x00\x04\x02\x10\x20\x02\x00\x00\x02\x02\x01\x01\x05\x03\x02\x00\x03\x03\x00\x00\x00"), []byte("\x01\x05arm64\x04\x02\x10\x20\x05\x03\x01\x02\x03\x06\x03\x01\x01x"))
	f.Fuzz(func(t *testing.T, data, fields []byte) {
		var list [][]byte
		for range unwindColumns {
			n := 0
			if len(data) > 0 {
				n = min(int(data[0]), len(data)-1)
				data = data[1:]
			}
			list = append(list, data[:n])
			data = data[n:]
		}
		u := &Unwind{}
		if u.read(fields) {
			u.Executable(0x1000)
			u.Section(0x1000)
			if b, err := u.Read(0x1000, 4); err == nil && len(b) != 4 {
				t.Errorf("%d bytes of code", len(b))
			}
		}
		b := decodeEntries(list, 0x1000)
		if b == nil {
			return
		}
		if len(b.ends) != len(b.exact) || len(b.ends) != len(b.back) {
			t.Fatalf("%d ends, %d and %d rules", len(b.ends), len(b.exact), len(b.back))
		}
		for i := range b.entries {
			e := &b.entries[i]
			if e.spans < 1 || e.start >= e.end || i > 0 && e.start < b.entries[i-1].end || b.ends[e.first+e.spans-1] != e.end {
				t.Errorf("entry %d: %+v", i, e)
			}
		}
	})
}

func FuzzCarrier(f *testing.F) {
	for _, path := range []string{"../dwarf/testdata/gcc5.so", "../dwarf/testdata/x86_64.dll"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		var b bytes.Buffer
		if err := Attach(&b, bytes.NewReader(data), int64(len(data)), someParts(f)); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Add(testPE(""))
	f.Add(sign(testPE("")))
	parts := []Part{bytesPart(99, 0, []byte("nothing"))}
	f.Fuzz(func(t *testing.T, data []byte) {
		size := int64(len(data))
		if c, err := Find(bytes.NewReader(data), size); err == nil {
			use(c)
		}
		_ = Detach(io.Discard, bytes.NewReader(data), size)
		var with, back bytes.Buffer
		if err := Attach(&with, bytes.NewReader(data), size, parts); err != nil {
			return
		}
		if _, err := Find(bytes.NewReader(data), size); !errors.Is(err, ErrNone) {
			return // what was attached is replaced, damaged or not
		}
		if err := Detach(&back, bytes.NewReader(with.Bytes()), int64(with.Len())); err != nil || !bytes.Equal(back.Bytes(), data) {
			t.Errorf("detached it is another file: %v", err)
		}
	})
}

// TestDamage changes each byte of a container: no answer may be wrong.
func TestDamage(t *testing.T) {
	table := openFile(t, "../dwarf/testdata/gcc5.so")
	ranges, _ := codeOf(t, table, "../dwarf/testdata/gcc5.so")
	data, _ := encodeFile(t, table, ranges)
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 0x10
		got, err := open(&symbols.File{ReaderAt: bytes.NewReader(bad), Size: int64(len(bad))})
		if err != nil {
			continue
		}
		for _, r := range ranges {
			for rva := r.Lo; rva < r.Hi; rva += 13 {
				a, e1 := table.Lookup(rva)
				b, e2 := got.Lookup(rva)
				if e2 == nil && (e1 != nil || !sameSymbol(&a, &b)) {
					t.Fatalf("byte %#x changed: %#x is %+v", i, rva, b)
				}
				if e2 != nil && e1 == nil && !errors.Is(e2, ErrFormat) && !errors.Is(e2, io.ErrUnexpectedEOF) && !errors.Is(e2, io.EOF) {
					t.Fatalf("byte %#x changed: %#x: %v", i, rva, e2)
				}
			}
		}
	}
	for n := range data {
		if _, err := open(&symbols.File{ReaderAt: bytes.NewReader(data[:n]), Size: int64(n)}); err == nil {
			t.Fatalf("opened, though cut to %d of %d bytes", n, len(data))
		}
	}
}
