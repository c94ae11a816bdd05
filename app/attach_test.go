package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"logparser/symbols/attached"
)

// TestAttach puts the symbols of a program and of its library, which a PDB is given of, into the program. It is the same as before
// when they are taken out again.
func TestAttach(t *testing.T) {
	dir := copyDir(t, clangFolder)
	exe := filepath.Join(dir, "logtest.exe")
	before := readFile(t, exe)
	list, _, err := Attach(t.Context(), exe, []string{filepath.Join(dir, "logtest_shapes.pdb")}, "", Inputs{NoRecordedPaths: true}, nil)
	if err != nil || len(list) != 2 || list[0].Name != "logtest.exe" || list[1].Name != "logtest_shapes.dll" || filepath.Base(list[1].File) != "logtest_shapes.pdb" || list[1].Functions < 10 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, name := range []string{"logtest.pdb", "logtest_shapes.pdb", "logtest_shapes.dll"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	if !functionsOf(t, s, "logtest.exe")["app::factorial"] || !functionsOf(t, s, "logtest_shapes.dll")["shapes::Square::area"] {
		t.Error("the program carries no names")
	}
	s.Close()
	if _, err := Detach(t.Context(), exe); err != nil || !bytes.Equal(readFile(t, exe), before) {
		t.Errorf("detached it is another program: %v", err)
	}
	if _, err := Detach(t.Context(), exe); !errors.Is(err, attached.ErrNone) || !bytes.Equal(readFile(t, exe), before) {
		t.Errorf("detached twice: %v", err)
	}
}

// TestAttachRefused attaches what cannot be; the program stays as it is.
func TestAttachRefused(t *testing.T) {
	dir := copyDir(t, clangFolder)
	exe := filepath.Join(dir, "logtest.exe")
	before := readFile(t, exe)
	stray := filepath.Join(dir, "stray.pdb")
	writeFile(t, stray, readFile(t, filepath.Join(dir, "logtest.pdb")))
	lone := t.TempDir()
	copyFiles(t, clangFolder, lone, "logtest.exe")
	copyFiles(t, logtest(t, "windows-x86-clang"), lone, "logtest.pdb")
	copyFiles(t, dwarfFolder, lone, "gcc5-stripped.so")
	for name, test := range map[string]struct {
		ctx  context.Context
		exe  string
		more []string
		from string
		want error // nil for any
	}{
		"no program":               {t.Context(), filepath.Join(dir, "none.exe"), nil, "", os.ErrNotExist},
		"a folder":                 {t.Context(), dir, nil, "", nil},
		"a log":                    {t.Context(), filepath.Join(dir, "LogDetails.dat"), nil, "", nil},
		"no symbols of that kind":  {t.Context(), exe, nil, "map", nil},
		"a file that is not there": {t.Context(), exe, []string{filepath.Join(dir, "none.pdb")}, "", os.ErrNotExist},
		"a PDB of no image":        {t.Context(), exe, []string{stray}, "", ErrNoModuleOf},
		"a PDB of another build":   {t.Context(), filepath.Join(lone, "logtest.exe"), []string{filepath.Join(lone, "logtest.pdb")}, "", nil},
		"nothing but exports":      {t.Context(), filepath.Join(lone, "gcc5-stripped.so"), nil, "", ErrNoFunctions},
		"cancelled":                {cancelledContext(t), exe, nil, "", context.Canceled},
	} {
		list, _, err := Attach(test.ctx, test.exe, test.more, test.from, Inputs{NoRecordedPaths: true}, nil)
		if err == nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
		var input *InputError
		if test.want != context.Canceled && !errors.As(err, &input) {
			t.Errorf("%s: the error names no file: %v", name, err)
		}
	}
	if !bytes.Equal(readFile(t, exe), before) {
		t.Error("the program was changed")
	}
	for _, name := range []string{"LogDetails.dat", "none"} {
		_, err := Detach(t.Context(), filepath.Join(dir, name))
		var input *InputError
		if !errors.As(err, &input) {
			t.Errorf("symbols are taken out of what is no program: %v", err)
		}
	}
	if list := AttachSources(); len(list) != len(attachFormats) {
		t.Errorf("sources %v", list)
	}
}
