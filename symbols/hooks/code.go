// Package hooks finds the calls of -finstrument-functions in the code of an image, and where the arguments
// and the result of a function are when its hooks are called.
//
// Debug information does not say where they are: a hook is called in the middle of a function, where clang without
// optimization has not yet stored the parameters in their variables, and the result is not in a variable at all. So
// the code itself is followed: from the function's first instruction, where the calling convention holds, to the call
// of the enter hook, and from behind the call of the leave hook to the return. Values that the code moves are
// followed through registers and the function's frame. A place that is written in any other way is unknown from then
// on. The search ends at an instruction that is not understood. Values that are not found are not known; none is
// guessed.
package hooks

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"sort"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"logparser/symbols/image"
	"logparser/symbols/symtab"
	"logparser/symbols/x86"
)

// A kind says what a called function does.
type kind uint8

const (
	other    kind = iota
	enters        // __cyg_profile_func_enter
	leaves        // __cyg_profile_func_exit
	bystands      // it is called before the function's own code and changes nothing but r10 and r11, such as __fentry__
	ends          // it does not return
)

// called are the kinds of functions that are known by their names.
var called = map[string]kind{
	"__cyg_profile_func_enter":      enters,
	"__cyg_profile_func_enter_bare": enters,
	"__cyg_profile_func_exit":       leaves,
	"__fentry__":                    bystands,
	"__return__":                    bystands,
	"mcount":                        bystands,
	"___chkstk_ms":                  bystands, // MinGW's and Microsoft's, before more than a page of stack is taken
	"__chkstk":                      bystands,
	"__stack_chk_fail":              ends,
	"__stack_chk_fail_local":        ends, // of x86
	"_Unwind_Resume":                ends,
}

// A convention is what calls do to registers, and what the registers are.
type convention struct {
	// word is the size of a register in bytes, and names the names of the registers in plans, by number.
	word  int
	names []string
	// pointers are registers by which the recorder finds memory, in the order in which they are chosen.
	pointers []int
	// seen are the registers that a hook finds as they are at its call, and that the recorder keeps.
	seen []int
	// preserved are those that a call leaves as they are.
	preserved []int
	// whole are the vector registers that the recorder keeps wholly, not only their lower 8 bytes.
	whole []int
}

var (
	// With lazy binding the first call goes through glibc's resolver, which changes r10 and r11.
	sysV = convention{
		word: 8, names: names, pointers: pointers64,
		seen:      slices.Concat(through(rax, 9), through(r12, vector+7)),
		preserved: append([]int{rbx, rsp, rbp}, through(r12, r15)...),
	}
	win64 = convention{
		word: 8, names: names, pointers: pointers64,
		seen:      slices.Concat(through(rax, 9), through(r12, vector+3), through(vector+6, vector+15)),
		preserved: slices.Concat([]int{rbx, rsp, rbp, rsi, rdi}, through(r12, r15), through(vector+6, vector+15)),
		whole:     through(vector+6, vector+15),
	}
	// The recorder does not see the registers that any call may change.
	sysV32 = convention{
		word: 4, names: names32, pointers: []int{rsp, rbp, rbx, rsi, rdi},
		seen: []int{rbx, rbp, rsi, rdi}, preserved: []int{rbx, rsp, rbp, rsi, rdi},
	}
	pointers64 = []int{rsp, rbp, rax, rcx, rdx, rbx, 8, 9, 12, 13, 14, 15}
)

// through returns the numbers from one to another.
func through(first, last int) (list []int) {
	for i := first; i <= last; i++ {
		list = append(list, i)
	}
	return list
}

