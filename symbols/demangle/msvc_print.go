package demangle

import "strconv"

// A printer writes a tree as text. Declarations of C are written around their
// name: typeBefore writes what stands left of it, typeAfter what stands right.
type printer struct {
	buf []byte
	// short leaves access, conventions of the symbol itself, parameters,
	// return types and class keywords out, and uses Microsoft's words.
	short bool
	// failed says that the text is too long or too deep.
	failed bool
	depth  int
}

func (w *printer) str(s string) {
	if len(w.buf)+len(s) > maxOutput {
		w.failed = true
	}
	if !w.failed {
		w.buf = append(w.buf, s...)
	}
}

func (w *printer) byte(c byte) {
	if len(w.buf) >= maxOutput {
		w.failed = true
	}
	if !w.failed {
		w.buf = append(w.buf, c)
	}
}

func (w *printer) int(n int64) {
	var digits [20]byte
	w.str(string(strconv.AppendInt(digits[:0], n, 10)))
}

func (w *printer) uint(n uint64) {
	var digits [20]byte
	w.str(string(strconv.AppendUint(digits[:0], n, 10)))
}

// enter reports whether another level may be printed; each call that returns
// true is undone by leave.
func (w *printer) enter() bool {
	// Back references cannot nest deeper than all of the parser's levels on
	// top of each other.
	if w.depth > 8*maxDepth {
		w.failed = true
	}
	if w.failed {
		return false
	}
	w.depth++
	return true
}

func (w *printer) leave() { w.depth-- }

func (w *printer) last() byte {
	if len(w.buf) == 0 {
		return 0
	}
	return w.buf[len(w.buf)-1]
}

// space writes a blank where the next word would run into the last.
func (w *printer) space() {
	switch c := w.last(); {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '>':
		w.byte(' ')
	}
}

func (w *printer) symbol(s *symbol) {
	if !w.enter() {
		return
	}
	defer w.leave()
	switch s.kind {
	case symText:
		w.str(s.text)
	case symString:
		if w.short {
			w.str("`string'")
		} else {
			s.str.print(w)
		}
	case symType:
		w.typ(s.typ)
		w.space()
		w.str(s.text)
	case symTable:
		if !w.short {
			if s.quals&qualConst != 0 {
				w.str("const ")
			}
			if s.quals&qualVolatile != 0 {
				w.str("volatile ")
			}
		}
		w.qualified(s.name)
		if len(s.targets) > 0 {
			w.str("{for ")
			for i, t := range s.targets {
				if i > 0 {
					w.str("s ")
				}
				w.byte('`')
				w.qualified(t)
				w.byte('\'')
			}
			w.byte('}')
		}
	case symVariable:
		w.variable(s)
	case symFunction:
		w.function(s)
	}
}

func (w *printer) variable(s *symbol) {
	if w.short {
		w.qualified(s.name)
		return
	}
	switch s.storage {
	case '0':
		w.str("private: static ")
	case '1':
		w.str("protected: static ")
	case '2':
		w.str("public: static ")
	}
	if s.typ != nil {
		w.typeBefore(s.typ)
		w.space()
	}
	w.qualified(s.name)
	if s.typ != nil {
		w.typeAfter(s.typ)
	}
}

func (w *printer) function(s *symbol) {
	if w.short {
		w.qualified(s.name)
		return
	}
	if s.class&(classAdjustor|classVtordisp|classVcall) != 0 {
		w.str("[thunk]: ")
	}
	switch {
	case s.class&classPublic != 0:
		w.str("public: ")
	case s.class&classProtected != 0:
		w.str("protected: ")
	case s.class&classPrivate != 0:
		w.str("private: ")
	}
	if s.class&classStatic != 0 {
		w.str("static ")
	}
	if s.class&classVirtual != 0 {
		w.str("virtual ")
	}
	if s.class&classExternC != 0 {
		w.str("extern \"C\" ")
	}
	if s.sig != nil {
		if s.sig.elem != nil {
			w.typeBefore(s.sig.elem)
			w.byte(' ')
		}
		w.str(s.sig.convention)
		w.byte(' ')
	}
	w.qualified(s.name)
	w.adjustment(s)
	if s.sig != nil && s.class&classNoParameters == 0 {
		w.parameters(s.sig)
		if s.sig.elem != nil {
			w.typeAfter(s.sig.elem)
		}
	}
}

