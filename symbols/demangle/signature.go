package demangle

import "strings"

// Name cuts a demangled signature, as linkers write it into their maps, down
// to scopes and name: what [Short] makes of the mangled name. It is for text
// whose mangled form is lost; it does not parse, and text that has not the
// form of a signature is returned as it is.
func Name(signature string) string {
	s := signature
	if len(s) > maxInput {
		return s
	}
	s = cutCloneNotes(s)
	s = withoutThunk(s)
	for _, thunk := range [...]string{"transaction clone for ", "non-transaction clone for ", "invocation function for block in ",
		"TLS init function for ", "TLS wrapper function for "} {
		if rest, ok := strings.CutPrefix(s, thunk); ok {
			return thunk + Name(rest)
		}
	}
	for _, data := range [...]string{"vtable for ", "VTT for ", "construction vtable for ", "typeinfo for ",
		"typeinfo name for ", "guard variable for ", "reference temporary", "template parameter object for "} {
		if strings.HasPrefix(s, data) {
			return s
		}
	}
	if name := nameWithin(s, 0); name != "" {
		return name
	}
	return signature
}

// cutCloneNotes cuts what demanglers write for the suffixes of compiler-made
// copies and parts: "[clone .cold]" and "(.cold)".
func cutCloneNotes(s string) string {
	for {
		note := " [clone ."
		switch {
		case strings.HasSuffix(s, "]"):
		case strings.HasSuffix(s, ")"):
			note = " (."
		default:
			return s
		}
		i := strings.LastIndex(s, note)
		if i < 0 || strings.ContainsAny(s[i+len(note):len(s)-1], "()[] ") {
			return s
		}
		s = s[:i]
	}
}

// maxNameNesting bounds functions that return pointers to functions that
// return pointers to functions.
const maxNameNesting = 16

// nameWithin returns the name of the function that s declares, "" where none
// is found.
func nameWithin(s string, nesting int) string {
	s = cutQualifiers(s)
	before, list := cutLastGroup(s)
	if list != "" && !strings.HasSuffix(before, "::") && strings.TrimSpace(before) != "" && !(list == "()" && endsInOperator(before)) {
		if strings.HasSuffix(before, ")") && isConversion(before) {
			// A conversion to a pointer to a function: the first two groups
			// are the type's, a third is its own parameter list.
			if inner, _ := cutLastGroup(before); strings.HasSuffix(inner, ")") {
				s = before
			}
			return lastWord(s, nesting)
		}
		if strings.HasSuffix(before, ")") && !endsInOperator(strings.TrimSuffix(before, "()")) && nesting < maxNameNesting {
			// A function that returns a pointer to a function: the
			// declaration stands within the parentheses.
			if _, group := cutLastGroup(before); group != "" {
				inner := strings.Trim(group[1:len(group)-1], "*& ")
				return nameWithin(inner, nesting+1)
			}
		}
		s = before
	}
	return lastWord(s, nesting)
}

// cutQualifiers cuts what stands behind a parameter list.
func cutQualifiers(s string) string {
	t := s
	for again := true; again; {
		again = false
		for _, q := range [...]string{" const", " volatile", " __restrict", " __unaligned", " noexcept", " &&", " &"} {
			if cut, ok := strings.CutSuffix(t, q); ok {
				t, again = cut, true
			}
		}
	}
	if strings.HasSuffix(t, ")") {
		return t
	}
	return s
}

// cutLastGroup splits the parenthesised group off that ends s; group is ""
// where s does not end in one.
func cutLastGroup(s string) (before, group string) {
	if !strings.HasSuffix(s, ")") {
		return s, ""
	}
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return s[:i], s[i:]
			}
		}
	}
	return s, ""
}

func endsInOperator(s string) bool {
	rest, ok := strings.CutSuffix(s, "operator")
	return ok && (rest == "" || !isWord(rest[len(rest)-1]))
}

