package pdb

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/pdb/msf/msftest"
	"logparser/symbols/symtest"
)

// An arrangement says how a tool has rearranged an image after it was linked,
// and what it has put down about that.
type arrangement struct {
	name string
	// reorder puts the pieces into another order.
	reorder bool
	// inserted are the lengths of instructions put in front of each piece, or
	// only of one in every.
	inserted []uint32
	every    int
	// whole keeps what is between the procedures, so that long runs of the
	// image are as they were.
	whole bool
	// claim says which place of the original the inserted code is given.
	claim claim
	// grow is how many bytes longer the last instruction of a piece became.
	grow uint32
	// padding is how many bytes there are at most between pieces.
	padding uint32
	// open leaves out the entries that say that bytes were nowhere.
	open bool
	// reverse is what the table of the other direction has.
	reverse reverse
}

// claim is the place that inserted code is given.
type claim int

const (
	claimNothing claim = iota
	claimEqual         // as many bytes of the piece as it is long
	claimPiece         // the whole piece
)

// reverse is how a tool makes the table from the original to the image where
// several ranges of the image claim the same bytes.
type reverse int

const (
	// reverseAll has each range, the code itself first.
	reverseAll reverse = iota
	// reverseShortest has the shortest range of those that overlap, and calls
	// the others gone.
	reverseShortest
	// reverseFirstBytes has the first byte of each piece and calls the rest
	// gone.
	reverseFirstBytes
)

// arrangements are the kinds of tables that tools write.
var arrangements = []arrangement{
	{name: "moved", reorder: true, reverse: reverseAll},
	{name: "moved, gaps left open", reorder: true, padding: 9, open: true},
	{name: "stretched", inserted: []uint32{10}},
	{name: "stretched and moved", reorder: true, inserted: []uint32{10}, padding: 5},
	{name: "stretched, gaps filled, first bytes kept", inserted: []uint32{1, 5, 4, 1}, claim: claimEqual, reverse: reverseShortest, open: true},
	{name: "stretched, first bytes kept", reorder: true, inserted: []uint32{1, 5, 4, 1}, claim: claimEqual, reverse: reverseShortest, padding: 7},
	{name: "stretched, gaps filled", inserted: []uint32{10}, claim: claimPiece, reverse: reverseShortest},
	{name: "stretched and moved, gaps filled", reorder: true, inserted: []uint32{1, 10}, claim: claimPiece, reverse: reverseShortest},
	{name: "only first bytes", reverse: reverseFirstBytes},
	{name: "only first bytes, moved", reorder: true, reverse: reverseFirstBytes, padding: 9},
	// Without an entry for the gaps, code that is gone cannot be told from what
	// the second table only calls so.
	{name: "only first bytes, moved, gaps left open", whole: true, reorder: true, reverse: reverseFirstBytes, padding: 9, open: true},
	{name: "only first bytes, stretched", inserted: []uint32{6}, reverse: reverseFirstBytes},
	{name: "only first bytes, stretched, gaps left open", whole: true, inserted: []uint32{6}, reverse: reverseFirstBytes, open: true},
	{name: "only first bytes, stretched and moved", whole: true, reorder: true, inserted: []uint32{200}, reverse: reverseFirstBytes, open: true},
	{name: "stretched here and there, gaps filled", whole: true, every: 6, inserted: []uint32{10}, claim: claimPiece, reverse: reverseShortest},
	{name: "stretched here and there, first bytes kept", whole: true, every: 6, inserted: []uint32{1, 5, 4, 1}, claim: claimEqual, reverse: reverseShortest},
	{name: "stretched here and there, gaps left open", whole: true, every: 6, inserted: []uint32{1, 5, 4, 1}, claim: claimEqual, reverse: reverseShortest, open: true},
	{name: "moved here and there, only first bytes", whole: true, every: 6, inserted: []uint32{20}, reverse: reverseFirstBytes},
	{name: "longer instructions", grow: 3},
	{name: "longer instructions, moved", reorder: true, grow: 3},
	{name: "longer instructions, moved, padding", reorder: true, grow: 4, padding: 8},
	{name: "longer instructions, stretched", inserted: []uint32{10}, grow: 3, padding: 20},
}

