package ui

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/logstate"
	"logparser/ui/timeline"
)

func (r *rig) shownRows() string {
	var list []string
	src := r.ctl.State().Rows
	for i := range min(src.Len(), 12) {
		list = append(list, fmt.Sprint(src.Row(i).Index))
	}
	return strings.Join(list, " ")
}

func TestFilterLine(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	if !r.bar.line.Entry.Disabled() {
		t.Error("there is nothing to filter yet")
	}
	r.open()
	r.menuItem("Filter the rows").Action()
	r.typeText("func:main thread:1000")
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("filtered 8")
	if got := countsText(r.ctl.State()); got != "8 of 100 rows, 92 hidden" || r.status.counts.Text != got+"   \u00b7   2 threads" {
		t.Errorf("counts %q, status %q", got, r.status.counts.Text)
	}
	if r.win.Canvas().Focused() != fyne.Focusable(r.table.grid) {
		t.Error("the table has not got the focus")
	}
	if got := r.pref.filters(); len(got) != 1 || got[0] != "func:main thread:1000" {
		t.Errorf("remembered %q", got)
	}
	if got := r.bar.thread.Selected; got != "1000  (56)" {
		t.Errorf("thread selector %q", got)
	}
	r.bar.thread.SetSelectedIndex(0)
	r.waitTrace("filtered 15")
	if got := r.ctl.State().Selection.Where; got != "func:main" {
		t.Errorf("without a thread: %q", got)
	}
	// Off and on again.
	r.menuItem("All filters off or on").Action()
	r.waitTrace("unfiltered")
	if r.ctl.State().Filtered {
		t.Error("still filtered")
	}
	r.menuItem("All filters off or on").Action()
	r.wait("the filter", func() bool { return r.ctl.State().View != nil && r.ctl.State().View.Done() })

	r.menuItem("Filter the rows").Action()
	r.typeText("func:")
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("filter error")
	if r.ctl.State().Rows.Len() != 15 || r.bar.line.Entry.Text != "func:" {
		t.Errorf("%d rows, text %q", r.ctl.State().Rows.Len(), r.bar.line.Entry.Text)
	}
	r.typeKey(fyne.KeyEscape)
	r.typeKey(fyne.KeyEscape)
	r.wait("no filter", func() bool { return !r.ctl.State().Filtered })
	if r.bar.line.Entry.Text != "" {
		t.Errorf("text %q", r.bar.line.Entry.Text)
	}
}

func TestSavedFilters(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.ctl.Filter.SetWhere("thread:1001")
	r.waitTrace("filtered 44")
	r.menuItem("Save this filter").Action()
	r.typeText("second thread")
	r.typeKey(fyne.KeyReturn)
	names, exprs := r.pref.namedFilters()
	if len(names) != 1 || names[0] != "second thread" || exprs[0] != "thread:1001" {
		t.Fatalf("saved %q %q", names, exprs)
	}
	r.ctl.Filter.ShowAll()
	var labels []string
	for _, i := range r.actions.items(r.actions.knownFilters()) {
		labels = append(labels, i.Label)
		if strings.HasPrefix(i.Label, "second thread") {
			i.Action()
		}
	}
	r.wait("the filter", func() bool { return r.ctl.State().Filtered })
	if r.ctl.State().Selection.Where != "thread:1001" {
		t.Errorf("applied %q of %q", r.ctl.State().Selection.Where, labels)
	}
	r.pref.nameFilter("a", "x")
	r.pref.forgetFilter("second thread")
	if names, _ := r.pref.namedFilters(); !slices.Equal(names, []string{"a"}) {
		t.Errorf("after forgetting %q", names)
	}
}

