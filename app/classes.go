package app

import (
	"context"
	"slices"
	"strings"

	"logparser/rows"
)

// ClassStatistics is Statistics of classes and namespaces: the calls of all functions of
// one, in whatever module, are its. Function is its name, "" for functions that have none.
func (s *Session) ClassStatistics(ctx context.Context, sel Selection, p Progress) ([]FunctionStat, error) {
	return s.statistics(ctx, sel, s.classGroups, false, p)
}

func (s *Session) classGroups() (of []uint32, list []FunctionRef) {
	g := s.groups()
	byName := make(map[string]uint32)
	groupOf := make([]uint32, len(g.list))
	for i := range g.list {
		name := ClassOf(rows.PlainFunction(g.list[i].Function))
		group, ok := byName[name]
		if !ok {
			group = uint32(len(list))
			byName[name] = group
			list = append(list, FunctionRef{Function: name, Key: group})
		}
		groupOf[i] = group
	}
	of = make([]uint32, len(g.of))
	for i, function := range g.of {
		of[i] = groupOf[function]
	}
	return of, list
}

// ClassOf returns the class or namespace that a function's name begins with: what stands
// before its last "::", or of Go's names before the last dot of the receiver or package,
// "" for nothing. What stands in template arguments, parameters and quotes does not count.
func ClassOf(function string) string {
	depth, class, begin := 0, "", 0
	for i := 0; i < len(function); i++ {
		switch function[i] {
		case '<', '(', '[', '{', '`':
			if function[i] == '(' && depth == 0 && i > 0 && function[i-1] != ':' && function[i-1] != '.' {
				return class // parameters
			}
			depth++
		case '>':
			if i > 0 && function[i-1] == '-' {
				break // operator->
			}
			depth = max(depth-1, 0)
		case ')', ']', '}', '\'':
			depth = max(depth-1, 0)
		case ':':
			if depth == 0 && i+1 < len(function) && function[i+1] == ':' {
				class = function[begin:i]
				i++
				if len(function) > i+8 && function[i+1:i+9] == "operator" {
					return class
				}
			}
		case '.':
			if depth == 0 && i > begin && !isSuffix(function[i+1:]) {
				class = function[begin:i]
			}
		case ' ':
			if depth == 0 {
				class, begin = "", i+1 // that was the type of a template's result
			}
		}
	}
	return class
}

// suffixes are what compilers put behind the names of parts and copies of functions.
var suffixes = []string{"constprop", "isra", "part", "cold", "llvm", "lto_priv", "localalias", "clone"}

// isSuffix reports whether what follows a dot is no name of the language's.
func isSuffix(s string) bool {
	if s == "" || s[0] == '.' || s[0] >= '0' && s[0] <= '9' {
		return true
	}
	return slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasPrefix(s, suffix) })
}
