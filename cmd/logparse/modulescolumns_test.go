package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestModulesColumns shows the sample with its modules file in forms that other
// programs may write. Each must give the table that the documented form gives.
func TestModulesColumns(t *testing.T) {
	files := map[string][]byte{}
	for _, name := range []string{"LogDetails.dat", "LogDetails.bin"} {
		data, err := os.ReadFile(filepath.Join("../../assets/sample", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = data
	}
	var modules [][3]string
	for _, line := range strings.Split(strings.TrimSpace(string(files["LogDetails.bin"])), "\n") {
		if f := strings.Fields(line); strings.HasPrefix(line, "0x") {
			modules = append(modules, [3]string{f[0], f[5], f[1]})
		}
	}
	if len(modules) == 0 {
		t.Fatal("the sample has no modules")
	}
	const start = "2026-11-21T12:32:25.235\n4489861\n"
	show := func(log, head string, line func(base, name, size string) string, args ...string) (string, string) {
		t.Helper()
		dir := t.TempDir()
		text := head
		for _, m := range modules {
			text += line(m[0], m[1], m[2]) + "\n"
		}
		for name, data := range map[string][]byte{log: files["LogDetails.dat"], "LogDetails.bin": []byte(text)} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		code, out, errs := logparse(append([]string{"show", filepath.Join(dir, log), "--symbols", dir, "--no-recorded-paths"}, args...)...)
		if code != 0 {
			t.Fatalf("status %d: %s", code, errs)
		}
		return out, errs
	}
	want, _ := show("LogDetails.dat", start, func(base, name, size string) string { return base + " " + size + " " + name })
	if !strings.Contains(want, "logtest.exe") {
		t.Fatalf("no modules in\n%.2000s", want)
	}
	for _, test := range []struct {
		name, log, head string
		line            func(base, name, size string) string
		args            []string
	}{
		{"the article's order", "LogDetails.dat", start, func(base, name, size string) string { return base + " " + name + " " + size }, nil},
		{"a labelled tick and the day first", "LogDetails.dat", "21.11.2026 12:32:25.235 Tick=4489861\n",
			func(base, name, size string) string { return name + ";" + base + ";" + size }, nil},
		{"three lines a module", "LogDetails.dat", start, func(base, name, size string) string { return base + "\n" + name + "\n" + size }, nil},
		{"labels", "LogDetails.dat", start, func(base, name, size string) string {
			return "Load Address: " + base + ", Module: " + name + ", Size: " + size
		}, nil},
		{"columns given", "LogDetails.dat", start, func(base, name, size string) string { return size + " " + name + " " + base },
			[]string{"--modules-columns", "size,name,base"}},
		{"the log's other name", "LegDetails.dat", start, func(base, name, size string) string { return base + " " + name + " " + size }, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, errs := show(test.log, test.head, test.line, test.args...)
			if got = strings.ReplaceAll(got, "LegDetails.dat", "LogDetails.dat"); got != want {
				t.Errorf("got\n%.2000s\nwant\n%.2000s\nand on stderr\n%s", got, want, errs)
			}
		})
	}
}

func TestModulesColumnsQuestion(t *testing.T) {
	dir := t.TempDir()
	// One record in each of two places: neither reading has most of them.
	record := func(address byte) []byte {
		r := make([]byte, 16)
		r[3], r[4], r[12] = address, 1, 1
		return r
	}
	log, bin := filepath.Join(dir, "LogDetails.dat"), filepath.Join(dir, "LogDetails.bin")
	if err := os.WriteFile(log, append(record(0x02), record(0x02)...), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bin, []byte("0x02000000 0x00400000 a.exe\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	code, _, errs := logparse("show", log)
	if code != 1 || !strings.Contains(errs, "several ways: base:hex,size:hex,name or") || !strings.Contains(errs, "--modules-columns base:hex,size:hex,name") {
		t.Errorf("status %d: %s", code, errs)
	}
	code, out, errs := logparse("show", log, "--modules-columns", "base,size,name")
	if code != 0 || !strings.Contains(out, "a.exe") {
		t.Errorf("status %d: %s\n%s", code, errs, out)
	}
	if code, _, errs := logparse("show", log, "--modules-columns", "base,size"); code != 2 || !strings.Contains(errs, "--modules-columns") {
		t.Errorf("status %d: %s", code, errs)
	}
}