// cell does what an item of a cell's menu does.
func (r *rig) cell(at int64, column, label string) {
	r.t.Helper()
	row := r.ctl.State().Rows.Row(at)
	r.table.grid.SetCurrent(at)
	var labels []string
	items := r.actions.cellItems(at, column, &row)
	// It is to fit a small window.
	if height := widget.NewMenu(fyne.NewMenu("", items...)).MinSize().Height; height > 480 {
		r.t.Errorf("the menu is %v high", height)
	}
	for k := 0; k < len(items); k++ {
		i := items[k]
		if i.ChildMenu != nil {
			items = append(items, i.ChildMenu.Items...)
		}
		if i.Label == label {
			if i.Disabled {
				r.t.Fatalf("%q is disabled", label)
			}
			i.Action()
			return
		}
		labels = append(labels, i.Label)
	}
	r.t.Fatalf("no item %q among %q", label, labels)
}

func TestCellMenu(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	where := func(want string) {
		t.Helper()
		r.wait(want, func() bool {
			s := r.ctl.State()
			return s.Pending == nil && s.Selection.Where == want
		})
	}
	r.cell(0, "function", "Include func:=main")
	where("func:=main")
	r.cell(3, "thread", "Exclude thread:1001")
	where("func:=main -thread:1001")
	r.ctl.Filter.ShowAll()
	r.cell(3, "module", "Only inside this call")
	where("call:3")
	if got := r.shownRows(); got != "3 4 5 6 7 8 9 10" {
		t.Errorf("rows inside a call: %s", got)
	}
	r.ctl.Filter.ShowAll()
	r.cell(2, "duration", "Include dur:>=9000000ns")
	r.wait("durations", func() bool { return r.ctl.State().Filtered })
	r.ctl.Filter.ShowAll()
	r.cell(2, "source", "Copy the cell")
	if got := r.app.Clipboard().Content(); got != "/src/sample/app.cpp:24" {
		t.Errorf("copied %q", got)
	}

	row := r.ctl.State().Rows.Row(2)
	for _, i := range r.actions.cellItems(2, "function", &row) {
		if strings.HasPrefix(i.Label, "Highlight") {
			i.ChildMenu.Items[3].Action()
		}
	}
	other := r.ctl.State().Rows.Row(3)
	if r.filters.label("function", &row) != 3 || r.filters.label("module", &row) != 0 || r.filters.label("function", &other) != 0 {
		t.Errorf("labels %d, %d, %d", r.filters.label("function", &row), r.filters.label("module", &row), r.filters.label("function", &other))
	}
	term, _ := cellTerm("function", &row)
	r.filters.setHighlight("function", term, 0)
	if r.filters.label("function", &row) != 0 {
		t.Error("the highlight stays")
	}
}

func TestFoldByKeysAndMouse(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 28})
	r.open()
	r.win.Canvas().Capture()
	r.table.grid.SetCurrent(2)
	r.typeKey(fyne.KeyLeft)
	r.waitTrace("filtered 19")
	if got := r.shownRows(); got != "0 1 2 12 13 14 15 16 17 18 19 20" || r.table.currentRow() != 2 {
		t.Errorf("folded: rows %s, current %d", got, r.table.currentRow())
	}
	var decor [3]grid.Decor
	list := make([]rows.Row, 3)
	r.wait("the rows", func() bool {
		r.table.reader.Read(list, 0)
		return list[2].Index == 2
	})
	r.table.decorate(decor[:], list, 0)
	if d := decor[2]; d.Fold != grid.FoldClosed || d.Hidden != 9 {
		t.Errorf("decor %+v", d)
	}
	// Left of a folded call leads to the caller.
	r.typeKey(fyne.KeyLeft)
	r.wait("the caller", func() bool { return r.table.currentRow() == 1 })
	r.typeKey(fyne.KeyDown)
	r.typeKey(fyne.KeyRight)
	r.wait("unfolded", func() bool { return !r.ctl.State().Filtered })
	if r.table.currentRow() != 2 {
		t.Errorf("unfolded: current row %d", r.table.currentRow())
	}
	// Going to a row that is folded away unfolds it.
	r.ctl.Filter.Fold(1)
	r.wait("folded", func() bool { return r.ctl.State().Filtered && r.ctl.State().View.Done() })
	r.nav.goTo(5)
	r.wait("row 5", func() bool { return r.table.currentRow() == 5 })
	if r.ctl.Filter.IsFolded(1) {
		t.Error("still folded")
	}
	// A row that a filter hides is said to be hidden.
	r.ctl.Filter.SetWhere("func:main")
	r.wait("filtered", func() bool { return r.ctl.State().View != nil && r.ctl.State().View.Done() })
	r.nav.goTo(5)
	r.wait("message", func() bool { return r.ctl.State().Message != nil })
	if got := r.table.currentRow(); got != 0 {
		t.Errorf("the nearest row before is %d", got)
	}
	r.opening.offer(r.ctl.State().Message.Offer)
	r.wait("all rows", func() bool { return !r.ctl.State().Filtered && r.table.currentRow() == 5 })
}

