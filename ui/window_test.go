package ui

import (
	"bytes"
	"errors"
	"image"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/storage"
	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/language"
	"logparser/ui/look"
)

// A rig is a window that opens every file as a log. The functions that workers post
// are run by the test's own goroutine, in wait.
type rig struct {
	*workspace
	t      *testing.T
	nested *testlog.Nested
	queue  chan func()
	trace  *syncBuffer
	log    string
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// newRig makes a window; without a log it opens what files are.
func newRig(t *testing.T, log *testlog.Nested) *rig {
	t.Helper()
	r := &rig{t: t, nested: log, queue: make(chan func(), 10_000), trace: &syncBuffer{}}
	a := test.NewTempApp(t)
	a.Preferences().SetString("language", language.English)
	opt := Options{Post: func(f func()) { r.queue <- f }, Trace: r.trace, FyneDialogs: true}
	if log != nil {
		opt.Open = app.Formats{log.Format()}.Open
	}
	r.workspace = New(a, opt).front
	// What is written in the background ends before its folder does.
	t.Cleanup(func() { r.memory.write(r.Window.trace) })
	r.win.Show()
	r.log = filepath.Join(t.TempDir(), "a.dat")
	if err := errors.Join(os.WriteFile(r.log, []byte{0, 1, 2, 0}, 0o666), testlog.WriteSymbols(filepath.Dir(r.log))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.end)
	return r
}

// end closes all logs, and waits until nothing works on it.
func (r *rig) end() {
	for _, ws := range r.tabs.list {
		ws.ctl.Close()
	}
	if r.nested != nil {
		r.nested.OnRead(nil)
		r.wait("the logs to be closed", func() bool { return r.nested.Closed() == r.nested.Opened() })
	}
}

// wait runs what workers have posted until a condition holds.
func (r *rig) wait(what string, cond func() bool) {
	r.t.Helper()
	deadline := time.After(time.Minute)
	for !cond() {
		select {
		case f := <-r.queue:
			f()
		case <-time.After(2 * time.Millisecond): // not all that is waited for is posted
		case <-deadline:
			r.t.Fatalf("waited in vain for: %s\ntrace:\n%s", what, r.trace)
		}
	}
}

func (r *rig) waitTrace(line string) {
	r.t.Helper()
	r.wait(line, func() bool { return strings.Contains("\n"+r.trace.String(), "\n"+line) })
}

func (r *rig) open() {
	r.t.Helper()
	r.Open([]string{r.log})
	r.waitTrace("loaded")
}

// A themeWatcher is an app that notes which theme it had when the first window
// was made.
type themeWatcher struct {
	fyne.App
	first fyne.Theme
}

func (a *themeWatcher) NewWindow(title string) fyne.Window {
	a.first = a.Settings().Theme()
	return a.App.NewWindow(title)
}

// The theme is set before there are widgets: what Fyne measures and draws for
// them it keeps, in the font and the colours of that time.
func TestThemeComesFirst(t *testing.T) {
	for _, code := range []string{language.English, language.Chinese} {
		a := &themeWatcher{App: test.NewTempApp(t)}
		a.Preferences().SetString("language", code)
		a.Preferences().SetString("theme", look.Light)
		w := New(a, Options{Post: func(func()) {}})
		if want := (look.Theme{Brightness: look.Light, Han: code == language.Chinese}); a.first != fyne.Theme(want) {
			t.Errorf("%s: the widgets were made in a theme %T, not in the one chosen", code, a.first)
		}
		w.win.Close()
	}
}

func TestOpenShowsRowsThenNames(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1000})
	release := r.nested.Hold()
	if r.body.Objects[0] != r.start.Content {
		t.Error("no start page while nothing is open")
	}
	r.Open([]string{r.log})
	r.waitTrace("rows 1000")
	if r.body.Objects[0] != fyne.CanvasObject(r.split) {
		t.Error("the table is not shown")
	}
	if got := r.strip.Log.StateText(); !strings.Contains(got, "1,000 records") {
		t.Errorf("state of the log: %q", got)
	}
	if s := r.ctl.State(); s.Symbols.Level != control.LevelBusy || s.Loaded {
		t.Errorf("symbols while loading: %+v", s.Symbols)
	}
	release()
	r.waitTrace("loaded")
	if s := r.ctl.State(); s.Symbols.Level != control.LevelGood || !s.Loaded {
		t.Errorf("symbols after loading: %+v", s.Symbols)
	}
	if got := r.strip.Symbols.StateText(); !strings.Contains(got, "1 of 1") {
		t.Errorf("state of the symbols: %q", got)
	}
	if got := r.win.Title(); !strings.HasPrefix(got, "a.dat") {
		t.Errorf("title %q", got)
	}
}

