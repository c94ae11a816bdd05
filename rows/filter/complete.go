package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Completion is what could be written at a place of an expression.
type Completion struct {
	// From and To are the bytes that what is chosen takes the place of.
	From, To int
	// Column is the column whose value is being written, if InValue; else the
	// beginning of a term is, of which a column's name may be chosen.
	Column  Column
	InValue bool
	// Prefix is what was written of it so far, without quotes.
	Prefix string
}

// Complete says what is being written at a byte of an expression, which may be
// incomplete.
func Complete(text string, at int) Completion {
	at = min(max(at, 0), len(text))
	start := 0
	p := &parser{text: text[:at]}
	// Read over the words before; what is wrong with them does not matter.
	for p.at < at {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		switch {
		case unicode.IsSpace(r) || r == '(' || r == ')' || r == '-':
			p.at += n
			start = p.at
			continue
		}
		start = p.at
		for p.at < at {
			r, n := utf8.DecodeRuneInString(p.text[p.at:])
			if r == '"' {
				if _, ok := p.quotedText(); !ok {
					p.at = at
				}
				continue
			}
			if unicode.IsSpace(r) || r == ')' {
				break
			}
			p.at += n
		}
		if p.at < at {
			start = p.at
		}
	}
	c := Completion{From: start, To: at, Prefix: text[start:at]}
	p = &parser{text: text[:at], at: start}
	if column, ok := p.column(); ok {
		p.operator(column)
		c.Column, c.InValue, c.From = column, true, p.at
		c.Prefix = text[p.at:at]
	}
	if rest, ok := strings.CutPrefix(c.Prefix, `"`); ok {
		c.Prefix = strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(strings.TrimSuffix(rest, `"`))
	}
	return c
}

// Insert returns the expression with a value, or a column's name with its
// colon, in the place of what was being written, and the place after it.
func (c *Completion) Insert(text, choice string) (changed string, at int) {
	if c.InValue {
		t := Term{Column: c.Column, Op: Contains, Value: choice}
		choice = quote(choice, func(p *parser) bool {
			if p.operator(t.Column) != "" || p.peek() == '"' || wildcard(t.Column, choice) {
				return false
			}
			value, _, ok := p.value(false)
			return ok && value == choice
		}) + " "
	}
	return text[:c.From] + choice + text[c.To:], c.From + len(choice)
}
