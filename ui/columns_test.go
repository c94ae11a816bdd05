package ui

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/ui/control"
	"logparser/ui/logstate"
)

// ambiguous writes a log with a modules file whose columns can be read in several
// ways.
func ambiguous(t *testing.T) (log, modules string) {
	t.Helper()
	dir := t.TempDir()
	log, modules = filepath.Join(dir, "LogDetails.dat"), filepath.Join(dir, "LogDetails.bin")
	record := make([]byte, 32)
	record[3], record[4], record[12], record[19], record[20] = 2, 1, 1, 2, 1
	if err := errors.Join(os.WriteFile(log, record, 0o666), os.WriteFile(modules, []byte("0x02000000 0x00400000 a.exe\n"), 0o666)); err != nil {
		t.Fatal(err)
	}
	return log, modules
}

// A modules file whose columns can be read in several ways is asked about, and the
// log is opened with the answer.
func TestColumnsAreAsked(t *testing.T) {
	log, _ := ambiguous(t)
	r := newRig(t, nil)
	r.Open([]string{log})
	r.wait("the question", func() bool {
		m := r.ctl.State().Message
		return m != nil && m.Offer == control.OfferColumns
	})
	m := r.ctl.State().Message
	if want := []string{"0x02000000 0x00400000 a.exe"}; m.Columns == nil || !slices.Equal(m.Columns.Lines, want) {
		t.Fatalf("question %+v", m.Columns)
	}

	f := newColumnsForm(m.Columns)
	if f.value() != "base:hex,size:hex,name" || len(f.ways.Options) != 3 || f.ways.Options[1] != "size, hexadecimal | load address, hexadecimal | name or path" {
		t.Errorf("it begins with %q of %q", f.value(), f.ways.Options)
	}
	right := true
	f.onChange = func(ok bool) { right = ok }
	f.columns[1].SetSelectedIndex(slices.Index(columnKinds, "base:hex"))
	if right || f.trouble.Text == "" {
		t.Error("two load addresses can be taken")
	}
	f.ways.SetSelected(f.ways.Options[1])
	if f.value() != "size:hex,base:hex,name" || !right || f.trouble.Text != "" {
		t.Errorf("the second way is %q", f.value())
	}

	r.opening.offer(control.OfferColumns)
	if r.overlays() != 1 {
		t.Fatalf("%d dialogs", r.overlays())
	}
	r.dialogs.top.Hide()
	r.ctl.Inputs.SetModulesColumns(f.value())
	r.waitTrace("loaded")
	if got := r.ctl.State().Wanted.ModulesColumns; got != "size:hex,base:hex,name" {
		t.Errorf("opened with %q", got)
	}
	// Another log has other columns.
	other, _ := ambiguous(t)
	r.ctl.Inputs.SetLog(other)
	r.wait("the other log", func() bool { return r.ctl.State().Wanted.Log == other })
	if got := r.ctl.State().Wanted.ModulesColumns; got != "" {
		t.Errorf("another log has %q", got)
	}
}

// What was said of the columns is known when the log is opened again, for the same
// modules file, and is not insisted on where it does not fit any more.
func TestColumnsAreKept(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	store := logstate.Store{Dir: t.TempDir()}
	log, modules := ambiguous(t)
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	opened := func() *rig {
		r := newRig(t, nil)
		r.memory.store = store
		r.Open([]string{log})
		r.wait("an answer", func() bool { return r.ctl.State().Loaded || r.ctl.State().Message != nil })
		return r
	}
	r := opened()
	if r.ctl.State().Loaded {
		t.Fatal("the modules file is not asked about")
	}
	r.ctl.Inputs.SetModulesColumns("size:hex,base:hex,name")
	r.waitTrace("loaded")
	r.wait("its state", func() bool { return r.memory.identity != "" })
	r.memory.keepNow()
	r.ctl.Close()

	r = opened()
	if s := r.ctl.State(); !s.Loaded || s.Wanted.ModulesColumns != "size:hex,base:hex,name" || s.Modules[0].Base != 0x400000 {
		t.Fatalf("opened again with %q: %+v, message %+v", s.Wanted.ModulesColumns, s.Modules, s.Message)
	}
	other := filepath.Join(t.TempDir(), "other.txt")
	write(other, "0x02000000 0x00001000 a.exe\n")
	r.ctl.Inputs.SetModules(other)
	r.wait("the other file", func() bool { s := r.ctl.State(); return s.Found.Modules == other && s.Loaded })
	if got := r.ctl.State().Wanted.ModulesColumns; got != "" {
		t.Errorf("another modules file has %q", got)
	}
	r.ctl.Close()

	write(modules, "a.exe 0x02000000 0x00001000\n")
	r = opened()
	if s := r.ctl.State(); !s.Loaded || s.Wanted.ModulesColumns != "" {
		t.Errorf("a file that was changed is read with %q; message %+v", s.Wanted.ModulesColumns, s.Message)
	}
	r.ctl.Close()
}
