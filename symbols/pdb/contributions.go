package pdb

import (
	"cmp"
	"slices"
	"sort"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// Layouts of the section contributions. The second adds a field at the end.
const (
	contributionsV60 = 0xF12EBA2D
	contributionsV2  = 0xF13151E4
)

// contribution is a piece of a section that came from one module.
type contribution struct {
	off, size uint32
	sec       uint16
	module    uint16
}

func (c *contribution) addr() address { return at(c.sec, c.off) }

// contributions are the pieces of the sections that hold code, by address.
type contributions []contribution

func (d *dbi) readContributions(ss *sections) (contributions, error) {
	if d.contributions.size < 4 {
		return nil, nil
	}
	var w msf.Window
	if err := w.Reset(d.stream, d.contributions.off, d.contributions.off+d.contributions.size); err != nil {
		return nil, message.Errorf("pdb: section contributions: %w", err)
	}
	b, err := w.Bytes(w.Start(), 4)
	if err != nil {
		return nil, message.Errorf("pdb: section contributions: %w", err)
	}
	var step int
	switch v := le.Uint32(b); v {
	case contributionsV60:
		step = 28
	case contributionsV2:
		step = 32
	default:
		return nil, message.Errorf("pdb: section contributions of an unknown layout (%#x at offset %d of the DBI stream): %w",
			v, w.Start(), ErrUnsupported)
	}
	const batch = 1024
	pos := w.Start() + 4
	left := (w.End() - pos) / int64(step)
	all := make(contributions, 0, left)
	for left > 0 {
		n := int(min(left, batch))
		b, err := w.Bytes(pos, n*step)
		if err != nil {
			return nil, message.Errorf("pdb: section contributions: %w", err)
		}
		for ; len(b) >= step; b = b[step:] {
			sec := le.Uint16(b)
			if !ss.isCode(sec) {
				continue
			}
			if c := (contribution{le.Uint32(b[4:]), le.Uint32(b[8:]), sec, le.Uint16(b[16:])}); c.size > 0 {
				all = append(all, c)
			}
		}
		left -= int64(n)
		pos += int64(n * step)
	}
	byAddress := func(a, b contribution) int { return cmp.Compare(a.addr(), b.addr()) }
	if !slices.IsSortedFunc(all, byAddress) {
		slices.SortStableFunc(all, byAddress)
	}
	return all, nil
}

// find returns the contribution that holds an address, or nil.
func (all contributions) find(a address) *contribution {
	i := sort.Search(len(all), func(i int) bool { return all[i].addr() > a })
	if i == 0 {
		return nil
	}
	c := &all[i-1]
	if c.sec != a.section() || a.offset()-c.off >= c.size {
		return nil
	}
	return c
}
