package grid

import (
	"fmt"
	"math/rand"
	"testing"
)

// lengths are the sources that every invariant is checked on.
var lengths = []int64{0, 1, 2, 59, 60, 61, 1_000, 1_000_000, 1_000_000_000, 1 << 40}

func view(rows int64) viewport {
	var v viewport
	v.setSize(1200, 20)
	v.setRows(rows)
	return v
}

// Invariant 1.
func TestRowsAndPixels(t *testing.T) {
	for _, n := range lengths[1:] {
		v := view(n)
		for _, row := range []int64{0, 1, n / 3, n / 2, n - 2, n - 1} {
			if row < 0 || row >= n {
				continue
			}
			v.reveal(row)
			y := v.rowY(row)
			if y < 0 || y+v.rowH > v.height {
				t.Errorf("%d rows: row %d revealed at y %d", n, row, y)
			}
			for _, dy := range []int{0, v.rowH - 1} {
				if got, ok := v.rowAt(y + dy); !ok || got != row {
					t.Errorf("%d rows: y %d is row %d, want %d", n, y+dy, got, row)
				}
			}
			v.scrollTo(row)
			if want := min(row, v.maxOffset()/20); v.top != want && n > 60 {
				t.Errorf("%d rows: scrollTo(%d) gave top %d, want %d", n, row, v.top, want)
			}
		}
	}
}

// Invariant 2: whatever is done, the view stays within the source.
func TestViewStaysInSource(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, n := range lengths {
		v := view(n)
		for step := 0; step < 2000; step++ {
			var op string
			switch k := r.Intn(8); k {
			case 0:
				d := r.Int63() - r.Int63()
				op = fmt.Sprint("pixels ", d)
				v.scrollPixels(d)
			case 1:
				v.scrollPixels(int64(r.Intn(201) - 100))
			case 2:
				v.scrollRows(int64(r.Intn(7) - 3))
			case 3:
				d := r.Int63() - r.Int63()
				op = fmt.Sprint("rows ", d)
				v.scrollRows(d)
			case 4:
				v.setSize(r.Intn(2000), 10+r.Intn(30))
			case 5:
				v.dragThumb(500, r.Intn(600)-50)
			case 6:
				v.centre(r.Int63n(n + 1))
			case 7:
				v.scrollTo(r.Int63() - r.Int63())
			}
			if v.rest < 0 || v.rest >= v.rowH {
				t.Fatalf("%d rows, %s: rest %d of %d", n, op, v.rest, v.rowH)
			}
			if v.offset() < 0 || v.offset() > v.maxOffset() {
				t.Fatalf("%d rows, %s: offset %d beyond %d", n, op, v.offset(), v.maxOffset())
			}
			first, count := v.visible()
			if count < 0 || first+int64(count) > n {
				t.Fatalf("%d rows, %s: visible %d+%d", n, op, first, count)
			}
		}
	}
}

// Wheel steps are exact to the pixel however many rows there are.
func TestScrollIsExact(t *testing.T) {
	for _, n := range []int64{1_000, 1_000_000, 1_000_000_000, 1 << 40} {
		v := view(n)
		v.scrollTo(n / 2)
		before := v.offset()
		for i := 0; i < 10; i++ {
			v.scrollPixels(10)
		}
		if got := v.offset() - before; got != 100 {
			t.Errorf("%d rows: ten steps of 10 px moved %d px", n, got)
		}
		v.scrollTo(n)
		if first, count := v.visible(); first+int64(count) != n {
			t.Errorf("%d rows: the end shows up to row %d", n, first+int64(count))
		}
	}
}

// The end stays in sight when a message takes room from the table, but a view of
// all rows does not scroll.
func TestEndStaysInSight(t *testing.T) {
	v := view(1000)
	v.scrollTo(1000)
	v.setSize(900, 20)
	if v.offset() != v.maxOffset() {
		t.Errorf("offset %d of %d", v.offset(), v.maxOffset())
	}
	v.scrollTo(500)
	before := v.offset()
	v.setSize(800, 20)
	if v.offset() != before {
		t.Errorf("the first row went from %d to %d", before, v.offset())
	}
	v = view(10)
	v.setSize(100, 20)
	if v.offset() != 0 {
		t.Errorf("ten rows begin at %d", v.offset())
	}
}

// Invariant 3.
func TestThumbStaysUnderPointer(t *testing.T) {
	const track = 1176
	for _, n := range []int64{1_000, 100_000, 1_000_000_000, 1 << 40} {
		v := view(n)
		size := v.thumb(track).size
		if size < minThumb {
			t.Errorf("%d rows: thumb of %d px", n, size)
		}
		last := int64(-1)
		for pos := 0; pos <= track-size; pos++ {
			v.dragThumb(track, pos)
			if got := v.thumb(track).pos; got != pos {
				t.Fatalf("%d rows: dragged to %d, thumb at %d", n, pos, got)
			}
			if v.offset() < last {
				t.Fatalf("%d rows: offset went back at %d", n, pos)
			}
			last = v.offset()
		}
		if v.offset() != v.maxOffset() {
			t.Errorf("%d rows: the track's end is offset %d, want %d", n, v.offset(), v.maxOffset())
		}
		v.dragThumb(track, 0)
		if v.offset() != 0 {
			t.Errorf("%d rows: the track's beginning is offset %d", n, v.offset())
		}
	}
}

// Invariant 7.
func TestSelectionStaysInSource(t *testing.T) {
	var s selection
	s.set(5, 10, true)
	if first, last, ok := s.bounds(); !ok || first != 5 || last != 5 {
		t.Fatalf("first selection %d..%d", first, last)
	}
	s.set(100, 10, true)
	if first, last, _ := s.bounds(); first != 5 || last != 9 {
		t.Errorf("extended beyond the end: %d..%d", first, last)
	}
	s.set(-3, 10, true)
	if first, last, _ := s.bounds(); first != 0 || last != 5 {
		t.Errorf("extended beyond the beginning: %d..%d", first, last)
	}
	s.set(7, 10, false)
	s.limit(3)
	if first, last, ok := s.bounds(); !ok || first != 2 || last != 2 {
		t.Errorf("after shrinking: %d..%d %v", first, last, ok)
	}
	s.limit(0)
	if _, _, ok := s.bounds(); ok || s.has(0) {
		t.Error("an empty source has a selection")
	}
}

// scrollTo puts a row at the top edge, or as near as the end allows.
func (v *viewport) scrollTo(row int64) {
	v.setOffset(min(max(row, 0), v.rows) * int64(v.rowH))
}

func (v *viewport) thumb(track int) thumb {
	return thumbOf(track, v.offset(), int64(v.height), v.total())
}
