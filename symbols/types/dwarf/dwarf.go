// Package dwarf reads the parameters and results of functions out of DWARF, versions 2 to 5,
// with their types.
//
// Its input is an ELF or PE image with debug information of its own or the debug file of one,
// its output [types.Function]. It reads all units once, and of each only the types that
// its chosen functions need. Where DWARF says that parameters are is not used, because that holds in the
// function's body. At its entry the calling convention holds. The x86 is an exception, since its functions have
// several conventions (entry.go), and so are functions that gcc made of others (clone.go).
package dwarf

import (
	"cmp"
	"context"
	"debug/dwarf"
	"encoding/binary"
	"strings"

	"logparser/message"
	"logparser/symbols/demangle"
	"logparser/symbols/image"
	"logparser/symbols/types"
)

// ErrNone says that an image has no debug information.
var ErrNone = message.New("it has no DWARF debug information (build with -g)")

// Bounds of what is read.
const (
	maxFunctions  = 1_000_000
	maxParameters = 250
	maxDepth      = 64 // of types within each other, and of DIEs
	maxMembers    = 4096
	maxSection    = 1 << 30 // bytes
)

// names of the sections that debug/dwarf takes when it is made, and of those that are added.
var (
	mainSections  = [...]string{"abbrev", "aranges", "frame", "info", "line", "pubnames", "ranges", "str"}
	addedSections = [...]string{"addr", "line_str", "loclists", "rnglists", "str_offsets", "types"}
)

// Functions returns the functions of an image that have code and whose readable name chosen
// accepts, in the order in which they are found.
func Functions(ctx context.Context, im *image.Image, chosen func(name string) bool) ([]types.Function, error) {
	data, info, err := open(im)
	if err != nil {
		return nil, err
	}
	r := &reader{im: im, data: data, chosen: chosen, readable: make(map[string]string)}
	headers := unitHeaders(info, im.Order)
	in := data.Reader()
	for len(r.functions) < maxFunctions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unit, err := in.Next()
		if err != nil {
			return nil, message.Errorf("the debug information is damaged: %w", err)
		}
		if unit == nil {
			break
		}
		if unit.Tag != dwarf.TagCompileUnit && unit.Tag != dwarf.TagPartialUnit {
			in.SkipChildren()
			continue
		}
		if language, told := unit.Val(dwarf.AttrLanguage).(int64); told && !languages[language] {
			in.SkipChildren()
			continue
		}
		if !unit.Children {
			continue
		}
		for len(headers) > 1 && headers[1].at < unit.Offset {
			headers = headers[1:]
		}
		r.version = 0
		if len(headers) > 0 {
			r.version = headers[0].version
		}
		producer, _ := unit.Val(dwarf.AttrProducer).(string)
		r.gnu = strings.HasPrefix(producer, "GNU ")
		r.optimized = strings.Contains(producer, " -O") && !strings.Contains(producer, " -O0") || unit.Val(attrOptimized) == true
		version := clangVersion(producer)
		if r.compiler = ""; !r.gnu && version == 0 {
			r.compiler = cmp.Or(producer, "?")
		}
		r.unmarked, r.splits = !r.gnu && version < firstMarking, !r.gnu && version < firstInt128
		r.staged = hasStages(producer)
		r.base, r.based = unit.Val(dwarf.AttrLowpc).(uint64)
		if err := r.unit(in); err != nil {
			return nil, message.Errorf("the debug information is damaged: %w", err)
		}
	}
	return r.functions, nil
}

// languages are those of C and C++, by their numbers in DWARF: others pass arguments in
// ways of their own.
var languages = map[int64]bool{
	0x01: true, 0x02: true, 0x0c: true, 0x1d: true, 0x2c: true, 0x3e: true, // C
	0x04: true, 0x19: true, 0x1a: true, 0x21: true, 0x2a: true, 0x2b: true, 0x3a: true, // C++
	0x10: true, 0x11: true, // Objective-C
}

// open makes a reader of an image's DWARF.
func open(im *image.Image) (data *dwarf.Data, info []byte, err error) {
	get := func(name string) ([]byte, error) {
		s := im.Debug(name)
		if s == nil {
			return nil, nil
		}
		c, err := s.Content()
		if err != nil {
			return nil, err
		}
		if c.Size() > maxSection {
			return nil, message.Errorf("the section .debug_%s has %d bytes, more than %d", name, c.Size(), maxSection)
		}
		return c.Bytes(0, c.Size())
	}
	var list [len(mainSections)][]byte
	for i, name := range mainSections {
		if list[i], err = get(name); err != nil {
			return nil, nil, err
		}
	}
	if len(list[3]) == 0 || len(list[0]) == 0 {
		return nil, nil, ErrNone
	}
	data, err = dwarf.New(list[0], list[1], list[2], list[3], list[4], list[5], list[6], list[7])
	if err != nil {
		return nil, nil, message.Errorf("the debug information is damaged: %w", err)
	}
	for _, name := range addedSections {
		b, err := get(name)
		if err != nil {
			return nil, nil, err
		}
		if len(b) == 0 {
			continue
		}
		if name == "types" {
			err = data.AddTypes("types-0", b)
		} else {
			err = data.AddSection(".debug_"+name, b)
		}
		if err != nil {
			return nil, nil, message.Errorf("the debug information is damaged: %w", err)
		}
	}
	return data, list[3], nil
}

