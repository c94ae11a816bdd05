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
	for _, name := range []string{"include/Log.h", "include/Logger.h", "include/logrec.h", "src/core.c", "src/hooks_fentry_x86_64.S", "CMakeLists.txt", "README.md"} {
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
	if err := os.Remove(filepath.Join(dir, "src", "core.c")); err != nil {
		t.Fatal(err)
	}
	var input *InputError
	if n, err := InitRecorder(ctx, dir, false); n != 0 || !errors.As(err, &input) || input.Path != mine {
		t.Errorf("over another file: %d files, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "src", "core.c")); err == nil {
		t.Error("files were written beside one that is in the way")
	}
	if n, err := InitRecorder(ctx, dir, true); n != 2 || err != nil {
		t.Errorf("with replace: %d files, %v", n, err)
	}
}
