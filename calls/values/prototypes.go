package values

import (
	"bufio"
	_ "embed" // the prototypes of the C library
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"logparser/message"
	"logparser/symbols/types"
)

// Prototypes are C declarations of library functions. They tell how to take arguments and results if there is no debug
// information.
//
// In their text, each line has one declaration. It may use types of the C language, some typedefs of POSIX, and pointers to
// anything:
//
//	library libc.so.6 libm.so.6
//	size_t strlen(const char *s);
//	int qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));
//
// A text whose length is in another parameter is written as an array: const char text[size], size_t size. If the type of the
// length is not an unsigned number of 64 bits, only the pointer of the text is taken. A parameter in a register that the
// calling convention would not use has the register after its name, as in GNU C: const char *s asm("r8").
//
// A line "library NAME…" names the libraries of the declarations below it, by base names with * and ?. Declarations before the
// first such line apply to all libraries. Of a function with a variable number of arguments, only the fixed ones are taken.
// Empty lines and lines that begin with # or // are ignored.
type Prototypes struct{ groups []prototypeGroup }

type prototypeGroup struct {
	libraries []string // nil for all
	functions map[string]*types.Function
}

// Bounds of the text of prototypes.
const (
	maxPrototypes     = 16 << 20 // bytes
	maxPrototypeLine  = 64 << 10 // bytes
	maxPrototypeWords = 1000
)

//go:embed libc.prototypes
var builtinPrototypes string

// BuiltinPrototypes returns the program's own prototypes of the C library, and their text.
var BuiltinPrototypes = sync.OnceValues(func() (*Prototypes, string) {
	p, err := ReadPrototypes(strings.NewReader(builtinPrototypes))
	if err != nil {
		panic(err) // cannot happen: TestPrototypes reads the same text
	}
	return p, builtinPrototypes
})

