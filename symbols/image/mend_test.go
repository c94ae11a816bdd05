package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// headers finds headers of an ELF file to damage them.
type headers struct {
	data  []byte
	order binary.ByteOrder
	wide  bool
}

func openHeaders(t *testing.T, name string) *headers {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dwarfData, name))
	if err != nil {
		t.Fatal(err)
	}
	h := &headers{data: data, order: binary.LittleEndian, wide: elf.Class(data[4]) == elf.ELFCLASS64}
	if data[5] == byte(elf.ELFDATA2MSB) {
		h.order = binary.BigEndian
	}
	return h
}

// section returns the header of section i.
func (h *headers) section(i int) []byte {
	if h.wide {
		return h.data[int(h.order.Uint64(h.data[40:]))+i*64:][:64]
	}
	return h.data[int(h.order.Uint32(h.data[32:]))+i*40:][:40]
}

// names returns the number of the section of the names.
func (h *headers) names() int {
	if h.wide {
		return int(h.order.Uint16(h.data[62:]))
	}
	return int(h.order.Uint16(h.data[50:]))
}

// word changes a field of a section header that has the file's width.
func (h *headers) word(i int, narrow, wide int, value uint64) {
	if h.wide {
		h.order.PutUint64(h.section(i)[wide:], value)
	} else {
		h.order.PutUint32(h.section(i)[narrow:], uint32(value))
	}
}

// sectionNames returns the names of an image's sections.
func sectionNames(im *Image) (list []string) {
	for _, s := range im.Sections {
		list = append(list, s.Name)
	}
	return list
}

// TestDamagedSections opens files of which one header is damaged: the others
// stay as they are.
func TestDamagedSections(t *testing.T) {
	for _, file := range []string{"gcc5-zlib.so", "i386.so", "mips.so", "s390x.so"} {
		sound, err := openBytes(file, openHeaders(t, file).data)
		if err != nil {
			t.Fatal(err)
		}
		all := sectionNames(sound)
		damaged := sound.Debug("line").Index
		for _, c := range []struct {
			name   string
			damage func(h *headers)
			// unnamed says that all names are lost, empty that the section is.
			unnamed, empty bool
		}{
			{"a name behind the end", func(h *headers) { h.order.PutUint32(h.section(damaged), 0x7fffffff) }, false, false},
			{"a negative name", func(h *headers) { h.order.PutUint32(h.section(damaged), 0xffffffff) }, false, false},
			{"no such section of names", func(h *headers) {
				if h.wide {
					h.order.PutUint16(h.data[62:], 0xfff0)
				} else {
					h.order.PutUint16(h.data[50:], 0xfff0)
				}
			}, true, false},
			{"names behind the end", func(h *headers) { h.word(h.names(), 16, 24, 0x7fffffff) }, true, false},
			{"names of another type", func(h *headers) { h.order.PutUint32(h.section(h.names())[4:], uint32(elf.SHT_PROGBITS)) }, true, false},
			{"no end of any name", func(h *headers) {
				s := sound.Sections[h.names()]
				copy(h.data[s.offset:s.offset+s.fileSize], bytes.Repeat([]byte("x"), int(s.fileSize)))
			}, true, false},
			{"a negative size", func(h *headers) {
				if h.wide {
					h.word(damaged, 20, 32, 1<<63)
				} else {
					h.order.PutUint32(h.section(damaged), 0xffffffff)
				}
			}, false, false},
			{"a compressed section of no bytes", func(h *headers) {
				h.word(damaged, 8, 8, uint64(elf.SHF_COMPRESSED))
				h.word(damaged, 20, 32, 0)
			}, false, true},
			{"a compressed section behind the end", func(h *headers) {
				h.word(damaged, 8, 8, uint64(elf.SHF_COMPRESSED))
				h.word(damaged, 16, 24, uint64(len(h.data)))
			}, false, true},
		} {
			h := openHeaders(t, file)
			c.damage(h)
			im, err := openBytes(file, h.data)
			if err != nil {
				t.Errorf("%s: %s: %v", file, c.name, err)
				continue
			}
			got := sectionNames(im)
			if len(got) != len(all) || im.Identity != sound.Identity && !c.unnamed || im.Base != sound.Base {
				t.Errorf("%s: %s: %d sections, %v", file, c.name, len(got), im.Identity)
			}
			for i, name := range got {
				want := all[i]
				if c.unnamed || i == damaged {
					want = ""
				}
				if name != want {
					t.Errorf("%s: %s: section %d is %q, want %q", file, c.name, i, name, want)
				}
			}
			if c.empty && im.Sections[damaged].Size != 0 {
				t.Errorf("%s: %s: %d bytes", file, c.name, im.Sections[damaged].Size)
			}
			im.FreeScratch()
		}
	}
}

// TestDamagedSegments opens a file whose segments have offsets and sizes in the
// file that are no numbers of bytes: where they are in memory holds.
func TestDamagedSegments(t *testing.T) {
	h := openHeaders(t, "gcc5.so")
	sound, err := openBytes("sound", bytes.Clone(h.data))
	if err != nil {
		t.Fatal(err)
	}
	at := int(h.order.Uint64(h.data[32:]))
	h.data[at+8+7], h.data[at+32+7] = 0x80, 0x80
	im, err := openBytes("damaged", h.data)
	if err != nil || im.Base != sound.Base || im.Size != sound.Size || strings.Join(sectionNames(im), " ") != strings.Join(sectionNames(sound), " ") {
		t.Errorf("%v: %+v", err, im)
	}
	// A number of sections that the header could say itself, and a number
	// without a table.
	for _, damage := range []func(data []byte){
		func(data []byte) { h.order.PutUint16(data[60:], 0) },
		func(data []byte) { h.order.PutUint64(data[40:], 0) },
	} {
		h := openHeaders(t, "gcc5.so")
		damage(h.data)
		if im, err := openBytes("damaged", h.data); err != nil || len(im.Sections) != 0 || im.Identity != sound.Identity {
			t.Errorf("%v", err)
		}
	}
}
