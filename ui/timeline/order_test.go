package timeline

import (
	"fmt"
	"strings"
	"testing"

	"logparser/app"
	"logparser/rows"
)

// lanesFor are three threads, of which each has calls in a second of its own.
type lanesFor struct{ Source }

func (lanesFor) Lanes() []app.Lane {
	return []app.Lane{{Thread: 1, Depth: 8}, {Thread: 2, Depth: 8}, {Thread: 3, Depth: 8}}
}
func (lanesFor) Range() (int64, int64)            { return 0, 3e9 }
func (lanesFor) Runs() ([]app.TimelineRun, error) { return nil, nil }
func (lanesFor) TimeDigits() int                  { return 3 }
func (lanesFor) Spans(dst []app.Span, lane int, from, to int64, _ int) ([]app.Span, bool, error) {
	at := int64(lane) * 1e9
	for d := range lane + 1 {
		s := app.Span{FunctionRef: app.FunctionRef{Function: fmt.Sprint("f", d)}, From: at + 1e8, To: at + 9e8, Depth: d, Deepest: d, Calls: 1, Row: int64(10*lane + d)}
		if s.From < to && s.To >= from {
			dst = append(dst, s)
		}
	}
	return dst, false, nil
}

// heights are the lines of the lanes by thread, in their order.
func (t *Timeline) heights() string {
	var parts []string
	for i := range t.layout.lanes {
		l := &t.layout.lanes[i]
		parts = append(parts, fmt.Sprintf("%d:%d", l.Thread, l.shown()))
	}
	return strings.Join(parts, " ")
}

// Lanes are as high as what is seen of them, those without calls in the time that is seen are
// hidden, and come back; threads are moved.
func TestLanesFit(t *testing.T) {
	r := newRig(t, lanesFor{})
	r.settle()
	if got := r.heights(); got != "1:8 2:8 3:8" {
		t.Fatalf("at first %s", got)
	}
	r.SetFitted(true)
	r.settle()
	if got := r.heights(); got != "1:1 2:2 3:3" || r.Hidden() != 0 {
		t.Errorf("of all the time %s", got)
	}
	hidden := -1
	r.OnFitted = func(n int) { hidden = n }
	r.axis.fit(1.2e9, 1.8e9)
	r.changed()
	r.settle()
	if got := r.heights(); got != "1:0 2:2 3:0" || hidden != 2 {
		t.Errorf("in the second second %s, %d hidden", got, hidden)
	}
	r.axis.fit(2.2e9, 2.8e9)
	r.changed()
	r.settle()
	if got := r.heights(); got != "1:0 2:0 3:3" {
		t.Errorf("in the third second %s", got)
	}
	r.FitAll()
	r.settle()
	r.MoveLane(r.layout.lanes[2].Track(), -2)
	r.settle()
	if got := r.heights(); got != "3:3 1:1 2:2" {
		t.Errorf("after a move %s", got)
	}
	if s := r.picture.spans[0]; len(s) != 3 || s[0].Row != 20 {
		t.Errorf("the first lane has %+v", s)
	}
	r.MoveLane(r.layout.lanes[1].Track(), 1)
	r.settle()
	if got := r.heights(); got != "3:3 2:2 1:1" {
		t.Errorf("after another %s", got)
	}
	r.layout.resize(0, 5)
	if got := r.heights(); got != "3:5 2:2 1:1" {
		t.Errorf("made higher by hand: %s", got)
	}
	r.SetFitted(false)
	r.SetOrder(nil)
	r.settle()
	if got := r.heights(); got != "1:8 2:8 3:5" {
		t.Errorf("not fitted %s", got)
	}
}

// Lanes that are hidden are no places: a lane is moved past them. One that is at the end, or not there, stays.
func TestLanesMovePastHiddenOnes(t *testing.T) {
	fourth := lanesFor{}
	r := newRig(t, fourth)
	r.SetFitted(true)
	r.settle()
	order := func() string {
		var list []string
		for i := range r.layout.lanes {
			list = append(list, fmt.Sprint(r.layout.lanes[i].Thread))
		}
		return strings.Join(list, " ")
	}
	r.layout.lanes[1].seen = 0 // as if it had no calls
	r.layout.place()
	if r.Hidden() != 1 || !r.Fitted() {
		t.Fatalf("%d lanes are hidden", r.Hidden())
	}
	r.MoveLane(1, 1)
	if got := order(); got != "2 3 1" {
		t.Errorf("moved down: %s", got)
	}
	r.settle()
	for _, still := range []struct{ thread, by int }{{99, 1}, {1, 1}, {2, -1}} {
		before := r.Order()
		if r.MoveLane(rows.Track(still.thread), still.by); order() != "2 3 1" || len(before) != len(r.Order()) {
			t.Errorf("thread %d moved: %s", still.thread, order())
		}
	}
	r.layout.lanes[1].seen = 0
	r.layout.place()
	if r.MoveLane(1, -1); order() != "1 2 3" {
		t.Errorf("moved up: %s", order())
	}
	if s, finer, err := (&ordered{Source: fourth}).Spans(nil, 0, 0, 1, 1); len(s) > 0 || finer || err != nil {
		t.Errorf("a lane that is not there has %d calls, %v", len(s), err)
	}
}
