// Package image opens PE and ELF files as far as symbols need them: which
// build they are, where they lie in memory, what they say about their debug
// files, and the bytes of their sections.
//
// Its input is a [symbols.File]; its output is an [Image]. The formats are
// those of the System V ABI with the GNU additions (build-id notes,
// .gnu_debuglink, .gnu_debugaltlink, SHF_COMPRESSED, .zdebug_*), and of
// Microsoft's PE and COFF specification with the CodeView RSDS record.
//
// Long sections are read where they lie: small pieces out of a mapping of the
// file, by copying under a guard, because the file may shrink while it is
// mapped; long pieces by reading. What has to be inflated goes to a temporary
// file that is mapped in the same way, or, where the file's opener names a
// folder for that, to a file that the next opening finds again.
//
// Images come from other machines. Sizes are checked against the file before
// anything is allocated; what the file says about other files is only handed
// on, never opened here.
//
// ELF headers are read by debug/elf, behind checks of the
// counts and names by which a few bytes could make it allocate without bound
// (see checkELF). PE headers are read here: debug/pe loads the whole COFF
// symbol table at opening and has no debug directory, and saferwall/pe reads
// COFF symbols in any case, sorts and drops sections, prints to standard
// output and builds exported names in quadratic time. The tests hold this
// reader against both.
package image

import (
	"debug/elf"
	"encoding/binary"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/filemap"
	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
)

// ErrFormat says that a file is neither a PE image nor an ELF file.
var ErrFormat = message.New("not a PE or ELF image")

// A Kind is an image's file format.
type Kind string

const (
	ELF Kind = "ELF"
	PE  Kind = "PE"
)

// pageSize is the granularity to which the lowest ELF segment is rounded down
// for the image's base, in bytes.
const pageSize = 4096

// An Image is an opened PE or ELF file. It is safe for concurrent use; its
// fields must not be changed.
type Image struct {
	Kind Kind
	// Machine is the architecture: "x86", "x86-64", "arm", "arm64", or
	// another in the specification's words.
	Machine string
	// Order is the byte order of everything in the file.
	Order binary.ByteOrder
	// PointerSize is 4 or 8 bytes.
	PointerSize int
	// Base is the lowest mapped virtual address: the page of the lowest
	// PT_LOAD segment, or a PE's ImageBase. An RVA is an address minus Base.
	Base uint64
	// Size is the number of bytes that the image takes in memory from Base.
	Size uint64
	// Relocatable says that the file is an object or a kernel module: its
	// sections have got places here, one behind the other, that mean nothing
	// elsewhere (see relocate.go).
	Relocatable bool
	// Identity is what tells this build from others.
	Identity modules.Identity
	// PDBPath is the PDB that a PE names, as the linker wrote it: a path of
	// another machine, "" where none is named.
	PDBPath string
	// DebugLink is the name of the separate debug file (.gnu_debuglink) and
	// DebugLinkCRC the CRC-32 of that file; "" where none is named.
	DebugLink    string
	DebugLinkCRC uint32
	// AltLink is the path of the alternate debug file that dwz made
	// (.gnu_debugaltlink) and AltBuildID its raw build-id.
	AltLink    string
	AltBuildID string
	// Sections are the sections in the file's order; symbol tables name them
	// by Section.Index.
	Sections []*Section

	file    *symbols.File
	exec    []span
	pe      *peHeaders
	elf     *elfHeaders
	scratch scratch

	mapOnce sync.Once
	mapping *filemap.Mapping
	// background counts what inflates sections ahead of time, closing tells
	// it to end.
	background sync.WaitGroup
	closing    atomic.Bool
}

// A span is a range of virtual addresses, [lo, hi).
type span struct{ lo, hi uint64 }

// Open reads the headers of an image. The image reads the file as long as it
// is used, but the caller owns the file until it calls [Image.Close]. The
// error wraps [ErrFormat] where the file is no image at all.
func Open(f *symbols.File) (*Image, error) {
	var head [4]byte
	if f.Size < 64 {
		return nil, message.Errorf("%s: %w: %d bytes", f.Path, ErrFormat, f.Size)
	}
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, message.Errorf("%s: %w", f.Path, err)
	}
	im := &Image{file: f}
	var err error
	switch {
	case string(head[:]) == "\x7fELF":
		im.Kind = ELF
		err = im.openELF()
	case head[0] == 'M' && head[1] == 'Z':
		im.Kind = PE
		err = im.openPE()
	default:
		err = ErrFormat
	}
	if err != nil {
		return nil, message.Errorf("%s: %w", f.Path, err)
	}
	for _, s := range im.Sections {
		if s.Exec && s.MemSize > 0 && s.Addr+s.MemSize > s.Addr {
			im.exec = append(im.exec, span{s.Addr, s.Addr + s.MemSize})
		}
	}
	if len(im.exec) == 0 && im.elf != nil {
		im.exec = im.elf.execSegments()
	}
	sort.Slice(im.exec, func(i, j int) bool { return im.exec[i].lo < im.exec[j].lo })
	return im, nil
}

