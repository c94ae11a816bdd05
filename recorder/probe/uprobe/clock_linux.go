package uprobe

import (
	"time"

	"golang.org/x/sys/unix"
)

// now returns the time by CLOCK_MONOTONIC, and the time since 1970, in nanoseconds.
func now() (mono uint64, wall int64) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) != nil {
		return 0, 0
	}
	return uint64(t.Nano()), time.Now().UnixNano()
}