// Code is the code of an image for x86-64, or for x86 of ELF.
type Code struct {
	im    *image.Image
	calls *convention
	text  []textSection
	slots map[uint64]kind // what pointers in memory (GOT, import table) lead to, by the pointers' RVAs
	local map[uint64]kind // functions of the image, by their RVAs
	got   uint64          // where the global offset table of x86 lies, by which code finds the slots
	// found are the return addresses of calls of hooks, ascending.
	found []site
	// jumps are where the code jumps to the hook of leaves, ascending. Functions without a result end in that way.
	jumps []uint64
	// taken are what functions take, by their RVAs, of those that were asked for.
	taken map[uint64]Taken
	// left is how many instructions may still be decoded, or be followed again.
	left int
	// moved is what the loader of a PE may change, ascending, once it was asked for; unknown says that it could not be
	// read.
	moved          []uint32
	asked, unknown bool
}

// A site is the return address of a call of a hook.
type site struct {
	rva  uint64
	kind kind
}

// A textSection is a section with code.
type textSection struct {
	rva  uint64
	code []byte
}

// Bounds of what is read.
const (
	maxCode        = 1 << 30 // bytes
	maxRelocations = 1 << 24
	maxSites       = 1 << 24
	maxDecoded     = 1 << 28 // instructions, of all functions together
)

// Open looks for calls of hooks in an image, and returns nil where there are none.
func Open(im *image.Image) (*Code, error) {
	wide := im.Machine == "x86-64" && im.PointerSize == 8
	if !wide && (im.Machine != "x86" || im.Kind != image.ELF) || im.Relocatable {
		return nil, nil
	}
	c := &Code{im: im, left: maxDecoded}
	if err := c.names(); err != nil {
		return nil, err
	}
	if len(c.slots)+len(c.local) == 0 {
		return nil, nil
	}
	if err := c.read(); err != nil {
		return nil, err
	}
	c.find()
	if len(c.found) == 0 {
		return nil, nil
	}
	return c, nil
}

// names finds the known functions.
func (c *Code) names() error {
	c.slots, c.local, c.calls = make(map[uint64]kind), make(map[uint64]kind), &sysV
	imports := c.imports
	switch {
	case c.im.Kind == image.PE:
		c.calls, imports = &win64, c.importsOfPE
	case c.im.PointerSize == 4:
		c.calls = &sysV32
		for _, name := range []string{".got", ".got.plt"} {
			if s := c.im.Section(name); s != nil && s.Addr >= c.im.Base {
				c.got = s.Addr - c.im.Base
			}
		}
	}
	if err := imports(); err != nil {
		return err
	}
	defined, err := symtab.Addresses(c.im, func(name string) bool { return called[name] != other })
	if err != nil {
		return err
	}
	for name, rva := range defined {
		c.local[rva] = called[name]
	}
	return nil
}

// A relocations is how an image has what the loader is to do.
type relocations struct {
	sections      []string
	entry, symbol int64 // bytes of one, and of a symbol
	slot, data    uint32
}

var (
	relocations64 = relocations{[]string{".rela.plt", ".rela.dyn"}, 24, 24, uint32(elf.R_X86_64_JMP_SLOT), uint32(elf.R_X86_64_GLOB_DAT)}
	relocations32 = relocations{[]string{".rel.plt", ".rel.dyn"}, 8, 16, uint32(elf.R_386_JMP_SLOT), uint32(elf.R_386_GLOB_DAT)}
)

// read returns where a relocation is, the number of its symbol, and its kind.
func (r *relocations) read(order binary.ByteOrder, b []byte) (at, symbol uint64, kind uint32) {
	if r.entry == relocations32.entry {
		info := order.Uint32(b[4:])
		return uint64(order.Uint32(b)), uint64(info >> 8), info & 0xff
	}
	info := order.Uint64(b[8:])
	return order.Uint64(b), info >> 32, uint32(info)
}

