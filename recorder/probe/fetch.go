package probe

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"logparser/calls/values"
	"logparser/message"
	"logparser/symbols/types"
)

// A FetchKind says how a fetched value is printed.
type FetchKind uint8

const (
	// Signed, Unsigned and Hex are integers.
	Signed FetchKind = iota
	Unsigned
	Hex
	// Text is a text that ends with a 0.
	Text
	// Float is a floating-point number. From memory the kernel can fetch its bits.
	Float
)

// A Fetch is a value that a probe takes.
type Fetch struct {
	// Printed is the name in the tool's lines, which allow fewer characters; Name is the name of the
	// parameter or of a part of it.
	Printed, Name, Type string
	// Place is a register by its x86-64 or arm64 name, or "stack". With "stack" the first element of
	// Memory is the offset from the stack pointer.
	Place string
	// Memory is the chain of offsets to the value: the first is added to Place, each other one to the
	// pointer that was read there. It is empty where the register itself has the value.
	Memory []int
	Kind   FetchKind
	// Size is in bytes; Shift is how many bits of the register lie below the value.
	Size, Shift int
	// Missing says why the value cannot be fetched; a tool that reads vector registers ignores it if
	// Vector is set.
	Missing message.Text
	// Vector says that Place is a vector register, which some debuggers can read.
	Vector bool
}

var noPlace = message.Textf("its place is not known")
var noVector = message.Textf("it is in a vector register, to which the kernel's probes have no access (gdb has)")
var notKept = message.Textf("a probe at the return does not know where the argument pointed to")
var noLayout = message.Textf("std::string of libc++ has two layouts, of which a probe cannot choose")

// rawRegisters are the registers for arguments and results, by machine and calling convention.
var rawRegisters = map[string]struct{ arguments, results []string }{
	"x86-64":    {[]string{"rdi", "rsi", "rdx", "rcx", "r8", "r9"}, []string{"rax"}},
	"x86-64/pe": {[]string{"rcx", "rdx", "r8", "r9"}, []string{"rax"}},
	"x86-64/go": {[]string{"rax", "rbx", "rcx", "rdi", "rsi", "r8", "r9", "r10", "r11"}, []string{"rax", "rbx"}},
	"arm64":     {[]string{"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"}, []string{"x0"}},
	"arm64/go":  {[]string{"x0", "x1", "x2", "x3", "x4", "x5"}, []string{"x0", "x1"}},
}

// fewArguments is how many arguments are taken where nobody says how many there are.
const fewArguments = 6

// RawPlaces returns where the first n arguments of a function are when it is entered, if they are numbers or pointers, and where
// results are when it returns, by the calling convention. n is 0 where it is not known. Fewer places are returned where no more are known.
func (t *Target) RawPlaces(f *Function, n int) (arguments, results []string) {
	key, stack := t.Machine, 0 // of the first argument that is not in a register, -1 where that is not known
	switch {
	case f.Go:
		key, stack = key+"/go", -1
	case t.PE:
		key, stack = key+"/pe", 32
	}
	r := rawRegisters[key]
	if arguments = r.arguments[:min(cmp.Or(n, fewArguments), len(r.arguments))]; stack < 0 || len(arguments) == 0 {
		return arguments, r.results
	}
	arguments = slices.Clip(arguments)
	for ; len(arguments) < n; stack += 8 {
		arguments = append(arguments, "stack+"+strconv.Itoa(stack))
	}
	return arguments, r.results
}

// rawFetches returns the fetches of arguments or results as numbers. Their names are name and a number, which the first result has not.
func (p *Plan) rawFetches(places []string, name string) (out []Fetch) {
	for i, place := range places {
		f := Fetch{Printed: rawName(name, i), Kind: Hex, Size: 8, Place: place}
		if f.Name = f.Printed; name == rawResult {
			f.Name = values.Result + strings.TrimPrefix(f.Printed, rawResult)
		}
		if at, ok := strings.CutPrefix(place, "stack+"); ok {
			n, _ := strconv.Atoi(at)
			f.Place, f.Memory = "stack", []int{n + p.ReturnAddress()}
		}
		out = append(out, f)
	}
	return out
}

// rawName is what an argument or result is called that is taken as a number.
func rawName(name string, i int) string {
	if name != rawResult || i > 0 {
		return name + strconv.Itoa(i+1)
	}
	return name
}

// Names of what is taken as numbers.
const (
	rawArgument = "arg"
	rawResult   = "ret"
)

