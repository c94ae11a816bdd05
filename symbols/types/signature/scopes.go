package signature

import (
	"strconv"
	"strings"
)

// Scopes are the names that an image shows to be namespaces.
type scopes map[string]bool

// of reports whether a scope is a namespace; if not, it may be a class or a namespace.
func (s scopes) of(scope string) bool {
	return s[scope] || scope == "std" || strings.HasSuffix(scope, "(anonymous namespace)")
}

// add adds a namespace, and those that it is in.
func (s scopes) add(scope string) {
	for scope != "" && !s[scope] {
		s[scope] = true
		scope, _ = splitScope(scope)
	}
}

// learn takes note of what a function's name shows: only namespaces have unnamed namespaces, functions that no other file sees,
// and operators of two operands with both as parameters.
func (s scopes) learn(mangled string) {
	rest, ok := strings.CutPrefix(mangled, "_ZN")
	if !ok {
		return
	}
	scope := ""
	if rest, ok = strings.CutPrefix(rest, "St"); ok {
		scope = "std"
	}
	for {
		if len(rest) > 1 && rest[0] == 'L' && isDigit(rest[1]) {
			s.add(scope)
			return
		}
		digits := 0
		for digits < len(rest) && digits < 5 && isDigit(rest[digits]) {
			digits++
		}
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > len(rest)-digits {
			break
		}
		name := rest[digits : digits+n]
		rest = rest[digits+n:]
		if strings.HasPrefix(name, "_GLOBAL__N_") {
			s.add(scope)
			return
		}
		if scope != "" {
			scope += "::"
		}
		scope += name
	}
	if scope == "" || len(rest) < 3 || rest[0] < 'a' || rest[0] > 'z' {
		return // the name proper is no operator
	}
	if d := declare(mangled, sizes{}, func(string) bool { return true }); d != nil && d.operator && d.object == no && d.scope == scope {
		s.add(scope)
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
