package values

import (
	"strings"
	"testing"

	"logparser/symbols/types"
)

// TestConfirm has functions of which the compiler may have left out parameters without a word.
func TestConfirm(t *testing.T) {
	const rdi, rsi, rdx, xmm0, elsewhere = 5, 4, 1, 17, -1
	in := func(registers ...int) []int { return registers }
	for name, test := range map[string]struct {
		types     []*types.Type
		registers [][]int
		want      string
	}{
		"all where they should be":      {[]*types.Type{intType, doubleType, charType}, [][]int{in(rdi), in(xmm0), in(rsi)}, "rdi xmm0 rsi = ?"},
		"the middle one is left out":    {[]*types.Type{intType, intType, intType}, [][]int{in(rdi), nil, in(rsi)}, "? ? ? = ?"},
		"the middle one is not used":    {[]*types.Type{intType, intType, intType}, [][]int{in(rdi), nil, in(rdx)}, "rdi ? ? = ?"},
		"the last one is not used":      {[]*types.Type{intType, intType}, [][]int{in(rdi), nil}, "rdi ? = ?"},
		"the first is another by now":   {[]*types.Type{intType, intType}, [][]int{in(rsi), in(rsi)}, "? ? = ?"},
		"one has become a constant":     {[]*types.Type{intType, intType}, [][]int{in(rdi), in(elsewhere)}, "? ? = ?"},
		"both parts of a struct":        {[]*types.Type{structOf(longType, longType), intType}, [][]int{in(rdi, rsi), in(rdx)}, "rdi+rsi rdx = ?"},
		"a part of it is not passed":    {[]*types.Type{structOf(longType, longType), intType}, [][]int{in(rdi), in(rsi)}, "? ? = ?"},
		"on the stack nothing confirms": {[]*types.Type{structOf(longType, longType, longType), intType}, [][]int{nil, in(rdi)}, "? ? = ?"},
	} {
		f := types.Function{Free: true, Result: intType}
		for i, of := range test.types {
			f.Parameters = append(f.Parameters, types.Parameter{Name: string(rune('a' + i)), Type: of, Registers: test.registers[i]})
		}
		plan := NewMaker(SysV).Function(&f, nil)
		var got []string
		for _, v := range plan.Enter {
			got = append(got, strings.ReplaceAll(v.Place, "-", "?"))
		}
		if text := strings.Join(got, " ") + " = " + strings.ReplaceAll(plan.Leave[0].Place, "-", "?"); text != test.want {
			t.Errorf("%s: %s, want %s", name, text, test.want)
		}
	}
}

// TestSplitInt128 has a function of a compiler that passes __int128 in its own way where it comes to the stack.
func TestSplitInt128(t *testing.T) {
	for _, splits := range []bool{false, true} {
		f := types.Function{SplitsInt128: splits, Parameters: []types.Parameter{{Type: hugeType}, {Type: hugeType}, {Type: intType}, {Type: hugeType}, {Type: intType}, {Type: longDouble}}}
		plan := NewMaker(SysV).Function(&f, nil)
		var got []string
		for _, v := range plan.Enter {
			got = append(got, v.Place)
		}
		want := "rdi+rsi rdx+rcx r8 stack+0 r9 stack+16"
		if splits {
			want = "rdi+rsi rdx+rcx r8 - - -"
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%v: %s, want %s", splits, text, want)
		}
	}
}
