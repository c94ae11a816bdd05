package timeline

import "logparser/app"

// A Source hands out calls to be drawn, as [app.Timeline] does. Its methods are safe for
// concurrent use.
type Source interface {
	// Lanes returns the lanes from top to bottom.
	Lanes() []app.Lane
	// Range returns the times of the first and the last row.
	Range() (first, last int64)
	// Runs returns the runs from left to right; where there is one at most times
	// are those of the log.
	Runs() ([]app.TimelineRun, error)
	// TimeDigits returns how many digits of a second times are worth.
	TimeDigits() int
	// Spans appends what a lane holds between two times, where that time is
	// drawn so many pixels wide, at each depth by time. Calls narrower than a
	// pixel may be merged. finer says that asking again gives more detail.
	Spans(dst []app.Span, lane int, from, to int64, pixels int) (spans []app.Span, finer bool, err error)
}
