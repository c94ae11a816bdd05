package image

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"
	"strings"

	"logparser/message"
	"logparser/modules"
)

// peHeaders is what later look-ups need of a PE's headers.
type peHeaders struct {
	dirs        [16]directory
	symbols     int64 // file offset of the COFF symbol table, 0 for none
	symbolCount int64
	characters  uint16 // IMAGE_FILE_HEADER.Characteristics
}

// A directory is an entry of the optional header's data directories.
type directory struct{ rva, size uint32 }

const (
	dirExport          = 0
	dirImport          = 1
	dirResource        = 2
	dirException       = 3
	dirCertificates    = 4
	dirRelocations     = 5
	dirDebug           = 6
	dirImportAddresses = 12
	dirCLR             = 14

	clrHeaderSize = 72
	clrILOnly     = 1 << 0 // COMIMAGE_FLAGS_ILONLY

	sectionCode    = 0x20       // IMAGE_SCN_CNT_CODE
	sectionExecute = 0x20000000 // IMAGE_SCN_MEM_EXECUTE
	sectionWrite   = 0x80000000 // IMAGE_SCN_MEM_WRITE

	debugCodeView = 2 // IMAGE_DEBUG_TYPE_CODEVIEW
	// maxDebugEntries and maxPDBPath bound the debug directory; linkers write
	// up to seven entries, and paths are limited to 32 KB on Windows.
	maxDebugEntries = 256
	maxPDBPath      = 32 << 10

	coffSymbolSize = 18
)

func (im *Image) openPE() error {
	le := binary.LittleEndian
	im.Order = le
	dos, err := im.bytesAt(0, 64)
	if err != nil {
		return err
	}
	at := int64(le.Uint32(dos[0x3c:]))
	nt, err := im.bytesAt(at, 24)
	if err != nil {
		return message.Errorf("%w: PE header: %w", ErrFormat, err)
	}
	if string(nt[:4]) != "PE\x00\x00" {
		return message.Errorf("%w: no PE signature at offset %#x", ErrFormat, at)
	}
	h := &peHeaders{}
	im.pe = h
	im.Machine = peMachine(le.Uint16(nt[4:]))
	sections := int64(le.Uint16(nt[6:]))
	timestamp := le.Uint32(nt[8:])
	h.symbols, h.symbolCount = int64(le.Uint32(nt[12:])), int64(le.Uint32(nt[16:]))
	optionalSize := int64(le.Uint16(nt[20:]))
	h.characters = le.Uint16(nt[22:])
	if h.symbols == 0 || h.symbolCount > (im.file.Size-min(h.symbols, im.file.Size))/coffSymbolSize {
		h.symbols, h.symbolCount = 0, 0
	}
	optional, err := im.bytesAt(at+24, optionalSize)
	if err != nil {
		return message.Errorf("optional header: %w", err)
	}
	if err := im.readOptional(optional); err != nil {
		return err
	}
	im.Identity = modules.Identity{Timestamp: timestamp, ImageSize: uint32(im.Size)}

	table, err := im.bytesAt(at+24+optionalSize, sections*40)
	if err != nil {
		return message.Errorf("section table: %w", err)
	}
	for i := int64(0); i < sections; i++ {
		im.Sections = append(im.Sections, im.newPESection(int(i)+1, table[i*40:i*40+40]))
	}
	im.readDebugDirectory()
	im.readLinks()
	return nil
}

func peMachine(m uint16) string {
	switch m {
	case 0x14c:
		return "x86"
	case 0x8664:
		return "x86-64"
	case 0x1c0, 0x1c2, 0x1c4:
		return "arm"
	case 0xaa64, 0xa641, 0xa64e:
		return "arm64"
	}
	return fmt.Sprintf("machine %#x", m)
}

func (im *Image) readOptional(b []byte) error {
	le := binary.LittleEndian
	var count, dirs int
	switch {
	case len(b) >= 96 && le.Uint16(b) == 0x10b:
		im.PointerSize = 4
		im.Base = uint64(le.Uint32(b[28:]))
		count, dirs = int(le.Uint32(b[92:])), 96
	case len(b) >= 112 && le.Uint16(b) == 0x20b:
		im.PointerSize = 8
		im.Base = le.Uint64(b[24:])
		count, dirs = int(le.Uint32(b[108:])), 112
	case len(b) >= 2:
		return message.Errorf("optional header of %d bytes with magic %#x", len(b), le.Uint16(b))
	default:
		return message.New("no optional header")
	}
	im.Size = uint64(le.Uint32(b[56:]))
	for i := 0; i < count && i < len(im.pe.dirs) && dirs+8 <= len(b); i++ {
		im.pe.dirs[i] = directory{le.Uint32(b[dirs:]), le.Uint32(b[dirs+4:])}
		dirs += 8
	}
	return nil
}

func (im *Image) newPESection(index int, b []byte) *Section {
	le := binary.LittleEndian
	virtualSize, rva := le.Uint32(b[8:]), le.Uint32(b[12:])
	rawSize, offset, flags := le.Uint32(b[16:]), le.Uint32(b[20:]), le.Uint32(b[36:])
	s := &Section{
		Index: index, im: im,
		Addr: im.Base + uint64(rva), MemSize: uint64(virtualSize),
		offset: int64(offset), fileSize: int64(rawSize),
		Exec: flags&(sectionCode|sectionExecute) != 0, Writable: flags&sectionWrite != 0,
	}
	if virtualSize == 0 {
		s.MemSize = uint64(rawSize)
	} else if virtualSize < rawSize {
		// The rest is padding up to the file alignment.
		s.fileSize = int64(virtualSize)
	}
	s.Size = s.fileSize
	s.NoBits = offset == 0 || rawSize == 0
	s.Name = im.peSectionName(b[:8])
	if strings.HasPrefix(s.Name, ".zdebug_") && !s.NoBits {
		if n, ok := zdebugSize(im.file, s.offset); ok {
			s.Size, s.compression = n, zlibName
		}
	}
	return s
}