// The real window has its keys from the driver; here they are typed at what
// has the focus.
func (r *rig) typeKey(name fyne.KeyName) {
	r.t.Helper()
	focused := r.win.Canvas().Focused()
	if focused == nil {
		r.win.Canvas().OnTypedKey()(&fyne.KeyEvent{Name: name})
		return
	}
	focused.TypedKey(&fyne.KeyEvent{Name: name})
}

func (r *rig) typeText(s string) {
	r.t.Helper()
	test.Type(r.win.Canvas().Focused(), s)
}

// menuItem returns the action of a menu item, by its English text.
func (r *rig) menuItem(label string) *fyne.MenuItem {
	r.t.Helper()
	for _, m := range r.win.MainMenu().Items {
		for _, i := range m.Items {
			if name, _, _ := strings.Cut(i.Label, "  "); name == label {
				return i
			}
		}
	}
	r.t.Fatalf("no menu item %q", label)
	return nil
}

func TestKeyboardInTheTable(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	if r.win.Canvas().Focused() != fyne.Focusable(r.table.grid) {
		t.Fatal("the table has not got the focus")
	}
	r.typeKey(fyne.KeyEnd)
	if r.table.grid.Current() != 99 {
		t.Fatalf("End goes to row %d", r.table.grid.Current())
	}
	r.waitTrace("selected 99")
	r.typeKey(fyne.KeyHome)
	r.menuItem("Go to the other half of the call").Action()
	if r.table.grid.Current() != 13 {
		t.Errorf("the other half of row 0 is row %d", r.table.grid.Current())
	}
}

// A log of a billion rows is shown, and its rows are reached, before its calls are
// paired.
func TestBillionRows(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1_000_000_000})
	r.Open([]string{r.log})
	r.waitTrace("rows 1000000000")
	if got := r.strip.Log.StateText(); !strings.Contains(got, "1,000,000,000 records") {
		t.Errorf("state of the log: %q", got)
	}
	r.win.Canvas().Focus(r.table.grid)
	shown := func(row int64) {
		t.Helper()
		r.wait("the row", func() bool {
			var read [1]rows.Row
			r.table.reader.Read(read[:], row)
			return read[0].Index == row && read[0].Elapsed == row*1e6
		})
		if got := r.status.selection.Text; !strings.HasPrefix(got, "Row "+control.Thousands(row)) {
			t.Errorf("status bar: %q", got)
		}
	}
	r.typeKey(fyne.KeyEnd)
	r.waitTrace("selected 999999999")
	shown(999_999_999)
	r.table.grid.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, 100)})
	if top := r.table.grid.Top(); top < 999_999_900 || r.table.grid.AtEnd() {
		t.Errorf("scrolled to row %d", top)
	}
	for text, row := range map[string]int64{"123,456": 123_456, "12.5s": 12_500, "10:00:22.5": 22_500, "999999998": 999_999_998} {
		r.menuItem("Go to a row or a time").Action()
		r.typeText(text)
		r.typeKey(fyne.KeyReturn)
		r.wait(text, func() bool { return r.table.currentRow() == row })
		shown(row)
	}
	if r.ctl.State().Loaded {
		t.Error("it is loaded already")
	}
}

func TestFind(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.menuItem("Find").Action()
	r.typeText("SHAPE::AREA")
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("found 3")
	r.typeKey(fyne.KeyF3)
	r.waitTrace("found 5")
	r.menuItem("Find previous").Action()
	r.wait("back to row 3", func() bool { return r.table.grid.Current() == 3 })
	r.typeKey(fyne.KeyEscape)
	if r.bar.entry.Text != "" || r.win.Canvas().Focused() != fyne.Focusable(r.table.grid) {
		t.Error("Escape does not leave the find field")
	}
	r.table.grid.TypedRune('/')
	r.typeText("absent")
	r.typeKey(fyne.KeyReturn)
	r.wait("outcome", func() bool { return r.bar.outcome.Text == "Not found" })
}

