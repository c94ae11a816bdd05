package gosym

import (
	"bytes"
	"strings"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/image"
)

const (
	// window is how much of a section is read at a time where it is searched,
	// in bytes.
	window = 256 << 10
	// maxCandidates bounds the places that look like a header and are tried.
	maxCandidates = 8
)

// sectionNames are the names that the linker gives the section; the second is
// that of position-independent programs before Go 1.26.
var sectionNames = []string{".gopclntab", ".data.rel.ro.gopclntab"}

// findPclntab finds the pclntab of an image, and where it lies in memory. The
// error wraps [symbols.ErrNoSymbols] where there is none.
func findPclntab(im *image.Image) (*pclntab, uint64, error) {
	for _, name := range sectionNames {
		if s := im.Section(name); s != nil && !s.NoBits {
			t, addr, err := searchSection(im, s, 1)
			if t == nil && err == nil {
				err = message.New("no header")
			}
			if err != nil {
				err = message.Errorf("section %s: %w", name, err)
			}
			return t, addr, err
		}
	}
	for _, s := range im.Sections {
		if !mayHold(im, s) {
			continue
		}
		if t, addr, err := searchSection(im, s, maxCandidates); t != nil || err != nil {
			return t, addr, err
		}
	}
	return nil, 0, symbols.ErrNoSymbols
}

// mayHold reports whether a section other than those of the linker's names may
// hold the table: read-only data of a PE, and, where other sections say that
// there is Go code in it, of an ELF file that a C linker made.
func mayHold(im *image.Image, s *image.Section) bool {
	if s.NoBits || s.Exec || s.Compressed() || s.Size < headerSize {
		return false
	}
	if im.Kind == image.PE {
		return s.Name == ".rdata" || s.Name == ".data"
	}
	if s.Name != ".data.rel.ro" && s.Name != ".rodata" {
		return false
	}
	for _, s := range im.Sections {
		if strings.HasPrefix(s.Name, ".go.") || strings.HasPrefix(s.Name, ".note.go.") {
			return true
		}
	}
	return false
}

// searchSection looks for a table in a section, in at most limit places that
// look like one. Without one it returns nil.
func searchSection(im *image.Image, s *image.Section, limit int) (t *pclntab, addr uint64, err error) {
	c, err := s.Content()
	if err != nil {
		return nil, 0, err
	}
	// The bytes from the first such place on: the others are further on.
	var data []byte
	var from int64
	var failure error
	err = eachHeader(c, im, func(off int64, h header) bool {
		if data == nil {
			if data, failure = c.Bytes(off, c.Size()-off); failure != nil {
				return false
			}
			from = off
			if h.version < go118 {
				data = relocated(im, s.Addr+uint64(off), data)
			}
		}
		t, failure = newPclntab(data[off-from:], h)
		if failure == nil {
			failure = t.check()
		}
		if failure == nil {
			addr = s.Addr + uint64(off)
			return false
		}
		t = nil
		limit--
		return limit > 0
	})
	if t == nil {
		if err == nil && failure != nil && limit == 0 {
			err = failure
		}
		return nil, 0, err
	}
	return t, addr, nil
}

// eachHeader calls visit with every place of a section that looks like a
// header, until it returns false.
func eachHeader(c *image.Content, im *image.Image, visit func(off int64, h header) bool) error {
	var buf []byte
	// What the magic numbers share, with the two zeros behind them.
	pattern := []byte{0xff, 0xff, 0xff, 0, 0}
	before := int64(1)
	if im.Order.String() == "BigEndian" {
		pattern, before = []byte{0xff, 0xff, 0xff}, 0
	}
	for off := int64(0); off < c.Size(); off += window {
		b, err := c.ReadInto(&buf, off, min(window+headerSize, c.Size()-off))
		if err != nil {
			return err
		}
		for at := 0; at < window; at++ {
			i := bytes.Index(b[at:], pattern)
			if i < 0 {
				break
			}
			at += i
			// Tables lie at multiples of four, and so do windows.
			start := int64(at) - before
			if start < 0 || start%4 != 0 {
				continue
			}
			h, ok := parseHeader(b[start:])
			if ok && h.order == im.Order && h.pointer == im.PointerSize && !visit(off+start, h) {
				return nil
			}
		}
	}
	return nil
}