// isConversion reports whether s, outside of brackets, has the word operator
// with a type behind it.
func isConversion(s string) bool {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '<', '[', '{', '`':
			depth++
		case ')', '>', ']', '}', '\'':
			if depth > 0 {
				depth--
			}
		case 'o':
			rest, ok := strings.CutPrefix(s[i:], "operator ")
			if ok && depth == 0 && (i == 0 || !isWord(s[i-1])) {
				word := rest[:max(strings.IndexAny(rest, " [("), 0)]
				return word != "new" && word != "delete" && word != "co_await"
			}
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// operatorSymbols are the operators that hold brackets, longest first.
var operatorSymbols = [...]string{"<=>", "<<=", ">>=", "->*", "()", "[]", "->", "<<", ">>", "<=", ">=", "<", ">"}

// lastWord returns what stands behind the last blank that is not within
// brackets, quotes or the name of an operator, without the parameter lists of
// enclosing functions and the keywords of classes.
func lastWord(s string, nesting int) string {
	var out []byte
	depth := 0
	named := false    // an operator's name has begun
	unclosed := false // a quote was opened that nothing closes
	for i := 0; i < len(s); {
		c := s[i]
		start := i == 0 || !isWord(s[i-1])
		if start && c == 'o' && strings.HasPrefix(s[i:], "operator") && (i+8 == len(s) || !isWord(s[i+8])) {
			named = named || depth == 0
			n := len("operator")
			for _, symbol := range operatorSymbols {
				if strings.HasPrefix(s[i+n:], symbol) {
					n += len(symbol)
					break
				}
			}
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		if start {
			if n := keyword(s[i:]); n > 0 {
				i += n
				continue
			}
		}
		switch c {
		case '`':
			if !unclosed {
				if quoted, n := quotedName(s[i:], nesting); n > 0 {
					out = append(out, quoted...)
					i += n
					continue
				}
				unclosed = true
			}
		case '(':
			if depth == 0 {
				if n := enclosingParameters(s, i, out); n > 0 {
					i += n
					continue
				}
			}
			depth++
		case '[':
			if strings.HasPrefix(s[i:], "[abi:") {
				if end := strings.IndexByte(s[i:], ']'); end > 0 {
					i += end + 1
					continue
				}
			}
			depth++
		case '<', '{':
			depth++
		case ')', '>', ']', '}':
			if depth > 0 {
				depth--
			}
		case ' ':
			if depth == 0 && !named {
				out = out[:0]
				i++
				continue
			}
		}
		out = append(out, c)
		i++
	}
	return string(out)
}

// keyword returns the length of a class keyword and its blank, 0 where s does
// not begin with one.
func keyword(s string) int {
	for _, k := range [...]string{"class ", "struct ", "union ", "enum "} {
		if strings.HasPrefix(s, k) {
			return len(k)
		}
	}
	return 0
}

// quotedName reads what stands between Microsoft's quotes: a scope, a function
// around what follows, which is written by its name, or a word for what the
// compiler made. n is the length of the text read, 0 where the quote is not
// closed.
func quotedName(s string, nesting int) (text string, n int) {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '`':
			depth++
		case '\'':
			if depth--; depth > 0 {
				continue
			}
			text = s[:i+1]
			if word := microsoftWords[text]; word != "" {
				return word, i + 1
			}
			inner := strings.TrimPrefix(s[1:i], `extern "C" `)
			if strings.HasSuffix(cutQualifiers(inner), ")") && nesting < maxNameNesting {
				if name := nameWithin(inner, nesting+1); name != "" {
					inner = name
				}
			}
			return "`" + inner + "'", i + 1
		}
	}
	return "", 0
}

// microsoftWords has Microsoft's words for what llvm-undname calls otherwise.
var microsoftWords = func() map[string]string {
	words := map[string]string{}
	for _, table := range [...]*[256]*operator{&underscoreOperators, &doubleUnderscoreOperators} {
		for _, op := range table {
			if op != nil && op.microsoft != "" {
				words[op.name] = op.microsoft
			}
		}
	}
	return words
}()

// enclosingParameters returns the length of the parameter list at i and its
// qualifiers if they are those of a function that encloses what follows; out
// is the text before.
func enclosingParameters(s string, i int, out []byte) int {
	if len(out) == 0 || !isWord(out[len(out)-1]) && out[len(out)-1] != '>' {
		return 0 // a lambda, or the unnamed namespace
	}
	depth := 0
	for j := i; j < len(s); j++ {
		switch s[j] {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth > 0 {
			continue
		}
		end := j + 1
		for _, q := range [...]string{" const", " volatile", " &&", " &"} {
			if strings.HasPrefix(s[end:], q) {
				end += len(q)
			}
		}
		if strings.HasPrefix(s[end:], "::") {
			return end - i
		}
		return 0
	}
	return 0
}
