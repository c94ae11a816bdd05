package sidepanel

import (
	"image/color"
	"slices"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/logstate"
	"logparser/ui/table"
)

// shownIn makes a window of what a panel shows.
func shownIn(t *testing.T, o fyne.CanvasObject) {
	t.Helper()
	w := test.NewTempWindow(t, o)
	w.Resize(fyne.NewSize(400, 900))
}

// line returns the texts of a line of a list, from left to right.
func line(list *widget.List, i int) []string {
	o := list.CreateItem()
	list.UpdateItem(i, o)
	if l, ok := o.(*widget.Label); ok {
		return []string{l.Text}
	}
	var texts []string
	for _, part := range o.(*fyne.Container).Objects {
		texts = append(texts, part.(*widget.Label).Text)
	}
	return texts
}

// TestRowInWords checks all that is said of a row.
func TestRowInWords(t *testing.T) {
	test.NewTempApp(t)
	full := rows.Row{Index: 12345, HasWall: true, Wall: time.Date(2026, 5, 4, 13, 14, 15, 16e6, time.UTC), Elapsed: 1_500_000_000, Thread: 7, Stack: 2, Event: rows.Leave,
		Process: &rows.Process{Label: "child (99)"}, Depth: 3, Duration: 2_000_000, Bound: rows.AtLeast, Function: "shop::buy(int)", Module: "shop.so", Source: "shop.cpp", Line: 42,
		Address: 0x401000, Symbols: "mismatched", Note: "no leave", Filled: rows.Values}
	member := []rows.Value{{Name: "x", Type: "int", Text: "1"}, {Name: "y", Type: "int", Text: "2"}}
	full.Values = &rows.CallValues{
		Arguments: []rows.Value{{Name: "n", Type: "int", Text: "5"}, {Name: "at", Type: "point", Text: "{x = 1, y = 2}", Parts: member},
			{Name: "list", Type: "int[3]", Text: "[1, 2, 3]", Parts: []rows.Value{{Text: "1"}, {Text: "2"}, {Text: "3"}}}},
		Results: []rows.Value{{Name: rows.Result, Type: "bool", Text: "true"}}}
	for _, tt := range []struct {
		name string
		row  rows.Row
		want string
	}{
		{"all that there may be", full, `shop::buy(int)
Arguments:
    int n = 5
    point at = {x = 1, y = 2}
        int x = 1
        int y = 2
    int[3] list = [1, 2, 3]
Result:
    bool = true
leave   Row 12,345
Time: 05-04 13:14:15.016
1.500 s after the first row
Duration: ≥ 2 ms
Thread: 7/2   depth 3
Process: child (99)
Module: shop.so
Source: shop.cpp:42
Address: 0x401000   mismatched
Note: no leave`},
		{"values by signature", rows.Row{Function: "f(int)", Duration: rows.NoDuration, Filled: rows.Values,
			Values: &rows.CallValues{Arguments: []rows.Value{{Type: "int", Text: "5"}}, BySignature: true}}, `f(int)
Arguments, by signature:
    int = 5
enter   Row 0
Time: +0.000
0.000 s after the first row
Thread: 0   depth 0
Address: 0x0`},
		{"next to nothing", rows.Row{Function: "0x10", Address: 0x10, Event: rows.Unknown, Duration: rows.NoDuration}, `0x10
damaged record   Row 0
Time: +0.000
0.000 s after the first row
Thread: 0   depth 0
Address: 0x10`},
	} {
		if got := Describe(&tt.row, table.Format{Digits: 3}); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}

	p := NewCall()
	shownIn(t, p.Content)
	p.ShowRow(&full, table.Format{Digits: 3}, "about to buy")
	if !strings.HasPrefix(p.Details(), "shop::buy(int)\n") || !strings.HasSuffix(p.Details(), "\nNote: no leave\nAnnotations: about to buy") {
		t.Errorf("of the chosen row it says\n%s", p.Details())
	}
	p.ShowCallSite(&rows.CallSite{Function: "main", Source: "main.cpp", Line: 9})
	if !strings.HasPrefix(p.Details(), "shop::buy(int)\nCalled from: main.cpp:9 (main)\nArguments:\n") {
		t.Errorf("with where it was called from it says\n%s", p.Details())
	}
	p.ShowCallSite(&rows.CallSite{Function: "main+0x5"})
	if !strings.HasPrefix(p.Details(), "shop::buy(int)\nCalled from: main+0x5\nArguments:\n") {
		t.Errorf("without a source it says\n%s", p.Details())
	}
	p.ShowStack([]app.Frame{{FunctionRef: app.FunctionRef{Function: "main"}}}, 3)
	p.ShowSource(Source{Head: "shop.cpp", First: 41, Line: 42, Lines: []string{"{", "}"}})
	p.ShowRow(nil, table.Format{Digits: 3}, "")
	if p.Details() != "No row is chosen." || len(p.Frames()) > 0 || p.Source().Head != "" {
		t.Errorf("without a row it says %q, %q, %q", p.Details(), p.Frames(), p.Source().Head)
	}
}

