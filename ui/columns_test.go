package ui

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/control/fake"
)

// A modules file whose columns can be read in several ways is asked about, and the
// log is opened with the answer.
func TestColumnsAreAsked(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "LogDetails.dat")
	record := make([]byte, 32)
	record[3], record[4], record[12], record[19], record[20] = 2, 1, 1, 2, 1
	for path, data := range map[string][]byte{log: record, filepath.Join(dir, "LogDetails.bin"): []byte("0x02000000 0x00400000 a.exe\n")} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	_, err := app.Open(context.Background(), app.Inputs{Log: log}, nil)
	if err == nil {
		t.Fatal("the modules file is not ambiguous")
	}
	engine := &fake.Engine{Rows: 10, OpenErr: err}
	r := newRig(t, engine)
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
	engine.OpenErr = nil
	r.ctl.SetModulesColumns(f.value())
	r.waitTrace("loaded")
	if got := r.ctl.State().Wanted.ModulesColumns; got != "size:hex,base:hex,name" {
		t.Errorf("opened with %q", got)
	}
	// Another log has other columns.
	r.ctl.SetLog(r.log)
	r.wait("the other log", func() bool { return r.ctl.State().Wanted.Log == r.log })
	if got := r.ctl.State().Wanted.ModulesColumns; got != "" {
		t.Errorf("another log has %q", got)
	}
}
