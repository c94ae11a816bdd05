package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestInitRecorder(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "third_party", "logrec")
	all, err := InitRecorder(ctx, dir, false)
	if err != nil || all < 10 {
		t.Fatalf("%d files, %v", all, err)
	}
	for _, name := range []string{"include/Log.h", "include/Logger.h", "include/logrec.h", "src/event.c", "src/hooks_fentry_x86_64.S", "CMakeLists.txt", "README.md"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		want, err2 := os.ReadFile(filepath.Join("..", "recorder", name))
		if err != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("%s: %v, %v, or another content", name, err, err2)
		}
	}
	if n, err := InitRecorder(ctx, dir, false); n != 0 || err != nil {
		t.Errorf("again: %d files, %v", n, err)
	}

	mine := filepath.Join(dir, "include", "Log.h")
	if err := os.WriteFile(mine, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "src", "event.c")); err != nil {
		t.Fatal(err)
	}
	var input *InputError
	if n, err := InitRecorder(ctx, dir, false); n != 0 || !errors.As(err, &input) || input.Path != mine {
		t.Errorf("over another file: %d files, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "src", "event.c")); err == nil {
		t.Error("files were written beside one that is in the way")
	}
	if n, err := InitRecorder(ctx, dir, true); n != 2 || err != nil {
		t.Errorf("with replace: %d files, %v", n, err)
	}
}

// TestInitRecorderStaysBelow has links, pipes and folders where the recorder's
// files belong: nothing outside is read or written, and nothing waits.
func TestInitRecorderStaysBelow(t *testing.T) {
	ctx := context.Background()
	for what, put := range map[string]func(dir, outside string) error{
		"a link for a folder": func(dir, outside string) error { return os.Symlink(outside, filepath.Join(dir, "src")) },
		"a link for a file": func(dir, outside string) error {
			return os.Symlink(filepath.Join(outside, "README.md"), filepath.Join(dir, "README.md"))
		},
		"a folder for a file": func(dir, _ string) error { return os.Mkdir(filepath.Join(dir, "README.md"), 0o777) },
		"a file for a folder": func(dir, _ string) error { return os.WriteFile(filepath.Join(dir, "src"), nil, 0o666) },
		"a pipe":              func(dir, _ string) error { return makePipe(filepath.Join(dir, "README.md")) },
	} {
		for _, replace := range []bool{false, true} {
			dir, outside := t.TempDir(), t.TempDir()
			if err := put(dir, outside); err != nil {
				t.Log(what, err)
				continue
			}
			var input *InputError
			if n, err := InitRecorder(ctx, dir, replace); n != 0 || !errors.As(err, &input) {
				t.Errorf("%s, replace %v: %d files, %v", what, replace, n, err)
			}
			if entries, _ := os.ReadDir(outside); len(entries) > 0 {
				t.Errorf("%s, replace %v: %d files outside", what, replace, len(entries))
			}
		}
	}
}

func TestSaveRecorderLibrary(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path, err := SaveRecorderLibrary(ctx, dir, false, nil)
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil || filepath.Dir(path) != dir {
		t.Fatalf("%s, %v", path, err)
	}
	if again, err := SaveRecorderLibrary(ctx, path, false, nil); again != path || err != nil {
		t.Errorf("the same file: %s, %v", again, err)
	}
	if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := SaveRecorderLibrary(ctx, dir, false, nil); !errors.Is(err, ErrOtherFile) {
		t.Errorf("another file: %v", err)
	}
	if _, err := SaveRecorderLibrary(ctx, dir, true, nil); err != nil {
		t.Error("with replace:", err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) < 1<<12 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
