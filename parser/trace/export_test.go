package trace

import (
	"context"
	"io"
	"testing"
	"time"
)

// StopClock has no time pass for logs that grow, until the test ends: however slow the machine is,
// the same events wait for others.
func StopClock(t *testing.T) {
	t.Cleanup(func() { since = time.Since })
	since = func(time.Time) time.Duration { return 0 }
}

// OpenHeadOf opens about so many first records of a trace.
func OpenHeadOf(r io.ReaderAt, size, records int64) (*Log, error) {
	log := &Log{r: r, head: &logHead{}}
	return log, log.open(context.Background(), size, nil, records, nil)
}

// OpenFound opens a trace with what was found in it before; restored says that this was
// believed.
func OpenFound(r io.ReaderAt, size int64, found []byte) (log *Log, restored bool, err error) {
	log = &Log{r: r}
	err = log.open(context.Background(), size, found, 0, nil)
	return log, err == nil && len(found) > 0 && log.growth.restored, err
}

// TakenBytes returns how much memory the sources of the cursors have that read values in order.
func (l *Log) TakenBytes() int {
	n := 0
	for _, c := range l.takingCursors {
		for _, h := range c.heap {
			n += cap(h.of.taken.bytes)
		}
		for _, s := range c.idle {
			n += cap(s.taken.bytes)
		}
	}
	return n
}

// SetWantedSample sets after how many calls a reader asks whether few were wanted, until the function that it returns is called.
func SetWantedSample(n int) (restore func()) {
	before := wantedSample
	wantedSample = n
	return func() { wantedSample = before }
}
