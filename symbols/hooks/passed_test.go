package hooks

import (
	"encoding/hex"
	"strings"
	"testing"

	"logparser/symbols/image"
)

// TestPassed holds what the code of functions says of their arguments against what is known of it.
func TestPassed(t *testing.T) {
	for _, test := range []struct {
		code, reads string
		notHidden   bool
	}{
		{"8d0437 c3", "rdi rsi", true},                           // lea eax, [rdi+rsi]
		{"4889f8 c3", "rdi", false},                              // mov rax, rdi
		{"488b07 c3", "rdi", true},                               // mov rax, [rdi]: the address is not kept
		{"89f0 4889fb c3", "rsi rdi", true},                      // mov eax, esi; mov rbx, rdi
		{"53 4889fb e800000000 4889d8 5b c3", "rdi", false},      // kept over a call, and returned
		{"e800000000 31c0 c3", "", true},                         // a call gets rdi, but 0 is returned
		{"e800000000 c3", "", false},                             // what a call returns may be the address that it got
		{"31ff 4989f0 c3", "rsi", true},                          // xor edi, edi reads nothing
		{"57 5f 31c0 c3", "", true},                              // push and pop
		{"85ff 7402 89f0 c3", "rdi rsi", true},                   // test edi, edi; je; mov eax, esi
		{"eb02 31f6 89f0 c3", "rsi", true},                       // jmp over xor esi, esi
		{"85ff 7402 31f6 89f0 c3", "rdi", true},                  // on one way rsi is written before
		{"89fe ebfc", "rdi", false},                              // for ever
		{"ffe7", "rdi", false},                                   // jmp rdi
		{"f20f58c1 c3", "xmm0 xmm1", true},                       // addsd xmm0, xmm1
		{"4889e0 c5f877 c3", "rsp", false},                       // what is not understood
		{"8d7f00 488d3f c3", "rdi", false},                       // lea rdi, [rdi] reads nothing of use
		{"4863c7 c3", "rdi", true}, {"48634708 c3", "rdi", true}, // movsxd
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(test.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		c := &Code{im: &image.Image{Kind: image.ELF}, calls: &sysV, text: []textSection{{0x1000, code}}, left: maxDecoded}
		p := c.Passed(0x1000, uint64(len(code)), "rdi")
		want := Passed{NotHidden: test.notHidden}
		for _, name := range strings.Fields(test.reads) {
			i, _ := numberOf(name)
			want.reads |= 1 << i
		}
		if p != want {
			t.Errorf("%s: %b %v, want %b %v", test.code, p.reads, p.NotHidden, want.reads, want.NotHidden)
		}
	}
}

// TestPassedBudget follows no more instructions of all functions together than it may.
func TestPassedBudget(t *testing.T) {
	code := []byte{0x89, 0xf0, 0x48, 0x89, 0xfb, 0xc3} // mov eax, esi; mov rbx, rdi; ret
	for left, want := range map[int]bool{2: false, 5: false, 6: true} {
		c := &Code{im: &image.Image{Kind: image.ELF}, calls: &sysV, text: []textSection{{0x1000, code}}, left: left}
		if p := c.Passed(0x1000, uint64(len(code)), "rdi"); p.NotHidden != want {
			t.Errorf("with %d instructions left: %v", left, p.NotHidden)
		}
	}
}
