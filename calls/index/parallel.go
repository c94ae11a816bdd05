package index

import (
	"context"
	"runtime"

	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/parser"
)

// How a log is paired in parallel.
//
// Pairing goes from the first event to the last, because what a leave closes
// depends on what is open. But nearly always it is the innermost call of the
// thread, and its address says so. So segments of the log are paired in parallel
// ([pairing.Segment]) and then taken over in order ([pairing.Sequential.Merge]). A segment
// that has to know more is paired again by the Sequential.

// A segment is a range of rows, whole blocks of one run.
type segment struct {
	from, to int64
	// p is nil where the segment is only to be paired by the Sequential.
	p    *pairing.Segment
	err  error
	done chan struct{}
}

const (
	// maxFailures is how many segments in a row may have to be paired again
	// before the Sequential pairs some by itself, and longestRest how many these are at
	// most.
	maxFailures = 3
	longestRest = 64
	// longestSegment is how many times as long as the shortest segments the longest are.
	longestSegment = 5
)

// parallel goes on as far as there are whole segments of one run. It does
// nothing, and says so, where that is not worth it.
func (c *core) parallel(ctx context.Context, to int64, tell func()) (done bool, err error) {
	l := c.layout()
	row := c.pairs.Row()
	run, _ := l.Position(row)
	to = min(to, l.Starts[run+1])
	to -= (to - row) % sizes.Block
	workers := runtime.GOMAXPROCS(0)
	length := segmentRows(to-row, workers)
	if to-row < 2*length || row%sizes.Block != 0 {
		return false, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	jobs := make(chan *segment, 2*workers)
	// A worker takes a pairer only when it begins, so that few are made: each
	// has the sums of all addresses of a segment.
	free := make(chan *pairing.Segment, 2*workers)
	ended := make(chan struct{})
	for range workers {
		go func() {
			for s := range jobs {
				select {
				case s.p = <-free:
				default:
					s.p = c.pairs.NewSegment()
				}
				_, record := l.Position(s.from)
				s.err = s.p.Pair(ctx, run, s.from, s.to, record)
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
	for next := row; next < to || len(queue) > 0; {
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
		case s.p != nil && !s.p.Failed() && c.pairs.CanMerge(s.p):
			c.mu.Lock()
			c.pairs.Merge(s.p, s.from)
			c.keepSegment(s)
			c.version.Add(1)
			c.mu.Unlock()
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

// segmentRows returns how many of rows a segment has: more where there are many, so that what is done for each address of each
// segment is little even where many threads have it. Each worker gets as many segments, so that none is long the last.
func segmentRows(rows int64, workers int) int64 {
	each, shortest := int64(workers), sizes.Block*int64(sizes.SegmentBlocks)
	length := shortest * min(max(rows/(shortest*4*each), 1), longestSegment)
	if n := (rows + length - 1) / length; n > each {
		n = (n + each - 1) / each * each
		length = (rows + n*sizes.Block - 1) / (n * sizes.Block) * sizes.Block
	}
	return length
}

// pairAgain pairs a segment with all that is known.
func (c *core) pairAgain(ctx context.Context, from, to int64) error {
	if c.events == nil {
		c.events = make([]parser.Event, readLen)
	}
	_, record := c.layout().Position(from)
	for row := from; row < to; {
		if err := ctx.Err(); err != nil {
			return err
		}
		events := c.events[:min(readLen, to-row)]
		if _, err := parser.ReadFull(c.log.ReadEvents, events, record+row-from); err != nil {
			return err
		}
		c.mu.Lock()
		c.pairs.Add(events)
		c.version.Add(1)
		c.mu.Unlock()
		row += int64(len(events))
	}
	c.mu.Lock()
	c.pairs.AddSums()
	c.mu.Unlock()
	return nil
}
