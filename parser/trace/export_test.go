package trace

import (
	"context"
	"io"
	"testing"
	"time"
)

// StopClock stops the time for logs that grow until the test ends, so that the speed of the machine does not change which events
// wait for others.
func StopClock(t *testing.T) {
	t.Cleanup(func() { since = time.Since })
	since = func(time.Time) time.Duration { return 0 }
}

// OpenHeadOf opens the beginning of a trace, with about as many records as given.
func OpenHeadOf(r io.ReaderAt, size, records int64) (*Log, error) {
	log := &Log{r: r, head: &logHead{}}
	return log, log.open(context.Background(), size, nil, records, nil)
}

// OpenFound opens a trace with the result of an earlier reading. restored says that the reader used it.
func OpenFound(r io.ReaderAt, size int64, found []byte) (log *Log, restored bool, err error) {
	log = &Log{r: r}
	err = log.open(context.Background(), size, found, 0, nil)
	return log, err == nil && len(found) > 0 && log.growth.restored, err
}

// TakenBytes returns how many bytes of values the cursors have that read values in order.
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

// SetFoldSample sets the number of look-ups after which a reader decides whether to go on summing up calls. The function that it
// returns restores the old number.
func SetFoldSample(lookups int) (restore func()) {
	before := foldSample
	foldSample = lookups
	return func() { foldSample = before }
}

// SetSkimSample sets the number of events after which a reader decides whether to go on skipping deep calls. The function that it
// returns restores the old number.
func SetSkimSample(events int64) (restore func()) {
	before := skimSample
	skimSample = events
	return func() { skimSample = before }
}

// SetLoops says whether the loops in assembly are used, where the processor has what they need. The function that it returns restores
// what was before.
func SetLoops(use bool) (restore func()) {
	before := loops
	loops = use && before
	return func() { loops = before }
}

// SetMaxNumbers sets the number of addresses that a reader of threads numbers. The function that it returns restores the old one.
func SetMaxNumbers(n int) (restore func()) {
	before := maxNumbers
	maxNumbers = n
	return func() { maxNumbers = before }
}

// DiffersThreads is differsThreads for tests outside the package.
var DiffersThreads = differsThreads

// SetStepOutside sets how many units a stretch before the first wanted time may be long. The function that it returns restores the
// old number.
func SetStepOutside(units uint64) (restore func()) {
	before := stepOutside
	stepOutside = units
	return func() { stepOutside = before }
}

// SetOutsideSkim sets how many records of a call are skipped at most where no call is wanted. The function that it returns restores
// the old number.
func SetOutsideSkim(records int64) (restore func()) {
	before := outsideSkim
	outsideSkim = records
	return func() { outsideSkim = before }
}
