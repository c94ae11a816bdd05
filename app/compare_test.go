package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
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

// TestCompareProcesses compares a session of several processes with one of them: functions of the program that both have are the same,
// and threads and functions that only one has are told.
func TestCompareProcesses(t *testing.T) {
	logs := family(t, 51, 0)
	several := open(t, Inputs{Log: logs[0], Others: logs[1:], NoRecordedPaths: true})
	child := open(t, Inputs{Log: logs[1], NoRecordedPaths: true})
	text := func(c *Comparison) string {
		var parts []string
		for _, th := range c.Threads {
			part := "only one"
			if th.A != nil && th.B != nil {
				part = fmt.Sprintf("%s and %s, %d equal", th.A.Name, th.B.Name, th.Equal)
			}
			parts = append(parts, fmt.Sprintf("%s, differ %t", part, th.Differ))
		}
		for _, f := range c.OnlyA {
			parts = append(parts, "A "+f.Function)
		}
		for _, f := range c.OnlyB {
			parts = append(parts, "B "+f.Function)
		}
		slices.Sort(parts)
		return strings.Join(parts, "; ")
	}
	for _, test := range []struct {
		a, b *Session
		want string
	}{
		{several, child, "A parent+0x10; A parent+0x20; A parent+0x30; only one, differ true; reader and reader, 3 equal, differ false"},
		{child, several, "B parent+0x10; B parent+0x20; B parent+0x30; only one, differ true; reader and reader, 3 equal, differ false"},
	} {
		c, err := Compare(t.Context(), test.a, test.b, nil)
		if err != nil || c.Same() || text(c) != test.want {
			t.Errorf("%s, want %s (%v)", text(c), test.want, err)
		}
	}
	for _, pair := range [][2]*Session{{open(t, Inputs{Log: logs[0]}), child}, {child, open(t, Inputs{Log: logs[0]})}} {
		if _, err := Compare(cancelledContext(t), pair[0], pair[1], nil); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

func TestComparedName(t *testing.T) {
	for _, test := range []struct {
		module, function, wantModule, want string
	}{
		{"good.exe", "draw", "", "draw"},
		{"libx.so.1.2.3", "draw.constprop.0", "libx.so", "draw"},
		{"libx.so", "draw.part.0.isra.3", "libx.so", "draw"},
		{"x", "app::draw(int) [clone .cold]", "x", "app::draw(int)"},
		{"good.exe", "good.exe+0x1010", "", "+0x1010"},
		{"libx.so.1", "libx.so.1+0x20", "libx.so", "+0x20"},
		{"x.so.txt", "a.partition", "x.so.txt", "a.partition"},
	} {
		if module, got := comparedName(test.module, test.function, "good.exe"); module != test.wantModule || got != test.want {
			t.Errorf("%s in %s: %q in %q, want %q in %q", test.function, test.module, got, module, test.want, test.wantModule)
		}
	}
}
