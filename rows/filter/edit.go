package filter

import (
	"slices"
	"strconv"

	"logparser/rows"
)

// Parts returns the expressions that must all hold: those of a chip each. The
// empty expression has none.
func (e *Expr) Parts() []*Expr {
	switch e.Kind {
	case All:
		return nil
	case And:
		return slices.Clone(e.Args)
	}
	return []*Expr{e}
}

// Join returns the expression that wants all of the parts.
func Join(parts []*Expr) *Expr {
	parts = slices.DeleteFunc(slices.Clone(parts), func(e *Expr) bool { return e == nil || e.IsAll() })
	if len(parts) == 0 {
		return &Expr{}
	}
	return join(And, parts)
}

// Without returns the expression without part i of [Expr.Parts].
func (e *Expr) Without(i int) *Expr {
	return Join(slices.Delete(e.Parts(), i, i+1))
}

// equal compares by meaning as far as writing shows it.
func equal(a, b *Expr) bool { return a.String() == b.String() }

// Include returns the expression that also wants a term: another value of a
// column that a part wants already is wanted beside it ("or"), a new column on
// top of all ("and"). That the term is excluded is taken back.
func (e *Expr) Include(term *Expr) *Expr {
	var parts []*Expr
	for _, part := range e.Parts() {
		if !equal(part, negate(term)) {
			parts = append(parts, part)
		}
	}
	column, single := columnOf(term)
	for i, part := range parts {
		if equal(part, term) {
			return Join(parts)
		}
		if c, ok := columnOf(part); !ok || !single || c != column {
			continue
		}
		if part.Kind == Or && slices.ContainsFunc(part.Args, func(a *Expr) bool { return equal(a, term) }) {
			return Join(parts)
		}
		parts[i] = join(Or, []*Expr{part, term})
		return Join(parts)
	}
	return Join(append(parts, term))
}

// Exclude returns the expression that does not want a term. That the term is
// included is taken back; if nothing else is then included in its place, it is
// excluded.
func (e *Expr) Exclude(term *Expr) *Expr {
	var parts []*Expr
	taken := false
	for _, part := range e.Parts() {
		if part.Kind == Or {
			rest := slices.DeleteFunc(slices.Clone(part.Args), func(a *Expr) bool { return equal(a, term) })
			if len(rest) < len(part.Args) {
				taken = true
				parts = append(parts, join(Or, rest))
				continue
			}
		}
		if !equal(part, term) {
			parts = append(parts, part)
		}
	}
	not := negate(term)
	if taken || slices.ContainsFunc(parts, func(p *Expr) bool { return equal(p, not) }) {
		return Join(parts)
	}
	return Join(append(parts, not))
}

// Replace returns the expression with a term in place of all parts that are of
// its column alone: a time range, a chosen thread. Of several terms that "and" joins
// each takes the place of those of its own.
func (e *Expr) Replace(term *Expr) *Expr {
	if term.Kind == And {
		for _, a := range term.Args {
			e = e.Replace(a)
		}
		return e
	}
	column, ok := columnOf(term)
	parts := slices.DeleteFunc(e.Parts(), func(p *Expr) bool {
		for p.Kind == Not {
			p = p.Args[0]
		}
		c, single := columnOf(p)
		return ok && single && c == column
	})
	return Join(append(parts, term))
}

// columnOf returns the column of a term, or of several that "or" joins.
func columnOf(e *Expr) (Column, bool) {
	switch e.Kind {
	case Leaf:
		return e.Term.Column, true
	case Or:
		c, ok := columnOf(e.Args[0])
		for _, a := range e.Args[1:] {
			if other, same := columnOf(a); !same || other != c {
				return "", false
			}
		}
		return c, ok
	}
	return "", false
}

// Is returns the term that a column's text is a given one.
func Is(c Column, text string) *Expr {
	t := &Term{Column: c, Op: Equals, Value: text}
	if c == Text {
		t.Op, t.matcher = Contains, rows.NewMatcher(text)
	}
	return &Expr{Kind: Leaf, Term: t}
}

// InRange returns the term that a column lies between two bounds, as they are
// written, both inclusive; "" is no bound.
func InRange(c Column, low, high string) (*Expr, error) {
	t, err := newTerm(c, "", low+".."+high, false)
	if err != nil {
		return nil, err
	}
	return &Expr{Kind: Leaf, Term: t}, nil
}

// Of returns the term that a column has the value that it has in a row: what
// the menu of a cell includes and excludes. It is false where the row has no
// such value. A duration gives the rows that took as long or longer.
func Of(c Column, r *rows.Row) (*Expr, bool) {
	number := func(op string, n int64, unit string) (*Expr, bool) {
		t, err := newTerm(c, op, strconv.FormatInt(n, 10)+unit, false)
		if err != nil {
			return nil, false
		}
		return &Expr{Kind: Leaf, Term: t}, true
	}
	switch c {
	case Func:
		return Is(c, r.Function), true
	case In:
		return Is(c, r.Function), true
	case Module:
		return Is(c, r.Module), true
	case Source:
		return Is(c, r.Source), true
	case Symbols:
		return Is(c, r.Symbols), true
	case Mark:
		return Is(c, r.Note), true
	case Event:
		return Is(c, r.Event.String()), true
	case Address:
		return Is(c, string(rows.AppendAddress(nil, r.Address))), true
	case Line:
		return number("", int64(r.Line), "")
	case Thread:
		thread, ok := number("", int64(r.Thread), "")
		if r.Process != nil && ok {
			// Threads of several processes may have one id.
			return Join([]*Expr{Is(Process, r.Process.Label), thread}), true
		}
		return thread, ok
	case Process:
		if r.Process == nil {
			return nil, false
		}
		return Is(c, r.Process.Label), true
	case Depth:
		return number("", int64(r.Depth), "")
	case Row, Call:
		return number("", r.Index, "")
	case Time:
		return number("", r.Elapsed, "ns")
	case Duration:
		if r.Duration == rows.NoDuration {
			return nil, false
		}
		return number(">=", r.Duration, "ns")
	}
	entry := c.Entry()
	if entry == nil {
		return nil, false
	}
	if entry.Kind == rows.Text {
		return Is(c, entry.Text(r)), true
	}
	v, ok := entry.Int(r)
	switch {
	case !ok:
		return nil, false
	case entry.Kind == rows.Address:
		return Is(c, string(rows.AppendAddress(nil, uint64(v)))), true
	case entry.Kind == rows.Duration:
		return number(">=", v, "ns")
	}
	return number("", v, "")
}
