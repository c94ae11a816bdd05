package rows

import "strings"

// InScope reports whether a function lies in a scope, which ends in "::" and whose letters may be capital or not: "std::" is that of
// std::sort<app::Row> and of inner::std::f, not that of app::f<std::string>(std::string), which only has it in what stands within its
// name.
func InScope(function, scope string) bool {
	name := PlainFunction(function)
	depth := 0
	for i := 0; i+len(scope) < len(name); i++ {
		switch name[i] {
		case '<', '(', '[', '{':
			depth++
			continue
		case '>', ')', ']', '}':
			depth = max(depth-1, 0)
			continue
		}
		if depth > 0 {
			continue
		}
		if rest := name[i:]; strings.HasPrefix(rest, "operator") && (i == 0 || strings.IndexByte(": ", name[i-1]) >= 0) {
			return false // what follows is no scope
		}
		begins := i == 0 || strings.IndexByte(": *&", name[i-1]) >= 0
		if begins && strings.EqualFold(name[i:i+len(scope)], scope) {
			return true
		}
	}
	return false
}
