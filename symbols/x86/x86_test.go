package x86

import (
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

func TestDecode(t *testing.T) {
	for _, test := range []struct {
		code string
		mode int
		op   x86asm.Op // 0: an error
		len  int
	}{
		{"\xf3\x0f\x1e\xfa\xc3", 64, x86asm.NOP, 4},
		{"\xf3\x0f\x1e\xfb\xc3", 32, x86asm.NOP, 4},
		{"\xc3", 64, x86asm.RET, 1},
		{"\x55", 32, x86asm.PUSH, 1},
		{"", 64, 0, 0},
	} {
		inst, err := Decode([]byte(test.code), test.mode)
		if inst.Op != test.op && test.op != 0 || (err == nil) != (test.op != 0) || err == nil && inst.Len != test.len {
			t.Errorf("% x, %d bits: %v of %d bytes, %v", test.code, test.mode, inst.Op, inst.Len, err)
		}
	}
	if Endbr([]byte("\xf3\x0f\x1e\xfb"), 64) || Endbr([]byte("\xf3\x0f\x1e"), 64) {
		t.Error("an endbr64 where there is none")
	}
	if d := Distance(0xfffffff8); d != -8 {
		t.Errorf("distance %d", d)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("\xf3\x0f\x1e\xfa"), true)
	f.Add([]byte("\x66\x0f\x38\xf6\x00"), false)
	f.Fuzz(func(t *testing.T, code []byte, wide bool) {
		mode := 32
		if wide {
			mode = 64
		}
		if inst, err := Decode(code, mode); err == nil && (inst.Len <= 0 || inst.Len > len(code)) {
			t.Errorf("% x: %d bytes", code, inst.Len)
		}
	})
}
