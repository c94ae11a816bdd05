package image

import (
	"encoding/binary"

	"logparser/message"
)

const (
	// maxExports bounds a PE's export table: ordinals are 16 bits wide.
	maxExports = 1 << 16
	// maxExportName bounds an exported name, in bytes; MSVC's longest
	// decorated names have 4,096.
	maxExportName = 8 << 10
	// maxExportBytes bounds the names of an export table together, which may
	// overlap in the file.
	maxExportBytes = 16 << 20
)

// An Export is a named entry of a PE's export table.
type Export struct {
	Name string
	RVA  uint64
}

// Exports returns the named exports that point into the image itself;
// forwarders to other modules and entries without a name are left out. A nil
// slice means that there is no export table.
func (im *Image) Exports() ([]Export, error) {
	if im.pe == nil || im.pe.dirs[dirExport].rva == 0 {
		return nil, nil
	}
	le := binary.LittleEndian
	dir := im.pe.dirs[dirExport]
	fail := func(err error) ([]Export, error) {
		return nil, message.Errorf("%s: export table at RVA %#x: %w", im.file.Path, dir.rva, err)
	}
	head, err := im.ReadRVA(uint64(dir.rva), 40)
	if err != nil {
		return fail(err)
	}
	functions, names := int64(le.Uint32(head[20:])), int64(le.Uint32(head[24:]))
	if functions > maxExports || names > maxExports {
		return fail(message.Errorf("%d functions and %d names, the limit is %d", functions, names, maxExports))
	}
	if names == 0 || functions == 0 {
		return nil, nil
	}
	addrs, err := im.ReadRVA(uint64(le.Uint32(head[28:])), functions*4)
	if err != nil {
		return fail(err)
	}
	namePtrs, err := im.ReadRVA(uint64(le.Uint32(head[32:])), names*4)
	if err != nil {
		return fail(err)
	}
	ordinals, err := im.ReadRVA(uint64(le.Uint32(head[36:])), names*2)
	if err != nil {
		return fail(err)
	}
	var out []Export
	total := 0
	for i := int64(0); i < names; i++ {
		ordinal := int64(le.Uint16(ordinals[i*2:]))
		if ordinal >= functions {
			continue
		}
		rva := le.Uint32(addrs[ordinal*4:])
		if rva == 0 || rva >= dir.rva && rva-dir.rva < dir.size {
			continue
		}
		name := im.stringRVA(uint64(le.Uint32(namePtrs[i*4:])), maxExportName)
		if name == "" {
			continue
		}
		if total += len(name); total > maxExportBytes {
			return fail(message.Errorf("names of more than %d bytes", maxExportBytes))
		}
		out = append(out, Export{name, uint64(rva)})
	}
	return out, nil
}

// stringRVA returns the NUL-terminated string at an RVA, or "" where there is
// none of at most limit bytes.
func (im *Image) stringRVA(rva uint64, limit int64) string {
	addr := im.Base + rva
	for _, s := range im.Sections {
		if s.NoBits || addr < s.Addr || addr-s.Addr >= uint64(s.fileSize) {
			continue
		}
		c, err := s.Content()
		if err != nil {
			return ""
		}
		name, err := c.String(int64(addr - s.Addr))
		if err != nil || int64(len(name)) > limit {
			return ""
		}
		return name
	}
	return ""
}

// FunctionTable returns the records of an x64 PE's exception directory, 12
// bytes each: RVAs of a function part's begin, end and unwind data. It is nil
// where there is none.
func (im *Image) FunctionTable() []byte {
	if im.pe == nil || im.Machine != "x86-64" {
		return nil
	}
	d := im.pe.dirs[dirException]
	if d.rva == 0 || d.size < 12 {
		return nil
	}
	b, err := im.ReadRVA(uint64(d.rva), int64(d.size/12*12))
	if err != nil {
		return nil
	}
	return b
}