func TestFoldMark(t *testing.T) {
	row := func(thread uint32, depth int, e rows.Event) rows.Row {
		return rows.Row{Thread: thread, Depth: depth, Event: e}
	}
	for name, test := range map[string]struct {
		list, below []rows.Row
		more        int64 // rows of the log below the list
		want        grid.Fold
		known       bool
	}{
		"a leave":                      {[]rows.Row{row(1, 0, rows.Leave)}, nil, 9, grid.NoFold, true},
		"nothing known":                {[]rows.Row{row(1, 0, rows.Enter)}, nil, 9, grid.FoldOpen, false},
		"the log's end":                {[]rows.Row{row(1, 0, rows.Enter)}, nil, 0, grid.NoFold, true},
		"its own leave":                {[]rows.Row{row(1, 0, rows.Enter), row(2, 5, rows.Enter), row(1, 0, rows.Leave)}, nil, 9, grid.NoFold, true},
		"a call inside":                {[]rows.Row{row(1, 0, rows.Enter), row(2, 0, rows.Leave), row(1, 1, rows.Enter)}, nil, 9, grid.FoldOpen, true},
		"its own leave below the edge": {[]rows.Row{row(1, 3, rows.Enter)}, []rows.Row{row(2, 9, rows.Enter), row(1, 3, rows.Leave)}, 9, grid.NoFold, true},
		"a call below the edge":        {[]rows.Row{row(1, 3, rows.Enter)}, []rows.Row{row(2, 9, rows.Enter), row(1, 4, rows.Enter)}, 9, grid.FoldOpen, true},
		"others below the edge":        {[]rows.Row{row(1, 3, rows.Enter)}, []rows.Row{row(2, 9, rows.Enter)}, 9, grid.FoldOpen, false},
	} {
		below := func(k int64) (rows.Row, bool) {
			if k >= int64(len(test.below)) {
				return rows.Row{}, false
			}
			return test.below[k], true
		}
		if got, known := foldMark(test.list, 0, below, test.more); got != test.want || known != test.known {
			t.Errorf("%s: %v, known %t, want %v, %t", name, got, known, test.want, test.known)
		}
	}
}

func TestJumpsAndTheWayBack(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	at := func(row int64) {
		t.Helper()
		r.wait(fmt.Sprint("row ", row), func() bool { return r.table.currentRow() == row })
	}
	r.table.grid.SetCurrent(17)
	r.menuItem("Go to the caller").Action()
	at(16)
	r.menuItem("Go to the other half of the call").Action()
	at(25)
	r.menuItem("Next call of the same function").Action()
	at(30)
	r.menuItem("Previous call of the same function").Action()
	at(16)
	r.menuItem("Back").Action()
	at(30)
	r.menuItem("Back").Action()
	at(25)
	r.menuItem("Back").Action()
	at(16)
	r.menuItem("Back").Action()
	at(17)
	r.menuItem("Forward").Action()
	at(16)
}

