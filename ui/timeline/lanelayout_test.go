package timeline

import (
	"slices"
	"testing"

	"logparser/app"
)

func layoutOf(depths ...int) *laneLayout {
	s := &laneLayout{}
	s.setSize(200, 10, 4)
	var lanes []app.Lane
	for i, d := range depths {
		lanes = append(lanes, app.Lane{Thread: uint32(i), Depth: d})
	}
	s.set(lanes)
	return s
}

// Every place of the layout leads to what is drawn there.
func TestPlacesAgree(t *testing.T) {
	s := layoutOf(3, 1, 40, 0, 7, 2)
	s.resize(2, 5)
	s.scrollLane(2, 9)
	s.fold(4)
	for s.scroll(-1 << 20); ; s.scroll(7) {
		from, to := s.visible()
		for y := range s.height {
			lane, depth, edge, ok := s.at(y)
			if !ok {
				if y+s.offset < s.total {
					t.Fatalf("nothing at %d", y)
				}
				continue
			}
			if lane < from || lane >= to {
				t.Fatalf("lane %d is not among the visible ones %d to %d", lane, from, to)
			}
			if edge {
				continue
			}
			if got, ok := s.y(lane, depth); !ok || y < got || y >= got+s.line {
				t.Fatalf("%d is lane %d depth %d, which is drawn at %d (%v)", y, lane, depth, got, ok)
			}
		}
		if s.offset >= s.total-s.height {
			break
		}
	}
}

func TestLanesKeepWhatWasArranged(t *testing.T) {
	s := layoutOf(3, 40)
	if s.lanes[1].lines != mostLines {
		t.Errorf("a deep lane has %d lines", s.lanes[1].lines)
	}
	s.resize(1, 30)
	s.fold(0)
	s.set([]app.Lane{{Thread: 5, Depth: 2}, {Thread: 1, Depth: 50}, {Thread: 0, Depth: 4}})
	if l := s.lanes[1]; l.lines != 30 || l.folded {
		t.Errorf("a resized lane: %+v", l)
	}
	if l := s.lanes[2]; !l.folded || l.lines != 4 {
		t.Errorf("a folded lane that has grown: %+v", l)
	}
	s.resize(1, 1000)
	if got := s.lanes[1].lines; got != 50 {
		t.Errorf("a lane of 50 has %d lines", got)
	}
	s.resize(1, -5)
	if got := s.lanes[1].lines; got != 1 {
		t.Errorf("a lane has %d lines", got)
	}
}

// What was arranged at the last start waits for the lanes and their depths.
func TestArrangement(t *testing.T) {
	wanted := []Arrangement{{Thread: 0, Folded: true}, {Thread: 1, Lines: 30}}
	s := &laneLayout{}
	s.setSize(200, 10, 4)
	s.arrange(wanted)
	s.set([]app.Lane{{Thread: 0}, {Thread: 1}, {Thread: 2}})
	s.deepen(1, 12)
	if l := s.lanes[1]; !s.lanes[0].folded || l.lines != 12 {
		t.Errorf("folded %v, %d lines of 12", s.lanes[0].folded, l.lines)
	}
	s.set([]app.Lane{{Thread: 0, Depth: 40}, {Thread: 1, Depth: 40}, {Thread: 2, Depth: 40}})
	if a, b, c := s.lanes[0], s.lanes[1], s.lanes[2]; !a.folded || b.lines != 30 || c.lines != mostLines || c.folded {
		t.Errorf("%+v, %+v, %+v", a, b, c)
	}
	if got := s.arranged(); !slices.Equal(got, wanted) {
		t.Errorf("arranged %+v", got)
	}
	// A call that is shown in a folded lane does not change what is kept.
	s.reveal(0, 3)
	if got := s.arranged(); s.lanes[0].folded || !slices.Equal(got, wanted) {
		t.Errorf("folded %v, arranged %+v", s.lanes[0].folded, got)
	}
	s.fold(0)
	s.fold(0)
	s.resize(2, 5)
	if got := s.arranged(); !slices.Equal(got, []Arrangement{{Thread: 1, Lines: 30}, {Thread: 2, Lines: 5}}) {
		t.Errorf("arranged %+v", got)
	}
	s.arrange(nil)
	if got := s.arranged(); got != nil || s.lanes[1].lines != mostLines {
		t.Errorf("arranged %+v, %d lines", got, s.lanes[1].lines)
	}
}

func TestReveal(t *testing.T) {
	s := layoutOf(60, 60, 60)
	s.fold(2)
	for _, want := range []struct{ lane, depth int }{{2, 59}, {0, 0}, {1, 30}} {
		s.reveal(want.lane, want.depth)
		y, ok := s.y(want.lane, want.depth)
		if !ok || y < 0 || y+s.line > s.height {
			t.Errorf("lane %d depth %d is at %d (%v)", want.lane, want.depth, y, ok)
		}
	}
}

// At another scale the same lanes are seen; of folded ones only the first line is drawn.
func TestScaleKeepsWhatIsSeen(t *testing.T) {
	s := layoutOf(60, 60, 60)
	s.scroll(100)
	from, _ := s.visible()
	s.setSize(400, 20, 8)
	if again, _ := s.visible(); again != from || s.offset != 200 {
		t.Errorf("lane %d is the first that is seen, before %d; scrolled by %d", again, from, s.offset)
	}
	s.fold(1)
	if _, ok := s.y(1, 3); ok {
		t.Error("a deep line of a folded lane is drawn")
	}
	if _, ok := s.y(1, 0); !ok {
		t.Error("a folded lane is not drawn")
	}
	offset := s.offset
	for _, lane := range []int{-1, 3} {
		if s.reveal(lane, 0); s.offset != offset {
			t.Errorf("lane %d is not there, but scrolled to", lane)
		}
	}
}
