package values

import (
	"slices"
	"strings"

	"logparser/message"
	"logparser/symbols/types"
)

// A Spec chooses functions and those of their values that the recorder takes.
type Spec struct {
	// Pattern is compared with the function's name, with and without its parameters. * stands for any characters, and ? for one.
	// If Exclude is set, no values are taken of the functions that Pattern fits.
	Pattern string
	Exclude bool
	// Items are the values to take, nil for all parameters and the result:
	//
	//	p         the parameter p
	//	return    the result
	//	*p        what the pointer or reference p leads to
	//	p->x      the member x of that
	//	p->class  the class that the object there really has
	//
	// "@leave" behind "p", "*p" or "p->x" takes what the pointer leads to at the end of the call, not at its beginning.
	Items []string
}

// ParseSpec reads [!]PATTERN[@ITEM,ITEM…].
func ParseSpec(text string) (Spec, error) {
	var s Spec
	pattern, items, chosen := strings.Cut(text, "@")
	s.Pattern, s.Exclude = strings.CutPrefix(pattern, "!")
	if s.Pattern == "" {
		return s, message.Errorf("%q: a pattern of functions is expected", text)
	}
	if strings.HasPrefix(text, "--") {
		return s, message.Errorf("%q is an option, which stands before --; a pattern of functions is expected", text)
	}
	if chosen && s.Exclude {
		return s, message.Errorf("%q: what is left out has no values", text)
	}
	if chosen {
		for item := range strings.SplitSeq(items, ",") {
			switch item = strings.TrimSpace(item); item {
			case "":
				return s, message.Errorf("%q: the name of a parameter is expected behind @ and between commas", text)
			default:
				if base, suffix, at := strings.Cut(item, "@"); at && (base == "" || base == Result || suffix != "leave") {
					return s, message.Errorf("%q: behind @ an item has \"leave\", for what a parameter leads to when the call returns", text)
				}
				s.Items = append(s.Items, item)
			}
		}
	}
	return s, nil
}

// fit reports whether a name matches a pattern with * and ?.
func fit(pattern, name string) bool {
	p, n := 0, 0
	star, back := -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			back++
			p, n = star+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// withoutParameters returns a function's name without its parameters.
func withoutParameters(name string) string {
	end := strings.LastIndexByte(name, ')')
	if end < 0 {
		return name
	}
	depth := 0
	for i := end; i >= 0; i-- {
		switch name[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				if i == 0 || strings.HasSuffix(name[:i], "operator") {
					return name
				}
				return name[:i]
			}
		}
	}
	return name
}

// Choose reports whether specs choose a function, and returns the items that they take of it, nil for all. The last spec that
// fits the name decides. If none of the specs chooses functions (all of them exclude some), a function that no spec fits is chosen.
func Choose(specs []Spec, name string) (items []string, taken bool) {
	taken = !slices.ContainsFunc(specs, func(s Spec) bool { return !s.Exclude })
	short := withoutParameters(name)
	for i := range specs {
		if s := &specs[i]; fit(s.Pattern, name) || fit(s.Pattern, short) {
			items, taken = s.Items, !s.Exclude
		}
	}
	return items, taken
}

// textBytes is how many bytes of a text are taken. Objects that references lead to are taken if they have at most memoryBytes.
const (
	textBytes   = 64
	memoryBytes = 64
)

// A Maker makes the plans of a module's functions. It is not safe for concurrent use.
type Maker struct {
	// ABI is the calling convention: [SysV], [Cdecl], [Win64], [Win32] or [AAPCS64].
	ABI ABI
	// Texts says that the plan also takes the texts that members of structs point to.
	Texts bool
	// kept has the plan's copy of each type; see keep.
	kept map[*types.Type]*types.Type
}

// NewMaker returns a maker for a calling convention.
func NewMaker(abi ABI) *Maker { return &Maker{ABI: abi, kept: make(map[*types.Type]*types.Type)} }

// A convention is a calling convention. It finds the places of one function's arguments, which must be asked for in order, and
// of its result.
type convention interface {
	// begin sets the function. It is called before the other methods.
	begin(f *types.Function)
	// place returns the place of the next argument, or "" if it is not known. pointed says that the place has the address of
	// the argument, not the argument itself.
	place(t *types.Type) (place string, pointed bool)
	// result returns the place of the result at the return of the function, in the same form.
	result(f *types.Function) (place string, pointed bool)
}

// word returns the size of a pointer in bytes.
func (m *Maker) word() int {
	if m.ABI == Cdecl || m.ABI == Win32 {
		return 4
	}
	return 8
}

