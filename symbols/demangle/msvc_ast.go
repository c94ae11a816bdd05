package demangle

// The tree that a Microsoft name is read into. Back references share nodes,
// so that it is a graph without cycles: nothing below a node is changed once
// the node may be referred to.

type symbolKind uint8

const (
	symFunction symbolKind = iota
	symVariable
	symTable  // vftable, vbtable, complete object locator
	symType   // a type and text: type descriptors
	symString // a string literal
	symText   // text alone: hashed names
)

// A symbol is one complete mangled name.
type symbol struct {
	kind    symbolKind
	name    qualified
	typ     *typ // of a variable; of a type descriptor
	sig     *typ // of a function, nil for extern "C"
	class   funcClass
	adjust  [4]int64 // of thunks, in the order of the name
	storage byte     // of a variable: '0' to '4', or 0
	quals   quals    // of a table
	targets []qualified
	text    string
	str     stringLiteral
	// partial says that reading stopped behind the name.
	partial bool
}

type funcClass uint16

const (
	classPrivate funcClass = 1 << iota
	classProtected
	classPublic
	classGlobal
	classStatic
	classVirtual
	classExternC
	classNoParameters
	classAdjustor
	classVtordisp
	classVtordispEx
	classVcall
)

// A qualified name is its parts, innermost first, as they are mangled.
type qualified struct {
	parts []*ident
}

type identKind uint8

const (
	identName identKind = iota
	identAnonymous
	identLocalScope // the numbered scope numbers[0] within symbol
	identWithin     // symbol as a scope
	identOperator
	identLiteral // operator ""text
	identConversion
	identConstructor // of class
	identDestructor
	identRTTIBase
	identVcall
	identInitializer // of symbol, or of the variable named of
	identAtexit
)

// An ident is one part of a qualified name.
type ident struct {
	kind     identKind
	text     string
	template bool
	args     []argument
	op       *operator
	class    *ident
	target   *typ
	symbol   *symbol
	of       qualified
	numbers  [4]int64
}

func (id *ident) isTemplate() bool { return id.template }

type argumentKind uint8

const (
	argType argumentKind = iota
	argInteger
	argAddress   // &symbol
	argReference // symbol
	argName      // an alias template
	argMember    // {symbol, numbers…}, a member pointer
	argObject    // type{fields…}
	argArray     // {fields…}
	argPath      // &symbol.name[value]…, or &name of a data member
	argText
)

// An argument is one argument of a template.
type argument struct {
	kind     argumentKind
	typ      *typ
	name     qualified
	symbol   *symbol
	value    uint64
	negative bool
	numbers  []int64
	fields   []argument
	text     string
}

type typeKind uint8

const (
	typePrimitive typeKind = iota
	typeTag
	typePointer
	typeReference
	typeRvalueReference
	typeArray
	typeFunction
	typeCustom
)

type quals uint8

const (
	qualConst quals = 1 << iota
	qualVolatile
	qualRestrict
	qualUnaligned
	qualPtr64
)

type refQualifier uint8

const (
	refNone refQualifier = iota
	refLvalue
	refRvalue
)

// A typ is a type. elem is what is pointed to, the element of an array or the
// type that a function returns (nil for constructors and destructors).
type typ struct {
	kind       typeKind
	quals      quals
	text       string // of a primitive; the keyword of a tag
	name       qualified
	elem       *typ
	class      qualified // of a member pointer
	dims       []uint64
	params     []*typ
	variadic   bool
	noexcept   bool
	ref        refQualifier
	convention string
}
