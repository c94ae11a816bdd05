package dwarf

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
)

// walkBody walks over a unit's entries, given as bytes, with a table of abbreviations, in the memory of work. The error is a text, so that
// two can be compared.
func walkBody(t *Table, u *unit, table *abbrevTable, body []byte, work *workspace) (*tree, string) {
	w := newWalker(u, newCoder(u, u.skeleton, t.isCode, t.rangeLimit()), work)
	w.table = table
	err := w.entries(&buf{b: body, big: u.src.big})
	w.assemble()
	return w.tree.copied(), fmt.Sprint(err)
}

// eachUnit calls do with the units of some programs, their abbreviations and their bytes, which are valid until it returns.
func eachUnit(t *testing.T, do func(name string, table *Table, u *unit, abbrevs *abbrevTable, body []byte)) {
	t.Helper()
	for _, name := range []string{"gcc4.so", "gcc5.so", "clang4.so", "clang5.so", "gcc2.so"} {
		table := openPair(t, name)
		table.indexOnce.Do(table.buildIndex)
		l := table.lookup()
		for _, u := range table.src.units {
			abbrevs, err := u.table()
			if err != nil {
				t.Fatal(err)
			}
			if err := l.readBody(u); err != nil {
				t.Fatal(err)
			}
			do(name, table, u, abbrevs, l.body)
		}
	}
}

// TestPassages walks over whole and damaged units: that most entries are passed over makes no difference to what is
// found, nor to the error.
func TestPassages(t *testing.T) {
	rng := rand.New(rand.NewSource(12))
	eachUnit(t, func(name string, table *Table, u *unit, abbrevs *abbrevTable, whole []byte) {
		if pos, _ := abbrevs.pass(whole, 0, int(u.die-u.off), 0, maxDepth); pos == 0 && strings.HasPrefix(name, "gcc") {
			t.Errorf("%s: unit at offset %#x: the root entry is not passed over", name, u.off)
		}
		slow := *abbrevs
		slow.passages = nil
		for round := range 300 {
			body := bytes.Clone(whole)
			if round > 0 {
				for range 1 + rng.Intn(4) {
					body[rng.Intn(len(body))] = byte(rng.Intn(256))
				}
				body = body[:len(body)-rng.Intn(2)*rng.Intn(len(body))]
			}
			got, gotErr := walkBody(table, u, abbrevs, body, &workspace{})
			want, wantErr := walkBody(table, u, &slow, body, &workspace{})
			if !reflect.DeepEqual(got, want) || gotErr != wantErr {
				t.Fatalf("%s: unit at offset %#x, round %d: %+v, %s; without passages %+v, %s", name, u.off, round, got, gotErr, want, wantErr)
			}
		}
	})
}

// TestWorkspace walks over units with the memory of others: nothing of one unit is found in the next.
func TestWorkspace(t *testing.T) {
	work := &workspace{}
	for range 2 {
		eachUnit(t, func(name string, table *Table, u *unit, abbrevs *abbrevTable, body []byte) {
			got, err := walkBody(table, u, abbrevs, body, work)
			if err != fmt.Sprint(nil) {
				t.Fatal(err)
			}
			if want, _ := walkBody(table, u, abbrevs, body, &workspace{}); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: unit at offset %#x is another one in used memory", name, u.off)
			}
			lines, err2 := readLines(u, table.isCode, true, work)
			if err2 != nil {
				t.Fatal(err2)
			}
			if want, _ := readLines(u, table.isCode, true, nil); !reflect.DeepEqual(lines, want) {
				t.Errorf("%s: the lines of the unit at offset %#x are others in used memory", name, u.off)
			}
		})
	}
}

// TestPrintable looks functions up of whose names and files one would act upon a terminal.
func TestPrintable(t *testing.T) {
	const escape = "\x1b[2J"
	var e maker
	inlined := func(origin uint32, lo uint64, file byte) {
		e.u8(abInlinedFile)
		e.u32(origin)
		e.u64(lo)
		e.u32(0x10)
		e.u8(3, file)
	}
	e.unit(abUnitLines, codeLo, codeHi-codeLo)
	e.u32(0)
	good, bad := e.origin("good"), e.origin("bad"+escape)
	e.function(abLeaf, "f", 0x1100, 0x10)
	e.function(abLeaf, "g"+escape, 0x1200, 0x10)
	e.function(abLeaf, "h\u202e", 0x1300, 0x10)
	e.function(abLeaf, "i", 0x1400, 0x10) // of the second file
	e.function(abFunction, "j", 0x1500, 0x40)
	inlined(bad, 0x1510, 1)
	inlined(good, 0x1520, 2)
	inlined(good, 0x1530, 1)
	e.u8(0)
	e.function(abLinkage, "k"+escape, 0x1600, 0x10)
	e.function(abLinkage, "_Z5k"+escape+"v", 0x1700, 0x10)
	e.function(abLeaf, "", 0x1800, 0x10)
	e.function(abLeaf, "", 0x1900, 0x10)
	e.function(abLeaf, "l", 0x1a00, 0x10)
	e.u8(0)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes()), "line": madeLines("/second"+escape+".c", 0x1400, 0x1410)},
		symbol{"symbol" + escape, 0x1800, 0x10}, symbol{"symbol", 0x1900, 0x10}, symbol{"_ZN5x" + escape + "1lEv", 0x1a00, 0x10})
	for _, c := range []struct {
		rva    uint64
		want   bool
		frames string
	}{
		{0x1100, true, "f /first.c"},
		{0x1200, false, "g\x1b[2J /first.c"},
		{0x1300, false, "h\u202e /first.c"},
		{0x1400, false, "i /second\x1b[2J.c"},
		{0x1500, true, "j /first.c"},
		{0x1510, false, "bad\x1b[2J /first.c, j /first.c"},
		{0x1520, false, "good /first.c, j /second\x1b[2J.c"},
		{0x1530, true, "good /first.c, j /first.c"},
		{0x1600, false, "k\x1b[2J /first.c"},
		{0x1700, false, "k\x1b[2J /first.c"},
		{0x1800, false, "symbol\x1b[2J /first.c"},
		{0x1900, true, "symbol /first.c"},
		{0x1a00, false, "x\x1b[2J::l /first.c"},
	} {
		for range 2 { // the second time from what is kept
			sym, err := table.Lookup(c.rva)
			var frames []string
			for _, f := range sym.Frames {
				frames = append(frames, f.Function+" "+f.File)
			}
			if got := strings.Join(frames, ", "); err != nil || sym.Printable != c.want || got != c.frames {
				t.Errorf("%#x: %q, %v, printable: %v; want %q, %v", c.rva, got, err, sym.Printable, c.frames, c.want)
			}
		}
	}
}

// TestNoLineRange executes the only special opcode of a program that has no range of lines: it changes neither address nor
// line.
func TestNoLineRange(t *testing.T) {
	p := &program{opcodeBase: 255, maxOps: 1, minInstr: 1, lengths: make([]byte, 254)}
	code := []byte{0, 3, 2, 0x10, 0, 255, 2, 4, 0, 1, 1} // set the address, the special opcode, 4 bytes on, end
	var table lineTable
	if _, err := p.run(&buf{b: code}, &table, func(span) bool { return true }, nil); err != nil {
		t.Fatal(err)
	}
	if want := []row{{line: 1, file: 1}}; !reflect.DeepEqual(table.rows, want) || !reflect.DeepEqual(table.seqs, []sequence{{lo: 0x10, hi: 0x14, last: 1}}) {
		t.Errorf("rows %v, sequences %v", table.rows, table.seqs)
	}
}