func (m *Maker) convention() convention {
	switch m.ABI {
	case Cdecl:
		return &cdecl{}
	case Win32:
		return &cdecl{windows: true}
	case Win64:
		return &win64{}
	case AAPCS64:
		return &aapcs64{}
	}
	return &sysv{}
}

// Function makes the plan for a function. If items is not nil, only these values are taken; see [Spec].
func (m *Maker) Function(f *types.Function, items []string) Function {
	plan := planFunction(m.convention(), f, items)
	if m.Texts {
		followCharacters(plan.Enter, m.word())
		followCharacters(plan.Leave, m.word())
		plan.Enter = appendTexts(plan.Enter, f.Parameters, m.word())
		plan.Leave = appendTextsOut(plan.Leave, m.word())
	}
	for _, list := range [][]Value{plan.Enter, plan.Leave} {
		for i := range list {
			list[i].Type = m.keep(list[i].Type, 0)
		}
	}
	return plan
}

// keep returns a copy of a type in which pointers have no target. The bytes of a value do not include what its pointers lead
// to, and with targets a plan would get nearly all types of a program, since types refer to each other.
func (m *Maker) keep(t *types.Type, depth int) *types.Type {
	if t == nil || depth > maxTypeDepth {
		return notKnown
	}
	if k := m.kept[t]; k != nil {
		return k
	}
	k := *t
	m.kept[t] = &k
	if k.Name == "" {
		k.Name = "?"
	}
	switch t.Kind {
	case types.Pointer, types.Reference:
		k.Target = nil
	case types.Array:
		k.Target = m.keep(t.Target, depth+1)
	case types.Struct:
		k.Members = slices.Clone(t.Members)
		for i := range k.Members {
			k.Members[i].Type = m.keep(k.Members[i].Type, depth+1)
		}
	}
	return &k
}

// maxTypeDepth bounds the depth of structs within structs.
const maxTypeDepth = 32

func planFunction(at convention, f *types.Function, items []string) Function {
	plan := Function{RVA: f.RVA, Size: f.Size, Name: f.Name}
	wanted := func(name string) bool {
		return items == nil || slices.Contains(items, "*") || slices.Contains(items, name)
	}
	at.begin(f)
	var out []Value
	places, pointed := placesOf(at, f)
	if s, is := at.(interface{ number(register string) int }); is && f.Free {
		confirm(f.Parameters, places, s.number)
	}
	for i := range f.Parameters {
		p, place := &f.Parameters[i], places[i]
		if p.Unused && !(p.Untold && reads(f, place)) || p.Type != nil && p.Type.Name == types.NullPointer {
			place = "" // the caller need not have put a value there
		}
		if len(plan.Enter) == MaxValues {
			break
		}
		out = outs(out, items, p, place)
		if wanted(p.Name) {
			v := take(p.Name, p.Type, place, pointed[i])
			if p.Length != "" {
				v = counted(f, places, i)
			}
			plan.Enter = append(plan.Enter, v)
		}
		for _, item := range items {
			if place == "" || p.Name == "" || isOut(item) || len(plan.Enter) == MaxValues {
				continue
			}
			if path, ok := strings.CutPrefix(item, p.Name+"->"); ok {
				plan.Enter = append(plan.Enter, member(item, path, p.Type, place))
			} else if item == "*"+p.Name {
				plan.Enter = append(plan.Enter, target(item, p.Type, place))
			}
		}
	}
	if f.Result != nil && wanted(Result) {
		place, pointed := at.result(f)
		if f.Free && !pointed && !returned(f, place) {
			place = "" // it may be left out
		}
		plan.Leave = append(plan.Leave, take(Result, f.Result, place, pointed))
	}
	plan.Leave = keptPlaces(append(plan.Leave, out...))
	return plan
}

// returned reports whether a function that the compiler may have changed certainly returns something in all registers of a place.
func returned(f *types.Function, place string) bool {
	if f.Returned == nil || place == "" {
		return false
	}
	for register := range strings.SplitSeq(place, "+") {
		if !f.Returned(register) {
			return false
		}
	}
	return true
}

// reads reports whether the code of a function shows that all registers of a place are passed.
func reads(f *types.Function, place string) bool {
	if f.Reads == nil || f.Free || f.Altered || place == "" {
		return false
	}
	for register := range strings.SplitSeq(place, "+") {
		if !f.Reads(register) {
			return false
		}
	}
	return true
}

// placesOf returns the places of a function's parameters. A parameter with a declared register takes none of the convention's
// places.
func placesOf(at convention, f *types.Function) (places []string, pointed []bool) {
	places, pointed = make([]string, len(f.Parameters)), make([]bool, len(f.Parameters))
	for i := range f.Parameters {
		if places[i] = f.Parameters[i].Register; places[i] == "" {
			places[i], pointed[i] = at.place(f.Parameters[i].Type)
		}
	}
	return places, pointed
}

