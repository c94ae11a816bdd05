package profile

import (
	"context"
	"slices"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
)

// Where a filter passes all rows of a segment, as ranges of rows and times do, the segment's calls need not be read: the index has their totals.

// segmentStatistics is Statistics by the totals of segments, as far as these pass as a whole, and of the rest by what is left. It is not ok where that
// would not do, or not take less time.
func segmentStatistics(ctx context.Context, src *index.Index, g groups, o *StatisticsOptions) (list []Stat, ok bool, err error) {
	if o.Where == nil || o.PerThread || o.Correct != nil {
		return nil, false, nil
	}
	has, rest := query.SplitAddresses(o.Where)
	if rest == nil {
		return nil, false, nil
	}
	whole, most := wholeSegments(src, rest)
	if len(whole) == 0 {
		return nil, false, nil
	}
	outside := most
	for _, s := range whole {
		outside -= s.End - s.First
	}
	if outside*segmentGain > most*(segmentGain-1) {
		return nil, false, nil
	}
	totals := src.Totals()
	if totals == nil {
		return nil, false, nil // there are too many
	}
	list, ok = sumTotals(totals, g, has)
	if !ok || !addSegments(ctx, list, src, g, whole) {
		return nil, false, nil
	}
	// One range after the other: a pass over the calls of one leaves out all others.
	ranges := between(whole, src.Len())
	for i, rows := range ranges {
		left := *o
		left.Where = query.And(o.Where, query.InRows(rows.First, rows.End-1))
		if o.Progress != nil {
			left.Progress = func(done, total int64) { o.Progress((int64(i)*total+done)/int64(len(ranges)), total) }
		}
		more, err := Statistics(ctx, src, left)
		if err != nil {
			return nil, false, err
		}
		list = mergeStats(list, more)
	}
	return slices.DeleteFunc(list, func(s Stat) bool { return s.Calls == 0 }), true, nil
}

// segmentGain: segments are not asked where they have less than 1/segmentGain of the rows that may pass.
const segmentGain = 4

// wholeSegments returns the segments of which all rows pass, and how many rows of the log may.
func wholeSegments(src *index.Index, where query.Predicate) (whole []index.Segment, most int64) {
	segments := src.Segments()
	if len(segments) == 0 {
		return nil, 0
	}
	var ranges []query.RowRange
	for _, s := range segments {
		ranges = append(ranges, query.RowRange{First: s.First, End: s.End})
	}
	counts := query.CandidatesIn(src, where, append(ranges, between(segments, src.Len())...))
	for i, s := range segments {
		if s.End <= src.Len() && counts[i].Least == s.End-s.First {
			whole = append(whole, s)
		}
	}
	for _, n := range counts {
		most += n.Most
	}
	return whole, most
}

// addSegments sets what sumTotals has made to the totals of segments. It returns false where these are not known.
func addSegments(ctx context.Context, list []Stat, src *index.Index, g groups, segments []index.Segment) bool {
	for i := range list {
		list[i].Total = calls.Total{}
	}
	of := newLineage(src, &g)
	for _, s := range segments {
		open, ok := src.SegmentTotals(s, func(address uint32, t *calls.Total) {
			if to := statOf(list, g.at(address)); to != nil {
				to.Merge(t)
			}
		})
		if !ok {
			return false
		}
		for i := range open {
			n := &open[i]
			if to := statOf(list, g.at(n.Address)); to != nil && n.Leave >= 0 {
				d := calls.Elapsed(n.EnterTime, n.LeaveTime)
				to.AddTimed(d, calls.SelfTime(d, n.Children), of.recursive(n))
			}
		}
	}
	addRunning(ctx, list, src, &g, func(row int64) bool {
		return slices.ContainsFunc(segments, func(s index.Segment) bool { return row >= s.First && row < s.End })
	})
	return ctx.Err() == nil
}

// between returns the rows between segments, and before the first and behind the last.
func between(segments []index.Segment, rows int64) (list []query.RowRange) {
	end := int64(0)
	for _, s := range append(slices.Clone(segments), index.Segment{First: rows}) {
		if s.First > end {
			list = append(list, query.RowRange{First: end, End: s.First})
		}
		end = s.End
	}
	return list
}

// mergeStats adds statistics by rising group to others.
func mergeStats(list, more []Stat) []Stat {
	for i := range more {
		s := &more[i]
		k, ok := findGroup(list, s.Group)
		if !ok {
			list = slices.Insert(list, k, *s)
			continue
		}
		list[k].Merge(&s.Total)
		list[k].Running.merge(&s.Running)
	}
	return list
}
