package app

import (
	"os"
	"strings"
	"testing"
)

func TestKindOfText(t *testing.T) {
	for text, want := range map[string]TextKind{
		"    #0 0x7f0985  (/opt/gcc5.so+0x0985)\n":     TextAddresses,
		"first\nsecond\n./prog(main+0x15)[0x401136]\n": TextAddresses,
		"only words\n": TextModules,
		"Hello! It is 12:00 now.\nSee (/etc/hosts), \"frames\" and version 0x10.\n":                                                 TextModules,
		"modules of 2026-01-02 10:00:00\nwhatever\n":                                                                                TextModules,
		"-----BEGIN BREAKPAD MICRODUMP-----\nV Android:1\n":                                                                         TextAddresses,
		"Faulting module name: b.dll, version: 1.0.0.0, time stamp: 0x5fd8e2a1\nException code: 0xc0000005\nFault offset: 0x1234\n": TextAddresses,
		"": TextModules,
		"7ff600000000 7ff600010000 C:\\prog\\a.exe\n7ff610000000 7ff610010000 b.dll\n": TextModules,
	} {
		if got := KindOfText([]byte(text)); got != want {
			t.Errorf("%q is %d, want %d", strings.TrimSpace(text), got, want)
		}
	}
	probes, err := os.ReadFile("../parser/probes/testdata/bpftrace.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := KindOfText(probes[:min(len(probes), 4096)]); got != TextLog {
		t.Errorf("what bpftrace prints is %d", got)
	}
}
