package hooks

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/x86"
)

// A Hook is a call of a hook. It knows where the values are at that call that the calling convention has at the
// function's first instruction, or when the function has returned.
type Hook struct {
	// RVA is where the call returns to. Where the function ends by a jump to the hook, which then returns to the function's
	// caller, it is 1 more than where the function begins.
	RVA uint64
	// leaving says that it is a hook before the return. Then ends are the states at the returns, relative to the
	// hook; otherwise they are the state at the hook, relative to the first instruction.
	leaving bool
	ends    []*state
	calls   *convention
}

// Bounds of the instructions that are followed in a function.
const (
	maxSteps = 4096
	maxPaths = 16
)

// initial is the content of a register that nothing has written.
func (c *convention) initial(i int) content {
	if i >= vector {
		return content{register, i, 0, 16}
	}
	return content{register, i, 0, c.word}
}

// decode decodes the instruction at an RVA.
func (c *Code) decode(rva uint64) (inst x86asm.Inst, ok bool) {
	if c.left--; c.left < 0 {
		return inst, false
	}
	inst, err := x86.Decode(c.at(rva), 8*c.calls.word)
	for _, p := range inst.Prefix {
		if p&0xff == x86asm.PrefixLOCK || p.IsVEX() {
			return inst, false
		}
	}
	return inst, err == nil
}

// Calls reports whether the function in [low, low+size) calls hooks.
func (c *Code) Calls(low, size uint64) bool { return len(c.between(low, low+size)) > 0 }

// Enter returns the first hook that a function calls when it is entered, nil if the code cannot be followed to it.
func (c *Code) Enter(low, size uint64) *Hook {
	s := &state{calls: c.calls, fixed: c.fixed, own: func(base int, _ int64) bool { return base == rsp || base >= registers }}
	for i := range s.registers {
		s.registers[i] = c.calls.initial(i)
	}
	waiting := make(map[uint64]*state) // the states with which jumps come to an instruction
	arrive := func(at uint64, s *state) bool {
		if old := waiting[at]; old != nil {
			old.meet(s)
		} else {
			waiting[at] = s.clone()
		}
		return at < low+size
	}
	rva := low
	for range maxSteps {
		if w := waiting[rva]; w != nil {
			if s != nil {
				w.meet(s)
			}
			s = w
			delete(waiting, rva)
		}
		if s == nil { // the instruction before does not go on here
			next := low + size
			for at := range waiting {
				next = min(next, at)
			}
			if rva = next; next == low+size {
				return nil
			}
			continue
		}
		inst, ok := c.decode(rva)
		next := rva + uint64(inst.Len)
		if !ok || next > low+size || s.stored {
			return nil
		}
		s.next = next
		target, jumps := jumpTarget(&inst, rva)
		switch {
		case inst.Op == x86asm.CALL:
			switch c.target(&inst, rva) {
			case enters:
				return &Hook{RVA: next, ends: []*state{s}, calls: c.calls}
			case bystands:
				s.registers[r10], s.registers[r11] = content{}, content{}
			default:
				r, ok := c.loadsPC(&inst, rva)
				switch {
				case ok:
					s.registers[r] = content{}
				case c.calls.word != 4 || target != next || !s.push(&inst, nil): // a pop follows of what it pushes
					return nil
				}
			}
		case inst.Op == x86asm.RET:
			s = nil
		case jumps: // only jumps have a relative operand
			if target <= rva || !arrive(target, s) {
				return nil
			}
			if inst.Op == x86asm.JMP {
				s = nil
			}
		case !s.step(&inst):
			return nil
		}
		rva = next
	}
	return nil
}

