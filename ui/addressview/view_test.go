package addressview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/theme"

	"logparser/app"
	"logparser/message"
	"logparser/symbols"
	"logparser/ui/grid"
)

// A rig is a view in a window. Posted functions are run by the test.
type rig struct {
	*View
	queue chan func()
	did   []string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	test.NewTempApp(t)
	r := &rig{queue: make(chan func(), 10)}
	r.View = New(grid.NewFonts(theme.DefaultTextMonospaceFont().Content()), &grid.Light, func(f func()) { r.queue <- f })
	r.OnChosen = func(file string, line int) { r.did = append(r.did, fmt.Sprint("chosen ", file, ":", line)) }
	r.OnOpen = func(file string, line int) { r.did = append(r.did, fmt.Sprint("open ", file, ":", line)) }
	r.OnCopy = func(text string) { r.did = append(r.did, "copy "+text) }
	r.OnReload = func() { r.did = append(r.did, "reload") }
	w := test.NewTempWindow(t, r.Content)
	w.Resize(fyne.NewSize(900, 500))
	return r
}

// run runs the next posted function.
func (r *rig) run() { (<-r.queue)() }

func (r *rig) done() []string {
	did := r.did
	r.did = nil
	return did
}

// listed are the lines of the list, a bar between the cells.
func (r *rig) listed() []string {
	r.Lines.Grid.SelectAll()
	list := strings.Split(strings.TrimSuffix(r.Lines.Text(), "\n"), "\n")
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "\t", "|")
	}
	return list[1:]
}

func named(frames ...symbols.Frame) app.TextReference {
	return app.TextReference{Symbol: &app.TextSymbol{Symbol: app.Symbol{Frames: frames}}}
}

// report is a text of four lines with four addresses, of which two have names, one of them an inlined function's.
func report() *app.NamedText {
	return &app.NamedText{Lines: []app.NamedLine{
		{Text: "crash\tat"},
		{Text: "#0 0x10", References: []app.TextReference{named(symbols.Frame{Function: "inner", File: `C:\src\in.cpp`, Line: 5}, symbols.Frame{Function: "outer", File: "/src/out.cpp", Line: 9})}},
		{Text: "#1 0x20 0x30", References: []app.TextReference{named(symbols.Frame{Function: "main"}), {OtherBuild: "/lib/x.so"}}},
		{Text: "#2 0x40", References: []app.TextReference{{}}},
	}}
}

// Each address has its names beside its line; what is chosen shows its source, and opens it.
func TestNamesBesideLines(t *testing.T) {
	r := newRig(t)
	r.Show(report())
	r.run()
	want := []string{
		"1|crash\uFFFDat||",
		"2|#0 0x10|inner|in.cpp:5",
		"||inlined into outer|out.cpp:9",
		"3|#1 0x20 0x30|main|",
		"||/lib/x.so is of another build|",
		"4|#2 0x40||",
	}
	if got := r.listed(); !slices.Equal(got, want) {
		t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if r.said.Text != "2 of 4 addresses have names" {
		t.Errorf("said %q", r.said.Text)
	}
	r.done()
	for i := range int64(len(want)) {
		r.Lines.Grid.SetCurrent(i)
		r.Lines.Grid.OnActivated(i)
	}
	r.Lines.Grid.OnActivated(99)
	wanted := []string{`chosen C:\src\in.cpp:5`, `open C:\src\in.cpp:5`, "chosen /src/out.cpp:9", "open /src/out.cpp:9"}
	if got := r.done(); !slices.Equal(got, wanted) {
		t.Errorf("done %q, want %q", got, wanted)
	}
	// The source stands below, until another line is chosen.
	r.Lines.Grid.SetCurrent(1)
	r.ShowSource("in.cpp", "", 4, 5, []string{"{", "\tcrash();"})
	if got := r.source.Text(); r.sourceHead.Text != "in.cpp" || got != "       4  {\n=>     5  \uFFFDcrash();\n" {
		t.Errorf("below %q stands %q", r.sourceHead.Text, got)
	}
	r.ShowSource("in.cpp", "The file is not here.", 0, 0, nil)
	if got := r.source.Text(); got != "The file is not here." {
		t.Errorf("below stands %q", got)
	}
	if r.Lines.Grid.SetCurrent(0); r.sourceHead.Text != "" || r.source.Text() != "" {
		t.Errorf("below a line without addresses stand %q and %q", r.sourceHead.Text, r.source.Text())
	}
}

// The switch leaves lines with addresses alone, also those that have no names; the buttons copy all, and read anew.
func TestSwitchAndButtons(t *testing.T) {
	r := newRig(t)
	test.Tap(r.copy) // there is no text
	r.Show(report())
	r.run()
	test.Tap(r.only)
	r.run()
	r.run()
	if got := r.listed(); len(got) != 5 || strings.HasPrefix(got[0], "1|") || !strings.HasPrefix(got[4], "4|") {
		t.Errorf("with addresses: %q", got)
	}
	test.Tap(r.only)
	r.run()
	if got := r.listed(); len(got) != 6 {
		t.Errorf("all: %q", got)
	}
	r.done()
	test.Tap(r.copy)
	text := "crash\tat\n" +
		"#0 0x10  => inner at C:\\src\\in.cpp:5, inlined into outer at /src/out.cpp:9\n" +
		"#1 0x20 0x30  => main  => [mismatched] /lib/x.so is of another build\n" +
		"#2 0x40\n"
	if got := r.done(); !slices.Equal(got, []string{"copy " + text}) {
		t.Errorf("copied %q, want %q", got, text)
	}
	r.Lines.Grid.SelectAll()
	r.done()
	r.Lines.Grid.OnCopy()
	if got := r.done(); len(got) != 1 || !strings.Contains(got[0], "\n2\t#0 0x10\tinner\tin.cpp:5\n") {
		t.Errorf("copied %q", got)
	}
	if r.reload.Visible() {
		t.Error("a file that has not changed can be read again")
	}
	r.Changed()
	if test.Tap(r.reload); !r.reload.Visible() || !slices.Equal(r.done(), []string{"reload"}) {
		t.Error("the file is not read again")
	}
	r.Say("Reading")
	r.run()
	if r.said.Text != "Reading" || r.reload.Visible() || r.Lines.Len() != 0 {
		t.Errorf("said %q, %d lines", r.said.Text, r.Lines.Len())
	}
	if test.Tap(r.copy); len(r.done()) != 0 {
		t.Error("the text before is copied")
	}
	if r.Shown() {
		t.Error("the view lies over no window")
	}
}

// Above the list stands what is missing: the text's end, and symbols of no more modules than there is room for.
func TestWhatIsMissing(t *testing.T) {
	r := newRig(t)
	text := report()
	text.Cut = true
	for i := range 7 {
		text.Unresolved = append(text.Unresolved, app.TextModule{Path: fmt.Sprintf("/lib/%d.so", i), Reason: message.Textf("it is not here")})
	}
	r.Show(text)
	r.run()
	want := "2 of 4 addresses have names\nThe text is longer than what is shown; the command logparse symbolize has no limit.\n" +
		"/lib/0.so: it is not here\n/lib/1.so: it is not here\n/lib/2.so: it is not here\n/lib/3.so: it is not here\n/lib/4.so: it is not here\n\u2026"
	if r.said.Text != want {
		t.Errorf("said\n%s\nwant\n%s", r.said.Text, want)
	}
}
