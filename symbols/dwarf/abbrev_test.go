package dwarf

import (
	"bytes"
	std "debug/dwarf"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"
)

// smallUnits makes units of DWARF 4 that have nothing but the code of a root entry. where tells the offset of a unit's
// abbreviations and that code.
func smallUnits(n int, where func(i int) (off uint32, code uint64)) []byte {
	var m, root maker
	for i := range n {
		off, code := where(i)
		root.Reset()
		root.uleb(code)
		m.u32(uint32(7 + root.Len()))
		m.u16(4)
		m.u32(off)
		m.u8(8)
		m.Write(root.Bytes())
	}
	return m.Bytes()
}

// TestHostileAbbreviations opens files of whose units each might make the reader go through all abbreviations.
func TestHostileAbbreviations(t *testing.T) {
	endless := bytes.Repeat([]byte{0x80}, 3<<20) // more than is kept in memory as a whole
	const many = 70_000                          // more than maxUnits
	var table maker
	for code := range uint64(maxAbbrevs) {
		table.abbrev(code+1, std.TagCompileUnit, false)
	}
	table.u8(0)
	const kinds = 500
	for _, c := range []struct {
		name   string
		abbrev []byte
		info   []byte
		units  int
		want   string
		most   int64 // bytes that may be scanned
	}{
		{"one without an end", endless, smallUnits(many, func(int) (uint32, uint64) { return 0, 1 }), 0, "more than", 6 << 20},
		{"many without an end", endless, smallUnits(many, func(i int) (uint32, uint64) { return uint32(i), 1 }), 0, "more than", 6 << 20},
		{"many, the last first", endless, smallUnits(many, func(i int) (uint32, uint64) { return uint32(3<<20 - 1 - i), 1 }), 0, "more than", 6 << 20},
		{"many kinds of roots", table.Bytes(), smallUnits(kinds, func(i int) (uint32, uint64) {
			if i == 0 || i == kinds-1 {
				return 0, 1
			}
			return 0, uint64(maxAbbrevs + i)
		}), 2, "no abbreviation", maxScanned(int64(table.Len())) + 3*int64(table.Len())},
	} {
		opened := openMade(t, map[string][]byte{"info": c.info, "abbrev": c.abbrev})
		opened.indexOnce.Do(opened.buildIndex)
		src := opened.src
		if err := fmt.Sprint(opened.indexErr); len(src.units) != c.units || !strings.Contains(err, c.want) {
			t.Errorf("%s: %d units, want %d; error %s, want %q", c.name, len(src.units), c.units, err, c.want)
		}
		if src.abbrev.scanned == 0 || src.abbrev.scanned > c.most {
			t.Errorf("%s: %d bytes of %d were scanned, the most is %d", c.name, src.abbrev.scanned, len(c.abbrev), c.most)
		}
		if n := cap(src.abbrev.buffer); n > maxBuffer {
			t.Errorf("%s: %d bytes of memory are kept for the next table", c.name, n)
		}
	}
}

// TestExtents enters extents in any order and looks for those around each place.
func TestExtents(t *testing.T) {
	rng := rand.New(rand.NewSource(3))
	const last = 4 * maxBlock
	for name, order := range map[string]func(i int) int{
		"upwards":   func(i int) int { return i },
		"downwards": func(i int) int { return last - 1 - i },
		"any":       func(order []int) func(i int) int { return func(i int) int { return order[i] } }(rng.Perm(last)),
	} {
		var x extents
		var begins []int64
		for i := range last {
			off := int64(10 * order(i))
			x.add(extent{off: off, end: off + 2})
			if i%3 == 0 {
				x.add(extent{off: off, end: off + 5, err: errTruncated})
				x.add(extent{off: off, end: off + 3})
			}
			begins = append(begins, off)
			if i%97 != 0 && i < last-1 {
				continue
			}
			slices.Sort(begins)
			for _, at := range []int64{-1, 0, 1, off - 1, off, off + 1, 10 * last, 10 * int64(rng.Intn(last))} {
				k, same := slices.BinarySearch(begins, at)
				if same {
					k++
				}
				before, next := x.around(at)
				if k > 0 != (before != nil) || k > 0 && before.off != begins[k-1] || k < len(begins) != (next != nil) || k < len(begins) && next.off != begins[k] {
					t.Fatalf("%s, %d entered: around %d are %v and %v", name, i+1, at, before, next)
				}
			}
		}
		longer := 0
		for _, block := range x.blocks {
			if len(block) > maxBlock {
				t.Errorf("%s: a block of %d", name, len(block))
			}
			for _, e := range block {
				if e.err != nil && e.end == e.off+5 {
					longer++
				} else if e.err != nil || e.end != e.off+2 {
					t.Errorf("%s: %v", name, e)
				}
			}
		}
		if longer != (last+2)/3 {
			t.Errorf("%s: %d extents were made longer", name, longer)
		}
	}
}
