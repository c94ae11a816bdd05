package signature

import (
	"fmt"
	"strings"
	"testing"

	"logparser/symbols/demangle"
	"logparser/symbols/types"
)

func every(string) bool { return true }

// TestDeclare holds what names say against what their declarations were.
func TestDeclare(t *testing.T) {
	for _, test := range []struct {
		mangled, want string
	}{
		{"_Z3addii", "add(int:int4, int:int4) object no, hidden maybe"},
		{"_ZN3app3addEid", "app::add(int:int4, double:float8) object maybe, hidden maybe"},
		{"_ZNK3app4Rect4areaEiPKc", "app::Rect::area(int:int4, char const*:text8) object yes, hidden maybe"},
		{"_ZN3app4RectC1Eii", "app::Rect::Rect(int:int4, int:int4) object yes, hidden no, complete"},
		{"_ZN3app4RectC2Eii", "app::Rect::Rect(int:int4, int:int4) object yes, hidden no, in part"},
		{"_ZN2C1C2Ev", "C1::C1() object yes, hidden no, in part"},
		{"_ZN3app4RectD0Ev", "app::Rect::~Rect() object yes, hidden no, complete"},
		{"_ZN5parse5parseEi", "parse::parse(int:int4) object maybe, hidden maybe"},
		{"_ZN5parse5parseEPN1AC1E", ""},
		{"_ZN1BCI11AEi", "B::B(int:int4) object yes, hidden no, complete"},
		{"_ZN1BCI21AEi", "B::B(int:int4) object yes, hidden no, in part"},
		{"_ZZN1AC1EvEN1LC2Ei", ""},
		{"_ZN1AC2IZN1DC1EvEUlvE_EEiT_", "A::A<D::D()::{lambda()#1}>(int:int4, D::D()::{lambda()#1}:opaque0) object yes, hidden no, in part"},
		{"_ZN2C1D1Ev", "C1::~C1() object yes, hidden no, complete"},
		{"_ZN1AIiEC1IdEET_", "A<int>::A<double>(double:float8) object yes, hidden no, complete"},
		{"_Z5twiceIiET_S0_", "twice<int>(int:int4) object no, hidden no = int"},
		{"_Z4makeIiE2PtT_", "make<int>(int:int4) object no, hidden maybe"},
		{"_ZN3appeqERKNS_2PtES2_", "app::operator==(app::Pt const&:reference8, app::Pt const&:reference8) object no, hidden maybe"},
		{"_ZN3app2PteqERKS0_", "app::Pt::operator==(app::Pt const&:reference8) object yes, hidden maybe"},
		{"_ZN3app2PtcviEv", "app::Pt::operator int() object yes, hidden no = int"},
		{"_ZN1AnwEm", "A::operator new(unsigned long:uint8) object no, hidden no"},
		{"_ZawRK1X", "operator co_await(X const&:reference8) object no, hidden maybe"},
		{"_ZN2nsawERKNS_1XE", "ns::operator co_await(ns::X const&:reference8) object maybe, hidden maybe"},
		{"_ZNH1AaSERS_RKS_", "A::operator=(A&:reference8, A const&:reference8) object no, hidden maybe"},
		{"_Z1fPvU17pass_object_size0i", ""},
		{"_ZN1AclEi", "A::operator()(int:int4) object maybe, hidden maybe"},
		{"_Z1f5Color2Pti", "f(Color:opaque0, Pt:opaque0, int:int4) object no, hidden maybe"},
		{"_Z1fRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "f(std::string const&:reference8) object no, hidden maybe"},
		{"_Z1fNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", "f(std::string:text32) object no, hidden maybe"},
		{"_Z1fNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEEE", "f(std::basic_string<char, std::char_traits<char>>:opaque0) object no, hidden maybe"},
		{"_Z1fPFvicEM1AiMS1_FivEPPKc", "f(void (*)(int, char):pointer8, int A::*:opaque0, int (A::*)():opaque0, char const**:pointer8) object no, hidden maybe"},
		{"_Z1fRA3_iDnPv", "f(int (&) [3]:reference8, std::nullptr_t:pointer8, void*:pointer8) object no, hidden maybe"},
		{"_Z1fiz", "f(int:int4, ...) object no, hidden maybe"},
		{"_Z1fgDv4_fl", "f(__float128:opaque0, float __vector(4):opaque0, long:int8) object no, hidden maybe"},
		{"_ZTv0_n24_N1B1fEi", ""}, {"_ZThn8_N1B1fEi", ""}, {"_ZTV1B", ""}, {"_ZGVZ1fvE1x", ""}, {"main", ""}, {"_Z3foo", ""}, {"_ZN3app5countE", ""},
		{"?f@@YAHHN@Z", "f(int:int4, double:float8) object no, hidden no = int"},
		{"?area@Rect@app@@QEAAHHH@Z", "app::Rect::area(int:int4, int:int4) object yes, hidden no = int"},
		{"?area@Rect@app@@QEBAHPEBD@Z", "app::Rect::area(char const*:text8) object yes, hidden no = int"},
		{"?make@Rect@app@@SA?AV12@J@Z", "app::Rect::make(long:int4) object no, hidden maybe"},
		{"?make@Rect@app@@QEAA?AV12@H@Z", "app::Rect::make(int:int4) object yes, hidden yes = app::Rect"},
		{"?f@X@@QEAA?AT__m128@@H@Z", "X::f(int:int4) object yes, hidden maybe"},
		{"?f@X@@QEAA?AU__m256d@@H@Z", "X::f(int:int4) object yes, hidden maybe"},
		{"?f@X@@QEAA?AU?$_Complex@M@__clang@@H@Z", "X::f(int:int4) object yes, hidden maybe"},
		{"?f@X@@QEAA?A?<auto>@@HH@Z", "X::f(int:int4, int:int4) object yes, hidden maybe"},
		{"??0X@@QEAA@H@Z", "X::X(int:int4) object yes, hidden no"},
		{"??0X@@QEAA@HZZ", ""}, // where the number is that classes with virtual bases get
		{"?f@@YQHMM@Z", ""},    // __vectorcall
		{"?x@@3HA", ""},
	} {
		d := declare(test.mangled, sizes{windows: strings.HasPrefix(test.mangled, "?")}, every)
		got := ""
		if d != nil {
			var list []string
			for _, p := range d.parameters {
				kind := map[types.Kind]string{types.Int: "int", types.Uint: "uint", types.Float: "float", types.Pointer: "pointer", types.Reference: "reference",
					types.Text: "text", types.Opaque: "opaque", types.Char: "char", types.Bool: "bool"}[p.Type.Kind]
				list = append(list, fmt.Sprintf("%s:%s%d", p.Type.Name, kind, p.Type.Size))
			}
			if d.variadic {
				list = append(list, "...")
			}
			answers := [...]string{maybe: "maybe", yes: "yes", no: "no"}
			name := d.scope + "::" + d.last
			if d.scope == "" {
				name = d.last
			}
			got = fmt.Sprintf("%s(%s) object %s, hidden %s", name, strings.Join(list, ", "), answers[d.object], answers[d.hidden])
			switch {
			case d.structor && d.complete:
				got += ", complete"
			case d.structor:
				got += ", in part"
			case d.result != nil:
				got += " = " + d.result.Name
			}
		}
		if got != test.want {
			t.Errorf("%s, %s:\n%s\nwant\n%s", test.mangled, demangle.Full(test.mangled), got, test.want)
		}
	}
}

// TestCygwin knows no size of long where it depends on the compiler.
func TestCygwin(t *testing.T) {
	for _, of := range []sizes{{}, {windows: true}, {windows: true, cygwin: true}} {
		want := [2]int{8, 8}
		switch {
		case of.cygwin:
			want = [2]int{0, 0}
		case of.windows:
			want = [2]int{4, 4}
		}
		d := declare("_Z1flm", of, every)
		if got := [2]int{d.parameters[0].Type.Size, d.parameters[1].Type.Size}; got != want {
			t.Errorf("%+v: %d bytes, want %d", of, got, want)
		}
	}
}

// TestScopes finds namespaces by what only they can have.
func TestScopes(t *testing.T) {
	s := make(scopes)
	for _, name := range []string{"_ZN1aL1fEi", "_ZN1b1c12_GLOBAL__N_11fEi", "_ZN1deqERKNS_2PtES2_", "_ZN1e2PteqERKS0_", "_ZN1f1gEi", "_ZN1hIiEL1fEi"} {
		s.learn(name)
	}
	for scope, want := range map[string]bool{"a": true, "b": true, "b::c": true, "d": true, "e": false, "e::Pt": false, "f": false, "h": false, "std": true, "x::(anonymous namespace)": true} {
		if s.of(scope) != want {
			t.Errorf("%s is a namespace: %v", scope, !want)
		}
	}
}

// TestBounds counts what comes before parameters.
func TestBounds(t *testing.T) {
	for _, test := range []struct {
		b      bounds
		n      int
		known  bool
		object bool
	}{
		{bounds{no, no, 0}, 0, true, false}, {bounds{yes, no, 0}, 1, true, true}, {bounds{maybe, no, 0}, 0, false, false}, {bounds{maybe, no, 1}, 1, true, true},
		{bounds{no, maybe, 1}, 1, true, false}, {bounds{maybe, maybe, 1}, 1, false, false}, {bounds{maybe, maybe, 2}, 2, true, true}, {bounds{no, no, 1}, 1, false, false},
	} {
		n, known := test.b.number()
		if known != test.known || known && (n != test.n || test.b.isObject(n) != test.object) {
			t.Errorf("%v: %d %v", test.b, n, known)
		}
	}
}

func FuzzDeclare(f *testing.F) {
	for _, name := range []string{"_ZNK3app4Rect4areaEiPKc", "?make@Rect@app@@QEAA?AV12@H@Z", "_Z1fPFvicEM1AiMS1_FivEPPKc"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, windows := range []bool{false, true} {
			if d := declare(name, sizes{windows: windows}, every); d != nil && len(d.parameters) > maxParameters {
				t.Errorf("%d parameters", len(d.parameters))
			}
		}
		make(scopes).learn(name)
	})
}