// A unitHeader says where a unit begins in .debug_info, and its version.
type unitHeader struct {
	at      dwarf.Offset
	version uint16
}

// unitHeaders reads the headers of all units, as far as they are whole.
func unitHeaders(info []byte, order binary.ByteOrder) (list []unitHeader) {
	for at := uint64(0); at+12 <= uint64(len(info)); {
		length, head := uint64(order.Uint32(info[at:])), uint64(4)
		if length == 0xffffffff {
			length, head = order.Uint64(info[at+4:]), 12
		}
		if length < 2 || length > uint64(len(info))-at-head {
			break
		}
		list = append(list, unitHeader{dwarf.Offset(at), order.Uint16(info[at+head:])})
		at += head + length
	}
	return list
}

// A reader reads units.
type reader struct {
	im        *image.Image
	data      *dwarf.Data
	chosen    func(name string) bool
	readable  map[string]string // by linkage name
	functions []types.Function

	// version is the unit's, 0 where it is not known; gnu says that gcc made it.
	version uint16
	gnu     bool
	// unmarked says that the compiler, which is not gcc, may change what local functions take without a word.
	unmarked bool
	// compiler is [types.Function.Compiler].
	compiler string
	// splits is [types.Function.SplitsInt128].
	splits bool
	// optimized says that it is known to be optimized.
	optimized bool
	// staged says that the views of location lists tell the states before a statement from those behind it.
	staged bool
	// base is the address that location lists of the unit count from; based says that the unit has one.
	base  uint64
	based bool
	// lists is the section of location lists, once it was asked for.
	lists map[string][]byte
	// listed is how many entries of location lists were read.
	listed int
	// Of the unit: scopes has the names of the scopes of types, built the types by offset.
	scopes map[dwarf.Offset]string
	built  map[dwarf.Offset]*types.Type
	// unfinished are classes whose members are being read.
	// and the copies of them that were made meanwhile, under other names.
	unfinished map[*types.Type][]*types.Type
	seen       []dwarf.Offset // concrete functions
	seek       *dwarf.Reader
}

// attributes of entries that debug/dwarf has no name for.
const (
	attrLinkage   = dwarf.AttrLinkageName
	attrMIPS      = dwarf.Attr(0x2007)
	attrVector    = dwarf.Attr(0x2107)
	attrAlignment = dwarf.Attr(0x88)
	// tagParameterPack has the parameters that stand for "T... t".
	tagParameterPack  = dwarf.Tag(0x4108)
	attrOptimized     = dwarf.Attr(0x3fe1) // DW_AT_APPLE_optimized
	attrExportSymbols = dwarf.Attr(0x89)
	tagTemplateAlias  = dwarf.Tag(0x43)
	ccByReference     = 4
	ccByValue         = 5
	ccNone            = 3    // the convention is not the machine's
	ccUser            = 0x40 // from here on conventions of compilers: the other system's, or of vectors
	encodingUTF       = 0x10
	encodingFloat     = 0x04
	encodingSigned    = 0x05
)