// imports finds the pointers that the loader sets to known functions.
func (c *Code) imports() error {
	symbols, names := c.im.Section(".dynsym"), c.im.Section(".dynstr")
	if symbols == nil || names == nil {
		return nil
	}
	list, err := symbols.Content()
	if err != nil {
		return err
	}
	texts, err := names.Content()
	if err != nil {
		return err
	}
	form := &relocations64
	if c.calls.word == 4 {
		form = &relocations32
	}
	for _, name := range form.sections {
		s := c.im.Section(name)
		if s == nil {
			continue
		}
		content, err := s.Content()
		if err != nil {
			return err
		}
		const chunk = 4096
		for off := int64(0); off+form.entry <= content.Size() && off < form.entry*maxRelocations; off += form.entry * chunk {
			b, err := content.Upto(off, form.entry*chunk)
			if err != nil {
				return err
			}
			for ; int64(len(b)) >= form.entry; b = b[form.entry:] {
				at, n, kind := form.read(c.im.Order, b)
				if kind != form.slot && kind != form.data || at < c.im.Base {
					continue
				}
				symbol, err := list.Bytes(form.symbol*int64(n), 4)
				if err != nil {
					continue // it has no such symbol
				}
				if name, err := texts.String(int64(c.im.Order.Uint32(symbol))); err == nil && called[name] != other {
					c.slots[at-c.im.Base] = called[name]
				}
			}
		}
	}
	return nil
}

// read reads the sections with code.
func (c *Code) read() error {
	left := int64(maxCode)
	for _, s := range c.im.CodeSections() {
		content, err := s.Content()
		if err != nil {
			return err
		}
		n := min(content.Size(), left)
		left -= n
		code, err := content.Bytes(0, n)
		if err != nil {
			return err
		}
		if s.Addr >= c.im.Base {
			c.text = append(c.text, textSection{s.Addr - c.im.Base, code})
		}
	}
	return nil
}

// at returns the code from an RVA on, nil if there is none.
func (c *Code) at(rva uint64) []byte {
	for i := range c.text {
		if t := &c.text[i]; rva-t.rva < uint64(len(t.code)) {
			return t.code[rva-t.rva:]
		}
	}
	return nil
}

// importsOfPE finds these pointers in an image for Windows.
func (c *Code) importsOfPE() error {
	list, err := c.im.Imports()
	for _, i := range list {
		if k := called[i.Name]; k != other {
			c.slots[i.RVA] = k
		}
	}
	return err
}

// loaderWrites reports whether the loader of a PE may write some of n bytes.
func (c *Code) loaderWrites(rva uint64, n int) bool {
	const most = 8 // bytes that a relocation changes
	if table, size := c.im.ImportAddresses(); rva < uint64(table)+uint64(size) && uint64(table) < rva+uint64(n) {
		return true
	}
	if !c.asked {
		c.asked = true
		var err error
		c.moved, err = c.im.BaseRelocations()
		c.unknown = err != nil
		slices.Sort(c.moved)
	}
	if c.unknown {
		return true
	}
	i := sort.Search(len(c.moved), func(i int) bool { return uint64(c.moved[i])+most > rva })
	return i < len(c.moved) && uint64(c.moved[i]) < rva+uint64(n)
}

// fixed reads constant data, which neither the program nor the loader writes.
func (c *Code) fixed(rva uint64, n int) []byte {
	constants := ".rodata"
	if c.im.Kind == image.PE {
		if constants = ".rdata"; c.loaderWrites(rva, n) {
			return nil
		}
	}
	for _, s := range c.im.Sections {
		if !strings.HasPrefix(s.Name, constants) || s.NoBits || s.Writable || rva+c.im.Base-s.Addr >= s.MemSize {
			continue
		}
		content, err := s.Content()
		if err != nil {
			return nil
		}
		b, err := content.Bytes(int64(rva+c.im.Base-s.Addr), int64(n))
		if err != nil {
			return nil
		}
		return b
	}
	return nil
}

