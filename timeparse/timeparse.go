// Package timeparse turns the ticks of a log into wall-clock time.
//
// It is the TimeParser of LogParser. Its input is the pair that a recorder
// notes at start, the local time and the tick counter at that moment (the
// first lines of LogDetails.bin, or the calibration of a trace); its output
// is a [Clock]. Time is the recorded program's local time: it is never
// converted to the reader's zone.
package timeparse

import "time"

// A Clock maps nanoseconds of a log's clock to the recorded program's local
// time. The zero Clock knows no wall time. It is a value and immutable.
type Clock struct {
	// Start is the local time at Zero. Its location is UTC and means
	// nothing: it is a civil time.
	Start time.Time
	// Zero is the log's clock at Start, in nanoseconds.
	Zero int64
	// HasWall says that Start is known; without it only elapsed time is.
	HasWall bool
	// Resolution is the clock's step in nanoseconds; it decides how many
	// digits are shown.
	Resolution int64
	// Ahead is local time less UTC, if HasUTC.
	Ahead  time.Duration
	HasUTC bool
}

// Wall returns the local time at ns (nanoseconds of the log's clock), and
// false where it is not known.
func (c Clock) Wall(ns int64) (time.Time, bool) {
	if !c.HasWall {
		return time.Time{}, false
	}
	return c.Start.Add(time.Duration(ns - c.Zero)), true
}

// Digits returns how many digits after the second the clock is worth: 3, 6
// or 9.
func (c Clock) Digits() int {
	switch {
	case c.Resolution >= 1_000_000 || c.Resolution == 0:
		return 3
	case c.Resolution >= 1_000:
		return 6
	}
	return 9
}