// peSectionName returns the name in a section header; names of more than
// eight bytes lie in the COFF string table.
func (im *Image) peSectionName(b []byte) string {
	name, _, _ := strings.Cut(string(b), "\x00")
	if !strings.HasPrefix(name, "/") || im.pe.symbols == 0 {
		return name
	}
	off, err := strconv.ParseUint(name[1:], 10, 32)
	if err != nil {
		return name
	}
	long, err := im.coffString(int64(off), 256)
	if err != nil {
		return name
	}
	return long
}

// coffString reads a string of at most limit bytes at an offset of the COFF
// string table.
func (im *Image) coffString(off, limit int64) (string, error) {
	at := im.pe.symbols + im.pe.symbolCount*coffSymbolSize + off
	b, err := im.bytesAt(at, min(limit, max(0, im.file.Size-at)))
	if err != nil {
		return "", err
	}
	return cString(b, off)
}

// readDebugDirectory takes the CodeView record: GUID, age and path of the PDB.
// MinGW's ld writes one with an empty path for --build-id.
func (im *Image) readDebugDirectory() {
	le := binary.LittleEndian
	d := im.pe.dirs[dirDebug]
	n := min(int64(d.size)/28, maxDebugEntries)
	if d.rva == 0 || n == 0 {
		return
	}
	entries, err := im.ReadRVA(uint64(d.rva), n*28)
	if err != nil {
		return
	}
	for ; len(entries) >= 28; entries = entries[28:] {
		size, off := int64(le.Uint32(entries[16:])), int64(le.Uint32(entries[24:]))
		if le.Uint32(entries[12:]) != debugCodeView || size < 24 || off == 0 {
			continue
		}
		b, err := im.bytesAt(off, min(size, 24+maxPDBPath))
		if err != nil || string(b[:4]) != "RSDS" {
			continue
		}
		copy(im.Identity.PDB[:], b[4:20])
		im.Identity.Age = le.Uint32(b[20:])
		im.PDBPath, _, _ = strings.Cut(string(b[24:]), "\x00")
		return
	}
}

// ReadRVA reads n bytes from an address of the image, relative to Base. They
// must lie in one section's contents (or, in a PE, in the headers).
func (im *Image) ReadRVA(rva uint64, n int64) ([]byte, error) {
	addr := im.Base + rva
	for _, s := range im.Sections {
		if s.NoBits || s.compression != stored || s.Addr == 0 && im.Kind == ELF || addr < s.Addr || addr-s.Addr >= uint64(s.fileSize) {
			continue
		}
		at := int64(addr - s.Addr)
		if n > s.fileSize-at {
			break
		}
		return im.bytesAt(s.offset+at, n)
	}
	return nil, message.Errorf("%d bytes at RVA %#x: %w", n, rva, io.ErrUnexpectedEOF)
}

// ManagedOnly reports whether a PE has managed code (.NET) and no native code:
// what lies in its sections does not run there. Images with both, and those
// that were compiled ahead of time, have native code.
func (im *Image) ManagedOnly() bool {
	if im.pe == nil || im.pe.dirs[dirCLR].rva == 0 {
		return false
	}
	h, err := im.ReadRVA(uint64(im.pe.dirs[dirCLR].rva), clrHeaderSize)
	if err != nil {
		return false
	}
	flags, native := binary.LittleEndian.Uint32(h[16:]), binary.LittleEndian.Uint32(h[64:])
	return flags&clrILOnly != 0 && native == 0
}

// COFF returns the records of a PE's COFF symbol table, 18 bytes each, and its
// string table, whose offsets count from the table's own length field. Both
// are nil where there is none.
func (im *Image) COFF() (records, strings *Content) {
	if im.pe == nil || im.pe.symbolCount == 0 {
		return nil, nil
	}
	n := im.pe.symbolCount * coffSymbolSize
	at := im.pe.symbols + n
	size := im.file.Size - at
	if b, err := im.bytesAt(at, 4); err == nil {
		size = min(size, int64(binary.LittleEndian.Uint32(b)))
	}
	return im.stored(im.pe.symbols, n), im.stored(at, size)
}

// ExceptionDirectory returns where a PE's table of functions and their unwind rules lies:
// its RVA and its size in bytes. Both are 0 where there is none.
func (im *Image) ExceptionDirectory() (rva, size uint32) {
	if im.pe == nil {
		return 0, 0
	}
	d := im.pe.dirs[dirException]
	return d.rva, d.size
}

// ResourceDirectory returns where a PE's resources lie: their RVA and size in bytes. Both are 0
// where there are none.
func (im *Image) ResourceDirectory() (rva, size uint32) {
	if im.pe == nil {
		return 0, 0
	}
	d := im.pe.dirs[dirResource]
	return d.rva, d.size
}

// Certificates returns a PE's first entry of its table of certificates, with its head, nil where there is
// none or one larger than limit bytes.
func (im *Image) Certificates(limit uint32) []byte {
	if im.pe == nil {
		return nil
	}
	// This directory has an offset in the file.
	d := im.pe.dirs[dirCertificates]
	if d.rva == 0 || d.size < 8 {
		return nil
	}
	head, err := im.bytesAt(int64(d.rva), 8)
	if err != nil {
		return nil
	}
	length := binary.LittleEndian.Uint32(head)
	if length < 8 || length > min(d.size, limit) {
		return nil
	}
	b, err := im.bytesAt(int64(d.rva), int64(length))
	if err != nil {
		return nil
	}
	return b
}
