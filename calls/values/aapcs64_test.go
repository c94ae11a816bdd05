package values

import (
	"strings"
	"testing"

	"logparser/symbols/types"
)

// TestPlacesAAPCS64 checks each rule of the standard. TestPrototypesARM64 of package main compares them with a compiler's code.
func TestPlacesAAPCS64(t *testing.T) {
	quad := &types.Type{Kind: types.Opaque, Size: 16, Name: "__float128"}
	half := &types.Type{Kind: types.Opaque, Size: 2, Name: "_Float16"}
	pair := &types.Type{Kind: types.Opaque, Size: 8, Name: "float vector"}
	empty := &types.Type{Kind: types.Struct, Size: 1, Name: "empty"}
	aligned := &types.Type{Kind: types.Struct, Size: 16, Align: 16, Name: "aligned", Members: []types.Member{{Name: "a", Type: longType}}}
	union := &types.Type{Kind: types.Struct, Size: 8, Name: "union", Members: []types.Member{{Name: "a", Type: floatType}, {Name: "b", Type: arrayOf(floatType, 2)}}}
	either := &types.Type{Kind: types.Struct, Size: 8, Name: "union", Members: []types.Member{{Name: "a", Type: floatType}, {Name: "b", Type: doubleType}}}
	base := structOf(floatType, floatType)
	derived := &types.Type{Kind: types.Struct, Size: 12, Name: "derived", Members: []types.Member{{Name: types.Base, Type: base}, {Name: "z", Type: floatType, Offset: 8}}}
	doubtful := &types.Type{Kind: types.Struct, Size: 8, Name: "doubtful", Doubtful: true, Members: []types.Member{{Name: "a", Type: longType}}}
	complexType := &types.Type{Kind: types.Struct, Size: 16, Name: "complex", Complex: true, Members: []types.Member{{Name: "re", Type: doubleType}, {Name: "im", Type: doubleType, Offset: 8}}}
	list := func(t *types.Type, n int) (out []*types.Type) {
		for range n {
			out = append(out, t)
		}
		return out
	}
	tests := []struct {
		name   string
		args   []*types.Type
		result *types.Type
		want   string
	}{
		{"integers", append(list(intType, 9), charType), intType, "x0 x1 x2 x3 x4 x5 x6 x7 stack+0 stack+8 = x0"},
		{"floats between", []*types.Type{floatType, intType, doubleType, longDouble}, doubleType, "s0 x0 d1 q2 = d0"},
		{"nine doubles", append(list(doubleType, 9), intType), floatType, "d0 d1 d2 d3 d4 d5 d6 d7 stack+0 x0 = s0"},
		{"huge begins with an even register", []*types.Type{intType, hugeType, intType}, hugeType, "x0 x2+x3 x4 = x0+x1"},
		{"huge on the stack", append(list(intType, 7), hugeType, intType, hugeType), nil, "x0 x1 x2 x3 x4 x5 x6 stack+0 stack+16 stack+32 ="},
		{"three ints", []*types.Type{structOf(intType, intType, intType)}, structOf(intType, intType, intType), "x0+x1 = x0+x1"},
		{"int and double", []*types.Type{structOf(intType, doubleType)}, structOf(doubleType, intType), "x0+x1 = x0+x1"},
		{"two floats", []*types.Type{structOf(floatType, floatType), floatType}, structOf(floatType, floatType), "s0+s1 s2 = s0+s1"},
		{"four doubles", []*types.Type{structOf(doubleType, doubleType, doubleType, doubleType)}, structOf(arrayOf(doubleType, 4)), "d0+d1+d2+d3 = d0+d1+d2+d3"},
		{"five floats", []*types.Type{structOf(arrayOf(floatType, 5))}, structOf(arrayOf(floatType, 5)), "*x0 = *@x8"},
		{"four quadruples", []*types.Type{structOf(longDouble, longDouble)}, structOf(longDouble), "q0+q1 = q0"},
		{"floats of two kinds", []*types.Type{structOf(floatType, doubleType)}, structOf(floatType, doubleType), "x0+x1 = x0+x1"},
		{"base and member", []*types.Type{derived}, derived, "s0+s1+s2 = s0+s1+s2"},
		{"union of floats", []*types.Type{union, either}, union, "s0+s1 x0 = s0+s1"},
		{"complex", []*types.Type{complexType}, complexType, "d0+d1 = d0+d1"},
		{"no register for all floats", append(list(doubleType, 6), structOf(floatType, floatType, floatType), floatType), nil, "d0 d1 d2 d3 d4 d5 stack+0 stack+16 ="},
		{"no register for all words", append(list(intType, 7), structOf(longType, longType), intType), nil, "x0 x1 x2 x3 x4 x5 x6 stack+0 stack+16 ="},
		{"large", []*types.Type{structOf(longType, longType, longType), intType}, structOf(longType, longType, longType), "*x0 x1 = *@x8"},
		{"large, no register", append(list(intType, 8), structOf(longType, longType, longType), intType), nil, "x0 x1 x2 x3 x4 x5 x6 x7 *stack+0 stack+8 ="},
		{"by address", []*types.Type{indirect(structOf(intType)), intType}, indirect(structOf(intType)), "*x0 x1 = *@x8"},
		{"empty", []*types.Type{empty, intType}, empty, "x0 x1 ="},
		{"alignment of its own does not count", []*types.Type{intType, aligned, intType}, aligned, "x0 x1+x2 x3 = x0+x1"},
		{"alignment of a member does", []*types.Type{intType, structOf(hugeType), intType}, structOf(hugeType), "x0 x2+x3 x4 = x0+x1"},
		{"vectors", []*types.Type{vector, pair, structOf(vector, vector)}, structOf(vector, vector), "q0 d1 q2+q3 = q0+q1"},
		{"texts", []*types.Type{textType, viewType, stringType, intType}, viewType, "x0 x1+x2 *x3 x4 = x0+x1"},
		{"not told", []*types.Type{intType, half, intType}, half, "x0 ? ? ="},
		{"not told in a struct", []*types.Type{structOf(half, half), intType}, structOf(quad, quad), "? ? ="},
		{"doubtful", []*types.Type{doubtful, intType}, doubtful, "? ? ="},
		{"result in doubt", []*types.Type{intType}, doubtful, "x0 ="},
	}
	for _, test := range tests {
		f := &types.Function{Result: test.result}
		s := &aapcs64{}
		s.begin(f)
		show := func(place string, pointed bool) string {
			switch {
			case place == "":
				return "?"
			case pointed:
				return "*" + place
			}
			return place
		}
		var got []string
		for _, a := range test.args {
			got = append(got, show(s.place(a)))
		}
		got = append(got, "=")
		if place, pointed := s.result(f); place != "" {
			got = append(got, show(place, pointed))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s\nwant %s", test.name, text, test.want)
		}
	}
	s := &aapcs64{}
	f := &types.Function{Altered: true, Result: intType}
	s.begin(f)
	if place, _ := s.place(intType); place != "" {
		t.Errorf("an altered function has an argument in %s", place)
	}
	if place, _ := s.result(f); place != "" {
		t.Errorf("an altered function has its result in %s", place)
	}
}

// TestQuadruple shows numbers of 128 bits.
func TestQuadruple(t *testing.T) {
	d := &Decoder{plan: &Plan{Machine: ARM64}}
	for high, want := range map[uint64]string{
		0x3fff800000000000: "1.5", 0xc000c00000000000: "-3.5", 0: "0.0", 0x8000000000000000: "-0.0", 0x7fff000000000000: "+Inf",
		0xffff000000000000: "-Inf", 0x7fff800000000000: "NaN", 0x3ffb999999999999: "0.09999999999999987", 0x0000000000000001: "0.0", 0x7ffe000000000000: "+Inf",
	} {
		b := make([]byte, 16)
		for i := range 8 {
			b[8+i] = byte(high >> (8 * i))
		}
		if v := d.show("a", longDouble, b, newLimits(&Callee{})); v.Text != want {
			t.Errorf("%#x is shown as %s, not %s", high, v.Text, want)
		}
	}
}
