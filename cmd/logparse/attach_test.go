package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// copyLog copies a recorded run of LogTest.
func copyLog(t *testing.T, lane string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("../../testdata/logtest", lane))); err != nil {
		t.Fatal(err)
	}
	return dir
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// must runs a command that has to succeed, and returns what it printed.
func must(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	out, errs, code := command(t, args...)
	if code != exitOK {
		t.Fatalf("%s: status %d: %s", strings.Join(args, " "), code, errs)
	}
	return out, errs
}

// lanes are those of the recorded runs, with the files that have symbols.
var lanes = map[string]struct{ exe, library, symbols string }{
	"linux-gcc-O2":      {"logtest", "liblogtest_shapes.so", ""},
	"windows-x64-clang": {"logtest.exe", "logtest_shapes.dll", "*.pdb"},
	"windows-x64-mingw": {"logtest.exe", "logtest_shapes.dll", ""},
	"windows-x86-clang": {"logtest.exe", "logtest_shapes.dll", "*.pdb"},
}

// TestAttach has an executable carry its symbols and those of its library, takes away
// all else, and compares the table.
func TestAttach(t *testing.T) {
	for lane, files := range lanes {
		t.Run(lane, func(t *testing.T) {
			dir := copyLog(t, lane)
			table := func() string {
				path := filepath.Join(t.TempDir(), "calls.csv")
				must(t, "save", dir, "-o", path, "--no-recorded-paths")
				return readFile(t, path)
			}
			want := table()
			exe, library := filepath.Join(dir, files.exe), filepath.Join(dir, files.library)
			original := readFile(t, exe)
			when := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
			if err := errors.Join(os.Chmod(exe, 0o750), os.Chtimes(exe, when, when)); err != nil {
				t.Fatal(err)
			}
			out, _ := must(t, "attach", exe, library)
			if n := strings.Count(out, "% of its code"); n != 2 {
				t.Errorf("attach says %q", out)
			}
			info, err := os.Stat(exe)
			if err != nil || !info.ModTime().Equal(when) || info.Mode().Perm() != 0o750 && os.PathSeparator == '/' {
				t.Errorf("the time is %v, the mode %v, %v", info.ModTime(), info.Mode(), err)
			}
			if files.symbols != "" {
				remove(t, dir, files.symbols)
				if got := strings.ReplaceAll(table(), ",attached,", ",matched,"); got != want {
					t.Error("the table is another one")
				}
				out, _ := must(t, "symbols", dir, "--no-recorded-paths")
				if n := strings.Count(out, "  attached "); n != 2 {
					t.Errorf("%d modules are attached: %s", n, out)
				}
				if !strings.Contains(out, "PDB 7.00, attached to "+files.exe) {
					t.Errorf("symbols says %s", out)
				}
			} else if out, _ := must(t, "resolve", "--image", exe, "0x1500"); out == "" {
				t.Error("nothing is resolved")
			}
			// The library itself is not needed.
			remove(t, dir, files.library)
			if got := table(); strings.Count(got, "area") != strings.Count(want, "area") || !strings.Contains(want, "area") {
				t.Error("without the library its functions have no names")
			}
			must(t, "detach", exe)
			if readFile(t, exe) != original {
				t.Error("detached it is another file")
			}
			if _, errs, code := command(t, "detach", exe); code != exitError || !strings.Contains(errs, "no symbols are attached") {
				t.Errorf("detached twice: %d %s", code, errs)
			}
		})
	}
}

