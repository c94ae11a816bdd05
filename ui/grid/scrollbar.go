package grid

import "fyne.io/fyne/v2"

// A ScrollBar is the grid's upright scroll bar, for other widgets that are one
// picture. All lengths are device pixels.
type ScrollBar struct{ bar *bar }

// BarSize is a scroll bar's width in device-independent pixels.
const BarSize = barSize

// NewScrollBar makes a scroll bar that says to what offset it is dragged.
func NewScrollBar(moved func(offset int64)) *ScrollBar {
	s := &ScrollBar{newBar(false)}
	s.bar.onDrag = func(pos, track int, fine bool, by int) {
		if fine {
			moved(s.bar.offset + int64(by))
		} else {
			moved(offsetOf(track, pos, s.bar.seen, s.bar.total))
		}
	}
	return s
}

// Object is what is put beside the picture.
func (s *ScrollBar) Object() fyne.CanvasObject { return s.bar }

// Show moves the thumb: `seen` of `total` are seen, from offset on.
func (s *ScrollBar) Show(seen, total, offset int64, scale float32) {
	s.bar.show(seen, total, offset, scale)
}
