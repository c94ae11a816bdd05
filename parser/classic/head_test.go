package classic

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/parser"
)

// TestOpenHead opens the beginnings of logs of both widths: the events are those of the whole log.
func TestOpenHead(t *testing.T) {
	for _, size := range []int{Size32, Size64} {
		path, modulesFile, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 20_000, RecordSize: size})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := Open(t.Context(), path, parser.Options{ModulesFile: modulesFile}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer whole.Close()
		for _, modules := range []string{"", modulesFile} {
			head, err := Format.OpenHead(t.Context(), path, parser.Options{ModulesFile: modules}, 1000)
			if err != nil || head == nil {
				t.Fatalf("%v, %v", head, err)
			}
			defer head.Close()
			n := head.Info().Records
			if n < 1000 || n > 4000 || head.Info().RecordSize != size {
				t.Fatalf("%d records of %d bytes", n, head.Info().RecordSize)
			}
			got, want := make([]parser.Event, n), make([]parser.Event, n)
			if _, err := head.ReadEvents(got, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := whole.ReadEvents(want, 0); err != nil {
				t.Fatal(err)
			}
			if !slices.EqualFunc(got, want, func(a, b parser.Event) bool {
				return a.Address == b.Address && a.Kind == b.Kind && a.Thread == b.Thread && a.Time-got[0].Time == b.Time-want[0].Time
			}) {
				t.Errorf("%d bytes a record: the events are not the first of the log", size)
			}
			if head.Modules(0).Len() != 0 {
				t.Errorf("the head has %d modules", head.Modules(0).Len())
			}
		}
	}
}

// TestOpenHeadNot has beginnings that are not shown: those of two runs, of damage, and of what is no log.
func TestOpenHeadNot(t *testing.T) {
	dir := t.TempDir()
	path, _, err := classictest.WriteFiles(dir, classictest.Spec{Records: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	var second bytes.Buffer
	if err := classictest.Generate(&second, classictest.Spec{Records: 20_000, StartTick: 1000, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(data)
	damaged[len(data)/2/24*24+16] = 9 // neither an enter nor a leave
	for name, b := range map[string][]byte{"two runs": append(slices.Clone(data), second.Bytes()...), "damaged": damaged} {
		if log, err := Format.OpenHead(t.Context(), write(name, b), parser.Options{}, 100_000); log != nil || err != nil {
			t.Errorf("%s: opened %t, %v", name, log != nil, err)
		}
	}
	if log, err := Format.OpenHead(t.Context(), filepath.Join(dir, "none"), parser.Options{}, 100); log != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v, %v", log, err)
	}
	if log, err := Format.OpenHead(t.Context(), dir, parser.Options{}, 100); log != nil || !errors.Is(err, ErrFolder) {
		t.Errorf("a folder: %v, %v", log, err)
	}
}
