package shortname

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// within is a fits for so many letters.
func within(n int) func(string) bool {
	return func(s string) bool { return utf8.RuneCountInString(s) <= n }
}

func TestFit(t *testing.T) {
	const push = "std::vector<std::basic_string<char>, std::allocator<int>>::push_back(std::basic_string<char> const&)"
	for _, test := range []struct {
		name    string
		letters int
		want    string
	}{
		{"main", 4, "main"},
		{push, 200, push},
		{push, 80, "std::vector<std::basic_string<char>, std::allocator<int>>::push_back"},
		{push, 30, "std::vector<…>::push_back"},
		{push, 20, "std::v…>::push_back"},
		{"app::run(int, char**) const", 10, "app::run"},
		{"app::run(int, char**) const", 6, "a…:run"},
		{"main", 1, "…"},
		{"main", 0, ""},
		{"函数名称很长", 4, "函…很长"},
		{"", 0, ""},
		{"[mismatched] app::run(int)", 26, "[mismatched] app::run(int)"},
		{"[mismatched] app::run(int)", 25, "[!] app::run(int)"},
		{"[mismatched] app::run(int)", 12, "[!] app::run"},
		{"[mismatched] app::run(int)", 4, "[!] "},
		{"[mismatched] app::run(int)", 3, ""},
	} {
		got := Fit(test.name, within(test.letters))
		if utf8.RuneCountInString(got) > test.letters {
			t.Errorf("%q is longer than %d letters", got, test.letters)
		}
		if got != test.want {
			t.Errorf("%s in %d letters: %q, want %q", test.name, test.letters, got, test.want)
		}
	}
}

// What is shown of parameters is chosen for all names.
func TestParameters(t *testing.T) {
	t.Cleanup(func() { SetParameters(Whole) })
	for _, test := range []struct{ name, collapsed, hidden string }{
		{"f(int, char)", "f(…)", "f"},
		{"f()", "f()", "f"},
		{"f", "f", "f"},
		{"a::b<c(d)>::e(std::function<void (int)>) const", "a::b<c(d)>::e(…) const", "a::b<c(d)>::e"},
		{"A::operator()(int)", "A::operator()(…)", "A::operator()"},
		{"(anonymous namespace)::f", "(anonymous namespace)::f", "(anonymous namespace)::f"},
		{"[mismatched] f(int)", "[mismatched] f(…)", "[mismatched] f"},
	} {
		for p, want := range map[Parameters]string{Whole: test.name, Collapsed: test.collapsed, Hidden: test.hidden} {
			SetParameters(p)
			if got := Show(test.name); got != want || AsTheyAre() != (p == Whole) {
				t.Errorf("%s: %q, want %q", test.name, got, want)
			}
			if got := Fit(test.name, within(1000)); got != want {
				t.Errorf("%s fits as %q, want %q", test.name, got, want)
			}
		}
	}
}

func TestParts(t *testing.T) {
	for _, test := range []struct{ name, without, collapsed string }{
		{"f(int)", "f", "f(int)"},
		{"f(void (*)(int))", "f", "f(void (*)(int))"},
		{"A::operator()(int) const", "A::operator()", "A::operator()(int) const"},
		{"A::operator()", "A::operator()", "A::operator()"},
		{"(anonymous namespace)::f", "(anonymous namespace)::f", "(anonymous namespace)::f"},
		{"main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()", "main::{lambda(int)#1}::operator()"},
		{"f(int) [clone .cold]", "f", "f(int) [clone .cold]"},
		{"A<int>::operator<<(B<C> const&)", "A<int>::operator<<", "A<…>::operator<<(B<…> const&)"},
		{"operator<<int>(A<B>)", "operator<<int>", "operator<<int>(A<B>)"},
		{"A::operator->", "A::operator->", "A::operator->"},
		{"myoperator<x>", "myoperator<x>", "myoperator<…>"},
		{"a<b", "a<b", "a<b"},
		{"a>b<", "a>b<", "a>b<"},
		{"f<(A)0>(x)", "f<(A)0>", "f<…>(x)"},
		{"<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt", "<…>::fmt"},
	} {
		if got := WithoutParameters(test.name); got != test.without {
			t.Errorf("%s without parameters: %q, want %q", test.name, got, test.without)
		}
		if got := Collapse(test.name); got != test.collapsed {
			t.Errorf("%s collapsed: %q, want %q", test.name, got, test.collapsed)
		}
	}
}

// A name of any size takes little.
func TestFitOfAHugeName(t *testing.T) {
	calls := 0
	got := Fit(strings.Repeat("a<", 1<<20)+"end", func(s string) bool {
		calls++
		return len(s) <= 20
	})
	if !strings.HasSuffix(got, "end") || len(got) > 20 || calls > 50 {
		t.Errorf("%q after %d questions", got, calls)
	}
}

// FuzzFit finds out that what comes fits, and is text where the name is.
func FuzzFit(f *testing.F) {
	f.Add("std::map<int, A>::operator[](int const&) const", 12)
	f.Add("operator<<", 3)
	f.Fuzz(func(t *testing.T, name string, letters int) {
		got := Fit(name, within(letters))
		if got != "" && !within(letters)(got) {
			t.Errorf("%q does not fit", got)
		}
		if utf8.ValidString(name) && !utf8.ValidString(got) {
			t.Errorf("%q is no text", got)
		}
	})
}