// counted takes the characters that parameter i points to. Another parameter says how many there are. If one of the two is not
// in a single register, only the pointer is taken.
func counted(f *types.Function, places []string, i int) Value {
	p := &f.Parameters[i]
	k := slices.IndexFunc(f.Parameters, func(other types.Parameter) bool { return other.Name == p.Length })
	v := Value{Name: p.Name, Place: places[i], Op: Op{Kind: Direct, Size: p.Type.Size}, Type: p.Type}
	switch {
	case k < 0 || places[i] == "":
		v.Place, v.Op = "-", Op{}
	case places[k] != "" && !strings.Contains(places[k]+places[i], "+"):
		v.Place, v.Op = places[k]+"+"+places[i], Op{Kind: View, Max: textBytes, Library: types.Libstdcxx}
	}
	return v
}

// outs appends to list the values of one parameter that items ask for with "@leave".
func outs(list []Value, items []string, p *types.Parameter, place string) []Value {
	for _, item := range items {
		base, ok := strings.CutSuffix(item, atLeave)
		if !ok || p.Name == "" {
			continue
		}
		path, isMember := strings.CutPrefix(base, p.Name+"->")
		var v Value
		switch {
		case isMember && p.Type != nil:
			v = member(item, path, p.Type, place)
		case base == "*" && p.Name != "this" && writable(p.Type):
			v = target(p.Name+atLeave, p.Type, place)
		case (base == p.Name || base == "*"+p.Name) && p.Type != nil:
			v = target(item, p.Type, place)
		default:
			continue
		}
		if place == "" {
			v.Op = Op{}
		}
		if v.Place = "@" + place; v.Op.Kind == Unknown {
			v.Place = "-"
		}
		if len(list) < MaxValues && !slices.ContainsFunc(list, func(o Value) bool { return o.Name == v.Name }) {
			list = append(list, v)
		}
	}
	return list
}

// writable reports whether a function may write to the memory that a parameter leads to, by the parameter's type.
func writable(t *types.Type) bool {
	return t != nil && (t.Kind == types.Pointer || t.Kind == types.Reference) && t.Target != nil && !t.Target.Const && !strings.HasSuffix(t.Target.Name, " const")
}

// keptPlaces makes those values unknown whose pointers the recorder has no room to keep until the call ends.
func keptPlaces(list []Value) []Value {
	var kept []string
	for i := range list {
		v := &list[i]
		if v.Place == "-" || v.Place[0] != '@' || slices.Contains(kept, v.Place) {
			continue
		}
		if len(kept) == maxKept {
			v.Place, v.Op = "-", Op{}
			continue
		}
		kept = append(kept, v.Place)
	}
	return list
}

// notKnown is the type of values whose type debug information does not give.
var notKnown = &types.Type{Kind: types.Opaque, Name: "?"}

// take returns the entry of the plan for a value at a place.
func take(name string, t *types.Type, place string, pointed bool) Value {
	v := Value{Name: name, Place: place, Type: t}
	if name == "" {
		v.Name = noName
	}
	if t == nil {
		v.Type = notKnown
	}
	if place == "" || t == nil {
		v.Place = "-"
		return v
	}
	if name == "this" {
		// The object of a constructor does not exist yet, so only its address is taken.
		v.Op = Op{Kind: Direct, Size: t.Size}
		return v
	}
	to := t
	if t.Kind == types.Reference && t.Target != nil {
		to, pointed = t.Target, true
	} else if t.Kind == types.Pointer && t.Target != nil && isString(t.Target) {
		to, pointed = t.Target, true
	}
	switch {
	case isString(to) && pointed && to.Library != "":
		v.Op = stringOp(to)
		v.Type = named(to, t.Name)
	case isView(to) && to.Library != "":
		v.Op = Op{Kind: View, Max: textBytes, Library: to.Library, At: pointed && strings.HasPrefix(place, "stack")}
		v.Type = named(to, t.Name)
	case t.Kind == types.Text && !isString(t):
		v.Op = Op{Kind: Text, Max: textBytes}
	case pointed && shown(to) && to.Size <= memoryBytes:
		v.Op = Op{Kind: Memory, Size: to.Size}
		v.Type = named(to, t.Name)
	case pointed && t.Kind == types.Reference:
		v.Op = Op{Kind: Direct, Size: t.Size}
	case pointed || t.Size > MaxDirect || t.Size <= 0 || t.Kind == types.Struct && !shown(t):
		v.Place = "-"
	default:
		v.Op = Op{Kind: Direct, Size: min(t.Size, held(place))}
	}
	return v
}

