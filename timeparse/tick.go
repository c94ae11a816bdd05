package timeparse

import "time"

// TickWrap is the number of milliseconds after which a 32-bit tick counter
// starts again from 0: 49.7 days.
const TickWrap = int64(1) << 32

// Milliseconds returns milliseconds as nanoseconds of a log's clock.
func Milliseconds(ms int64) int64 { return ms * int64(time.Millisecond) }

// NewTickClock makes the clock of a log whose time is a 32-bit millisecond
// counter (GetTickCount): the counter stood at startTick when the local time
// was start.
//
// The log's clock is the counter with its wraps undone: it is first
// (milliseconds) at the log's first record, whose counter reading is its low
// 32 bits. Of the moments at which the counter stood at startTick the nearest
// to the first record is meant, so that a counter that wrapped between start
// and first record gives no error of 49.7 days. Milliseconds are carried in 64
// bits throughout.
//
// The result is civil time: where the recorded machine changed between summer
// and winter time during the log, times after the change are those of a clock
// that was not put back or forward.
func NewTickClock(start time.Time, startTick uint32, first int64) Clock {
	return Clock{
		Start:      start,
		Zero:       Milliseconds(Nearest(startTick, first)),
		HasWall:    true,
		Resolution: int64(time.Millisecond),
	}
}

// ElapsedClock makes the clock of a log of which no start time is known; first
// is its first record's time in milliseconds.
func ElapsedClock(first int64) Clock {
	return Clock{Zero: Milliseconds(first), Resolution: int64(time.Millisecond)}
}

// Nearest returns the unwrapped value nearest to the unwrapped reference at
// which a 32-bit counter reads tick. All are in milliseconds.
func Nearest(tick uint32, reference int64) int64 {
	return reference + int64(int32(tick-uint32(reference)))
}
