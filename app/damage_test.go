package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"testing"
)

// logtest returns the folder of a recorded run of LogTest.
func logtest(t testing.TB, lane string) string {
	t.Helper()
	dir := filepath.Join("../testdata/logtest", lane)
	if _, err := os.Stat(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// copyDir copies the files of a folder into a new one.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	return to
}

// openAndSave opens a log as a user would and saves it in every format. It
// returns the error of opening; everything else must go well.
func openAndSave(t *testing.T, in Inputs) error {
	t.Helper()
	ctx := context.Background()
	s, err := Open(ctx, in, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Load(ctx, nil); err != nil {
		t.Errorf("load: %v", err)
	}
	for _, format := range SaveFormats() {
		if err := s.Write(ctx, io.Discard, format, SaveOptions{}, nil); err != nil {
			t.Errorf("save as %s: %v", format, err)
		}
	}
	s.Modules()
	s.TimeRange()
	return nil
}

// rounds is how often a random test is repeated: few times in CI, as often as
// LOGPARSER_SOAK says in a soak run.
func rounds(few int) int {
	if n, err := strconv.Atoi(os.Getenv("LOGPARSER_SOAK")); err == nil && n > 0 {
		return n
	}
	return few
}

// TestDamagedInputs changes 16 random bytes in each kind of input. Whatever
// they hit, the log opens or there is an error; nothing panics and memory
// stays below 256 MB. It runs in a process of its own, because what a process
// took from the system for another test would count.
func TestDamagedInputs(t *testing.T) {
	const own = "LOGPARSER_TEST_DAMAGED_INPUTS"
	if os.Getenv(own) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDamagedInputs$", "-test.v")
		cmd.Env = append(os.Environ(), own+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("--- PASS: TestDamagedInputs ")) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	cases := []struct{ lane, file string }{
		{"windows-x64-clang", "LogDetails.dat"},
		{"windows-x64-clang", "LogDetails.bin"},
		{"windows-x64-clang", "logtest.pdb"},
		{"windows-x64-clang", "logtest.exe"},
		{"windows-x86-clang", "LogDetails.dat"},
		{"windows-x64-mingw", "logtest.exe"},
		{"linux-gcc-O2", "LogDetails.dat"},
		{"linux-gcc-O2", "logtest"},
	}
	defer debug.SetGCPercent(debug.SetGCPercent(50))
	for _, c := range cases {
		t.Run(c.lane+"/"+c.file, func(t *testing.T) {
			dir := copyDir(t, logtest(t, c.lane))
			path := filepath.Join(dir, c.file)
			sound, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := make([]byte, len(sound))
			for round := range rounds(12) {
				random := rand.New(rand.NewPCG(uint64(round), 16))
				copy(damaged, sound)
				for range 16 {
					// Half of the damage goes where the structure is.
					at := random.IntN(len(damaged))
					if random.IntN(2) == 0 {
						at = random.IntN(min(len(damaged), 4096))
					}
					damaged[at] = byte(random.Uint32())
				}
				if err := os.WriteFile(path, damaged, 0o666); err != nil {
					t.Fatal(err)
				}
				if err := openAndSave(t, Inputs{Log: filepath.Join(dir, "LogDetails.dat"), NoRecordedPaths: true}); err != nil && err.Error() == "" {
					t.Error("an error without words")
				}
				if t.Failed() {
					t.Fatalf("round %d", round)
				}
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			if m.Sys > 256<<20 {
				t.Errorf("the process took %d MB", m.Sys>>20)
			}
		})
	}
}

// TestCutLog cuts a log at each of its first bytes: what is whole is shown,
// what is cut off is named.
func TestCutLog(t *testing.T) {
	dir := copyDir(t, logtest(t, "windows-x64-clang"))
	path := filepath.Join(dir, "LogDetails.dat")
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const record = 24
	for n := range 4096 {
		// Every cut in the first records, then some.
		if n > 10*record && n%7 != 0 && rounds(0) == 0 {
			continue
		}
		if err := os.WriteFile(path, sound[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), Inputs{Log: path, NoRecordedPaths: true}, nil)
		if n < record {
			// Too short for a log, or one record that cannot be right.
			if err == nil {
				if !s.Damaged() {
					t.Fatalf("%d bytes: opened without a word of damage", n)
				}
				s.Close()
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if got := s.Rows().Len(); got != int64(n/record) {
			t.Fatalf("%d bytes: %d rows, want %d", n, got, n/record)
		}
		if s.Damaged() != (n%record != 0) {
			t.Fatalf("%d bytes: damaged %v", n, s.Damaged())
		}
		s.Close()
	}
}

// TestWrongFiles gives files that are no logs.
func TestWrongFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct{ name, path string }{
		{"empty", write("empty.dat", nil)},
		{"text", write("text.dat", bytes.Repeat([]byte("a line of text\n"), 100))},
		{"missing", filepath.Join(dir, "missing.dat")},
		{"modules file alone", write("alone.bin", []byte("2026-11-21T11:22:33.456\n1234\n0x400000 0x1000 4 - - C:\\a.exe\n"))},
		{"folder without a log", t.TempDir()},
		{"ELF program", filepath.Join(logtest(t, "linux-gcc-O2"), "logtest")},
		{"PE program", filepath.Join(logtest(t, "windows-x64-clang"), "logtest.exe")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(context.Background(), Inputs{Log: tt.path}, nil)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			var input *InputError
			if !errors.As(err, &input) {
				t.Errorf("%v is no InputError", err)
			}
			t.Log(err)
		})
	}
}
