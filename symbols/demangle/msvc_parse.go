package demangle

import (
	"math"
	"strconv"
	"strings"
	"sync"
)

// A parser reads one Microsoft name. Failures are raised as *syntaxError
// panics and caught in parse.
type parser struct {
	src      string
	pos      int
	depth    int
	levels   int // entered so far
	nameOnly bool
	// leafRemembered makes symbolName enter a template's instance into names.
	leafRemembered bool

	names nameTable
	types typeTable

	// Nodes are handed out of chunks that the next parser uses again.
	symbolChunk []symbol
	identChunk  []ident
	typeChunk   []typ
	partsChunk  []*ident
	text        []byte
}

// Back references are single digits.
const maxBackReferences = 10

// A nameTable holds the names that back references refer to, in the order
// they were met, each once. source is the mangled text by which they are told
// apart.
type nameTable struct {
	source [maxBackReferences]string
	ident  [maxBackReferences]*ident
	n      int
}

func (t *nameTable) add(source string, id *ident) {
	if t.n == maxBackReferences {
		return
	}
	for i := 0; i < t.n; i++ {
		if t.source[i] == source {
			return
		}
	}
	t.source[t.n], t.ident[t.n] = source, id
	t.n++
}

// A typeTable holds the parameter types that back references refer to.
type typeTable struct {
	typ [maxBackReferences]*typ
	n   int
}

var parsers = sync.Pool{New: func() any {
	return &parser{
		symbolChunk: make([]symbol, 0, 4),
		identChunk:  make([]ident, 0, 16),
		typeChunk:   make([]typ, 0, 32),
		partsChunk:  make([]*ident, 0, 32),
		text:        make([]byte, 0, 512),
	}
}}

func newParser(name string) *parser {
	p := parsers.Get().(*parser)
	p.src = name
	return p
}

// free hands the parser's memory to the next one; nothing of the tree may be
// used after it.
func (p *parser) free() {
	clear(p.symbolChunk)
	clear(p.identChunk)
	clear(p.typeChunk)
	clear(p.partsChunk)
	text := p.text[:0]
	if cap(text) > 8<<10 {
		text = make([]byte, 0, 512)
	}
	*p = parser{
		symbolChunk: p.symbolChunk[:0],
		identChunk:  p.identChunk[:0],
		typeChunk:   p.typeChunk[:0],
		partsChunk:  p.partsChunk[:0],
		text:        text,
	}
	parsers.Put(p)
}

func (p *parser) newSymbol(kind symbolKind) *symbol {
	if len(p.symbolChunk) == cap(p.symbolChunk) {
		p.symbolChunk = make([]symbol, 0, 4)
	}
	p.symbolChunk = append(p.symbolChunk, symbol{kind: kind})
	return &p.symbolChunk[len(p.symbolChunk)-1]
}

func (p *parser) newIdent(kind identKind) *ident {
	if len(p.identChunk) == cap(p.identChunk) {
		p.identChunk = make([]ident, 0, 16)
	}
	p.identChunk = append(p.identChunk, ident{kind: kind})
	return &p.identChunk[len(p.identChunk)-1]
}

func (p *parser) newType(kind typeKind) *typ {
	if len(p.typeChunk) == cap(p.typeChunk) {
		p.typeChunk = make([]typ, 0, 32)
	}
	p.typeChunk = append(p.typeChunk, typ{kind: kind})
	return &p.typeChunk[len(p.typeChunk)-1]
}

func (p *parser) fail(reason string) { p.failAt(p.pos, reason) }

func (p *parser) failAt(offset int, reason string) {
	panic(&syntaxError{offset: offset, reason: reason})
}

// enter counts a level; each call is undone by leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("nested too deeply")
	}
	// Reading variable templates again could take exponential time.
	if p.levels++; p.levels > 4*maxInput {
		p.fail("too complex")
	}
}

func (p *parser) leave() { p.depth-- }

// peek returns the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

func (p *parser) next() byte {
	if p.pos == len(p.src) {
		p.fail("unexpected end")
	}
	p.pos++
	return p.src[p.pos-1]
}