// find looks for calls of hooks at each byte of the code. Bytes in the middle of instructions may look like such a
// call; they do no harm, since no hook ever returns there.
func (c *Code) find() {
	for _, t := range c.text {
		for i := 0; i+5 <= len(t.code) && len(c.found) < maxSites; i++ {
			size, jump := 0, false
			var target kind
			switch b := t.code[i:]; {
			case b[0] == 0xe8 || b[0] == 0xe9:
				size, jump = 5, b[0] == 0xe9
				target = c.function(t.rva + uint64(i) + 5 + relative(b[1:]))
			case b[0] == 0xff && len(b) >= 6:
				if slot, jumps, ok := c.through(b, t.rva+uint64(i)); ok {
					size, jump, target = 6, jumps, c.slots[slot]
				}
			}
			switch {
			case jump && target == leaves && len(c.jumps) < maxSites:
				c.jumps = append(c.jumps, t.rva+uint64(i))
			case !jump && (target == enters || target == leaves):
				c.found = append(c.found, site{t.rva + uint64(i+size), target})
			}
		}
	}
	sort.Slice(c.found, func(i, k int) bool { return c.found[i].rva < c.found[k].rva })
	slices.Sort(c.jumps)
}

// relative reads the signed distance of a call or jump.
func relative(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// through returns the slot that a call or jump of 6 bytes goes through, which has its address in it.
func (c *Code) through(b []byte, rva uint64) (slot uint64, jumps, ok bool) {
	if c.calls.word == 8 {
		return rva + 6 + relative(b[2:]), b[1] == 0x25, b[1] == 0x15 || b[1] == 0x25
	}
	at := uint64(binary.LittleEndian.Uint32(b[2:]))
	switch b[1] {
	case 0x15, 0x25:
		return at - c.im.Base, b[1] == 0x25, true
	case 0x93, 0x95, 0x96, 0x97, 0xa3: // by ebx, ebp, esi, edi, which have the address of the global offset table; in a PLT by ebx
		return c.got + relative(b[2:]), b[1] == 0xa3, true
	}
	return 0, false, false
}

// function returns the kind of the function at an RVA, which may be a jump to a known function through a pointer, as
// in a PLT.
func (c *Code) function(rva uint64) kind {
	if k := c.local[rva]; k != other {
		return k
	}
	b := c.at(rva)
	n := uint64(0)
	if x86.Endbr(b, 8*c.calls.word) {
		n = 4
	}
	if n < uint64(len(b)) && b[n] == 0xf2 { // bnd
		n++
	}
	if b = b[min(n, uint64(len(b))):]; len(b) < 6 || b[0] != 0xff {
		return other
	}
	if slot, jumps, ok := c.through(b, rva+n); ok && jumps {
		return c.slots[slot]
	}
	return other
}

// loadsPC returns the register that a call of x86 loads with where it returns to; see [x86.LoadsPC].
func (c *Code) loadsPC(inst *x86asm.Inst, rva uint64) (r int, ok bool) {
	to, ok := jumpTarget(inst, rva)
	if !ok || c.calls.word != 4 {
		return 0, false
	}
	return x86.LoadsPC(c.at(to))
}

// target returns the kind of the function that the call at an RVA calls.
func (c *Code) target(inst *x86asm.Inst, rva uint64) kind {
	if to, ok := jumpTarget(inst, rva); ok {
		return c.function(to)
	}
	if b := c.at(rva); inst.Len == 6 && len(b) >= 6 && b[0] == 0xff {
		if slot, _, ok := c.through(b, rva); ok {
			return c.slots[slot]
		}
	}
	return other
}

// jumpTarget returns the RVA that the jump or call at an RVA names by its distance; it reports false for other instructions.
func jumpTarget(inst *x86asm.Inst, rva uint64) (to uint64, ok bool) {
	distance, ok := inst.Args[0].(x86asm.Rel)
	return rva + uint64(inst.Len) + uint64(int64(distance)), ok
}

// jumpsAway reports whether the function in [low, high) ends by a jump to the hook of leaves.
func (c *Code) jumpsAway(low, high uint64) bool {
	i, _ := slices.BinarySearch(c.jumps, low)
	return i < len(c.jumps) && c.jumps[i] < high
}

// between returns the calls of hooks whose return addresses lie in [low, high].
func (c *Code) between(low, high uint64) []site {
	from := sort.Search(len(c.found), func(i int) bool { return c.found[i].rva >= low })
	to := sort.Search(len(c.found), func(i int) bool { return c.found[i].rva > high })
	return c.found[from:max(from, to)]
}
