package index

import (
	"cmp"
	"context"
	"io"
	"runtime"
	"slices"

	"logparser/calls"
	"logparser/calls/internal/sizes"
	"logparser/message"
	"logparser/parser"
)

// How a log is paired in parallel.
//
// Pairing goes from the first event to the last, because what a leave closes
// depends on what is open. But nearly always it is the innermost call of the
// thread, and its address says so. So segments of the log are paired in parallel, each
// without knowing what was open before it, and then merged in order: the leaves that
// closed nothing that the segment knew of close what is open then. Where an event
// depends on more than that, the segment is paired again, by the core. The result is
// the same.

// segmentBlocks is the number of blocks of a segment: a
// million rows, so that what is done for each address once is little.
var segmentBlocks = 256

// A segment is a range of rows, whole blocks of one run.
type segment struct {
	from, to int64
	// p is nil where the segment is only to be paired by the core.
	p    *segmentPairer
	err  error
	done chan struct{}
}

const (
	// maxFailures is how many segments in a row may have to be paired again
	// before the core pairs some by itself, and longestRest how many these are at
	// most.
	maxFailures = 3
	longestRest = 64
	// maxRefused is how many blocks one after the other may not be ordinary before the rest
	// of a segment is read in order.
	maxRefused = 8
)

// parallel goes on as far as there are whole segments of one run. It does
// nothing, and says so, where that is not worth it.
func (c *core) parallel(ctx context.Context, to int64, tell func()) (done bool, err error) {
	length := sizes.Block * int64(segmentBlocks)
	l := c.layout()
	run, _ := l.Position(c.row)
	to = min(to, l.Starts[run+1])
	to -= (to - c.row) % sizes.Block
	if to-c.row < 2*length || c.begun {
		return false, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan *segment, 2*workers)
	// A worker takes a pairer only when it begins, so that few are made: each
	// has the sums of all addresses of a segment.
	free := make(chan *segmentPairer, 2*workers)
	ended := make(chan struct{})
	for range workers {
		go func() {
			for s := range jobs {
				select {
				case s.p = <-free:
				default:
					s.p = newSegmentPairer(c.names, c.exact, c.stacker)
				}
				s.err = c.pairSegment(ctx, s, l, run)
				close(s.done)
			}
			ended <- struct{}{}
		}()
	}
	defer func() {
		cancel()
		close(jobs)
		for range workers {
			<-ended
		}
	}()
	var queue []*segment
	failures, rest, resting := 0, maxFailures, 0
	for next := c.row; next < to || len(queue) > 0; {
		for next < to && len(queue) < 2*workers {
			s := &segment{from: next, to: min(next+length, to), done: make(chan struct{})}
			next = s.to
			queue = append(queue, s)
			if resting > 0 {
				resting--
				close(s.done)
				continue
			}
			jobs <- s
		}
		s := queue[0]
		queue = queue[1:]
		<-s.done
		if s.err != nil {
			return true, s.err
		}
		switch {
		case s.p != nil && !s.p.failed && c.canMerge(s.p):
			c.mergeSegment(s.p, s.from)
			failures = 0
			rest = maxFailures
		default:
			if s.p != nil {
				if failures++; failures%maxFailures == 0 {
					resting = rest
					rest = min(2*rest, longestRest)
				}
			}
			if err := c.pairAgain(ctx, s.from, s.to); err != nil {
				return true, err
			}
		}
		if s.p != nil {
			free <- s.p
		}
		tell()
	}
	return true, nil
}

// pairSegment pairs a segment.
func (c *core) pairSegment(ctx context.Context, s *segment, l *calls.Layout, run int) error {
	p := s.p
	p.reset()
	p.row, p.number = s.from, run
	_, record := l.Position(s.from)
	if p.events == nil {
		p.events = make([]parser.Event, readLen)
	}
	var threads parser.ThreadReader
	refused := 0
	if log := c.can.ThreadedLog; log != nil && c.exact {
		threads = log.ReadThreads(record)
	}
	for p.row < s.to && !p.failed {
		if err := ctx.Err(); err != nil {
			return err
		}
		if threads != nil {
			if p.pairThreads(threads) {
				refused = 0
				continue
			}
			if refused++; refused == maxRefused {
				threads = nil
			}
		}
		events := p.events[:min(readLen, sizes.Block, s.to-p.row)]
		if err := readAll(c.log, events, record+p.row-s.from); err != nil {
			return err
		}
		p.add(events)
		p.last(events)
	}
	// Those of an address stay in the order of the pending leaves.
	slices.SortStableFunc(p.boundaryTimes, func(a, b boundaryTime) int { return cmp.Compare(a.stats, b.stats) })
	return nil
}

// last notes the time of the last event that is not damaged.
func (p *pairer) last(events []parser.Event) {
	for k := len(events) - 1; k >= 0; k-- {
		if events[k].Kind != parser.Damaged {
			p.lastTime, p.timed = events[k].Time, true
			return
		}
	}
}

func readAll(log parser.Log, events []parser.Event, record int64) error {
	got, err := log.ReadEvents(events, record)
	if got < len(events) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return message.Errorf("record %d: %w", record+int64(got), err)
	}
	return nil
}

// pairAgain pairs a segment with all that is known.
func (c *core) pairAgain(ctx context.Context, from, to int64) error {
	if c.events == nil {
		c.events = make([]parser.Event, readLen)
	}
	_, record := c.layout().Position(from)
	for c.row < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		events := c.events[:min(readLen, to-c.row)]
		if err := readAll(c.log, events, record+c.row-from); err != nil {
			return err
		}
		c.mu.Lock()
		c.add(events)
		c.last(events)
		c.version.Add(1)
		c.mu.Unlock()
	}
	c.mu.Lock()
	c.addTotals()
	c.mu.Unlock()
	return nil
}

// nearStack is how deep a stack is gone through call by call.
const nearStack = 256
