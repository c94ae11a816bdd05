// Package signature reads the parameters of functions out of their mangled names, where an image has no debug information.
//
// Its input is an image with the names of its symbol table or its exports, its output [types.Function]. A name of C++ has the
// types of a function's parameters. It does not have all that is passed before them: of a name of Itanium's scheme neither
// whether the function is a method that gets an object, nor, unless it is of a template, what it returns, and so whether the
// caller passes the address of the result. Both shift the other arguments by a register. So the arguments' places are
// known only where it can be shown what comes before them:
//
//   - by the name: constructors, destructors, methods that are constant, operators, names of Microsoft's scheme;
//   - by other names of the image, which show what is a namespace;
//   - by the code: a function that returns something else than the address that it would have got has got none; and a
//     function that reads the register behind those of its parameters has got something before them (symbols/hooks).
//
// For the last of these, parameters count with all that they may take, classes by value with two registers. A parameter that the
// code does not read is not known either: callers that LLVM compiled need not pass it.
//
// What is not shown stays unknown. So do parameters of classes and enumerations by value, of which the name tells no size, and,
// by the System V ABI, all that is behind one.
package signature

import (
	"context"
	"errors"
	"slices"
	"strings"

	"logparser/symbols"
	"logparser/symbols/demangle"
	"logparser/symbols/hooks"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
	"logparser/symbols/types"
)

// maxFunctions bounds how many functions are returned, maxParameters how many parameters one may have.
const (
	maxFunctions  = 1_000_000
	maxParameters = 250
)

// A reader makes functions of names.
type reader struct {
	code *hooks.Code
	// scopes are what the image's names show to be classes and namespaces.
	scopes scopes
	// integers are the registers of the calling convention in its order, vectors those of floating numbers. On Windows both
	// count together.
	integers, vectors []string
	sizes             sizes
}

// Functions returns the functions of an image for x86-64 whose readable names chosen accepts and have parameters.
func Functions(ctx context.Context, im *image.Image, chosen func(name string) bool) ([]types.Function, error) {
	if im.Machine != "x86-64" || im.PointerSize != 8 {
		return nil, nil
	}
	named, err := symtab.Functions(im)
	if errors.Is(err, symbols.ErrNoSymbols) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	code, err := hooks.Functions(im)
	if err != nil || code == nil {
		return nil, err
	}
	of := sizes{windows: im.Kind == image.PE}
	if of.cygwin, err = importsCygwin(im); err != nil {
		return nil, err
	}
	r := newReader(code, of)
	for i := range named {
		if i%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, name := range named[i].Names {
			r.scopes.learn(name)
		}
	}
	var list []types.Function
	for i := range named {
		if i%256 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if f, ok := r.function(&named[i], chosen); ok && len(list) < maxFunctions {
			list = append(list, f)
		}
	}
	return list, nil
}

func newReader(code *hooks.Code, of sizes) *reader {
	r := &reader{scopes: make(scopes), code: code, sizes: of}
	r.integers, r.vectors = []string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}, []string{"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"}
	if of.windows {
		r.integers, r.vectors = []string{"rcx", "rdx", "r8", "r9"}, []string{"xmm0", "xmm1", "xmm2", "xmm3"}
	}
	return r
}

// importsCygwin reports whether a PE is a program of Cygwin or MSYS.
func importsCygwin(im *image.Image) (bool, error) {
	list, err := im.Imports()
	return slices.ContainsFunc(list, func(i image.Import) bool {
		return strings.EqualFold(i.Library, "cygwin1.dll") || strings.EqualFold(i.Library, "msys-2.0.dll")
	}), err
}

// function makes a function of the names at one place. Where several have different parameters, the linker or the compiler has
// made one of several functions, and which was called is not known.
func (r *reader) function(n *symtab.Named, chosen func(name string) bool) (f types.Function, ok bool) {
	if n.Size == 0 || n.Local {
		// LLVM changes the parameters of functions that nobody else calls, and nothing in an image proves that gcc has compiled it.
		return f, false
	}
	var d *declaration
	for _, name := range n.Names {
		if strings.Contains(name, ".") {
			return f, false // made of another function, with parameters of its own
		}
		next := declare(name, r.sizes, chosen)
		if next == nil || d != nil && !d.same(next) {
			return f, false
		}
		if d != nil {
			next.complete = next.complete || d.complete
		}
		d = next
	}
	if d == nil {
		return f, false
	}
	f = types.Function{RVA: n.RVA, Size: n.Size, Name: d.name, Linkage: n.Names[0], Result: d.result, Variadic: d.variadic, ObjectFirst: d.microsoft}
	f.Parameters = append(f.Parameters, d.parameters...)
	if len(f.Parameters) > maxParameters {
		return f, false
	}
	r.place(&f, d)
	return f, len(f.Parameters) > 0 || f.Result != nil
}

