package main

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLinkedAddresses names addresses of programs that are linked to one, as nm and debuggers show them, also where the program is
// larger than its base, so that they might be relative to it.
func TestLinkedAddresses(t *testing.T) {
	for name, test := range map[string]struct{ padding, more string }{
		"small":      {"", ""},
		"large data": {"char big[64 << 20];\n", ""},
		"large code": {`__asm__(".text\n .globl padding\n padding: .skip 0x900000, 0xc3\n");` + "\n", "padding"},
	} {
		t.Run(name, func(t *testing.T) {
			source := test.padding + "int first(int x) { return x + 1; }\nint second(int x) { return x + 2; }\nint main(void) { return first(1) + second(2); }\n"
			program := compile(t, source, "-g", "-O0", "-no-pie", "-fno-pie")
			at := linkedTo(t, program)
			text := filepath.Join(filepath.Dir(program), "text")
			for _, function := range []string{"first", "second", "main"} {
				at := at[function]
				code, out, errs := logparse("resolve", "--image", program, fmt.Sprintf("%#x", at), fmt.Sprintf("+%#x", at-0x400000))
				if code != exitOK || strings.Count(out, function+"(")+strings.Count(out, function+" ") != 2 {
					t.Errorf("resolve %s at %#x: status %d: %s%s", function, at, code, out, errs)
				}
				// A stack as a program prints it itself: return addresses.
				if err := os.WriteFile(text, fmt.Appendf(nil, "called by %#x\n#1  0x%016x in ?? ()\n", at+4, at+4), 0o666); err != nil {
					t.Fatal(err)
				}
				if code, out, errs = logparse("symbolize", "--image", program, text); code != exitOK || strings.Count(out, function) != 2 {
					t.Errorf("symbolize %s at %#x: status %d: %s%s", function, at, code, out, errs)
				}
			}
			if test.more != "" {
				// What is code by both readings is a linked address in a program that has one.
				at := at[test.more] + 0x80
				if _, out, _ := logparse("resolve", "--image", program, fmt.Sprintf("%#x", at)); !strings.Contains(out, test.more) {
					t.Errorf("%#x: %s", at, out)
				}
			}
		})
	}
}

// linkedTo returns where the functions of a program of ELF are linked to.
func linkedTo(t *testing.T, program string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := make(map[string]uint64)
	for _, s := range list {
		at[s.Name] = s.Value
	}
	return at
}
