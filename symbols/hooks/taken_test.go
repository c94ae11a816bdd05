package hooks

import "testing"

// TestTaken finds out which registers functions certainly do nothing with.
func TestTaken(t *testing.T) {
	for name, test := range map[string]struct {
		code         string
		taken, other []string // registers
	}{
		// mov %edi,%eax; add %edx,%eax; ret
		"reads":                      {"89f801d0c3", []string{"rdi", "rdx"}, []string{"rsi", "rcx", "xmm2"}},
		"cleared":                    {"31f631ffc3", []string{"rdx"}, []string{"rdi", "rsi", "rcx"}}, // xor %esi,%esi; xor %edi,%edi; ret
		"returned as it was passed":  {"c3", []string{"xmm0", "rdx"}, []string{"rdi", "xmm2"}},
		"kept before it is used":     {"5389f389d85bc3", []string{"rsi"}, []string{"rdi", "rcx"}},                        // push %rbx; mov %esi,%ebx; mov %ebx,%eax; pop; ret
		"half of the ways":           {"85ff740289f0c3", []string{"rdi", "rsi"}, []string{"rcx"}},                        // test %edi,%edi; je 1f; mov %esi,%eax; 1: ret
		"handed on to what is not":   {"e9fbff0f00", []string{"rdi", "rsi", "xmm3"}, nil},                                // jmp 0x100000, of which the size is not known
		"handed on to its neighbour": {"e90300000090909089f8c3", []string{"rdi"}, []string{"rsi", "rcx"}},                // jmp 8; 8: mov %edi,%eax; ret
		"a hook takes nothing":       {"e8fbff0f0089f8c3", nil, []string{"rsi", "rcx"}},                                  // call 0x100000; mov %edi,%eax; ret
		"numbers of the x87":         {"d97c2408d96c2408df7c2410d96c240889f8c3", []string{"rdi"}, []string{"rsi", "r8"}}, // fnstcw; fldcw; fistpll; fldcw; mov %edi,%eax
		"not understood":             {"0fa2c3", nil, nil},                                                               // cpuid; ret
	} {
		c := codeOf(test.code)
		size := uint64(len(test.code) / 2)
		sizeOf := func(rva uint64) uint64 { return map[uint64]uint64{8: 3}[rva] }
		if name == "handed on to its neighbour" {
			size = 8
		}
		taken := c.Taken(0, size, sizeOf)
		for _, r := range test.taken {
			if taken.Unread(r, true) {
				t.Errorf("%s: nothing is done with %s", name, r)
			}
		}
		for _, r := range test.other {
			if !taken.Unread(r, true) {
				t.Errorf("%s: something is done with %s", name, r)
			}
		}
		if name == "returned as it was passed" && !taken.Unread("xmm0", false) {
			t.Error("a function without a result returns xmm0")
		}
		if name == "not understood" && taken.Unread("rdi", true) {
			t.Error("of code that is not understood something is known")
		}
	}
}
