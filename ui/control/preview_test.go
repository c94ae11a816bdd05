package control_test

import (
	"context"
	"errors"
	"testing"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/ui/control"
)

// preview has first rows of each log, of a log of their own, and holds back the opening of logs
// until what it returns is called.
func (d *desk) preview(records int64) (first *testlog.Nested, release func()) {
	first = &testlog.Nested{Records: records}
	gate := make(chan struct{})
	d.nested.Opening = gate
	d.Preview = func(ctx context.Context, in app.Inputs) (*app.Session, error) {
		return app.Formats{first.Format()}.Open(ctx, in, nil)
	}
	return first, func() { close(gate) }
}

// First rows are shown while the log is opened, and are closed when it is.
func TestPreview(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 1000})
	first, release := d.preview(50)
	d.Inputs.SetLog(d.log())
	d.waitEvent("preview 50")
	s := d.State()
	if s.Opened || !s.Preview || s.Rows.Len() != 50 || s.Opening != "a.dat" {
		t.Fatalf("opened %v, preview %v, %d rows, opening %q", s.Opened, s.Preview, s.Rows.Len(), s.Opening)
	}
	if d.changes&control.ChangeSource == 0 {
		t.Error("the table was not told of the rows")
	}
	d.changes = 0
	// What needs the whole log is not there.
	d.Filter.Select(app.Selection{Where: "func:area"})
	d.Calls.Stack(3, func([]app.Frame, error) { t.Error("a stack") })
	if d.Calls.Partner(3) >= 0 || d.Calls.All() != nil {
		t.Error("calls of a log that is not open")
	}
	release()
	d.waitEvent("rows 1000")
	if s := d.State(); !s.Opened || s.Preview || s.Rows.Len() != 1000 || d.changes&control.ChangeSource == 0 {
		t.Errorf("opened %v, preview %v, %d rows", s.Opened, s.Preview, s.Rows.Len())
	}
	d.waitEvent("loaded")
	d.wait("the first rows to be closed", func() bool { return first.Closed() == 1 })
	// Of another log none are shown while this one is.
	d.Reload()
	d.waitEvent("loaded")
	if first.Opened() != 1 {
		t.Error("first rows instead of a log that is open")
	}
}

// First rows are provisional where their modules do not come from the log itself.
func TestPreviewProvisional(t *testing.T) {
	for _, file := range []bool{false, true} {
		d := newDesk(t, &testlog.Nested{Records: 1000})
		first, release := d.preview(50)
		first.ModulesFile = file
		d.Inputs.SetLog(d.log())
		d.waitEvent("preview 50")
		if d.State().Provisional != file {
			t.Errorf("a modules file %t: provisional %t", file, !file)
		}
		release()
		d.waitEvent("loaded")
		if d.State().Provisional {
			t.Error("the open log is provisional")
		}
	}
}

// First rows are opened with the columns of the modules file that the log is opened with.
func TestPreviewKnownColumns(t *testing.T) {
	d := newDesk(t, &testlog.Nested{Records: 10})
	d.KnownColumns = func(app.Inputs) string { return "size,base,name" }
	var columns string
	d.Preview = func(_ context.Context, in app.Inputs) (*app.Session, error) {
		columns = in.ModulesColumns
		return nil, nil
	}
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	if columns != "size,base,name" {
		t.Errorf("opened with columns %q", columns)
	}
}

// First rows go when the log cannot be opened, is closed or another one is wanted.
func TestPreviewEnds(t *testing.T) {
	for name, end := range map[string]func(d *desk, release func()){
		"closed":    func(d *desk, _ func()) { d.Close() },
		"cancelled": func(d *desk, _ func()) { d.CancelOpening() },
		"not opened": func(d *desk, release func()) {
			d.nested.FailOpening(errors.New("broken"))
			release()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, &testlog.Nested{Records: 1000})
			first, release := d.preview(50)
			d.Inputs.SetLog(d.log())
			d.waitEvent("preview 50")
			end(d, release)
			d.wait("the first rows to go", func() bool { return !d.State().Preview && first.Closed() == 1 })
			if s := d.State(); s.Rows != nil || s.Opened {
				t.Errorf("rows %v, opened %v", s.Rows, s.Opened)
			}
		})
	}
	d := newDesk(t, &testlog.Nested{Records: 1000})
	d.Preview = func(context.Context, app.Inputs) (*app.Session, error) { return nil, errors.New("broken") }
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
}