// stringOp returns the operation that takes the text of a std::string whose address is in the place.
func stringOp(t *types.Type) Op {
	return Op{Kind: String, At: t.Begin > 0, Offset: t.Begin, Max: textBytes, Library: t.Library}
}

// held returns how many bytes of a value a place can hold. Further bytes of the value are padding.
func held(place string) int {
	if strings.Contains(place, "stack") || place == "st0" {
		return MaxDirect
	}
	size := 8
	switch place[0] {
	case 'e', 's':
		size = 4
	case 'q':
		size = 16
	}
	return size * (strings.Count(place, "+") + 1)
}

// named returns a copy of a type with another name.
func named(t *types.Type, name string) *types.Type {
	if t.Name == name {
		return t
	}
	c := *t
	c.Name = name
	return &c
}

// shown reports whether the bytes of a type mean something to the user.
func shown(t *types.Type) bool {
	return t.Size > 0 && !inside(t) && t.Kind != types.Opaque && t.Kind != types.Text && (t.Kind != types.Struct || len(t.Members) > 0)
}

// inside reports whether a type is a class of the standard library whose members mean nothing to the user, such as std::vector.
func inside(t *types.Type) bool {
	name, std := strings.CutPrefix(t.Name, "std::")
	if t.Kind != types.Struct || !std {
		return false
	}
	for _, plain := range []string{"pair<", "array<", "complex<", "chrono::", "byte"} {
		if strings.HasPrefix(name, plain) {
			return false
		}
	}
	return true
}

func isString(t *types.Type) bool {
	return t.Kind == types.Text && strings.HasPrefix(t.Name, types.StdString) && !isView(t)
}

func isView(t *types.Type) bool {
	return t.Kind == types.Text && strings.HasPrefix(t.Name, types.StdStringView)
}

// leads reports whether a place has one whole pointer or reference.
func leads(t *types.Type, place string) bool {
	return (!strings.Contains(place, "+") || strings.HasPrefix(place, "stack+")) && (t.Kind == types.Pointer || t.Kind == types.Reference)
}

// target returns the entry of the plan for what a pointer or reference leads to.
func target(name string, t *types.Type, place string) Value {
	v := Value{Name: name, Place: "-", Type: notKnown}
	if !leads(t, place) || t.Target == nil {
		return v
	}
	to := t.Target
	v.Type = to
	op, text := textAt(to, 0)
	switch {
	case isString(to) && to.Library != "":
		v.Op = stringOp(to)
	case text:
		v.Op = op
	case isCharacter(to) && isOut(name):
		v.Op, v.Type = Op{Kind: Text, Max: textBytes}, t
	case to.Kind == types.Pointer && to.Target != nil && isCharacter(to.Target) && isOut(name):
		v.Op = Op{Kind: Text, At: true, Max: textBytes}
	case shown(to) && to.Size <= MaxMemory:
		v.Op = Op{Kind: Memory, Size: to.Size}
	default:
		return v
	}
	v.Place = place
	return v
}

// member returns the entry of the plan for a member of what a pointer or reference leads to.
func member(name, path string, t *types.Type, place string) Value {
	v := Value{Name: name, Place: "-", Type: notKnown}
	if !leads(t, place) {
		return v
	}
	of, offset := t.Target, 0
	for word := range strings.SplitSeq(path, ".") {
		m := findMember(of, word, 0)
		if m == nil || m.Bits > 0 {
			return v
		}
		of, offset = m.Type, offset+m.Offset
	}
	if of == nil {
		return v
	}
	if op, ok := textAt(of, offset); ok {
		v.Place, v.Type, v.Op = place, of, op
		return v
	}
	if of.Size <= 0 || of.Size > MaxMemory || of.Kind == types.Text {
		return v
	}
	v.Place, v.Type, v.Op = place, of, Op{Kind: Memory, Offset: offset, Size: of.Size}
	return v
}

// findMember returns the member with a name, or nil. It also searches base classes and members without a name.
func findMember(t *types.Type, name string, depth int) *types.Member {
	if t == nil || depth > 8 {
		return nil
	}
	for i := range t.Members {
		m := t.Members[i]
		if m.Name == name && m.Type != nil {
			return &m
		}
	}
	for i := range t.Members {
		m := t.Members[i]
		if m.Name == types.Base || m.Name == "" {
			if found := findMember(m.Type, name, depth+1); found != nil {
				found.Offset += m.Offset
				return found
			}
		}
	}
	return nil
}