func (p *parser) hasPrefix(s string) bool { return strings.HasPrefix(p.src[p.pos:], s) }

func (p *parser) consume(s string) bool {
	if p.hasPrefix(s) {
		p.pos += len(s)
		return true
	}
	return false
}

func (p *parser) expect(c byte) {
	if p.peek() != c || p.pos == len(p.src) {
		p.fail("expected " + string(rune(c)))
	}
	p.pos++
}

// startsNumber reports whether a number follows.
func (p *parser) startsNumber() bool {
	c := p.peek()
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'P' || c == '?'
}

// number reads a number: a digit is one more than itself, anything else is
// hexadecimal of the letters A to P up to '@'; '?' in front negates.
func (p *parser) number() (value uint64, negative bool) {
	negative = p.consume("?")
	if c := p.next(); '0' <= c && c <= '9' {
		return uint64(c-'0') + 1, negative
	}
	p.pos--
	start := p.pos
	for {
		c := p.next()
		switch {
		case c == '@':
			if p.pos-1 == start {
				p.failAt(start, "empty number")
			}
			return value, negative
		case c < 'A' || c > 'P':
			p.failAt(p.pos-1, "not a digit")
		case value>>60 != 0:
			p.failAt(start, "number too large")
		}
		value = value<<4 | uint64(c-'A')
	}
}

func (p *parser) signed32() int64 {
	start := p.pos
	v, negative := p.number()
	if v > 1<<32-1 {
		p.failAt(start, "number too large")
	}
	// Offsets below zero may be written as 32-bit two's complement.
	n := int64(int32(uint32(v)))
	if negative {
		n = -n
	}
	return n
}

func (p *parser) unsigned32() int64 {
	start := p.pos
	v, negative := p.number()
	if negative || v > 1<<32-1 {
		p.failAt(start, "number out of range")
	}
	return int64(v)
}

// simpleName reads up to '@' and past it.
func (p *parser) simpleName() string {
	i := strings.IndexByte(p.src[p.pos:], '@')
	if i <= 0 {
		p.fail("name expected")
	}
	s := p.src[p.pos : p.pos+i]
	p.pos += i + 1
	return s
}

// named reads a simple name; remember enters it into the back references.
func (p *parser) named(remember bool) *ident {
	start := p.pos
	id := p.newIdent(identName)
	id.text = p.simpleName()
	if remember {
		p.names.add(p.src[start:p.pos], id)
	}
	return id
}

