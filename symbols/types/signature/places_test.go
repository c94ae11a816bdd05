package signature

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/hooks"
	"logparser/symbols/image"
	"logparser/symbols/types"
)

// codeOf makes an ELF image whose only section of code is text, at 0x1000.
func codeOf(t *testing.T, text []byte) *hooks.Code {
	t.Helper()
	const head, program, section, at = 64, 56, 64, 0x1000
	le := binary.LittleEndian
	data := make([]byte, head+program+3*section)
	copy(data, "\x7fELF\x02\x01\x01")
	le.PutUint16(data[16:], uint16(elf.ET_DYN))
	le.PutUint16(data[18:], uint16(elf.EM_X86_64))
	le.PutUint32(data[20:], 1)
	le.PutUint64(data[32:], head)
	le.PutUint64(data[40:], head+program)
	for i, n := range []uint16{head, program, 1, section, 3, 2} {
		le.PutUint16(data[52+2*i:], n)
	}
	load := data[head:]
	le.PutUint32(load, uint32(elf.PT_LOAD))
	le.PutUint32(load[4:], uint32(elf.PF_R|elf.PF_X))
	le.PutUint64(load[40:], 2*at)
	const names = "\x00.text\x00.shstrtab\x00"
	for i, s := range []struct {
		name, kind, flags uint32
		addr, size        int
	}{{1, uint32(elf.SHT_PROGBITS), uint32(elf.SHF_ALLOC | elf.SHF_EXECINSTR), at, len(text)}, {7, uint32(elf.SHT_STRTAB), 0, 0, len(names)}} {
		b := data[head+program+(i+1)*section:]
		le.PutUint32(b, s.name)
		le.PutUint32(b[4:], s.kind)
		le.PutUint64(b[8:], uint64(s.flags))
		le.PutUint64(b[16:], uint64(s.addr))
		le.PutUint64(b[24:], uint64(len(data)+i*len(text)))
		le.PutUint64(b[32:], uint64(s.size))
	}
	data = append(append(data, text...), names...)
	im, err := image.Open(&symbols.File{Path: "made", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	code, err := hooks.Functions(im)
	if err != nil || code == nil {
		t.Fatal(err)
	}
	return code
}

// TestPlace holds what names and code together show against what was compiled. In the results is how many places are before
// the parameters, and of each parameter whether it is taken.
func TestPlace(t *testing.T) {
	for _, test := range []struct {
		mangled, code, want string
	}{
		{"_ZN3app1fEii", "8d0437 01d0 c3", "0: this, taken, taken"}, // lea eax, [rdi+rsi]; add eax, edx: three of two
		{"_ZN3app1fEii", "8d0437 c3", "-1: not, not"},
		{"_ZN3app1fEi2Pt", "8d0437 01d0 c3", "-1: not, not"},             // the class may be in rsi and rdx
		{"_ZN3app1fEi2Pt", "8d0437 01d0 01c8 c3", "0: this, taken, not"}, // and ecx
		{"_Z3addiSt4spanIiLm18446744073709551615EE", "8b06 01d0 01f8 c3", "0: taken, not"},
		{"_ZNK1R4moveEi2Pt", "8b07 01f0 01d0 01c8 c3", "0: this, taken, not"},  // mov eax, [rdi]; add eax, esi…
		{"_ZNK1R4moveEi2Pt", "4889f8 8b0e 01d1 890f c3", "-1: this, not, not"}, // its result may be in memory
		{"_ZN1AC2Ei", "c3", "0: not this, not"},                                // nothing is read
		{"_ZN1AC2Ei", "8937 c3", "0: this, not"},                               // mov [rdi], esi, which may be the table of virtual bases
		{"_ZN1AC1Ei", "8937 c3", "0: this, taken"},
		{"?f@X@@QEAA?A?<auto>@@HH@Z", "4889d0 448902 c3", "-1: not this, not, not"},              // mov rax, rdx; mov [rdx], r8d: the result's address
		{"?f@X@@QEAA?A?<auto>@@HH@Z", "428d0402 c3", "0: not this, taken, taken"},                // lea eax, [rdx+r8]
		{"?f@X@@QEAA?A?<auto>@@H@Z", "8b01 8902 44894204 4889d0 c3", "1: not this, taken"},       // mov eax, [rcx]; mov [rdx], eax; mov [rdx+4], r8d; mov rax, rdx
		{"?f@X@@QEAA?A?<auto>@@HH@Z", "8b01 8902 44894a04 4889d0 c3", "1: not this, not, taken"}, // mov [rdx+4], r9d
		{"?f@X@@QEAA?AUBig@@H@Z", "8b01 8902 44894204 4889d0 c3", "0: this, taken"},
		{"?f@X@@QEAA?AUBig@@H@Z", "8b01 8902 4889d0 c3", "0: this, not"},
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		r := newReader(codeOf(t, code), sizes{windows: test.mangled[0] == '?'})
		d := declare(test.mangled, r.sizes, every)
		if d == nil {
			t.Errorf("%s is not understood", test.mangled)
			continue
		}
		f := types.Function{RVA: 0x1000, Size: uint64(len(code)), Parameters: append([]types.Parameter(nil), d.parameters...)}
		r.place(&f, d)
		var list []string
		for _, p := range f.Parameters {
			word := "taken"
			if p.Name == "this" {
				word = "this"
			}
			switch known := f.Leading >= 0 && !p.Unused && p.Type.Kind != types.Opaque; {
			case !known && word == "this" && p.Unused:
				word = "not this"
			case !known && word != "this":
				word = "not"
			}
			list = append(list, word)
		}
		if got := fmt.Sprintf("%d: %s", f.Leading, strings.Join(list, ", ")); got != test.want {
			t.Errorf("%s, %s: %s, want %s", test.mangled, test.code, got, test.want)
		}
	}
}