// Leaves returns the hooks that a function calls before its returns.
func (c *Code) Leaves(low, size uint64) (list []Hook) {
	for _, at := range c.between(low, low+size) {
		if at.kind != leaves {
			continue
		}
		h := Hook{RVA: at.rva, leaving: true, calls: c.calls}
		s := &state{calls: c.calls, fixed: c.fixed, own: func(base int, offset int64) bool { return base == rsp && offset < 0 }}
		for _, i := range c.calls.preserved {
			s.registers[i] = c.calls.initial(i)
		}
		steps := maxSteps
		if !c.toReturn(&h, at.rva, low, low+size, s, &steps) {
			h.ends = nil
		}
		list = append(list, h)
	}
	if c.jumpsAway(low, low+size) {
		// The function does nothing more then. It has no result, and of registers nothing is known.
		s := &state{calls: c.calls, fixed: c.fixed, own: func(int, int64) bool { return false }}
		list = append(list, Hook{RVA: low + 1, leaving: true, ends: []*state{s}, calls: c.calls})
	}
	return list
}

// toReturn follows a function from an RVA to its returns, and adds their states to h.ends.
func (c *Code) toReturn(h *Hook, rva, low, high uint64, s *state, steps *int) bool {
	for ; *steps > 0; *steps-- {
		inst, ok := c.decode(rva)
		next := rva + uint64(inst.Len)
		if !ok || rva < low || next > high {
			return false
		}
		s.next = next
		to, jumps := inst.Args[0].(x86asm.Rel)
		switch {
		case inst.Op == x86asm.RET:
			h.ends = append(h.ends, s)
			return len(h.ends) <= maxPaths
		case inst.Op == x86asm.CALL:
			return c.target(&inst, rva) == ends
		case jumps:
			target := next + uint64(int64(to))
			if inst.Op == x86asm.JMP {
				rva = target
				continue
			}
			if !c.toReturn(h, target, low, high, s.clone(), steps) {
				return false
			}
		case !s.step(&inst):
			return false
		}
		rva = next
	}
	return false
}

// Word returns the size of a pointer in bytes.
func (h *Hook) Word() int { return h.calls.word }

// Quiet reports whether memory outside the function's frame is the same at the hook as at the function's beginning,
// or its end.
func (h *Hook) Quiet() bool {
	for _, s := range h.ends {
		if s.stored {
			return false
		}
	}
	return len(h.ends) > 0
}

// Place returns where a value of n bytes is when the hook is called, in the words of plans, "" where that is not
// known. place is where the calling convention has it: parts joined by "+". used(from, n) says how many of the n bytes
// from one on are not padding.
func (h *Hook) Place(place string, n int, used func(from, n int) int) string {
	var parts []string
	words := strings.Split(place, "+")
	from := 0
	for i := 0; i < len(words); i++ {
		part, size := "", min(n, h.calls.word)
		switch {
		case words[i] == "stack" && i+1 < len(words):
			i++
			at, err := strconv.Atoi(words[i])
			if err != nil {
				return ""
			}
			if i+1 == len(words) {
				size = n
			}
			part = h.stack(int64(at)+int64(h.calls.word), size)
		case words[i] == "st0":
			size = n
			part = h.agreed(func(s *state) string { return s.float87(n) })
		case words[i] == names[vector]+upperHalf && h.leaving:
			part = h.agreed(func(s *state) string { return s.upper(vector) })
		default:
			r, ok := numberOf(words[i])
			if !ok || size <= 0 {
				return ""
			}
			part = h.agreed(func(s *state) string { return s.where(r, used(from, size), h.leaving) })
		}
		if part == "" {
			return ""
		}
		parts = append(parts, part)
		n -= size
		from += size
	}
	if n > 0 {
		return ""
	}
	return strings.Join(parts, "+")
}

// agreed returns the place that all ends agree on, "" if they do not.
func (h *Hook) agreed(of func(*state) string) (all string) {
	for i, s := range h.ends {
		if found := of(s); i > 0 && found != all || found == "" {
			return ""
		} else {
			all = found
		}
	}
	return all
}

// where returns where the low n bytes are that register r had at the beginning or, leaving, has at the end.
func (s *state) where(r, n int, leaving bool) string {
	names := s.calls.names
	if leaving {
		v := s.registers[r]
		switch {
		case v.n < n || v.of == register && v.offset != 0 || v.base >= len(names):
			return ""
		case v.of == register && v.base == rsp:
			return "" // plans have no name for it
		case v.of == register:
			return names[v.base]
		case v.of == memory:
			return inMemory(names[v.base], v.offset)
		case v.of == constant:
			return "=" + strconv.FormatUint(uint64(v.offset), 16)
		}
		return ""
	}
	is := func(v content) bool { return v.of == register && v.base == r && v.offset == 0 && v.n >= n }
	for _, i := range s.calls.seen {
		if is(s.registers[i]) {
			return names[i]
		}
	}
	for _, w := range s.slots {
		if is(w.v) {
			if place := s.reach(w.base, w.offset); place != "" {
				return place
			}
		}
	}
	return ""
}