// codePiece is a run of code that stays together.
type codePiece struct{ start, end uint32 }

// What a byte of a rearranged image is.
type origin struct {
	kind originKind
	// source is the byte of the original that it was, or the last one of the
	// instruction that it belongs to. before and behind are bytes of the code
	// in front of it and behind it.
	source, before, behind uint32
}

type originKind int

const (
	originCode     originKind = iota
	originGrown               // a byte that an instruction has become longer by
	originClaimed             // inserted code with a place in the piece behind it
	originInserted            // inserted code without one, and padding
)

// codePieces cuts the procedures of a table into runs of random length. whole
// has what is between procedures too. The last run of a procedure has two
// bytes at least: of a single one with one byte in the reverse table, and
// nothing behind it, no table tells whether it has become longer.
func codePieces(t testing.TB, table *Table, whole bool, r *rand.Rand) []codePiece {
	t.Helper()
	var list []codePiece
	err := table.Procedures(func(rva uint64, _ string) bool {
		if s, err := table.Lookup(rva); err == nil && s.Start == rva && s.Size > 0 {
			list = append(list, codePiece{uint32(rva), uint32(rva + s.Size)})
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b codePiece) int { return cmp.Compare(a.start, b.start) })
	var pieces []codePiece
	end := uint32(0)
	for _, p := range list {
		if p.start < end {
			continue
		}
		if whole && end > 0 && p.start > end && p.start-end < 0x1000 {
			pieces = append(pieces, codePiece{end, p.start})
		}
		for end = p.end; p.end-p.start > 8 && r.IntN(3) > 0; {
			n := 1 + r.Uint32N(p.end-p.start-2)
			pieces = append(pieces, codePiece{p.start, p.start + n})
			p.start += n
		}
		pieces = append(pieces, p)
	}
	return pieces
}

// claimed is one range of the image and what of the original it was.
type claimed struct{ to, length, from, original uint32 }

// tables lays the pieces out and returns what the tool says about it, and
// what each byte is from the image's first one on.
func (a *arrangement) tables(pieces []codePiece, r *rand.Rand) (toSource, fromSource omap, base uint32, origins []origin) {
	base = pieces[0].start
	order := slices.Clone(pieces)
	if a.reorder {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	var ranges []claimed
	at := func() uint32 { return base + uint32(len(origins)) }
	fill := func(n uint32, o origin) {
		for range n {
			origins = append(origins, o)
		}
	}
	before := uint32(0)
	for _, p := range order {
		size := p.end - p.start
		inserted := a.inserted
		if a.every > 0 && r.IntN(a.every) > 0 {
			inserted = nil
		}
		for _, n := range inserted {
			switch a.claim {
			case claimNothing:
				fill(n, origin{kind: originInserted, before: before, behind: p.start})
				continue
			case claimEqual:
				// Where the piece is shorter, its bytes are claimed again.
				ranges = append(ranges, claimed{at(), n, p.start, min(n, size)})
			case claimPiece:
				ranges = append(ranges, claimed{at(), n, p.start, size})
			}
			fill(n, origin{kind: originClaimed, source: p.start})
		}
		ranges = append(ranges, claimed{at(), size + a.grow, p.start, size})
		for s := p.start; s < p.end; s++ {
			origins = append(origins, origin{source: s})
		}
		fill(a.grow, origin{kind: originGrown, source: p.end - 1})
		before = p.end - 1
		if a.padding > 0 {
			fill(r.Uint32N(a.padding+1), origin{kind: originInserted, before: before, behind: before})
		}
	}
	end := at()
	ranges = joined(ranges)
	toSource = a.forward(ranges, base, end)
	fromSource = a.backward(ranges, pieces[len(pieces)-1].end)
	return toSource, fromSource, base, origins
}

// joined makes one range of those that go on in the image and in the original.
func joined(ranges []claimed) []claimed {
	var list []claimed
	for _, c := range ranges {
		if n := len(list) - 1; n >= 0 && c.length == c.original {
			if p := &list[n]; p.length == p.original && p.to+p.length == c.to && p.from+p.original == c.from {
				p.length += c.length
				p.original += c.original
				continue
			}
		}
		list = append(list, c)
	}
	return list
}

// forward makes the table from the image to the original.
func (a *arrangement) forward(ranges []claimed, base, end uint32) omap {
	var m omap
	next := base
	for _, c := range ranges {
		if next < c.to && !a.open {
			m = append(m, omapEntry{next, 1 << 31})
		}
		m = append(m, omapEntry{c.to, c.from})
		// Of inserted code that is longer than what it claims, the rest
		// claims that again. A longer instruction has no entry of its own.
		if next = c.to + c.length; c.length > c.original && c.length-c.original != a.grow {
			for off := c.original; off < c.length; off += c.original {
				m = append(m, omapEntry{c.to + off, c.from})
			}
		}
	}
	if next < end && !a.open {
		m = append(m, omapEntry{next, 1 << 31})
	}
	return append(m, omapEntry{end, 1 << 31})
}

// backward makes the table from the original to the image.
func (a *arrangement) backward(ranges []claimed, end uint32) omap {
	list := slices.Clone(ranges)
	slices.SortStableFunc(list, func(x, y claimed) int {
		if a.reverse == reverseShortest {
			return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(x.original, y.original))
		}
		return cmp.Compare(x.from, y.from)
	})
	var m omap
	next := list[0].from
	for _, c := range list {
		if c.from < next {
			continue
		}
		if next < c.from {
			m = append(m, omapEntry{next, 1 << 31})
		}
		m = append(m, omapEntry{c.from, c.to})
		next = c.from + c.original
		switch {
		case a.reverse == reverseFirstBytes:
			next = c.from + 1
		case c.original > c.length:
			// All of a long piece is put where its short stand-in is.
			for off := c.length; off < c.original; off += c.length {
				m = append(m, omapEntry{c.from + off, c.to})
			}
		}
		next = max(next, c.from+1)
		if a.reverse == reverseFirstBytes && c.original > 1 {
			m = append(m, omapEntry{next, 1 << 31})
			next = c.from + c.original
		}
	}
	if next < end {
		m = append(m, omapEntry{next, 1 << 31})
	}
	return append(m, omapEntry{end, 1 << 31})
}

// setOmap puts OMAP tables into a PDB.
func setOmap(f *msftest.File, toSource, fromSource omap) {
	d := f.Streams[streamDBI]
	at := dbiHeaderSize
	for _, length := range []int{24, 28, 32, 36, 40, 52} {
		at += int(le.Uint32(d[length:]))
	}
	for i, m := range []omap{toSource, fromSource} {
		le.PutUint16(d[at+2*(slotOmapToSource+i):], uint16(len(f.Streams)))
		var b []byte
		for _, e := range m {
			b = append(b, bin(e.from, e.to)...)
		}
		f.Streams = append(f.Streams, b)
	}
}

// compareArrangement rewrites the tables of a PDB and looks up every byte of
// the image that they describe. Code must be named as it is in the original,
// with its lines; a longer instruction belongs to its procedure; inserted code
// to that of the piece that it claims; what nobody claims to the procedure in
// front of it or behind it, if to any.
func compareArrangement(t *testing.T, original *Table, f *msftest.File, a *arrangement, r *rand.Rand) *symtest.Comparison {
	t.Helper()
	pieces := codePieces(t, original, a.whole, r)
	toSource, fromSource, base, origins := a.tables(pieces, r)
	setOmap(f, toSource, fromSource)
	table, err := openBytes(f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	compareProcedures(t, original, table, origins)
	c := &symtest.Comparison{}
	answer := func(table *Table, rva uint32) (symbols.Symbol, error) {
		s, err := table.Lookup(uint64(rva))
		if err != nil {
			s.Frames = []symbols.Frame{{Function: "no name"}}
		}
		return s, err
	}
	for i, o := range origins {
		rva := base + uint32(i)
		s, err := answer(table, rva)
		name := s.Outermost().Function
		if err == nil && (uint64(rva) < s.Start || uint64(rva) >= s.Start+s.Size) {
			t.Errorf("%#x lies outside of what is said to hold it, %#x bytes from %#x", rva, s.Size, s.Start)
		}
		differ := func(score *symtest.Score, subject symtest.Subject, want, got any, same bool) {
			score.All++
			if same {
				score.Same++
				return
			}
			c.Differ(score, symtest.Difference{Subject: subject, Address: uint64(rva),
				Want: fmt.Sprint(want), Got: fmt.Sprint(got), Symbol: s, Err: err})
		}
		if o.kind == originInserted {
			if err != nil {
				continue
			}
			want, _ := answer(original, o.behind)
			if front, _ := answer(original, o.before); o.before != 0 && name == front.Outermost().Function {
				want = front
			}
			differ(&c.Names, symtest.Name, want.Outermost().Function, name, want.Outermost().Function == name)
			continue
		}
		want, _ := answer(original, o.source)
		differ(&c.Names, symtest.Name, want.Outermost().Function, name, want.Outermost().Function == name)
		if o.kind != originClaimed {
			differ(&c.Lines, symtest.LineRow, want.Frames, s.Frames, slices.Equal(want.Frames, s.Frames))
		}
	}
	return c
}

// compareProcedures wants every procedure whose first byte is in the image.
func compareProcedures(t *testing.T, original, table *Table, origins []origin) {
	t.Helper()
	kept := map[uint32]bool{}
	for _, o := range origins {
		kept[o.source] = kept[o.source] || o.kind == originCode
	}
	want := map[string]int{}
	for _, table := range []*Table{original, table} {
		n := 1
		if table != original {
			n = -1
		}
		err := table.Procedures(func(rva uint64, name string) bool {
			if table == original && kept[uint32(rva)] || table != original {
				want[name] += n
			}
			if s, err := table.Lookup(rva); table != original &&
				(err != nil || s.Outermost().Function != name && !slices.Contains(s.Aliases, name)) {
				t.Errorf("procedure %s is not found at %#x: %v, %v", name, rva, s.Frames, err)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, n := range want {
		if n != 0 {
			t.Errorf("%+d of the procedures called %s", -n, name)
		}
	}
}

// stretched is a program of three procedures, the first two of which have had
// instructions put in front of them that count their calls. What was put there
// claims the procedures' first bytes, and of those claims the table from the
// original has the first short one and no other. The first of the second
// procedure's joins on to the code of the first procedure. The last
// instruction of the third, of one byte, has become three bytes long.
func stretched() *program {
	return &program{
		objects: []object{{name: "a.obj", code: [][2]uint32{{0x10, 0x40}}, symbols: [][]byte{
			procedureRecord(sGProc32, "first", 0x10, 0x10, 0), endRecord(),
			procedureRecord(sGProc32, "second", 0x20, 0x10, 0), endRecord(),
			procedureRecord(sGProc32, "third", 0x30, 0x08, 0), endRecord(),
		}, c13: slices.Concat(checksums(), lines(0x10, 0x28, 0, 0, 1, 8, 2, 0x10, 3, 0x18, 4, 0x20, 5))}},
		omap: [2][]omapEntry{{
			{0x1010, 0x1010}, {0x1011, 0x1010}, {0x1016, 0x1010}, {0x101A, 0x1010}, {0x101B, 0x1010},
			{0x102C, 0x1020}, {0x1031, 0x1020}, {0x1035, 0x1020}, {0x1036, 0x1020},
			{0x1046, 0x1030}, {0x104D, 0x1037}, {0x1050, 0},
		}, {
			{0x1010, 0x1010}, {0x1011, 0}, {0x1020, 0x1035}, {0x1021, 0},
			{0x1030, 0x1046}, {0x1037, 0x104D}, {0x1038, 0},
		}},
	}
}

func TestStretched(t *testing.T) {
	table, err := stretched().open()
	if err != nil {
		t.Fatal(err)
	}
	const first, second, third = "1010+1b procedure first a.cpp:", "102b+1b procedure second a.cpp:", "1046+a procedure third a.cpp:"
	for _, c := range []struct {
		rva  uint64
		want string
	}{
		{0x100F, ""},
		{0x1010, first + "1"},
		{0x1012, first + "1"}, // inserted
		{0x101B, first + "1"},
		{0x1023, first + "2"},
		{0x102A, first + "2"},
		{0x102B, second + "3"}, // inserted, and where second begins now
		{0x102C, second + "3"},
		{0x1036, second + "3"},
		{0x103E, second + "4"},
		{0x1045, second + "4"},
		{0x1046, third + "5"},
		{0x104D, third + "5"},
		{0x104F, third + "5"}, // the longer instruction
		{0x1050, ""},
	} {
		if got := describe(t, table, c.rva); got != c.want {
			t.Errorf("%x: got  %s\n    want %s", c.rva, got, c.want)
		}
	}
	var got []string
	table.Procedures(func(rva uint64, name string) bool {
		got = append(got, fmt.Sprintf("%x %s", rva, name))
		return true
	})
	if want := []string{"1010 first", "102b second", "1046 third"}; !slices.Equal(got, want) {
		t.Errorf("procedures %q, want %q", got, want)
	}
}

// TestOneOmap has only one of the OMAP tables.
func TestOneOmap(t *testing.T) {
	f := stretched().file()
	both := f.Streams[testFrom]
	f.Streams[testFrom] = []byte{}
	table, err := openBytes(f.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range map[uint64]string{0x1023: "first", 0x102B: "second", 0x104D: "third"} {
		if got := describe(t, table, rva); !strings.Contains(got, want) {
			t.Errorf("%x: got %s, want %s", rva, got, want)
		}
	}
	f.Streams[testFrom], f.Streams[testToSource] = both, []byte{}
	if _, err := openBytes(f.Bytes()); !errors.Is(err, ErrUnsupported) {
		t.Errorf("without the table to the original: %v", err)
	}
	f.Streams[testFrom] = []byte{}
	if table, err = openBytes(f.Bytes()); err != nil || describe(t, table, 0x1020) == "" {
		t.Errorf("without both: %v", err)
	}
}

// TestArrangements rewrites a PDB's OMAP tables as tools write them.
func TestArrangements(t *testing.T) {
	for _, arch := range []string{"x86_64", "i686"} {
		file := shapes(t, arch)
		original, err := openBytes(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range arrangements {
			t.Run(arch+", "+a.name, func(t *testing.T) {
				for seed := range uint64(5) {
					f := msftest.Load(t, bytes.NewReader(file), int64(len(file)))
					c := compareArrangement(t, original, f, &a, rand.New(rand.NewPCG(seed, 1)))
					if c.Names.All < 400 {
						t.Fatalf("only %d bytes", c.Names.All)
					}
					for i, d := range c.Differences {
						if i < 5 {
							t.Errorf("%s at %#x: want %s, got %s", d.Subject, d.Address, d.Want, d.Got)
						}
					}
					if n := len(c.Differences); n > 0 {
						t.Fatalf("seed %d: %d of %d names and %d of %d lines wrong", seed,
							c.Names.All-c.Names.Same, c.Names.All, c.Lines.All-c.Lines.Same, c.Lines.All)
					}
				}
			})
		}
	}
}
