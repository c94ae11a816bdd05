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
	// microsoft and itanium count classes by whose names they have: those of Microsoft's C++ ABI, and of the other one.
	microsoft, itanium int

	// passed says how arguments of small classes are seen to be passed, by the definition's index.
	passed map[uint32]passing

	built   map[uint32]*types.Type
	classes map[uint32]*class // by the definition's index
	results map[uint32]answer // of resultByAddress
	left    int               // members
	// unfinished are classes whose members are being read.
	unfinished map[*types.Type]bool
}

// A passing is a set of ways in which arguments of a class are passed.
type passing uint8

const (
	passedItself passing = 1 << iota
	passedByAddress
)

func newReader(table *pdb.Table, im *image.Image) *reader {
	return &reader{
		table: table, im: im, passed: make(map[uint32]passing), seed: maphash.MakeSeed(), left: maxMembersInAll, definitions: make(map[uint64]uint32),
		built: make(map[uint32]*types.Type), classes: make(map[uint32]*class), results: make(map[uint32]answer), unfinished: make(map[*types.Type]bool),
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
		switch {
		case strings.HasPrefix(h.unique, ".?A"):
			r.microsoft++
		case strings.HasPrefix(h.unique, "_Z"):
			r.itanium++
		}
		if key := r.key(&h); !h.declared() {
			if _, has := r.definitions[key]; !has {
				r.definitions[key] = i
			}
		}
	}
	return nil
}

// key is the hash of what is one name in the whole program.
func (r *reader) key(h *head) uint64 {
	name := h.unique
	if name == "" {
		name = h.name
	}
	return maphash.String(r.seed, name)
}

// definition returns the index of a class's, union's or enumeration's definition, its own where there is none.
func (r *reader) definition(index uint32) uint32 {
	h, ok := readHead(r.table.Type(index))
	if !ok || !h.declared() {
		return index
	}
	at, ok := r.definitions[r.key(&h)]
	if d, is := readHead(r.table.Type(at)); ok && is && d.name == h.name && d.unique == h.unique {
		return at
	}
	return index
}

// foreign reports whether a class has Itanium's C++ ABI, and whether that is known.
func (r *reader) foreign(h *head) (itanium, known bool) {
	switch {
	case strings.HasPrefix(h.unique, ".?A"):
		return false, true
	case strings.HasPrefix(h.unique, "_Z"):
		return true, true
	}
	// Classes that only their own file knows have no such names.
	return r.itanium > 0, r.itanium == 0 || r.microsoft == 0
}
