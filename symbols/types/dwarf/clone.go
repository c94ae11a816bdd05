package dwarf

import (
	"debug/dwarf"
	"encoding/binary"
	"slices"
	"strings"

	"logparser/symbols/types"
)

// This file tells where the parameters of functions are that gcc made of others, with parameters of their own (names such as
// f.isra.0): some are left out, so that the calling convention alone does not tell where the others come.
//
// A location list has what a variable is at each instruction, which is not what the function got: in
//
//	int f(int a, int b) { a = b; … }
//
// the variable a is at the first instruction already what b came in, and if nothing else uses a it has no other place there.
// gcc numbers the states of the variables at one address (its location views). Only the first one, 0, is from before the
// function has done anything, if a statement begins a new state.

// attrViews is DW_AT_GNU_locviews: where the pairs of views of a location list lie, in the same section.
const attrViews = dwarf.Attr(0x2137)

// hasStages reports whether a unit was compiled so that each statement begins a new view. It is what gcc does where it
// optimizes, if it was not told otherwise; what it was told is known if the unit has its options.
func hasStages(producer string) bool {
	for _, off := range []string{"-gno-statement-frontiers", "-fselective-scheduling", "-fno-var-tracking"} {
		if strings.Contains(producer, off) {
			return false
		}
	}
	// With -flto the code is compiled once more, of which the unit does not have the options.
	return strings.HasPrefix(producer, "GNU C") && strings.Contains(producer, " -") && !strings.Contains(producer, "-flto")
}

// mostOfClone bounds the bytes of the functions that are looked at: of one with very many statements gcc does not tell which state
// is from before a statement (--param max-debug-marker-count).
const mostOfClone = 1 << 16

// withoutTwice forgets the places that several parameters would have.
func withoutTwice(parameters []types.Parameter) {
	place := func(p *types.Parameter) types.Entry { return types.Entry{Kind: p.Entry.Kind, Number: p.Entry.Number} }
	users := make(map[types.Entry]int)
	for i := range parameters {
		users[place(&parameters[i])]++
	}
	for i := range parameters {
		if p := &parameters[i]; users[place(p)] > 1 {
			p.Entry = types.Entry{}
		}
	}
}

// cloneEntry tells where a parameter is when the function that begins at low is entered, as far as a location list with
// views says so.
func (r *reader) cloneEntry(function, parameter *dwarf.Entry, low uint64) types.Entry {
	base, _ := function.Val(dwarf.AttrFrameBase).([]byte)
	at, listed := parameter.Val(dwarf.AttrLocation).(int64)
	views, viewed := parameter.Val(attrViews).(int64)
	if !listed || !viewed || !r.staged || len(base) != 1 || base[0] != opFrameCFA {
		return types.Entry{}
	}
	all := r.section(r.listSection())
	if views < 0 || views >= int64(len(all)) {
		return types.Entry{}
	}
	in := locations{b: all[views:], wide: true}
	found := types.Entry{}
	r.eachLocation(uint64(at), true, func(from, _ uint64, expression []byte) bool {
		first, _ := in.number(), in.number() // of the state that the entry begins with, and behind which it ends
		if in.bad {
			return false
		}
		if from == low && first == 0 {
			found = placeOf(expression)
			return false
		}
		return true
	})
	if found.Kind == types.InFrame {
		return types.Entry{}
	}
	return found
}

// inOrder puts the parameters of a function that the compiler made of another into the order of the other's: gcc puts those
// that it has left out behind the others. It reports whether they had another one.
func inOrder(children []*dwarf.Entry) (changed bool) {
	var parameters []*dwarf.Entry
	for _, c := range children {
		if c.Tag != dwarf.TagFormalParameter {
			continue
		}
		if _, ok := c.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); !ok {
			return false
		}
		parameters = append(parameters, c)
	}
	origin := func(a, b *dwarf.Entry) int {
		return int(int64(a.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)) - int64(b.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)))
	}
	if slices.IsSortedFunc(parameters, origin) {
		return false
	}
	slices.SortStableFunc(parameters, origin)
	for i := range children {
		if children[i].Tag == dwarf.TagFormalParameter {
			children[i], parameters = parameters[0], parameters[1:]
		}
	}
	return true
}

// withoutCopies leaves out entries that gcc 11 adds for parameters of which it has left out the value: of several entries of one parameter
// that with a place is kept, or the first.
func withoutCopies(children []*dwarf.Entry) (kept []*dwarf.Entry) {
	at := make(map[dwarf.Offset]int) // in kept, by origin
	for _, c := range children {
		origin, ok := c.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok || c.Tag != dwarf.TagFormalParameter {
			kept = append(kept, c)
			continue
		}
		i, again := at[origin]
		switch {
		case !again:
			at[origin] = len(kept)
			kept = append(kept, c)
		case kept[i].Val(dwarf.AttrLocation) == nil:
			kept[i] = c
		}
	}
	return kept
}

// listSection returns the name of the section with the unit's location lists.
func (r *reader) listSection() string {
	if r.version < 5 {
		return "loc"
	}
	return "loclists"
}

// eachLocation calls do with the ranges and expressions of a location list, until it returns false or the list ends. wide
// says that addresses have 8 bytes. What needs tables of addresses ends the list.
func (r *reader) eachLocation(at uint64, wide bool, do func(from, to uint64, expression []byte) bool) {
	base, based := r.base, r.based
	all := r.section(r.listSection())
	if at >= uint64(len(all)) {
		return
	}
	in := locations{b: all[at:], wide: wide}
	for range 1 << 12 {
		if r.listed++; r.listed > mostListed {
			return
		}
		var from, to uint64
		known, length := true, 0
		if r.version < 5 {
			from, to = in.address(), in.address()
			switch {
			case in.bad || from == 0 && to == 0:
				return
			case from == in.highest():
				base, based = to, true
				continue
			}
			from, to, known = base+from, base+to, based
			length = int(in.half())
		} else {
			switch kind := in.byte(); kind {
			case 4: // an offset pair
				from, to, known = base+in.number(), base+in.number(), based
			case 6:
				base, based = in.address(), true
				continue
			case 7:
				from, to = in.address(), in.address()
			case 8:
				from = in.address()
				to = from + in.number()
			default: // the end, or what needs tables
				return
			}
			length = int(in.number())
		}
		expression := in.take(length)
		if in.bad || known && !do(from, to, expression) {
			return
		}
	}
}

// locations are the bytes of a location list, from where it is read on.
type locations struct {
	b    []byte
	wide bool // addresses have 8 bytes
	bad  bool
}

func (in *locations) take(n int) []byte {
	if n < 0 || n > len(in.b) {
		in.bad = true
		return nil
	}
	b := in.b[:n]
	in.b = in.b[n:]
	return b
}

func (in *locations) byte() byte {
	if b := in.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (in *locations) half() uint16 {
	if b := in.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (in *locations) address() uint64 {
	if in.wide {
		if b := in.take(8); b != nil {
			return binary.LittleEndian.Uint64(b)
		}
		return 0
	}
	if b := in.take(4); b != nil {
		return uint64(binary.LittleEndian.Uint32(b))
	}
	return 0
}

// highest is the address that says that a base address follows.
func (in *locations) highest() uint64 {
	if in.wide {
		return 1<<64 - 1
	}
	return 1<<32 - 1
}

func (in *locations) number() uint64 {
	v, n := binary.Uvarint(in.b)
	if n <= 0 {
		in.bad = true
		return 0
	}
	in.b = in.b[n:]
	return v
}
