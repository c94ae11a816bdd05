package image

import (
	"bytes"
	"debug/elf"
	"debug/pe"
	"encoding/binary"
	"testing"
)

func offsetsOfELF(t *testing.T, name string, im *Image, f *elf.File, back func(offset uint64)) {
	t.Helper()
	var code []*elf.Prog
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Filesz == 0 {
			continue
		}
		if p.Flags&elf.PF_X != 0 {
			code = append(code, p)
		}
		for _, k := range []uint64{0, 1, p.Filesz / 2, p.Filesz - 1} {
			if got, ok := im.Offset(p.Vaddr + k); !ok || got != p.Off+k {
				t.Errorf("%s: %#x is at offset %#x, %t, want %#x", name, p.Vaddr+k, got, ok, p.Off+k)
			}
		}
		back(p.Off + p.Filesz/2)
	}
	vaddr, ok := im.AtCode(0x10)
	if ok != (len(code) == 1) || ok && vaddr != code[0].Vaddr&^0xfff+0x10 {
		t.Errorf("%s: the code's byte 16 is at %#x, %t, of %d segments", name, vaddr, ok, len(code))
	}
	if len(code) == 1 {
		if _, ok := im.AtCode(code[0].Memsz + 0x2000); ok {
			t.Errorf("%s: code behind its end", name)
		}
	}
	if records, strings := im.COFF(); records != nil || strings != nil || im.ManagedOnly() || im.Certificates(1<<20) != nil {
		t.Errorf("%s: an ELF file has parts of a PE", name)
	}
	if rva, size := im.ExceptionDirectory(); rva != 0 || size != 0 {
		t.Errorf("%s: a directory of a PE at %#x", name, rva)
	}
	if rva, size := im.ResourceDirectory(); rva != 0 || size != 0 {
		t.Errorf("%s: a directory of a PE at %#x", name, rva)
	}
}

// TestOffsets leads offsets in files to addresses and back, and holds them against debug/elf and debug/pe.
func TestOffsets(t *testing.T) {
	elves, pes := 0, 0
	for name, data := range samples(t) {
		im, err := openBytes(name, data)
		if err != nil {
			t.Fatal(err)
		}
		back := func(offset uint64) {
			t.Helper()
			vaddr, ok := im.AtOffset(offset)
			if !ok {
				t.Errorf("%s: offset %#x has no address", name, offset)
				return
			}
			if got, ok := im.Offset(vaddr); !ok || got != offset {
				t.Errorf("%s: offset %#x is at %#x, and that at offset %#x, %t", name, offset, vaddr, got, ok)
			}
		}
		nowhere := uint64(len(data)) + 1<<40
		if _, ok := im.AtOffset(nowhere); ok {
			t.Errorf("%s: an offset behind the file has an address", name)
		}
		if _, ok := im.Offset(nowhere); ok {
			t.Errorf("%s: an address that there is not has an offset", name)
		}
		if f, err := elf.NewFile(bytes.NewReader(data)); err == nil {
			elves++
			offsetsOfELF(t, name, im, f, back)
			continue
		}
		f, err := pe.NewFile(bytes.NewReader(data))
		if err != nil {
			continue
		}
		pes++
		if _, ok := im.AtCode(0x10); ok {
			t.Errorf("%s: a PE has no mapping of code alone", name)
		}
		for _, s := range f.Sections {
			if n := min(s.Size, s.VirtualSize); n > 0 {
				back(uint64(s.Offset))
				back(uint64(s.Offset + n - 1))
			}
		}
		var directories []pe.DataDirectory
		switch h := f.OptionalHeader.(type) {
		case *pe.OptionalHeader32:
			directories = h.DataDirectory[:]
		case *pe.OptionalHeader64:
			directories = h.DataDirectory[:]
		}
		if rva, size := im.ExceptionDirectory(); rva != directories[3].VirtualAddress || size != directories[3].Size {
			t.Errorf("%s: exceptions at %#x, %d bytes, want %+v", name, rva, size, directories[3])
		}
		if rva, size := im.ResourceDirectory(); rva != directories[2].VirtualAddress || size != directories[2].Size {
			t.Errorf("%s: resources at %#x, %d bytes, want %+v", name, rva, size, directories[2])
		}
		if im.ManagedOnly() {
			t.Errorf("%s: it has native code", name)
		}
		records, _ := im.COFF()
		if f.NumberOfSymbols == 0 {
			if records != nil {
				t.Errorf("%s: symbols that there are not", name)
			}
		} else if records.Size() != int64(f.NumberOfSymbols)*18 {
			t.Errorf("%s: %d bytes of symbols, want those of %d", name, records.Size(), f.NumberOfSymbols)
		}
	}
	if elves == 0 || pes == 0 {
		t.Errorf("%d ELF files, %d PE files", elves, pes)
	}
}

// TestCertificates puts a table of certificates behind PE files.
func TestCertificates(t *testing.T) {
	signed := 0
	for name, data := range samples(t) {
		f, err := pe.NewFile(bytes.NewReader(data))
		if err != nil {
			continue
		}
		head := int(binary.LittleEndian.Uint32(data[0x3c:])) + 24 // the optional header
		directory := head + 112 + 4*8
		if _, is32 := f.OptionalHeader.(*pe.OptionalHeader32); is32 {
			directory -= 16
		}
		table := append(binary.LittleEndian.AppendUint32(nil, 24), "\x00\x02\x02\x00certificate....."...)
		at := len(data)
		for _, c := range []struct {
			what         string
			at, size     int
			length       uint32
			limit        uint32
			want, behind int
		}{
			{"whole", at, 24, 24, 100, 24, 0},
			{"none", 0, 0, 24, 100, 0, 0},
			{"no room for its head", at, 7, 24, 100, 0, 0},
			{"above the limit", at, 24, 24, 23, 0, 0},
			{"longer than the table", at, 23, 24, 100, 0, 0},
			{"shorter than its head", at, 24, 7, 100, 0, 0},
			{"cut", at, 24, 24, 100, 0, 1},
			{"behind the file", at + 100, 24, 24, 100, 0, 0},
		} {
			b := append(bytes.Clone(data), table[:len(table)-c.behind]...)
			binary.LittleEndian.PutUint32(b[at:], c.length)
			binary.LittleEndian.PutUint32(b[directory:], uint32(c.at))
			binary.LittleEndian.PutUint32(b[directory+4:], uint32(c.size))
			im, err := openBytes(name, b)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, c.what, err)
			}
			if got := im.Certificates(c.limit); len(got) != c.want || c.want > 0 && !bytes.Equal(got, table) {
				t.Errorf("%s, %s: %d bytes, want %d", name, c.what, len(got), c.want)
			}
		}
		signed++
	}
	if signed == 0 {
		t.Error("no PE file")
	}
}