// adjustment writes what a thunk does to its object's address.
func (w *printer) adjustment(s *symbol) {
	switch {
	case s.class&classAdjustor != 0:
		w.str("`adjustor{")
		w.numbers(s.adjust[:1])
	case s.class&classVtordispEx != 0:
		w.str("`vtordispex{")
		w.numbers(s.adjust[:4])
	case s.class&classVtordisp != 0:
		w.str("`vtordisp{")
		w.numbers(s.adjust[:2])
	default:
		return
	}
	w.str("}'")
}

func (w *printer) numbers(list []int64) {
	for i, n := range list {
		if i > 0 {
			w.str(", ")
		}
		w.int(n)
	}
}

func (w *printer) qualified(n qualified) {
	for i := len(n.parts) - 1; i >= 0; i-- {
		w.ident(n.parts[i])
		if i > 0 {
			w.str("::")
		}
	}
}

func (w *printer) ident(id *ident) {
	if !w.enter() {
		return
	}
	defer w.leave()
	switch id.kind {
	case identName:
		w.str(id.text)
	case identAnonymous:
		w.str("`anonymous namespace'")
	case identLocalScope:
		w.byte('`')
		w.symbol(id.symbol)
		w.str("'::`")
		w.int(id.numbers[0])
		w.byte('\'')
	case identWithin:
		w.byte('`')
		w.symbol(id.symbol)
		w.byte('\'')
	case identOperator:
		w.str(id.op.text(w.short))
		if id.numbers[0] > 0 {
			w.byte('{')
			w.int(id.numbers[0])
			w.byte('}')
		}
	case identLiteral:
		w.str(`operator ""`)
		w.str(id.text)
	case identConversion:
		w.str("operator")
		w.arguments(id)
		w.byte(' ')
		if id.target != nil {
			w.typ(id.target)
		}
		return
	case identConstructor, identDestructor:
		if id.kind == identDestructor {
			w.byte('~')
		}
		if id.class != nil {
			w.ident(id.class)
		}
	case identRTTIBase:
		w.str("`RTTI Base Class Descriptor at (")
		w.numbers(id.numbers[:])
		w.str(")'")
	case identVcall:
		w.str("`vcall'{")
		w.int(id.numbers[0])
		w.str(", {flat}}")
	case identInitializer, identAtexit:
		w.dynamic(id)
	}
	w.arguments(id)
}

// dynamic writes the name of an initializer or atexit destructor. Microsoft's
// tools write the variable's scopes in front.
func (w *printer) dynamic(id *ident) {
	of := id.of
	if id.symbol != nil {
		of = id.symbol.name
	}
	if w.short {
		for i := len(of.parts) - 1; i > 0; i-- {
			w.ident(of.parts[i])
			w.str("::")
		}
	}
	if id.kind == identInitializer {
		w.str("`dynamic initializer for ")
	} else {
		w.str("`dynamic atexit destructor for ")
	}
	switch {
	case w.short:
		w.byte('\'')
		w.ident(of.parts[0])
		w.byte('\'')
	case id.symbol != nil:
		w.byte('`')
		w.symbol(id.symbol)
		w.byte('\'')
	default:
		w.byte('\'')
		w.qualified(of)
		w.byte('\'')
	}
	w.byte('\'')
}

func (w *printer) arguments(id *ident) {
	if !id.template {
		return
	}
	w.byte('<')
	w.argumentList(id.args)
	w.byte('>')
}

func (w *printer) argumentList(args []argument) {
	for i := range args {
		if i > 0 {
			w.str(", ")
		}
		w.argument(&args[i])
	}
}

func (w *printer) argument(a *argument) {
	if !w.enter() {
		return
	}
	defer w.leave()
	switch a.kind {
	case argType:
		w.typ(a.typ)
	case argInteger:
		if a.negative {
			w.byte('-')
		}
		w.uint(a.value)
	case argAddress:
		w.byte('&')
		w.symbol(a.symbol)
	case argReference:
		w.symbol(a.symbol)
	case argName:
		w.qualified(a.name)
	case argMember:
		w.byte('{')
		if a.symbol != nil {
			w.symbol(a.symbol)
			w.str(", ")
		}
		w.numbers(a.numbers)
		w.byte('}')
	case argObject:
		w.typ(a.typ)
		w.byte('{')
		w.argumentList(a.fields)
		w.byte('}')
	case argArray:
		w.byte('{')
		w.argumentList(a.fields)
		w.byte('}')
	case argPath:
		w.byte('&')
		if a.symbol == nil {
			w.qualified(a.name)
		} else {
			w.qualified(a.symbol.name)
		}
		for i := range a.fields {
			if f := &a.fields[i]; f.kind == argName {
				w.byte('.')
				w.argument(f)
			} else {
				w.byte('[')
				w.argument(f)
				w.byte(']')
			}
		}
	case argText:
		w.str(a.text)
	}
}

