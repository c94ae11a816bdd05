// Package pdb reads the parameters and results of functions out of PDB files, with their types.
//
// Its input is a table of symbols/pdb and the image, its output [types.Function]. Types come from the type stream (TPI): what a
// procedure takes and returns is in its type, the names of its parameters are in the records of its module. Those say
// of some parameters, too, where they are at the procedure's first byte; that decides what its type leaves open.
//
// Names that follow are those of Microsoft's cvinfo.h (LF_…, S_…), as in symbols/pdb. It is for images for x86-64.
//
// Files are not trusted: a class has at most maxMembers members, all together maxMembersInAll, types lie at most
// maxDepth deep within each other, and each is read once.
package pdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/maphash"
	"strings"

	"logparser/symbols/image"
	"logparser/symbols/pdb"
	"logparser/symbols/types"
)

var le = binary.LittleEndian

// Bounds of what is read.
const (
	maxFunctions    = 1_000_000
	maxParameters   = 250
	maxDepth        = 64 // of types within each other
	maxMembers      = 4096
	maxMembersInAll = 1 << 22
	maxTypes        = 1 << 24
	maxSize         = 1 << 30 // bytes
	maxAnew         = 64      // how often the depth is counted anew, within each other
	maxLists        = 1 << 29 // bytes of lists of fields
	costOfList      = 64      // bytes that a list counts for besides its own
	maxName         = 1 << 12 // bytes of the name of a type that is made of another one's
	maxNames        = 1 << 28 // bytes of all of these
)

// Numbers of languages (CV_CFL_LANG).
const (
	languageC   = 0
	languageCpp = 1
)

// optionLTCG says in the flags of a module's compiler that code was made when the program was linked.
const optionLTCG = 1 << 2

// A reader reads types, and functions by them.
type reader struct {
	table *pdb.Table
	im    *image.Image
	seed  maphash.Seed
	// definitions are the classes, unions and enumerations that are not only declared, by the hash of their names.
	definitions map[uint64]uint32
	// ambiguous are those hashes whose name several definitions have: each file of C may have its own, and some of C++ do.
	ambiguous map[uint64]bool
	// resolved are the indexes of the definitions of declarations that were asked for.
	resolved map[uint32]uint32
	// microsoft and itanium count classes by whose names they have: those of Microsoft's C++ ABI, and of the other one.
	microsoft, itanium int

	// passed says how arguments of small classes are seen to be passed, by the definition's index.
	passed map[uint32]passing

	built   map[uint32]*types.Type
	classes map[uint32]*class // by the definition's index
	results map[uint32]answer // of resultByAddress
	left    int               // members
	// leftOfLists and leftOfNames are bytes; anew is how often the depth is counted anew at the moment.
	leftOfLists, leftOfNames, anew int
	// unfinished are classes whose members are being read, and their copies that are constant or volatile; copies are the
	// latter, by the class.
	unfinished map[*types.Type]origin
	copies     map[*types.Type][]*types.Type
}

// An origin is what a copy was made of, and what stands behind the name.
type origin struct {
	of    *types.Type
	words string
}

// A passing is a set of ways in which arguments of a class are passed.
type passing uint8

const (
	passedItself passing = 1 << iota
	passedByAddress
)

func newReader(table *pdb.Table, im *image.Image) *reader {
	return &reader{
		table: table, im: im, passed: make(map[uint32]passing), seed: maphash.MakeSeed(), definitions: make(map[uint64]uint32),
		ambiguous: make(map[uint64]bool), resolved: make(map[uint32]uint32), left: maxMembersInAll, leftOfLists: maxLists, leftOfNames: maxNames,
		built: make(map[uint32]*types.Type), classes: make(map[uint32]*class), results: make(map[uint32]answer),
		unfinished: make(map[*types.Type]origin), copies: make(map[*types.Type][]*types.Type),
	}
}

// Functions returns the functions of C and C++ whose readable name, with their parameters, chosen accepts, in the order in
// which they are found. Damage of a module costs what lies behind it there.
func Functions(ctx context.Context, table *pdb.Table, im *image.Image, chosen func(name string) bool) ([]types.Function, error) {
	r := newReader(table, im)
	if err := r.define(ctx); err != nil {
		return nil, err
	}
	// What is seen of one function's arguments of a class holds for all.
	if err := r.each(ctx, func(string) bool { return true }, r.see); err != nil && ctx.Err() != nil {
		return nil, err
	}
	var list []types.Function
	err := r.each(ctx, chosen, func(p *procedure, s *signature) {
		if len(list) < maxFunctions {
			list = append(list, r.function(p, s))
		}
	})
	if err != nil && len(list) == 0 {
		return nil, err
	}
	return list, ctx.Err()
}

