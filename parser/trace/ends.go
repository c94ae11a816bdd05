package trace

import (
	"slices"
	"sync"
)

// ends has the times, in nanoseconds, at which the recording and its threads ended.
type ends struct {
	// last is a time up to which the program was recorded. exact says that the recording ended at that time.
	last  int64
	exact bool
	// records are the records of threads' ends. threads has their times by the system's thread ids, in rising order; it is made
	// when it is first needed.
	records []threadEnd
	once    sync.Once
	threads map[uint32][]int64
}

// ends returns the ends that the process records tell, with times of the clock c.
func (p *process) ends(c *clock) *ends {
	e := &ends{records: p.threadEnds, exact: p.hasEnded}
	if len(c.points) > 0 {
		e.last = c.at(c.points[len(c.points)-1].units)
	}
	if p.hasEnded {
		e.last = max(e.last, c.at(p.ended))
	}
	if t, ok := p.diedOfCrash(); ok {
		e.last, e.exact = max(e.last, c.at(t)), true
	}
	return e
}

// of returns the times at which threads with an id ended.
func (e *ends) of(v *view, thread uint32) []int64 {
	e.once.Do(func() {
		ids := make(map[uint32]uint32, len(v.index.streams))
		for _, s := range v.index.streams {
			ids[s.number] = uint32(s.thread)
		}
		e.threads = make(map[uint32][]int64)
		for _, r := range e.records {
			if id, ok := ids[r.stream]; ok {
				e.threads[id] = append(e.threads[id], v.clock.at(r.time))
			}
		}
		for _, list := range e.threads {
			slices.Sort(list)
		}
	})
	return e.threads[thread]
}

// End implements [parser.Ender].
func (l *Log) End() (time int64, exact bool) {
	e := l.view.Load().ends
	return e.last, e.exact
}

// ProcessEnd implements [parser.Ender]: the log is of one process.
func (l *Log) ProcessEnd(uint32) (time int64, exact, ok bool) { return 0, false, false }

// ThreadEnd implements [parser.Ender].
func (l *Log) ThreadEnd(thread uint32, from, to int64) (time int64, ok bool) {
	v := l.view.Load()
	list := v.ends.of(v, thread)
	// The last time that is not after to.
	i, found := slices.BinarySearch(list, to)
	if !found {
		i--
	}
	if i < 0 || list[i] < from {
		return 0, false
	}
	return list[i], true
}
