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

// TestWin32Results checks where functions for x86 on Windows return their results: small classes in registers, and classes of
// one floating-point number in a place that is not known.
func TestWin32Results(t *testing.T) {
	integer := &types.Type{Kind: types.Int, Size: 4, Name: "int"}
	float := &types.Type{Kind: types.Float, Size: 4, Name: "float"}
	wide := &types.Type{Kind: types.Float, Size: 12, Name: "long double"}
	class := func(size int, members ...*types.Type) *types.Type {
		c := &types.Type{Kind: types.Struct, Size: size, Name: "Class"}
		for i, m := range members {
			c.Members = append(c.Members, types.Member{Name: string(rune('a' + i)), Type: m, Offset: 4 * i})
		}
		return c
	}
	owner := class(4, integer)
	owner.Indirect = true
	doubtful := class(4, integer)
	doubtful.Doubtful = true
	method := []types.Parameter{{Name: "this", Type: integer, Entry: inECX}}
	for _, test := range []struct {
		name       string
		result     *types.Type
		parameters []types.Parameter
		local      bool
		want       string
	}{
		{"four bytes", class(4, integer), nil, false, "eax value 4"},
		{"eight bytes", class(8, float, float), nil, false, "eax+edx value 8"},
		{"twelve bytes", class(12, integer, integer, integer), nil, false, "eax memory 0 12"},
		{"one float", class(4, float), nil, false, "- unknown"},
		{"one float in a class", class(4, class(4, float)), nil, false, "- unknown"},
		{"one long double", class(12, wide), nil, false, "- unknown"},
		{"with a copy constructor", owner, nil, false, "eax memory 0 4"},
		{"perhaps with one", doubtful, nil, false, "- unknown"},
		{"of a method", float, method, false, "st0 value 4"},
		{"of a method that only its file calls", float, method, true, "- unknown"},
		{"of a function with another convention", float, []types.Parameter{{Name: "a", Type: integer, Entry: inECX}}, false, "- unknown"},
	} {
		made := NewMaker(Win32).Function(&types.Function{Name: "f", Size: 1, Result: test.result, Parameters: test.parameters, Local: test.local}, nil)
		if got := made.Leave[0].Place + " " + opText(made.Leave[0].Op); got != test.want {
			t.Errorf("%s: %s, not %s", test.name, got, test.want)
		}
	}
}

// TestForget checks that no value that is taken at the function's entry stays known.
func TestForget(t *testing.T) {
	value := Op{Kind: Direct, Size: 4}
	f := Function{Enter: []Value{{Name: "a", Place: "stack+0", Op: value}}, Leave: []Value{{Name: Result, Place: "eax", Op: value}, {Name: "a@leave", Place: "@stack+0", Op: value}}}
	f.Forget()
	if f.Enter[0].Place != "-" || f.Enter[0].Op != (Op{}) || f.Leave[0].Place != "eax" || f.Leave[1].Place != "-" || f.Leave[1].Op != (Op{}) {
		t.Errorf("%+v", f)
	}
}
