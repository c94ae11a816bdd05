package export

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"logparser/wholefile"
)

func content(text string) func(w io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

// expect checks a file's content and that the folder holds nothing else but
// the names given.
func expect(t *testing.T, path, want string, others ...string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if string(got) != want {
		t.Errorf("%s holds %.40q, want %.40q", path, got, want)
	}
	list, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		known := e.Name() == filepath.Base(path)
		for _, o := range others {
			known = known || e.Name() == o
		}
		if !known {
			t.Errorf("%s was left behind", e.Name())
		}
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	for _, text := range []string{"first", "second and longer", "", strings.Repeat("third", 1<<16)} {
		if err := WriteFile(context.Background(), path, 0, content(text)); err != nil {
			t.Fatal(err)
		}
		expect(t, path, text)
	}
}

func TestWriteFileMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	dir := t.TempDir()
	fresh, plain := filepath.Join(dir, "fresh"), filepath.Join(dir, "plain")
	if err := WriteFile(context.Background(), fresh, 0, content("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plain, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	mode := func(path string) fs.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode()
	}
	if mode(fresh) != mode(plain) {
		t.Errorf("a new file has %v, want %v", mode(fresh), mode(plain))
	}
	for _, m := range []fs.FileMode{0o600, 0o646} {
		if err := os.Chmod(fresh, m); err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(context.Background(), fresh, 0, content("y")); err != nil {
			t.Fatal(err)
		}
		if mode(fresh) != m {
			t.Errorf("an existing file of %v became %v", m, mode(fresh))
		}
	}
}

func TestWriteFileFails(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		write func(cancel func()) func(w io.Writer) error
		want  error
	}{
		{"at once", func(func()) func(io.Writer) error { return func(io.Writer) error { return boom } }, boom},
		{"in the middle", func(func()) func(io.Writer) error {
			return func(w io.Writer) error {
				w.Write(make([]byte, 1<<20))
				return boom
			}
		}, boom},
		{"cancelled in the middle", func(cancel func()) func(io.Writer) error {
			return func(w io.Writer) error {
				cancel()
				_, err := w.Write(make([]byte, 1<<20))
				return err
			}
		}, context.Canceled},
		{"cancelled at the end", func(cancel func()) func(io.Writer) error {
			return func(w io.Writer) error { cancel(); return nil }
		}, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out.csv")
			for _, old := range []string{"", "old"} {
				if old != "" {
					if err := os.WriteFile(path, []byte(old), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				ctx, cancel := context.WithCancel(context.Background())
				if err := WriteFile(ctx, path, 0, test.write(cancel)); !errors.Is(err, test.want) {
					t.Errorf("error %v, want %v", err, test.want)
				}
				cancel()
				if old != "" {
					expect(t, path, old)
				} else if list, _ := os.ReadDir(filepath.Dir(path)); len(list) != 0 {
					t.Errorf("%s was left behind", list[0].Name())
				}
			}
		})
	}
}

func TestWriteFilePanics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		WriteFile(context.Background(), path, 0, func(io.Writer) error { panic("writer") })
	}()
	expect(t, path, "old")
}

func TestWriteFileBadTarget(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]error{
		filepath.Join(dir, "no", "such", "out.csv"): fs.ErrNotExist,
		dir: nil,
		"":  nil,
	} {
		err := WriteFile(context.Background(), path, 0, content("x"))
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("%q: error %v", path, err)
			continue
		}
		if !strings.HasPrefix(err.Error(), "saving "+path+": ") || strings.Contains(err.Error(), ".tmp") {
			t.Errorf("%q: error %v", path, err)
		}
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("%s was left behind", list[0].Name())
	}
}

func TestWriteFileReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	if f, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
		f.Close()
		t.Skip("this user may write every file")
	}
	if err := WriteFile(context.Background(), path, 0, content("x")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v", err)
	}
	expect(t, path, "old")
}

// TestWriteFileLinks has links to a file, to nothing and to itself for the name: none is written through, none is replaced.
func TestWriteFileLinks(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target.csv")
	if err := os.WriteFile(target, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"one": "target.csv", "two": filepath.Join(dir, "one"), "nowhere": "none.csv", "loop": "loop"} {
		path := filepath.Join(dir, name)
		if err := os.Symlink(to, path); err != nil {
			t.Skip(err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Skip("no symbolic links here")
		}
		err := WriteFile(context.Background(), path, 0, content("new"))
		if !errors.Is(err, wholefile.ErrLink) {
			t.Errorf("%s: %v", name, err)
		}
		if now, err := os.Readlink(path); err != nil || now != to {
			t.Errorf("%s leads to %s, %v", name, now, err)
		}
	}
	expect(t, target, "old", "one", "two", "nowhere", "loop")
}
