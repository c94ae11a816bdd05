package filter

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"logparser/rows"
)

// The grammar:
//
//	or   = and { "or" and }
//	and  = not { [ "and" ] not }
//	not  = ( "-" | "not" ) not | "(" or ")" | term
//	term = [ column ":" [ operator ] ] value
//
// A value is a quoted text or a word. A word ends at a blank or a closing
// parenthesis, but for those that it has opened itself: f(int, char) is one.

// Parse parses an expression; errors are of type [*Error].
func Parse(text string) (*Expr, error) {
	if len(text) > MaxLength {
		return nil, errorAt(MaxLength, "the expression is longer than %d bytes", MaxLength)
	}
	p := &parser{text: text}
	p.blanks()
	if p.at == len(text) {
		return &Expr{}, nil
	}
	e := p.or()
	if p.err == nil && p.at < len(text) {
		p.fail(p.at, "there is no ( for this )")
	}
	if p.err != nil {
		return nil, p.err
	}
	return e, nil
}

type parser struct {
	text  string
	at    int
	depth int
	err   *Error
}

func (p *parser) fail(at int, pattern string, args ...any) { p.failWith(errorAt(at, pattern, args...)) }

func (p *parser) failWith(err *Error) {
	if p.err == nil {
		p.err = err
	}
	p.at = len(p.text)
}

func (p *parser) blanks() {
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		if !unicode.IsSpace(r) {
			return
		}
		p.at += n
	}
}

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// keyword reads a word of the language if it is next.
func (p *parser) keyword(word string) bool {
	rest := p.text[p.at:]
	if len(rest) < len(word) || !strings.EqualFold(rest[:len(word)], word) {
		return false
	}
	if r, _ := utf8.DecodeRuneInString(rest[len(word):]); len(rest) > len(word) && r != '(' && r != ')' && !unicode.IsSpace(r) {
		return false
	}
	p.at += len(word)
	p.blanks()
	return true
}

func (p *parser) or() *Expr {
	list := []*Expr{p.and()}
	for p.err == nil && p.keyword("or") {
		list = append(list, p.and())
	}
	return join(Or, list)
}

func (p *parser) and() *Expr {
	list := []*Expr{p.not()}
	for p.err == nil && p.at < len(p.text) && p.peek() != ')' {
		start := p.at
		if p.keyword("or") {
			p.at = start
			break
		}
		p.keyword("and")
		list = append(list, p.not())
	}
	return join(And, list)
}

// join makes one expression of several; those of its own kind become part of
// it.
func join(kind Kind, list []*Expr) *Expr {
	var args []*Expr
	for _, e := range list {
		if e == nil {
			continue
		}
		if e.Kind == kind {
			args = append(args, e.Args...)
		} else {
			args = append(args, e)
		}
	}
	if len(args) == 1 {
		return args[0]
	}
	return &Expr{Kind: kind, Args: args}
}

func (p *parser) not() *Expr {
	if p.depth++; p.depth > MaxNesting {
		p.fail(p.at, "the expression is nested more than %d times", MaxNesting)
		return nil
	}
	defer func() { p.depth-- }()
	start := p.at
	if p.peek() == '-' {
		p.at++
		if r, _ := utf8.DecodeRuneInString(p.text[p.at:]); p.at == len(p.text) || unicode.IsSpace(r) || r == ')' {
			p.fail(start, "a term must follow the - at once")
			return nil
		}
		return negate(p.not())
	}
	if p.keyword("not") {
		return negate(p.not())
	}
	if p.peek() == '(' {
		p.at++
		p.blanks()
		e := p.or()
		if p.err == nil && p.peek() != ')' {
			p.fail(start, "there is no ) for this (")
		}
		if p.err != nil {
			return nil
		}
		p.at++
		p.blanks()
		return e
	}
	if p.at == len(p.text) || p.peek() == ')' || p.keyword("or") || p.keyword("and") {
		p.fail(start, "a term is expected, such as func:Draw, dur:>5ms or a text")
		return nil
	}
	return p.term()
}

