package demangle

import (
	"fmt"
	"strings"
)

// maxDepth bounds the nesting of what is parsed and printed. Microsoft's
// names, at most 4,095 bytes long, nest far less deeply.
const maxDepth = 256

// A syntaxError says where a Microsoft name could not be read.
type syntaxError struct {
	offset int
	reason string
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("offset %d: %s", e.offset, e.reason)
}

// msvcFull returns the whole declaration in the style of llvm-undname.
func msvcFull(name string) (string, error) {
	return msvcString(name, false)
}

// msvcShort returns scopes and name in Microsoft's own words, as the
// procedures of their PDBs are named.
func msvcShort(name string) (string, error) {
	return msvcString(name, true)
}

func msvcString(name string, short bool) (string, error) {
	p := newParser(name)
	defer p.free()
	sym, err := p.parse(short)
	if err != nil {
		return "", err
	}
	w := printer{buf: p.text[:0], short: short}
	w.symbol(sym)
	p.text = w.buf
	if w.failed {
		return "", errTooLong
	}
	return string(w.buf), nil
}

// parse reads the whole name; nameOnly lets it stop behind the name proper
// where the rest cannot change that.
func (p *parser) parse(nameOnly bool) (sym *symbol, err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *syntaxError:
			err = r
		default:
			panic(r)
		}
	}()
	p.nameOnly = nameOnly
	sym = p.mangledName()
	if !sym.partial && p.pos != len(p.src) {
		p.fail("unexpected text after the name")
	}
	return sym, nil
}

// mangledName reads a name from its leading '?' or '.' on.
func (p *parser) mangledName() *symbol {
	if p.consume(".") {
		// The name inside a type descriptor, as type_info has it.
		if !p.consume("?A") {
			p.fail("not a type descriptor's name")
		}
		p.pos--
		p.expect('A')
		sym := p.newSymbol(symType)
		sym.typ = p.typeResult()
		sym.text = "`RTTI Type Descriptor Name'"
		return sym
	}
	if p.hasPrefix("??@") {
		return p.hashedName()
	}
	return p.encoding()
}

