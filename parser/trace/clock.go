package trace

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
	"time"

	"logparser/message"
	"logparser/parser"
	"logparser/timeparse"
)

// maxTime bounds times in units and in nanoseconds, so that the sum of two never overflows an int64. Real times are far smaller.
const maxTime = 1 << 61

// apart is the smallest distance, in nanoseconds, of two calibrations from which a rate is computed.
const apart = 1e6

// A calibration is a CLOCK record.
type calibration struct {
	units uint64
	ns    uint64 // monotonic
	wall  int64  // ns since 1970 UTC, 0 if not known
	// ahead is local time minus UTC, in seconds.
	ahead int32
}

// local returns the local time of the recorded program. wall must be known.
func (p *calibration) local() time.Time {
	return time.Unix(0, p.wall).UTC().Add(time.Duration(p.ahead) * time.Second)
}

// A clock converts units to nanoseconds. Between two calibrations it interpolates. Before the first and after the last one it
// uses the rate of the nearest two, or the nominal rate if there are not two.
type clock struct {
	points   []calibration // by rising units and ns
	segments []segment     // by rising units; the first one also applies before its beginning
	rate     uint64        // nominal units a second
}

// A segment is a linear part of a clock: at units the time is ns, and it grows by rate / 2^shift nanoseconds a unit, up to end.
type segment struct {
	units   uint64
	ns, end int64
	rate    uint64
	shift   uint
}

// newClock makes a clock from calibrations in any order. It leaves out those that run backwards, and returns their number.
// Without calibrations, time 0 is at begin.
func newClock(points []calibration, begin, rate uint64) (c *clock, dropped int) {
	if rate == 0 {
		rate = 1e9
	}
	c = &clock{rate: rate}
	slices.SortStableFunc(points, func(a, b calibration) int { return cmp.Compare(a.units, b.units) })
	for _, p := range points {
		if p.units > maxTime || p.ns > maxTime {
			dropped++
			continue
		}
		if n := len(c.points); n > 0 {
			if last := c.points[n-1]; p.units == last.units {
				continue
			} else if p.ns < last.ns {
				dropped++
				continue
			}
		}
		c.points = append(c.points, p)
	}
	if len(c.points) == 0 {
		c.segments = []segment{newSegment(min(begin, maxTime), 0, maxTime, 1e9, rate)}
		return c, dropped
	}
	for i, p := range c.points {
		if i+1 < len(c.points) {
			q := c.points[i+1]
			c.segments = append(c.segments, newSegment(p.units, int64(p.ns), int64(q.ns), q.ns-p.ns, q.units-p.units))
		}
	}
	last := c.points[len(c.points)-1]
	s := newSegment(last.units, int64(last.ns), math.MaxInt64, 1e9, rate)
	for i := len(c.points) - 2; i >= 0; i-- {
		if p := c.points[i]; last.ns-p.ns >= apart {
			s = newSegment(last.units, s.ns, s.end, last.ns-p.ns, last.units-p.units)
			break
		}
	}
	c.segments = append(c.segments, s)
	return c, dropped
}

// extend returns a clock with additional calibrations. Before from, it converts times as c does.
func (c *clock) extend(points []calibration, from uint64) *clock {
	if from == noLimit || len(points) == 0 {
		return c
	}
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b calibration) int { return cmp.Compare(a.units, b.units) })
	e := &clock{points: slices.Clip(c.points), segments: slices.Clip(c.segments), rate: c.rate}
	at, ns := from, c.at(from)
	for len(e.segments) > 1 && e.segments[len(e.segments)-1].units >= at {
		e.segments = e.segments[:len(e.segments)-1]
	}
	e.segments = slices.Clip(e.segments)
	for _, p := range points {
		if p.units > maxTime || p.ns > maxTime || len(e.points) > 0 && (p.units <= e.points[len(e.points)-1].units || p.ns < e.points[len(e.points)-1].ns) {
			continue
		}
		e.points = append(e.points, p)
		if p.units > at {
			to := max(int64(p.ns), ns)
			e.segments = append(e.segments, newSegment(at, ns, to, uint64(to-ns), p.units-at))
			at, ns = p.units, to
		}
	}
	last := newSegment(at, ns, math.MaxInt64, 1e9, e.rate)
	for i := len(e.points) - 2; i >= 0; i-- {
		p, q := e.points[i], e.points[len(e.points)-1]
		if q.ns-p.ns >= apart {
			last = newSegment(at, ns, math.MaxInt64, q.ns-p.ns, q.units-p.units)
			break
		}
	}
	e.segments = append(e.segments, last)
	return e
}

// newSegment makes a segment in which ns nanoseconds pass in units units. Both are below 2^62.
func newSegment(from uint64, at, end int64, ns, units uint64) segment {
	s := segment{units: from, ns: at, end: end}
	// rate is ns << shift / units, with the largest shift for which it fits into 64 bits.
	s.shift = 63
	for s.shift > 0 && ns>>(63-s.shift) >= units {
		s.shift--
	}
	s.rate, _ = bits.Div64(ns>>(64-s.shift), ns<<s.shift, max(units, 1))
	return s
}

func (s *segment) at(units uint64) int64 {
	if units < s.units {
		return s.ns - s.span(s.units-units)
	}
	return min(s.end, s.ns+s.span(units-s.units))
}

