package timeline

import (
	"cmp"
	"slices"

	"logparser/app"
	"logparser/rows"
)

// Sizes in device-independent pixels.
const (
	rulerHeight = 24
	lineHeight  = 17
	laneGap     = 5
	gutterWidth = 132
	minBox      = 2  // the least width that a call is drawn with
	manyBox     = 14 // the least width at which boxes of many calls are marked as such
	// mostLines is how many lines a lane has until it is resized.
	mostLines = 16
)

// A shelved lane is a lane with how the user arranged it.
type shelved struct {
	app.Lane
	folded bool
	lines  int  // that are shown when it is not folded
	grows  bool // its depth is not known, but what was seen of it
	top    int  // the first of them
	y      int  // within the layout, in device pixels
	// seen is how many lines its calls need in the time that is seen, if that is known; fitted
	// says that no more are shown, and arranged that the user has chosen how many.
	seen                    int
	known, fitted, arranged bool
}

// home is the thread that the lane's colour is of.
func (l *shelved) home() rows.Track { return rows.TrackOf(l.Process, l.Thread, 0) }

// shown returns how many lines are drawn.
func (l *shelved) shown() int {
	switch {
	case l.fitted && l.known && l.seen == 0:
		return 0
	case l.folded:
		return 1
	case l.fitted && l.known && !l.arranged && l.top == 0:
		return min(l.lines, l.seen)
	}
	return l.lines
}

// limit keeps the lines within what there is.
func (l *shelved) limit() {
	l.lines = min(max(l.lines, 1), max(l.Depth, 1))
	l.top = min(max(l.top, 0), max(l.Depth-l.lines, 0))
}

// An Arrangement is how the user wants a thread's lane to be.
type Arrangement struct {
	Thread rows.Track
	Folded bool
	// Lines is how many lines are shown, 0 for as many as there are, within
	// reason.
	Lines int
}

// A laneLayout is the lanes below each other, in device pixels.
type laneLayout struct {
	lanes []shelved
	// wanted is what the user has arranged, by thread.
	wanted    map[rows.Track]Arrangement
	line, gap int
	height    int // of what is seen
	offset    int // pixels hidden above
	total     int
	// fitted: lanes are as high as what is seen of them, see [Timeline.SetFitted].
	fitted bool
}

// set changes the lanes. Those of threads that were there stay as they were
// arranged.
func (s *laneLayout) set(lanes []app.Lane) {
	before := make(map[rows.Track]shelved, len(s.lanes))
	for _, l := range s.lanes {
		before[l.Track()] = l
	}
	s.lanes = make([]shelved, len(lanes))
	for i, l := range lanes {
		old, ok := before[l.Track()]
		n := shelved{Lane: l, grows: l.Depth == 0}
		if n.grows {
			n.Depth = max(old.Depth, 1)
		}
		n.lines = min(n.Depth, mostLines)
		if ok {
			n.folded, n.top = old.folded, old.top
			n.known, n.seen = old.known, old.seen
		}
		s.rearrange(&n)
		if ok {
			n.folded = old.folded // it may have been unfolded for a call in it
		}
		n.limit()
		s.lanes[i] = n
	}
	s.place()
}

// arrange takes what the user wants of all lanes, also of those to come.
func (s *laneLayout) arrange(list []Arrangement) {
	s.wanted = make(map[rows.Track]Arrangement, len(list))
	for _, a := range list {
		s.wanted[a.Thread] = a
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		l.folded, l.lines = false, min(l.Depth, mostLines)
		s.rearrange(l)
	}
	s.place()
}

// rearrange gives a lane what is wanted of it, as far as there are lines.
func (s *laneLayout) rearrange(l *shelved) {
	a := s.wanted[l.Track()]
	l.folded, l.arranged = a.Folded, a.Lines > 0
	if a.Lines > 0 {
		l.lines = a.Lines
	}
	l.limit()
}

// want changes what is wanted of a lane.
func (s *laneLayout) want(lane int, change func(a *Arrangement)) {
	if s.wanted == nil {
		s.wanted = make(map[rows.Track]Arrangement)
	}
	thread := s.lanes[lane].Track()
	a := s.wanted[thread]
	a.Thread = thread
	change(&a)
	s.wanted[thread] = a
}

// arranged returns what is wanted, by thread.
func (s *laneLayout) arranged() []Arrangement {
	var list []Arrangement
	for _, a := range s.wanted {
		if a.Folded || a.Lines > 0 {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b Arrangement) int { return cmp.Compare(a.Thread, b.Thread) })
	return list
}