// ReturnAddress is how many bytes of the stack the return address takes before a function's first instruction. Places on the stack are
// counted from behind it.
func (t *Target) ReturnAddress() int {
	if t.Machine == "arm64" {
		return 0
	}
	return 8
}

// fetches returns the values that are fetched when a function is entered, and when it returns. Where nobody knows what it takes these are
// so many numbers.
func (p *Plan) fetches(f *Function, arguments int) (enter, leave []Fetch) {
	if f.Values == nil {
		places, results := p.RawPlaces(f, arguments)
		return p.rawFetches(places, rawArgument), p.rawFetches(results, rawResult)
	}
	take := func(list []values.Value) []Fetch {
		b := fetcher{used: make(map[string]bool), behind: p.ReturnAddress()}
		for i := range list {
			b.value(&list[i])
		}
		for _, one := range b.list {
			if !one.Missing.IsZero() && !(one.Vector && p.tool.vectors) {
				p.note(message.Textf("%s: %s is not taken: %v", f.Name, one.Name, one.Missing))
			}
		}
		if b.left > 0 {
			p.note(message.Textf("%s: %d values are not taken, because a probe takes %d at most", f.Name, b.left, maxFetches))
		}
		return b.list
	}
	return take(f.Values.Enter), take(f.Values.Leave)
}

// A location is where a value lies: in memory, or in registers, each of which has eight bytes of it.
type location struct {
	registers []string
	// memory is as in Fetch, nil for a value in registers. offset is the offset of the part within the
	// value.
	memory []int
	offset int
}

// at returns the location of the part at an offset.
func (l location) at(offset int) location {
	l.offset += offset
	return l
}

// A fetcher divides the values of a function into parts that a probe can fetch one by one: registers,
// numbers and texts.
type fetcher struct {
	list []Fetch
	used map[string]bool
	// left counts those that are too many.
	left int
	// behind is where places on the stack are counted from.
	behind int
}

// maxNested bounds the nesting of structs, maxElements the elements of an array.
const (
	maxNested   = 3
	maxElements = 4
)

// maxArgument is the longest name of an argument that the kernel accepts.
const maxArgument = 28

func (b *fetcher) add(f Fetch, name string, t *types.Type) {
	if len(b.list) >= maxFetches {
		b.left++
		return
	}
	f.Name = name
	if t != nil {
		f.Type = t.Name
	}
	printed := identifier(strings.ReplaceAll(name, values.Result, "ret"), maxArgument)
	if printed[0] >= '0' && printed[0] <= '9' {
		printed = "_" + printed
	}
	f.Printed = printed
	for i := 2; b.used[f.Printed]; i++ {
		f.Printed = printed + "_" + strconv.Itoa(i)
	}
	b.used[f.Printed] = true
	b.list = append(b.list, f)
}

// value adds the fetches for a value of a plan.
func (b *fetcher) value(v *values.Value) {
	at := location{}
	if off, ok := strings.CutPrefix(v.Place, "stack+"); ok {
		n, _ := strconv.Atoi(off)
		at.registers, at.memory = []string{"stack"}, []int{n + b.behind}
	} else {
		at.registers = strings.Split(v.Place, "+")
	}
	if strings.HasPrefix(v.Place, "@") {
		b.add(Fetch{Missing: notKept}, v.Name, v.Type)
		return
	}
	// pointed is the location that the pointer at the place points to, plus an offset.
	pointed := func(offset int) location {
		return location{at.registers, append(append([]int(nil), at.memory...), offset), 0}
	}
	if v.Op.At {
		b.add(Fetch{Missing: noPlace}, v.Name, v.Type)
		return
	}
	switch v.Op.Kind {
	case values.Direct:
		b.typed(v.Name, v.Type, at, v.Op.Size, 0)
	case values.Text:
		b.text(v.Name, v.Type, pointed(0))
	case values.Memory:
		b.typed(v.Name, v.Type, pointed(v.Op.Offset), v.Op.Size, 0)
	case values.String:
		if v.Op.Library != types.Libstdcxx {
			b.add(Fetch{Missing: noLayout}, v.Name, v.Type)
			return
		}
		to := pointed(0)
		to.memory = append(to.memory, 0)
		b.text(v.Name, v.Type, to)
	case values.View:
		if v.Op.Library != types.Libstdcxx {
			b.add(Fetch{Missing: noLayout}, v.Name, v.Type)
			return
		}
		b.view(v.Name, at)
	default:
		b.add(Fetch{Missing: noPlace}, v.Name, v.Type)
	}
}

