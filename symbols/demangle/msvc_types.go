package demangle

// typ reads a type without qualifiers of its own.
func (p *parser) typ() *typ { return p.typeWith(0) }

// typeQualified reads a type behind its qualifiers.
func (p *parser) typeQualified() *typ {
	q, _ := p.qualifiers()
	return p.typeWith(q)
}

// typeResult reads a type in a place where '?' announces qualifiers: what a
// function returns.
func (p *parser) typeResult() *typ {
	if p.consume("?") {
		return p.typeQualified()
	}
	return p.typ()
}

func (p *parser) typeWith(q quals) *typ {
	p.enter()
	defer p.leave()
	t := p.bareType()
	t.quals |= q
	return t
}

func (p *parser) bareType() *typ {
	start := p.pos
	switch c := p.next(); c {
	case 'T':
		return p.tag("union")
	case 'U':
		return p.tag("struct")
	case 'V':
		return p.tag("class")
	case 'W':
		// The digit is the underlying type; compilers write 4, int, for all.
		if c := p.next(); c < '0' || c > '7' {
			p.failAt(p.pos-1, "unknown enumeration")
		}
		return p.tag("enum")
	case 'P':
		return p.pointer(typePointer, 0)
	case 'Q':
		return p.pointer(typePointer, qualConst)
	case 'R':
		return p.pointer(typePointer, qualVolatile)
	case 'S':
		return p.pointer(typePointer, qualConst|qualVolatile)
	case 'A':
		return p.pointer(typeReference, 0)
	case 'B':
		return p.pointer(typeReference, qualVolatile)
	case 'Y':
		return p.array()
	case '?':
		t := p.newType(typeCustom)
		if isDigit(p.peek()) {
			t.name = p.single(p.backReference())
		} else {
			t.name = p.single(p.named(true))
		}
		p.expect('@')
		return t
	case '$':
		switch {
		case p.consume("$Q"):
			return p.pointer(typeRvalueReference, 0)
		case p.consume("$R"):
			return p.pointer(typeRvalueReference, qualVolatile)
		case p.consume("$A6"):
			return p.functionType(false)
		case p.consume("$A8@@"):
			return p.functionType(true)
		case p.consume("$T"):
			return p.primitive("std::nullptr_t")
		case p.consume("$C"):
			return p.typeQualified()
		}
	case '_':
		if name := extendedTypes[p.next()]; name != "" {
			return p.primitive(name)
		}
	default:
		if name := basicTypes[c]; name != "" {
			return p.primitive(name)
		}
	}
	p.failAt(start, "unknown type")
	return nil
}

var basicTypes = [256]string{
	'X': "void",
	'D': "char", 'C': "signed char", 'E': "unsigned char",
	'F': "short", 'G': "unsigned short",
	'H': "int", 'I': "unsigned int",
	'J': "long", 'K': "unsigned long",
	'M': "float", 'N': "double", 'O': "long double",
}

// extendedTypes are the types whose code begins with an underscore.
var extendedTypes = [256]string{
	'N': "bool",
	'D': "__int8", 'E': "unsigned __int8",
	'F': "__int16", 'G': "unsigned __int16",
	'H': "__int32", 'I': "unsigned __int32",
	'J': "__int64", 'K': "unsigned __int64",
	'L': "__int128", 'M': "unsigned __int128",
	'W': "wchar_t", 'Q': "char8_t", 'S': "char16_t", 'U': "char32_t",
	'P': "auto", 'T': "decltype(auto)",
}

func (p *parser) primitive(name string) *typ {
	t := p.newType(typePrimitive)
	t.text = name
	return t
}

func (p *parser) tag(keyword string) *typ {
	t := p.newType(typeTag)
	t.text = keyword
	t.name = p.typeName()
	return t
}

// pointer reads what follows the letter of a pointer or reference.
func (p *parser) pointer(kind typeKind, q quals) *typ {
	t := p.newType(kind)
	t.quals = q
	switch {
	case p.consume("6"):
		t.elem = p.functionType(false)
		return t
	case p.consume("8"):
		t.class = p.typeName()
		t.elem = p.functionType(true)
		return t
	}
	t.quals |= p.pointerQualifiers()
	if p.consume("6") {
		t.elem = p.functionType(false)
		return t
	}
	if p.consume("8") {
		t.class = p.typeName()
		t.elem = p.functionType(true)
		return t
	}
	elem, member := p.qualifiers()
	if member {
		t.class = p.typeName()
	}
	t.elem = p.typeWith(elem)
	return t
}

