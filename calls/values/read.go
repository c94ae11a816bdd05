package values

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"io"
	"slices"
	"strconv"
	"strings"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols/types"
)

// Read reads a plan of at most MaxPlan bytes. If an error belongs to a line, it names the line.
func Read(r io.Reader) (*Plan, error) {
	in := planReader{plan: &Plan{}, byID: map[int]*types.Type{}, defined: map[int]bool{}}
	limited := &io.LimitedReader{R: r, N: MaxPlan + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, 64<<10)
	for n := 1; lines.Scan(); n++ {
		if err := in.line(strings.TrimSuffix(lines.Text(), "\r")); err != nil {
			return nil, message.Errorf("values plan: line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, message.Errorf("values plan: %w", err)
	}
	if limited.N <= 0 {
		return nil, message.Errorf("values plan: longer than %d MiB", MaxPlan>>20)
	}
	if err := in.end(); err != nil {
		return nil, message.Errorf("values plan: %w", err)
	}
	return in.plan, nil
}

// A planReader reads the lines of a plan, one by one.
type planReader struct {
	plan      *Plan
	begun     bool
	functions int
	parts     int // members and enumerators
	byID      map[int]*types.Type
	defined   map[int]bool
	// hooked says that value lines belong to a hook of the last function. hook has the values of that hook so far.
	hooked bool
	hook   []Value
	hooks  int // in the whole plan
}

var (
	errNumber = message.New("a number is missing, or is none that can be")
	errWord   = message.New("not a word that is known here")
	errBegin  = message.New("the first line is not \"lpvalues 1\"")
	errOrder  = message.New("this line cannot stand here")
	errMany   = message.New("more than a plan can have")
)

func (in *planReader) line(text string) error {
	if !in.begun {
		if text != "lpvalues 1" {
			return errBegin
		}
		in.begun = true
		return nil
	}
	if strings.HasPrefix(text, bySignature) && len(in.plan.Modules) > 0 {
		in.plan.Modules[len(in.plan.Modules)-1].Signatures = true
	}
	if text == "" || text[0] == '#' {
		return nil
	}
	f := fields{rest: text}
	switch word := f.word(); word {
	case "machine":
		in.plan.Machine = Machine(f.name())
		return among(in.plan.Machine, X8664, X86, ARM64)
	case "abi":
		in.plan.ABI = ABI(f.name())
		return among(in.plan.ABI, SysV, Win64, Win32, Cdecl, AAPCS64)
	case "module":
		if err := in.endHook(); err != nil {
			return err
		}
		in.plan.Modules = append(in.plan.Modules, Module{Name: f.name()})
		return f.err
	case "identity":
		return in.identity(&f)
	case "type":
		return in.typeLine(&f)
	case "member":
		return in.member(&f)
	case "enumerator":
		return in.enumerator(&f)
	case "function":
		return in.function(&f)
	case "hook":
		return in.hookLine(&f)
	case "keep":
		return in.keep(&f)
	case "enter", "leave":
		return in.value(word, &f)
	}
	return errWord
}

// among returns an error if a word is not one of those allowed.
func among[T comparable](got T, list ...T) error {
	if !slices.Contains(list, got) {
		return errWord
	}
	return nil
}

// module returns the module of the current line: the last one.
func (in *planReader) module() (*Module, error) {
	if len(in.plan.Modules) == 0 {
		return nil, errOrder
	}
	return &in.plan.Modules[len(in.plan.Modules)-1], nil
}

func (in *planReader) identity(f *fields) error {
	m, err := in.module()
	if err != nil {
		return err
	}
	switch kind, text := f.word(), f.name(); kind {
	case "build-id":
		b, err := hex.DecodeString(text)
		if err != nil || len(b) == 0 || len(b) > modules.MaxBuildID {
			return errNumber
		}
		m.Identity.BuildID = string(b)
	case "pdb":
		if len(text) < 33 || len(text) > 40 {
			return errNumber
		}
		age, err := strconv.ParseUint(text[32:], 16, 32)
		if err != nil {
			return errNumber
		}
		m.Identity.Age = uint32(age)
		if m.Identity.PDB, err = modules.ParseGUID(text[:32]); err != nil {
			return err
		}
	case "pe":
		v, err := strconv.ParseUint(text, 16, 64)
		if err != nil || len(text) != 16 {
			return errNumber
		}
		m.Identity.Timestamp, m.Identity.ImageSize = uint32(v>>32), uint32(v)
	case "none":
	default:
		return errWord
	}
	return nil
}

// typeOf returns the type with an ID, or nil for ID 0. The type may be defined later in the plan.
func (in *planReader) typeOf(id int) (*types.Type, error) {
	if id == 0 {
		return nil, nil
	}
	t := in.byID[id]
	if t == nil {
		if len(in.byID) >= maxTypes {
			return nil, errMany
		}
		t = &types.Type{}
		in.byID[id] = t
	}
	return t, nil
}

func (in *planReader) typeLine(f *fields) error {
	id, word := f.number(1, maxTypes), f.word()
	size := f.number(0, maxSize)
	kind, target, count := types.Opaque, 0, 0
	for k, w := range kindWords {
		if w == word {
			kind = k
		}
	}
	switch kind {
	case types.Opaque:
		if word != kindWords[types.Opaque] {
			return errWord
		}
	case types.Pointer, types.Reference:
		target = f.number(0, maxTypes)
	case types.Array:
		count, target = f.number(0, maxSize), f.number(1, maxTypes)
	}
	name := f.name()
	if f.err != nil {
		return f.err
	}
	if in.defined[id] {
		return errOrder
	}
	t, err := in.typeOf(id)
	if err != nil {
		return err
	}
	in.defined[id] = true
	t.Kind, t.Size, t.Count, t.Name = kind, size, count, name
	t.Target, err = in.typeOf(target)
	return err
}

// of returns the type that a line extends. It must already be defined, and its kind must be one of kinds.
func (in *planReader) of(f *fields, kinds ...types.Kind) (*types.Type, error) {
	id := f.number(1, maxTypes)
	if !in.defined[id] || !slices.Contains(kinds, in.byID[id].Kind) {
		return nil, errOrder
	}
	if in.parts++; in.parts > maxMembers {
		return nil, errMany
	}
	return in.byID[id], nil
}

func (in *planReader) member(f *fields) error {
	t, err := in.of(f, types.Struct)
	if err != nil {
		return err
	}
	var m types.Member
	place := strings.Split(f.word(), ":")
	numbers := make([]int, len(place))
	for i, p := range place {
		if numbers[i], err = strconv.Atoi(p); err != nil || numbers[i] < 0 || numbers[i] > maxSize {
			return errNumber
		}
	}
	switch {
	case len(numbers) == 3 && numbers[1] < 64 && numbers[2] >= 1 && numbers[2] <= 64:
		m.Bit, m.Bits = numbers[1], numbers[2]
	case len(numbers) != 1:
		return errNumber
	}
	m.Offset = numbers[0]
	id := f.number(1, maxTypes)
	m.Name = f.name()
	if f.err != nil {
		return f.err
	}
	if m.Type, err = in.typeOf(id); err != nil {
		return err
	}
	t.Members = append(t.Members, m)
	return nil
}

func (in *planReader) enumerator(f *fields) error {
	t, err := in.of(f, types.Enum, types.Flags)
	if err != nil {
		return err
	}
	value, err := strconv.ParseInt(f.word(), 10, 64)
	if err != nil {
		return errNumber
	}
	t.Enumerators = append(t.Enumerators, types.Enumerator{Value: value, Name: f.name()})
	return f.err
}

func (in *planReader) function(f *fields) error {
	m, err := in.module()
	if err == nil {
		err = in.endHook()
	}
	if err != nil {
		return err
	}
	if in.functions++; in.functions > maxFunctions {
		return errMany
	}
	rva, err1 := strconv.ParseUint(f.word(), 16, 63)
	size, err2 := strconv.ParseUint(f.word(), 16, 63)
	if err1 != nil || err2 != nil {
		return errNumber
	}
	m.Functions = append(m.Functions, Function{RVA: rva, Size: size, Name: f.name()})
	return f.err
}

// hookLine reads the first line of a hook.
func (in *planReader) hookLine(f *fields) error {
	m, err := in.module()
	if err == nil {
		err = in.endHook()
	}
	switch {
	case err != nil:
		return err
	case len(m.Functions) == 0:
		return errOrder
	}
	if in.hooks++; in.hooks > maxFunctions {
		return errMany
	}
	rva, err := strconv.ParseUint(f.word(), 16, 63)
	if err != nil {
		return errNumber
	}
	function := &m.Functions[len(m.Functions)-1]
	function.Hooks = append(function.Hooks, Hook{RVA: rva})
	in.hooked = true
	return nil
}

// keep reads the line of a pointer that a hook keeps for the return of the function.
func (in *planReader) keep(f *fields) error {
	m, err := in.module()
	if err != nil {
		return err
	}
	if !in.hooked {
		return errOrder
	}
	function := &m.Functions[len(m.Functions)-1]
	h := &function.Hooks[len(function.Hooks)-1]
	place := f.word()
	switch {
	case h.Leaves:
		return errOrder
	case place == "" || strings.ContainsAny(place, "@+="):
		return errWord
	case len(h.Keeps) == maxKept:
		return errMany
	}
	h.Keeps = append(h.Keeps, place)
	return nil
}

// kept reports whether a hook of the function keeps the pointer with the number place.
func (f *Function) kept(place string) bool {
	n, err := strconv.ParseUint(place, 10, 8)
	return err == nil && slices.ContainsFunc(f.Hooks, func(h Hook) bool { return n < uint64(len(h.Keeps)) })
}

// endHook checks the values of a hook after its last line. All hooks of a function that take arguments must take the same ones,
// and so must those that take results, because a record does not tell which hook wrote it.
func (in *planReader) endHook() error {
	if !in.hooked {
		return nil
	}
	list := in.hook
	in.hooked, in.hook = false, nil
	functions := in.plan.Modules[len(in.plan.Modules)-1].Functions
	function := &functions[len(functions)-1]
	h := &function.Hooks[len(function.Hooks)-1]
	taken := &function.Enter
	if h.Leaves {
		taken = &function.Leave
	}
	if len(*taken) == 0 {
		*taken = list
		return nil
	}
	same := func(a, b Value) bool { return a.Name == b.Name && a.Op == b.Op && a.Type == b.Type }
	if !slices.EqualFunc(*taken, list, same) {
		return message.New("the hooks of a function do not take the same")
	}
	return nil
}

// value reads the line of a value. end is its first word, "enter" or "leave".
func (in *planReader) value(end string, f *fields) error {
	m, err := in.module()
	if err != nil {
		return err
	}
	if len(m.Functions) == 0 {
		return errOrder
	}
	function := &m.Functions[len(m.Functions)-1]
	v := Value{Place: f.word()}
	if v.Op, err = readOp(f); err != nil {
		return err
	}
	id := f.number(1, maxTypes)
	v.Name = f.name()
	if f.err != nil {
		return f.err
	}
	if v.Type, err = in.typeOf(id); err != nil {
		return err
	}
	list := &function.Enter
	if end == "leave" {
		list = &function.Leave
	}
	if in.hooked {
		list = &in.hook
		h := &function.Hooks[len(function.Hooks)-1]
		if len(in.hook) == 0 {
			h.Leaves = end == "leave"
		}
		if h.Leaves != (end == "leave") || h.Leaves && len(h.Keeps) > 0 {
			return errOrder
		}
		if at, follows := strings.CutPrefix(v.Place, "@"); follows && (!h.Leaves || !function.kept(at)) {
			return errOrder
		}
		h.Places = append(h.Places, v.Place)
	}
	if len(*list) >= MaxValues {
		return errMany
	}
	*list = append(*list, v)
	return nil
}

// readOp reads an operation, as opText writes it.
func readOp(f *fields) (Op, error) {
	var o Op
	switch f.word() {
	case "unknown":
	case "value":
		o = Op{Kind: Direct, Size: f.number(1, MaxDirect)}
	case "text":
		o = Op{Kind: Text, Max: f.number(1, MaxText)}
	case "memory":
		o = Op{Kind: Memory, Offset: f.number(0, maxSize), Size: f.number(1, MaxMemory)}
	case "string":
		o = Op{Kind: String, Library: types.Library(f.word()), Max: f.number(1, MaxText)}
	case "view":
		o = Op{Kind: View, Library: types.Library(f.word()), Max: f.number(1, MaxText)}
	case "text-at":
		o = Op{Kind: Text, At: true, Offset: f.number(0, maxSize), Max: f.number(1, MaxText)}
	case "string-at":
		o = Op{Kind: String, At: true, Offset: f.number(0, maxSize), Library: types.Library(f.word()), Max: f.number(1, MaxText)}
	case "view-at":
		o = Op{Kind: View, At: true, Offset: f.number(0, maxSize), Library: types.Library(f.word()), Max: f.number(1, MaxText)}
	default:
		return o, errWord
	}
	switch o.Kind {
	case String:
		if err := among(o.Library, types.Libstdcxx, types.LibstdcxxCOW, types.Libcxx, types.LibcxxAlternate, types.MSVC); err != nil {
			return o, err
		}
	case View:
		if err := among(o.Library, types.Libstdcxx, types.Libcxx, types.MSVC); err != nil {
			return o, err
		}
	}
	return o, f.err
}

// end checks the plan after its last line.
func (in *planReader) end() error {
	err := in.endHook()
	switch {
	case !in.begun:
		return errBegin
	case in.plan.Machine == "" || in.plan.ABI == "":
		return message.New("it does not say the machine and the calling convention")
	case err != nil:
		return err
	}
	for id := range in.byID {
		if !in.defined[id] {
			return message.Errorf("type %d is used and not given", id)
		}
	}
	for i := range in.plan.Modules {
		m := &in.plan.Modules[i]
		slices.SortStableFunc(m.Functions, func(a, b Function) int { return cmp.Compare(a.RVA, b.RVA) })
		for k := 1; k < len(m.Functions); k++ {
			if before := m.Functions[k-1]; m.Functions[k].RVA-before.RVA < before.Size {
				return message.Errorf("functions %q and %q of %s overlap", before.Name, m.Functions[k].Name, m.Name)
			}
		}
	}
	return nil
}

// fields splits a line into words. err is the first error.
type fields struct {
	rest string
	err  error
}

// word returns the next word.
func (f *fields) word() string {
	word, rest, _ := strings.Cut(f.rest, " ")
	f.rest = rest
	return word
}

// name returns the rest of the line.
func (f *fields) name() string {
	rest := f.rest
	f.rest = ""
	return rest
}

// number returns the next word as a number.
func (f *fields) number(least, most int) int {
	n, err := strconv.Atoi(f.word())
	if err != nil || n < least || n > most {
		if f.err == nil {
			f.err = errNumber
		}
		return least
	}
	return n
}
