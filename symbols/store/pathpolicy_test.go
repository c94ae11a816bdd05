package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestCheckSpelling(t *testing.T) {
	tests := []struct {
		goos, path string
		ok         bool
	}{
		{"linux", "/usr/bin/app", true},
		{"linux", "/usr/bin/a b.so", true},
		{"linux", "", false},
		{"linux", "app", false},
		{"linux", "./app", false},
		{"linux", "/usr/../etc/passwd", false},
		{"linux", "/usr/bin/..", false},
		{"linux", "//server/share/app", false},
		{"linux", `\\server\share\app`, false},
		{"linux", `\\?\C:\app`, false},
		{"linux", `C:\app.exe`, false},
		{"linux", "/dev/zero", false},
		{"linux", "/proc/self/mem", false},
		{"linux", "/a\x00b", false},
		{"windows", `C:\build\app.exe`, true},
		{"windows", `c:/build/app.exe`, true},
		{"windows", `C:\build\..\app.exe`, false},
		{"windows", `C:app.exe`, false},
		{"windows", `\build\app.exe`, false},
		{"windows", `\\server\share\app.pdb`, false},
		{"windows", `//server/share/app.pdb`, false},
		{"windows", `\/server/share/app.pdb`, false},
		{"windows", `\\?\UNC\server\share\app.pdb`, false},
		{"windows", `\\.\PhysicalDrive0`, false},
		{"windows", `\??\C:\app.pdb`, false},
		{"windows", `C:\build\NUL`, false},
		{"windows", `C:\build\nul.pdb`, false},
		{"windows", `C:\com1\app.pdb`, false},
		{"windows", `C:\company\app.pdb`, true},
		{"windows", `C:\app.exe:stream`, false},
		{"windows", `file://server/app`, false},
		{"windows", "/usr/bin/app", false},
	}
	for _, tt := range tests {
		err := checkSpelling(tt.path, tt.goos)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %q: got %v, want permitted %v", tt.goos, tt.path, err, tt.ok)
		}
		if err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q: %v does not wrap ErrRefused", tt.goos, tt.path, err)
		}
	}
}

func TestCheckRecordedLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symbolic links need a privilege on Windows")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, in(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("folder/file"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	link("folder", "relative")
	link(in("folder/file"), "absolute")
	link("folder/../folder/file", "up")
	link("/dev/zero", "device")
	link("loop", "loop")

	tests := []struct {
		path, want string
		refused    bool
	}{
		{"folder/file", "folder/file", false},
		{"relative/file", "folder/file", false},
		{"absolute", "folder/file", false},
		{"up", "folder/file", false},
		{"folder", "", true},
		{"device", "", true},
		{"loop", "", true},
		{"missing", "", false},
	}
	for _, tt := range tests {
		got, err := CheckRecorded(in(tt.path))
		switch {
		case tt.want != "":
			if err != nil || got != in(tt.want) {
				t.Errorf("%s: got %q, %v; want %q", tt.path, got, err, in(tt.want))
			}
		case tt.refused != errors.Is(err, ErrRefused):
			t.Errorf("%s: got %q, %v; want refused %v", tt.path, got, err, tt.refused)
		case !tt.refused && !errors.Is(err, fs.ErrNotExist):
			t.Errorf("%s: got %v, want that it does not exist", tt.path, err)
		}
	}
}