func TestThreadFilterKeepsTheRow(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.table.grid.SetCurrent(51)
	if got := strings.Join(r.bar.thread.Options, "|"); got != "All threads|1000  (56)|1001  (44)" {
		t.Fatalf("options %q", got)
	}
	r.bar.thread.SetSelectedIndex(2)
	r.waitTrace("filtered 44")
	if got := r.table.indexOf(r.table.grid.Current()); got != 51 {
		t.Errorf("after filtering the current row is %d", got)
	}
	if got := r.status.counts.Text; !strings.Contains(got, "44 of 100 rows, 56 hidden") {
		t.Errorf("status bar: %q", got)
	}
	r.bar.thread.SetSelectedIndex(0)
	if r.ctl.State().Filtered || r.table.grid.Current() != 51 {
		t.Errorf("filtered %v, current row %d", r.ctl.State().Filtered, r.table.grid.Current())
	}
}

func TestModulesInputIsGreyForALogThatTellsThem(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	if r.strip.Modules.Entry.Disabled() {
		t.Error("grey without a log")
	}
	r.open()
	if line := r.strip.Modules; !line.Entry.Disabled() || !line.Browse.Disabled() {
		t.Errorf("entry grey %v, button grey %v", line.Entry.Disabled(), line.Browse.Disabled())
	}
	if got := r.strip.Modules.StateText(); !strings.Contains(got, "the log tells them") {
		t.Errorf("state %q", got)
	}
	r.ctl.Close()
	if r.strip.Modules.Entry.Disabled() {
		t.Error("still grey without the log")
	}
}

func TestRunSelectorOnlyForSeveralRuns(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	if r.bar.run.Visible() {
		t.Error("a selector for one run")
	}
	r = newRig(t, &testlog.Nested{Runs: []int64{56}, Records: 100})
	r.open()
	if !r.bar.run.Visible() || r.bar.run.SelectedIndex() != 2 {
		t.Errorf("visible %v, selected %d", r.bar.run.Visible(), r.bar.run.SelectedIndex())
	}
	if got := r.status.counts.Text; !strings.Contains(got, "1 run left out (56 rows)") {
		t.Errorf("status bar: %q", got)
	}
	r.bar.run.SetSelectedIndex(0)
	r.wait("all runs", func() bool { return r.ctl.State().Facts.All && r.ctl.State().Rows.Len() == 156 })
}

// savedRows counts the rows of a text file that was saved.
func savedRows(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "app.cpp:")
}

func TestSaveDialog(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.menuItem("Save").Action()
	if r.dialogs.top != nil {
		t.Fatal("something can be saved without a log")
	}
	r.open()
	r.menuItem("Save").Action()
	out := filepath.Join(t.TempDir(), "x.txt")
	entry := r.win.Canvas().Focused()
	if got := entry.(interface{ SelectedText() string }).SelectedText(); got != strings.TrimSuffix(r.log, ".dat")+".csv" {
		t.Errorf("proposed name %q", got)
	}
	r.typeText(out) // replaces the selected text
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("saved " + out)
	if n := savedRows(t, out); n != 100 {
		t.Errorf("saved %d rows", n)
	}
	if m := r.ctl.State().Message; m == nil || m.Level != control.LevelGood {
		t.Errorf("message %+v", m)
	}

	// An existing file is not replaced unasked, and Escape closes the dialog.
	r.menuItem("Save").Action()
	r.typeText(out)
	r.typeKey(fyne.KeyReturn)
	r.wait("the question", func() bool { return r.dialogs.top != nil })
	if r.ctl.Saving.Busy() {
		t.Error("replaced without asking")
	}
	r.typeKey(fyne.KeyEscape)
	if r.dialogs.top != nil {
		t.Error("Escape does not answer no")
	}
	r.menuItem("Save").Action()
	r.typeKey(fyne.KeyEscape)
	if r.dialogs.top != nil {
		t.Error("Escape does not close the dialog")
	}
}

