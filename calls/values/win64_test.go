package values

import (
	"strings"
	"testing"

	"logparser/symbols/types"
)

// TestPlacesWin64 checks each rule of Windows. TestPrototypesWine of package main compares them with a compiler's code.
func TestPlacesWin64(t *testing.T) {
	doubtful := *structOf(intType)
	doubtful.Doubtful = true
	notWhole := types.Type{Kind: types.Opaque, Size: 8, Name: "N", Doubtful: true}
	for _, test := range []struct {
		name   string
		args   []*types.Type
		result *types.Type
		want   string
	}{
		{"integers", []*types.Type{intType, charType, longType, pointer, textType, intType}, intType, "rcx rdx r8 r9 stack+32 stack+40 = rax"},
		{"by position", []*types.Type{intType, doubleType, longType, floatType, doubleType}, doubleType, "rcx xmm1 r8 xmm3 stack+32 = xmm0"},
		{"small structs", []*types.Type{structOf(intType, intType), structOf(floatType, floatType), structOf(doubleType)}, structOf(floatType, floatType), "rcx rdx r8 = rax"},
		{"struct of a double", []*types.Type{structOf(doubleType)}, structOf(doubleType), "rcx = rax"},
		{"large structs", []*types.Type{structOf(longType, longType), intType}, structOf(longType, longType), "*rdx r8 = *rax"},
		{"three bytes", []*types.Type{structOf(charType, charType, charType)}, structOf(charType, charType, charType), "*rdx = *rax"},
		{"large on the stack", []*types.Type{intType, intType, intType, intType, structOf(longType, longType), intType}, nil, "rcx rdx r8 r9 *stack+32 stack+40"},
		{"__int128", []*types.Type{hugeType, intType}, hugeType, "*rcx rdx = xmm0+xmm0h"},
		{"long double", []*types.Type{longDouble, intType}, longDouble, "*rdx r8 = *rax"},
		{"not trivial", []*types.Type{indirect(structOf(intType)), intType}, indirect(structOf(intType)), "*rdx r8 = *rax"},
		{"strings", []*types.Type{stringType, viewType, textType}, viewType, "*rdx *r8 r9 = *rax"},
		{"empty", []*types.Type{{Kind: types.Struct, Size: 1, Name: "E"}, intType}, nil, "rcx rdx"},
		{"vector", []*types.Type{intType, vector, intType}, nil, "rcx ? r8"},
		{"result in a vector, or not", []*types.Type{intType}, vector, "? = ?"},
		{"not told", []*types.Type{intType, nil, doubleType}, nil, "rcx ? xmm2"},
		{"either way", []*types.Type{&doubtful, intType}, nil, "? rdx"},
		{"either way of a result", []*types.Type{intType}, &doubtful, "? = ?"},
		{"either way, members not known", []*types.Type{&notWhole, intType}, &notWhole, "? ? = ?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := types.Function{Result: test.result}
			var s win64
			s.begin(&f)
			var got []string
			say := func(place string, pointed bool) {
				if place == "" {
					place = "?"
				}
				if pointed {
					place = "*" + place
				}
				got = append(got, place)
			}
			for _, a := range test.args {
				say(s.place(a))
			}
			if f.Result != nil {
				got = append(got, "=")
				say(s.result(&f))
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("%s\nwant %s", text, test.want)
			}
		})
	}
}

// TestRawWin64 checks the names of raw registers of a program on Windows.
func TestRawWin64(t *testing.T) {
	b := make([]byte, 4+8*8)
	b[0], b[1], b[4], b[4+7*8] = 4, 4, 7, 8
	list := registers(b, true)
	if len(list) != 8 || list[0].Name != "rcx" || list[0].Text != "0x7" || list[3].Name != "r9" || list[7].Name != "xmm3" || list[7].Text != "0x8" {
		t.Errorf("%+v", list)
	}
}

// TestEntriesWin64 checks that a place is known only if debug information of the function's entry agrees with the convention,
// and that Microsoft's compiler passes the object before the address of the result.
func TestEntriesWin64(t *testing.T) {
	at := func(register int) types.Entry { return types.Entry{Kind: types.InRegister, Number: register} }
	const rcx, rdx, xmm1 = 2, 1, 18
	big := structOf(longType, longType)
	for _, test := range []struct {
		name string
		f    types.Function
		want string
	}{
		{"as told", types.Function{Parameters: []types.Parameter{{Type: intType, Entry: at(rcx)}, {Type: doubleType, Entry: at(xmm1)}}}, "rcx xmm1"},
		{"told otherwise", types.Function{Parameters: []types.Parameter{{Type: intType, Entry: at(rdx)}, {Type: intType, Entry: at(rdx)}}}, "? rdx"},
		{"told by address", types.Function{Parameters: []types.Parameter{{Type: intType, Entry: types.Entry{Kind: types.InRegister, Number: rcx, Pointed: true}}}}, "?"},
		{"free", types.Function{Free: true, Parameters: []types.Parameter{{Type: intType}, {Type: intType, Entry: at(rdx)}}, Result: intType}, "? rdx = ?"},
		{"the object first", types.Function{ObjectFirst: true, Result: big, Parameters: []types.Parameter{{Name: "this", Type: pointer}, {Type: intType}}}, "rcx r8 = *rax"},
		{"the result first", types.Function{Result: big, Parameters: []types.Parameter{{Name: "this", Type: pointer}, {Type: intType}}}, "rdx r8 = *rax"},
	} {
		var s win64
		s.begin(&test.f)
		var got []string
		say := func(place string, pointed bool) {
			if place == "" {
				place = "?"
			}
			if pointed {
				place = "*" + place
			}
			got = append(got, place)
		}
		for _, p := range test.f.Parameters {
			say(s.place(p.Type))
		}
		if test.f.Result != nil {
			got = append(got, "=")
			say(s.result(&test.f))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}