// each calls yield with the procedures of C and C++ that chosen accepts, and their types.
func (r *reader) each(ctx context.Context, chosen func(name string) bool, yield func(p *procedure, s *signature)) error {
	var p procedure
	return r.table.EachProcedure(ctx, func(of *pdb.Procedure) bool {
		name := of.Signature
		if name == "" {
			name = of.Name
		}
		if of.Language != languageC && of.Language != languageCpp || of.Type == 0 || of.Size == 0 || !chosen(name) {
			return false
		}
		p = procedure{Procedure: *of, full: name, variables: p.variables[:0], begin: of.Offset + r.hookSize(of.RVA)}
		return true
	}, p.record, func() {
		if s, ok := r.signature(p.Type); ok {
			yield(&p, &s)
		}
	})
}

// hookSize returns how many bytes the call of a hook has with which a function begins: its arguments are where they were
// behind it, too. No other function begins with a call.
func (r *reader) hookSize(rva uint64) uint32 {
	if r.im == nil {
		return 0
	}
	switch code, err := r.im.ReadRVA(rva, 6); {
	case err != nil:
	case code[0] == 0xE8:
		return 5
	case code[0] == 0xFF && code[1] == 0x15:
		return 6
	}
	return 0
}

func isLLVM(p *pdb.Procedure) bool {
	return strings.Contains(p.Compiler, "clang") || strings.Contains(p.Compiler, "LLVM")
}

// see learns of a procedure's arguments how small classes are passed.
func (r *reader) see(p *procedure, s *signature) {
	list := s.all()
	var variables []*variable
	for i, index := range list {
		h, ok := readHead(r.table.Type(r.definition(r.elements(index))))
		if !ok || h.leaf == lfEnum || h.size != 1 && h.size != 2 && h.size != 4 && h.size != 8 {
			continue
		}
		if variables == nil {
			variables, _ = r.match(p, list, unknownPosition)
		}
		at := r.definition(r.elements(index))
		switch v := variables[i]; {
		case v == nil:
		case r.refersTo(v.typ, index), v.entry.Kind == types.InRegister && v.entry.Pointed:
			r.passed[at] |= passedByAddress
		case v.entry.Kind == types.InRegister, v.framed && isLLVM(&p.Procedure) && unoptimized(p):
			// What LLVM gets by its address it tells of as of a reference, as long as it does not optimize.
			r.passed[at] |= passedItself
		}
	}
}

// define finds the definitions of classes, unions and enumerations: others refer to declarations of them.
func (r *reader) define(ctx context.Context) error {
	begin, end := r.table.Types()
	for i := begin; i < end && i-begin < maxTypes; i++ {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		h, ok := readHead(r.table.Type(i))
		if !ok {
			continue
		}
		switch unique := h.unique(); {
		case bytes.HasPrefix(unique, microsoftName):
			r.microsoft++
		case bytes.HasPrefix(unique, itaniumName):
			r.itanium++
		}
		if h.declared() {
			continue
		}
		key := r.key(&h)
		first, has := r.definitions[key]
		if !has {
			r.definitions[key] = i
		} else if d, _ := readHead(r.table.Type(first)); h.isNamedAs(&d) {
			// What a compiler lists of one class of C++ depends on what its file uses.
			other := d.size != h.size || h.unique() == nil && (d.leaf != h.leaf || d.fields != h.fields)
			if other {
				r.ambiguous[key] = true
			}
		}
	}
	return nil
}

// What unique names of classes begin with, by the C++ ABI.
var microsoftName, itaniumName = []byte(".?A"), []byte("_Z")

// key is the hash of what is one name in the whole program.
func (r *reader) key(h *head) uint64 {
	name := h.unique()
	if len(name) == 0 {
		name, _ = cut(h.names)
	}
	return maphash.Bytes(r.seed, name)
}

// definition returns the index of a class's, union's or enumeration's definition, its own where there is none, or where it
// is not known which one is meant.
func (r *reader) definition(index uint32) uint32 {
	if at, ok := r.resolved[index]; ok {
		return at
	}
	h, ok := readHead(r.table.Type(index))
	if !ok || !h.declared() {
		return index
	}
	r.resolved[index] = index
	key := r.key(&h)
	at, ok := r.definitions[key]
	if d, is := readHead(r.table.Type(at)); ok && is && !r.ambiguous[key] && d.isNamedAs(&h) {
		r.resolved[index] = at
	}
	return r.resolved[index]
}

// alike reports whether two classes, unions or enumerations are one, or have a name of several where one of the two is only
// declared.
func (r *reader) alike(a, b uint32) bool {
	if a == b || len(r.ambiguous) == 0 {
		return a == b
	}
	h, ok := readHead(r.table.Type(a))
	k, is := readHead(r.table.Type(b))
	return ok && is && (h.declared() || k.declared()) && h.isNamedAs(&k) && r.ambiguous[r.key(&h)]
}

// foreign reports whether a class has Itanium's C++ ABI, and whether that is known.
func (r *reader) foreign(h *head) (itanium, known bool) {
	switch unique := h.unique(); {
	case bytes.HasPrefix(unique, microsoftName):
		return false, true
	case bytes.HasPrefix(unique, itaniumName):
		return true, true
	}
	// Classes that only their own file knows have no such names.
	return r.itanium > 0, r.itanium == 0 || r.microsoft == 0
}
