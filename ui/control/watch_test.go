package control_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/parser"
	"logparser/ui/control"
)

// Whatever is given and is no log is taken for what it is, and that is said,
// whichever way it was given.
func TestWhatIsNoLogIsSaid(t *testing.T) {
	for _, test := range []struct {
		name  string
		give  func(d *desk) []string
		open  bool // a log is open already
		text  string
		offer control.Offer
		// wanted afterwards
		modules, symbols int
	}{
		{"text", func(d *desk) []string { return []string{d.file("a.txt", "hello\n")} }, false, "a.txt is text, not a log; it was taken as the modules file.", control.OfferLog, 1, 0},
		{"text beside a log", func(d *desk) []string { return []string{d.file("a.txt", "hello\n")} }, true, "a.txt is text", control.OfferNone, 1, 0},
		{"empty folder", func(d *desk) []string { return []string{d.folder("empty")} }, false, "The folder empty is empty", control.OfferNone, 0, 0},
		{"empty folder beside a log", func(d *desk) []string { return []string{d.folder("empty")} }, true, "The folder empty is empty", control.OfferNone, 0, 0},
		{"folder without a log", func(d *desk) []string { return []string{d.folder("lib", "x.txt")} }, false, "lib is not a log and holds none", control.OfferNone, 0, 1},
		{"folder without a log beside one", func(d *desk) []string { return []string{d.folder("lib", "x.txt")} }, true, "lib is not a log and holds none", control.OfferNone, 0, 1},
		{"symbol file", func(d *desk) []string { return []string{d.file("a.pdb", "x")} }, false, "a.pdb is not a log", control.OfferLog, 0, 1},
		{"symbol file beside a log", func(d *desk) []string { return []string{d.file("a.pdb", "x")} }, true, "", control.OfferNone, 0, 1},
		{"two logs", func(d *desk) []string { return []string{d.file("1.dat", binary), d.file("2.dat", binary)} }, true, "Several logs were given; only 1.dat is opened.", control.OfferNone, 0, 0},
		{"folder with several logs", func(d *desk) []string { return []string{d.folder("logs", "a.lptrace", "b.lptrace", "c.lptrace")} }, false,
			"logs holds 3 logs; ", control.OfferLogs, 0, 0},
		{"log and symbols", func(d *desk) []string { return []string{d.file("1.dat", binary), d.folder("lib", "x.txt")} }, false, "", control.OfferNone, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := newDesk(t, &testlog.Nested{Records: 10})
			if test.open {
				d.Inputs.SetLog(d.log())
				d.waitEvent("loaded")
				d.Dismiss()
			}
			d.Inputs.Give(test.give(d))
			d.settle()
			text, offer := "", control.OfferNone
			if m := d.State().Message; m != nil {
				text, offer = m.Text, m.Offer
			}
			if !strings.HasPrefix(text, test.text) || (text == "") != (test.text == "") || offer != test.offer {
				t.Errorf("said %q, offer %d", text, offer)
			}
			in := d.State().Wanted
			if (in.Modules != "") != (test.modules > 0) || len(in.Symbols) != test.symbols {
				t.Errorf("taken as %+v", in)
			}
		})
	}
}

func (d *desk) folder(name string, files ...string) string {
	d.t.Helper()
	path := filepath.Join(d.dir, name)
	if err := os.Mkdir(path, 0o777); err != nil {
		d.t.Fatal(err)
	}
	for _, f := range files {
		d.file(filepath.Join(name, f), "x")
	}
	return path
}

// A symbol path that leads nowhere is said, with and without a log, and until it
// is mended.
func TestMissingSymbolPath(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	there, missing := d.folder("there"), filepath.Join(d.dir, "missing")
	d.Inputs.SetSymbols([]string{there, missing})
	d.waitEvent("missing 1")
	m := d.State().Message
	if m == nil || !strings.Contains(m.Text, missing) || m.Offer != control.OfferPath || d.State().Symbols.Level != control.LevelBad || !strings.Contains(d.State().Symbols.Text, missing) {
		t.Fatalf("message %+v, light %+v", m, d.State().Symbols)
	}
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	if m := d.State().Message; m == nil || !strings.Contains(m.Text, missing) || !strings.Contains(d.State().Symbols.Text, missing) {
		t.Errorf("with a log: message %+v, light %+v", m, d.State().Symbols)
	}
	d.Inputs.SetSymbols([]string{there, "srv*https://example.org"})
	d.wait("a good path", func() bool { return d.State().Loaded && len(d.State().MissingSymbols) == 0 })
	if l := d.State().Symbols; l.Level != control.LevelGood {
		t.Errorf("light %+v", l)
	}

	// One that was remembered only has a red light.
	again := newDesk(t, &testlog.Nested{})
	again.Inputs.Restore(app.Inputs{Symbols: []string{missing}}, nil)
	again.waitEvent("missing 1")
	if s := again.State(); s.Message != nil || s.Symbols.Level != control.LevelBad {
		t.Errorf("message %+v, light %+v", s.Message, s.Symbols)
	}
}

// What becomes of the log's file is said when it happens, once, with the remedy.
func TestFileChangeIsSaid(t *testing.T) {
	for change, text := range map[error]string{parser.ErrShrunk: "a.dat was cut or written anew", parser.ErrReplaced: "Another file stands", fs.ErrNotExist: "a.dat was removed"} {
		d := newDesk(t, &testlog.Nested{Records: 10})
		d.LookEvery(time.Millisecond)
		d.Inputs.SetLog(d.log())
		d.waitEvent("loaded")
		if m := d.State().Message; m != nil {
			t.Fatalf("message %+v", m)
		}
		d.nested.SetCheck(change)
		m := d.waitMessage()
		if !strings.HasPrefix(m.Text, text) || (m.Offer == control.OfferReload) != (change != fs.ErrNotExist) || d.State().Log.Level != control.LevelBad {
			t.Errorf("message %+v, light %+v", m, d.State().Log)
		}
		d.Dismiss()
		d.settle()
		if m := d.State().Message; m != nil {
			t.Errorf("said again: %+v", m)
		}
		d.nested.SetCheck(nil)
		d.Reload()
		d.waitEvent("loaded")
		if l := d.State().Log; l.Level != control.LevelGood {
			t.Errorf("after reloading the light is %+v", l)
		}
	}
}

// Following looks at the file itself; what it finds has the same remedy.
func TestFollowingSaysFileChange(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.LookEvery(time.Millisecond)
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	d.Following.Set(true)
	d.nested.SetCheck(parser.ErrReplaced)
	d.settle()
	if m := d.State().Message; m != nil {
		t.Errorf("looked at twice: %+v", m)
	}
	d.nested.Grow(testlog.NestedGrowth{Replaced: true})
	if m := d.waitMessage(); m.Offer != control.OfferReload {
		t.Errorf("message %+v", m)
	}
	d.Dismiss()
	d.nested.Grow(testlog.NestedGrowth{Err: testlog.ErrBroken})
	d.wait("the end", func() bool { return !d.State().Follow.On && d.State().Message != nil })
	if m := d.State().Message; m.Offer != control.OfferReload {
		t.Errorf("message %+v", m)
	}
}

// TestLook looks at the file at once when the window is used, however seldom it is looked at.
func TestLook(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.LookEvery(time.Hour)
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	// Before Look: once looked at, the file is left alone for the hour.
	d.nested.SetCheck(parser.ErrShrunk)
	d.Look()
	if m := d.waitMessage(); m.Offer != control.OfferReload {
		t.Errorf("message %+v", m)
	}
}