// place computes where the lanes are.
func (s *laneLayout) place() {
	y := 0
	for i := range s.lanes {
		l := &s.lanes[i]
		l.y, l.fitted = y, s.fitted
		y += s.tall(l)
	}
	s.total = y
	s.scroll(0)
}

// tall is how high a lane is with the gap below it; one that is hidden has none.
func (s *laneLayout) tall(l *shelved) int {
	if n := l.shown(); n > 0 {
		return n*s.line + s.gap
	}
	return 0
}

func (s *laneLayout) setSize(height, line, gap int) {
	if height == s.height && line == s.line && gap == s.gap {
		return
	}
	if s.line > 0 && line != s.line {
		s.offset = s.offset * line / s.line
	}
	s.height, s.line, s.gap = height, max(line, 1), gap
	s.place()
}

func (s *laneLayout) scroll(dy int) {
	s.offset = min(max(s.offset+dy, 0), max(s.total-s.height, 0))
}

// visible returns the lanes of which something is seen.
func (s *laneLayout) visible() (from, to int) {
	from = s.find(s.offset)
	for to = from; to < len(s.lanes) && s.lanes[to].y < s.offset+s.height; to++ {
	}
	return from, to
}

// find returns the lane that holds y, counted within the layout.
func (s *laneLayout) find(y int) int {
	low, high := 0, len(s.lanes)
	for low < high {
		mid := (low + high) / 2
		if l := &s.lanes[mid]; l.y+s.tall(l) <= y {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// at returns the lane and the depth at y pixels below the upper edge; in the
// gap below a lane edge is true.
func (s *laneLayout) at(y int) (lane, depth int, edge, ok bool) {
	if y < 0 || y >= s.height {
		return 0, 0, false, false
	}
	y += s.offset
	lane = s.find(y)
	if lane >= len(s.lanes) {
		return 0, 0, false, false
	}
	l := &s.lanes[lane]
	depth = (y - l.y) / s.line
	if depth >= l.shown() {
		return lane, 0, true, true
	}
	if !l.folded {
		depth += l.top
	}
	return lane, depth, false, true
}

// y returns where a depth of a lane is drawn, below the upper edge; ok is false
// where it is not.
func (s *laneLayout) y(lane, depth int) (int, bool) {
	l := &s.lanes[lane]
	if l.folded && depth > 0 {
		return 0, false
	}
	if !l.folded {
		depth -= l.top
	}
	if depth < 0 || depth >= l.shown() {
		return 0, false
	}
	return l.y - s.offset + depth*s.line, true
}

// reveal unfolds and scrolls so that a depth of a lane is seen.
func (s *laneLayout) reveal(lane, depth int) {
	if lane < 0 || lane >= len(s.lanes) {
		return
	}
	l := &s.lanes[lane]
	if l.folded && depth > 0 {
		l.folded = false
	}
	if !l.folded {
		l.top = min(max(l.top, depth-l.lines+1), depth)
		l.seen = max(l.seen, depth+1)
		l.limit()
	}
	s.place()
	if y, ok := s.y(lane, depth); ok {
		if y < 0 {
			s.scroll(y)
		} else if y+s.line > s.height {
			s.scroll(y + s.line - s.height)
		}
	}
}

// deepen gives a lane another depth. One that showed all its lines goes on to.
func (s *laneLayout) deepen(lane, depth int) {
	l := &s.lanes[lane]
	if l.lines >= l.Depth {
		l.lines = max(l.lines, min(depth, mostLines))
	}
	l.Depth = depth
	if a := s.wanted[l.Track()]; a.Lines > 0 {
		l.lines = a.Lines
	}
	l.limit()
}

func (s *laneLayout) fold(lane int) {
	s.lanes[lane].folded = !s.lanes[lane].folded
	s.want(lane, func(a *Arrangement) { a.Folded = s.lanes[lane].folded })
	s.place()
}

// resize gives a lane so many lines.
func (s *laneLayout) resize(lane, lines int) {
	l := &s.lanes[lane]
	l.folded, l.arranged = false, true
	l.lines = lines
	l.limit()
	s.want(lane, func(a *Arrangement) { a.Folded, a.Lines = false, l.lines })
	s.place()
}

// scrollLane moves the lines of a lane that shows not all of them, and reports
// whether it could.
func (s *laneLayout) scrollLane(lane, lines int) bool {
	l := &s.lanes[lane]
	if l.folded {
		return false
	}
	before := l.top
	l.top += lines
	l.limit()
	return l.top != before
}
