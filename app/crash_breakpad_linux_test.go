package app

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"logparser/symbols/attached"
)

var (
	buildIDLine  = regexp.MustCompile(`Build ID: ([0-9a-f]+)`)
	functionLine = regexp.MustCompile(`(?m)^([0-9a-f]+) ([0-9a-f]+) [tT] (\S+)$`)
	ruleBlock    = regexp.MustCompile(`(?m)^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)\n   LOC +CFA +(.*)\n((?:[0-9a-f]{16} .*\n)+)`)
)

// breakpadSymbols writes a symbol file as Breakpad's dump_syms does, of what nm and readelf say of a program.
func breakpadSymbols(t *testing.T, program, path string) {
	t.Helper()
	output := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(tool(t, name), append(args, program)...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return string(out)
	}
	found := buildIDLine.FindStringSubmatch(output("readelf", "-nW"))
	if found == nil {
		t.Skip("the linker writes no build-id")
	}
	id, err := hex.DecodeString(found[1])
	if err != nil || len(id) < 16 {
		t.Fatalf("build-id %s", found[1])
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "MODULE Linux x86_64 %02X%02X%02X%02X%02X%02X%02X%02X%X0 crash\nINFO CODE_ID %X\n", id[3], id[2], id[1], id[0], id[5], id[4], id[7], id[6], id[8:16], id)
	for _, m := range functionLine.FindAllStringSubmatch(output("nm", "-S", "--defined-only"), -1) {
		fmt.Fprintf(&b, "FUNC %s %s 0 %s\n", strings.TrimLeft(m[1], "0"), strings.TrimLeft(m[2], "0"), m[3])
	}
	for _, m := range ruleBlock.FindAllStringSubmatch(output("readelf", "--debug-dump=frames-interp"), -1) {
		if strings.Contains(m[4], "exp") {
			continue
		}
		names := strings.Fields(m[3])
		for i, row := range strings.Split(strings.TrimSpace(m[4]), "\n") {
			cells := strings.Fields(row)
			register, offset, _ := strings.Cut(cells[1], "+")
			if i == 0 {
				var lo, hi uint64
				fmt.Sscanf(m[1]+" "+m[2], "%x %x", &lo, &hi)
				fmt.Fprintf(&b, "STACK CFI INIT %x %x", lo, hi-lo)
			} else {
				fmt.Fprintf(&b, "STACK CFI %s", strings.TrimLeft(cells[0], "0"))
			}
			fmt.Fprintf(&b, " .cfa: $%s %s +", register, offset)
			for k, cell := range cells[2:] {
				name := "$" + names[k]
				if name == "$ra" {
					name = ".ra"
				}
				if offset, ok := strings.CutPrefix(cell, "c"); ok {
					fmt.Fprintf(&b, " %s: .cfa %s + ^", name, offset)
				}
			}
			b.WriteByte('\n')
		}
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPackedBreakpad: a program that is not there any more, and of which a symbol file of Breakpad's is, crashed: packed, kept and
// attached its records lead to the same stack as from the file.
func TestPackedBreakpad(t *testing.T) {
	built, objects, source := crashProgram(t)
	dir := t.TempDir()
	program, symbolFile, log := filepath.Join(dir, "crash"), filepath.Join(t.TempDir(), "crash.sym"), filepath.Join(dir, "crash.lptrace")
	args := append([]string{"-w", "-O2", "-fomit-frame-pointer", "-finstrument-functions", "-DWAY=3", source, "-o", program, "-lpthread", "-ldl"}, objects...)
	for _, args := range [][]string{append([]string{tool(t, "gcc")}, args...), {program}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = built, append(os.Environ(), "LOGREC_FILE="+log, "LOGREC_CRASH=last")
		if out, err := cmd.CombinedOutput(); err != nil && args[0] != program {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	breakpadSymbols(t, program, symbolFile)

	// Attached they stand for rules that the program does not have itself.
	bare := filepath.Join(t.TempDir(), "crash")
	if out, err := exec.Command(tool(t, "objcopy"), "--remove-section=.eh_frame", "--remove-section=.eh_frame_hdr", "--strip-all", program, bare).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	list, _, err := Attach(t.Context(), bare, []string{symbolFile}, "", Inputs{}, nil)
	if err != nil || len(list) != 1 || list[0].Unwind == 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	want, found := crashOf(t, Inputs{Log: log, Symbols: []string{symbolFile}})
	if !strings.Contains(want, `"compare"`) || !strings.Contains(want, `"main"`) || found["cfi"] < 4 || found["scan"]+found["frame pointer"] > 0 {
		t.Errorf("found %v:\n%s", found, want)
	}
	if got, found := crashOf(t, Inputs{Log: log, Symbols: []string{filepath.Dir(bare)}}); found["scan"]+found["frame pointer"] > 0 || !strings.Contains(got, `"main"`) {
		t.Errorf("attached, found %v:\n%s", found, got)
	}

	s, err := Open(t.Context(), Inputs{Log: log, Symbols: []string{symbolFile}, NoIndexCache: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pack := filepath.Join(t.TempDir(), "one.lppack")
	if _, err := s.Pack(t.Context(), pack, PackOptions{Crash: true}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Keep(t.Context(), "", nil); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"packed": pack, "kept": log} {
		in := Inputs{Log: path, NoRecordedPaths: path == pack}
		if got, _ := crashOf(t, in); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	again := repack(t, pack)
	if got, _ := crashOf(t, Inputs{Log: again, NoRecordedPaths: true}); got != want {
		t.Errorf("from a pack of the pack:\n%s\nwant\n%s", got, want)
	}
	if n := stackRecords(t, again); n == 0 {
		t.Error("the pack of the pack has no STACK records")
	}
}

// repack packs a packed log again.
func repack(t *testing.T, pack string) string {
	t.Helper()
	s, err := Open(t.Context(), Inputs{Log: pack, NoRecordedPaths: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	again := filepath.Join(t.TempDir(), "two.lppack")
	if _, err := s.Pack(t.Context(), again, PackOptions{Crash: true}, nil); err != nil {
		t.Fatal(err)
	}
	return again
}

// stackRecords counts the modules of a container that have STACK records.
func stackRecords(t *testing.T, path string) (n int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c, err := attached.OpenContainer(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Modules() {
		if _, err := m.OpenStack(); err == nil {
			n++
		}
	}
	return n
}
