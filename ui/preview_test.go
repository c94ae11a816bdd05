package ui

import (
	"context"
	"testing"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/internal/testlog"
)

// TestPreview shows the first rows of a log while it is opened: the table stays as it is when the
// log is there.
func TestPreview(t *testing.T) {
	gate := make(chan struct{})
	r := newRig(t, &testlog.Nested{Records: 5000, Opening: gate})
	first := &testlog.Nested{Records: 300, ModulesFile: true}
	r.ctl.Preview = func(ctx context.Context, in app.Inputs) (*app.Session, error) {
		return app.Formats{first.Format()}.Open(ctx, in, nil)
	}
	r.Open([]string{r.log})
	r.waitTrace("preview 300")
	g := r.table.grid
	if r.body.Objects[0] == r.start.Content || r.table.rows.Len() != 300 ||
		r.status.counts.Text != "First rows of a.dat, which is being opened; rows, times and modules are provisional" {
		t.Fatalf("%d rows are shown, the status bar says %q", r.table.rows.Len(), r.status.counts.Text)
	}
	if !r.status.work.Visible() {
		t.Error("nothing says that the other rows are being read")
	}
	g.SetCurrent(120)
	g.Scrolled(&fyne.ScrollEvent{Scrolled: fyne.NewDelta(0, -60)})
	top := g.Top()
	if top == 0 {
		t.Fatal("the table is not scrolled")
	}
	close(gate)
	r.waitTrace("loaded")
	if r.table.rows.Len() != 5000 || g.Current() != 120 || g.Top() != top || r.table.log != r.log {
		t.Errorf("%d rows, current row %d, top row %d, was %d", r.table.rows.Len(), g.Current(), g.Top(), top)
	}
	// The log is no other one when it is read again.
	r.ctl.Reload()
	r.wait("the log to be read again", func() bool { return r.nested.Opened() == 2 && r.ctl.State().Loaded })
	if g.Current() != 120 {
		t.Errorf("read again: current row %d", g.Current())
	}
}