func TestHistory(t *testing.T) {
	var tr history
	if tr.step(5, false) != -1 || tr.step(5, true) != -1 {
		t.Error("an empty history leads somewhere")
	}
	tr.jump(1, 100)
	tr.jump(100, 200)
	// Having moved on from row 200, back leads there first.
	for i, want := range []int64{200, 100, 1, -1} {
		if got := tr.step([]int64{205, 200, 100, 1}[i], false); got != want {
			t.Errorf("step %d back: %d, want %d", i, got, want)
		}
	}
	if got := tr.step(1, true); got != 100 {
		t.Errorf("forward: %d", got)
	}
	tr.jump(100, 300)
	if got := tr.step(300, true); got != -1 {
		t.Errorf("forward after another jump: %d", got)
	}
	for i := range int64(1000) {
		tr.jump(i, i+1)
	}
	if len(tr.rows) > maxHistory {
		t.Errorf("%d rows", len(tr.rows))
	}
}

func TestFindOptionsAndMarks(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.menuItem("Find").Action()
	r.typeText("^MAIN$")
	test.Tap(r.bar.regexp)
	r.typeKey(fyne.KeyReturn)
	r.wait("the count", func() bool { return r.bar.outcome.Text == "1 of 200" })
	r.menuItem("Find next").Action()
	r.wait("the count", func() bool { return r.bar.outcome.Text == "2 of 200" })
	test.Tap(r.bar.matchCase)
	r.wait("nothing", func() bool { return r.bar.outcome.Text == "Not found" })
	r.bar.entry.SetText("(")
	r.wait("an error", func() bool { return strings.Contains(r.bar.outcome.Text, "missing closing )") })
	r.typeKey(fyne.KeyEscape)
	if r.bar.finding.Visible() || r.ctl.State().Matches.Query.Text != "" {
		t.Error("the find line stays")
	}
}

// While a filter is still counting the table says so, and stands at the row that
// was current as soon as the filter has come to it.
func TestRowIsKeptWhileAFilterCounts(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1_000_000})
	r.open()
	r.nav.goTo(980_000)
	release := make(chan struct{})
	r.nested.OnRead(func(from int64, _ int) error {
		if from > 500_000 {
			<-release
		}
		return nil
	})
	r.ctl.Filter.SetWhere("func:main")
	r.wait("the first rows", func() bool { return r.ctl.State().Filtered })
	if got := countsText(r.ctl.State()); !strings.Contains(got, " of 1,000,000 rows so far, ") || r.ctl.State().View.Done() {
		t.Errorf("counts %q", got)
	}
	close(release)
	r.wait("the end", func() bool { return r.ctl.State().View.Done() && r.table.currentRow() == 980_000 })
}

// Rows that cannot be read say so.
func TestUnreadableRows(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.nested.OnRead(func(int64, int) error { return testlog.ErrBroken })
	r.ctl.Reload()
	r.wait("the error", func() bool { return r.ctl.State().Message != nil })
	if m := r.ctl.State().Message; m.Level != control.LevelBad || !strings.Contains(m.Text, "broken") {
		t.Errorf("message %+v", m)
	}
	var row [1]rows.Row
	r.wait("the row", func() bool {
		r.table.reader.Read(row[:], 5)
		return row[0].Index == 5
	})
	if row[0].Note != "cannot be read: broken" {
		t.Errorf("row %+v", row[0])
	}
}

// Escape closes a dialog while one of its texts has the focus.
func TestEscapeClosesTheSymbolPath(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 10})
	r.open()
	r.dialogs.editSymbols()
	r.typeText("/a")
	r.typeKey(fyne.KeyReturn)
	r.typeText("/b")
	if r.dialogs.top == nil {
		t.Fatal("Enter closes the dialog")
	}
	r.typeKey(fyne.KeyEscape)
	if r.dialogs.top != nil || len(r.ctl.State().Wanted.Symbols) > 0 {
		t.Errorf("symbols %q", r.ctl.State().Wanted.Symbols)
	}
}

