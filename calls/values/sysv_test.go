package values

import (
	"testing"

	"logparser/symbols/types"
)

var (
	intType    = &types.Type{Kind: types.Int, Size: 4, Name: "int"}
	longType   = &types.Type{Kind: types.Int, Size: 8, Name: "long"}
	hugeType   = &types.Type{Kind: types.Int, Size: 16, Name: "__int128"}
	charType   = &types.Type{Kind: types.Char, Size: 1, Name: "char"}
	floatType  = &types.Type{Kind: types.Float, Size: 4, Name: "float"}
	doubleType = &types.Type{Kind: types.Float, Size: 8, Name: "double"}
	longDouble = &types.Type{Kind: types.Float, Size: 16, Name: "long double"}
	pointer    = &types.Type{Kind: types.Pointer, Size: 8, Name: "void*"}
	vector     = &types.Type{Kind: types.Opaque, Size: 16, Name: "float vector"}
	stringType = &types.Type{Kind: types.Text, Size: 32, Name: types.StdString, Library: types.Libstdcxx, Indirect: true}
	viewType   = &types.Type{Kind: types.Text, Size: 16, Name: types.StdStringView, Library: types.Libstdcxx}
	textType   = &types.Type{Kind: types.Text, Size: 8, Name: "char const*"}
)

// structOf returns a struct of members of given types, each aligned to its size.
func structOf(list ...*types.Type) *types.Type {
	t := &types.Type{Kind: types.Struct, Name: "S"}
	most := 1
	for _, m := range list {
		size := m.Size
		for size > 8 && m.Kind != types.Float {
			size /= 2
		}
		t.Size = (t.Size + size - 1) / size * size
		t.Members = append(t.Members, types.Member{Name: string(rune('a' + len(t.Members))), Type: m, Offset: t.Size})
		t.Size += m.Size
		most = max(most, size)
	}
	t.Size = (t.Size + most - 1) / most * most
	return t
}

func arrayOf(t *types.Type, n int) *types.Type {
	return &types.Type{Kind: types.Array, Target: t, Count: n, Size: n * t.Size, Name: t.Name + "[]"}
}

func indirect(t *types.Type) *types.Type {
	c := *t
	c.Indirect = true
	return &c
}

// TestPlaces checks each rule of the ABI. TestValuesOfProgram of package main compares them with a compiler's code.
func TestPlaces(t *testing.T) {
	packed := &types.Type{Kind: types.Struct, Size: 9, Name: "packed", Members: []types.Member{{Name: "c", Type: charType}, {Name: "l", Type: longType, Offset: 1}}}
	bits := &types.Type{Kind: types.Struct, Size: 8, Name: "bits", Members: []types.Member{{Name: "a", Type: intType, Bits: 3}, {Name: "f", Type: floatType, Offset: 4}}}
	tests := []struct {
		name   string
		args   []*types.Type
		result *types.Type
		want   string
	}{
		{"integers", []*types.Type{intType, charType, longType, pointer, textType, intType, longType, charType}, intType, "rdi rsi rdx rcx r8 r9 stack+0 stack+8 = rax"},
		{"floats between", []*types.Type{floatType, intType, doubleType}, doubleType, "xmm0 rdi xmm1 = xmm0"},
		{"nine doubles", []*types.Type{doubleType, doubleType, doubleType, doubleType, doubleType, doubleType, doubleType, doubleType, doubleType, intType}, floatType,
			"xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 stack+0 rdi = xmm0"},
		{"two ints in one", []*types.Type{structOf(intType, intType)}, structOf(intType, intType), "rdi = rax"},
		{"int and double", []*types.Type{structOf(intType, doubleType)}, structOf(intType, doubleType), "rdi+xmm0 = rax+xmm0"},
		{"double and int", []*types.Type{structOf(doubleType, intType)}, structOf(doubleType, longType), "xmm0+rdi = xmm0+rax"},
		{"int and float share", []*types.Type{structOf(floatType, intType)}, structOf(floatType, intType), "rdi = rax"},
		{"two floats share", []*types.Type{structOf(floatType, floatType), doubleType}, structOf(floatType, floatType, floatType), "xmm0 xmm1 = xmm0+xmm1"},
		{"two longs", []*types.Type{structOf(longType, longType)}, structOf(longType, longType), "rdi+rsi = rax+rdx"},
		{"array in a struct", []*types.Type{structOf(arrayOf(intType, 3))}, structOf(arrayOf(floatType, 4)), "rdi+rsi = xmm0+xmm1"},
		{"large", []*types.Type{structOf(longType, longType, longType), intType}, structOf(longType, longType, longType), "stack+0 rsi = *rax"},
		{"large result moves this", []*types.Type{pointer, intType}, structOf(arrayOf(charType, 17)), "rsi rdx = *rax"},
		{"one register left", []*types.Type{intType, intType, intType, intType, intType, structOf(longType, longType), intType}, nil, "rdi rsi rdx rcx r8 stack+0 r9"},
		{"mixed, none left", []*types.Type{intType, intType, intType, intType, intType, intType, structOf(intType, doubleType), doubleType}, nil,
			"rdi rsi rdx rcx r8 r9 stack+0 xmm0"},
		{"long double", []*types.Type{longDouble, intType, longDouble}, longDouble, "stack+0 rdi stack+16 = st0"},
		{"long double behind a word", []*types.Type{structOf(longType, longType, longType), longDouble}, nil, "stack+0 stack+32"},
		{"struct of a long double", []*types.Type{structOf(longDouble)}, structOf(longDouble), "stack+0 = st0"},
		{"__int128", []*types.Type{intType, hugeType, intType}, hugeType, "rdi rsi+rdx rcx = rax+rdx"},
		{"__int128 on the stack", []*types.Type{intType, intType, intType, intType, intType, hugeType, intType, charType, hugeType}, nil, "rdi rsi rdx rcx r8 stack+0 r9 stack+16 stack+32"},
		{"not trivial", []*types.Type{indirect(structOf(intType)), intType}, indirect(structOf(intType)), "*rsi rdx = *rax"},
		{"strings", []*types.Type{stringType, viewType, textType}, viewType, "*rdi rsi+rdx rcx = rax+rdx"},
		{"a string's result", []*types.Type{intType}, stringType, "rsi = *rax"},
		{"packed", []*types.Type{packed, intType}, packed, "stack+0 rsi = *rax"},
		{"bit fields", []*types.Type{bits}, bits, "rdi = rax"},
		{"empty", []*types.Type{{Kind: types.Struct, Size: 1, Name: "E"}, intType}, &types.Type{Kind: types.Struct, Size: 1}, "? rdi = ?"},
		{"vector", []*types.Type{intType, vector, intType}, vector, "rdi ? ? = ?"},
		{"not told", []*types.Type{intType, nil, doubleType}, nil, "rdi ? ?"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s sysv
			if hidden(test.result) {
				s.integer()
			}
			got := ""
			say := func(place string, pointed bool) {
				if got != "" {
					got += " "
				}
				if pointed {
					got += "*"
				}
				if place == "" {
					place = "?"
				}
				got += place
			}
			for _, a := range test.args {
				say(s.place(a))
			}
			if test.result != nil {
				got += " ="
				say(resultPlace(test.result))
			}
			if got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}
