package merged

import (
	"cmp"
	"context"
	"slices"

	"logparser/message"
	"logparser/parser"
)

// Capabilities implements [parser.Log]. The merged log does not grow, and what recording cost
// is another thing in each process.
func (l *Log) Capabilities() parser.Capabilities {
	can := parser.Capabilities{Checker: l, Resumer: l, Ender: l, CallSiter: l, Annotator: l, WayTeller: l,
		Stacker: l, ThreadLister: l, ProcessTeller: l, CrashTeller: l, ValueTeller: l, Namer: l, Forked: l}
	if l.takenReader {
		can.TakenReader = l
	}
	return can
}

// Check implements [parser.Checker].
func (l *Log) Check() error {
	for _, of := range l.parts {
		if of.can.Checker != nil {
			if err := of.can.Checker.Check(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Name implements [parser.Namer].
func (l *Log) Name(run int, space uint16, address uint64) string {
	for _, of := range slices.Backward(l.parts) {
		if space < of.firstSpace {
			continue
		}
		if of.can.Namer == nil {
			break
		}
		return of.can.Namer.Name(run, space-of.firstSpace, address)
	}
	return ""
}

// OpenCalls implements [parser.Resumer].
func (l *Log) OpenCalls(record int64) (list []parser.OpenCall, outer int, err error) {
	of, own, err := l.find(record)
	if err != nil || of.can.Resumer == nil {
		return nil, 0, err
	}
	list, outer, err = of.can.Resumer.OpenCalls(own)
	list = slices.Clone(list)
	for i := range list {
		list[i].Space += of.firstSpace
	}
	return list, outer, err
}

// HasCallSites implements [parser.CallSiter].
func (l *Log) HasCallSites() bool {
	return slices.ContainsFunc(l.parts, func(of *part) bool { return of.can.CallSiter != nil && of.can.CallSiter.HasCallSites() })
}

// CallSites implements [parser.CallSiter].
func (l *Log) CallSites(dst []parser.CallSite, from int64) (int, error) {
	return l.each(len(dst), from, func(events []parser.Event, of *part, own int64) error {
		sites := dst[:len(events)]
		dst = dst[len(events):]
		clear(sites)
		if of.can.CallSiter == nil {
			return nil
		}
		if _, err := of.can.CallSiter.CallSites(sites, own); err != nil {
			return message.InFile(of.Name, err)
		}
		for i := range sites {
			sites[i].Space += of.firstSpace
		}
		return nil
	})
}

// Ways implements [parser.WayTeller]: the ways of all, and whether the ends of calls were
// noticed late in any.
func (l *Log) Ways() (ways []string, late bool) {
	for _, of := range l.parts {
		if of.can.WayTeller == nil {
			continue
		}
		list, is := of.can.WayTeller.Ways()
		late = late || is
		for _, w := range list {
			if !slices.Contains(ways, w) {
				ways = append(ways, w)
			}
		}
	}
	return ways, late
}

// Crashes implements [parser.CrashTeller].
func (l *Log) Crashes(int) []parser.Crash {
	var list []parser.Crash
	for _, of := range l.parts {
		if of.can.CrashTeller == nil {
			continue
		}
		for _, c := range of.can.CrashTeller.Crashes(0) {
			c.Time += of.shift
			c.Space += of.firstSpace
			c.Process += of.process
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b parser.Crash) int { return cmp.Compare(a.Time, b.Time) })
	return list
}

// AnnotationCount implements [parser.Annotator].
func (l *Log) AnnotationCount(int) (texts, counters int64) {
	for _, of := range l.parts {
		if of.can.Annotator != nil {
			t, c := of.can.Annotator.AnnotationCount(0)
			texts, counters = texts+t, counters+c
		}
	}
	return texts, counters
}

// Annotations implements [parser.Annotator].
func (l *Log) Annotations(ctx context.Context, _ int, from int64, yield func(a *parser.Annotation) bool) error {
	var heads []*annotations
	defer func() {
		for _, h := range heads {
			h.stop()
		}
	}()
	for _, of := range l.parts {
		if of.can.Annotator == nil {
			continue
		}
		h := of.annotations(ctx, from)
		heads = append(heads, h)
	}
	for {
		var first *annotations
		for _, h := range heads {
			if h.err != nil {
				return message.InFile(h.of.Name, h.err)
			}
			if h.next != nil && (first == nil || h.next.Time+h.of.shift < first.next.Time+first.of.shift) {
				first = h
			}
		}
		if first == nil {
			return nil
		}
		a := *first.next
		a.Time += first.of.shift
		a.Thread = first.of.keys[a.Thread]
		if !yield(&a) {
			return nil
		}
		first.pull()
	}
}

// Inherited implements [parser.Forked].
func (l *Log) Inherited() (list []parser.InheritedCalls) {
	for _, of := range l.parts {
		if of.can.Forked == nil {
			continue
		}
		for _, c := range of.can.Forked.Inherited() {
			c.Thread, c.Time = of.keys[c.Thread], c.Time+of.shift
			list = append(list, c)
		}
	}
	return list
}
