package values

import (
	"testing"

	"logparser/parser"
	"logparser/symbols/types"
)

// TestEmptyClass checks that a value without information is known even if nothing was taken of the call.
func TestEmptyClass(t *testing.T) {
	empty := &types.Type{Kind: types.Struct, Size: 1, Name: "std::less<int>"}
	holder := &types.Type{Kind: types.Struct, Size: 1, Name: "Holder", Members: []types.Member{{Name: types.Base, Type: empty}, {Name: "order", Type: empty}}}
	character := &types.Type{Kind: types.Struct, Size: 1, Name: "C", Members: []types.Member{{Name: "c", Type: charType}}}
	f := &types.Function{RVA: 0x1000, Size: 16, Name: "f", Parameters: []types.Parameter{{Name: "", Type: empty}, {Name: "h", Type: holder}, {Name: "c", Type: character, Unused: true}}}
	made := NewMaker(SysV).Function(f, nil)
	d, err := NewDecoder(&parser.ValuesTaken{})
	if err != nil {
		t.Fatal(err)
	}
	d.plan = &Plan{Modules: []Module{{Name: "m", Functions: []Function{made}}}}
	callee := &Callee{Module: "m", RVA: 0x1000}
	check := func() {
		t.Helper()
		for i, want := range []string{"{}", "{order = {}}", "?"} {
			if list := d.Named(callee); i >= len(list) || list[i].Text != want {
				t.Fatalf("value %d is shown as %v, want %s", i, list, want)
			}
		}
	}
	check()
	// The same for an inlined call.
	d.plan.Modules[0].Functions[0].Enter[2].Op = Op{Kind: Direct, Size: 1}
	d.plan.Modules[0].Functions[0].Hooks = []Hook{{RVA: 0x1004, Places: []string{"-", "-", "rbx"}}}
	check()
}
