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
	bystands      // it changes no register, such as __fentry__
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
	"__stack_chk_fail":              ends,
	"_Unwind_Resume":                ends,
}

// Code is the code of an image for x86-64.
type Code struct {
	im    *image.Image
	text  []textSection
	slots map[uint64]kind // what pointers in memory (GOT, import table) lead to, by the pointers' RVAs
	local map[uint64]kind // functions of the image, by their RVAs
	// found are the return addresses of calls of hooks, ascending.
	found []site
	// left is how many instructions may still be decoded.
	left int
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
	if im.Kind != image.ELF || im.Machine != "x86-64" || im.PointerSize != 8 || im.Relocatable {
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
	c.slots, c.local = make(map[uint64]kind), make(map[uint64]kind)
	if err := c.imports(); err != nil {
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
	for _, name := range []string{".rela.plt", ".rela.dyn"} {
		s := c.im.Section(name)
		if s == nil {
			continue
		}
		relocations, err := s.Content()
		if err != nil {
			return err
		}
		const entry, chunk = 24, 4096
		for off := int64(0); off+entry <= relocations.Size() && off < entry*maxRelocations; off += entry * chunk {
			b, err := relocations.Upto(off, entry*chunk)
			if err != nil {
				return err
			}
			for ; len(b) >= entry; b = b[entry:] {
				at, info := c.im.Order.Uint64(b), c.im.Order.Uint64(b[8:])
				if t := elf.R_X86_64(info & 0xffffffff); t != elf.R_X86_64_JMP_SLOT && t != elf.R_X86_64_GLOB_DAT || at < c.im.Base {
					continue
				}
				symbol, err := list.Bytes(24*int64(info>>32), 4)
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

// fixed reads constant data, which neither the program nor the loader writes.
func (c *Code) fixed(rva uint64, n int) []byte {
	for _, s := range c.im.Sections {
		if !strings.HasPrefix(s.Name, ".rodata") || s.NoBits || rva+c.im.Base-s.Addr >= s.MemSize {
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
			size := 0
			var target kind
			switch {
			case t.code[i] == 0xe8:
				size = 5
				target = c.function(t.rva + uint64(i) + 5 + relative(t.code[i+1:]))
			case t.code[i] == 0xff && t.code[i+1] == 0x15 && i+6 <= len(t.code):
				size = 6
				target = c.slots[t.rva+uint64(i)+6+relative(t.code[i+2:])]
			}
			if target == enters || target == leaves {
				c.found = append(c.found, site{t.rva + uint64(i+size), target})
			}
		}
	}
	sort.Slice(c.found, func(i, k int) bool { return c.found[i].rva < c.found[k].rva })
}

// relative reads the signed distance of a call or jump.
func relative(b []byte) uint64 { return uint64(int64(int32(binary.LittleEndian.Uint32(b)))) }

// function returns the kind of the function at an RVA, which may be a jump to a known function through a pointer, as
// in a PLT.
func (c *Code) function(rva uint64) kind {
	if k := c.local[rva]; k != other {
		return k
	}
	b := c.at(rva)
	n := uint64(0)
	if x86.Endbr(b, 64) {
		n = 4
	}
	if n < uint64(len(b)) && b[n] == 0xf2 { // bnd
		n++
	}
	if b = b[min(n, uint64(len(b))):]; len(b) < 6 || b[0] != 0xff || b[1] != 0x25 {
		return other
	}
	return c.slots[rva+n+6+relative(b[2:])]
}

// target returns the kind of the function that the call at an RVA calls.
func (c *Code) target(inst *x86asm.Inst, rva uint64) kind {
	next := rva + uint64(inst.Len)
	switch a := inst.Args[0].(type) {
	case x86asm.Rel:
		return c.function(next + uint64(int64(a)))
	case x86asm.Mem:
		if a.Base == x86asm.RIP && a.Index == 0 {
			return c.slots[next+uint64(x86.Distance(a.Disp))]
		}
	}
	return other
}

// between returns the calls of hooks whose return addresses lie in [low, high].
func (c *Code) between(low, high uint64) []site {
	from := sort.Search(len(c.found), func(i int) bool { return c.found[i].rva >= low })
	to := sort.Search(len(c.found), func(i int) bool { return c.found[i].rva > high })
	return c.found[from:max(from, to)]
}
