package rows

import "testing"

func TestInScope(t *testing.T) {
	for _, tt := range []struct {
		function, scope string
		want            bool
	}{
		{"std::sort<app::Row>", "std::", true},
		{"std::vector<int>::push_back", "std::", true},
		{"std::vector<int>::push_back(int const&)", "STD::", true},
		{"std::__1::move", "std::__1::", true},
		{"void std::swap<int>", "std::", true},
		{"app::std::f", "std::", true},
		{"[mismatched] std::f", "std::", true},
		{"app::f<std::string>", "std::", false},
		{"app::f(std::string)", "std::", false},
		{"app::List<std::string>::add", "std::", false},
		{"app::List<std::string>::add", "app::List<std::string>::", true},
		{"app::(anonymous namespace)::f", "app::", true},
		{"app::X::operator std::string", "std::", false},
		{"app::X::operator<", "app::X::", true},
		{"nonstd::f", "std::", false},
		{"std::", "std::", false},
		{"std", "std::", false},
		{"", "std::", false},
	} {
		if got := InScope(tt.function, tt.scope); got != tt.want {
			t.Errorf("%q in %q: %v", tt.function, tt.scope, got)
		}
	}
}
