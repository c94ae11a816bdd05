package symtest

import (
	"fmt"
	"slices"
	"testing"

	"logparser/symbols"
)

// A Score counts how much of an expected table agrees.
type Score struct {
	// All is how many were compared, Same how many of them agree.
	All, Same int
	// Alias is how many of Same agree by an alias of a folded function.
	Alias int
	// Explained is how many of the differences have a cause, by that cause.
	Explained map[string]int
}

func (s *Score) explained() int {
	n := 0
	for _, c := range s.Explained {
		n += c
	}
	return n
}

// Unexplained returns how many differences have no known cause.
func (s *Score) Unexplained() int { return s.All - s.Same - s.explained() }

// Percent returns the share that agrees, with the explained differences or
// without.
func (s *Score) Percent(explained bool) float64 {
	if s.All == 0 {
		return 100
	}
	n := s.Same
	if explained {
		n += s.explained()
	}
	return 100 * float64(n) / float64(s.All)
}

// String is "100.00 % of 246" and, where some differences are explained, how
// many: "100.00 % of 246: 79 equal, 167 explained".
func (s *Score) String() string {
	if s.All == 0 {
		return "-"
	}
	text := fmt.Sprintf("%.2f %% of %d", s.Percent(true), s.All)
	if n := s.explained(); n > 0 {
		text += fmt.Sprintf(": %d equal, %d explained", s.Same, n)
	}
	return text
}

// A Subject is what a difference is about.
type Subject string

const (
	Name          Subject = "name"
	ParameterList Subject = "parameters"
	LineRow       Subject = "line row"
	Size          Subject = "size"
	InlineCall    Subject = "inlined call"
	PublicName    Subject = "public"
)

// A Difference is one thing in which a reader and an expected table differ.
type Difference struct {
	Subject Subject
	Address uint64
	// What says what differs where that is not an address.
	What string
	Want string
	Got  string
	// Symbol is the reader's answer at Address, Err its error.
	Symbol symbols.Symbol
	Err    error
	// Func is the table's function, nil for a public.
	Func *Func
	// Cause says why they differ; "" is a difference that nobody understands.
	Cause string
}

// Rules are what is particular about one reader or one table.
type Rules struct {
	// Explain names the cause of a difference, or returns "". The table is the
	// one that is compared with.
	Explain func(table *Table, d *Difference) string
	// NoSizes and NoLines say that the reader's format has none.
	NoSizes, NoLines bool
}

// A Comparison says how far a reader agrees with an expected table.
type Comparison struct {
	Names, Parameters, Lines, Sizes, Inlines, Publics Score
	Differences                                       []Difference
}

// Compare looks up everything that a table expects.
//
// The name is that of the outermost frame, or an alias, by [SameAs]. Where
// both know the parameters, their types are compared too. A row's line and
// file are those of the innermost frame where the table lists the function's
// inlined calls, and of the outermost frame, which has the line of the call,
// where it does not; they are compared at every byte of the row, up to the
// function's end. Rows of a function that was cut into pieces may all stand
// under the last piece. A row of size 0 is the opening line of a function whose first
// byte already belongs to the next row: no address has that line, and it is
// left out. A size is that of the piece of the function that the address lies
// in, and its start must be the table's too. An inlined call has the table's
// origin (if it knows one), and was called from its file and line, at every
// byte of its ranges.
func Compare(table *Table, lookup func(rva uint64) (symbols.Symbol, error), rules Rules) *Comparison {
	c := &Comparison{}
	differ := func(s *Score, d Difference) {
		if rules.Explain != nil {
			d.Cause = rules.Explain(table, &d)
		}
		c.Differ(s, d)
	}
	for i := range table.Funcs {
		f := &table.Funcs[i]
		s, err := lookup(f.Address)
		c.name(f, s, err, differ)
		if !rules.NoSizes {
			c.Sizes.All++
			if err == nil && s.Start == f.Address && s.Size == f.Size {
				c.Sizes.Same++
			} else {
				differ(&c.Sizes, Difference{Subject: Size, Address: f.Address, Symbol: s, Err: err, Func: f,
					Want: fmt.Sprintf("%#x bytes of %s", f.Size, f.Name),
					Got:  fmt.Sprintf("%#x from %#x", s.Size, s.Start)})
			}
		}
		if !rules.NoLines {
			c.lines(f, lookup, differ)
			c.inlines(f, lookup, differ)
		}
	}
	for i := range table.Publics {
		p := &table.Publics[i]
		s, err := lookup(p.Address)
		c.Publics.All++
		switch {
		case err == nil && s.Start == p.Address && Same(p.Name, s.Outermost().Function):
			c.Publics.Same++
		case err == nil && s.Start == p.Address && SameAs(p.Name, "", s.Aliases):
			c.Publics.Same++
			c.Publics.Alias++
		default:
			differ(&c.Publics, Difference{Subject: PublicName, Address: p.Address, Symbol: s, Err: err, Want: p.Name, Got: outermost(s, err)})
		}
	}
	return c
}

