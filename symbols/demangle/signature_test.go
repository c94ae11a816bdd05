package demangle

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	for _, c := range []struct{ signature, want string }{
		{"main", "main"},
		{"app::same_a(int)", "app::same_a"},
		{"app::Shape::area() const", "app::Shape::area"},
		{"app::Shape::take() const volatile &&", "app::Shape::take"},
		{"app::Shape::~Shape()", "app::Shape::~Shape"},
		{"int app::twice<int>(int)", "app::twice<int>"},
		{"std::enable_if<true, int>::type app::pick<int, (app::E)1>(int)", "app::pick<int, (app::E)1>"},
		{"(anonymous namespace)::Local::run(int)", "(anonymous namespace)::Local::run"},
		{"void (anonymous namespace)::each<int>(int)", "(anonymous namespace)::each<int>"},
		{"entry::$_0::operator()(int) const", "entry::$_0::operator()"},
		{"entry::'lambda'(int)::operator()(int) const", "entry::'lambda'(int)::operator()"},
		{"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
		{"app::run(int)::Inner::work()", "app::run::Inner::work"},
		{"app::Box<int>::get() const::Inner::work()", "app::Box<int>::get::Inner::work"},
		{"app::Box<int (*)(char)>::put(int (*)(char))", "app::Box<int (*)(char)>::put"},
		{"std::function<void (int)>::operator()(int) const", "std::function<void (int)>::operator()"},
		{"app::operator<(app::A const&, app::A const&)", "app::operator<"},
		{"app::A& app::operator<< <int>(app::A&, int)", "app::operator<< <int>"},
		{"bool app::operator<=> <int>(app::A&, int)", "app::operator<=> <int>"},
		{"app::A::operator->*(int)", "app::A::operator->*"},
		{"app::A::operator bool() const", "app::A::operator bool"},
		{"app::A::operator char const*() const", "app::A::operator char const*"},
		{"<lambda_1>::operator void (__cdecl*)(void * const)", "<lambda_1>::operator void (__cdecl*)(void * const)"},
		{"public: __cdecl <lambda_1>::operator int (__cdecl *)(char)(void) const", "<lambda_1>::operator int (__cdecl *)(char)"},
		{"int (*operator new(int))(char)", "operator new"},
		{"operator new(unsigned long)", "operator new"},
		{"operator delete[](void*)", "operator delete[]"},
		{"int (*app::pick<int>(int))(char)", "app::pick<int>"},
		{"decltype (g({parm#1})) app::f<int>(int)", "app::f<int>"},
		{"non-virtual thunk to app::A::f()", "app::A::f"},
		{"transaction clone for std::exception::what() const", "transaction clone for std::exception::what"},
		{"std::locale::name[abi:cxx11]() const", "std::locale::name"},
		{"std::locale::name[abi:cxx11]() const (.cold)", "std::locale::name"},
		{"vtable for app::Shape", "vtable for app::Shape"},
		{"foo(int) [clone .isra.0] [clone .cold]", "foo"},
		{"void operator_like(int)", "operator_like"},
		{"", ""},
		{")", ")"},
		{"()", "()"},
		{"f(", "f("},
		// Microsoft's.
		{"int __cdecl main(void)", "main"},
		{"public: virtual int __cdecl app::Shape::area(void) const", "app::Shape::area"},
		{"public: __cdecl app::Shape::Shape(void)", "app::Shape::Shape"},
		{"public: int __cdecl `anonymous namespace'::Local::run(int)", "`anonymous namespace'::Local::run"},
		{"public: <auto> __cdecl `extern \"C\" entry'::`1'::<lambda_0>::operator()(int) const", "`entry'::`1'::<lambda_0>::operator()"},
		{"class A<class B> * __cdecl f(class C const &)", "f"},
		{"void (__cdecl * __cdecl f(char))(int)", "f"},
		{"public: virtual void * __cdecl app::Shape::`scalar deleting dtor'(unsigned int)", "app::Shape::`scalar deleting destructor'"},
	} {
		if got := Name(c.signature); got != c.want {
			t.Errorf("Name(%q)\n got  %s\n want %s", c.signature, got, c.want)
		}
	}
}

// TestNameOfFull holds Name against Short wherever both work on one name.
func TestNameOfFull(t *testing.T) {
	for _, mangled := range []string{
		"_ZNK3app5Shape4areaEv", "_ZN3app5ShapeD0Ev", "_Z5twiceIiET_S0_", "_ZN12_GLOBAL__N_13fooEv", "_ZN3app3BoxcvbEv",
		"_ZNKSt8functionIFviEEclEi", "_ZN3applsIiEERNS_1AES2_T_", "_ZZN3app3runEiEN5Inner4workEv", "_Znwm",
		"_ZThn16_N3app1A1fEv", "_ZN3app3BoxIiEC1Ei", "_ZNSt6vectorIN3app5ShapeESaIS1_EE9push_backERKS1_",
	} {
		if got, want := Name(Full(mangled)), Short(mangled); got != want {
			t.Errorf("Name(%q)\n got  %s\n want %s", Full(mangled), got, want)
		}
	}
	for _, c := range msvcNames {
		if !strings.HasSuffix(cutQualifiers(c.full), ")") || strings.Contains(c.name, "@@3") || strings.HasPrefix(c.full, "[thunk]") {
			continue // not a function
		}
		if strings.HasPrefix(c.name, "??__") && strings.Contains(c.full, "dynamic") || strings.Contains(c.full, "operator<struct A>") {
			continue // the name is not a piece of the declaration
		}
		if strings.Contains(c.short, "&gt<") || strings.Contains(c.short, "&g>") || strings.Contains(c.short, "&fn_space") || strings.Contains(c.short, "<{") {
			continue // functions among the template arguments keep their signatures
		}
		if got := Name(c.full); got != c.short {
			t.Errorf("Name(%q)\n got  %s\n want %s", c.full, got, c.short)
		}
	}
}
