package export

import (
	"encoding/binary"

	"logparser/rows"
)

// Lines of rows in brief are the same as of whole ones, but made of pieces of fixed sizes at places that
// are mostly known beforehand, without calls and with hardly a decision that a processor could guess
// wrongly. Of 45 million rows a text takes two thirds of the time of whole ones.

// briefPlaces is how many places' texts are kept, by their numbers.
const briefPlaces = 1 << 12

// briefStep returns the time within which of a row's time only the last four digits change, or with milliseconds
// nothing, in nanoseconds. It is 0 for digits of a second that rows in brief are not written with.
func briefStep(digits int) int64 {
	switch digits {
	case 9:
		return 1e4
	case 3:
		return 1e6
	}
	return 0
}

// blank is what is behind short texts.
var blank = [wide]byte([]byte(blanks))

// A briefHead is a text with a row's index and time, which rows have in common but for the last four digits of the index,
// and of a time of nine: those from firstIndex on whose times lie within a step from firstTime on, in
// a second that begins at secondAt. These are rows' Index and Elapsed.
type briefHead struct {
	// n is 0 where nothing is known.
	n    int
	text [wide]byte
	// low is where the four digits of the index are in the text, and end where the time ends, which has so many digits.
	low, end, digits                      int
	step, firstIndex, firstTime, secondAt int64
}

// is reports whether the text is that of a row but for the digits.
func (h *briefHead) is(index, elapsed int64) bool {
	return uint64(elapsed-h.firstTime) < uint64(h.step) && uint64(index-h.firstIndex) < lowDigits && h.n > 0
}

// put writes the text of a row that it is for to the beginning of dst, which has wide.
func (h *briefHead) put(dst []byte, index, elapsed int64) {
	*(*[wide]byte)(dst) = h.text
	binary.LittleEndian.PutUint32(dst[h.low:], fourDigits(uint32(index-h.firstIndex)))
	h.putTime(dst[h.end-4:], elapsed)
}

// putTime writes the last four digits of a row's time where these change.
func (h *briefHead) putTime(dst []byte, elapsed int64) {
	if h.digits == 9 {
		binary.LittleEndian.PutUint32(dst, fourDigits(uint32(elapsed-h.firstTime)))
	}
}

// goTo makes the text that of a row of the same second, and reports whether the row is one.
func (h *briefHead) goTo(index, elapsed int64) bool {
	ns := elapsed - h.secondAt
	if h.n == 0 || ns < 0 || ns >= 1e9 || uint64(index-h.firstIndex) >= lowDigits {
		return false
	}
	putFraction(h.text[h.end-h.digits:], uint32(ns), h.digits)
	h.firstTime = elapsed - ns%h.step
	return true
}

// set makes the text that of a row, whose four digits of the index are at low in it and whose time ends at end.
func (h *briefHead) set(text []byte, r *rows.Row, low, end, digits int) {
	if h.n = 0; len(text) > wide || r.Index < lowDigits {
		return
	}
	ns := r.Elapsed % 1e9
	if r.HasWall {
		ns = int64(r.Wall.Nanosecond())
	}
	h.n, h.low, h.end, h.digits, h.step = copy(h.text[:], text), low, end, digits, briefStep(digits)
	h.firstIndex, h.firstTime, h.secondAt = r.Index/lowDigits*lowDigits, r.Elapsed-ns%h.step, r.Elapsed-ns
}
