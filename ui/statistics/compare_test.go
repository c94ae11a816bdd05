package statistics

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"logparser/app"
	"logparser/ui/control"
)

// column returns the texts of a column, in the order of the list.
func (r *rig) column(id string) string {
	var list []string
	for i := range r.List.Len() {
		list = append(list, r.CellText(id, r.List.At(int64(i))))
	}
	return strings.Join(list, ", ")
}

// What is shown is kept and compared with another selection: more, less, new and gone.
func TestComparing(t *testing.T) {
	r := newRig(t)
	r.OnCompare = func() string { return "thread 7" }
	r.Show(stats(), 3)
	r.run()
	usual := r.visible()
	if r.compare.Text != "Compare" || r.compared.Visible() || r.Compared() != "" || slices.Contains(usual, "change") {
		t.Errorf("before: button %q, said %q, columns %q", r.compare.Text, r.compared.Text, usual)
	}
	test.Tap(r.compare)
	r.run()
	if r.compare.Text != "Stop comparing" || !r.compared.Visible() || r.Compared() != "thread 7" || !strings.Contains(r.compared.Text, "Compared with: thread 7.") {
		t.Errorf("comparing: button %q, said %q", r.compare.Text, r.compared.Text)
	}
	if got := r.visible(); !slices.Equal(got[:6], comparedOrder) {
		t.Errorf("the columns are %q", got)
	}
	now := []app.FunctionStat{stat("app::load", 20, 90e6, 40e6), stat("read", 1, 40e6, 5e6), stat("write", 7, 2e6, 2e6)}
	r.Show(now, 3)
	r.run()
	r.List.Grid.OnHeader("function")
	r.run()
	for id, want := range map[string]string{
		"function":    `app::load, app::paint, "fast", read, write`,
		"calls":       "20, 0, 1, 7",
		"beforecalls": "10, 2,000, 3, 0",
		"before":      "10 ms, 30 ms, 40 ms, 0 ms",
		"change":      "+30 ms, −30 ms, −35 ms, +2 ms",
	} {
		if got := r.column(id); got != want {
			t.Errorf("the column %s is %q, want %q", id, got, want)
		}
	}
	for id, want := range map[string]string{
		"change":      `app::load write app::paint, "fast" read`,
		"before":      `read app::paint, "fast" app::load write`,
		"beforecalls": `app::paint, "fast" app::load read write`,
	} {
		r.List.Grid.OnHeader(id)
		r.run()
		if got := r.names(); got != want {
			t.Errorf("by %s: %s, want %s", id, got, want)
		}
		if !OfComparing(id+" falling") || OfComparing("calls") {
			t.Error("the columns of comparing are not told from others")
		}
	}
	// Only what was called now is saved.
	var saved []string
	r.OnSave = func(list []app.FunctionStat) {
		for i := range list {
			saved = append(saved, list[i].Function)
		}
	}
	test.Tap(r.save)
	slices.Sort(saved)
	if want := []string{"app::load", "read", "write"}; !slices.Equal(saved, want) {
		t.Errorf("saved %q", saved)
	}
	r.List.Grid.OnHeader("function")
	r.run()
	test.Tap(r.compare)
	r.run()
	if got := r.visible(); r.Compared() != "" || r.compared.Visible() || r.List.Len() != 3 || !slices.Equal(got, usual) {
		t.Errorf("afterwards: %d functions, columns %q, want %q", r.List.Len(), got, usual)
	}
}

// visible returns the columns that are shown.
func (r *rig) visible() (list []string) {
	for _, c := range r.List.Grid.Columns() {
		if !c.Hidden {
			list = append(list, c.ID)
		}
	}
	return list
}

// Statistics of modules and classes say what they are of, lead to no function, and are not compared with those of functions.
func TestGroupings(t *testing.T) {
	r := newRig(t)
	var wanted []control.Grouping
	r.OnGrouping = func(by control.Grouping) { wanted = append(wanted, by) }
	told := 0
	r.OnOpen = func(*app.FunctionStat) { told++ }
	r.OnChosen = func(*app.FunctionStat) { told++ }
	r.OnMenu = func(*app.FunctionStat, fyne.Position) { told++ }
	r.Show(stats(), 3)
	r.run()
	if r.count.Text != "3 functions" {
		t.Errorf("said %q", r.count.Text)
	}
	r.List.Grid.OnMenu(0, "function", fyne.Position{})
	r.List.Grid.SetCurrent(1)
	if told != 2 {
		t.Errorf("told %d times of a function", told)
	}
	r.Compare("all")
	r.run()
	told = 0
	for _, step := range []struct {
		by    control.Grouping
		list  []app.FunctionStat
		count string
		names string
	}{
		{control.ByModule, []app.FunctionStat{{FunctionRef: app.FunctionRef{Module: "a.so"}, Calls: 2}, {Calls: 1}}, "2 modules", "a.so, (no module)"},
		{control.ByClass, []app.FunctionStat{{FunctionRef: app.FunctionRef{Function: "shop"}, Calls: 2}, {Calls: 1}}, "2 classes", "shop, (no class)"},
		{control.ByClass, []app.FunctionStat{{FunctionRef: app.FunctionRef{Function: "shop"}, Calls: 2}}, "1 class", "shop"},
	} {
		r.Group(step.by)
		r.Show(step.list, 3)
		r.run()
		if r.Grouping() != step.by || r.count.Text != step.count || r.column("function") != step.names || r.Compared() != "" {
			t.Errorf("%d: said %q of %q, compared with %q", step.by, r.count.Text, r.column("function"), r.Compared())
		}
		r.List.Grid.OnMenu(0, "function", fyne.Position{})
		r.List.Grid.OnActivated(0)
		r.List.Grid.SetCurrent(int64(len(step.list) - 1))
	}
	if want := []control.Grouping{control.ByModule, control.ByClass}; !slices.Equal(wanted, want) || told != 0 {
		t.Errorf("wanted %v, told %d times of functions", wanted, told)
	}
}

// A function that another view has chosen is chosen here as soon as it is listed, and that is not told back.
func TestChosenElsewhere(t *testing.T) {
	r := newRig(t)
	var told []string
	r.OnChosen = func(f *app.FunctionStat) { told = append(told, f.Function) }
	r.OnSlowest = func(f *app.FunctionStat) { told = append(told, "slowest "+f.Function) }
	r.Choose("read", "m.dll")
	r.Show(stats(), 3)
	r.run()
	if f := r.List.Chosen(); f == nil || f.Function != "read" || len(told) > 0 {
		t.Errorf("chosen %+v, told %q", f, told)
	}
	r.Choose("nowhere", "m.dll")
	if f := r.List.Chosen(); f == nil || f.Function != "read" {
		t.Errorf("chosen %+v", f)
	}
	// Keys: the slowest calls, the order, and what to narrow to.
	for _, key := range "l>r<" {
		r.List.Grid.TypedRune(key)
		for len(r.queue) > 0 {
			r.run()
		}
	}
	if !slices.Equal(told, []string{"slowest read"}) {
		t.Errorf("told %q", told)
	}
	r.List.Grid.TypedRune('/')
	if c := fyne.CurrentApp().Driver().CanvasForObject(r.narrow); c.Focused() != fyne.Focusable(r.narrow) {
		t.Error("the key / does not lead to the line that narrows")
	}
}
