package rows

import "time"

// A Run is one of the runs of a program that the rows of a source are of. The
// rows of a run follow each other.
type Run struct {
	// First is the Index of its first row.
	First int64
	// Start is the local time from which the Elapsed of its rows counts, if
	// HasWall.
	Start   time.Time
	HasWall bool
	// Ahead is the local time of its rows less UTC, if HasUTC.
	Ahead  time.Duration
	HasUTC bool
	// End is the Elapsed of its last row that is not damaged.
	End int64
}
