package trace

import (
	"math"
	"slices"

	"logparser/parser"
)

// Reading calls of which not all are wanted.
//
// Calls that are deeper than the limits of a reader say are skipped where that pays, and those that are entered before or behind their times. Of
// others it takes less to have all returned, and tested by who asked for them, than to tell here which are wanted.

// wanted is the state of a reader that is asked for some calls only.
type wanted struct {
	parser.CallLimits
	// skimFrom is the offset in the file from which skim may be tried again. tried counts the events of the stretches in which
	// skim was tried, and skimmed those that it has skipped. deep says that these were too few.
	skimFrom       int64
	skimmed, tried int64
	deep           bool
	// mostSkimmed is the number of records after which skim gives up. Where no call is wanted because of its time those deeper than
	// outsideOf are skipped; outsideGood is the number of stretches since one of them was too long.
	mostSkimmed            int64
	outsideOf, outsideGood int
}

// Limit implements [parser.CallReader].
func (r *callReader) Limit(l parser.CallLimits) {
	r.wanted = wanted{CallLimits: l}
	r.wanted.begin()
}

// skimSample is the number of events of stretches after which the reader decides whether skim skips enough of them. Each part
// begins with a new sample, so that the calls returned for a part do not depend on earlier parts. It is a variable for tests.
var skimSample = int64(1 << 11)

// begin begins a part.
func (w *wanted) begin() {
	*w = wanted{CallLimits: w.CallLimits, mostSkimmed: math.MaxInt32, outsideOf: -1}
}

// stretches reads the next stretch by the method that suits the calls that are wanted. It returns what shorts does.
func (r *callReader) stretches(calls []parser.Call) (n int, stopped bool) {
	s, ok := r.d.stretch(r.v.clock, &r.segment, int(min(mostShorts, r.to-r.d.ordinal)))
	if !ok {
		return 0, true
	}
	w := &r.wanted
	if r.outside(&s) && !r.d.broken() {
		return r.skipOutside(&s, calls)
	}
	before := r.d.ordinal
	switch {
	case w.Deepest != parser.NoCallLimits().Deepest && !w.deep && !r.d.broken():
		n, stopped = r.shorts(&s, calls, int(w.Deepest))
		if w.tried += r.d.ordinal - before; w.tried >= skimSample {
			w.deep = w.skimmed*2 < w.tried
			w.skimmed, w.tried = 0, 0
		}
		return n, stopped
	case r.folding():
		return r.foldShorts(&s, calls)
	case loops:
		return r.loopShorts(&s, calls)
	}
	return r.shorts(&s, calls, math.MaxInt)
}

// stepOutside is how many units a stretch before the first wanted time may be long, where it would otherwise reach into the wanted
// ones. It is a variable for tests.
var stepOutside = uint64(1 << 20)

// outside reports whether no call is wanted that begins in a stretch, because of its time. It may shorten the stretch, so that this is so.
func (r *callReader) outside(s *stretch) bool {
	w, from := &r.wanted, r.d.time-s.units
	switch {
	case s.at(from) > w.Last, s.at(s.limit-1) < w.First:
		return true
	case s.limit-from > stepOutside && s.at(from+stepOutside-1) < w.First:
		s.limit = from + stepOutside
		return true
	}
	return false
}

// outsideSkim is how many records of a call are skipped at most where no call is wanted. A call that has more is read in vain up to there. It is a
// variable for tests.
var outsideSkim = int64(1 << 12)

// After outsideTry stretches calls of the level above are tried, too.
const outsideTry = 16

// skipOutside does what shorts does, where no call is wanted because of its time: it skips calls, with all that they make, but for those that
// are open before or behind, which are returned in any case, and for those that are too long.
func (r *callReader) skipOutside(s *stretch, calls []parser.Call) (n int, stopped bool) {
	w := &r.wanted
	skimmed := w.skimmed
	w.skimFrom, w.mostSkimmed = 0, outsideSkim
	n, stopped = r.shorts(s, calls, min(w.outsideOf, int(w.Deepest)))
	if w.skimFrom > r.d.bufAt {
		w.outsideOf, w.outsideGood = w.outsideOf+1, 0 // one was too long
	} else if w.outsideGood++; w.outsideGood == outsideTry {
		w.outsideOf, w.outsideGood = max(w.outsideOf-1, -1), 0
	}
	w.skimFrom, w.mostSkimmed, w.skimmed = 0, math.MaxInt32, skimmed
	return n, stopped
}

// broken reports whether the chunk cannot be read to its end.
func (d *decoder) broken() bool {
	_, broken := slices.BinarySearch(d.s.broken, int32(d.chunk))
	return broken
}
