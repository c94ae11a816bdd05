package rows

import "strings"

// PlainFunction returns a function's name without what stands behind it to tell it from others of that name: parameters, and
// in brackets the part, the file or the place of it.
func PlainFunction(name string) string {
	if !strings.ContainsAny(name, "([") {
		return name
	}
	depth := 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; c {
		case 'o':
			const operator = "operator"
			if strings.HasPrefix(name[i:], operator) && (i == 0 || strings.IndexByte(": ", name[i-1]) >= 0) {
				i += len(operator)
				if strings.HasPrefix(name[i:], "()") || strings.HasPrefix(name[i:], "[]") {
					i += 2
				} else {
					i = len(name) - len(strings.TrimLeft(name[i:], "<>=!+-*/%^&|~,"))
				}
				i--
			}
		case '(', '[':
			begins := i == 0 || strings.IndexByte(":.", name[i-1]) >= 0 // as (anonymous namespace) or a receiver of Go
			if depth == 0 && !begins && (c == '(' || name[i-1] == ' ') {
				return strings.TrimSuffix(name[:i], " ")
			}
			depth++
		case '<', '{', '`':
			depth++
		case '>':
			if i > 0 && name[i-1] != '-' {
				depth = max(depth-1, 0)
			}
		case ')', ']', '}', '\'':
			depth = max(depth-1, 0)
		}
	}
	return name
}
