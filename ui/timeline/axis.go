package timeline

import (
	"math"
	"slices"
	"strconv"

	"logparser/app"
)

// minPerPx is the least time a pixel stands for, in nanoseconds.
const minPerPx = 1.0 / 32

// An axis is the part of the log's time that is seen. Times are nanoseconds
// since the first row; a float64 holds those of 26 days exactly to 1/4 ns.
type axis struct {
	first, last int64
	from        float64 // the time at the left edge
	perPx       float64 // nanoseconds for each device pixel
	width       int     // device pixels
	runs        []app.TimelineRun
}

// several reports whether times are those of several runs.
func (a *axis) several() bool { return len(a.runs) > 1 }

// run returns the index of the run that a time belongs to: the last that has
// begun then, or the first.
func (a *axis) run(t int64) int {
	i, _ := slices.BinarySearchFunc(a.runs, t, func(r app.TimelineRun, t int64) int {
		if r.From <= t {
			return -1
		}
		return 1
	})
	return max(i-1, 0)
}

// stretches calls f for the parts of a range, both bounds inclusive, that have
// times, with the time that these count from.
func (a *axis) stretches(first, last int64, f func(from, to, zero int64)) {
	if !a.several() {
		f(first, last, 0)
		return
	}
	for i := range a.runs {
		r := &a.runs[i]
		from, to := r.From, r.To
		if i == 0 {
			from = min(from, first)
		}
		if i == len(a.runs)-1 {
			to = max(to, last)
		} else if next := &a.runs[i+1]; !next.Seam {
			to = next.From - 1
		}
		if from, to = max(from, first), min(to, last); from <= to {
			f(from, to, r.Zero)
		}
	}
}

// length returns how long a range is, without what is no time in it, and of how
// many runs it has a part between which that lies.
func (a *axis) length(from, to int64) (ns int64, parts int) {
	ns, parts = to-from, 1
	for i := 1; i < len(a.runs); i++ {
		r := &a.runs[i]
		if low, high := max(a.runs[i-1].To, from), min(r.From, to); r.Seam && low < high {
			ns -= high - low
			parts++
		}
	}
	return ns, parts
}

// setBounds changes what there is to see. A view of all of it stays one.
func (a *axis) setBounds(first, last int64) {
	all := a.perPx == 0 || a.perPx >= a.maxPerPx()
	a.first, a.last = first, max(last, first)
	if all {
		a.fitAll()
	}
	a.clamp()
}

func (a *axis) setWidth(w int) {
	if w == a.width || w <= 0 {
		return
	}
	// The same time is seen, also that which was chosen before there was a width.
	a.perPx *= float64(max(a.width, 1)) / float64(w)
	a.width = w
	a.clamp()
}

// maxPerPx is that at which the whole log is seen, with a hair's breadth
// beside it.
func (a *axis) maxPerPx() float64 {
	return max(float64(a.last-a.first)*1.01/float64(max(a.width, 1)), minPerPx)
}

func (a *axis) clamp() {
	a.perPx = min(max(a.perPx, minPerPx), a.maxPerPx())
	seen := a.perPx * float64(a.width)
	margin := 0.005 * seen
	low, high := float64(a.first)-margin, float64(a.last)+margin-seen
	if high < low {
		high = low
	}
	a.from = min(max(a.from, low), high)
}

func (a *axis) fitAll() { a.fit(a.first, a.last) }

// fit shows a range with some room on both sides.
func (a *axis) fit(from, to int64) {
	length, width := max(float64(to-from), 1), float64(max(a.width, 1))
	a.perPx = length / (0.9 * width)
	if from <= a.first && to >= a.last {
		a.perPx = a.maxPerPx()
	}
	a.perPx = min(max(a.perPx, minPerPx), a.maxPerPx())
	a.from = float64(from) + length/2 - a.perPx*width/2
	a.clamp()
}

// x returns where a time is drawn.
func (a *axis) x(t int64) float64 { return (float64(t) - a.from) / a.perPx }

// at returns the time at x, within the log.
func (a *axis) at(x float64) int64 {
	t := a.from + x*a.perPx
	return min(max(int64(math.Round(t)), a.first), a.last)
}

// zoom makes a pixel stand for factor times what it did and keeps the time
// that is at x there.
func (a *axis) zoom(x, factor float64) {
	t := a.from + x*a.perPx
	a.perPx = min(max(a.perPx*factor, minPerPx), a.maxPerPx())
	a.from = t - x*a.perPx
	a.clamp()
}

func (a *axis) pan(px float64) {
	a.from += px * a.perPx
	a.clamp()
}

// round widens a range, both bounds inclusive, to round numbers that are no
// farther than a pixel.
func (a *axis) round(from, to int64) (int64, int64) {
	step := int64(1)
	for float64(step*10) <= a.perPx {
		step *= 10
	}
	roundDown := func(t int64) int64 {
		if t < 0 {
			return -((-t + step - 1) / step * step)
		}
		return t / step * step
	}
	if step == 1 {
		return from, to
	}
	return roundDown(from), roundDown(to) + step
}

// seen returns the times at both edges.
func (a *axis) seen() (from, to int64) {
	return int64(math.Floor(a.from)), int64(math.Ceil(a.from + a.perPx*float64(a.width)))
}

// step returns the distance of the ruler's marks, at least so many pixels
// apart: 1, 2 or 5 times a power of ten nanoseconds.
func (a *axis) step(pixels int) int64 {
	least := a.perPx * float64(pixels)
	for p := int64(1); ; p *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if float64(p*m) >= least || p >= 1e17 {
				return p * m
			}
		}
	}
}

// units are those of the ruler's marks, in nanoseconds.
var units = []struct {
	ns     int64
	digits int // of a nanosecond
	name   string
}{{1e9, 9, " s"}, {1e6, 6, " ms"}, {1e3, 3, " \u00b5s"}, {1, 0, " ns"}}

// unit returns the index of the greatest unit of which a time has at least one.
func unit(ns int64) int {
	for i, u := range units {
		if ns >= u.ns {
			return i
		}
	}
	return len(units) - 1
}

// appendTick writes a time of the ruler in a unit, with the digits that a step
// needs.
func appendTick(dst []byte, t, step int64, unit int) []byte {
	u := &units[unit]
	if t < 0 {
		dst = append(dst, '-')
		t = -t
	}
	dst = strconv.AppendInt(dst, t/u.ns, 10)
	digits := u.digits
	for s := step; s%10 == 0 && digits > 0; s /= 10 {
		digits--
	}
	if digits > 0 {
		frac := strconv.AppendInt(nil, u.ns+t%u.ns, 10)
		dst = append(append(dst, '.'), frac[1:1+digits]...)
	}
	return append(dst, u.name...)
}