// pointerQualifiers reads the qualifiers of a pointer itself that are not
// const or volatile.
func (p *parser) pointerQualifiers() quals {
	var q quals
	for {
		switch p.peek() {
		case 'E':
			q |= qualPtr64
		case 'I':
			q |= qualRestrict
		case 'F':
			q |= qualUnaligned
		default:
			return q
		}
		p.pos++
	}
}

// qualifiers reads const and volatile; member says that the letter was one of
// those for members, which a class follows.
func (p *parser) qualifiers() (q quals, member bool) {
	c := p.next()
	switch {
	case 'A' <= c && c <= 'D':
		return quals(c - 'A'), false
	case 'Q' <= c && c <= 'T':
		return quals(c - 'Q'), true
	}
	p.failAt(p.pos-1, "unknown qualifiers")
	return 0, false
}

// maxDimensions bounds the dimensions of an array; compilers allow fewer.
const maxDimensions = 1024

func (p *parser) array() *typ {
	start := p.pos
	rank, negative := p.number()
	if negative || rank == 0 || rank > maxDimensions {
		p.failAt(start, "impossible number of dimensions")
	}
	t := p.newType(typeArray)
	for ; rank > 0; rank-- {
		start := p.pos
		n, negative := p.number()
		if negative {
			p.failAt(start, "negative dimension")
		}
		t.dims = append(t.dims, n)
	}
	if p.consume("$$C") {
		q, member := p.qualifiers()
		if member {
			p.fail("array of members")
		}
		t.quals = q
	}
	t.elem = p.typ()
	return t
}

// functionType reads a function's type; this says that qualifiers of the
// object come first.
func (p *parser) functionType(this bool) *typ {
	p.enter()
	defer p.leave()
	t := p.newType(typeFunction)
	if this {
		t.quals = p.pointerQualifiers()
		switch {
		case p.consume("G"):
			t.ref = refLvalue
		case p.consume("H"):
			t.ref = refRvalue
		}
		q, _ := p.qualifiers()
		t.quals |= q
	}
	t.convention = p.callingConvention()
	if !p.consume("@") {
		t.elem = p.typeResult()
	}
	p.parameters(t)
	switch {
	case p.consume("_E"):
		t.noexcept = true
	case p.consume("Z"):
	default:
		p.fail("function without its end")
	}
	return t
}

// parameters reads a parameter list and its end.
func (p *parser) parameters(t *typ) {
	if p.consume("X") {
		return
	}
	for {
		switch c := p.peek(); {
		case c == '@':
			p.pos++
			return
		case c == 'Z':
			p.pos++
			t.variadic = true
			return
		case isDigit(c):
			p.pos++
			i := int(c - '0')
			if i >= p.types.n {
				p.failAt(p.pos-1, "back reference to a type that is not there")
			}
			t.params = append(t.params, p.types.typ[i])
		default:
			start := p.pos
			param := p.typ()
			t.params = append(t.params, param)
			// A type of one letter is shorter than a reference to it.
			if p.pos-start > 1 && p.types.n < maxBackReferences {
				p.types.typ[p.types.n] = param
				p.types.n++
			}
		}
	}
}

func (p *parser) callingConvention() string {
	switch p.next() {
	case 'A', 'B':
		return "__cdecl"
	case 'C', 'D':
		return "__pascal"
	case 'E', 'F':
		return "__thiscall"
	case 'G', 'H':
		return "__stdcall"
	case 'I', 'J':
		return "__fastcall"
	case 'M', 'N':
		return "__clrcall"
	case 'O', 'P':
		return "__eabi"
	case 'Q':
		return "__vectorcall"
	case 'S':
		return "__attribute__((__swiftcall__))"
	case 'W':
		return "__attribute__((__swiftasynccall__))"
	case 'U':
		return "__attribute__((__preserve_most__))"
	case 'V':
		return "__attribute__((__preserve_all__))"
	case 'w':
		return "__regcall"
	}
	p.failAt(p.pos-1, "unknown calling convention")
	return ""
}
