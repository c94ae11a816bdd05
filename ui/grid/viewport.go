package grid

import "math/bits"

// minThumb is the least length of a scroll bar's thumb, in pixels.
const minThumb = 24

// A viewport is the part of the rows that can be seen. Lengths are in device
// pixels; rows are numbered from 0. The zero value shows nothing.
type viewport struct {
	rows   int64
	rowH   int
	height int
	// top is the first row of which something is seen, rest the number of
	// its pixels that are hidden: 0 <= rest < rowH.
	top  int64
	rest int
}

// maxRows is the most rows a viewport can carry, so that no product of rows
// and pixels overflows.
const maxRows = int64(1) << 48

// setRows changes the number of rows and keeps the place as far as it exists.
func (v *viewport) setRows(n int64) {
	v.rows = min(max(n, 0), maxRows)
	v.clamp()
}

// setSize changes the height of the view and of a row. The first row stays, or,
// where the end is seen of more than there is room for, the end.
func (v *viewport) setSize(height, rowH int) {
	atEnd := v.maxOffset() > 0 && v.offset() == v.maxOffset()
	if rowH != v.rowH && v.rowH > 0 {
		v.rest = v.rest * rowH / v.rowH
	}
	v.height, v.rowH = max(height, 0), max(rowH, 1)
	if atEnd {
		v.setOffset(v.maxOffset())
	}
	v.clamp()
}

func (v *viewport) total() int64 { return v.rows * int64(v.rowH) }

// maxOffset is the offset at which the last row touches the bottom edge.
func (v *viewport) maxOffset() int64 { return max(v.total()-int64(v.height), 0) }

// offset is the number of pixels hidden above the top edge.
func (v *viewport) offset() int64 { return v.top*int64(v.rowH) + int64(v.rest) }

func (v *viewport) setOffset(o int64) {
	if v.rowH == 0 {
		return
	}
	o = min(max(o, 0), v.maxOffset())
	v.top, v.rest = o/int64(v.rowH), int(o%int64(v.rowH))
}

func (v *viewport) clamp() { v.setOffset(v.offset()) }

func (v *viewport) scrollPixels(dy int64) {
	// Both terms are below 2^62, so the sum cannot overflow.
	const most = int64(1) << 62
	v.setOffset(v.offset() + min(max(dy, -most), most))
}

func (v *viewport) scrollRows(n int64) {
	v.scrollPixels(min(max(n, -v.rows), v.rows) * int64(v.rowH))
}

// reveal scrolls no more than is needed to show the whole row.
func (v *viewport) reveal(row int64) {
	if row < 0 || row >= v.rows {
		return
	}
	start := row * int64(v.rowH)
	switch o := v.offset(); {
	case start < o:
		v.setOffset(start)
	case start+int64(v.rowH) > o+int64(v.height):
		// A view lower than a row shows the row's beginning.
		v.setOffset(min(start+int64(v.rowH)-int64(v.height), start))
	}
}

// centre scrolls so that the row lies in the middle, unless it is well within
// the view already.
func (v *viewport) centre(row int64) {
	start := row * int64(v.rowH)
	o, margin := v.offset(), int64(2*v.rowH)
	if start >= o+margin && start+int64(v.rowH) <= o+int64(v.height)-margin {
		return
	}
	v.setOffset(start - int64(v.height-v.rowH)/2)
}

// visible returns the first row of which something is seen and how many
// follow, itself included.
func (v *viewport) visible() (first int64, n int) {
	if v.rowH == 0 || v.height == 0 {
		return 0, 0
	}
	n = (v.height + v.rest + v.rowH - 1) / v.rowH
	return v.top, int(min(int64(n), v.rows-v.top))
}

// page is the number of rows that Page Down moves by.
func (v *viewport) page() int64 {
	if v.rowH == 0 {
		return 1
	}
	return int64(max(v.height/v.rowH-1, 1))
}

// rowAt returns the row at y pixels below the top edge.
func (v *viewport) rowAt(y int) (int64, bool) {
	if v.rowH == 0 || y < 0 || y >= v.height {
		return 0, false
	}
	row := v.top + int64((y+v.rest)/v.rowH)
	return row, row < v.rows
}

// rowY returns where a visible row begins, in pixels below the top edge.
func (v *viewport) rowY(row int64) int {
	return int(row-v.top)*v.rowH - v.rest
}

// A thumb is the moving part of a scroll bar: its place and length within a
// track, in pixels.
type thumb struct{ pos, size int }

// thumbOf places the thumb for an offset into a content of which only `seen`
// of `total` fit.
func thumbOf(track int, offset, seen, total int64) thumb {
	if track <= 0 || total <= seen || total <= 0 {
		return thumb{0, max(track, 0)}
	}
	size := min(max(int(mulDiv(uint64(track), uint64(seen), uint64(total))), minThumb), track)
	return thumb{int(mulDiv(uint64(track-size), uint64(offset), uint64(total-seen))), size}
}

// offsetOf is the inverse of thumbOf: the offset for a thumb dragged to pos.
func offsetOf(track, pos int, seen, total int64) int64 {
	if total <= seen {
		return 0
	}
	free := track - thumbOf(track, 0, seen, total).size
	if free <= 0 {
		return 0
	}
	pos = min(max(pos, 0), free)
	return int64(mulDiv(uint64(pos), uint64(total-seen), uint64(free)))
}

// mulDiv returns a*b/c, rounded to nearest, without overflow; the quotient
// must fit.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c/2, 0)
	hi += carry
	if hi >= c {
		return ^uint64(0)
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}

// dragThumb scrolls so that the thumb lies at pos.
func (v *viewport) dragThumb(track, pos int) {
	v.setOffset(offsetOf(track, pos, int64(v.height), v.total()))
}
