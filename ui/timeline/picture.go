package timeline

import (
	"context"
	"math"

	"logparser/app"
)

// A request is a part of the time of some lanes, at a resolution.
type request struct {
	lanes    []int // in rising order
	from, to int64
	perPx    float64
}

// covers reports whether what a request asks for is as good as had by other.
func (r *request) covers(other *request) bool {
	if other.from < r.from || other.to > r.to || r.perPx > other.perPx*1.05 || r.perPx*2.5 < other.perPx {
		return false
	}
	k := 0
	for _, l := range other.lanes {
		for k < len(r.lanes) && r.lanes[k] < l {
			k++
		}
		if k == len(r.lanes) || r.lanes[k] != l {
			return false
		}
	}
	return true
}

// A picture is the answer to a request. It is not changed once it is made.
type picture struct {
	request
	spans map[int][]app.Span // by lane
	// finer: asking again gives more.
	finer bool
	err   error
}

// margin is how much more than is seen is asked for on each side, as a part of
// what is seen, so that a small step to the side needs no new answer.
const margin = 0.5

// want is the request for what an axis and a lane layout show.
func want(a *axis, s *laneLayout) request {
	from, to := a.seen()
	r := request{from: from, to: to, perPx: a.perPx}
	first, last := s.visible()
	hidden := 0
	for i := range s.lanes {
		// What is hidden is looked at, too: it may have calls again.
		switch {
		case i >= first && i < last:
			r.lanes = append(r.lanes, i)
		case s.lanes[i].shown() == 0 && hidden < maxHidden:
			hidden++
			r.lanes = append(r.lanes, i)
		}
	}
	return r
}

// maxHidden is how many lanes are looked at that are hidden.
const maxHidden = 256

// widened is the request with a margin, within the log.
func (r request) widened(a *axis) request {
	more := int64(float64(r.to-r.from) * margin)
	r.from = min(r.from, max(r.from-more, a.first))
	r.to = max(r.to, min(r.to+more, a.last))
	return r
}

// load answers a request, unless ctx ends before. It runs on a goroutine of its
// own.
func load(ctx context.Context, src Source, r request) *picture {
	p := &picture{request: r, spans: make(map[int][]app.Span, len(r.lanes))}
	pixels := max(int(float64(r.to-r.from)/(r.perPx*minBox)), 1)
	for _, lane := range r.lanes {
		if ctx.Err() != nil {
			return p
		}
		spans, finer, err := src.Spans(nil, lane, r.from, r.to, pixels)
		if err != nil {
			p.err = err
			return p
		}
		p.finer = p.finer || finer
		p.spans[lane] = thin(spans, float64(r.to-r.from)/float64(pixels))
	}
	return p
}

// thin leaves out what would be drawn within a pixel that is drawn already, as
// a source that merges nothing may answer with any number of calls. The widest
// that begins in such a pixel stays.
func thin(spans []app.Span, perPx float64) []app.Span {
	var painted []float64 // by depth
	kept := spans[:0]
	for _, s := range spans {
		if s.Depth < 0 || s.Depth > maxDepth {
			continue
		}
		s.Deepest = min(max(s.Deepest, s.Depth), maxDepth)
		for len(painted) <= s.Depth {
			painted = append(painted, math.Inf(-1))
		}
		if float64(s.To) <= painted[s.Depth] {
			continue
		}
		painted[s.Depth] = max(float64(s.From)+perPx, float64(s.To))
		kept = append(kept, s)
	}
	return kept
}

// maxDepth is the deepest line that is drawn.
const maxDepth = 1 << 16

// A place is a call and the lane that it is drawn in.
type place struct {
	lane int
	span app.Span
}

// at returns the box that is drawn at a time of a lane's depth. A box is at
// least minBox pixels wide, and of several that overlap so the first is on top.
func (p *picture) at(lane, depth int, t float64, perPx float64) (app.Span, bool) {
	least := minBox * perPx
	var below *app.Span // it reaches over several depths
	spans := p.spans[lane]
	for i := range spans {
		s := &spans[i]
		if s.Depth <= depth && depth <= s.Deepest && float64(s.From) <= t && t <= max(float64(s.To), float64(s.From)+least) {
			if s.Deepest == s.Depth {
				return *s, true
			}
			below = s
		}
	}
	if below != nil {
		return *below, true
	}
	return app.Span{}, false
}

// beside returns the next box of a depth behind one, or the one before it.
func (p *picture) beside(c *place, back bool) (app.Span, bool) {
	var before *app.Span
	spans := p.spans[c.lane]
	for i := range spans {
		s := &spans[i]
		if s.Depth != c.span.Depth {
			continue
		}
		if back && s.From >= c.span.From {
			break
		}
		if !back && s.From > c.span.From {
			return *s, true
		}
		before = s
	}
	if back && before != nil {
		return *before, true
	}
	return app.Span{}, false
}

// over returns the box around a call, one line up (by -1), or the first one
// within it, one line down (by 1).
func (p *picture) over(c *place, by int) (app.Span, bool) {
	for _, s := range p.spans[c.lane] {
		if s.Depth != c.span.Depth+by {
			continue
		}
		if by < 0 && s.From <= c.span.From && s.To >= c.span.To || by > 0 && s.From >= c.span.From && s.To <= c.span.To {
			return s, true
		}
	}
	return app.Span{}, false
}
