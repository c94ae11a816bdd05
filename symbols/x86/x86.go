// Package x86 decodes instructions of x86 and x86-64, by golang.org/x/arch, of code that comes out of files: the
// decoder panics on some code, and does not know the marks with which functions begin under -fcf-protection.
package x86

import (
	"logparser/message"

	"golang.org/x/arch/x86/x86asm"
)

var errDecode = message.New("no instruction that is known")

// endbrLen is the length of endbr32 and endbr64, in bytes.
const endbrLen = 4

// Endbr reports whether code begins with the mark of a target of indirect calls and jumps: endbr64 where mode is 64,
// endbr32 where it is 32.
func Endbr(code []byte, mode int) bool {
	mark := "\xf3\x0f\x1e\xfa"
	if mode == 32 {
		mark = "\xf3\x0f\x1e\xfb"
	}
	return len(code) >= endbrLen && string(code[:endbrLen]) == mark
}

// Decode decodes the first instruction of code, for a mode of 32 or 64 bits. [Endbr] is a no-operation. Displacements
// of 32 bits have no sign (see [Distance]). Len of what it returns without an error is not 0.
func Decode(code []byte, mode int) (inst x86asm.Inst, err error) {
	if Endbr(code, mode) {
		return x86asm.Inst{Op: x86asm.NOP, Len: endbrLen, Mode: mode}, nil
	}
	defer func() {
		if recover() != nil {
			inst, err = x86asm.Inst{}, errDecode
		}
	}()
	if inst, err = x86asm.Decode(code, mode); err == nil && inst.Len == 0 {
		err = errDecode
	}
	return inst, err
}

// Distance gives a displacement of 32 bits its sign, which the decoder leaves out.
func Distance(n int64) int64 { return int64(int32(n)) }

// LoadsPC reports whether code of x86 only loads a register with the address that it returns to, and which one by number. Compilers call such a
// function at the beginning of code that may lie anywhere.
func LoadsPC(code []byte) (register int, ok bool) {
	if len(code) < 4 || code[0] != 0x8b || code[1]&0xc7 != 0x04 || code[2] != 0x24 || code[3] != 0xc3 { // mov (%esp),%r; ret
		return 0, false
	}
	return int(code[1] >> 3 & 7), true
}
