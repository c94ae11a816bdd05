package dwarf

import (
	"testing"

	"logparser/symbols/types"
)

// TestSpills follows the first instructions of functions that put parameters into their frames.
func TestSpills(t *testing.T) {
	const hook, frame = "\xe8\x00\x00\x00\x00", "\x55\x89\xe5\x83\xec\x10" // call; push ebp; mov ebp, esp; sub esp, 16
	for _, test := range []struct {
		name, code   string
		offset, size int
		want         types.Entry
	}{
		{"this", hook + frame + "\x89\x4d\xfc", -12, 4, types.Entry{Kind: types.InRegister, Number: 1}},                        // mov [ebp-4], ecx
		{"a short in edx", hook + frame + "\x89\xd0\x66\x89\x45\xfc", -12, 2, types.Entry{Kind: types.InRegister, Number: 2}},  // mov eax, edx; mov [ebp-4], ax
		{"a char", frame + "\x8b\x45\x0c\x88\x45\xfc", -12, 1, types.Entry{Kind: types.OnStack, Number: 4}},                    // mov eax, [ebp+12]; mov [ebp-4], al
		{"in two parts", frame + "\x8b\x45\x08\x89\x45\xf0\x8b\x45\x0c\x89\x45\xf4", -24, 8, types.Entry{Kind: types.OnStack}}, // both words, by eax
		{"by the x87", frame + "\xdd\x45\x08\xdd\x5d\xf0", -24, 8, types.Entry{Kind: types.OnStack}},                           // fld and fstp of a qword
		{"converted", frame + "\xd9\x45\x08\xdd\x5d\xf0", -24, 8, types.Entry{}},                                               // fld of a dword
		{"half", frame + "\x8b\x45\x08\x89\x45\xf0", -24, 8, types.Entry{}},                                                    // one word of two
		{"changed before", frame + "\x83\xc1\x01\x89\x4d\xfc", -12, 4, types.Entry{}},                                          // add ecx, 1
		{"stored twice", frame + "\x89\x4d\xfc\x89\x55\xfc", -12, 4, types.Entry{Kind: types.InRegister, Number: 1}},           // the first counts
		{"pushed", "\x55\x89\xe5\x51\x89\x55\xfc", -12, 4, types.Entry{}},                                                      // push ecx; mov [ebp-4], edx
		{"behind a call", frame + "\xe8\x00\x00\x00\x00\x89\x4d\xfc", -12, 4, types.Entry{}},                                   // not a hook
		{"an aligned frame", "\x55\x89\xe5\x83\xe4\xf8\x89\x0c\x24", -8, 4, types.Entry{}},                                     // and esp, -8; mov [esp], ecx
		{"of a callee's", frame + "\x89\x5d\xfc", -12, 4, types.Entry{}},                                                       // mov [ebp-4], ebx
		{"by an unknown pointer", frame + "\x89\x10\x89\x4d\xfc", -12, 4, types.Entry{}},                                       // mov [eax], edx first
		{"in a segment", frame + "\x65\xa1\x14\x00\x00\x00\x89\x45\xfc", -12, 4, types.Entry{}},                                // mov eax, gs:20
		{"without a frame", "\x83\xec\x08\x8b\x44\x24\x0c\x89\x44\x24\x04", -8, 4, types.Entry{Kind: types.OnStack}},           // sub esp, 8; mov eax, [esp+12]; mov [esp+4], eax
		{"none", frame, -12, 0, types.Entry{}},
	} {
		s := newSpills()
		s.follow([]byte(test.code), func(n int) []byte { return []byte(test.code[n:]) })
		got, ok := s.from(test.offset, test.size)
		if !ok {
			got = types.Entry{}
		}
		if ok == (test.want == types.Entry{}) || got != test.want {
			t.Errorf("%s: %+v, %v, not %+v", test.name, got, ok, test.want)
		}
	}
}

// TestOfConvention tells places of parameters from those of what is assigned to them.
func TestOfConvention(t *testing.T) {
	integer, double := &types.Type{Kind: types.Int, Size: 4}, &types.Type{Kind: types.Float, Size: 8}
	class := &types.Type{Kind: types.Struct, Size: 12}
	stack := func(n int) types.Entry { return types.Entry{Kind: types.OnStack, Number: n} }
	register := func(n int) types.Entry { return types.Entry{Kind: types.InRegister, Number: n} }
	for _, test := range []struct {
		name    string
		result  *types.Type
		of      []*types.Type
		entries []types.Entry
		want    bool
	}{
		{"cdecl", nil, []*types.Type{double, integer, double}, []types.Entry{stack(0), stack(8), stack(12)}, true},
		{"behind the result's address", class, []*types.Type{double, integer}, []types.Entry{stack(4), stack(12)}, true},
		{"behind nothing", integer, []*types.Type{double, integer}, []types.Entry{stack(4), stack(12)}, false},
		{"thiscall", nil, []*types.Type{integer, double}, []types.Entry{register(1), stack(0)}, true},
		{"regparm", nil, []*types.Type{integer, integer, integer}, []types.Entry{register(0), register(2), register(1)}, true},
		{"the second one assigned to the first", nil, []*types.Type{double, double}, []types.Entry{stack(8), stack(8)}, false},
		{"two exchanged", nil, []*types.Type{double, double}, []types.Entry{stack(8), stack(0)}, false},
		{"two registers exchanged", nil, []*types.Type{integer, integer}, []types.Entry{register(2), register(1)}, false},
		{"one not known", nil, []*types.Type{integer, integer}, []types.Entry{stack(0), {Kind: types.InFrame}}, false},
		{"of a type that is not known", nil, []*types.Type{nil}, []types.Entry{stack(0)}, false},
	} {
		f := types.Function{Result: test.result}
		for _, p := range test.of {
			f.Parameters = append(f.Parameters, types.Parameter{Type: p})
		}
		if got := ofConvention(&f, test.entries); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
}

// FuzzSpills follows any code.
func FuzzSpills(f *testing.F) {
	f.Add([]byte("\x55\x89\xe5\xdd\x45\x08\xdd\x5d\xf0\x0f\x10\x45\x08"))
	f.Fuzz(func(_ *testing.T, code []byte) {
		s := newSpills()
		s.follow(code[:min(len(code), mostFollowed)], func(n int) []byte { return code[min(max(n, 0), len(code)):] })
		s.from(-12, 1<<30)
	})
}