// unit reads the entries of a unit, behind whose first one in stands.
func (r *reader) unit(in *dwarf.Reader) error {
	r.scopes, r.built, r.seen = make(map[dwarf.Offset]string), make(map[dwarf.Offset]*types.Type), r.seen[:0]
	r.seek, r.unfinished = r.data.Reader(), make(map[*types.Type][]*types.Type)
	var scope []string
	for depth := 1; depth > 0; {
		e, err := in.Next()
		if err != nil {
			return err
		}
		if e == nil {
			break
		}
		if e.Tag == 0 {
			depth--
			if len(scope) > 0 {
				scope = scope[:len(scope)-1]
			}
			continue
		}
		around := ""
		if len(scope) > 0 {
			around = scope[len(scope)-1]
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		inner := around
		switch e.Tag {
		case dwarf.TagNamespace, dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
			if around != "" {
				r.scopes[e.Offset] = around
			}
			switch {
			case name == "" && e.Tag == dwarf.TagNamespace:
				inner = join(around, "(anonymous namespace)")
			case around == "std" && name != libstdcxxNamespace && e.Val(attrExportSymbols) == true:
				// Libraries choose the name of this inline namespace when they are built.
			case name != "":
				inner = join(around, name)
			}
		case dwarf.TagEnumerationType, dwarf.TagTypedef:
			if around != "" {
				r.scopes[e.Offset] = around
			}
		case dwarf.TagSubprogram:
			if e.Val(dwarf.AttrLowpc) != nil || e.Val(dwarf.AttrRanges) != nil {
				r.seen = append(r.seen, e.Offset)
			}
			if around != "" {
				r.scopes[e.Offset] = around
			}
			inner = ""
		}
		if e.Children {
			if depth++; depth > 1000 {
				return message.New("entries lie too deep within each other")
			}
			scope = append(scope, inner)
		}
	}
	for _, at := range r.seen {
		if len(r.functions) >= maxFunctions {
			break
		}
		if err := r.function(at); err != nil {
			return err
		}
	}
	return nil
}

func join(scope, name string) string {
	if scope == "" {
		return name
	}
	return scope + "::" + name
}

// entry reads the entry at an offset, and its children that are of some tags.
func (r *reader) entry(at dwarf.Offset) (*dwarf.Entry, error) {
	r.seek.Seek(at)
	return r.seek.Next()
}

// children returns the children of the entry that was read last; of a parameter pack its parameters.
func (r *reader) children(of *dwarf.Entry, most int) (list []*dwarf.Entry, err error) {
	if !of.Children {
		return nil, nil
	}
	inPack := false
	for {
		e, err := r.seek.Next()
		if err == nil && e != nil && e.Tag == 0 && inPack {
			inPack = false
			continue
		}
		if err != nil || e == nil || e.Tag == 0 {
			return list, err
		}
		if e.Tag == tagParameterPack && !inPack {
			inPack = e.Children
			continue
		}
		if len(list) < most {
			list = append(list, e)
		}
		r.seek.SkipChildren()
	}
}

// origin follows an entry to those that it is made of, the nearest first.
func (r *reader) origin(e *dwarf.Entry) []*dwarf.Entry {
	list := []*dwarf.Entry{e}
	for len(list) < 4 {
		last := list[len(list)-1]
		at, ok := last.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if at, ok = last.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				break
			}
		}
		next, err := r.entry(at)
		if err != nil || next == nil {
			break
		}
		list = append(list, next)
	}
	return list
}

// find returns an attribute of the first entry that has it.
func find(list []*dwarf.Entry, a dwarf.Attr) any {
	for _, e := range list {
		if v := e.Val(a); v != nil {
			return v
		}
	}
	return nil
}

// function reads a function that has code.
func (r *reader) function(at dwarf.Offset) error {
	e, err := r.entry(at)
	if err != nil || e == nil {
		return err
	}
	children, err := r.children(e, maxParameters)
	if err != nil {
		return err
	}
	low, high, err := r.begin(e)
	if err != nil || low < r.im.Base || low == 0 {
		return nil // removed by the linker, or not known
	}
	f := types.Function{RVA: low - r.im.Base, Size: high - low}
	if f.Size == 0 || f.RVA+f.Size > r.im.Size || f.RVA+f.Size < f.RVA {
		return nil
	}
	list := r.origin(e)
	name, _ := find(list, dwarf.AttrName).(string)
	linkage, _ := find(list, attrLinkage).(string)
	if linkage == "" {
		linkage, _ = find(list, attrMIPS).(string)
	}
	f.Linkage = linkage
	if linkage == "" {
		f.Linkage = name
	}
	f.Name = r.name(linkage, list)
	if f.Name == "" || !r.chosen(f.Name) {
		return nil
	}
	external, _ := find(list, dwarf.AttrExternal).(bool)
	f.Local = !external
	if cc, _ := find(list, dwarf.AttrCalling).(int64); cc == ccNone || cc >= ccUser {
		f.Altered = true
		f.Foreign = cc != ccNone
	}
	if t, ok := find(list, dwarf.AttrType).(dwarf.Offset); ok {
		f.Result = r.typeAt(t, 0)
	}
	_, made := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
	f.Altered = made && inOrder(children) || f.Altered
	if made {
		children = withoutCopies(children)
	}
	framed := !r.optimized && allInFrame(children)
	f.SplitsInt128, f.Compiler = r.splits, r.compiler
	f.Free = f.Local && r.unmarked && !framed
	switch {
	case framed:
	case r.gnu:
		f.Omits = types.OmitMemory
	default:
		f.Omits = types.OmitArguments
	}
	own := r.parameters(&f, e, children, low, made)
	// If there are fewer than were declared, the compiler has removed parameters.
	for _, declared := range list[1:] {
		again, err := r.entry(declared.Offset)
		if err != nil || again == nil {
			break
		}
		of, err := r.children(again, maxParameters)
		if err != nil {
			break
		}
		n := 0
		for _, c := range of {
			if c.Tag == dwarf.TagFormalParameter && !added(r.origin(c)) {
				n++
			} else if c.Tag == dwarf.TagUnspecifiedParameters {
				f.Variadic = true
			}
		}
		f.Altered = f.Altered || n != own
	}
	// clang before version 15 leaves out parameters that are passed by their address and not used.
	if n, told := declaredParameters(linkage); told && !r.gnu && n != own {
		f.Altered = true
	}
	r.functions = append(r.functions, f)
	return nil
}

