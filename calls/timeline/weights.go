package timeline

// A weight is the time in nanoseconds that calls of a function take of a span.
type weight struct {
	address uint32
	time    int64
}

const (
	// keptWeights is how many functions are kept of a merged span, those that took
	// most time.
	keptWeights = 4
	// maxWeights bounds the functions that are told apart in a span.
	maxWeights = 64
)

// addWeight adds the time of a function to a list. It returns the function's sum.
func addWeight(list []weight, w weight) ([]weight, int64) {
	for i := range list {
		if list[i].address == w.address {
			list[i].time += w.time
			return list, list[i].time
		}
	}
	if len(list) >= maxWeights {
		list = heaviest(list, maxWeights/2)
	}
	return append(list, w), w.time
}

// heaviest moves those n of a list that took most time to its front, the most first,
// and returns them.
func heaviest(list []weight, n int) []weight {
	n = min(n, len(list))
	for i := range n {
		most := i
		for k := i + 1; k < len(list); k++ {
			if a, b := &list[k], &list[most]; a.time > b.time || a.time == b.time && a.address < b.address {
				most = k
			}
		}
		list[i], list[most] = list[most], list[i]
	}
	return list[:n]
}

// A depthLine is the spans of a depth of a thread, by time.
type depthLine struct {
	spans []Span
	// weights are those of the last span, if it is of merged calls.
	weights []weight
	// keeps says that the weights of the spans before are wanted; they are in kept,
	// those of each span up to its end in ends.
	keeps bool
	kept  []weight
	ends  []uint32
}

// add appends a span, or merges it with the last if both are, or are made of, calls
// shorter than a pixel that begin in the same pixel, which are counted from a time on.
// weights are those of merged calls, nil for a single one.
func (l *depthLine) add(s *Span, weights []weight, from int64, pixel uint64) {
	if n := len(l.spans); n > 0 {
		last := &l.spans[n-1]
		if s.Start >= last.Start && s.small(pixel) && last.small(pixel) && last.Deepest == s.Deepest &&
			pixelOf(s.Start, from, pixel) == pixelOf(last.Start, from, pixel) {
			if last.Count == 1 && !last.About {
				last.Time = last.End - last.Start
				l.weights = append(l.weights[:0], weight{last.Address, last.Time})
			}
			if s.Count == 1 && !s.About {
				l.weigh(last, weight{s.Address, s.End - s.Start})
			}
			for _, w := range weights {
				l.weigh(last, w)
			}
			last.merge(s)
			return
		}
	}
	l.end()
	l.spans = append(l.spans, *s)
	l.weights = append(l.weights[:0], weights...)
}

// weigh adds the time of a function to the last span.
func (l *depthLine) weigh(last *Span, w weight) {
	var sum int64
	if l.weights, sum = addWeight(l.weights, w); sum > last.Time {
		last.Address, last.Time = w.address, sum
	}
}

// end keeps the weights of the last span, if they are wanted.
func (l *depthLine) end() {
	if l.keeps && len(l.spans) > len(l.ends) {
		if s := &l.spans[len(l.spans)-1]; s.Count != 1 || s.About {
			l.kept = append(l.kept, heaviest(l.weights, keptWeights)...)
		}
		l.ends = append(l.ends, uint32(len(l.kept)))
	}
}

// take hands the spans to a block and empties the line.
func (l *depthLine) take(to *drawnBlock) {
	l.end()
	at := uint32(len(to.weights))
	to.spans, to.weights = append(to.spans, l.spans...), append(to.weights, l.kept...)
	for _, end := range l.ends {
		to.ends = append(to.ends, at+end)
	}
	l.spans, l.weights, l.kept, l.ends = l.spans[:0], l.weights[:0], l.kept[:0], l.ends[:0]
}

// pixelOf returns the number of the pixel that a time lies in.
func pixelOf(at, from int64, pixel uint64) uint64 {
	if at < from {
		return 0
	}
	return (uint64(at) - uint64(from)) / pixel
}

// merge adds the calls of another span, but for whose they are.
func (s *Span) merge(other *Span) {
	if s.Count == 0 || other.Count == 0 {
		s.Count = 0
	} else {
		s.Count += other.Count
	}
	if s.Shown < 0 || other.Shown < 0 {
		s.Shown = -1
	} else {
		s.Shown += other.Shown
	}
	s.End = max(s.End, other.End)
	s.About = s.About || other.About
	s.Open = s.Open && other.Open
	s.NoLeave = s.NoLeave && other.NoLeave
}

// small reports whether a span is a call shorter than a pixel, or made of such.
func (s *Span) small(pixel uint64) bool {
	return s.Count != 1 || s.About || uint64(s.End)-uint64(s.Start) < pixel
}

// join makes one span of neighbours, less than a pixel apart, in which the same
// function took most time.
func join(spans []Span, pixel uint64) []Span {
	joined := spans[:0]
	for i := range spans {
		s := &spans[i]
		if n := len(joined); n > 0 {
			last := &joined[n-1]
			near := s.Start <= last.End || uint64(s.Start)-uint64(last.End) < pixel
			alike := last.Time < 0 && s.Time < 0 || last.Time >= 0 && s.Time >= 0 && last.Address == s.Address
			if near && alike && last.Deepest == s.Deepest && (last.Count != 1 || last.About) && (s.Count != 1 || s.About) {
				if s.Time > 0 {
					last.Time += s.Time
				}
				last.merge(s)
				continue
			}
		}
		joined = append(joined, *s)
	}
	return joined
}