// view adds the fetches for a std::string_view of libstdc++: its length, and its characters up to the
// first 0, which may be more than the length says.
func (b *fetcher) view(name string, at location) {
	if at.memory == nil && len(at.registers) == 1 {
		at.memory = []int{0} // by reference
	}
	b.scalar(name+".size", &types.Type{Kind: types.Uint, Size: 8, Name: "unsigned long"}, at, 8)
	characters := at.at(8)
	to := Fetch{Kind: Text}
	if characters.memory == nil {
		if len(characters.registers) < 2 {
			return
		}
		to.Place, to.Memory = characters.registers[1], []int{0}
	} else {
		to.Place, to.Memory = at.registers[0], append(append([]int(nil), at.memory...), 0)
		to.Memory[len(to.Memory)-2] += characters.offset
	}
	b.add(to, name+".data", &types.Type{Name: "char const*"})
}

// text adds a fetch of the characters at a location in memory.
func (b *fetcher) text(name string, t *types.Type, at location) {
	b.add(Fetch{Place: at.registers[0], Memory: at.place(), Kind: Text}, name, t)
}

// place returns the chain of offsets that leads to the part.
func (l location) place() []int {
	m := append([]int(nil), l.memory...)
	m[len(m)-1] += l.offset
	return m
}

// typed adds the fetches for a value of a type: of a struct and an array those of its parts.
func (b *fetcher) typed(name string, t *types.Type, at location, size, depth int) {
	if t == nil {
		b.scalar(name, &types.Type{Kind: types.Opaque, Size: size}, at, size)
		return
	}
	switch {
	case t.Kind == types.Struct && depth < maxNested && len(t.Members) > 0:
		for i := range t.Members {
			m := &t.Members[i]
			part := name
			if m.Name != types.Base && m.Name != "" {
				part += "." + m.Name
			}
			if m.Type == nil || m.Bits > 0 {
				continue
			}
			b.typed(part, m.Type, at.at(m.Offset), m.Type.Size, depth+1)
		}
	case t.Kind == types.Array && t.Target != nil && t.Target.Kind == types.Char && t.Target.Size == 1 && at.memory != nil:
		b.text(name, t, at)
	case t.Kind == types.Array && t.Target != nil && t.Target.Size > 0 && depth < maxNested:
		for i := range min(t.Count, maxElements) {
			b.typed(name+"."+strconv.Itoa(i), t.Target, at.at(i*t.Target.Size), t.Target.Size, depth+1)
		}
	case t.Kind == types.Text && at.memory != nil && strings.HasPrefix(t.Name, types.StdString):
		if t.Library == types.Libstdcxx && !strings.HasPrefix(t.Name, types.StdStringView) {
			b.text(name, t, location{at.registers, append(at.place(), 0), 0})
		}
	case t.Kind == types.Text && at.memory != nil:
		b.text(name, t, location{at.registers, append(at.place(), 0), 0})
	default:
		if t.Size > 0 {
			size = t.Size
		}
		b.scalar(name, t, at, size)
	}
}

// scalar adds a fetch of a number.
func (b *fetcher) scalar(name string, t *types.Type, at location, size int) {
	f := Fetch{Size: size}
	switch t.Kind {
	case types.Int, types.Enum:
		f.Kind = Signed
	case types.Uint, types.Bool, types.Flags:
		f.Kind = Unsigned
	case types.Char:
		f.Kind = Signed
	case types.Float:
		f.Kind = Float
	default:
		f.Kind = Hex
	}
	if size != 1 && size != 2 && size != 4 && size != 8 {
		if t.Kind == types.Struct || size < 8 {
			return
		}
		f.Kind, f.Size = Hex, 8
		if t.Kind == types.Float {
			f.Missing = message.Textf("it has %d bytes", size)
		}
	}
	if at.memory != nil {
		f.Place, f.Memory = at.registers[0], at.place()
		b.add(f, name, t)
		return
	}
	k := at.offset / 8
	if k >= len(at.registers) || at.registers[k] == "-" {
		f.Missing = noPlace
		b.add(f, name, t)
		return
	}
	f.Place, f.Shift = at.registers[k], at.offset%8*8
	if strings.HasPrefix(f.Place, "xmm") || f.Place == "st0" {
		f.Missing, f.Vector = noVector, f.Shift == 0 && f.Place != "st0"
	}
	b.add(f, name, t)
}