// place finds out what comes before a function's parameters, and which of them are known to be passed.
func (r *reader) place(f *types.Function, d *declaration) {
	before := newBounds(d, r.scopes.of(d.scope))
	hidden := r.integers[0]
	if d.microsoft && d.object == yes {
		hidden = r.integers[1] // the object comes first
	}
	passed := r.code.Passed(f.RVA, f.Size, hidden)
	if passed.NotHidden {
		before.hidden.is(false)
	}
	reads := func(i int) bool {
		return i < len(r.integers) && passed.Reads(r.integers[i]) || r.sizes.windows && i < len(r.vectors) && passed.Reads(r.vectors[i])
	}
	if !d.variadic {
		n := r.most(d.parameters)
		for i := range r.integers {
			if reads(i) {
				before.least = max(before.least, i+1-n)
			}
		}
	}
	n, known := before.number()
	object := before.object == yes
	if !known {
		f.Leading = types.NotKnown
	} else {
		f.Leading = n
		if object = before.isObject(n); object {
			f.Leading--
		}
		if d.resultAddressed() {
			f.Leading-- // its own type says so
		}
	}
	if object {
		this := types.Parameter{Name: "this", Type: &types.Type{Kind: types.Pointer, Size: 8, Name: d.scope + "*"}}
		f.Parameters = append([]types.Parameter{this}, f.Parameters...)
	}
	r.unused(f, d, n, &passed)
	if object && (d.moved || d.microsoft && n == 2 && !d.resultAddressed()) {
		// It may be the address of a part of the object; or it comes before the address of a result that has no type here, and
		// places are given in that order only if the type says so.
		f.Parameters[0].Unused = true
	}
	if d.structor && !d.complete {
		// Of a class with virtual bases a table of them comes behind the object.
		for i := range f.Parameters {
			f.Parameters[i].Unused = f.Parameters[i].Unused || f.Parameters[i].Name != "this"
		}
	}
}

// unused marks the parameters that the code does not read: LLVM's callers need not pass them. before is how many places are
// taken before those of the declaration, if that is known.
func (r *reader) unused(f *types.Function, d *declaration, before int, passed *hooks.Passed) {
	integers, vectors := before-(len(f.Parameters)-len(d.parameters)), 0
	for i := range f.Parameters {
		p := &f.Parameters[i]
		whole, floating := slots(p.Type)
		switch {
		case d.microsoft && p.Name == "this": // the object comes first
			p.Unused = !passed.Reads(r.integers[0])
			integers = before
			continue
		case r.sizes.windows:
			registers := r.integers
			if floating > 0 {
				registers = r.vectors
			}
			p.Unused = integers < 0 || integers >= len(registers) || !passed.Reads(registers[integers])
			integers++
			continue
		case floating > 0:
			p.Unused = vectors >= len(r.vectors) || !passed.Reads(r.vectors[vectors])
		default:
			p.Unused = whole == 0
			for k := max(integers, 0); k < integers+whole; k++ {
				p.Unused = p.Unused || k >= len(r.integers) || !passed.Reads(r.integers[k])
			}
		}
		integers += whole
		vectors += floating
	}
}

// slots returns how many registers a parameter of a type takes by the System V ABI, at most where its class is not known, and
// none where it lies on the stack.
func slots(t *types.Type) (integers, vectors int) {
	switch {
	case t.Kind == types.Opaque:
		return 2, 0
	case t.Kind == types.Float && t.Size <= 8:
		return 0, 1
	case t.Kind == types.Float:
	case t.Indirect:
		return 1, 0
	case t.Kind == types.Text && t.Name == types.StdStringView, t.Size == 16:
		return 2, 0
	default:
		return 1, 0
	}
	return 0, 0
}

// most returns how many places for integers parameters take at most.
func (r *reader) most(list []types.Parameter) (n int) {
	if r.sizes.windows {
		return len(list)
	}
	for i := range list {
		integers, _ := slots(list[i].Type)
		n += integers
	}
	return n
}

// fullName returns a mangled name's readable one, without the type of the result, and that type as text; short is without
// parameters.
func fullName(mangled string) (name, short, result string) {
	short, full := demangle.Forms(mangled)
	if i := strings.Index(full, short); i > 0 {
		return full[i:], short, strings.TrimSpace(full[:i])
	}
	return full, short, ""
}
