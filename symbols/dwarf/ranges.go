package dwarf

import (
	"logparser/message"
	"logparser/symbols/image"
)

// A span is a range of addresses, [lo, hi).
type span struct{ lo, hi uint64 }

var errTooManyRanges = message.New("too many address ranges")

// A coder reads addresses and range lists for the entries of a unit. For a
// split unit they lie in the file of its skeleton.
type coder struct {
	u    *unit // whose entries are read
	addr *unit // whose .debug_addr and .debug_ranges count: u or its skeleton
	// code reports whether a range is code of the image.
	code func(span) bool

	addresses *image.Content
	lists     window // of .debug_rnglists or .debug_ranges
	listsErr  error
	// left is how many more ranges may be read; it bounds lists that many
	// entries share.
	left int
	list buf // what a list is read with
}

func newCoder(u, skeleton *unit, code func(span) bool, limit int) *coder {
	c := &coder{u: u, addr: u, code: code, left: limit}
	if skeleton != nil {
		c.addr = skeleton
	}
	c.addresses, _ = c.addr.src.section("addr")
	var section *image.Content
	if u.version >= 5 {
		section, c.listsErr = u.src.section("rnglists")
	} else {
		section, c.listsErr = c.addr.src.section("ranges")
	}
	c.lists.c = section
	return c
}

func (c *coder) mask(a uint64) uint64 {
	switch c.u.addrSize {
	case 4:
		return a & 0xffffffff
	case 2:
		return a & 0xffff
	}
	return a
}

// address returns the address that a value stands for.
func (c *coder) address(v value) (uint64, error) {
	switch v.form {
	case formAddr:
		return v.u, nil
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return c.indexed(v.u)
	}
	return 0, message.Errorf("address of form %#x", v.form)
}

// indexed returns an address of .debug_addr.
func (c *coder) indexed(i uint64) (uint64, error) {
	base := int64(0)
	if b := c.addr.root.addrBase; b.present() {
		base = int64(b.u)
	} else if c.addr.version >= 5 {
		base = 4 + int64(c.addr.offsetSize) // the header of the only table
		if c.addr.offsetSize == 8 {
			base = 16
		}
	}
	size := int64(c.u.addrSize)
	if i > uint64(c.addresses.Size()) {
		return 0, message.Errorf(".debug_addr: index %d: %w", i, errTruncated)
	}
	data, err := c.addresses.Bytes(base+int64(i)*size, size)
	if err != nil {
		return 0, message.Errorf(".debug_addr: %w", err)
	}
	b := buf{b: data, big: c.addr.src.big}
	return b.uint(int(size)), nil
}

// spans appends the code ranges of an entry with these attributes: those that
// are empty, or that the linker dropped (their addresses are 0, 1, -1 or -2
// with whatever was added), do not lie in code and are left out.
func (c *coder) spans(out []span, low, high, ranges value) ([]span, error) {
	if ranges.present() {
		return c.ranges(out, ranges)
	}
	if !low.present() || !high.present() {
		return out, nil
	}
	lo, err := c.address(low)
	if err != nil {
		return out, err
	}
	var hi uint64
	if high.constant() {
		hi = c.mask(lo + high.u)
	} else if hi, err = c.address(high); err != nil {
		return out, err
	}
	return c.add(out, lo, hi)
}

func (c *coder) add(out []span, lo, hi uint64) ([]span, error) {
	if lo >= hi || !c.code(span{lo, hi}) {
		return out, nil
	}
	if c.left--; c.left < 0 {
		return out, message.Errorf("%w for a unit of %d bytes", errTooManyRanges, c.u.end-c.u.off)
	}
	return append(out, span{lo, hi}), nil
}

// base is what relative ranges of the unit are relative to.
func (c *coder) base() uint64 {
	if low := c.addr.root.lowPC; low.present() {
		if a, err := c.address(low); err == nil {
			return a
		}
	}
	return 0
}

func (c *coder) ranges(out []span, v value) ([]span, error) {
	if c.listsErr != nil {
		return out, c.listsErr
	}
	if c.u.version >= 5 {
		off, err := c.listOffset(v)
		if err != nil {
			return out, err
		}
		return c.pieces(out, off, "rnglists", (*coder).rnglist)
	}
	off := int64(v.u)
	if c.u != c.addr && c.addr.root.gnuRangesBase.present() {
		off += int64(c.addr.root.gnuRangesBase.u)
	}
	return c.pieces(out, off, "ranges", (*coder).rangeList)
}