// Keys reach the table also when nothing has the focus.
func TestKeysWithoutFocus(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.nav.goTo(5)
	r.win.Canvas().Unfocus()
	r.typeKey(fyne.KeyDown)
	if r.table.currentRow() != 6 {
		t.Errorf("row %d", r.table.currentRow())
	}
	r.win.Canvas().Unfocus()
	r.win.Canvas().OnTypedRune()('/')
	if r.bar.finding.Hidden {
		t.Error("the find line is hidden")
	}
}

func TestBookmarks(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	for _, row := range []int64{50, 7, 20} {
		r.table.grid.SetCurrent(row)
		r.menuItem("Set or remove a bookmark").Action()
	}
	r.menuItem("Bookmark with a note").Action()
	r.typeText("slow here")
	r.typeKey(fyne.KeyReturn)
	texts := r.side.bookmarks.Texts()
	if len(texts) != 3 || !strings.HasPrefix(texts[0], "7   10:00:00.007   ") || !strings.HasPrefix(texts[1], "slow here") {
		t.Errorf("list %q", texts)
	}
	for _, want := range []int64{50, 7, 20} {
		r.menuItem("Next bookmark").Action()
		if got := r.table.currentRow(); got != want {
			t.Errorf("next bookmark %d, want %d", got, want)
		}
	}
	r.menuItem("Previous bookmark").Action()
	if got := r.table.currentRow(); got != 7 {
		t.Errorf("previous bookmark %d", got)
	}
	r.menuItem("Set or remove a bookmark").Action()
	if len(r.bookmarks.list) != 2 || r.bookmarks.has(7) {
		t.Errorf("marks %v", r.bookmarks.list)
	}
}

// Another window, and the log moved: all is as it was left.
func TestSessionIsRestored(t *testing.T) {
	store := logstate.Store{Dir: t.TempDir()}
	r := newRig(t, &testlog.Nested{Records: 1000})
	r.memory.store = store
	r.open()
	r.wait("identity", func() bool { return r.memory.identity != "" })
	r.table.grid.SetCurrent(30)
	r.menuItem("Set or remove a bookmark").Action()
	r.bookmarks.set(30, "note")
	// A bookmark of a row that is not what it was is left out.
	r.bookmarks.list = append(r.bookmarks.list, logstate.Bookmark{Row: 40, Address: 1})
	r.ctl.Filter.Select(app.Selection{Where: "thread:1000", Folded: []int64{0}})
	r.wait("filtered", func() bool { return r.ctl.State().View != nil && r.ctl.State().View.Done() })
	r.table.grid.SetCurrent(3)
	row := r.table.currentRow()
	term, _ := cellTerm("thread", &rows.Row{Thread: 1000})
	r.filters.setHighlight("thread", term, 2)
	r.views.show(viewThreads)
	r.views.timeline.Arrange([]timeline.Arrangement{{Thread: 1001, Folded: true}})
	r.views.timeline.SetOrder([]rows.Track{1001, 1000})
	r.close()

	moved := filepath.Join(t.TempDir(), "moved.dat")
	if err := os.Rename(r.log, moved); err != nil {
		t.Fatal(err)
	}
	again := newRig(t, &testlog.Nested{Records: 1000})
	again.memory.store = store
	again.log = moved
	again.open()
	again.waitTrace("restored")
	again.wait("the filter", func() bool { return again.ctl.State().View != nil && again.ctl.State().View.Done() })
	s := again.ctl.State().Selection
	if s.Where != "thread:1000" || !slices.Equal(s.Folded, []int64{0}) {
		t.Errorf("selection %+v", s)
	}
	if again.table.currentRow() != row {
		t.Errorf("row %d, was %d", again.table.currentRow(), row)
	}
	if len(again.bookmarks.list) != 1 || again.bookmarks.list[0].Note != "note" {
		t.Errorf("bookmarks %+v", again.bookmarks.list)
	}
	if again.filters.label("thread", &rows.Row{Thread: 1000}) != 2 {
		t.Error("the highlight is lost")
	}
	if again.views.shown() != viewThreads {
		t.Errorf("view %s", again.views.shown())
	}
	if got := again.views.timeline.Arrangement(); len(got) != 1 || got[0] != (timeline.Arrangement{Thread: 1001, Folded: true}) {
		t.Errorf("lanes %+v", got)
	}
	if got := again.views.timeline.Order(); !slices.Equal(got, []rows.Track{1001, 1000}) {
		t.Errorf("the lanes' order is %v", got)
	}
	if files, _ := os.ReadDir(filepath.Dir(moved)); len(files) != 1 {
		t.Errorf("%d files beside the log", len(files))
	}
	// Another log has nothing of it; coming back, it is there again.
	other := filepath.Join(t.TempDir(), "other.dat")
	if err := os.WriteFile(other, []byte{0, 9, 9, 9}, 0o666); err != nil {
		t.Fatal(err)
	}
	identity := again.memory.identity
	again.views.show(viewTimeline)
	again.views.timeline.Arrange(nil)
	again.table.grid.SetCurrent(4)
	row = again.table.currentRow()
	again.ctl.Inputs.SetLog(other)
	again.wait("the other log", func() bool { return again.table.log == other && again.ctl.State().Loaded })
	if len(again.bookmarks.list) != 0 || again.ctl.State().Filtered || len(again.filters.highlights) != 0 {
		t.Error("another log has the marks of the first")
	}
	again.wait("the first log's state", func() bool {
		st, err := store.Load(identity)
		return err == nil && st.Tab == "timeline" && len(st.Lanes) == 0
	})
	again.ctl.Inputs.SetLog(moved)
	again.wait("the first log", func() bool {
		return again.table.log == moved && again.ctl.State().View != nil && again.ctl.State().View.Done() && again.table.currentRow() == row
	})
}