func TestSlowWorkIsShownAndCancelled(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1_000_000_000})
	r.Open([]string{r.log})
	r.wait("progress", func() bool {
		title := r.status.title.Text
		return r.status.work.Visible() && strings.HasPrefix(title, "Pairing enters and leaves  ") && strings.HasSuffix(title, " %") && r.status.progress.Visible()
	})
	test.Tap(r.status.cancel)
	r.wait("the end of progress", func() bool { return !r.status.work.Visible() && r.ctl.State().Message != nil })
	if r.body.Objects[0] == r.start.Content {
		t.Error("cancelling does not keep the rows")
	}
}

// Quitting while a file is saved stops the saving, and waits for its end.
func TestQuitWhileSaving(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1_000_000})
	r.open()
	r.nested.Slow()
	closed := false
	r.win.SetOnClosed(func() { closed = true })
	r.ctl.Saving.Save(filepath.Join(t.TempDir(), "x.csv"), "csv", app.SaveOptions{})
	r.close()
	if closed || r.win.Canvas().Overlays().Top() == nil {
		t.Fatal("closed without asking")
	}
	r.dialogs.quitting = true // as the answer yes does
	r.ctl.Saving.CancelSave()
	r.dialogs.quitWhenIdle()
	if closed {
		t.Error("closed before the saving has ended")
	}
	r.wait("the window's end", func() bool { return closed })
}

func TestErrorIsShownWithANextStep(t *testing.T) {
	r := newRig(t, &testlog.Nested{})
	r.nested.FailOpening(testlog.ErrBroken)
	r.Open([]string{r.log})
	r.wait("message", func() bool { return r.ctl.State().Message != nil })
	m := r.ctl.State().Message
	if m.Level != control.LevelBad || m.Next == "" || m.Details == "" || !r.notice.Content.Visible() {
		t.Errorf("message %+v", m)
	}
	if r.strip.Log.Entry.Text != r.log || r.strip.Log.StateText() != "broken" {
		t.Errorf("input %q, %q", r.strip.Log.Entry.Text, r.strip.Log.StateText())
	}
	r.notice.OnDismiss()
	if r.notice.Content.Visible() {
		t.Error("the message stays")
	}
}

func TestCopyRows(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.table.grid.SetCurrent(2)
	r.table.grid.TypedShortcut(&fyne.ShortcutCopy{})
	r.waitTrace("copied 1")
	want := "2\t10:00:00.002\t1000\t    \u2192 app::Window::paint\t9 ms\tsample.exe\t/src/sample/app.cpp:24\t0x140001080\tmatched\t\n"
	if got := r.app.Clipboard().Content(); got != want {
		t.Errorf("copied %q, want %q", got, want)
	}
	// With a text in focus, Ctrl+C is its own.
	r.finding.focus()
	r.typeText("abc")
	r.bar.entry.TypedShortcut(&fyne.ShortcutSelectAll{})
	r.menuItem("Copy rows").Action()
	if got := r.app.Clipboard().Content(); got != "abc" {
		t.Errorf("copied %q out of the find field", got)
	}
}