// TestStructsInWords checks that large and deep values stay on one line each.
func TestStructsInWords(t *testing.T) {
	var b strings.Builder
	deep := rows.Value{Name: "v", Text: "{…}"}
	for range 4 {
		deep = rows.Value{Name: "v", Text: "{…}", Parts: []rows.Value{deep, {Name: "w", Text: "1"}}}
	}
	appendValue(&b, &deep, 1)
	if got := strings.Count(b.String(), "\n"); got != 5 {
		t.Errorf("%d lines of a value that is too deep:\n%s", got, b.String())
	}
	b.Reset()
	wide := rows.Value{Name: "v", Text: "{…}", Parts: make([]rows.Value, maxValueParts+1)}
	for i := range wide.Parts {
		wide.Parts[i] = rows.Value{Name: "m", Text: "1"}
	}
	if appendValue(&b, &wide, 1); b.String() != "    v = {…}\n" {
		t.Errorf("of a value with too many members:\n%s", b.String())
	}
}

// TestCallStack shows open calls, the innermost first, and leads to those that a person clicks.
func TestCallStack(t *testing.T) {
	test.NewTempApp(t)
	p := NewCall()
	shownIn(t, p.Content)
	var went []int64
	p.OnFrame = func(enter int64) { went = append(went, enter) }
	p.ShowStack([]app.Frame{
		{FunctionRef: app.FunctionRef{Function: "main"}, Enter: -1, Depth: 0, Duration: rows.NoDuration, Note: "open"},
		{FunctionRef: app.FunctionRef{Function: "middle"}, Enter: 4, Depth: 1, Duration: 3_000_000},
		{FunctionRef: app.FunctionRef{Function: "inner"}, Enter: 9, Depth: 2, Duration: 1_000_000, Bound: rows.AtLeast},
	}, 3)
	var got []string
	for i := range 3 {
		got = append(got, strings.Join(line(p.stack, i), " | "))
	}
	// The name takes the room that the duration leaves, so that it comes first in its container.
	if want := []string{"2  inner | ≥ 1 ms", "1  middle | 3 ms", "0  main | open"}; !slices.Equal(got, want) {
		t.Errorf("the stack is %q, want %q", got, want)
	}
	if want := []string{"inner", "middle", "main"}; !slices.Equal(p.Frames(), want) {
		t.Errorf("the functions are %q", p.Frames())
	}
	// main was entered before the log began: there is no row to go to.
	p.stack.Select(2)
	p.stack.Select(1)
	p.stack.Select(1) // a second click counts too
	p.stack.Select(0)
	if want := []int64{4, 4, 9}; !slices.Equal(went, want) {
		t.Errorf("clicks lead to %d, want %d", went, want)
	}
}

