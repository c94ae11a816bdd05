package timeline

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"logparser/app"
)

func TestZoomKeepsTheTimeUnderThePointer(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a := axis{}
		a.setWidth(1 + r.IntN(4000))
		last := int64(1) << (1 + r.IntN(55))
		a.setBounds(0, last)
		a.fit(last/4, last/4+max(last/7, 1))
		x := r.Float64() * float64(a.width)
		before := a.from + x*a.perPx
		a.zoom(x, 0.1+2*r.Float64())
		after := a.from + x*a.perPx
		low, high := a.from, a.from+a.perPx*float64(a.width)
		edge := a.from <= float64(a.first) || high >= float64(a.last)
		if d := math.Abs(after - before); d > a.perPx && d > 1e-9*math.Abs(before) && !edge {
			t.Fatalf("the time under the pointer moved by %v ns, a pixel is %v", d, a.perPx)
		}
		if slack := 0.02 * (high - low); low < float64(a.first)-slack-1 || high > float64(a.last)+slack+1 && low > float64(a.first)+slack {
			t.Fatalf("[%v, %v] leaves the log [%d, %d]", low, high, a.first, a.last)
		}
	}
}

// What is to be seen may be chosen before there is a width.
func TestFitBeforeTheWidth(t *testing.T) {
	a := axis{}
	a.setBounds(0, 1e9)
	a.fit(1000, 2000)
	a.setWidth(1000)
	if from, to := a.seen(); from > 1000 || to < 2000 || to-from > 1500 {
		t.Errorf("sees %d to %d", from, to)
	}
}

func TestViewStaysWithinTheLog(t *testing.T) {
	a := axis{}
	a.setWidth(1000)
	a.setBounds(100, 1_000_100)
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"far left", func() { a.pan(-1e12) }},
		{"zoom in", func() { a.zoom(0, 1e-3) }},
		{"far right", func() { a.pan(1e12) }},
		{"zoom out", func() { a.zoom(500, 1e9) }},
		{"zoom in without end", func() { a.zoom(500, 1e-30) }},
		{"narrow", func() { a.setWidth(10) }},
		{"fit nothing", func() { a.fit(500, 500) }},
		{"fit the end", func() { a.fit(1_000_100, 1_000_100) }},
	} {
		step.do()
		from, to := a.from, a.from+a.perPx*float64(a.width)
		slack := 0.006 * (to - from)
		if from < 100-slack || from > 1_000_100 || to < 100 || a.perPx < minPerPx || math.IsNaN(from) {
			t.Errorf("%s: sees %v to %v at %v ns a pixel", step.name, from, to, a.perPx)
		}
	}
}

func TestWholeLogStaysWholeWhileItGrows(t *testing.T) {
	a := axis{}
	a.setWidth(1000)
	a.setBounds(0, 1000)
	a.setBounds(0, 5000)
	if x := a.x(5000); x < 950 || x > 1000 {
		t.Errorf("the end is drawn at %v", x)
	}
	a.fit(100, 200)
	from := a.from
	a.setBounds(0, 9000)
	if a.from != from {
		t.Error("a view of a part moves when the log grows")
	}
}

func TestTicks(t *testing.T) {
	for _, test := range []struct {
		perPx float64
		step  int64
		at    int64
		most  int64 // the time at the right edge
		want  string
	}{
		{1, 100, 1_500_000_300, 2e9, "1.5000003 s"},
		{1e6, 100_000_000, 1_500_000_000, 2e9, "1.5 s"},
		{1e8, 10_000_000_000, 30_000_000_000, 1e11, "30 s"},
		{0.1, 10, 30, 1300, "0.03 \u00b5s"},
		{0.1, 10, 30, 700, "30 ns"},
		{300, 50_000, 2_150_000, 3_000_000, "2.15 ms"},
		{3e6, 500_000_000, -500_000_000, 5e9, "-0.5 s"},
		{minPerPx, 5, 7, 10, "7 ns"},
	} {
		a := axis{perPx: test.perPx}
		if got := a.step(100); got != test.step {
			t.Errorf("%v ns a pixel: a step of %d, want %d", test.perPx, got, test.step)
		}
		if got := string(appendTick(nil, test.at, test.step, unit(test.most))); got != test.want {
			t.Errorf("%d with steps of %d is %q, want %q", test.at, test.step, got, test.want)
		}
	}
}

func TestRound(t *testing.T) {
	for _, test := range []struct {
		perPx            float64
		from, to, lo, hi int64
	}{
		{0.1, 7, 9, 7, 9},
		{12, 17, 93, 10, 100},
		{12, 20, 99, 20, 100},
		{150e6, 1_234_567_890, 5_000_000_000, 1_200_000_000, 5_100_000_000},
		{12, -17, 5, -20, 10},
	} {
		a := axis{perPx: test.perPx}
		if lo, hi := a.round(test.from, test.to); lo != test.lo || hi != test.hi {
			t.Errorf("%d to %d at %v: %d to %d, want %d to %d", test.from, test.to, test.perPx, lo, hi, test.lo, test.hi)
		}
	}
}

// The marks of several runs lie at round times of each, and none in a seam.
func TestTicksOfRuns(t *testing.T) {
	f := &frame{}
	f.axis.runs = []app.TimelineRun{{From: -5, To: 300}, {From: 420, To: 650, Zero: 430, Seam: true}, {From: 700, To: 900, Zero: 700}}
	f.axis.setWidth(1000)
	f.axis.setBounds(-5, 900)
	var got []int64
	f.ticks(100, func(x int, at int64) { got = append(got, at) })
	if want := []int64{0, 100, 200, 300, 0, 100, 200, 0, 100, 200}; !slices.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
	for _, test := range []struct {
		from, to, want int64
		parts          int
	}{{0, 300, 300, 1}, {200, 430, 110, 2}, {310, 410, 0, 2}, {500, 800, 300, 1}, {-5, 900, 785, 2}} {
		if ns, parts := f.axis.length(test.from, test.to); ns != test.want || parts != test.parts {
			t.Errorf("%d to %d is %d in %d parts, want %d in %d", test.from, test.to, ns, parts, test.want, test.parts)
		}
	}
	for at, want := range map[int64]int{-100: 0, 0: 0, 419: 0, 420: 1, 699: 1, 700: 2, 5000: 2} {
		if got := f.axis.run(at); got != want {
			t.Errorf("%d is of run %d, want %d", at, got, want)
		}
	}
}