func negate(e *Expr) *Expr {
	if e == nil {
		return nil
	}
	if e.Kind == Not {
		return e.Args[0]
	}
	return &Expr{Kind: Not, Args: []*Expr{e}}
}

// column reads a column's name and the colon, if they are next. A word with a
// colon that is none is an error, unless it is the beginning of a::b or of C:\,
// and so is a column without its colon before an operator.
func (p *parser) column() (c Column, ok bool) {
	rest := p.text[p.at:]
	n := 0
	for n < len(rest) && (rest[n]|0x20 >= 'a' && rest[n]|0x20 <= 'z' || rest[n] == '_') {
		n++
	}
	if k := valueName(rest); k > 0 {
		n = k
	}
	if n == 0 || n == len(rest) || rest[n] != ':' {
		p.checkColon(n)
		return Text, false
	}
	after := rest[n+1:]
	if strings.HasPrefix(after, ":") {
		return Text, false
	}
	if c, ok = ColumnNamed(rest[:n]); ok {
		p.at += n + 1
		return c, true
	}
	if n == 1 && (strings.HasPrefix(after, `\`) || strings.HasPrefix(after, "/")) {
		return Text, false
	}
	p.fail(p.at, "there is no column %q; a text with a colon is put in quotes", rest[:n])
	return Text, false
}

// checkColon fails where the next n bytes are a column's name, and what follows
// says that its colon was forgotten or stands behind a blank. func<a> is a text,
// with the arguments of a template.
func (p *parser) checkColon(n int) {
	c, ok := ColumnNamed(p.text[p.at : p.at+n])
	if !ok {
		return
	}
	q := &parser{text: p.text, at: p.at + n}
	q.blanks()
	apart := q.at > p.at+n
	colon := apart && q.peek() == ':' && !strings.HasPrefix(q.text[q.at:], "::")
	if colon {
		q.at++
		q.blanks()
	}
	start := q.at
	for q.at < len(q.text) && strings.IndexByte("=!<>~", q.text[q.at]) >= 0 {
		q.at++
	}
	op := q.text[start:q.at]
	switch {
	case colon:
	case op == "", apart && op[0] == '~', op[0] == '<' && !c.numeric():
		return
	}
	op, not := strings.ReplaceAll(op, "!", ""), strings.Contains(op, "!")
	switch {
	case strings.Contains(op, "~"):
		op = "~"
	case op == "==":
		op = "="
	}
	if c.numeric() && op == "~" || !c.numeric() && op != "=" && op != "~" {
		op = ""
	}
	q.blanks()
	start = q.at
	if _, _, ok := q.value(op == "~"); !ok || q.at == start {
		p.fail(p.at, "a value is expected after %s:", c.String())
		return
	}
	term := c.String() + ":" + op + q.text[start:q.at]
	if not {
		term = "-" + term
	}
	p.fail(p.at, "a column's name is followed by its colon: write %s; a text is put in quotes", term)
}

// numeric says that a column is compared as a number, textual that it is
// compared as a text.
func (c Column) numeric() bool {
	entry := c.Entry()
	return c == Call || entry != nil && entry.Kind != rows.Text
}

func (c Column) textual() bool { return !c.numeric() || c == Thread || c.is(rows.Address) }

// is reports whether the column's values are of a kind.
func (c Column) is(kind rows.Kind) bool {
	entry := c.Entry()
	return entry != nil && entry.Kind == kind
}

func (p *parser) term() *Expr {
	c, named := p.column()
	if p.err != nil {
		return nil
	}
	op := ""
	if named {
		op = p.operator(c)
	}
	start := p.at
	value, quoted, ok := p.value(op == "~")
	if !ok {
		return nil
	}
	if value == "" && !quoted {
		p.fail(start, "a value is expected after %s:", c.String())
		return nil
	}
	p.blanks()
	if !named && !quoted {
		switch value {
		case "&", "&&":
			p.fail(start, "%s does not join terms, write and; a text is put in quotes", value)
			return nil
		case "|", "||":
			p.fail(start, "%s does not join terms, write or; a text is put in quotes", value)
			return nil
		}
	}
	t, err := newTerm(c, op, value, quoted)
	if err == nil {
		err = t.checkWord()
	}
	if err == nil && op == "" && !quoted && wildcard(c, value) {
		err = errorAt(0, "there are no wildcards, because a text is found anywhere in a name: write %s; a * that belongs to a name is put in quotes", withoutWildcards(c, value))
	}
	if err != nil {
		err.Offset += start
		if quoted {
			err.Offset++
		}
		p.failWith(err)
		return nil
	}
	return &Expr{Kind: Leaf, Term: t}
}

// wildcard reports whether somebody may mean any text by a * in a name. Names have
// it in operators, operator* and its like, and in types of pointers within <> and ().
func wildcard(c Column, value string) bool {
	if c == Event || c == Symbols || c == Mark || c.numeric() && c != Thread {
		return false
	}
	for i := range len(value) {
		if value[i] != '*' {
			continue
		}
		before, after := strings.TrimRight(value[:i], "*"), strings.TrimLeft(value[i:], "*&")
		if !strings.HasSuffix(before, "operator") && !strings.HasSuffix(before, "operator->") && (after == "" || strings.IndexByte(">),] ", after[0]) < 0) {
			return true
		}
	}
	return false
}

// withoutWildcards writes what was meant by them.
func withoutWildcards(c Column, value string) string {
	name := c.String() + ":"
	if inner := strings.Trim(value, "*"); !strings.Contains(inner, "*") && inner != "" {
		if c == Text {
			name = ""
		}
		return name + inner
	}
	return name + "~" + strings.ReplaceAll(regexp.QuoteMeta(value), `\*`, ".*")
}

// operator reads what may stand after the colon.
func (p *parser) operator(c Column) string {
	list := []string{"=", "~"}
	if c.numeric() || c.IsValue() {
		list = []string{">=", "<=", ">", "<", "=", "~"}
	}
	for _, op := range list {
		if strings.HasPrefix(p.text[p.at:], op) {
			p.at += len(op)
			return op
		}
	}
	return ""
}

// value reads a quoted text or a word.
func (p *parser) value(regexp bool) (value string, quoted, ok bool) {
	if p.peek() == '"' {
		value, ok = p.quotedText()
		return value, true, ok
	}
	start, open := p.at, []int(nil)
	for p.at < len(p.text) {
		r, n := utf8.DecodeRuneInString(p.text[p.at:])
		switch {
		case regexp && r == '\\' && p.at+1 < len(p.text) && (p.text[p.at+1] == '(' || p.text[p.at+1] == ')' || p.text[p.at+1] == '\\'):
			n = 2
		case r == '(':
			open = append(open, p.at)
		case r == ')' && len(open) > 0:
			open = open[:len(open)-1]
		case r == ')' || unicode.IsSpace(r) && len(open) == 0:
			return p.text[start:p.at], false, true
		}
		p.at += n
	}
	if len(open) > 0 {
		p.fail(open[len(open)-1], "there is no ) for this (")
		return "", false, false
	}
	return p.text[start:p.at], false, true
}

// quotedText reads a quoted text, in which \" and \\ stand for " and \; before
// anything else a backslash is itself.
func (p *parser) quotedText() (string, bool) {
	start := p.at
	var b strings.Builder
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			if r, _ := utf8.DecodeRuneInString(p.text[p.at:]); p.at < len(p.text) && r != ')' && !unicode.IsSpace(r) {
				p.fail(p.at, "a blank is expected after the quoted text")
				return "", false
			}
			return b.String(), true
		case c == '\\' && p.at+1 < len(p.text) && (p.text[p.at+1] == '"' || p.text[p.at+1] == '\\'):
			p.at++
			b.WriteByte(p.text[p.at])
		default:
			b.WriteByte(c)
		}
	}
	p.fail(start, "the quoted text has no end")
	return "", false
}

// newTerm makes a term; an error's offset counts from the value's beginning.
func newTerm(c Column, op, value string, quoted bool) (*Term, *Error) {
	t := &Term{Column: c, Value: value, quoted: quoted}
	if c.IsValue() && !quoted {
		r, err := valueRange(op, value)
		if err != nil {
			return nil, err
		}
		if r != nil {
			t.Op, t.Value, t.numbers = Between, op+value, r
			return t, nil
		}
	}
	asText := c.textual() && (op == "~" || op == "" || op == "=")
	if c.numeric() && op != "~" {
		r, err := parseRange(c, op, value)
		switch {
		case err == nil && strings.Contains(value, "..") && r.reversed() && !(quoted && asText):
			return nil, errorAt(0, "the range is the wrong way round: its smaller bound comes first")
		case err == nil && !(quoted && asText) && !(c.is(rows.Address) && op == "" && !strings.Contains(value, "..")):
			t.Op, t.Range = Between, r
			t.Value, t.quoted = op+value, false
			return t, nil
		case err != nil && !asText:
			return nil, err
		}
	}
	switch {
	case !asText:
		return nil, errorAt(0, "%s: is compared as a number, not as a text", c.String())
	case op == "=":
		t.Op = Equals
	case op == "~":
		t.Op = Matches
		re, err := regexp.Compile(value)
		if err != nil {
			return nil, errorAt(0, "the regular expression is wrong: %v", regexpError(err))
		}
		t.regexp = re
	default:
		t.matcher = rows.NewMatcher(value)
	}
	return t, nil
}

// eventWords are what the column [Event] has.
var eventWords = []string{rows.Enter.String(), rows.Leave.String(), rows.Unknown.String()}

// symbolWords are what the column [Symbols] has: the statuses of package symbols.
var symbolWords = []string{"matched", "attached", "embedded", "exports only", "starts only", "mismatched", "unverified", "not found", "pending"}

// noteWords are what notes are made of, joined by "; ": the anomalies of the pairing,
// and what is said of addresses.
var noteWords = []string{"open", "running", "no leave", "stray", "tail", "damaged", "no enter",
	"address in several modules", "symbol file damaged", "debug information is being read"}

// anomalies are how many of noteWords are anomalies.
const anomalies = 7

// checkWord says why a term of a column that has a few words, or digits, can match
// none. A whole note may be several words, and is not checked.
func (t *Term) checkWord() *Error {
	if t.Value == "" || t.Op == Matches {
		return nil
	}
	switch {
	case t.Column == Event && !slices.ContainsFunc(eventWords, t.MatchText):
		return errorAt(0, "event: is enter, leave or unknown, not %q", t.Value)
	case t.Column == Symbols && !slices.ContainsFunc(symbolWords, t.MatchText):
		return errorAt(0, "symbols: is %s, not %q", strings.Join(symbolWords, ", "), t.Value)
	case t.Column.is(rows.Address) && t.Op != Between && !partOfAddress(t.Value):
		return errorAt(0, "an address is expected, such as 0x401000")
	case t.Column == Mark && t.Op == Contains && !strings.Contains(t.Value, ";") && !slices.ContainsFunc(noteWords, t.MatchText):
		return errorAt(0, "%q is part of no note; there are %s", t.Value, strings.Join(noteWords[:anomalies], ", "))
	}
	return nil
}

// partOfAddress reports whether addresses, as they are written, can have a text in
// them.
func partOfAddress(text string) bool {
	digits := strings.TrimPrefix(strings.TrimPrefix(lower(text), "0x"), "x")
	return len(digits) <= 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

// regexpError leaves the package's name out.
func regexpError(err error) string {
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		return fmt.Sprintf("%s: `%s`", wrong.Code, wrong.Expr)
	}
	return err.Error()
}

func lower(s string) string { return strings.ToLower(s) }
