package rows

import (
	"math"
	"testing"
	"time"
)

func TestLabelProcesses(t *testing.T) {
	list := []*Process{{ID: 7, Name: "app"}, {ID: 8}, {Name: "app"}, {ID: 7, Name: "app"}, {}, {ID: 7, Name: "app"}, {}}
	LabelProcesses(list)
	for i, want := range []string{"7 app", "8", "? app", "7 app (2)", "?", "7 app (3)", "? (2)"} {
		if p := list[i]; p.Label != want || p.Text() != want || p.Number != i+1 || p.number() != i+1 {
			t.Errorf("%d: %+v, want %q", i, p, want)
		}
	}
	var none *Process
	if none.Text() != "" || none.number() != 0 {
		t.Errorf("none: %q, %d", none.Text(), none.number())
	}
}

func TestTrack(t *testing.T) {
	one, two := &Process{Number: 1}, &Process{Number: 2}
	h := Header{Stacks: true, Processes: []*Process{one, two}}
	for _, c := range []struct {
		row     Row
		process *Process // that the header finds
		id      uint32
		stack   string
		home    bool // the row is on its thread's own stack
	}{
		{Row{Thread: 5}, nil, 5, "", true},
		{Row{Thread: 5, Process: one}, one, 5, "", true},
		{Row{Thread: 5, Process: two}, two, 5, "", true},
		{Row{Thread: 5, Stack: 3}, nil, 1<<31 | 3, "stack 3", false},
		{Row{Thread: 6, Stack: 3, Process: two}, two, 1<<31 | 3, "stack 3", false},
	} {
		track := c.row.Track()
		if track.ID() != c.id || h.Process(track) != c.process || h.StackName(track) != c.stack || (track == c.row.Home()) != c.home {
			t.Errorf("%+v: track %x, %d, %v, %q", c.row, uint64(track), track.ID(), h.Process(track), h.StackName(track))
		}
		if track.ProcessNumber() != c.row.Process.number() {
			t.Errorf("%+v: process %d", c.row, track.ProcessNumber())
		}
	}
	// Without stacks the highest thread ids are threads.
	if h := (Header{}); h.StackName(TrackOf(nil, 1<<31|3, 0)) != "" {
		t.Error("a thread is called a stack")
	}
	if (Header{}).Processes != nil || (&Header{}).Process(TrackOf(two, 1, 0)) != nil {
		t.Error("a process that the header does not have")
	}
}

func TestAnnotation(t *testing.T) {
	for _, c := range []struct {
		kind  AnnotationKind
		bits  uint64
		name  string
		value string
		float float64
	}{
		{IntCounter, math.MaxUint64, "counter", "-1", -1},
		{UintCounter, math.MaxUint64, "counter", "18446744073709551615", math.MaxUint64},
		{FloatCounter, math.Float64bits(0.1), "counter", "0.1", 0.1},
		{FloatCounter, math.Float64bits(math.Inf(-1)), "counter", "-Inf", math.Inf(-1)},
		{TextAnnotation, 0, "mark", "", 0},
	} {
		a := Annotation{Kind: c.kind, Bits: c.bits, Thread: 9, Process: &Process{Number: 4}}
		if c.kind.String() != c.name || string(a.AppendValue(nil)) != c.value || a.Float() != c.float {
			t.Errorf("%v %x: %q, %q, %v", c.kind, c.bits, c.kind, a.AppendValue(nil), a.Float())
		}
		if a.Track() != TrackOf(a.Process, 9, 0) || a.Track().ProcessNumber() != 4 {
			t.Errorf("track %x", uint64(a.Track()))
		}
	}
	a := Annotation{Elapsed: 1_500_000_000, HasWall: true, Wall: time.Date(2013, 5, 6, 7, 8, 9, 123456789, time.UTC)}
	row := Row{Elapsed: a.Elapsed, HasWall: true, Wall: a.Wall}
	if got, want := string(a.AppendTime(nil, 6)), string(AppendTime(nil, &row, 6)); got != want || got == "" {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		bound    Bound
		note     string
		duration int64
		saved    string
		sign     string
	}{
		{Exact, "", 5, "", ""},
		{Exact, "tail", 5, "tail", ""},
		{AtLeast, "open", 5, "open; at least", "≥ "},
		{AtLeast, "", 5, "at least", "≥ "},
		{AtMost, "", 5, "at most", "≤ "},
		{About, "tail", 5, "tail; about", "~ "},
		{About, "open", -1, "open", ""},
	} {
		r := Row{Bound: c.bound, Note: c.note, Duration: c.duration}
		if got := r.SavedNote(); got != c.saved {
			t.Errorf("%+v: saved note %q, want %q", c, got, c.saved)
		}
		if got := string(AppendBound(nil, c.bound, c.duration)); got != c.sign {
			t.Errorf("%+v: sign %q, want %q", c, got, c.sign)
		}
		if r.SelfBound() != c.bound {
			t.Errorf("%+v: self %v", c, r.SelfBound())
		}
		if r.SelfAbout = true; r.SelfBound() != About {
			t.Errorf("%+v: self %v where it is about", c, r.SelfBound())
		}
	}
	for _, c := range []struct{ a, b, sum Bound }{
		{Exact, Exact, Exact}, {Exact, AtLeast, AtLeast}, {AtMost, Exact, AtMost}, {AtLeast, AtLeast, AtLeast},
		{AtLeast, AtMost, About}, {About, AtMost, About},
	} {
		if c.a.With(c.b) != c.sum || c.b.With(c.a) != c.sum {
			t.Errorf("%v and %v: %v", c.a, c.b, c.a.With(c.b))
		}
	}
}

func TestAppend(t *testing.T) {
	for want, got := range map[string][]byte{
		"12":   AppendThread(nil, &Row{Thread: 12}),
		"12/3": AppendThread(nil, &Row{Thread: 12, Stack: 3}),
		"":     AppendLine(nil, 0),
		"77":   AppendLine(nil, 77),
	} {
		if string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
