package app

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"logparser/calls/compare"
	"logparser/internal/testlog/classictest"
)

// TestComparedAgain compares logs whose chains are kept, with those that are damaged, too.
func TestComparedAgain(t *testing.T) {
	old := leastKept
	leastKept = 1
	defer func() { leastKept = old }()
	cache := t.TempDir()
	open := func(change func(records []byte)) *Session {
		t.Helper()
		log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(log)
		if err == nil {
			change(data)
			err = os.WriteFile(log, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Inputs{Log: log, IndexCache: cache}, nil)
		if err == nil {
			err = s.Load(t.Context(), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	const size, changed = 24, 15_000
	a, b := open(func([]byte) {}), open(func(data []byte) {
		// A call becomes that of the first function.
		at := changed
		for data[size*at+16] == 0 || bytes.Equal(data[size*at:size*at+8], data[:8]) {
			at++
		}
		copy(data[size*at:size*at+8], data[:8])
	})
	first, err := Compare(t.Context(), a, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	differ := 0
	for _, c := range first.Threads {
		if c.Differ {
			differ++
			if c.A == nil || c.B == nil || c.A.Row != c.B.Row || c.A.Row < changed || c.A.Row > changed+100 {
				t.Errorf("threads part at %+v, %+v", c.A, c.B)
			}
		}
	}
	if differ != 1 || first.Same() {
		t.Errorf("%d of %d threads differ", differ, len(first.Threads))
	}
	store, key, ok := a.chainsKey()
	kept := store.Noted(key)
	if chains, err := compare.Decode(kept, a.table.Slots(), a.table.Len(), a.table.AddressTable().Len()); !ok || err != nil || len(chains) < 2 {
		t.Fatalf("%d bytes are kept: %v", len(kept), err)
	}
	for _, note := range [][]byte{kept, kept[:len(kept)/2]} {
		if err := store.Note(key, note); err != nil {
			t.Fatal(err)
		}
		if again, err := Compare(t.Context(), a, b, nil); err != nil || !reflect.DeepEqual(again, first) {
			t.Errorf("with %d bytes kept: %+v, want %+v (%v)", len(note), again, first, err)
		}
		if !bytes.Equal(store.Noted(key), kept) {
			t.Error("what was damaged was not made anew")
		}
	}
	if same, err := Compare(t.Context(), a, a, nil); err != nil || !same.Same() {
		t.Errorf("a log and itself: %+v, %v", same, err)
	}
}

func TestComparedName(t *testing.T) {
	for _, test := range []struct {
		f    FunctionRef
		want comparedFunction
	}{
		{FunctionRef{Function: "draw", Module: "good.exe"}, comparedFunction{"", "draw"}},
		{FunctionRef{Function: "draw.constprop.0", Module: "libx.so.1.2.3"}, comparedFunction{"libx.so", "draw"}},
		{FunctionRef{Function: "draw.part.0.isra.3", Module: "libx.so"}, comparedFunction{"libx.so", "draw"}},
		{FunctionRef{Function: "app::draw(int) [clone .cold]", Module: "x"}, comparedFunction{"x", "app::draw(int)"}},
		{FunctionRef{Function: "good.exe+0x1010", Module: "good.exe"}, comparedFunction{"", "+0x1010"}},
		{FunctionRef{Function: "libx.so.1+0x20", Module: "libx.so.1"}, comparedFunction{"libx.so", "+0x20"}},
		{FunctionRef{Function: "a.partition", Module: "x.so.txt"}, comparedFunction{"x.so.txt", "a.partition"}},
	} {
		if got := comparedName(&test.f, "good.exe"); got != test.want {
			t.Errorf("%+v: %q, want %q", test.f, got, test.want)
		}
	}
}