// ReadPrototypes reads the text of prototypes. If an error belongs to a line, it names the line.
func ReadPrototypes(r io.Reader) (*Prototypes, error) {
	p := &Prototypes{groups: []prototypeGroup{{nil, make(map[string]*types.Function)}}}
	in := bufio.NewScanner(io.LimitReader(r, maxPrototypes))
	in.Buffer(nil, maxPrototypeLine)
	for number := 1; in.Scan(); number++ {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") {
			continue
		}
		if libraries, ok := strings.CutPrefix(line, "library "); ok {
			names := strings.Fields(libraries)
			for _, name := range names {
				if _, err := path.Match(name, ""); err != nil {
					return nil, message.Errorf("line %d: %w", number, err)
				}
			}
			p.groups = append(p.groups, prototypeGroup{names, make(map[string]*types.Function)})
			continue
		}
		f, err := parsePrototype(line)
		if err != nil {
			return nil, message.Errorf("line %d: %w", number, err)
		}
		p.groups[len(p.groups)-1].functions[f.Name] = f
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// Function returns the declaration of a library's function, or nil if there is none. The declaration has no RVA. If there are
// several, it is the last one.
func (p *Prototypes) Function(library, name string) *types.Function {
	for _, g := range slices.Backward(p.groups) {
		f := g.functions[name]
		if f == nil {
			continue
		}
		if g.libraries == nil || slices.ContainsFunc(g.libraries, func(pattern string) bool {
			ok, _ := path.Match(pattern, library)
			return ok
		}) {
			return f
		}
	}
	return nil
}

// Errors of prototypes.
var (
	errPrototype     = message.New("a declaration such as \"size_t strlen(const char *s);\" is expected")
	errPrototypeType = message.New("this type is not known")
	errRegister      = message.New("behind asm a register of x86-64 is expected, such as asm(\"r8\")")
)

// parsePrototype reads a declaration.
func parsePrototype(line string) (*types.Function, error) {
	words := prototypeWords(line)
	open := slices.Index(words, "(")
	if n := len(words); n > 0 && words[n-1] == ";" {
		words = words[:n-1]
	}
	if open < 2 || len(words) > maxPrototypeWords || words[len(words)-1] != ")" || !isName(words[open-1]) {
		return nil, errPrototype
	}
	f := &types.Function{Name: words[open-1], Linkage: words[open-1]}
	result, err := prototypeType(words[:open-1], true)
	if err != nil {
		return nil, err
	}
	f.Result = result
	inner := words[open+1 : len(words)-1]
	if len(inner) == 0 || len(inner) == 1 && inner[0] == "void" {
		return f, nil
	}
	for _, words := range splitParameters(inner) {
		if len(words) == 1 && words[0] == "..." {
			f.Variadic = true
			continue
		}
		register, words, err := declaredRegister(words)
		if err != nil {
			return nil, err
		}
		parameter, err := prototypeParameter(words)
		if err != nil {
			return nil, err
		}
		if parameter.Register = register; register != "" && (parameter.Type.Kind == types.Float || parameter.Type.Size > 8) {
			return nil, errRegister
		}
		f.Parameters = append(f.Parameters, parameter)
	}
	for i := range f.Parameters {
		p := &f.Parameters[i]
		k := slices.IndexFunc(f.Parameters, func(o types.Parameter) bool { return o.Name == p.Length && isCount(o.Type) })
		if p.Length == "" || k < 0 {
			p.Length = "" // the length is a constant, not a parameter
			continue
		}
		t := *p.Type
		p.Type, t.Kind = &t, types.Pointer // not a Text, because it may lack the 0 at its end
		if !fillsRegister(f.Parameters[k].Type) {
			p.Length = ""
		}
	}
	return f, nil
}

// isCount reports whether a parameter of this type may give the length of another parameter.
func isCount(t *types.Type) bool { return t.Kind == types.Int || t.Kind == types.Uint }

// fillsRegister reports whether a length of this type fills its register as an unsigned number, because the recorder reads the
// whole register. The upper bits of a smaller type are undefined, and a negative number would be read as a huge one: either
// would make the recorder read memory after the text.
func fillsRegister(t *types.Type) bool { return t.Kind == types.Uint && t.Size == 8 }

// prototypeWords splits a declaration into names and punctuation.
func prototypeWords(line string) (words []string) {
	for i := 0; i < len(line); {
		n := 1
		switch c := line[i]; {
		case c == ' ' || c == '\t':
			i++
			continue
		case strings.HasPrefix(line[i:], "..."):
			n = 3
		case wordByte(c):
			for i+n < len(line) && wordByte(line[i+n]) {
				n++
			}
		}
		words = append(words, line[i:i+n])
		i += n
	}
	return words
}

func isName(word string) bool {
	return word != "" && wordByte(word[0]) && !(word[0] >= '0' && word[0] <= '9')
}

// splitParameters splits a parameter list at its commas.
func splitParameters(words []string) (list [][]string) {
	begin, depth := 0, 0
	for i, w := range words {
		switch w {
		case "(":
			depth++
		case ")":
			depth--
		case ",":
			if depth == 0 {
				list = append(list, words[begin:i])
				begin = i + 1
			}
		}
	}
	return append(list, words[begin:])
}

// prototypeParameter reads a parameter, with or without a name.
func prototypeParameter(words []string) (types.Parameter, error) {
	if at := slices.Index(words, "("); at >= 0 {
		// T (*name)(…), a pointer to a function.
		if at+2 >= len(words) || words[at+1] != "*" {
			return types.Parameter{}, errPrototype
		}
		name := ""
		if isName(words[at+2]) {
			name = words[at+2]
		}
		return types.Parameter{Name: name, Type: &types.Type{Kind: types.Pointer, Size: 8, Name: "function*"}}, nil
	}
	array, length := false, ""
	if at := slices.Index(words, "["); at >= 0 {
		if at+2 < len(words) && words[at+2] == "]" && isName(words[at+1]) {
			length = words[at+1]
		}
		words, array = words[:at], true
	}
	name, n := "", len(words)
	if n > 1 && isName(words[n-1]) && !slices.Contains(typeWords, words[n-1]) && !onlyQualifiers(words[:n-1]) {
		name, words = words[n-1], words[:n-1]
	}
	if array {
		words = append(slices.Clone(words), "*")
	}
	t, err := prototypeType(words, false)
	if err == nil && t == nil {
		err = errPrototypeType
	}
	if err == nil && length != "" {
		// If the characters are not const, the function may write them: there is no text yet when it is entered.
		if of, constant := strings.CutSuffix(t.Name, " const*"); name == "" || !constant || !slices.Contains(characters, of) {
			length = ""
		}
	}
	return types.Parameter{Name: name, Type: t, Length: length}, err
}

// characters are the element types of arrays that may be texts.
var characters = []string{"char", "void", "signed char", "unsigned char", "int8_t", "uint8_t"}

// declaredRegisters are the registers that asm("…") may name.
var declaredRegisters = []string{"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// declaredRegister cuts asm("REGISTER") off the end of a parameter.
func declaredRegister(words []string) (register string, rest []string, err error) {
	at := slices.IndexFunc(words, func(w string) bool { return w == "asm" || w == "__asm__" })
	if at < 0 {
		return "", words, nil
	}
	if w := words[at+1:]; len(w) == 5 && w[0] == "(" && w[1] == `"` && w[3] == `"` && w[4] == ")" && slices.Contains(declaredRegisters, w[2]) {
		return w[2], words[:at], nil
	}
	return "", nil, errRegister
}

// typeWords are words that belong to a type and cannot be the name of a parameter.
var typeWords = []string{"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "const", "volatile", "restrict", "struct", "union", "enum", "_Bool", "bool"}

// qualifiers are words that do not change how a value is passed.
var qualifiers = []string{"const", "volatile", "restrict", "__restrict", "extern", "struct", "union", "enum"}

func onlyQualifiers(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(qualifiers, w) })
}

// prototypeType reads a type; nil stands for void. A result of type char* is a text, because its characters exist when the
// function returns. A parameter of type char* is only a pointer, because it may point to a buffer that the function fills.
func prototypeType(words []string, result bool) (*types.Type, error) {
	var base []string
	constant, pointers := false, 0
	for _, w := range words {
		switch {
		case w == "*":
			pointers++
		case w == "const" && pointers == 0:
			constant = true
		case slices.Contains(qualifiers, w) && w != "enum":
		case !isName(w) || pointers > 0:
			return nil, errPrototype
		default:
			base = append(base, w)
		}
	}
	name := strings.Join(base, " ")
	if len(base) == 0 {
		return nil, errPrototype
	}
	if pointers > 0 {
		shown := name
		if constant {
			shown += " const"
		}
		t := &types.Type{Kind: types.Pointer, Size: 8, Name: shown + strings.Repeat("*", pointers)}
		if name == "char" && pointers == 1 && (constant || result) {
			t.Kind = types.Text
		}
		return t, nil
	}
	if name == "void" {
		return nil, nil
	}
	if strings.HasPrefix(name, "enum ") {
		return &types.Type{Kind: types.Int, Size: 4, Name: name}, nil
	}
	kind, ok := prototypeTypes[name]
	if !ok {
		return nil, message.Errorf("%s: %w", name, errPrototypeType)
	}
	return &types.Type{Kind: kind.kind, Size: kind.size, Name: name}, nil
}

type prototypeKind struct {
	kind types.Kind
	size int // bytes
}

// prototypeTypes are the types that are passed by value, with their sizes on x86-64 Linux.
var prototypeTypes = func() map[string]prototypeKind {
	m := make(map[string]prototypeKind)
	for kind, lists := range map[types.Kind]map[int]string{
		types.Int: {
			1: "signed char,int8_t", 2: "short,short int,int16_t", 4: "int,signed,signed int,int32_t,pid_t,clockid_t,key_t,id_t,wchar_t,errno_t",
			8: "long,long int,long long,long long int,int64_t,ssize_t,off_t,off64_t,time_t,clock_t,suseconds_t,intptr_t,ptrdiff_t,blksize_t,intmax_t",
		},
		types.Uint: {
			1: "unsigned char,uint8_t", 2: "unsigned short,unsigned short int,uint16_t,in_port_t",
			4: "unsigned,unsigned int,uint32_t,uid_t,gid_t,mode_t,socklen_t,in_addr_t,pthread_key_t,useconds_t,wint_t",
			8: "unsigned long,unsigned long int,unsigned long long,unsigned long long int,uint64_t,size_t,dev_t,ino_t,nfds_t,rlim_t,uintptr_t,pthread_t,uintmax_t",
		},
		types.Char:  {1: "char"},
		types.Bool:  {1: "_Bool,bool"},
		types.Float: {4: "float", 8: "double", 16: "long double"},
	} {
		for size, names := range lists {
			for name := range strings.SplitSeq(names, ",") {
				m[name] = prototypeKind{kind, size}
			}
		}
	}
	return m
}()
