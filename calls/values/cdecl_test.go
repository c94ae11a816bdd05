package values

import (
	"fmt"
	"testing"

	"logparser/symbols/types"
)

// TestCdecl checks that arguments of the x86 have the places that debug information gives, and no place if it gives none.
func TestCdecl(t *testing.T) {
	integer := &types.Type{Kind: types.Int, Size: 4, Name: "int"}
	long := &types.Type{Kind: types.Int, Size: 8, Name: "long long"}
	double := &types.Type{Kind: types.Float, Size: 8, Name: "double"}
	pair := &types.Type{Kind: types.Struct, Size: 8, Name: "Pair", Members: []types.Member{{Name: "a", Type: integer}, {Name: "b", Type: integer, Offset: 4}}}
	owner := &types.Type{Kind: types.Struct, Size: 4, Name: "Owner", Indirect: true, Members: []types.Member{{Name: "n", Type: integer}}}
	complexNumber := &types.Type{Kind: types.Struct, Size: 8, Name: "complex float", Complex: true, Members: pair.Members}
	stack := func(n int) types.Entry { return types.Entry{Kind: types.OnStack, Number: n} }
	register := func(n int) types.Entry { return types.Entry{Kind: types.InRegister, Number: n} }
	tests := []struct {
		name       string
		result     *types.Type
		local      bool
		parameters []types.Parameter
		want       string
	}{
		{"on the stack", integer, false, []types.Parameter{{Name: "a", Type: integer, Entry: stack(0)}, {Name: "b", Type: pair, Entry: stack(4)}}, "a stack+0 value 4, b stack+4 value 8, return eax value 4"},
		{"in registers", long, false, []types.Parameter{{Name: "a", Type: integer, Entry: register(1)}, {Name: "b", Type: integer, Entry: register(2)}}, "a ecx value 4, b edx value 4, return eax+edx value 8"},
		{"in one that has none", nil, false, []types.Parameter{{Name: "a", Type: integer, Entry: register(6)}, {Name: "b", Type: double, Entry: register(21)}}, "a - unknown, b - unknown"},
		{"in a pair of registers", nil, false, []types.Parameter{{Name: "a", Type: long, Entry: register(0)}}, "a - unknown"},
		{"not told", nil, false, []types.Parameter{{Name: "a", Type: integer}, {Name: "b", Type: integer, Entry: types.Entry{Kind: types.InFrame}}}, "a - unknown, b - unknown"},
		{"by its address", pair, false, []types.Parameter{{Name: "a", Type: owner, Entry: types.Entry{Kind: types.OnStack, Number: 4, Pointed: true}}, {Name: "b", Type: owner, Entry: stack(8)}}, "a stack+4 memory 0 4, b - unknown, return eax memory 0 8"},
		{"of the x87", double, false, nil, "return st0 value 8"},
		{"of a function that may have its own convention", double, true, nil, "return - unknown"},
		{"of a function that has", double, false, []types.Parameter{{Name: "a", Type: integer, Entry: register(0)}}, "a eax value 4, return - unknown"},
		{"complex", complexNumber, false, nil, "return - unknown"},
	}
	for _, test := range tests {
		made := NewMaker(Cdecl).Function(&types.Function{Name: "f", Size: 1, Result: test.result, Local: test.local, Parameters: test.parameters}, nil)
		got := ""
		for _, v := range append(made.Enter, made.Leave...) {
			if got != "" {
				got += ", "
			}
			got += fmt.Sprintf("%s %s %s", v.Name, v.Place, opText(v.Op))
		}
		if got != test.want {
			t.Errorf("%s: %s, not %s", test.name, got, test.want)
		}
	}
}
