package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/ui/control"
	"logparser/ui/language"
)

// Every format has a title in both languages, and what it can be told is shown.
func TestSaveForm(t *testing.T) {
	newRig(t, &testlog.Nested{Records: 10})
	shown := map[string]string{
		"txt": "bom crlf split", "csv": "bom crlf raw split", "jsonl": "split", "html": "split", "chrome": "split", "perfetto": "split",
		"speedscope": "split", "folded": "weight", "callgrind": "", "parquet": "split", "tracer": "split",
	}
	for _, code := range []string{language.Chinese, language.English} {
		if err := language.Set(code); err != nil {
			t.Fatal(err)
		}
		f := newSaveForm("/x/LogDetails.dat", "csv", false)
		for i, name := range f.names {
			title, extension := app.SaveTitle(name)
			if translated := formatTitle(name); (translated == title) != (code == language.English) {
				t.Errorf("%s: %s is %q", code, name, translated)
			}
			f.format.SetSelectedIndex(i)
			if f.path.Text != "/x/LogDetails."+extension {
				t.Errorf("%s: path %q", name, f.path.Text)
			}
			var got []string
			for _, o := range []struct {
				name string
				o    fyne.CanvasObject
			}{{"bom", f.bom}, {"crlf", f.crlf}, {"raw", f.raw}, {"weight", f.weighing}, {"split", f.splitting}} {
				if o.o.Visible() {
					got = append(got, o.name)
				}
			}
			if want, ok := shown[name]; !ok || strings.Join(got, " ") != want {
				t.Errorf("%s shows %q, want %q", name, got, want)
			}
		}
	}
}

func TestSaveFormSettings(t *testing.T) {
	newRig(t, &testlog.Nested{Records: 10})
	const usual = "As its readers take it: 1,000,000 rows, 240 MB"
	for _, test := range []struct {
		format, way, amount string
		want                app.SaveLimits
	}{
		{"csv", "One file", "", app.SaveLimits{}},
		{"csv", "After so many rows", "5000", app.SaveLimits{Rows: 5000, Bytes: -1}},
		{"csv", "After so many rows", "12 x", app.SaveLimits{Rows: 12, Bytes: -1}},
		{"csv", "After so many rows", "", app.SaveLimits{}},
		{"chrome", usual, "", app.SaveLimits{}},
		{"chrome", "One file", "", app.SaveLimits{Rows: -1, Bytes: -1}},
		{"chrome", "After so many MB", "3", app.SaveLimits{Rows: -1, Bytes: 3 << 20}},
		{"folded", "", "", app.SaveLimits{}},
	} {
		f := newSaveForm("/x/y.dat", test.format, false)
		if test.way != "" {
			f.split.SetSelected(test.way)
			f.amount.SetText(test.amount)
		}
		if got := f.settings().Split; got != test.want {
			t.Errorf("%s, %q %q: %+v, want %+v", test.format, test.way, test.amount, got, test.want)
		}
	}
	f := newSaveForm("/x/y.dat", "folded", false)
	f.weight.SetSelectedIndex(2)
	if got := f.settings().Weight.String(); got != "calls" {
		t.Errorf("weight %s", got)
	}
	// Corrected durations are not for every format, which is said at once.
	for _, corrected := range []bool{false, true} {
		f := newSaveForm("/x/y.dat", "csv", corrected)
		if f.refused.Visible() {
			t.Error("csv is refused")
		}
		f.path.SetText("/x/z.speedscope.json")
		if f.refused.Visible() != corrected {
			t.Errorf("corrected %t: speedscope is refused: %t", corrected, f.refused.Visible())
		}
	}
	// What is typed decides the format.
	f.path.SetText("/x/z.speedscope.json")
	if f.name() != "speedscope" || f.path.Text != "/x/z.speedscope.json" {
		t.Errorf("%s, %s", f.name(), f.path.Text)
	}
}

// Files of several parts are replaced only after a question, and the notice
// says how many there are.
func TestSaveInParts(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	dir := t.TempDir()
	for i := 1; i <= 4; i++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("x.%03d.json", i)), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r.menuItem("Save").Action()
	out := filepath.Join(dir, "x.json")
	r.typeText(out)
	r.typeKey(fyne.KeyReturn)
	r.wait("the question", func() bool { return r.dialogs.top != nil })
	if r.ctl.Saving.Busy() {
		t.Error("replaced without asking")
	}
	r.typeKey(fyne.KeyEscape)

	fresh := filepath.Join(dir, "y.json")
	r.ctl.Saving.Save(fresh, "chrome", app.SaveOptions{Split: app.SaveLimits{Rows: 40, Bytes: -1}})
	r.waitTrace("saved " + fresh)
	if m := r.ctl.State().Message; m == nil || m.Level != control.LevelGood || !strings.Contains(m.Text, "3 files") || !strings.Contains(m.Text, "y.001.json") {
		t.Errorf("message %+v", m)
	}
}

// A file that holds something else is not replaced without saying so, even if the
// system's dialog has asked whether it may be replaced.
func TestSaveOverAnotherFormat(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	out := filepath.Join(t.TempDir(), "x.csv")
	ask := func(content string, asked bool) (question string, written bool) {
		t.Helper()
		if err := os.WriteFile(out, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		r.dialogs.writeTo(out, "csv", asked, func() { written = true })
		r.wait("an answer", func() bool { return written || r.dialogs.top != nil })
		if r.dialogs.top != nil {
			question = labels(r.win.Canvas().Overlays().Top())
			r.typeKey(fyne.KeyEscape)
		}
		return question, written
	}
	const notes, saved = "my notes\n", "index,time,thread,event,depth\n"
	for _, test := range []struct {
		content string
		asked   bool
		want    []string // in the question; nil for none
		not     string
	}{
		{notes, false, []string{"x.csv is no file that was saved in this format (Comma-separated values)", "x.csv exists. Replace it?"}, ""},
		{notes, true, []string{"x.csv is no file that was saved in this format"}, ""},
		{saved, false, []string{"x.csv exists. Replace it?"}, "is no file"},
		{saved, true, nil, ""},
	} {
		question, written := ask(test.content, test.asked)
		if written != (test.want == nil) {
			t.Errorf("%q, asked %t: written %t", test.content, test.asked, written)
		}
		for _, want := range test.want {
			if !strings.Contains(question, want) || test.not != "" && strings.Contains(question, test.not) {
				t.Errorf("%q, asked %t: the question is %q", test.content, test.asked, question)
			}
		}
	}
}

// labels returns the texts that can be read in an object.
func labels(o fyne.CanvasObject) string {
	text := ""
	for _, t := range test.LaidOutObjects(o) {
		if l, ok := t.(*widget.Label); ok {
			text += l.Text + "\n"
		}
	}
	return text
}
