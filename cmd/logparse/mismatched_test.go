package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// command runs the command and returns what it printed.
func command(t *testing.T, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return stdout.String(), stderr.String(), code
}

// staleLog copies a log with its image and a PDB of another build.
func staleLog(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"LogDetails.dat", "LogDetails.bin", "logtest.exe", "logtest.pdb"} {
		data, err := os.ReadFile(filepath.Join("../../testdata/logtest/windows-x64-clang", name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "logtest.pdb" {
			guid := []byte("\x8e\xac\x50\xeb\x47\xa1\x37\xd1\x4c\x4c\x44\x20\x50\x44\x42\x2e")
			if !bytes.Contains(data, guid) {
				guid = []byte("\xeb\x50\xac\x8e\xa1\x47\xd1\x37\x4c\x4c\x44\x20\x50\x44\x42\x2e")
			}
			other := bytes.Clone(guid)
			other[15]++
			if data = bytes.ReplaceAll(data, guid, other); !bytes.Contains(data, other) {
				t.Fatal("the PDB has another GUID")
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestLoadMismatched holds that names of another build come only with the
// switch, and marked, from every verb.
func TestLoadMismatched(t *testing.T) {
	dir := staleLog(t)
	for _, load := range []bool{false, true} {
		flags := []string{"--no-recorded-paths"}
		if load {
			flags = append(flags, "--load-mismatched")
		}
		saved := filepath.Join(dir, "out.csv")
		if _, errs, code := command(t, append([]string{"save", dir, "-o", saved}, flags...)...); code != exitOK {
			t.Fatalf("save: %s", errs)
		}
		csv, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		shown, errs, _ := command(t, append([]string{"show", dir}, flags...)...)
		lines, _, _ := command(t, append([]string{"show", dir, "--json"}, flags...)...)
		resolved, _, _ := command(t, append([]string{"resolve", "--image", filepath.Join(dir, "logtest.exe"), "0x4290", "0x4264"}, flags...)...)
		answers, _, _ := command(t, append([]string{"resolve", "--json", "--image", filepath.Join(dir, "logtest.exe"), "0x4290", "0x4264"}, flags...)...)
		for what, text := range map[string]string{"save": string(csv), "show": shown, "show --json": lines, "resolve": resolved, "resolve --json": answers} {
			// The name of a function that has the name of a file in it.
			text = strings.ReplaceAll(text, "_GLOBAL__sub_I_main.cpp", "")
			marked, files := strings.Count(text, "[mismatched] "), strings.Count(text, ".cpp")
			if marked > 0 != load || files > 0 && !load || files != strings.Count(text, ".cpp [mismatched]") {
				t.Errorf("load %v: %s has %d marks and %d sources:\n%.600s", load, what, marked, files, text)
			}
		}
		if want := "because that was asked for"; strings.Contains(errs, want) != load {
			t.Errorf("load %v: warnings %s", load, errs)
		}
		table, _, _ := command(t, append([]string{"symbols", dir}, flags...)...)
		if !strings.Contains(table, "mismatched") || !strings.Contains(table, "recorded is 8EAC50EB-47A1-37D1-4C4C-44205044422E age 1") ||
			!strings.Contains(table, filepath.Join(dir, "logtest.pdb")) || strings.Contains(table, "asked for") != load {
			t.Errorf("load %v: symbols prints\n%s", load, table)
		}
	}
}

// TestPlacesLooked holds that symbols -v and --json list every place in order,
// and the servers of the environment as not asked.
func TestPlacesLooked(t *testing.T) {
	dir := staleLog(t)
	for _, name := range []string{"logtest.exe", "logtest.pdb"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	first, second := t.TempDir(), t.TempDir()
	t.Setenv("_NT_SYMBOL_PATH", "srv*"+second+"*https://symbols.example/s")
	t.Setenv("DEBUGINFOD_URLS", "https://debug.example")
	want := []string{first, dir, second, `C:\logtest\logtest.exe`, "https://symbols.example/s", "debuginfod:https://debug.example"}
	out, errs, code := command(t, "symbols", dir, "--json", "--no-recorded-paths", "--symbols", first)
	if code != exitOK {
		t.Fatal(errs)
	}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		var m jsonModule
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if filepath.Base(strings.ReplaceAll(m.Path, `\`, "/")) != "logtest.exe" {
			continue
		}
		if m.Status != "not found" {
			t.Errorf("%s: %s", m.Status, m.Reason)
		}
		at := 0
		for _, place := range m.Looked {
			if at < len(want) && place.Path == want[at] {
				at++
			}
			if strings.Contains(place.Path, "example") && place.Outcome != "a symbol server, not asked: the network is switched off" {
				t.Errorf("%s: %s", place.Path, place.Outcome)
			}
		}
		if at != len(want) {
			t.Errorf("the places lack %s, or it is not in its place:\n%v", want[at], m.Looked)
		}
	}
	text, _, _ := command(t, "symbols", dir, "-v", "--no-recorded-paths", "--symbols", first)
	if want := "looked    debuginfod:https://debug.example: a symbol server, not asked: the network is switched off"; !strings.Contains(text, want) {
		t.Errorf("symbols -v lacks %q:\n%s", want, text)
	}
}
