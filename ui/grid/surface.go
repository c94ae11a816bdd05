package grid

import (
	"image"
	"math"

	"fyne.io/fyne/v2"
)

// DeviceScale returns how many device pixels one of Fyne's units has in a widget of a size that
// is painted w pixels wide. It is not known before the widget has a size.
func DeviceScale(size fyne.Size, w int) (scale float32, ok bool) {
	if size.Width <= 0 || w <= 0 {
		return 0, false
	}
	// The size asked for is rounded to whole pixels: so is what follows
	// from it, or the scale would waver with every resize.
	return float32(math.Round(float64(float32(w)/size.Width)*32) / 32), true
}

// Pixels returns a picture of w by h pixels to paint in: the one at hand, if it has that size.
func Pixels(at *image.RGBA, w, h int) *image.RGBA {
	if at != nil && at.Bounds().Dx() == w && at.Bounds().Dy() == h {
		return at
	}
	return image.NewRGBA(image.Rect(0, 0, w, h))
}
