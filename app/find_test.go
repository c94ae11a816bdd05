package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindPair(t *testing.T) {
	const text = "2026-11-21T11:22:33.456\n1234\n0x400000 0x1000 4 - - C:\\a.exe\n"
	record := make([]byte, 16)
	record[0], record[12] = 1, 1
	tests := []struct {
		name               string
		files              []string // those that end in .bin hold text
		give, log, modules string   // relative to the folder
	}{
		{"the log", []string{"LogDetails.dat", "LogDetails.bin"}, "LogDetails.dat", "LogDetails.dat", "LogDetails.bin"},
		{"the modules file", []string{"LogDetails.dat", "LogDetails.bin"}, "LogDetails.bin", "LogDetails.dat", "LogDetails.bin"},
		{"the folder", []string{"LogDetails.dat", "LogDetails.bin"}, ".", "LogDetails.dat", "LogDetails.bin"},
		{"other names", []string{"run.12.dat", "run.12.bin"}, ".", "run.12.dat", "run.12.bin"},
		{"capital letters", []string{"LOG.DAT", "LOG.BIN"}, "LOG.DAT", "LOG.DAT", "LOG.BIN"},
		{"the article's other name, the log", []string{"LegDetails.dat", "LogDetails.bin"}, "LegDetails.dat", "LegDetails.dat", "LogDetails.bin"},
		{"the article's other name, the modules file", []string{"LegDetails.dat", "LogDetails.bin"}, "LogDetails.bin", "LegDetails.dat", "LogDetails.bin"},
		{"the article's other name, the folder", []string{"LegDetails.dat", "LogDetails.bin"}, ".", "LegDetails.dat", "LogDetails.bin"},
		{"both names", []string{"LegDetails.dat", "LogDetails.dat", "LogDetails.bin"}, "LogDetails.bin", "LogDetails.dat", "LogDetails.bin"},
		{"no modules file", []string{"LogDetails.dat"}, "LogDetails.dat", "LogDetails.dat", ""},
		{"two logs in the folder", []string{"a.dat", "a.bin", "b.dat", "b.bin"}, ".", "", ""},
		{"two logs, one by the usual name", []string{"LogDetails.dat", "LogDetails.bin", "b.dat", "b.bin"}, ".", "LogDetails.dat", "LogDetails.bin"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range tt.files {
				content := record
				if sameExtension(name, modulesExtension) {
					content = []byte(text)
				}
				if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			log, modules, err := FindPair(filepath.Join(dir, tt.give))
			if tt.log == "" {
				if err == nil {
					t.Errorf("found %s and %s", log, modules)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(log) != tt.log || tt.modules != "" && filepath.Base(modules) != tt.modules || (tt.modules == "") != (modules == "") {
				t.Errorf("found %q and %q, want %q and %q", log, modules, tt.log, tt.modules)
			}
		})
	}
}

// TestBeside opens logs beside which lies a file that should be, and is not, their
// modules file.
func TestBeside(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		folder     bool
		want       string // "" for no word about it
	}{
		{"it is right", "0x400000 0x1000 C:\\a.exe\n", false, ""},
		{"empty", "", false, "LogDetails.bin beside the log cannot be taken for its modules file: it is empty"},
		{"binary", "\x00\x01\x02\xff\xfe\x00\x00\x01\x7f\x00\x00\x00", false, "it is not text"},
		{"prose", "Dear reader,\n", false, `line 1 is "Dear reader,": it is not a modules file`},
		{"mostly prose", "Dear reader,\nyours,\n0x400000 0x1000 C:\\a.exe\n", false, "it is not a modules file"},
		{"a folder", "", true, "it is a folder"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			copyFiles(t, logtest(t, "linux-gcc-O2"), dir, "LogDetails.dat")
			file := filepath.Join(dir, "LogDetails.bin")
			if tt.folder {
				if err := os.Mkdir(file, 0o777); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(file, []byte(tt.text), 0o666); err != nil {
				t.Fatal(err)
			}
			s := open(t, Inputs{Log: filepath.Join(dir, "LogDetails.dat")})
			got := warnings(s)
			if tt.want == "" && strings.Contains(got, "beside the log") || !strings.Contains(got, tt.want) {
				t.Errorf("warnings %q, want %q", got, tt.want)
			}
			if s.Rows().Len() == 0 {
				t.Error("no rows")
			}
		})
	}
}