func (p *parser) backReference() *ident {
	i := int(p.next() - '0')
	if i >= p.names.n {
		p.failAt(p.pos-1, "back reference to a name that is not there")
	}
	return p.names.ident[i]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// symbolName reads the qualified name of a function or variable.
func (p *parser) symbolName() qualified {
	leaf := p.symbolLeaf(true)
	n := p.scopes(leaf)
	if leaf.kind == identConstructor || leaf.kind == identDestructor {
		if len(n.parts) < 2 {
			p.fail("constructor without a class")
		}
		leaf.class = n.parts[1]
	}
	return n
}

// symbolLeaf reads the innermost part of a symbol's name.
func (p *parser) symbolLeaf(remember bool) *ident {
	switch c := p.peek(); {
	case isDigit(c):
		return p.backReference()
	case p.hasPrefix("?$"):
		return p.templateName(p.leafRemembered)
	case c == '?':
		p.pos++
		return p.operatorName()
	}
	return p.named(remember)
}

// typeName reads the qualified name of a class or enumeration.
func (p *parser) typeName() qualified {
	var id *ident
	switch c := p.peek(); {
	case isDigit(c):
		id = p.backReference()
	case p.hasPrefix("?$"):
		id = p.templateName(true)
	default:
		id = p.named(true)
	}
	return p.scopes(id)
}

// scopes reads the scopes around a name, outwards, up to '@' and past it.
func (p *parser) scopes(leaf *ident) qualified {
	// Scopes may hold symbols with scopes of their own, which use the chunk
	// before this name is complete.
	var fixed [8]*ident
	parts := append(fixed[:0], leaf)
	for !p.consume("@") {
		parts = append(parts, p.scope())
	}
	return p.keep(parts)
}

func (p *parser) single(id *ident) qualified { return p.keep([]*ident{id}) }

func (p *parser) keep(parts []*ident) qualified {
	if cap(p.partsChunk)-len(p.partsChunk) < len(parts) {
		p.partsChunk = make([]*ident, 0, 32+len(parts))
	}
	n := len(p.partsChunk)
	p.partsChunk = append(p.partsChunk, parts...)
	return qualified{parts: p.partsChunk[n:len(p.partsChunk):len(p.partsChunk)]}
}

func (p *parser) scope() *ident {
	c := p.peek()
	switch {
	case isDigit(c):
		return p.backReference()
	case c != '?':
		return p.named(true)
	case p.hasPrefix("?$"):
		return p.templateName(true)
	case p.hasPrefix("?A"):
		start := p.pos
		p.pos++
		id := p.newIdent(identAnonymous)
		p.simpleName()
		p.names.add(p.src[start:p.pos], id)
		return id
	}
	p.pos++
	id := p.newIdent(identLocalScope)
	id.numbers[0] = p.unsigned32()
	p.expect('?')
	if c := p.peek(); c != '?' {
		// The scope is a function whose name is not mangled.
		i := strings.IndexByte(p.src[p.pos:], '@')
		if i <= 0 {
			p.fail("name expected")
		}
		id.symbol = p.newSymbol(symText)
		id.symbol.text = p.src[p.pos : p.pos+i]
		p.pos += i
		return id
	}
	id.symbol = p.nested()
	return id
}

// nested reads a complete name within another.
func (p *parser) nested() *symbol {
	p.enter()
	defer p.leave()
	remembered := p.leafRemembered
	p.leafRemembered = false
	sym := p.mangledName()
	p.leafRemembered = remembered
	return sym
}

// templateName reads the instance of a template. Within it back references
// count anew.
func (p *parser) templateName(remember bool) *ident {
	p.enter()
	defer p.leave()
	start := p.pos
	p.pos += len("?$")
	names, types, remembered := p.names, p.types, p.leafRemembered
	p.names.n, p.types.n, p.leafRemembered = 0, 0, false
	inner := p.symbolLeaf(true)
	if inner.isTemplate() {
		p.failAt(start, "template of a template")
	}
	// A back reference may share the ident.
	id := p.newIdent(inner.kind)
	*id = *inner
	id.template = true
	id.args = p.templateArguments()
	p.names, p.types, p.leafRemembered = names, types, remembered
	if remember {
		p.names.add(p.src[start:p.pos], id)
	}
	return id
}

func (p *parser) templateArguments() []argument {
	var args []argument
	for !p.consume("@") {
		switch {
		case p.consume("$S"), p.consume("$$V"), p.consume("$$$V"), p.consume("$$Z"):
			// Empty packs, and what stands between two packs.
		default:
			args = append(args, p.templateArgument())
		}
	}
	return args
}

func (p *parser) templateArgument() argument {
	p.enter()
	defer p.leave()
	switch {
	case p.consume("$$Y"):
		return argument{kind: argName, name: p.typeName()}
	case p.consume("$$B"):
		return argument{typ: p.typ()}
	case p.consume("$$C"):
		return argument{typ: p.typeQualified()}
	case p.consume("$M"):
		// The argument of an "auto" parameter: its type, then its value
		// without the '$'.
		return p.value(p.typ(), false)
	case p.peek() == '$' && !p.hasPrefix("$$"):
		p.pos++
		return p.value(nil, false)
	}
	return argument{typ: p.typ()}
}

// value reads the value of a template argument that is not a type, or of a
// part of one. t is its type where that was given; field says that it is part
// of an object.
func (p *parser) value(t *typ, field bool) argument {
	p.enter()
	defer p.leave()
	switch c := p.next(); c {
	case '0':
		v, negative := p.number()
		return argument{kind: argInteger, value: v, negative: negative}
	case '1', 'E':
		if c == '1' && p.consume("@") {
			return argument{kind: argText, text: "nullptr"}
		}
		a := argument{kind: argAddress}
		if c == 'E' && !(field && t != nil && t.kind == typePointer) {
			a.kind = argReference
		}
		a.symbol = p.nested()
		return a
	case 'A':
		v, _ := p.number()
		return argument{kind: argText, text: floatText(float64(math.Float32frombits(uint32(v))), 32)}
	case 'B':
		v, _ := p.number()
		return argument{kind: argText, text: floatText(math.Float64frombits(v), 64)}
	case 'F', 'G':
		// A pointer to a data member, as two or three offsets.
		a := argument{kind: argMember}
		for i := byte('E'); i <= c; i++ {
			a.numbers = append(a.numbers, p.signed32())
		}
		return a
	case 'H', 'I', 'J':
		// A pointer to a member function: the function where it is not null,
		// then one to three offsets.
		a := argument{kind: argMember}
		if p.hasPrefix("?") && !p.hasPrefix("?0") {
			a.symbol = p.nested()
		}
		for i := byte('H'); i <= c; i++ {
			a.numbers = append(a.numbers, p.signed32())
		}
		return a
	case '2':
		return p.object()
	case '3':
		a := argument{kind: argArray}
		p.consume("$$B")
		t = p.typ()
		for !p.consume("@") {
			a.fields = append(a.fields, p.value(t, true))
			p.expect('@')
		}
		return a
	case '5', '6', 'C':
		return p.subobject(c)
	case '7':
		a := argument{kind: argObject, typ: p.typ()}
		if !p.consume("@") {
			p.symbolLeaf(true)
			a.fields = append(a.fields, p.value(nil, true))
			p.expect('@')
		}
		return a
	case '8':
		n := p.typeName()
		member := p.symbolLeaf(true)
		p.expect('@')
		return argument{kind: argPath, name: p.keep(append([]*ident{member}, n.parts...))}
	case 'N':
		return argument{kind: argText, text: "nullptr"}
	}
	p.failAt(p.pos-1, "unknown kind of template argument")
	return argument{}
}

// object reads a class object: its type, then each base and field with the
// type in front, but for complex numbers, which have none.
func (p *parser) object() argument {
	a := argument{kind: argObject, typ: p.typ()}
	typed := a.typ.kind != typeTag || a.typ.name.parts[0].text != "_Complex"
	for !p.consume("@") {
		var t *typ
		if c := p.peek(); typed && c != '2' && c != '3' && c != '7' {
			t = p.typ()
		}
		a.fields = append(a.fields, p.value(t, true))
	}
	return a
}

// subobject reads the address of a part of a variable: the kinds of steps
// from the last to the first, the variable, then the steps from the first to
// the last. '5' in front marks a pointer that is a field itself.
func (p *parser) subobject(c byte) argument {
	a := argument{kind: argPath}
	field := c == '5'
	start := p.pos - 1
	if !field {
		p.pos--
	}
	for p.peek() == 'C' || p.peek() == '6' {
		p.pos++
	}
	kinds := p.src[start:p.pos]
	if field {
		kinds = kinds[1:]
	}
	if kinds == "" {
		p.fail("address of nothing")
	}
	if c := p.next(); c != '1' && c != 'E' {
		p.failAt(p.pos-1, "not a variable")
	}
	a.symbol = p.nested()
	for i := len(kinds) - 1; i >= 0; i-- {
		var step argument
		if kinds[i] == 'C' {
			p.expect('0')
			step.kind = argInteger
			step.value, step.negative = p.number()
		} else {
			step.kind = argName
			step.name = p.single(p.symbolLeaf(true))
		}
		p.expect('@')
		a.fields = append(a.fields, step)
	}
	if field {
		p.expect('@')
	}
	return a
}

func floatText(v float64, bits int) string {
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".eIN") {
		s += ".0"
	}
	return s
}