func TestDrop(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100, ModulesFile: true})
	modules := filepath.Join(t.TempDir(), "modules.txt")
	if err := os.WriteFile(modules, []byte("0x1000 0x1000 a.exe\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r.dropped(fyne.NewPos(0, 0), []fyne.URI{storage.NewFileURI(modules), storage.NewFileURI(r.log)})
	r.waitTrace("loaded")
	if in := r.ctl.State().Found; in.Log != r.log || in.Modules != modules {
		t.Errorf("opened %+v", in)
	}
}

func TestInputsAreTyped(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	e := r.strip.Log.Entry
	r.win.Canvas().Focus(e)
	r.typeText(r.log)
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("loaded")
	r.typeKey(fyne.KeyF9)
	s := r.strip.Symbols.Entry
	r.win.Canvas().Focus(s)
	r.typeText("/one" + string(os.PathListSeparator) + "/two")
	r.win.Canvas().Focus(r.table.grid) // leaving the field is enough
	r.wait("symbols", func() bool { return r.ctl.State().Loaded && len(r.ctl.State().Found.Symbols) == 2 })
	if got := r.pref.symbols(); len(got) != 2 || got[1] != "/two" {
		t.Errorf("remembered %q", got)
	}
}

// What the user arranged is there again at the next start.
func TestPreferencesAreKept(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.win.Resize(fyne.NewSize(900, 700))
	r.table.grid.SetColumn("module", 222, false)
	r.table.grid.SetColumn("note", 0, true)
	r.pref.setMappings([]app.SourceMapping{{From: `C:\src`, To: "/src"}, {From: "", To: "x"}})
	r.close()
	again := New(r.app, Options{Post: func(f func()) { r.queue <- f }}).front
	for _, c := range again.table.grid.Columns() {
		if c.ID == "module" && (c.Width != 222 || c.Hidden) || c.ID == "note" && !c.Hidden {
			t.Errorf("column %s: width %v, hidden %v", c.ID, c.Width, c.Hidden)
		}
	}
	if got := again.pref.size(); got != fyne.NewSize(900, 700) {
		t.Errorf("size %v", got)
	}
	if got := again.pref.mappings(); len(got) != 1 || got[0].To != "/src" {
		t.Errorf("mappings %v", got)
	}
	if logs, _ := again.pref.recent(); len(logs) != 1 || logs[0] != r.log {
		t.Errorf("recent %q", logs)
	}
}

func TestRecentIsBounded(t *testing.T) {
	r := newRig(t, &testlog.Nested{})
	for i := range 15 {
		r.pref.addRecent(strings.Repeat("x", i+1), "")
	}
	r.pref.addRecent("xxxxxxxx", "m")
	logs, modules := r.pref.recent()
	if len(logs) != maxRecent || logs[0] != "xxxxxxxx" || modules[0] != "m" {
		t.Errorf("%q %q", logs, modules)
	}
	r.opening.forget("xxxxxxxx")
	if logs, _ := r.pref.recent(); len(logs) != maxRecent-1 || logs[0] == "xxxxxxxx" {
		t.Errorf("after forgetting: %q", logs)
	}
}

func TestLanguageAndBrightnessSwitchLive(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.pref.setLanguage(language.Chinese)
	r.setLanguage(language.Chinese)
	r.relabel()
	if got := r.win.MainMenu().Items[0].Label; got != "\u6587\u4ef6" {
		t.Errorf("first menu %q", got)
	}
	if got := r.table.grid.Columns()[1].Title; got != "\u65f6\u95f4" {
		t.Errorf("second column %q", got)
	}
	if got := r.status.counts.Text; !strings.Contains(got, "100 \u884c") {
		t.Errorf("status bar %q", got)
	}
	r.setTheme(look.Dark)
	dark := r.win.Canvas().Capture()
	r.setTheme(look.Light)
	light := r.win.Canvas().Capture()
	at := func(img image.Image) uint32 {
		v, _, _, _ := img.At(400, 300).RGBA()
		return v >> 8
	}
	if at(dark) > 0x60 || at(light) < 0xc0 {
		t.Errorf("table in dark %#x, in light %#x", at(dark), at(light))
	}
}

func TestOpenSource(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sample"), 0o777); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "sample", "app.cpp")
	if err := os.WriteFile(file, []byte("int main() {}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	mapping := []app.SourceMapping{{From: "/src", To: dir}}
	find := func(recorded string, mappings []app.SourceMapping) (string, error) {
		return app.SourceFile(recorded, mappings, true)
	}
	got, err := sourceCommand(find, "/src/sample/app.cpp", 24, mapping, "code -g {file}:{line}", true)
	if err != nil || len(got) != 3 || got[2] != file+":24" {
		t.Errorf("command %q, %v", got, err)
	}
	for _, bad := range []string{"/src/sample/../../etc/passwd", "/src/absent.cpp", `\\server\share\a.cpp`, "relative.cpp"} {
		if got, err := sourceCommand(find, bad, 1, mapping, "code {file}", false); err == nil {
			t.Errorf("%s would be opened: %q", bad, got)
		}
	}
	if _, err := sourceCommand(find, file, 1, nil, "code {file}", true); err == nil {
		t.Error("a recorded path is opened although that is forbidden")
	}
	r.side.openSource(0)
	r.wait("message", func() bool { return r.ctl.State().Message != nil })
	if m := r.ctl.State().Message; m.Next == "" || !strings.Contains(m.Text, "/src/sample/app.cpp") {
		t.Errorf("message %+v", m)
	}
}

// The bundled sample opens with the real engine, and every function has a
// name.
func TestSampleHasNames(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := newRig(t, nil)
	queue := r.queue
	w := New(r.app, Options{Post: func(f func()) { queue <- f }, Trace: r.trace}).front
	w.OpenSample()
	r.waitTrace("loaded")
	s := w.ctl.State()
	if s.Message != nil || s.Symbols.Level != control.LevelGood {
		t.Fatalf("message %+v, symbols %+v", s.Message, s.Symbols)
	}
	if s.Rows.Len() < 100 {
		t.Fatalf("%d rows", s.Rows.Len())
	}
	for i := range s.Rows.Len() {
		if row := s.Rows.Row(i); strings.Contains(row.Function, "+0x") || row.Source == "" || row.Note != "" {
			t.Fatalf("row %d: %+v", i, row)
		}
	}
	w.ctl.Close()
}

// A log that takes long to open shows that: on the start page at once, in the status bar so early that it is painted
// after 0.3 seconds. The button there stops it, and Escape wherever the focus is.
func TestSlowOpeningIsShownAndStopped(t *testing.T) {
	escape := func(focus func(r *rig) fyne.Focusable) func(r *rig) {
		return func(r *rig) {
			r.win.Canvas().Focus(focus(r))
			r.typeKey(fyne.KeyEscape)
		}
	}
	for name, stop := range map[string]func(r *rig){
		"nothing": func(r *rig) { r.typeKey(fyne.KeyEscape) },
		"filter":  escape(func(r *rig) fyne.Focusable { r.filters.focus(); return r.win.Canvas().Focused() }),
		"log":     escape(func(r *rig) fyne.Focusable { return r.strip.Log.Entry }),
		"button":  func(r *rig) { test.Tap(button(t, r.start.Content, "Cancel (Esc)")) },
	} {
		r := newRig(t, &testlog.Nested{Records: 100, Opening: make(chan struct{})})
		r.win.Resize(fyne.NewSize(1024, 600))
		r.Open([]string{r.log})
		r.wait("the name", func() bool { return r.ctl.State().Opening != "" })
		if got := r.start.Working(); !strings.HasSuffix(got, " \u00b7 a.dat") && got != "Reading the log \u00b7 a.dat  0 %" {
			t.Errorf("at once the start page says %q", got)
		}
		r.wait("progress", func() bool { return r.status.work.Visible() })
		if got := r.start.Working(); got != "Reading the log \u00b7 a.dat  0 %" {
			t.Errorf("the start page says %q", got)
		}
		if got := r.status.counts.Text; got != "Opening a.dat" {
			t.Errorf("the status bar says %q", got)
		}
		work := r.status.work
		if !work.Visible() || work.Size().Width < work.MinSize().Width {
			t.Errorf("in the status bar progress has the size %v of %v", work.Size(), work.MinSize())
		}
		if at := r.app.Driver().AbsolutePositionForObject(work); at.X < 0 || at.X+work.Size().Width > 1024 {
			t.Errorf("progress is at %v", at)
		}
		stop(r)
		r.wait("the end", func() bool { return r.ctl.State().Message != nil })
		m := r.ctl.State().Message
		if m.Text != "Opening a.dat was stopped." || m.Offer != control.OfferReload || r.start.Working() != "" || work.Visible() || r.status.counts.Text != "No log is open" {
			t.Errorf("%s: message %+v, page %q, status %q", name, m, r.start.Working(), r.status.counts.Text)
		}
		close(r.nested.Opening)
		r.opening.offer(m.Offer)
		r.waitTrace("loaded")
		r.win.Close()
	}
}

// While a log is shown, Escape stops opening another, and says so.
func TestStoppedOpeningKeepsTheLog(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.nested.Opening = make(chan struct{})
	other := filepath.Join(t.TempDir(), "b.dat")
	if err := os.WriteFile(other, []byte{0, 1, 2, 0}, 0o666); err != nil {
		t.Fatal(err)
	}
	r.ctl.Inputs.SetLog(other)
	r.wait("progress", func() bool { return r.status.work.Visible() })
	r.typeKey(fyne.KeyEscape)
	r.wait("the end", func() bool { return r.ctl.State().Message != nil })
	if m := r.ctl.State().Message; m.Text != "Opening b.dat was stopped." || m.Offer != control.OfferNone || r.table.log != r.log || r.ctl.State().Wanted.Log != r.log {
		t.Errorf("message %+v, shown %s", m, r.table.log)
	}
	if r.actions.key(fyne.KeyEscape) {
		t.Error("Escape finds something else to stop")
	}
}