// Differ adds a difference to one of the comparison's scores.
func (c *Comparison) Differ(s *Score, d Difference) {
	if d.Cause != "" {
		if s.Explained == nil {
			s.Explained = map[string]int{}
		}
		s.Explained[d.Cause]++
	}
	c.Differences = append(c.Differences, d)
}

func outermost(s symbols.Symbol, err error) string {
	if err != nil {
		return "no name"
	}
	if o := s.Outermost(); o.Signature != "" {
		return o.Signature
	}
	return s.Outermost().Function
}

func (c *Comparison) name(f *Func, s symbols.Symbol, err error, differ func(*Score, Difference)) {
	c.Names.All++
	d := Difference{Subject: Name, Address: f.Address, Symbol: s, Err: err, Func: f, Want: f.Name, Got: outermost(s, err)}
	if err != nil {
		differ(&c.Names, d)
		return
	}
	o := s.Outermost()
	switch {
	case Same(f.Name, o.Function):
		c.Names.Same++
	case SameAs(f.Name, "", s.Aliases):
		c.Names.Same++
		c.Names.Alias++
		return // the parameters known are not the alias's
	default:
		differ(&c.Names, d)
	}
	want, ok := Parameters(f.Name)
	if !ok {
		return
	}
	if got, ok := Parameters(o.Signature); ok {
		c.Parameters.All++
		if got == want {
			c.Parameters.Same++
		} else {
			d.Subject = ParameterList
			differ(&c.Parameters, d)
		}
	}
}

func (c *Comparison) lines(f *Func, lookup func(uint64) (symbols.Symbol, error), differ func(*Score, Difference)) {
rows:
	for _, l := range f.Lines {
		if l.Size == 0 {
			continue
		}
		c.Lines.All++
		end := l.Address + l.Size
		if l.Address >= f.Address && l.Address < f.Address+f.Size {
			// Rows may go on into the padding behind the function.
			end = min(end, f.Address+f.Size)
		}
		for rva := l.Address; rva < end; rva++ {
			s, err := lookup(rva)
			got := "no line"
			if err == nil {
				frame := &s.Frames[0]
				if len(f.Inlines) == 0 {
					frame = s.Outermost()
				}
				if frame.Line == l.Line && frame.File == l.File {
					continue
				}
				got = fmt.Sprintf("%s:%d", frame.File, frame.Line)
			}
			differ(&c.Lines, Difference{Subject: LineRow, Address: rva, Symbol: s, Err: err, Func: f,
				Want: fmt.Sprintf("%s:%d", l.File, l.Line), Got: got})
			continue rows
		}
		c.Lines.Same++
	}
}

