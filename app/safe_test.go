package app

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"logparser/symbols/attached"
	"logparser/symbols/store"
	"logparser/wholefile"
)

// TestDamagedPack flips a byte here and there in a pack. Whatever that loses is told, and not handed on.
func TestDamagedPack(t *testing.T) {
	dir := copyDir(t, linuxFolder)
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	pack := filepath.Join(t.TempDir(), "one.lppack")
	if _, err := s.Pack(t.Context(), pack, PackOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	whole := readFile(t, pack)
	want := saved(t, open(t, Inputs{Log: pack}))
	damaged, told := filepath.Join(t.TempDir(), "one.lppack"), 0
	for i := range 24 {
		b := append([]byte(nil), whole...)
		b[len(b)*(2*i+1)/48] ^= 0x40
		writeFile(t, damaged, b)
		p, err := Open(t.Context(), Inputs{Log: damaged, NoIndexCache: true}, nil)
		if err == nil {
			err = p.Load(t.Context(), nil)
		}
		if err != nil {
			told++
			if p != nil {
				p.Close()
			}
			continue
		}
		texts := p.KeptDamage()
		if len(texts) == 0 && saved(t, p) != want {
			t.Errorf("byte %d of %d: rows are others, and nobody says why", len(b)*(2*i+1)/48, len(b))
		}
		if len(texts) > 0 {
			told++
			if !strings.Contains(warnings(p), texts[0].String()) || !p.Damaged() {
				t.Errorf("it is not among the warnings: %s", warnings(p))
			}
			kept := filepath.Join(t.TempDir(), "x.lpsym")
			if _, err := p.Keep(t.Context(), kept, nil); !errors.Is(err, attached.ErrFormat) {
				t.Errorf("symbols of which some are lost are kept: %v", err)
			}
			if _, err := os.Lstat(kept); err == nil {
				t.Error("a file was written")
			}
		}
		p.Close()
	}
	if told < 12 {
		t.Errorf("damage was found in %d of 24", told)
	}
}

// TestSourceNames has symbol files that name files which are no sources, by themselves and through links.
func TestSourceNames(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	secret, source := filepath.Join(dir, "shadow"), filepath.Join(dir, "a.cpp")
	writeFile(t, secret, []byte("secret"))
	writeFile(t, source, []byte("int x;"))
	writeFile(t, filepath.Join(dir, "include", "vector"), []byte("int x;"))
	link := filepath.Join(dir, "link.cpp")
	if err := os.Symlink(secret, link); err != nil {
		link = secret
	}
	for _, tt := range []struct {
		recorded string
		mappings []SourceMapping
		own, ok  bool
	}{
		{secret, nil, true, false}, {link, nil, true, false}, {source, nil, true, true}, {source, nil, false, false},
		{"/build/a.cpp", []SourceMapping{{"/build", dir}}, false, true}, {"/build/shadow", []SourceMapping{{"/build", dir}}, true, false},
		{filepath.Join(dir, "include", "vector"), nil, true, true},
	} {
		got, err := SourceFile(tt.recorded, tt.mappings, tt.own)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, store.ErrRefused) {
			t.Errorf("%s, own %v: %q, %v", tt.recorded, tt.own, got, err)
		}
	}
}

// TestPlainFileName holds what names out of packs become.
func TestPlainFileName(t *testing.T) {
	for name, want := range map[string]string{
		"a.cpp": "a.cpp", "my file-1+2.cpp": "my file-1+2.cpp", "日志.dat": "日志.dat", "a&calc&.cpp": "a_calc_.cpp", "a%PATH%;`x`$(y)!.cpp": "a_PATH___x___y__.cpp",
		"a'b\"c^d|e.cpp": "a_b_c_d_e.cpp", "-rf": "source", "..": "source", "": "source",
	} {
		if got := plainFileName(&attached.File{Name: name, Role: attached.RoleSource}); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// TestAbandonedFolders: what a killed process unpacked goes when another pack is opened, what a running one has stays.
func TestAbandonedFolders(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folder for temporary files cannot be chosen by TMPDIR")
	}
	t.Setenv("TMPDIR", t.TempDir())
	running, err := wholefile.TemporaryFolder("logparser-unpacked")
	if err != nil {
		t.Fatal(err)
	}
	defer wholefile.RemoveTemporary(running)
	dead, others := filepath.Join(os.TempDir(), "logparser-unpacked-123"), filepath.Join(os.TempDir(), "logparser-unpacked-mine")
	for _, dir := range []string{dead, others} {
		writeFile(t, filepath.Join(dir, ".lock"), nil)
		writeFile(t, filepath.Join(dir, "log0", "a.lptrace"), nil)
	}
	old := time.Now().Add(-time.Hour)
	for _, dir := range []string{dead, others, running} {
		if err := os.Chtimes(dir, old, old); err != nil {
			t.Fatal(err)
		}
	}
	next, err := wholefile.TemporaryFolder("logparser-unpacked")
	if err != nil {
		t.Fatal(err)
	}
	wholefile.RemoveTemporary(next)
	for dir, want := range map[string]bool{dead: false, others: true, running: true, next: false} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: there %v, want %v", filepath.Base(dir), err == nil, want)
		}
	}
}
