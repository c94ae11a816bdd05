package symbols

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"

	"logparser/modules"
)

// fake names every RVA below its size, and is damaged at one.
type fake struct {
	name    string
	size    uint64
	damaged uint64
}

var errDamaged = errors.New("damaged")

func (f *fake) Lookup(rva uint64) (Symbol, error) {
	switch {
	case rva == f.damaged:
		return Symbol{}, errDamaged
	case rva >= f.size:
		return Symbol{}, fmt.Errorf("RVA %#x: %w", rva, ErrNotFound)
	}
	return Symbol{Frames: []Frame{{Function: fmt.Sprintf("%s+%#x", f.name, rva)}}}, nil
}
func (f *fake) Procedures(func(uint64, string) bool) error { return nil }
func (f *fake) Identity() modules.Identity                 { return modules.Identity{} }
func (f *fake) Describe() string                           { return "fake" }
func (f *fake) Close() error                               { return nil }

func twoModules(t *testing.T) *Resolver {
	t.Helper()
	m := modules.NewMap([]modules.Module{
		{Base: 0x1000, Size: 0x1000, Path: "a", Unloaded: modules.Always}, {Base: 0x3000, Size: 0x1000, Path: "b", Unloaded: modules.Always}, {Base: 0x5000, Size: 0x1000, Path: "c", Unloaded: modules.Always},
	})
	return NewResolver(m, []Binding{{Table: &fake{"a", 0x800, 0x20}}, {Table: &fake{"b", 0x1000, 9}}}, false)
}

// TestResolveAll holds many answers against one at a time.
func TestResolveAll(t *testing.T) {
	r := twoModules(t)
	var queries []Query
	for address := uint64(0xff0); address < 0x6010; address += 3 {
		queries = append(queries, Query{Address: address, Back: address % 2})
	}
	got := make([]Location, len(queries))
	answers := make([]atomic.Int32, len(queries))
	if err := r.ResolveAll(context.Background(), queries, func(i int, loc Location) {
		got[i] = loc
		answers[i].Add(1)
	}); err != nil {
		t.Fatal(err)
	}
	named, damaged := 0, 0
	for i, q := range queries {
		want := r.Resolve(q.Address, q.At, q.Back)
		if !reflect.DeepEqual(got[i], want) || answers[i].Load() != 1 {
			t.Errorf("%#x: %+v, %d times, want %+v", q.Address, got[i], answers[i].Load(), want)
		}
		if len(want.Symbol.Frames) > 0 {
			named++
		}
		if want.Err != nil {
			damaged++
		}
	}
	if named < 1000 || damaged == 0 {
		t.Errorf("only %d named, %d damaged", named, damaged)
	}
}

func TestResolveAllCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := twoModules(t).ResolveAll(ctx, []Query{{Address: 0x1000}, {Address: 0x3000}}, func(int, Location) {
		t.Error("answered after the end")
	})
	if err != context.Canceled {
		t.Error(err)
	}
}

// prompt is a fake that names its whole self at once.
type prompt struct{ fake }

func (p *prompt) Slow() bool { return true }
func (p *prompt) Prompt(rva uint64) (Symbol, error) {
	return Symbol{Frames: []Frame{{Function: "at once"}}}, nil
}

func TestResolverPrompt(t *testing.T) {
	m := modules.NewMap([]modules.Module{{Base: 0x1000, Size: 0x1000, Path: "a", Unloaded: modules.Always}, {Base: 0x3000, Size: 0x1000, Path: "b", Unloaded: modules.Always}})
	r := NewResolver(m, []Binding{{Table: &prompt{}}, {Table: &fake{name: "b"}}}, false)
	loc, ok := r.Prompt(Query{Address: 0x1010, Back: 1})
	if !ok || loc.Symbol.Frames[0].Function != "at once" || loc.Module != 0 || loc.RVA != 0x10 {
		t.Errorf("%+v, %v", loc, ok)
	}
	for _, address := range []uint64{0x3000, 0x9000} {
		if loc, ok := r.Prompt(Query{Address: address}); ok {
			t.Errorf("%#x: %+v", address, loc)
		}
	}
}
