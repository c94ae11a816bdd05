package merged

import (
	"slices"
	"time"
)

// An Order says how far the order of events of different processes can be relied on.
type Order uint8

const (
	// ByMachine: all logs are of one machine since it was started, and are ordered by its
	// monotonic clock.
	ByMachine Order = iota
	// ByWall: they are of several machines, or one that was started anew or slept
	// meanwhile, and are ordered by the time of day.
	ByWall
	// NotKnown: of some it is not known how their clock relates to those of the others.
	NotKnown
)

// Order says by what the events are ordered.
func (l *Log) Order() Order { return l.order }

// sameStart is by how much two logs may disagree on when their machine's clock began
// and still be of one machine: both looked at two clocks, one after the other, and the
// time of day is moved bit by bit to keep it right.
const sameStart = 500 * time.Millisecond

// setClock finds what is to be added to the times of each log.
//
// A log with a monotonic clock has looked at the time of day now and then: each time it
// is known when the clock would have begun. Logs with such a beginning in common are of
// one machine, and their clocks are one. (Where two machines began at the same time, the
// order by their clocks is that by the time of day.) A machine that sleeps, or whose time
// of day is set, has another beginning from then on, and one more in common with what is
// recorded later.
func (l *Log) setClock() {
	group := make([]int, len(l.parts)) // the first log of the same machine
	for i, of := range l.parts {
		group[i] = i
		if k := slices.IndexFunc(l.parts[:i], func(other *part) bool { return sameMachine(of, other) }); k >= 0 {
			group[i] = group[k]
		}
	}
	// The first log that knows the time of day.
	known := slices.IndexFunc(l.parts, func(of *part) bool { return of.Log.Clock(0).HasUTC })
	if known < 0 {
		if l.clock = l.parts[0].Log.Clock(0); len(l.parts) > 1 {
			l.order = NotKnown
		}
		return
	}
	begin := origin(l.parts[group[known]])
	for i, of := range l.parts {
		switch {
		case group[i] == group[known]:
		case of.Log.Clock(0).HasUTC:
			of.shift = int64(origin(l.parts[group[i]]).Sub(begin))
			l.order = max(l.order, ByWall)
		default:
			l.order = NotKnown
		}
	}
	l.clock = l.parts[known].Log.Clock(0)
}

// sameMachine reports whether two logs are of one machine since it was started.
func sameMachine(a, b *part) bool {
	if a.can.ClockTeller == nil || b.can.ClockTeller == nil {
		return false
	}
	begun, system := a.can.ClockTeller.Began(0)
	others, other := b.can.ClockTeller.Began(0)
	if system != other {
		return false
	}
	return slices.ContainsFunc(begun, func(x time.Time) bool {
		return slices.ContainsFunc(others, func(y time.Time) bool { return x.Sub(y).Abs() <= sameStart })
	})
}

// origin returns when a log's clock was 0, by its first look at the time of day.
func origin(of *part) time.Time {
	c := of.Log.Clock(0)
	return c.Start.Add(-c.Ahead).Add(-time.Duration(c.Zero))
}
