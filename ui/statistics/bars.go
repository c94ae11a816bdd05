package statistics

import (
	"math"

	"logparser/app"
)

// A scale is the logarithmic axis of durations: pixels to nanoseconds.
type scale struct {
	from, to float64 // nanoseconds, both above 0
	width    int
}

// scaleOf fits bars, with a little room at both ends. No duration but 0 is shorter than a step
// of the clock, which is in nanoseconds.
func scaleOf(bars []app.Bar, step int64, width int) scale {
	s := scale{from: 1, to: 10, width: max(width, 1)}
	if len(bars) > 0 {
		s.from = math.Max(float64(bars[0].From), float64(max(step, 1))) / 1.3
		s.to = math.Max(float64(bars[len(bars)-1].To), s.from*4) * 1.3
	}
	return s
}

// x returns where a duration is; 0 lies at the left edge.
func (s *scale) x(ns int64) float64 {
	if ns <= 0 {
		return 0
	}
	return math.Log(float64(ns)/s.from) / math.Log(s.to/s.from) * float64(s.width)
}

// at returns the duration at x.
func (s *scale) at(x float64) int64 {
	x = min(max(x, 0), float64(s.width))
	return int64(s.from * math.Pow(s.to/s.from, x/float64(s.width)))
}

// columns sums the bars into the columns of pixels that they lie in, step
// pixels wide.
func (s *scale) columns(bars []app.Bar, step int) []int64 {
	sums := make([]int64, (s.width+step-1)/step)
	for _, b := range bars {
		x := (s.x(b.From) + s.x(max(b.To-1, b.From))) / 2
		i := min(max(int(x)/step, 0), len(sums)-1)
		sums[i] += b.Calls
	}
	return sums
}

// snap widens a range to the bars that it touches and returns their bounds,
// both inclusive, and the number of their calls; ok is false if it touches none.
func snap(bars []app.Bar, from, to int64) (low, high, calls int64, ok bool) {
	for _, b := range bars {
		if b.To <= from || b.From > to {
			continue
		}
		if !ok {
			low = b.From
		}
		high, calls, ok = b.To-1, calls+b.Calls, true
	}
	return low, high, calls, ok
}
