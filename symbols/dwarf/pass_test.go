package dwarf

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"
)

// walkBody walks over a unit's entries, given as bytes, with a table of abbreviations.
func walkBody(t *Table, u *unit, table *abbrevTable, body []byte) (*tree, string) {
	w := &walker{u: u, table: table, coder: newCoder(u, u.skeleton, t.isCode, t.rangeLimit()), tree: &tree{}, origins: make([]int32, 64)}
	err := w.entries(&buf{b: body, big: u.src.big})
	w.assemble()
	return w.tree, fmt.Sprint(err)
}

// TestPassages walks over whole and damaged units: that most entries are passed over makes no difference to what is
// found, nor to the error.
func TestPassages(t *testing.T) {
	rng := rand.New(rand.NewSource(12))
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
			if pos, _ := abbrevs.pass(l.body, 0, int(u.die-u.off), 0, maxDepth); pos == 0 && strings.HasPrefix(name, "gcc") {
				t.Errorf("%s: unit at offset %#x: the root entry is not passed over", name, u.off)
			}
			slow := *abbrevs
			slow.passages = nil
			for round := range 300 {
				body := bytes.Clone(l.body)
				if round > 0 {
					for range 1 + rng.Intn(4) {
						body[rng.Intn(len(body))] = byte(rng.Intn(256))
					}
					body = body[:len(body)-rng.Intn(2)*rng.Intn(len(body))]
				}
				got, gotErr := walkBody(table, u, abbrevs, body)
				want, wantErr := walkBody(table, u, &slow, body)
				if !reflect.DeepEqual(got, want) || gotErr != wantErr {
					t.Fatalf("%s: unit at offset %#x, round %d: %+v, %s; without passages %+v, %s", name, u.off, round, got, gotErr, want, wantErr)
				}
			}
		}
	}
}

// TestPrintable looks functions up of whose names one would act upon a terminal.
func TestPrintable(t *testing.T) {
	var e maker
	e.unit(abUnit, codeLo, codeHi-codeLo)
	e.function(abLeaf, "f", 0x1100, 0x10)
	e.function(abLeaf, "g\x1b[2J", 0x1200, 0x10)
	e.function(abLeaf, "h\u202e", 0x1300, 0x10)
	e.u8(0)
	table := openMade(t, map[string][]byte{"info": unit5(e.Bytes()), "abbrev": abbrevs5()})
	for rva, want := range map[uint64]bool{0x1100: true, 0x1200: false, 0x1300: false} {
		if sym, err := table.Lookup(rva); err != nil || sym.Printable != want {
			t.Errorf("%#x: %q, %v, printable: %v", rva, sym.Frames, err, sym.Printable)
		}
	}
}
