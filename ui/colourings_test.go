package ui

import (
	"slices"
	"strconv"
	"testing"

	"logparser/internal/testlog"
	"logparser/rows"
)

// Rules colour rows of all logs; a wrong one is told, and what is kept comes back.
func TestHighlightRules(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	r.open()
	r.actions.act("highlight-rules")
	f := r.dialogs.colourings
	if len(f.lines) != 1 {
		t.Fatalf("%d lines at first", len(f.lines))
	}
	for _, wrong := range []string{"nonsense:x", "in:main", "func:main or self:>1ms", "( "} {
		f.lines[0].where.SetText(wrong)
		if _, right := f.colourings(); right || f.trouble.Text == "" {
			t.Errorf("%q is taken, %q is said", wrong, f.trouble.Text)
		}
	}
	f.lines[0].where.SetText("func:main event:enter")
	f.lines[0].colour.SetSelectedIndex(2)
	f.add("", 1)
	f.add("dur:>=0ns", 5)
	f.up(f.lines[2])
	list, right := f.colourings()
	if !right || len(list) != 2 || list[0].colour != 3 || list[1].colour != 5 {
		t.Fatalf("rules %+v, %v, %q", list, right, f.trouble.Text)
	}
	r.setColourings(list)
	main, _ := r.ctl.Calls.Row(0)
	if main.Function != "main" || main.Event != rows.Enter {
		t.Fatalf("row 0 is %+v", main)
	}
	if got := r.filters.label("time", &main); got != 3 {
		t.Errorf("the first rule gives %d", got)
	}
	other, _ := r.ctl.Calls.Row(2)
	if got := r.filters.label("time", &other); got != 5 {
		t.Errorf("the second rule gives %d", got)
	}
	none := rows.Row{Index: 7, Duration: rows.NoDuration, Function: "f"}
	if got := r.filters.label("time", &none); got != 0 {
		t.Errorf("no rule fits, but the colour is %d", got)
	}
	// The log's own highlight of a cell goes before.
	term, _ := cellTerm("thread", &main)
	r.filters.setHighlight("thread", term, 2)
	if got := r.filters.label("thread", &main); got != 2 {
		t.Errorf("the log's own highlight is %d", got)
	}
	if again := r.pref.colourings(); len(again) != 2 || again[0].where != "func:main event:enter" || again[1].colour != 5 {
		t.Errorf("kept is %+v", again)
	}
}

// Rules that this version does not understand stay, and no rule is dropped without a word.
func TestHighlightRulesAreNotLost(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 100})
	kept := []string{"2 func:main", "3 later:thing", "whatever"}
	r.pref.p.SetStringList("highlights", kept)
	list := r.pref.colourings()
	if len(list) != 1 || list[0].colour != 2 {
		t.Fatalf("understood are %+v", list)
	}
	r.setColourings(list)
	if got := r.pref.p.StringList("highlights"); !slices.Equal(got, kept) {
		t.Errorf("kept is %q", got)
	}
	f := newColouringsForm(list, r.dialogs.newEntry)
	if f.more.Disabled() || f.full.Visible() {
		t.Error("one rule is too many")
	}
	for i := len(f.lines); i < maxColourings; i++ {
		f.add("row:="+strconv.Itoa(i), 1)
	}
	f.add("func:other", 1)
	if all, right := f.colourings(); !right || len(all) != maxColourings || !f.more.Disabled() || !f.full.Visible() {
		t.Errorf("%d rules, %v", len(all), f.trouble.Text)
	}
	f.remove(f.lines[0])
	if f.more.Disabled() || f.full.Visible() {
		t.Error("no rule can be added where one was removed")
	}
}
