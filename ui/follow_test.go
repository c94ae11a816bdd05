package ui

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	"fyne.io/fyne/v2/widget"

	"logparser/internal/testlog"
)

func TestFollow(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1000})
	if !r.bar.follow.Disabled() {
		t.Error("there is nothing to follow yet")
	}
	r.open()
	r.table.grid.SetCurrent(10)
	r.table.grid.TypedRune('f')
	if !r.ctl.State().Follow.On || r.bar.follow.Importance != widget.HighImportance || !r.table.grid.AtEnd() {
		t.Fatalf("following %+v, at the end %t", r.ctl.State().Follow, r.table.grid.AtEnd())
	}
	r.nested.Grow(testlog.NestedGrowth{Records: 50})
	r.waitTrace("grew 1050")
	if !r.table.grid.AtEnd() || r.table.grid.Top() < 1000 || r.table.grid.Current() != 10 || r.status.news.Visible() {
		t.Errorf("at the end %t, top row %d, current row %d, button shown %t", r.table.grid.AtEnd(), r.table.grid.Top(), r.table.grid.Current(), r.status.news.Visible())
	}
	if got := countsText(r.ctl.State()); got != "1,050 rows" || !strings.HasPrefix(r.status.counts.Text, got) {
		t.Errorf("the status bar says %q, there are %q", r.status.counts.Text, got)
	}

	r.table.grid.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, 100)})
	top := r.table.grid.Top()
	r.nested.Grow(testlog.NestedGrowth{Records: 1})
	r.waitTrace("grew 1051")
	if r.table.grid.Top() != top || !r.status.news.Visible() || r.status.news.Text != "1 new row" {
		t.Errorf("scrolled up: top row %d, was %d; button shown %t with %q", r.table.grid.Top(), top, r.status.news.Visible(), r.status.news.Text)
	}
	r.nested.Grow(testlog.NestedGrowth{Records: 2})
	r.waitTrace("grew 1053")
	if r.status.news.Text != "3 new rows" {
		t.Errorf("the button says %q", r.status.news.Text)
	}
	test.Tap(r.status.news)
	if !r.table.grid.AtEnd() || r.status.news.Visible() {
		t.Errorf("resumed: at the end %t, button shown %t", r.table.grid.AtEnd(), r.status.news.Visible())
	}

	// A jump to a row leaves the end; the End key goes back.
	r.table.grid.SetCurrent(3)
	if f := r.ctl.State().Follow; f.AtEnd {
		t.Errorf("after a jump: %+v", f)
	}
	r.table.grid.TypedKey(&fyne.KeyEvent{Name: fyne.KeyEnd})
	if f := r.ctl.State().Follow; !f.AtEnd {
		t.Errorf("after the End key: %+v", f)
	}

	test.Tap(r.bar.follow)
	if r.ctl.State().Follow.On || r.bar.follow.Importance == widget.HighImportance {
		t.Error("following goes on")
	}
}
