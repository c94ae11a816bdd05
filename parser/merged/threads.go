package merged

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"logparser/parser"
)

// A thread is what a value of Event.Thread stands for.
type thread struct {
	of  *part
	key uint32 // Event.Thread of the part
	// home is the thread itself, where this is a strand of it.
	home uint32
}

// noted gathers the values of Event.Thread of a log.
type noted map[uint32]bool

// setThreads makes the table of threads: log by log, and by rising id. seen are the values
// of Event.Thread that the events of each log have.
func (l *Log) setThreads(ctx context.Context, seen []noted) error {
	for i, of := range l.parts {
		if err := of.noteRowless(ctx, seen[i]); err != nil {
			return err
		}
		if of.can.Stacker != nil {
			for _, key := range slices.Collect(maps.Keys(seen[i])) {
				home, _ := of.can.Stacker.Strand(key)
				seen[i][home] = true
			}
		}
		list := slices.Collect(maps.Keys(seen[i]))
		slices.SortFunc(list, func(a, b uint32) int {
			x, y := of.Log.Thread(a), of.Log.Thread(b)
			return cmp.Or(cmp.Compare(x.Process, y.Process), cmp.Compare(x.Stack, y.Stack), cmp.Compare(x.ID, y.ID), cmp.Compare(a, b))
		})
		of.keys = make(map[uint32]uint32, len(list))
		for _, key := range list {
			of.keys[key] = uint32(len(l.threads))
			l.threads = append(l.threads, thread{of: of, key: key})
		}
		most := uint32(0)
		for _, key := range list {
			th := &l.threads[of.keys[key]]
			th.home = of.keys[key]
			if of.can.Stacker != nil {
				home, stack := of.can.Stacker.Strand(key)
				th.home, most = of.keys[home], max(most, stack)
			}
		}
		if i+1 < len(l.parts) {
			l.parts[i+1].stacks = of.stacks + most
		}
	}
	return nil
}

// noteRowless notes the threads that have a name or annotations.
func (of *part) noteRowless(ctx context.Context, seen noted) error {
	if of.can.ThreadLister != nil {
		for _, key := range of.can.ThreadLister.NamedThreads(0) {
			seen[key] = true
		}
	}
	if of.can.Annotator == nil {
		return nil
	}
	if texts, counters := of.can.Annotator.AnnotationCount(0); texts+counters == 0 {
		return nil
	}
	return of.can.Annotator.Annotations(ctx, 0, math.MinInt64, func(a *parser.Annotation) bool {
		seen[a.Thread] = true
		return true
	})
}

// thread returns what a value of Event.Thread stands for, nil for nothing.
func (l *Log) thread(key uint32) *thread {
	if int(key) >= len(l.threads) {
		return nil
	}
	return &l.threads[key]
}

// Thread implements [parser.Log].
func (l *Log) Thread(key uint32) parser.Thread {
	th := l.thread(key)
	if th == nil {
		return parser.Thread{}
	}
	t := th.of.Log.Thread(th.key)
	t.Process += th.of.process
	if t.Stack != 0 {
		t.Stack += th.of.stacks
	}
	return t
}

// HasStacks implements [parser.Stacker].
func (l *Log) HasStacks() bool {
	return slices.ContainsFunc(l.parts, func(of *part) bool { return of.can.Stacker != nil && of.can.Stacker.HasStacks() })
}

// Strand implements [parser.Stacker].
func (l *Log) Strand(key uint32) (home, stack uint32) {
	th := l.thread(key)
	if th == nil || th.home == key {
		return key, 0
	}
	return th.home, l.Thread(key).Stack
}

// NamedThreads implements [parser.ThreadLister].
func (l *Log) NamedThreads(int) []uint32 {
	var list []uint32
	for _, of := range l.parts {
		if of.can.ThreadLister != nil {
			for _, key := range of.can.ThreadLister.NamedThreads(0) {
				list = append(list, of.keys[key])
			}
		}
	}
	return list
}

// Processes implements [parser.ProcessTeller].
func (l *Log) Processes(int) []parser.Process {
	var list []parser.Process
	for _, of := range l.parts {
		list = append(list, of.processes...)
	}
	return list
}

// ThreadEnd implements [parser.Ender].
func (l *Log) ThreadEnd(key uint32, from, to int64) (time int64, ok bool) {
	th := l.thread(key)
	if th == nil || th.of.can.Ender == nil {
		return 0, false
	}
	if time, ok = th.of.can.Ender.ThreadEnd(th.key, th.of.own(from), th.of.own(to)); ok {
		time += th.of.shift
	}
	return time, ok
}

// own returns the log's own time for one of the merged log.
func (of *part) own(time int64) int64 {
	if time == math.MinInt64 || time == math.MaxInt64 {
		return time
	}
	return time - of.shift
}

// end returns until when a process was recorded.
func (of *part) end() (time int64, exact bool) {
	if of.can.Ender == nil {
		return of.last, false
	}
	time, exact = of.can.Ender.End()
	return max(time+of.shift, of.last), exact
}

// End implements [parser.Ender]: the recording ended when that of the last process did.
func (l *Log) End() (time int64, exact bool) {
	time, exact = math.MinInt64, true
	for _, of := range l.parts {
		at, known := of.end()
		time, exact = max(time, at), exact && known
	}
	return time, exact
}

// ProcessEnd implements [parser.Ender].
func (l *Log) ProcessEnd(key uint32) (time int64, exact, ok bool) {
	th := l.thread(key)
	if th == nil {
		return 0, false, false
	}
	time, exact = th.of.end()
	return time, exact, true
}
