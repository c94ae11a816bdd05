package filter

import "strings"

// String writes the expression so that [Parse] gives an equal one.
func (e *Expr) String() string {
	var b strings.Builder
	e.write(&b, Or)
	return b.String()
}

// write writes an expression as part of one of the kind around.
func (e *Expr) write(b *strings.Builder, around Kind) {
	switch e.Kind {
	case Leaf:
		e.Term.write(b)
	case Not:
		b.WriteByte('-')
		e.Args[0].write(b, Not)
	case And, Or:
		brackets := around == Not || around == And && e.Kind == Or
		if brackets {
			b.WriteByte('(')
		}
		for i, a := range e.Args {
			if i > 0 {
				b.WriteByte(' ')
				if e.Kind == Or {
					b.WriteString("or ")
				}
			}
			a.write(b, e.Kind)
		}
		if brackets {
			b.WriteByte(')')
		}
	}
}

// String writes the term.
func (t *Term) String() string {
	var b strings.Builder
	t.write(&b)
	return b.String()
}

func (t *Term) write(b *strings.Builder) {
	if t.Column == Text && t.Op == Contains {
		b.WriteString(quote(t.Value, func(p *parser) bool {
			e := p.not()
			// Behind a column's name it would be read as an operator.
			operator := strings.IndexByte(":=!<>", t.Value[0]) >= 0 && !strings.HasPrefix(t.Value, "::")
			return e != nil && e.Kind == Leaf && e.Term.Column == Text && e.Term.Op == Contains && e.Term.Value == t.Value && !operator
		}))
		return
	}
	b.WriteString(t.Column.String())
	b.WriteByte(':')
	switch t.Op {
	case Equals:
		b.WriteByte('=')
	case Matches:
		b.WriteByte('~')
	case Between:
		if strings.ContainsRune(t.Value, ' ') {
			value := strings.TrimLeft(t.Value, "<>=")
			b.WriteString(t.Value[:len(t.Value)-len(value)])
			b.WriteString(quoted(value))
			return
		}
		b.WriteString(t.Value)
		return
	}
	if t.quoted && (t.Column.numeric() || t.Column.IsValue()) && t.Op != Matches {
		b.WriteString(quoted(t.Value))
		return
	}
	b.WriteString(quote(t.Value, func(p *parser) bool {
		if t.Op == Contains && (p.operator(t.Column) != "" || wildcard(t.Column, t.Value)) || p.peek() == '"' {
			return false
		}
		value, _, ok := p.value(t.Op == Matches)
		return ok && value == t.Value
	}))
}

// quote returns a text as it is if it is read as itself, and else in quotes.
func quote(text string, reads func(p *parser) bool) string {
	p := &parser{text: text}
	if text != "" && reads(p) && p.err == nil && p.at == len(text) {
		return text
	}
	return quoted(text)
}

func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