// parameters reads the parameters of a function that begins at low, and returns how many of them are in the source. made says that the compiler
// has made it of another.
func (r *reader) parameters(f *types.Function, e *dwarf.Entry, children []*dwarf.Entry, low uint64, made bool) (own int) {
	for _, c := range children {
		switch c.Tag {
		case dwarf.TagFormalParameter:
			if !added(r.origin(c)) {
				own++
			}
			p := r.parameter(c)
			// For a parameter that the function does not use, callers compiled by LLVM may pass anything.
			p.Unused = f.Omits == types.OmitArguments && c.Val(dwarf.AttrLocation) == nil
			p.Untold = p.Unused
			switch {
			case r.im.Machine == "x86":
				p.Entry = r.entryOf(e, c, low)
			case r.im.Machine == "x86-64" && made && f.Size <= mostOfClone:
				p.Entry = r.cloneEntry(e, c, low)
			case f.Free:
				p.Registers = r.registersAt(c, low+r.hookAt(f.RVA))
			}
			f.Parameters = append(f.Parameters, p)
		case dwarf.TagUnspecifiedParameters:
			f.Variadic = true
		}
	}
	switch {
	case made:
		if r.im.Machine == "x86-64" {
			withoutTwice(f.Parameters)
		}
	case r.im.Machine == "x86":
		r.findSpilled(f, low)
	}
	return own
}

// allInFrame reports whether all parameters lie in the function's frame all the time, as they do in code that is not optimized. In
// optimized code those do that are passed on the stack.
func allInFrame(children []*dwarf.Entry) bool {
	some := false
	for _, c := range children {
		if c.Tag != dwarf.TagFormalParameter {
			continue
		}
		where, ok := c.Val(dwarf.AttrLocation).([]byte)
		if !ok || len(where) == 0 || where[0] != opFrameBase && (where[0] < opBreg0 || where[0] > opBreg31) {
			return false
		}
		some = true
	}
	return some
}

// begin returns the addresses of the part with which a function begins: the compiler may have put code that
// seldom runs elsewhere.
func (r *reader) begin(e *dwarf.Entry) (low, high uint64, err error) {
	list, err := r.data.Ranges(e)
	if err != nil || len(list) == 0 {
		return 0, 0, err
	}
	at, told := e.Val(dwarf.AttrEntrypc).(uint64)
	for _, part := range list {
		if !told || part[0] == at {
			return part[0], part[1], nil
		}
	}
	return list[0][0], list[0][1], nil
}

// added reports whether the compiler has added a parameter that is not in the source: the object of a method,
// or one of those that constructors of classes with virtual bases have.
func added(list []*dwarf.Entry) bool {
	artificial, _ := find(list, dwarf.AttrArtificial).(bool)
	return artificial
}

// name returns a function's readable name.
func (r *reader) name(linkage string, list []*dwarf.Entry) string {
	if linkage != "" {
		readable, ok := r.readable[linkage]
		if !ok {
			readable = withoutResult(demangle.Forms(linkage))
			r.readable[linkage] = readable
		}
		return readable
	}
	name, _ := find(list, dwarf.AttrName).(string)
	for _, e := range list {
		if scope := r.scopes[e.Offset]; scope != "" {
			return join(scope, name)
		}
	}
	return name
}

// withoutResult takes the type of the result off a function's full name. Only names of templates have one. It
// stands before the short name, which the full name contains.
func withoutResult(short, full string) string {
	if i := strings.Index(full, short); i > 0 {
		return full[i:]
	}
	return full
}

func (r *reader) parameter(e *dwarf.Entry) types.Parameter {
	list := r.origin(e)
	var p types.Parameter
	p.Name, _ = find(list, dwarf.AttrName).(string)
	if at, ok := find(list, dwarf.AttrType).(dwarf.Offset); ok {
		p.Type = r.typeAt(at, 0)
	}
	if artificial, _ := find(list, dwarf.AttrArtificial).(bool); artificial && p.Name == "" {
		p.Name = "this"
	}
	return p
}
