package symtest

import (
	"reflect"
	"strings"
	"testing"
)

func TestPlain(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"main", "main"},
		{"static int google_breakpad::i()", "google_breakpad::i"},
		{"static  * _onexit_nolock( *)", "_onexit_nolock"},
		{"static struct _XCPT_ACTION * siglookup(int, struct _XCPT_ACTION *)", "siglookup"},
		{"static  `type_info::_Type_info_dtor'::`1'::fin$0()", "`type_info::_Type_info_dtor'::`1'::fin$0"},
		{"google_breakpad::C::`scalar deleting destructor'(unsigned int)", "google_breakpad::C::`scalardeletingdestructor'"},
		{"operator delete(void *)", "operatordelete"},
		{"bool A::operator<(A const &) const", "A::operator<"},
		{"int A<int>::operator()(int)", "A<int>::operator()"},
		{"<lambda_1>::operator()", "<lambda_1>::operator()"},
		{"<lambda_1>::operator void (__cdecl*)(void * const)", "<lambda_1>::operatorvoid(__cdecl*)(void*const)"},
		{"A::operator void (__cdecl*)(void * const)(void) const", "A::operatorvoid(__cdecl*)(void*const)"},
		{"(anonymous namespace)::f<enum E,struct S<long> >", "(anonymousnamespace)::f<E,S<long>>"},
		{"g<unsigned int, int64_t>(int)", "g<unsignedint,__int64>"},
	} {
		if got := Plain(c.name); got != c.want {
			t.Errorf("Plain(%q) = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestParameters(t *testing.T) {
	for _, c := range []struct {
		name, want string
		ok         bool
	}{
		{"main", "", false},
		{"A::operator()", "", false},
		{"A::operator()(int)", "int", true},
		{"f(void)", "", true},
		{"f(struct S *, const char *, int)", "S*,charconst*,int", true},
		{"test8(int (*)(void (*)(int, double*)))", "int(*)(void(*)(int,double*))", true},
	} {
		if got, ok := Parameters(c.name); got != c.want || ok != c.ok {
			t.Errorf("Parameters(%q) = %q, %v, want %q, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestParse(t *testing.T) {
	const text = `MODULE windows x86_64 0A1 a b.pdb
FILE 1 c:\a b.cc
INLINE_ORIGIN 7 in(int)
FUNC m 1010 6a 4 static int f(int, int)
INLINE 0 12 1 7 1014 2 1020 4
1010 4 10 1
1014 2 99 1
STACK CFI whatever
PUBLIC 2000 0 p
`
	want := &Table{OS: "windows", Arch: "x86_64", ID: "0A1", Name: "a b.pdb",
		Funcs: []Func{{Multiple: true, Address: 0x1010, Size: 0x6a, Name: "static int f(int, int)",
			Lines:   []Line{{0x1010, 4, `c:\a b.cc`, 10}, {0x1014, 2, `c:\a b.cc`, 99}},
			Inlines: []Inline{{0, 12, `c:\a b.cc`, "in(int)", []Range{{0x1014, 2}, {0x1020, 4}}}}}},
		Publics: []Public{{Address: 0x2000, Name: "p"}}}
	got, err := Parse(strings.NewReader(text))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	for _, bad := range []string{"nonsense 1 2", "FUNC x 1 2 f", "INLINE 0 1 2 3"} {
		if _, err := Parse(strings.NewReader(bad)); err == nil {
			t.Errorf("Parse(%q) succeeded", bad)
		}
	}
}
