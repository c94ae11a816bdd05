package launch

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// now returns the instant of the call.
func now() (at instant) {
	// Of some rounds the one in which the clocks were read closest together.
	least := uint64(math.MaxUint64)
	for range 5 {
		var t, before, after unix.Timespec
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
		c1 := counter()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
			return instant{}
		}
		c2 := counter()
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
		if width := uint64(after.Nano() - before.Nano()); width < least {
			least = width
			at = instant{counter: c1 + (c2-c1)/2, monotonic: uint64(t.Nano()), wall: time.Now().UnixNano(), uncertainty: uint32(min(width/2, math.MaxUint32))}
		}
	}
	return at
}