// convert changes the times of events from units to nanoseconds. The times must rise.
func (s *segment) convert(events []parser.Event) {
	if len(events) == 0 {
		return
	}
	if !s.linear(uint64(events[0].Time), uint64(events[len(events)-1].Time)) {
		for i := range events {
			events[i].Time = s.at(uint64(events[i].Time))
		}
		return
	}
	// The bound does not change the last time, so it does not change any.
	units, rate, ns, up := s.units, s.rate, s.ns, s.up()&63
	for i := range events {
		e := &events[i]
		hi, _ := bits.Mul64((uint64(e.Time)-units)<<up, rate)
		e.Time = ns + int64(hi)
	}
}

// times converts units, which rise, to nanoseconds in dst. segment is the index of the segment that was used last, which is
// looked at first; times returns that of the last time.
func (c *clock) times(dst []int64, units []uint64, segment int) int {
	for len(units) > 0 {
		segment = c.near(segment, units[0])
		n := len(units)
		if !c.has(segment, units[n-1]) {
			n = sort.Search(n, func(i int) bool { return !c.has(segment, units[i]) })
		}
		c.segments[segment].times(dst, units[:n])
		dst, units = dst[n:], units[n:]
	}
	return segment
}

// near is find for a time that may well belong to a segment.
func (c *clock) near(segment int, units uint64) int {
	if segment < len(c.segments) && c.has(segment, units) {
		return segment
	}
	return c.find(units)
}

// has reports whether a time belongs to a segment.
func (c *clock) has(segment int, units uint64) bool {
	return (segment == 0 || units >= c.segments[segment].units) && (segment+1 == len(c.segments) || units < c.segments[segment+1].units)
}

// times converts units, which rise, to nanoseconds in dst.
func (s *segment) times(dst []int64, units []uint64) {
	if !s.linear(units[0], units[len(units)-1]) {
		for i, t := range units {
			dst[i] = s.at(t)
		}
		return
	}
	from, rate, ns, up := s.units, s.rate, s.ns, s.up()&63
	dst = dst[:len(units)]
	for i, t := range units {
		hi, _ := bits.Mul64((t-from)<<up, rate)
		dst[i] = ns + int64(hi)
	}
}

// linear reports whether the segment's bound changes no time from first to last. Then the times from units on, shifted to the
// left by up, lose no bits, and the high word of their product with rate is the span in nanoseconds.
func (s *segment) linear(first, last uint64) bool {
	return s.shift > 0 && first >= s.units && s.at(last) != s.end && s.span(last-s.units) != maxTime
}

// up is explained at linear. It is less than 64 if the segment is linear anywhere.
func (s *segment) up() uint { return 64 - s.shift }

func (s *segment) span(units uint64) int64 {
	hi, lo := bits.Mul64(units, s.rate)
	if hi>>s.shift != 0 {
		return maxTime
	}
	n := hi<<(64-s.shift) | lo>>s.shift
	return int64(min(n, maxTime))
}

// at converts a time in units to nanoseconds.
func (c *clock) at(units uint64) int64 { return c.segments[c.find(units)].at(units) }

// find returns the index of the segment of a time.
func (c *clock) find(units uint64) int {
	return max(0, sort.Search(len(c.segments), func(i int) bool { return c.segments[i].units > units })-1)
}

// wall returns the clock that converts nanoseconds to the local time of the recorded program. It takes the local time from the
// first calibration only, so that differences of local times are durations.
func (c *clock) wall() timeparse.Clock {
	for i := range c.points {
		if p := &c.points[i]; p.wall != 0 {
			return timeparse.Clock{Start: p.local(), Zero: int64(p.ns), HasWall: true, Resolution: 1, HasUTC: true, Ahead: time.Duration(p.ahead) * time.Second}
		}
	}
	return timeparse.Clock{Zero: c.segments[0].ns, Resolution: 1}
}

const (
	// leastStep is the smallest change of the local time, compared with the monotonic clock, that a note reports.
	leastStep = time.Second
	maxSteps  = 20
)

// steps returns notes about calibrations whose local time differs from the one that wall computes. There are two reasons: the
// monotonic clock stops while a machine sleeps, and the local time is set by people and changes with summer time.
func (c *clock) steps(wall timeparse.Clock) (notes []message.Text) {
	if !wall.HasWall {
		return nil
	}
	said, more := time.Duration(0), 0
	for i := range c.points {
		p := &c.points[i]
		shown, _ := wall.Wall(int64(p.ns))
		early := p.local().Sub(shown)
		if p.wall == 0 || (early-said).Abs() < leastStep {
			continue
		}
		if said = early; len(notes) == maxSteps {
			more++
			continue
		}
		how := message.Textf("right again")
		if early >= leastStep {
			how = message.Textf("%s early", early.Round(time.Millisecond))
		} else if early <= -leastStep {
			how = message.Textf("%s late", (-early).Round(time.Millisecond))
		}
		notes = append(notes, message.Textf("since %s at the latest the times of day shown are %s: the machine slept or its clock was set",
			shown.Format(time.DateTime), how))
	}
	if more > 0 {
		notes = append(notes, message.Textf("the clock was set or the machine slept %d times more", more))
	}
	return notes
}
