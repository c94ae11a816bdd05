package control_test

import (
	"strings"
	"testing"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/ui/control"
)

// following opens a log of 100 rows and follows it.
func following(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, &testlog.Nested{Records: 100})
	d.Following.Set(true) // without a log it does nothing
	d.Inputs.SetLog(d.log())
	d.waitEvent("loaded")
	if d.State().Follow.On {
		t.Fatal("a log is followed without being asked for")
	}
	d.Following.Set(true)
	if f := d.State().Follow; f != (control.Follow{On: true, AtEnd: true}) {
		t.Fatalf("following is %+v", f)
	}
	return d
}

func (d *desk) grow(records int64) {
	d.t.Helper()
	want := d.State().Rows.Len() + records
	d.nested.Grow(testlog.NestedGrowth{Records: records})
	d.wait("rows", func() bool { return d.State().Rows.Len() == want && len(d.queue) == 0 })
	d.settle()
}

func TestFollowPausesAndResumes(t *testing.T) {
	d := following(t)
	d.changes = 0
	d.grow(5)
	if f := d.State().Follow; f != (control.Follow{On: true, AtEnd: true}) || d.changes&control.ChangeGrown == 0 {
		t.Errorf("at the end: %+v", f)
	}
	d.Following.Moved(false)
	d.grow(3)
	d.grow(4)
	if f := d.State().Follow; f != (control.Follow{On: true, New: 7}) {
		t.Errorf("scrolled up: %+v", f)
	}
	d.Following.Moved(true)
	if f := d.State().Follow; f != (control.Follow{On: true, AtEnd: true}) {
		t.Errorf("scrolled to the end: %+v", f)
	}
	d.Following.Moved(false)
	d.grow(1)
	d.Following.Resume()
	if f := d.State().Follow; f != (control.Follow{On: true, AtEnd: true}) {
		t.Errorf("resumed: %+v", f)
	}
	d.Following.Set(false)
	d.Following.Moved(false)
	d.Following.Resume()
	if f := d.State().Follow; f != (control.Follow{}) {
		t.Errorf("stopped: %+v", f)
	}
	d.Following.Set(true)
	d.grow(1)
	if n := d.State().Rows.Len(); n != 114 {
		t.Errorf("%d rows after following again", n)
	}
}

// TestFollowWithFilter holds that a filter stays while a log is followed, and
// takes in what comes.
func TestFollowWithFilter(t *testing.T) {
	d := following(t)
	d.Filter.SetThread(&app.Thread{ID: 1001})
	d.waitEvent("filtered 44")
	d.nested.Grow(testlog.NestedGrowth{Records: 2})
	d.waitEvent("grew 102")
	d.waitEvent("filtered 46")
	if s := d.State(); s.Follow != (control.Follow{On: true, New: 2}) || s.Rows.Len() != 46 {
		t.Errorf("filtered: %+v, %d rows", s.Follow, s.Rows.Len())
	}
	d.Following.Resume()
	if s := d.State(); s.Follow != (control.Follow{On: true, AtEnd: true}) || !s.Filtered {
		t.Errorf("resumed: %+v, filtered %t, %d rows", s.Follow, s.Filtered, s.Rows.Len())
	}
}

func TestFollowMessages(t *testing.T) {
	for name, test := range map[string]struct {
		growth testlog.NestedGrowth
		want   string
	}{
		"a new run": {testlog.NestedGrowth{Records: 1, NewRun: true}, "started again"},
		"replaced":  {testlog.NestedGrowth{Replaced: true}, "renamed or replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			d := following(t)
			d.nested.Grow(test.growth)
			if m := d.waitMessage(); !strings.Contains(m.Text, test.want) {
				t.Errorf("message %+v", m)
			}
			if !d.State().Follow.On {
				t.Error("following ended")
			}
		})
	}
}

func TestFollowEnds(t *testing.T) {
	for _, test := range []struct {
		err   error
		level control.Level
	}{{nil, control.LevelGood}, {testlog.ErrBroken, control.LevelBad}} {
		d := following(t)
		d.nested.Grow(testlog.NestedGrowth{Ended: true, Err: test.err})
		if m := d.waitMessage(); m.Level != test.level {
			t.Errorf("error %v: message %+v", test.err, m)
		}
		if f := d.State().Follow; f != (control.Follow{}) {
			t.Errorf("error %v: following is %+v", test.err, f)
		}
	}
}

// TestFollowAcrossSessions holds that a log that is opened again goes on to be
// followed, another does not, and that sessions are closed.
func TestFollowAcrossSessions(t *testing.T) {
	d := following(t)
	d.Reload()
	d.waitEvent("loaded")
	if f := d.State().Follow; f != (control.Follow{On: true, AtEnd: true}) {
		t.Errorf("after a reload following is %+v", f)
	}
	d.grow(1)
	d.Inputs.SetLog(d.file("b.dat", binary))
	d.waitEvent("loaded")
	if f := d.State().Follow; f != (control.Follow{}) {
		t.Errorf("another log is followed: %+v", f)
	}
	d.Following.Set(true)
	d.Close()
	d.waitClosed(3)
	if f := d.State().Follow; f != (control.Follow{}) {
		t.Errorf("after closing following is %+v", f)
	}
}