// hashedName reads what stands for a name too long for the scheme:
// "??@", 32 hexadecimal digits, "@", and for a complete object locator "??_R4@".
func (p *parser) hashedName() *symbol {
	start := p.pos
	p.pos += len("??@")
	n := 0
	for p.pos < len(p.src) && isHex(p.src[p.pos]) {
		p.pos++
		n++
	}
	if n != 32 {
		p.fail("not a hashed name")
	}
	p.expect('@')
	p.consume("??_R4@")
	sym := p.newSymbol(symText)
	sym.text = p.src[start:p.pos]
	return sym
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// encoding reads '?', a name and what it is the name of.
func (p *parser) encoding() *symbol {
	p.enter()
	defer p.leave()
	p.expect('?')
	if sym := p.specialSymbol(); sym != nil {
		return sym
	}
	if sym := p.exceptionPart(); sym != nil {
		return sym
	}
	return p.declaration()
}

// declaration reads a qualified name and the variable or function it names.
func (p *parser) declaration() *symbol {
	start, names := p.pos, p.names.n
	name := p.symbolName()
	code := p.peek()
	if code >= '0' && code <= '4' && name.parts[0].isTemplate() && name.parts[0].kind == identName && !p.leafRemembered {
		// A variable template counts as a name for back references, a
		// function template does not, and only here is it known which of the
		// two it is: read it again.
		p.pos, p.names.n = start, names
		p.leafRemembered = true
		name = p.symbolName()
		p.leafRemembered = false
	}
	sym := p.newSymbol(symFunction)
	sym.name = name
	if code >= '0' && code <= '4' {
		p.pos++
		sym.kind = symVariable
		sym.storage = code
		if p.nameOnly && p.depth == 1 {
			sym.partial = true
			return sym
		}
		p.variableType(sym)
		return sym
	}
	target := conversionOf(name)
	if p.nameOnly && p.depth == 1 && target == nil {
		// Only a thunk's numbers are still wanted.
		p.functionClass(sym)
		sym.partial = true
		return sym
	}
	p.functionEncoding(sym)
	if target != nil {
		if sym.sig == nil || sym.sig.elem == nil {
			p.fail("conversion operator without a type")
		}
		target.target = sym.sig.elem
	}
	return sym
}

// conversionOf returns the identifier of a conversion operator, whose type is
// the function's return type.
func conversionOf(n qualified) *ident {
	if n.parts[0].kind == identConversion {
		return n.parts[0]
	}
	return nil
}

func (p *parser) variableType(sym *symbol) {
	sym.typ = p.typ()
	switch sym.typ.kind {
	case typePointer, typeReference, typeRvalueReference:
		sym.typ.quals |= p.pointerQualifiers()
		q, _ := p.qualifiers()
		if sym.typ.class.parts != nil {
			p.typeName()
		}
		if elem := sym.typ.elem; elem.quals|q != elem.quals {
			// The pointee may be shared with a back reference.
			c := p.newType(elem.kind)
			*c = *elem
			c.quals |= q
			sym.typ.elem = c
		}
	default:
		q, _ := p.qualifiers()
		sym.typ.quals |= q
	}
}

// functionEncoding reads access, storage, thunk adjustments and the type of a
// function.
func (p *parser) functionEncoding(sym *symbol) {
	p.functionClass(sym)
	if sym.class&classNoParameters != 0 {
		return
	}
	sym.sig = p.functionType(sym.class&(classGlobal|classStatic) == 0)
}

// functionClass reads the code of access and storage and, for thunks, the
// numbers that follow it.
func (p *parser) functionClass(sym *symbol) {
	// "$$" and a letter mark what C++/CLI and ARM64EC add; "$$J" and a digit
	// is extern "C".
	for p.consume("$$") {
		switch c := p.next(); c {
		case 'J':
			p.next()
			sym.class |= classExternC
		case 'F', 'H', 'h', 'N', 'O':
		default:
			p.failAt(p.pos-1, "unknown function prefix")
		}
	}
	c := p.next()
	switch {
	case c == '9':
		sym.class |= classExternC | classNoParameters
	case c == 'Y', c == 'Z':
		sym.class |= classGlobal
	case 'A' <= c && c <= 'X':
		// Three groups of eight: private, protected, public; in each pairs
		// of near and far: plain, static, virtual, adjusting thunk.
		sym.class |= [3]funcClass{classPrivate, classProtected, classPublic}[(c-'A')/8]
		switch (c - 'A') % 8 / 2 {
		case 1:
			sym.class |= classStatic
		case 2:
			sym.class |= classVirtual
		case 3:
			sym.class |= classVirtual | classAdjustor
			sym.adjust[0] = p.signed32()
		}
	case c == '$':
		sym.class |= classVirtual | classVtordisp
		numbers := 2
		if p.consume("R") {
			sym.class |= classVtordispEx
			numbers = 4
		}
		c = p.next()
		if c < '0' || c > '5' {
			p.failAt(p.pos-1, "unknown thunk")
		}
		sym.class |= [3]funcClass{classPrivate, classProtected, classPublic}[(c-'0')/2]
		for i := 0; i < numbers; i++ {
			sym.adjust[i] = p.signed32()
		}
	default:
		p.failAt(p.pos-1, "unknown function class")
	}
}

// specialSymbol reads the names that stand for the compiler's own data and
// stubs; nil means that the name is an ordinary one.
func (p *parser) specialSymbol() *symbol {
	if p.peek() != '?' {
		return nil
	}
	switch {
	case p.consume("?_7"):
		return p.table(opVftable)
	case p.consume("?_8"):
		return p.table(opVbtable)
	case p.consume("?_S"):
		return p.table(opLocalVftable)
	case p.consume("?_R4"):
		return p.table(opRTTILocator)
	case p.consume("?_9"):
		return p.vcallThunk()
	case p.consume("?_B"):
		return p.localGuard(opLocalGuard)
	case p.consume("?__J"):
		return p.localGuard(opLocalThreadGuard)
	case p.consume("?_C"):
		return p.stringLiteral()
	case p.consume("?_R0"):
		sym := p.newSymbol(symType)
		sym.typ = p.typeResult()
		sym.text = "`RTTI Type Descriptor'"
		if !p.consume("@8") {
			p.fail("type descriptor without its end")
		}
		return sym
	case p.consume("?_R1"):
		id := p.newIdent(identRTTIBase)
		id.numbers[0] = p.unsigned32()
		id.numbers[1] = p.signed32()
		id.numbers[2] = p.unsigned32()
		id.numbers[3] = p.unsigned32()
		return p.untyped(id)
	case p.consume("?_R2"):
		return p.untyped(p.special(opRTTIArray))
	case p.consume("?_R3"):
		return p.untyped(p.special(opRTTIHierarchy))
	case p.consume("?__E"):
		return p.dynamic(identInitializer)
	case p.consume("?__F"):
		return p.dynamic(identAtexit)
	}
	return nil
}

// exceptionPart reads what clang makes of the parts of a function that handle
// structured exceptions: "filt$0@0@" or "fin$0@0@" and the function's name.
func (p *parser) exceptionPart() *symbol {
	if !p.hasPrefix("filt$") && !p.hasPrefix("fin$") {
		return nil
	}
	at := strings.IndexByte(p.src[p.pos:], '@')
	if at < 0 || !strings.HasPrefix(p.src[p.pos+at:], "@0@") {
		return nil
	}
	part := p.newIdent(identName)
	part.text = p.src[p.pos : p.pos+at]
	p.pos += at + len("@0@")
	of := p.newSymbol(symVariable)
	of.name = p.symbolName()
	within := p.newIdent(identWithin)
	within.symbol = of
	sym := p.newSymbol(symVariable)
	sym.name = p.keep([]*ident{part, within})
	return sym
}

func (p *parser) special(op *operator) *ident {
	id := p.newIdent(identOperator)
	id.op = op
	return id
}

func (p *parser) untyped(id *ident) *symbol {
	sym := p.newSymbol(symVariable)
	sym.name = p.scopes(id)
	if !p.consume("8") {
		p.fail("RTTI record without its end")
	}
	return sym
}

// table reads a vftable, vbtable or complete object locator: its class, its
// qualifiers and the bases it is for.
func (p *parser) table(op *operator) *symbol {
	sym := p.newSymbol(symTable)
	sym.name = p.scopes(p.special(op))
	if c := p.next(); c != '6' && c != '7' {
		p.failAt(p.pos-1, "not a table")
	}
	sym.quals, _ = p.qualifiers()
	for !p.consume("@") {
		sym.targets = append(sym.targets, p.typeName())
	}
	return sym
}

func (p *parser) vcallThunk() *symbol {
	id := p.newIdent(identVcall)
	sym := p.newSymbol(symFunction)
	sym.name = p.scopes(id)
	if !p.consume("$B") {
		p.fail("vcall thunk without its offset")
	}
	id.numbers[0] = p.unsigned32()
	if !p.consume("A") {
		p.fail("vcall thunk of an unknown model")
	}
	sym.class = classVcall | classNoParameters
	sym.sig = p.newType(typeFunction)
	sym.sig.convention = p.callingConvention()
	return sym
}

func (p *parser) localGuard(op *operator) *symbol {
	id := p.special(op)
	sym := p.newSymbol(symVariable)
	sym.name = p.scopes(id)
	switch {
	case p.consume("4IA"):
	case p.consume("5"):
		if p.pos < len(p.src) && p.depth == 1 || p.startsNumber() {
			id.numbers[0] = p.unsigned32()
		}
	default:
		p.fail("guard variable without its storage")
	}
	return sym
}

// dynamic reads the initializer or the atexit destructor of a variable. Of a
// static data member the whole declaration stands in the name.
func (p *parser) dynamic(kind identKind) *symbol {
	id := p.newIdent(kind)
	member := p.consume("?")
	sym := p.newSymbol(symFunction)
	start, names := p.pos, p.names.n
	if member {
		nameOnly := p.nameOnly
		p.nameOnly = false
		id.symbol = p.declaration()
		p.nameOnly = nameOnly
		if id.symbol.kind != symVariable {
			p.failAt(start, "not a variable")
		}
		if !p.consume("@@") {
			p.fail("static data member without its end")
		}
		sym.name = p.single(id)
		p.functionEncoding(sym)
		return sym
	}
	name := p.symbolName()
	if c := p.peek(); c >= '0' && c <= '4' {
		// Older clang left the '?' and one '@' out.
		p.pos, p.names.n = start, names
		nameOnly := p.nameOnly
		p.nameOnly = false
		id.symbol = p.declaration()
		p.nameOnly = nameOnly
		if !p.consume("@") {
			p.fail("variable without its end")
		}
		sym.name = p.single(id)
		p.functionEncoding(sym)
		return sym
	}
	id.of = name
	sym.name = p.single(id)
	p.functionEncoding(sym)
	return sym
}
