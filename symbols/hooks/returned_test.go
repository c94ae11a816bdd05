package hooks

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestResults finds out what functions return of which the compiler may have left out the result. Each is at 0x40, behind its caller.
func TestResults(t *testing.T) {
	for name, test := range map[string]struct {
		caller, function string
		returned         string
	}{
		// call 0x40; mov %eax,%ebx; ret and mov %edi,%eax; ret
		"used":                              {"e83b00000089c3c3", "89f8c3", "rax"},
		"not used":                          {"e83b00000031c0c3", "89f8c3", ""},               // call; xor %eax,%eax
		"written before it is read":         {"e83b000000b80500000089c3c3", "89f8c3", ""},     // call; mov $5,%eax; mov %eax,%ebx
		"the function does not write it":    {"e83b00000089c3c3", "8937c3", ""},               // mov %esi,(%rdi): eax may be the caller's
		"returned by the caller":            {"e83b000000c3", "89f8c3", ""},                   // call; ret
		"floating":                          {"e83b000000f20f110424c3", "f20f58c1c3", "xmm0"}, // call; movsd %xmm0,(%rsp); addsd %xmm1,%xmm0
		"in two registers, of which one is": {"e83b00000089d3c3", "89f889f2c3", "rdx"},        // call; mov %edx,%ebx; mov %edi,%eax; mov %esi,%edx
	} {
		text := test.caller + strings.Repeat("90", 0x40-len(test.caller)/2) + test.function
		c := codeOf(text)
		b, _ := hex.DecodeString(test.function)
		found := c.Results(map[uint64]uint64{0x40: uint64(len(b))})[0x40]
		for _, register := range []string{"rax", "rdx", "xmm0", "xmm1"} {
			if found.In(register) != (register == test.returned) {
				t.Errorf("%s: %s: %v", name, register, found.In(register))
			}
		}
	}
}