// listOffset returns the offset in .debug_rnglists that a value refers to.
func (c *coder) listOffset(v value) (int64, error) {
	if v.form != formRnglistx {
		return int64(v.u) + c.u.sections.rnglists, nil
	}
	header := int64(12)
	if c.u.offsetSize == 8 {
		header = 20
	}
	base := header + c.u.sections.rnglists
	if b := c.u.root.rnglistsBase; b.present() && !c.u.src.split {
		base = int64(b.u)
	}
	size := int64(c.u.offsetSize)
	if v.u > uint64(c.lists.c.Size()) {
		return 0, message.Errorf(".debug_rnglists: index %d: %w", v.u, errTruncated)
	}
	data, err := c.lists.at(base+int64(v.u)*size, size)
	if err != nil {
		return 0, message.Errorf(".debug_rnglists: %w", err)
	}
	b := buf{b: data, big: c.u.src.big}
	off := base + int64(b.uint(int(size)))
	if b.failed {
		return 0, message.Errorf(".debug_rnglists: index %d: %w", v.u, errTruncated)
	}
	return off, nil
}

// pieces appends the ranges that decode finds in the list at an offset. It is given more and more bytes until it has seen
// the list's end.
func (c *coder) pieces(out []span, off int64, name string, decode func(c *coder, out []span, off int64) ([]span, error)) ([]span, error) {
	first := len(out)
	for n := int64(256); ; n *= 8 {
		data, err := c.lists.at(off, n)
		if err != nil {
			return out, message.Errorf(".debug_%s: %w", name, err)
		}
		c.list = buf{b: data, big: c.u.src.big}
		left := c.left
		out, err = decode(c, out[:first], off)
		if !c.list.failed {
			return out, err
		}
		if int64(len(data)) < n {
			return out, message.Errorf(".debug_%s: list at offset %#x: %w", name, off, errTruncated)
		}
		c.left = left
	}
}

// Kinds of range list entries (DWARF 5, table 7.30).
const (
	rleEndOfList    = 0
	rleBaseAddressx = 1
	rleStartxEndx   = 2
	rleStartxLength = 3
	rleOffsetPair   = 4
	rleBaseAddress  = 5
	rleStartEnd     = 6
	rleStartLength  = 7
)

// rnglist reads a list of .debug_rnglists (DWARF 5).
func (c *coder) rnglist(out []span, off int64) ([]span, error) {
	b := &c.list
	base := c.base()
	size := int(c.u.addrSize)
	for !b.failed {
		var lo, hi uint64
		var err, err2 error
		switch kind := b.u8(); kind {
		case rleEndOfList:
			return out, nil
		case rleBaseAddressx:
			base, err = c.indexed(b.uleb())
			if err != nil && !b.failed {
				return out, err
			}
			continue
		case rleStartxEndx:
			lo, err = c.indexed(b.uleb())
			hi, err2 = c.indexed(b.uleb())
		case rleStartxLength:
			lo, err = c.indexed(b.uleb())
			hi = lo + b.uleb()
		case rleOffsetPair:
			lo, hi = b.uleb(), b.uleb()
			if c.tombstone(base) {
				continue
			}
			lo, hi = base+lo, base+hi
		case rleBaseAddress:
			base = b.uint(size)
			continue
		case rleStartEnd:
			lo, hi = b.uint(size), b.uint(size)
		case rleStartLength:
			lo = b.uint(size)
			hi = lo + b.uleb()
		default:
			if b.failed {
				return out, nil
			}
			return out, message.Errorf(".debug_rnglists: unknown entry kind %d in the list at offset %#x", kind, off)
		}
		if b.failed {
			return out, nil
		}
		if err == nil {
			err = err2
		}
		if err == nil {
			out, err = c.add(out, lo, c.mask(hi))
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// rangeList reads a list of .debug_ranges (DWARF 2 to 4).
func (c *coder) rangeList(out []span, _ int64) ([]span, error) {
	b := &c.list
	base := c.base()
	size := int(c.u.addrSize)
	for {
		lo, hi := b.uint(size), b.uint(size)
		switch {
		case b.failed, lo == 0 && hi == 0:
			return out, nil
		case lo == c.mask(^uint64(0)):
			base = hi
		case c.tombstone(base):
		default:
			var err error
			if out, err = c.add(out, c.mask(base+lo), c.mask(base+hi)); err != nil {
				return out, err
			}
		}
	}
}

// tombstone reports whether an address is one that linkers write for code that
// they dropped.
func (c *coder) tombstone(a uint64) bool {
	top := c.mask(^uint64(0))
	return a == top || a == top-1
}
