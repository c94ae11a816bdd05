package values

import (
	"strings"
	"testing"

	"logparser/rows"
	"logparser/symbols/types"
)

// TestOuts makes plans for the memory that parameters point to when calls return.
func TestOuts(t *testing.T) {
	integer := &types.Type{Kind: types.Int, Size: 4, Name: "int"}
	character := &types.Type{Kind: types.Char, Size: 1, Name: "char"}
	constant := &types.Type{Kind: types.Int, Size: 4, Name: "int const"}
	str := &types.Type{Kind: types.Text, Size: 32, Name: types.StdString, Library: types.Libstdcxx}
	to := func(t *types.Type) *types.Type {
		return &types.Type{Kind: types.Pointer, Size: 8, Name: t.Name + "*", Target: t}
	}
	line := &types.Type{Kind: types.Struct, Size: 16, Name: "Line", Members: []types.Member{
		{Name: "text", Type: &types.Type{Kind: types.Text, Size: 8, Name: "char const*"}}, {Name: "n", Type: integer, Offset: 8}}}
	parameter := func(name string, t *types.Type) types.Parameter { return types.Parameter{Name: name, Type: t} }
	f := &types.Function{Size: 16, Name: "f", Result: integer, Parameters: []types.Parameter{
		parameter("this", to(line)), parameter("n", to(integer)), parameter("s", to(character)), parameter("c", to(constant)), parameter("v", integer),
		parameter("string", &types.Type{Kind: types.Reference, Size: 8, Name: "std::string&", Target: str}), parameter("copy", to(to(character))), parameter("line", to(line)),
	}}
	for _, test := range []struct {
		items string
		want  []string // lines of leave, without the numbers of types
	}{
		{"n@leave", []string{"@rsi memory 0 4 n@leave"}},
		{"return,*n@leave,v@leave", []string{"rax value 4 return", "@rsi memory 0 4 *n@leave", "- unknown v@leave"}},
		{"this->n@leave", []string{"@rdi memory 8 4 this->n@leave"}},
		{"*@leave", []string{"@rsi memory 0 4 n@leave", "@rdx text 64 s@leave", "@r9 string libstdc++ 64 string@leave", "@stack+0 text-at 0 64 copy@leave",
			"@stack+8 memory 0 16 line@leave", "@stack+8 text-at 0 64 line@leave.text"}},
		{"line->text@leave,nobody@leave", []string{"@stack+8 text-at 0 64 line->text@leave"}},
	} {
		spec, err := ParseSpec("f@" + test.items)
		if err != nil {
			t.Fatal(err)
		}
		m := NewMaker(SysV)
		m.Texts = true
		made := m.Function(f, spec.Items)
		var got []string
		for _, v := range made.Leave {
			got = append(got, v.Place+" "+opText(v.Op)+" "+v.Name)
		}
		if strings.Join(got, "\n") != strings.Join(test.want, "\n") {
			t.Errorf("%s: %q, want %q", test.items, got, test.want)
		}
	}
	for _, text := range []string{"f@n@enter", "f@return@leave", "f@@leave", "f@n@leave@leave", "--values"} {
		if _, err := ParseSpec(text); err == nil {
			t.Errorf("%s is a specification", text)
		}
	}
	// An out is unknown if the recorder has no room to keep its pointer.
	many := &types.Function{Size: 16, Name: "g"}
	for i := range maxKept + 2 {
		many.Parameters = append(many.Parameters, parameter("p"+decimal(i), to(integer)))
	}
	for i, v := range NewMaker(SysV).Function(many, []string{"*@leave"}).Leave {
		if known := v.Op.Kind == Memory && v.Place[0] == '@'; known != (i < maxKept) {
			t.Errorf("parameter %d: %s %s", i, v.Place, opText(v.Op))
		}
	}
}

// TestOutsAreArguments separates the values at a call's end into results and outs.
func TestOutsAreArguments(t *testing.T) {
	list := []rows.Value{{Name: "return"}, {Name: "n@leave"}, {Name: "this->x@leave"}}
	if results, outs := Outs(list); len(results) != 1 || results[0].Name != "return" || len(outs) != 2 || outs[1].Name != "this->x@leave" {
		t.Errorf("%v, %v", results, outs)
	}
	if results, outs := Outs(list[:1]); len(results) != 1 || outs != nil {
		t.Errorf("%v, %v", results, outs)
	}
}