// typ writes a type that has no name.
func (w *printer) typ(t *typ) {
	w.typeBefore(t)
	w.typeAfter(t)
}

func (w *printer) typeBefore(t *typ) {
	if !w.enter() {
		return
	}
	defer w.leave()
	switch t.kind {
	case typePrimitive:
		w.str(t.text)
		w.quals(t.quals, true)
	case typeTag:
		if !w.short {
			w.str(t.text)
			w.byte(' ')
		}
		w.qualified(t.name)
		w.quals(t.quals, true)
	case typeCustom:
		w.qualified(t.name)
		w.quals(t.quals, true)
	case typeArray:
		w.typeBefore(t.elem)
		w.quals(t.quals, true)
	case typeFunction:
		if t.elem != nil {
			w.typeBefore(t.elem)
			w.byte(' ')
		}
		w.str(t.convention)
	case typePointer, typeReference, typeRvalueReference:
		w.pointerBefore(t)
	}
}

func (w *printer) pointerBefore(t *typ) {
	function := t.elem.kind == typeFunction
	if function {
		// The convention belongs inside the parentheses.
		if t.elem.elem != nil {
			w.typeBefore(t.elem.elem)
			w.byte(' ')
		}
	} else {
		w.typeBefore(t.elem)
	}
	w.space()
	if t.quals&qualUnaligned != 0 {
		w.str("__unaligned ")
	}
	switch {
	case function:
		w.byte('(')
		w.str(t.elem.convention)
		w.byte(' ')
	case t.elem.kind == typeArray:
		w.byte('(')
	}
	if t.class.parts != nil {
		w.qualified(t.class)
		w.str("::")
	}
	switch t.kind {
	case typePointer:
		w.byte('*')
	case typeReference:
		w.byte('&')
	case typeRvalueReference:
		w.str("&&")
	}
	w.quals(t.quals, false)
}

func (w *printer) typeAfter(t *typ) {
	if !w.enter() {
		return
	}
	defer w.leave()
	switch t.kind {
	case typeArray:
		for _, n := range t.dims {
			w.byte('[')
			if n != 0 {
				w.uint(n)
			}
			w.byte(']')
		}
		w.typeAfter(t.elem)
	case typeFunction:
		w.parameters(t)
		if t.elem != nil {
			w.typeAfter(t.elem)
		}
	case typePointer, typeReference, typeRvalueReference:
		if t.elem.kind == typeFunction || t.elem.kind == typeArray {
			w.byte(')')
		}
		w.typeAfter(t.elem)
	}
}

// parameters writes a function's parameters and what stands behind them.
func (w *printer) parameters(t *typ) {
	w.byte('(')
	for i, param := range t.params {
		if i > 0 {
			w.str(", ")
		}
		w.typ(param)
	}
	switch {
	case t.variadic && len(t.params) > 0:
		w.str(", ...")
	case t.variadic:
		w.str("...")
	case len(t.params) == 0:
		w.str("void")
	}
	w.byte(')')
	w.quals(t.quals, true)
	if t.quals&qualUnaligned != 0 {
		w.str(" __unaligned")
	}
	if t.noexcept {
		w.str(" noexcept")
	}
	switch t.ref {
	case refLvalue:
		w.str(" &")
	case refRvalue:
		w.str(" &&")
	}
}

// quals writes const, volatile and __restrict, with a blank between two and,
// if before is set, in front.
func (w *printer) quals(q quals, before bool) {
	for _, word := range [...]struct {
		bit  quals
		text string
	}{{qualConst, "const"}, {qualVolatile, "volatile"}, {qualRestrict, "__restrict"}} {
		if q&word.bit == 0 {
			continue
		}
		if before {
			w.byte(' ')
		}
		w.str(word.text)
		before = true
	}
}