// Detect reports whether a file that begins with these bytes may be an image.
func Detect(head []byte) bool {
	return len(head) >= 4 && (string(head[:4]) == "\x7fELF" || string(head[:2]) == "MZ")
}

// File returns the file that the image reads.
func (im *Image) File() *symbols.File { return im.file }

// mapped returns the file mapped into memory, or nil.
func (im *Image) mapped() *filemap.Mapping {
	im.mapOnce.Do(func() {
		im.mapping = filemap.New(im.file.ReaderAt, im.file.Size)
		im.scratch.keep(im.mapping)
	})
	return im.mapping
}

// FreeScratch frees what was inflated and mapped without closing the file, for
// images that are given up while the file is still the caller's.
func (im *Image) FreeScratch() error {
	im.closing.Store(true)
	im.background.Wait()
	return im.scratch.close()
}

// Close frees what was inflated and closes the file.
func (im *Image) Close() error {
	err := im.FreeScratch()
	if err2 := im.file.Close(); err == nil {
		err = err2
	}
	return err
}

// Section returns the first section with the name, or nil.
func (im *Image) Section(name string) *Section {
	for _, s := range im.Sections {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Debug returns the section .debug_<name>, or .zdebug_<name>, or nil where
// the file has none with contents.
func (im *Image) Debug(name string) *Section {
	for _, prefix := range []string{".debug_", ".zdebug_"} {
		s := im.Section(prefix + name)
		if im.Relocatable && s != nil {
			s = mainSection(prefix+name, im.Sections)
		}
		if s != nil && !s.NoBits && s.Size > 0 {
			return s
		}
	}
	return nil
}

// HasDWARF reports whether the file itself has DWARF units.
func (im *Image) HasDWARF() bool { return im.Debug("info") != nil }

// AtOffset returns the virtual address at which a byte of the file is mapped.
func (im *Image) AtOffset(offset uint64) (vaddr uint64, ok bool) {
	if im.elf == nil {
		for _, s := range im.Sections {
			if from := uint64(s.offset); offset >= from && offset-from < uint64(s.fileSize) {
				return s.Addr + offset - from, true
			}
		}
		return 0, false
	}
	for _, p := range im.elf.f.Progs {
		// A mapping begins and ends with a page.
		const page = pageSize - 1
		from, end := p.Off&^page, p.Off+p.Filesz
		if p.Type == elf.PT_LOAD && end >= p.Off && p.Filesz > 0 && offset >= from && offset < end {
			if a := offset - p.Off + p.Vaddr; offset >= p.Off || p.Off-offset <= p.Vaddr {
				return a, true
			}
		}
	}
	return 0, false
}

// Offset returns where in the file the byte at a virtual address is, as far as the file has it.
func (im *Image) Offset(vaddr uint64) (offset uint64, ok bool) {
	if im.elf == nil {
		for _, s := range im.Sections {
			if vaddr >= s.Addr && vaddr-s.Addr < uint64(s.fileSize) {
				return uint64(s.offset) + vaddr - s.Addr, true
			}
		}
		return 0, false
	}
	for _, p := range im.elf.f.Progs {
		if p.Type == elf.PT_LOAD && vaddr >= p.Vaddr && vaddr-p.Vaddr < p.Filesz {
			return p.Off + vaddr - p.Vaddr, true
		}
	}
	return 0, false
}

// AtCode returns the virtual address at an offset of the mapping that has the code. It
// is not ok where there is none or there are several.
func (im *Image) AtCode(offset uint64) (vaddr uint64, ok bool) {
	if im.elf == nil {
		return 0, false
	}
	segments := im.elf.execSegments()
	if len(segments) != 1 {
		return 0, false
	}
	start := segments[0].lo &^ (pageSize - 1)
	return start + offset, offset < segments[0].hi-start
}

// Executable returns the range of executable addresses [lo, hi) that a virtual
// address lies in. Where sections say what is code, they decide, otherwise the
// segments.
func (im *Image) Executable(vaddr uint64) (lo, hi uint64, ok bool) {
	i := sort.Search(len(im.exec), func(i int) bool { return im.exec[i].lo > vaddr })
	if i == 0 || vaddr >= im.exec[i-1].hi {
		return 0, 0, false
	}
	return im.exec[i-1].lo, im.exec[i-1].hi, true
}

// Code returns the ranges [lo, hi) of executable virtual addresses, in
// rising order.
func (im *Image) Code() [][2]uint64 {
	list := make([][2]uint64, len(im.exec))
	for i, r := range im.exec {
		list[i] = [2]uint64{r.lo, r.hi}
	}
	return list
}
