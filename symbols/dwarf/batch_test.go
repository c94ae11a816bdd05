package dwarf

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"logparser/symbols"
)

// TestBatch holds LookupAll against Lookup at every byte of code and around
// it, in a random order, some addresses twice; also while little is kept.
func TestBatch(t *testing.T) {
	for _, name := range []string{"gcc4.so", "gcc5.so", "clang5.so", "gcc5-dwz.so", "gcc5-split.so", "gcc5-zlib.so", "clang4-split.so", "i686.dll"} {
		for _, tight := range []bool{false, true} {
			one, all := openPair(t, name), openPair(t, name)
			if tight {
				all.cache.limit, all.names.limit, all.src.abbrev.limit = 1<<10, 1<<10, 1<<10
			}
			rvas, _ := codeOf(t, name)
			rvas = append(rvas, 0, 1, 1<<40, rvas[len(rvas)-1]+1)
			rvas = append(rvas, rvas[:len(rvas)/3]...)
			rand.New(rand.NewSource(1)).Shuffle(len(rvas), func(i, j int) { rvas[i], rvas[j] = rvas[j], rvas[i] })
			got := make([]symbols.Symbol, len(rvas))
			errs := make([]error, len(rvas))
			asked := make([]atomic.Int32, len(rvas))
			err := symbols.LookupAll(context.Background(), all, rvas, func(i int, sym symbols.Symbol, err error) {
				asked[i].Add(1)
				got[i], errs[i] = sym, err
			})
			if err != nil {
				t.Fatal(err)
			}
			wrong := 0
			for i, rva := range rvas {
				want, err := one.Lookup(rva)
				if n := asked[i].Load(); n != 1 {
					t.Fatalf("%s: %#x was answered %d times", name, rva, n)
				}
				if (err == nil) != (errs[i] == nil) || err == nil && !reflect.DeepEqual(got[i], want) {
					if wrong++; wrong < 5 {
						t.Errorf("%s: %#x: %+v, %v, want %+v, %v", name, rva, got[i], errs[i], want, err)
					}
				}
			}
		}
	}
}

// TestBatchCancelled ends early and says why.
func TestBatchCancelled(t *testing.T) {
	table := openPair(t, "gcc5.so")
	rvas, _ := codeOf(t, "gcc5.so")
	ctx, cancel := context.WithCancel(context.Background())
	var answers atomic.Int32
	err := table.LookupAll(ctx, rvas, func(int, symbols.Symbol, error) {
		answers.Add(1)
		cancel()
	})
	if err != context.Canceled {
		t.Errorf("%v", err)
	}
	if n := int(answers.Load()); n == 0 || n == len(rvas) && len(rvas) > 4096 {
		t.Errorf("%d of %d answers", n, len(rvas))
	}
	if err := table.LookupAll(context.Background(), nil, nil); err != nil {
		t.Errorf("no addresses: %v", err)
	}
}

// TestGroups divides addresses by unit, each in one group, in ascending order.
func TestGroups(t *testing.T) {
	table := openPair(t, "gcc5.so")
	rvas, _ := codeOf(t, "gcc5.so")
	seen := map[int]bool{}
	for _, group := range table.groups(rvas) {
		first, _ := table.unitFrom(table.im.Base + group[0].rva)
		for n, q := range group {
			if u, until := table.unitFrom(table.im.Base + q.rva); u != first || until <= table.im.Base+q.rva {
				t.Errorf("%#x is of another unit", q.rva)
			}
			if n > 0 && q.rva < group[n-1].rva || seen[q.i] || rvas[q.i] != q.rva {
				t.Errorf("%#x is out of order", q.rva)
			}
			seen[q.i] = true
		}
	}
	if len(seen) != len(rvas) {
		t.Errorf("%d of %d addresses", len(seen), len(rvas))
	}
}

// TestPrompt names functions before anything is inflated.
func TestPrompt(t *testing.T) {
	table := openPair(t, "gcc5-zlib.so")
	if !table.Slow() {
		t.Error("inflating takes no time")
	}
	rvas, _ := codeOf(t, "gcc5-zlib.so")
	prompts := map[uint64]symbols.Symbol{}
	for _, rva := range rvas {
		if sym, err := table.Prompt(rva); err == nil {
			prompts[rva] = sym
			if f := sym.Frames[0]; len(sym.Frames) != 1 || f.File != "" || f.Line != 0 {
				t.Errorf("%#x: %+v", rva, sym)
			}
		}
	}
	if !table.Slow() {
		t.Error("Prompt inflated the debug information")
	}
	same := 0
	for rva, prompt := range prompts {
		if sym, err := table.Lookup(rva); err == nil && sym.Outermost().Function == prompt.Frames[0].Function {
			same++
		}
	}
	if same < len(prompts)*9/10 || same == 0 {
		t.Errorf("%d of %d names are the final ones", same, len(prompts))
	}
	if table.Slow() {
		t.Error("still slow after a look-up")
	}
	if plain := openPair(t, "gcc5.so"); plain.Slow() {
		t.Error("slow though nothing is compressed")
	}
}

// TestCacheFolder answers the same from kept sections.
func TestCacheFolder(t *testing.T) {
	want := openPair(t, "gcc5.so")
	cache := t.TempDir()
	for range 2 {
		f := openFile(t, filepath.Join("testdata", "gcc5-zlib.so"))
		f.Cache = cache
		table, err := Open(f)
		if err != nil {
			t.Fatal(err)
		}
		rvas, _ := codeOf(t, "gcc5.so")
		for _, rva := range rvas {
			got, err := table.Lookup(rva)
			sym, err2 := want.Lookup(rva)
			if (err == nil) != (err2 == nil) || err == nil && !reflect.DeepEqual(got, sym) {
				t.Fatalf("%#x: %+v, %v, want %+v, %v", rva, got, err, sym, err2)
			}
		}
		if err := table.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBatchShortened shortens the file while its entries are looked at in the mapping: every address has one answer.
func TestBatchShortened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be shortened here")
	}
	var e maker
	e.unit(abUnit, codeLo, 0x1000)
	e.function(abLeaf, "first", codeLo, 1)
	e.u8(0)
	e.Write(make([]byte, 3<<20)) // sections that are smaller are not mapped
	rvas := []uint64{codeLo}
	for i := range uint64(2 * few) {
		rvas = append(rvas, codeLo+1+i)
		e.function(abLeaf, fmt.Sprint("f", i), codeLo+1+i, 1)
	}
	for _, shortened := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "made")
		if err := os.WriteFile(path, makeELF(map[string][]byte{"info": unit5(e.Bytes()), "abbrev": abbrevs5()}), 0o644); err != nil {
			t.Fatal(err)
		}
		table := openTable(t, path)
		var asked []int
		var failed []error
		err := table.LookupAll(context.Background(), rvas, func(i int, _ symbols.Symbol, err error) {
			asked = append(asked, i)
			if err != nil {
				failed = append(failed, err)
			}
			if shortened && len(asked) == 1 {
				if err := os.Truncate(path, 4096); err != nil {
					t.Error(err)
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(asked)
		if len(asked) != len(rvas) || len(slices.Compact(asked)) != len(rvas) {
			t.Errorf("shortened: %v: answers to %v", shortened, asked)
		}
		if want := map[bool]int{true: len(rvas) - 1}[shortened]; len(failed) != want {
			t.Errorf("shortened: %v: %d failed, want %d: %v", shortened, len(failed), want, failed)
		}
	}
}
