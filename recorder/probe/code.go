package probe

import (
	"golang.org/x/arch/x86/x86asm"

	"logparser/message"
	"logparser/symbols/x86"
)

// isEmulated reports whether the kernel emulates the first instruction of x86-64 code when a probe
// lies on it. It single-steps all other instructions, which costs ten times as much.
func isEmulated(code []byte) bool {
	for len(code) > 0 && code[0] == 0x66 { // prefix of a nop
		code = code[1:]
	}
	switch {
	case len(code) == 0:
		return false
	case code[0] >= 0x50 && code[0] <= 0x57, code[0] == 0x90, code[0] == 0xe8, code[0] == 0xe9, code[0] == 0xeb, code[0] >= 0x70 && code[0] <= 0x7f:
		return true
	case len(code) > 1 && code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57:
		return true
	}
	return len(code) > 1 && code[0] == 0x0f && (code[1] == 0x1f || code[1]&0xf0 == 0x80)
}

// isRefused reports whether the kernel takes no probe at the first instruction of some code of x86-64: it
// has a prefix for a lock or a segment. Nobody is told: the probe is set, and never hit.
func isRefused(code []byte) bool {
	for _, b := range code {
		switch b {
		case 0xf0, 0x26, 0x2e, 0x36, 0x3e:
			return true
		case 0x66, 0x67, 0xf2, 0xf3, 0x64, 0x65:
		default:
			return false
		}
	}
	return false
}

var (
	errNoCode  = message.New("its code is not known")
	errDecode  = message.New("an instruction of it is not known, so that what follows may be none")
	errRefused = message.New("its first instruction has a prefix (lock, or a segment) with which the kernel takes none")
	errCold    = message.New("it is a part of a function, and is not called")
	errMachine = message.New("return instructions are not known of this kind of processor")
)

// Returns returns the offsets of the return instructions in the code of a whole function. It decodes
// one instruction after the other, because a probe in the middle of an instruction would damage the
// program.
func Returns(code []byte, machine string) (list []uint64, err error) {
	if len(code) == 0 {
		return nil, errNoCode
	}
	switch machine {
	case "x86-64":
		for at := 0; at < len(code); {
			in, err := x86.Decode(code[at:], 64)
			if err != nil {
				// Go pads functions with int3.
				if code[at] == 0xcc {
					at++
					continue
				}
				return nil, errDecode
			}
			if in.Op == x86asm.RET {
				list = append(list, uint64(at))
			}
			at += in.Len
		}
	case "arm64":
		for at := 0; at+4 <= len(code); at += 4 {
			if code[at] == 0xc0 && code[at+1] == 0x03 && code[at+2] == 0x5f && code[at+3] == 0xd6 {
				list = append(list, uint64(at))
			}
		}
	default:
		return nil, errMachine
	}
	return list, nil
}

// goEntry returns the offset of the first instruction behind the stack check of a Go function of x86-64.
// A function whose stack is too small gets a larger one and begins again at its first byte, so that a
// probe there would count the call twice.
func goEntry(code []byte, machine string) uint64 {
	if machine != "x86-64" {
		return 0
	}
	const check = 8 // the most instructions of a stack check
	compared := false
	for at, n := 0, 0; at < len(code) && n < check; n++ {
		in, err := x86.Decode(code[at:], 64)
		if err != nil {
			break
		}
		at += in.Len
		if compared && in.Op == x86asm.JBE {
			return uint64(at)
		}
		m, ok := in.Args[1].(x86asm.Mem)
		compared = in.Op == x86asm.CMP && ok && m.Base == x86asm.R14 && m.Disp == 0x10
	}
	return 0
}
