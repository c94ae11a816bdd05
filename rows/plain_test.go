package rows

import "testing"

func TestPlainFunction(t *testing.T) {
	for name, want := range map[string]string{
		"f": "f", "f(int)": "f", "app::V::V(double)": "app::V::V", "f(int) const": "f", "f(int) (a.c)": "f",
		"load (a.cpp)": "load", "app::load (src/a.cpp)": "app::load", "load [+0x1258]": "load",
		"counter [resume]": "counter", "X::~X [base object]": "X::~X", "counter(int) [resume]": "counter",
		"(anonymous namespace)::hid": "(anonymous namespace)::hid", "(anonymous namespace)::hid()": "(anonymous namespace)::hid",
		"h()::{lambda(int)#1}::operator()": "h", "h::{lambda(int)#1}::operator()": "h::{lambda(int)#1}::operator()",
		"h::{lambda(int)#1}::operator()(int) const": "h::{lambda(int)#1}::operator()",
		"g<int (*)(int)>(int)":                      "g<int (*)(int)>", "operator<(V, V)": "operator<", "operator<< <int>(V)": "operator<< <int>",
		"V::operator->()": "V::operator->", "V::operator bool() const": "V::operator bool", "V::operator[](int)": "V::operator[]",
		"std::function<void (int)>::operator()": "std::function<void (int)>::operator()",
		"main.(*T).inner":                       "main.(*T).inner", "app.exe+0x1000": "app.exe+0x1000", "0x1000": "0x1000", "": "",
		"<T as Into<U>>::into": "<T as Into<U>>::into", "[mismatched] f(int)": "[mismatched] f", "-[Shape area]": "-[Shape area]",
		"cooperator(int)": "cooperator",
	} {
		if got := PlainFunction(name); got != want {
			t.Errorf("PlainFunction(%q) is %q, want %q", name, got, want)
		}
	}
}
