package demangle

// An operator is a function whose name is a code. name is what llvm-undname
// prints, microsoft what Microsoft's tools print where that differs.
type operator struct {
	name, microsoft string
}

func (op *operator) text(short bool) string {
	if short && op.microsoft != "" {
		return op.microsoft
	}
	return op.name
}

// Operators by their code: "?X", "?_X" and "?__X".
var (
	operators = [256]*operator{
		'2': {name: "operator new"},
		'3': {name: "operator delete"},
		'4': {name: "operator="},
		'5': {name: "operator>>"},
		'6': {name: "operator<<"},
		'7': {name: "operator!"},
		'8': {name: "operator=="},
		'9': {name: "operator!="},
		'A': {name: "operator[]"},
		'C': {name: "operator->"},
		'D': {name: "operator*"},
		'E': {name: "operator++"},
		'F': {name: "operator--"},
		'G': {name: "operator-"},
		'H': {name: "operator+"},
		'I': {name: "operator&"},
		'J': {name: "operator->*"},
		'K': {name: "operator/"},
		'L': {name: "operator%"},
		'M': {name: "operator<"},
		'N': {name: "operator<="},
		'O': {name: "operator>"},
		'P': {name: "operator>="},
		'Q': {name: "operator,"},
		'R': {name: "operator()"},
		'S': {name: "operator~"},
		'T': {name: "operator^"},
		'U': {name: "operator|"},
		'V': {name: "operator&&"},
		'W': {name: "operator||"},
		'X': {name: "operator*="},
		'Y': {name: "operator+="},
		'Z': {name: "operator-="},
	}
	underscoreOperators = [256]*operator{
		'0': {name: "operator/="},
		'1': {name: "operator%="},
		'2': {name: "operator>>="},
		'3': {name: "operator<<="},
		'4': {name: "operator&="},
		'5': {name: "operator|="},
		'6': {name: "operator^="},
		'7': opVftable,
		'8': opVbtable,
		'A': {name: "`typeof'"},
		'D': {"`vbase dtor'", "`vbase destructor'"},
		'E': {"`vector deleting dtor'", "`vector deleting destructor'"},
		'F': {"`default ctor closure'", "`default constructor closure'"},
		'G': {"`scalar deleting dtor'", "`scalar deleting destructor'"},
		'H': {"`vector ctor iterator'", "`vector constructor iterator'"},
		'I': {"`vector dtor iterator'", "`vector destructor iterator'"},
		'J': {"`vector vbase ctor iterator'", "`vector vbase constructor iterator'"},
		'K': {name: "`virtual displacement map'"},
		'L': {"`eh vector ctor iterator'", "`eh vector constructor iterator'"},
		'M': {"`eh vector dtor iterator'", "`eh vector destructor iterator'"},
		'N': {"`eh vector vbase ctor iterator'", "`eh vector vbase constructor iterator'"},
		'O': {"`copy ctor closure'", "`copy constructor closure'"},
		'S': opLocalVftable,
		'T': {"`local vftable ctor closure'", "`local vftable constructor closure'"},
		'U': {name: "operator new[]"},
		'V': {name: "operator delete[]"},
		'X': {name: "`placement delete closure'"},
		'Y': {name: "`placement delete[] closure'"},
	}
	doubleUnderscoreOperators = [256]*operator{
		'A': {"`managed vector ctor iterator'", "`managed vector constructor iterator'"},
		'B': {"`managed vector dtor iterator'", "`managed vector destructor iterator'"},
		'C': {"`EH vector copy ctor iterator'", "`eh vector copy constructor iterator'"},
		'D': {"`EH vector vbase copy ctor iterator'", "`eh vector vbase copy constructor iterator'"},
		'G': {"`vector copy ctor iterator'", "`vector copy constructor iterator'"},
		'H': {"`vector vbase copy constructor iterator'", "`vector vbase copy constructor iterator'"},
		'I': {"`managed vector vbase copy constructor iterator'", "`managed vector copy constructor iterator'"},
		'L': {name: "operator co_await"},
		'M': {name: "operator<=>"},
	}
)

// Operators that only special symbols have.
var (
	opVftable          = &operator{name: "`vftable'"}
	opVbtable          = &operator{name: "`vbtable'"}
	opLocalVftable     = &operator{name: "`local vftable'"}
	opLocalGuard       = &operator{name: "`local static guard'"}
	opLocalThreadGuard = &operator{name: "`local static thread guard'"}
	opRTTIArray        = &operator{name: "`RTTI Base Class Array'"}
	opRTTIHierarchy    = &operator{name: "`RTTI Class Hierarchy Descriptor'"}
	opRTTILocator      = &operator{name: "`RTTI Complete Object Locator'"}
)

// operatorName reads the code of an operator, constructor or destructor
// behind its '?'.
func (p *parser) operatorName() *ident {
	start := p.pos
	var op *operator
	switch c := p.next(); c {
	case '0':
		return p.newIdent(identConstructor)
	case '1':
		return p.newIdent(identDestructor)
	case 'B':
		return p.newIdent(identConversion)
	case '_':
		switch {
		case p.consume("_K"):
			id := p.newIdent(identLiteral)
			id.text = p.simpleName()
			return id
		case p.consume("_"):
			op = doubleUnderscoreOperators[p.next()]
		default:
			op = underscoreOperators[p.next()]
		}
	default:
		op = operators[c]
	}
	if op == nil {
		p.failAt(start, "unknown operator")
	}
	return p.special(op)
}