func remove(t *testing.T, dir, pattern string) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %v, %v", pattern, list, err)
	}
	for _, path := range list {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAttachOtherBuild: symbols that another executable carries give no names.
func TestAttachOtherBuild(t *testing.T) {
	dir := copyLog(t, "windows-x64-clang")
	exe := filepath.Join(dir, "logtest.exe")
	must(t, "attach", exe)
	remove(t, dir, "*.pdb")
	modules := filepath.Join(dir, "LogDetails.bin")
	text := strings.ReplaceAll(readFile(t, modules), "8EAC50EB", "8EAC50EC")
	if err := os.WriteFile(modules, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	out, _ := must(t, "symbols", dir, "--no-recorded-paths")
	if strings.Contains(out, "  attached ") || !strings.Contains(out, "mismatched   Z:") && !strings.Contains(out, "mismatched") {
		t.Errorf("symbols says %s", out)
	}
}

// linkMap is a map, as Microsoft's linker writes it, of a 64-bit PE file: a function each 16
// bytes of its first section.
func linkMap(image, prefix string, stamp bool) string {
	le := binary.LittleEndian
	nt := []byte(image)[le.Uint32([]byte(image)[0x3c:]):]
	base := le.Uint64(nt[24+24:])
	var b strings.Builder
	fmt.Fprintf(&b, " %s\n\n", prefix)
	if stamp {
		fmt.Fprintf(&b, " Timestamp is %08x (Tue Nov 14 22:13:20 2023)\n\n", le.Uint32(nt[8:]))
	}
	fmt.Fprintf(&b, " Preferred load address is %016x\n\n Start         Length     Name                   Class\n", base)
	fmt.Fprintf(&b, " 0001:00000000 00001000H .text                   CODE\n\n")
	fmt.Fprintf(&b, "  Address         Publics by Value              Rva+Base               Lib:Object\n\n")
	for i := range 64 {
		fmt.Fprintf(&b, " 0001:%08x       %s_%02d     %016x f   a.obj\n", 16*i, prefix, i, base+0x1000+16*uint64(i))
	}
	return b.String()
}

// TestAppendMAP is the patent's: the maps of an executable and of a library, appended to the
// executable.
func TestAppendMAP(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	original := readFile(t, "../../testdata/logtest/windows-x64-mingw/logtest.exe")
	library := readFile(t, "../../testdata/logtest/windows-x64-mingw/logtest_shapes.dll")
	exe := write("xxx.exe", original)
	write("yyy.dll", library)
	xxx, yyy := write("xxx.MAP", linkMap(original, "first", true)), write("yyy.MAP", linkMap(library, "second", false))
	out, errs := must(t, "appendmap", exe, xxx, yyy)
	if strings.Count(out, "link map of ") != 2 || !strings.Contains(out, "yyy.dll: ") {
		t.Errorf("appendmap says %s", out)
	}
	if !strings.Contains(errs, "yyy.MAP does not say which build of yyy.dll") || strings.Contains(errs, "xxx.MAP") {
		t.Errorf("appendmap warns: %s", errs)
	}
	must(t, "deletemap", exe)
	if readFile(t, exe) != original {
		t.Error("deletemap left another file")
	}
	// The map stands first where it is asked for, the program's own DWARF elsewhere.
	if out, _ := must(t, "attach", exe, "--from", "map"); !strings.Contains(out, "link map of xxx.MAP") {
		t.Errorf("attach --from map says %s", out)
	}
	if out, _ := must(t, "attach", exe); !strings.Contains(out, "DWARF") {
		t.Errorf("attach says %s", out)
	}
	must(t, "detach", exe)
	other := write("zzz.map", linkMap(original, "third", true))
	for _, args := range [][]string{{"attach", exe, other}, {"attach", exe, "--from", "tea"}, {"attach"}, {"detach"}, {"attach", xxx}} {
		if _, errs, code := command(t, args...); code == exitOK || errs == "" {
			t.Errorf("%v: %d %s", args, code, errs)
		}
	}
	// A map of another build: its timestamp is not the program's.
	text := []byte(linkMap(original, "first", true))
	at := bytes.Index(text, []byte("Timestamp is ")) + len("Timestamp is ")
	text[at+7] ^= 1
	if _, errs, code := command(t, "attach", exe, write("xxx.MAP", string(text))); code == exitOK || !strings.Contains(errs, "of another build") {
		t.Errorf("a map of another build: %d %s", code, errs)
	}
	if readFile(t, exe) != original {
		t.Error("a mistake changed the file")
	}
}

func TestCalledByOtherNames(t *testing.T) {
	for _, tt := range []struct{ args, want []string }{
		{[]string{"/usr/bin/logparse", "info", "x"}, []string{"info", "x"}},
		{[]string{"/opt/AppendMAP", "xxx.exe", "xxx.MAP"}, []string{"appendmap", "xxx.exe", "xxx.MAP"}},
		{[]string{"deletemap.exe", "xxx.exe"}, []string{"deletemap", "xxx.exe"}},
	} {
		if got := arguments(tt.args); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v, want %v", tt.args, got, tt.want)
		}
	}
}

// TestPack opens packed logs in a folder without anything else.
func TestPack(t *testing.T) {
	for lane := range lanes {
		t.Run(lane, func(t *testing.T) {
			dir, away := copyLog(t, lane), t.TempDir()
			pack := filepath.Join(away, "one.lppack")
			for _, format := range []string{"csv", "txt", "jsonl"} {
				must(t, "save", dir, "-o", filepath.Join(dir, "want."+format))
			}
			must(t, "pack", dir, "-o", pack)
			for _, path := range []string{"LogDetails.dat", "LogDetails.bin"} {
				remove(t, dir, path)
			}
			for _, format := range []string{"csv", "txt", "jsonl"} {
				got := filepath.Join(away, "got."+format)
				must(t, "save", pack, "-o", got)
				if readFile(t, got) != readFile(t, filepath.Join(dir, "want."+format)) {
					t.Errorf("the %s is another one", format)
				}
			}
			// A pack can be packed again.
			again := filepath.Join(away, "two.lppack")
			must(t, "pack", pack, "-o", again)
			must(t, "save", again, "-o", filepath.Join(away, "again.csv"))
			if readFile(t, filepath.Join(away, "again.csv")) != readFile(t, filepath.Join(dir, "want.csv")) {
				t.Error("packed again it is another table")
			}
		})
	}
}

// TestPackStarts packs a log whose program has no symbols left: its functions are told by unwind rules. They are not worth attaching, and
// keeping them would keep no names.
func TestPackStarts(t *testing.T) {
	dir := copyLog(t, "windows-x64-clang")
	remove(t, dir, "*.pdb")
	must(t, "save", dir, "--no-recorded-paths", "-o", filepath.Join(dir, "want.csv"))
	want := readFile(t, filepath.Join(dir, "want.csv"))
	if !strings.Contains(want, "sub_") {
		t.Fatal("no function is named by its start")
	}
	pack := filepath.Join(t.TempDir(), "one.lppack")
	must(t, "pack", dir, "--no-recorded-paths", "-o", pack)
	if out, _ := must(t, "save", pack, "-o", filepath.Join(filepath.Dir(pack), "got.csv")); readFile(t, filepath.Join(filepath.Dir(pack), "got.csv")) != want {
		t.Errorf("the table is another one: %s", out)
	}
	if _, errs, code := command(t, "attach", filepath.Join(dir, "logtest.exe"), "--no-recorded-paths"); code != exitError || !strings.Contains(errs, "no symbols of its own functions") {
		t.Errorf("attach: %d, %s", code, errs)
	}
	if _, errs, code := command(t, "keep", dir, "--no-recorded-paths"); code != exitError || !strings.Contains(errs, "no module") {
		t.Errorf("keep: %d, %s", code, errs)
	}
}

// TestPackDamaged opens packs that were cut or changed.
func TestPackDamaged(t *testing.T) {
	dir := copyLog(t, "windows-x64-clang")
	pack := filepath.Join(dir, "one.lppack")
	must(t, "pack", dir, "-o", pack)
	data := []byte(readFile(t, pack))
	bad := filepath.Join(dir, "bad.lppack")
	for i := 0; i < len(data); i += len(data)/50 + 1 {
		changed := bytes.Clone(data)
		changed[i] ^= 0x55
		for _, b := range [][]byte{changed, data[:i]} {
			if err := os.WriteFile(bad, b, 0o666); err != nil {
				t.Fatal(err)
			}
			_, errs, code := command(t, "stats", bad)
			if code != exitOK && errs == "" || strings.Contains(errs, "panic") {
				t.Errorf("byte %d: status %d, %s", i, code, errs)
			}
		}
	}
	if err := os.WriteFile(bad, []byte("something precious"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, code := command(t, "pack", dir, "-o", bad); code != exitError || readFile(t, bad) != "something precious" {
		t.Error("another file was replaced by a pack")
	}
}

// TestKeep rebuilds a program: what was kept beside the log gives the names.
func TestKeep(t *testing.T) {
	good, dir := copyLog(t, "windows-x64-clang"), staleLog(t)
	table := func(dir string) string {
		path := filepath.Join(t.TempDir(), "calls.csv")
		must(t, "save", dir, "-o", path, "--no-recorded-paths", "--where", "module:logtest.exe")
		return readFile(t, path)
	}
	want := table(good)
	must(t, "keep", good, "--no-recorded-paths")
	_, errs := must(t, "save", dir, "-o", filepath.Join(dir, "stale.csv"), "--no-recorded-paths")
	if !strings.Contains(errs, "logparse keep LOG") {
		t.Errorf("of the program that was built anew it says: %s", errs)
	}
	if table(dir) == want {
		t.Error("symbols of another build give the same table")
	}
	if err := os.WriteFile(filepath.Join(dir, "LogDetails.lpsym"), []byte(readFile(t, filepath.Join(good, "LogDetails.lpsym"))), 0o666); err != nil {
		t.Fatal(err)
	}
	if table(dir) != want {
		t.Error("with the symbols that were kept it is another table")
	}
	out, _ := must(t, "symbols", dir, "--no-recorded-paths")
	if !strings.Contains(out, "PDB 7.00 (kept): its identity") {
		t.Errorf("symbols says %s", out)
	}
}

// TestPackCrash packs a log with the record of a crash only when told.
func TestPackCrash(t *testing.T) {
	log := traceFile(t, `file begin=1000
chunk process
chunk events stream=1 thread=7 base=1000
enter @1100 entry 0x400010
chunk process
crash @9000 stream=1 kind=1 thread=7 code=11 address=0x8 flags=1 stackat=0x7000 stack=00ff
`)
	pack := filepath.Join(t.TempDir(), "one.lppack")
	if _, errs, code := command(t, "pack", log, "-o", pack); code != exitError || !strings.Contains(errs, "record of a crash") || !strings.Contains(errs, "--crash") {
		t.Errorf("status %d: %s", code, errs)
	}
	if _, err := os.Stat(pack); err == nil {
		t.Error("it was packed all the same")
	}
	must(t, "pack", log, "-o", pack, "--crash")
	if out, _ := must(t, "info", pack); !strings.Contains(out, "1 ") {
		t.Errorf("info says %s", out)
	}
}