// stack returns where n bytes are that lay at an offset above the stack pointer when the function was entered.
func (h *Hook) stack(offset int64, n int) string {
	if h.leaving || len(h.ends) != 1 {
		return ""
	}
	s, names := h.ends[0], h.calls.names
	if !overlaps(s.slots, rsp, offset, n) {
		return s.reach(rsp, offset)
	}
	for _, i := range s.calls.seen {
		if s.registers[i] == (content{memory, rsp, offset, n}) {
			return names[i]
		}
	}
	return ""
}

// upper returns where the upper 8 bytes are that a vector register has at the end.
func (s *state) upper(r int) string {
	switch v := s.registers[r]; {
	case v.n != 16 || v.base >= len(s.calls.names):
	case v.of == memory:
		return inMemory(names[v.base], v.offset+8)
	case v.of == register && v.base >= vector:
		return names[v.base] + upperHalf
	}
	return ""
}

// Copy returns where the function has copied n bytes to before it calls the hook, which lay where a register led to at the
// beginning, "" where that is not known. place is that register; used is as in Place.
func (h *Hook) Copy(place string, n int, used func(from, n int) int) string {
	word := h.calls.word
	r, ok := numberOf(place)
	if !ok || h.leaving || len(h.ends) != 1 {
		return ""
	}
	var parts []string
	for from := 0; from < n; from += word {
		part := h.ends[0].copied(r, int64(from), used(from, min(word, n-from)))
		if part == "" {
			return ""
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "+")
}

// copied returns where n bytes are, at most 8, that lay at an offset from where a register led to.
func (s *state) copied(r int, offset int64, n int) string {
	names := s.calls.names
	// has reports whether a content has these bytes, at bytes behind its first one.
	has := func(v content, at int64) bool {
		return v.of == memory && v.base == r && v.offset+at == offset && at+int64(n) <= int64(v.n)
	}
	for _, i := range s.calls.seen {
		switch v := s.registers[i]; {
		case has(v, 0):
			return names[i]
		case has(v, 8) && slices.Contains(s.calls.whole, i):
			return names[i] + upperHalf
		}
	}
	for _, w := range s.slots {
		if at := offset - w.v.offset; at >= 0 && has(w.v, at) {
			if place := s.reach(w.base, w.offset+at); place != "" {
				return place
			}
		}
	}
	return ""
}

// float87 returns where the value is that st0 has at the end, if there are n bytes of it, or all.
func (s *state) float87(n int) string {
	const extended = 10
	names := s.calls.names
	if len(s.x87) == 0 || s.x87[len(s.x87)-1].of != memory {
		return ""
	}
	v := s.x87[len(s.x87)-1]
	if v.base >= len(names) || v.n != min(n, extended) {
		return ""
	}
	return inMemory(names[v.base], v.offset)
}

// reach returns the name of memory by a register that points into it, "" if there is none.
func (s *state) reach(base int, offset int64) string {
	sp := s.registers[rsp]
	if sp.of != register || sp.n != s.calls.word || sp.base == base && offset < sp.offset {
		return "" // the frames of the hook lie below the stack pointer
	}
	for _, i := range s.calls.pointers {
		if v := s.registers[i]; v.of == register && v.n == s.calls.word && v.base == base {
			return inMemory(s.calls.names[i], offset-v.offset)
		}
	}
	return ""
}

// maxOffset bounds offsets from a register: frames are at most a megabyte.
const maxOffset = 1 << 20

func inMemory(register string, offset int64) string {
	if offset < -maxOffset || offset > maxOffset {
		return ""
	}
	return register + ":" + strconv.FormatInt(offset, 10)
}
