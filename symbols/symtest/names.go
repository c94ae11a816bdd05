package symtest

import "strings"

// Same reports whether two names mean the same function by the rule that
// conformance is judged by: without parameters, storage class, return type,
// class keywords and blanks.
func Same(a, b string) bool { return Plain(a) == Plain(b) }

// SameAs reports whether the expected name means the same function as one of
// the names given: the outermost frame's and its aliases.
func SameAs(want string, function string, aliases []string) bool {
	w := Plain(want)
	if w == Plain(function) {
		return true
	}
	for _, a := range aliases {
		if w == Plain(a) {
			return true
		}
	}
	return false
}

// Plain brings a name into the form in which names are compared: without
// parameters, storage class, return type, class keywords and blanks.
func Plain(name string) string {
	name = strings.TrimSpace(name)
	for _, storage := range []string{"static ", "virtual ", "public: ", "private: ", "protected: "} {
		name = strings.TrimPrefix(name, storage)
	}
	name, _, _ = cutParameters(name)
	return squeeze(name[nameStart(name):])
}

// Parameters returns a name's parameter list in the form in which lists are
// compared, and whether the name has one: without class keywords and blanks,
// const behind the type it qualifies, no "void" where there is nothing.
func Parameters(name string) (string, bool) {
	_, list, ok := cutParameters(strings.TrimSpace(name))
	if !ok {
		return "", false
	}
	var out []string
	for _, p := range splitTop(list) {
		p = strings.TrimSpace(p)
		if rest, ok := strings.CutPrefix(p, "const "); ok {
			at := strings.IndexAny(rest, "*&")
			if at < 0 {
				at = len(rest)
			}
			p = rest[:at] + " const" + rest[at:]
		}
		out = append(out, squeeze(p))
	}
	joined := strings.Join(out, ",")
	if joined == "void" {
		joined = ""
	}
	return joined, true
}

// squeeze drops class keywords and blanks, and writes the 64-bit integers as
// Microsoft's undecorator does, whatever the table's writer called them.
func squeeze(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if wordByte(s[i]) {
			j := i
			for j < len(s) && wordByte(s[j]) {
				j++
			}
			switch w := s[i:j]; {
			case j < len(s) && s[j] == ' ' && (w == "class" || w == "struct" || w == "union" || w == "enum"):
			case w == "int64_t":
				b.WriteString("__int64")
			case w == "uint64_t":
				b.WriteString("unsigned__int64")
			default:
				b.WriteString(w)
			}
			i = j
			continue
		}
		if s[i] != ' ' {
			b.WriteByte(s[i])
		}
		i++
	}
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// cutParameters splits off a trailing parameter list and what follows it
// (const, volatile, reference qualifiers).
func cutParameters(name string) (before, list string, ok bool) {
	s := name
	for again := true; again; {
		again = false
		for _, q := range []string{" const", " volatile", " noexcept", " &&", " &", " [clone .cold]"} {
			if t, ok := strings.CutSuffix(s, q); ok && strings.HasSuffix(t, ")") {
				s, again = t, true
			}
		}
	}
	open := openingOf(s)
	if open < 0 {
		return name, "", false
	}
	before, list = s[:open], s[open+1:len(s)-1]
	switch trimmed := strings.TrimRight(before, " "); {
	case trimmed == "" || strings.HasSuffix(trimmed, "::"):
		return name, "", false // (anonymous namespace)
	case endsInWord(trimmed, "operator") && list == "":
		return name, "", false // the operator () itself
	case strings.HasSuffix(trimmed, ")") && strings.Contains(trimmed, "operator ") && !strings.HasSuffix(trimmed, "operator()"):
		// A conversion to a pointer to function: the list belongs to the
		// type, unless the function's own follows it.
		if inner := openingOf(trimmed); inner >= 0 && strings.Contains(trimmed[inner:], "*") && !strings.HasSuffix(strings.TrimRight(trimmed[:inner], " "), ")") {
			return name, "", false
		}
	}
	return before, list, true
}

func endsInWord(s, word string) bool {
	before, ok := strings.CutSuffix(s, word)
	return ok && (before == "" || !wordByte(before[len(before)-1]))
}

// openingOf returns the index of the parenthesis that the last byte of s
// closes, or -1.
func openingOf(s string) int {
	if !strings.HasSuffix(s, ")") {
		return -1
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// nameStart returns where the function's own name begins: behind the last
// blank outside brackets and quotes, but not behind a blank that belongs to an
// operator's name.
func nameStart(s string) int {
	start := 0
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '<' || c == '(' || c == '`' || c == '[':
			depth++
		case (c == '>' || c == ')' || c == '\'' || c == ']') && depth > 0:
			depth--
		case c == ' ' && depth == 0:
			start = i + 1
		case depth == 0 && strings.HasPrefix(s[i:], "operator") && (i == 0 || !wordByte(s[i-1])) &&
			(i+8 == len(s) || !wordByte(s[i+8])):
			return start
		}
	}
	return start
}

// splitTop splits a parameter list at its outer commas.
func splitTop(list string) []string {
	var out []string
	depth, from := 0, 0
	for i := 0; i < len(list); i++ {
		switch list[i] {
		case '<', '(', '[', '`':
			depth++
		case '>', ')', ']', '\'':
			depth--
		case ',':
			if depth == 0 {
				out = append(out, list[from:i])
				from = i + 1
			}
		}
	}
	return append(out, list[from:])
}