func TestLastLogIsOpenedAgain(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.close()
	again := New(r.app, Options{Open: r.opt.Open, Post: func(f func()) { r.queue <- f }})
	t.Cleanup(again.front.ctl.Close)
	again.Show(nil)
	r.wait("the log", func() bool { return again.front.ctl.State().Opened && again.front.ctl.State().Found.Log == r.log })
	again.pref.setReopen(false)
	third := New(r.app, Options{Open: r.opt.Open, Post: func(f func()) { r.queue <- f }})
	third.Show(nil)
	r.wait("quiet", func() bool { return len(r.queue) == 0 })
	if third.front.ctl.State().Wanted.Log != "" {
		t.Error("opened although that is not wanted")
	}
}

func TestSidePanel(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sample"), 0o777); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line\t%d\n", i+1)
	}
	if err := os.WriteFile(filepath.Join(dir, "sample", "app.cpp"), []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	r.pref.setMappings([]app.SourceMapping{{From: "/src", To: dir}})
	r.open()
	r.table.grid.SetCurrent(3)
	r.waitTrace("stack 4")
	if got := strings.Join(r.side.call.Frames(), " "); got != "app::Shape::area<int> app::Window::paint app::run main" {
		t.Errorf("stack %q", got)
	}
	r.waitTrace("source")
	// Depth 3 lies in line 31.
	if s := r.side.call.Source(); s.Line != 31 || s.First != 11 || len(s.Lines) != 41 || s.Lines[20] != "line    31" {
		t.Errorf("source %+v", s)
	}
	// What the functions that begin in the lines took stands beside them.
	r.waitTrace("heat ")
	r.wait("the heat", func() bool {
		h := r.side.call.Source().Heat
		return h[31].Share > 0 && strings.Contains(h[31].Text, " calls") && len(h) >= 4 && h[32].Text == ""
	})
	r.side.call.OnFrame(1)
	if r.table.currentRow() != 1 {
		t.Errorf("a click on a frame leads to row %d", r.table.currentRow())
	}
	// Keys that are held down do not ask for each row's stack.
	before := strings.Count(r.trace.String(), "\nstack ")
	for range 20 {
		r.typeKey(fyne.KeyDown)
	}
	r.wait("the last stack", func() bool { return strings.Count(r.trace.String(), "\nstack ") > before })
	if n := strings.Count(r.trace.String(), "\nstack ") - before; n != 1 {
		t.Errorf("%d stacks were asked for", n)
	}
	r.menuItem("Call stack, row and source").Action()
	if r.pref.panelShown() {
		t.Error("F8 does not hide the panel")
	}
	r.menuItem("Modules panel").Action()
	if !r.side.tabShown(r.side.modulesTab) {
		t.Error("the modules are not shown")
	}
}