// TestSourceLines shows the lines around that of the row, and how hot they are.
func TestSourceLines(t *testing.T) {
	test.NewTempApp(t)
	p := NewCall()
	shownIn(t, p.Content)
	opened := 0
	p.OnSource = func() { opened++ }
	p.ShowSource(Source{Remark: "The source is not here."})
	if !p.remark.Visible() || p.remark.Text != "The source is not here." || !p.openSource.Disabled() {
		t.Errorf("without a source it says %q, the button can be clicked: %v", p.remark.Text, !p.openSource.Disabled())
	}
	list := make([]string, 200)
	for i := range list {
		list[i] = "\tcall();"
	}
	list[1], list[2] = "// 汉字", "\thot();"
	p.ShowSource(Source{Head: "shop.cpp", First: 99, Line: 199, Lines: list, Heat: map[int]Heat{101: {0.5, "2 ms"}, 199: {1, "4 ms"}}})
	if p.sourceHead.Text != "shop.cpp" || p.remark.Visible() || p.openSource.Disabled() {
		t.Errorf("above the lines it says %q and %q", p.sourceHead.Text, p.remark.Text)
	}
	test.Tap(p.openSource)
	if opened != 1 {
		t.Errorf("%d times the source was asked for", opened)
	}
	// A line is its ground, and on it the number, the text and what it took.
	ground := func(i int) color.Color {
		return p.source.Objects[i].(*fyne.Container).Objects[0].(*canvas.Rectangle).FillColor
	}
	texts := func(i int) (s []string) {
		for _, o := range p.source.Objects[i].(*fyne.Container).Objects[1].(*fyne.Container).Objects {
			s = append(s, o.(*canvas.Text).Text)
		}
		return s
	}
	if want := []string{" 101 ", "\thot();", "  2 ms"}; !slices.Equal(texts(2), want) {
		t.Errorf("a hot line is %q, want %q", texts(2), want)
	}
	if want := []string{"  99 ", "\tcall();"}; !slices.Equal(texts(0), want) {
		t.Errorf("a line is %q, want %q", texts(0), want)
	}
	transparent := func(c color.Color) bool { _, _, _, a := c.RGBA(); return a == 0 }
	if !transparent(ground(0)) || transparent(ground(2)) || transparent(ground(100)) || ground(2) == ground(100) {
		t.Errorf("the grounds of a line, a hot one and the row's are %v, %v, %v", ground(0), ground(2), ground(100))
	}
	// The row's line is in sight, and not at the edge.
	top := p.sourceScroll.Offset.Y
	at := p.source.Objects[100].Position().Y
	if height := p.sourceScroll.Size().Height; at < top+height/4 || at > top+height*3/4 {
		t.Errorf("the row's line is at %v of what is seen from %v to %v", at, top, top+height)
	}
}

// TestBookmarkList shows bookmarks and does what a person asks for with the chosen one.
func TestBookmarkList(t *testing.T) {
	test.NewTempApp(t)
	p := NewBookmarks()
	shownIn(t, p.Content)
	var did []string
	tell := func(what string) func(int64) {
		return func(row int64) { did = append(did, what+" "+control.Thousands(row)) }
	}
	p.OnGo, p.OnNote, p.OnRemove = tell("go"), tell("note"), tell("remove")
	p.Row = func(row int64) (rows.Row, bool) {
		return rows.Row{Function: "buy", Elapsed: row * 1_000_000}, row < 5000
	}
	if !p.empty.Visible() || !strings.Contains(p.empty.Text, "Ctrl+B") || !p.note.Disabled() || !p.remove.Disabled() {
		t.Errorf("without bookmarks it says %q", p.empty.Text)
	}
	list := []logstate.Bookmark{{Row: 12}, {Row: 4000, Note: "slow here"}, {Row: 9000}}
	p.Show(list, table.Format{Digits: 3})
	want := []string{"12   +0.012   buy", "slow here   ·   4,000   +4.000   buy", "9,000"}
	if !slices.Equal(p.Texts(), want) || p.empty.Visible() {
		t.Errorf("the list is %q, want %q", p.Texts(), want)
	}
	if got := line(p.list, 1); !slices.Equal(got, want[1:2]) {
		t.Errorf("its second line is %q", got)
	}
	p.list.Select(1)
	test.Tap(p.note)
	test.Tap(p.remove)
	if want := []string{"go 4,000", "note 4,000", "remove 4,000"}; !slices.Equal(did, want) {
		t.Errorf("done: %q, want %q", did, want)
	}
	// What is chosen stays so while it is there.
	p.Show(list[1:], table.Format{Digits: 3})
	if p.note.Disabled() || p.remove.Disabled() {
		t.Error("the chosen bookmark is not chosen any more")
	}
	p.Show(list[:1], table.Format{Digits: 3})
	if !p.note.Disabled() || !p.remove.Disabled() {
		t.Error("a bookmark that is gone can be removed")
	}
	if p.note.Text != "Note" || p.remove.Text != "Remove" || !strings.Contains(p.note.Hint(), "Ctrl+Shift+B") || !strings.Contains(p.remove.Hint(), "Ctrl+B") {
		t.Errorf("the buttons are %q and %q: %q, %q", p.note.Text, p.remove.Text, p.note.Hint(), p.remove.Hint())
	}
}
