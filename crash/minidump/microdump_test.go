package minidump

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"logparser/symbols/unwind"
)

// testMicrodump returns a microdump of x64 after other lines of a log.
func testMicrodump() string {
	context := make([]byte, 1232)
	order.PutUint64(context[120+16*8:], 0x401234)
	order.PutUint64(context[120+4*8:], 0x5010)
	lines := []string{MicrodumpBegin, "V app:1", "O L x86_64 02 x86_64 4.4", "R 0000000B SIGSEGV 0000000000000008",
		"S 0 0000000000005010 0000000000005000 0000000000001000",
		"S 0000000000005000 " + strings.Repeat("11", 16), "S 0000000000005010 " + strings.Repeat("22", 16),
		fmt.Sprintf("C %X", context),
		"M 0000000000400000 0000000000000000 0000000000010000 D6D1FEC9A15DE7F38A236898871A2E770 my app", MicrodumpEnd}
	var b strings.Builder
	b.WriteString("01-25 09:57:54.100 I/other(1): a line before\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "01-25 09:57:54.139 F/google-breakpad(  467): %s\r\n", l)
	}
	return b.String()
}

func readMicrodump(text string) (pc, sp uint64, cause string, err error) {
	p, err := ReadMicrodump(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return 0, 0, "", err
	}
	pc, _ = p.Threads[0].Registers.Get(p.Machine.PC())
	sp, _ = p.Threads[0].Registers.Get(p.Machine.SP())
	return pc, sp, p.Cause.Text().String(), nil
}

func TestMicrodump(t *testing.T) {
	text := testMicrodump()
	p, err := ReadMicrodump(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != 467 || p.System != "Linux" || p.Machine != unwind.X8664 || p.Program != "my app" || !p.Threads[0].Crashed {
		t.Errorf("%+v", p)
	}
	if pc, sp, cause, _ := readMicrodump(text); pc != 0x401234 || sp != 0x5010 || cause != "SIGSEGV" {
		t.Errorf("pc %#x, sp %#x, %q", pc, sp, cause)
	}
	if got := p.Modules[0].Identity.String(); got != "build-id:c9fed1d65da1f3e78a236898871a2e77" {
		t.Error(got)
	}
	if lo, hi, ok := p.Memory.Range(0x5010); lo != 0x5000 || hi != 0x5020 || !ok {
		t.Errorf("stack %#x-%#x, %v", lo, hi, ok)
	}
	// The last complete microdump is used.
	if p, err := ReadMicrodump(strings.NewReader(text+text+text[:len(text)/2]), int64(2*len(text)+len(text)/2)); err != nil || len(p.Notes) != 1 {
		t.Errorf("%v, %v", p, err)
	}
	for _, damaged := range []string{"", "no dump", text[:len(text)-20], strings.Replace(text, ": C ", ": c ", 1), strings.Replace(text, "x86_64 02", "mips 02", 1),
		strings.Replace(text, "x86_64 02", "arm 02", 1), strings.Replace(text, ": C 0000", ": C zz", 1)} {
		if _, _, _, err := readMicrodump(damaged); err == nil {
			t.Errorf("%.40q is read", damaged)
		}
	}
	if _, _, _, err := readMicrodump("no dump"); !errors.Is(err, ErrNoMicrodump) {
		t.Error(err)
	}
	// Lines that are too long are skipped at any place.
	if pc, _, _, err := readMicrodump(strings.Repeat("x", 3*maxLine) + "\n" + strings.Replace(text, "V app", "V "+strings.Repeat("y", 2*maxLine), 1)); pc != 0x401234 || err != nil {
		t.Errorf("%#x, %v", pc, err)
	}
}

func FuzzMicrodump(f *testing.F) {
	f.Add([]byte(testMicrodump()))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := ReadMicrodump(bytes.NewReader(b), int64(len(b))); err == nil {
			check(t, p, len(b))
		}
	})
}