func TestLinesAround(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		line  int
		first int
		n     int
		ok    bool
	}{
		"in the middle":     {strings.Repeat("x\n", 100), 50, 30, 41, true},
		"at the beginning":  {strings.Repeat("x\n", 100), 2, 1, 22, true},
		"at the end":        {strings.Repeat("x\n", 100), 100, 80, 21, true},
		"no newline at end": {"a\nb", 2, 1, 2, true},
		"beyond the end":    {"a\nb\n", 9, 0, 0, false},
		"empty":             {"", 1, 0, 0, false},
		"one endless line":  {strings.Repeat("y", 1<<20) + "\nz", 2, 1, 2, true},
	} {
		s, err := linesAround(strings.NewReader(test.text), test.line)
		if (err == nil) != test.ok || s.First != test.first && test.ok || len(s.Lines) != test.n {
			t.Errorf("%s: first %d, %d lines, %v", name, s.First, len(s.Lines), err)
		}
		for _, l := range s.Lines {
			if len(l) > maxSourceLine {
				t.Errorf("%s: a line of %d bytes", name, len(l))
			}
		}
	}
	if got := cleanLine([]byte("\ta\tb\x00\xff\u4f60")); got != "    a   b\u00b7\ufffd\u4f60" {
		t.Errorf("cleaned %q", got)
	}
}

func TestSaveShownRows(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.ctl.Filter.SetWhere("thread:1001")
	r.waitTrace("filtered 44")
	r.menuItem("Save").Action()
	out := filepath.Join(t.TempDir(), "x.txt")
	r.typeText(out)
	r.typeKey(fyne.KeyReturn)
	r.waitTrace("saved " + out)
	if n := savedRows(t, out); n != 44 {
		t.Errorf("saved %d rows", n)
	}
}

// Of a folder with several logs the one written last is opened, and the others are
// offered.
func TestFolderWithSeveralLogs(t *testing.T) {
	// There is something to say of the log, too.
	r := newRig(t, &testlog.Nested{Records: 100, DamageBytes: 5})
	dir := t.TempDir()
	for i, name := range []string{"old.lptrace", "new.lptrace", "oldest.lptrace"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte{0, byte(i), 0}, 0o666); err != nil {
			t.Fatal(err)
		}
		written := time.Now().Add(-time.Duration([]int{2, 1, 3}[i]) * time.Hour)
		if err := os.Chtimes(path, written, written); err != nil {
			t.Fatal(err)
		}
	}
	r.Open([]string{dir})
	r.waitTrace("loaded")
	m := r.ctl.State().Message
	if got := filepath.Base(r.table.log); got != "new.lptrace" || m == nil || m.Offer != control.OfferLogs || len(m.Logs) != 2 ||
		!strings.HasSuffix(m.Text, "holds 3 logs; new.lptrace, which was written last, is opened.") {
		t.Fatalf("opened %s, message %+v", got, m)
	}
	r.opening.offer(m.Offer)
	if r.overlays() != 1 {
		t.Fatal("no menu")
	}
	r.win.Canvas().Overlays().Remove(r.win.Canvas().Overlays().Top())
	items := r.opening.among(m.Logs)
	if len(items) != 2 || !strings.HasPrefix(items[1].Label, "oldest.lptrace  \u2013  20") {
		t.Fatalf("the menu begins with %q", items[0].Label)
	}
	items[0].Action()
	r.wait("the other log", func() bool { return filepath.Base(r.table.log) == "old.lptrace" })
}