func (c *Comparison) inlines(f *Func, lookup func(uint64) (symbols.Symbol, error), differ func(*Score, Difference)) {
	for _, in := range f.Inlines {
	ranges:
		for _, r := range in.Ranges {
			c.Inlines.All++
			for rva := r.Address; rva < r.Address+r.Size; rva++ {
				s, err := lookup(rva)
				// Depth counts from the outside in.
				i := len(s.Frames) - 2 - in.Depth
				got := "no such call"
				if err == nil && i >= 0 {
					inner, outer := s.Frames[i], s.Frames[i+1]
					if (in.Origin == omitted || Same(in.Origin, inner.Function)) && outer.Line == in.CallLine && outer.File == in.CallFile {
						continue
					}
					got = fmt.Sprintf("%s at %s:%d", inner.Function, outer.File, outer.Line)
				}
				differ(&c.Inlines, Difference{Subject: InlineCall, Address: rva, Symbol: s, Err: err, Func: f,
					Want: fmt.Sprintf("%s at %s:%d", in.Origin, in.CallFile, in.CallLine), Got: got})
				continue ranges
			}
			c.Inlines.Same++
		}
	}
}

// omitted is the origin of an inlined call whose name the table's writer did
// not know.
const omitted = "<name omitted>"

// Bars are the least shares, in percent. Names, Lines and Sizes are met with
// the explained differences counted in.
type Bars struct{ Names, Lines, Sizes float64 }

// DefaultBars are what every table is held to. A difference without a known
// cause fails as well where the reader says so.
var DefaultBars = Bars{Names: 99.9, Lines: 99.5, Sizes: 99}

// Report logs every difference with its cause and one line of scores, and
// fails the test where a bar is missed or, if everything must be explained, a
// difference is not.
func (c *Comparison) Report(t testing.TB, title string, bars Bars) {
	t.Helper()
	for _, d := range c.Differences {
		cause := d.Cause
		if cause == "" {
			cause = "UNEXPLAINED"
		}
		err := ""
		if d.Err != nil {
			err = ": " + d.Err.Error()
		}
		what := d.What
		if what == "" {
			what = fmt.Sprintf("at %#x", d.Address)
		}
		t.Logf("difference|%s|%s %s|want %s|got %s%s|%s", title, d.Subject, what, d.Want, d.Got, err, cause)
	}
	for _, s := range []struct {
		subject Subject
		*Score
	}{{Name, &c.Names}, {ParameterList, &c.Parameters}, {LineRow, &c.Lines}, {Size, &c.Sizes}, {InlineCall, &c.Inlines}, {PublicName, &c.Publics}} {
		var causes []string
		for cause := range s.Explained {
			causes = append(causes, cause)
		}
		slices.Sort(causes)
		for _, cause := range causes {
			t.Logf("cause|%s|%s|%d|%s", title, s.subject, s.Explained[cause], cause)
		}
		if s.Alias > 0 {
			t.Logf("cause|%s|%s|%d|agree by an alias (folded functions)", title, s.subject, s.Alias)
		}
		if n := s.Unexplained(); n > 0 {
			t.Errorf("%s: %d differences of the subject %q have no known cause", title, n, s.subject)
		}
	}
	t.Logf("scores|%s|%s|%s|%s|%s|%s|%s", title, &c.Names, &c.Parameters, &c.Lines, &c.Sizes, &c.Inlines, &c.Publics)
	for _, b := range []struct {
		what string
		*Score
		bar float64
	}{{"names", &c.Names, bars.Names}, {"parameters", &c.Parameters, bars.Names}, {"line rows", &c.Lines, bars.Lines}, {"sizes", &c.Sizes, bars.Sizes}} {
		if got := b.Percent(true); got < b.bar {
			t.Errorf("%s: %s: %.2f %%, want %.2f", title, b.what, got, b.bar)
		}
	}
}

// Piece reports whether a symbol's extent is exactly that of several of the
// table's rows of one function, with nothing but inserted code between them:
// the table cut the piece in two.
func (t *Table) Piece(f *Func, s *symbols.Symbol) bool {
	end, starts := uint64(0), false
	for i := range t.Funcs {
		g := &t.Funcs[i]
		if g.Address < s.Start || g.Address-s.Start >= s.Size {
			continue
		}
		if g.Name != f.Name {
			return false
		}
		starts = starts || g.Address == s.Start
		end = max(end, g.Address+g.Size)
	}
	return starts && end == s.Start+s.Size
}
