package export

import (
	"encoding/binary"

	"logparser/rows"
)

// Lines of rows in brief are the same as of whole ones, but made of pieces of fixed sizes at places that
// are mostly known beforehand, without calls and with hardly a decision that a processor could guess
// wrongly. Of 45 million rows a text takes two thirds of the time of whole ones.

const (
	// briefPlaces is how many places' texts are kept, by their numbers.
	briefPlaces = 1 << 12
	// timeStep is the time within which only the last four digits change, in nanoseconds.
	timeStep = 1e4
)

// blank is what is behind short texts.
var blank = [wide]byte([]byte(blanks))

// A briefHead is a text with a row's index and time of nine digits, which rows have in common but for the last four
// digits of both: those from firstIndex on whose times lie within timeStep from firstTime on, in
// a second that begins at secondAt. These are rows' Index and Elapsed.
type briefHead struct {
	// n is 0 where nothing is known.
	n    int
	text [wide]byte
	// low is where the four digits of the index are in the text, fraction where those of the time are.
	low, fraction                   int
	firstIndex, firstTime, secondAt int64
}

// is reports whether the text is that of a row but for the digits.
func (h *briefHead) is(index, elapsed int64) bool {
	return uint64(elapsed-h.firstTime) < timeStep && uint64(index-h.firstIndex) < lowDigits && h.n > 0
}

// put writes the text of a row that it is for to the beginning of dst, which has wide.
func (h *briefHead) put(dst []byte, index, elapsed int64) {
	*(*[wide]byte)(dst) = h.text
	binary.LittleEndian.PutUint32(dst[h.low:], fourDigits(uint32(index-h.firstIndex)))
	binary.LittleEndian.PutUint32(dst[h.fraction:], fourDigits(uint32(elapsed-h.firstTime)))
}

// goTo makes the text that of a row of the same second, and reports whether the row is one.
func (h *briefHead) goTo(index, elapsed int64) bool {
	ns := elapsed - h.secondAt
	if h.n == 0 || ns < 0 || ns >= 1e9 || uint64(index-h.firstIndex) >= lowDigits {
		return false
	}
	putFraction(h.text[h.fraction-5:], uint32(ns), 9)
	h.firstTime = elapsed - ns%timeStep
	return true
}

// set makes the text that of a row, whose four digits of the index are at low in it and whose time ends at end.
func (h *briefHead) set(text []byte, r *rows.Row, low, end int) {
	if h.n = 0; len(text) > wide || r.Index < lowDigits {
		return
	}
	ns := r.Elapsed % 1e9
	if r.HasWall {
		ns = int64(r.Wall.Nanosecond())
	}
	h.n, h.low, h.fraction = copy(h.text[:], text), low, end-4
	h.firstIndex, h.firstTime, h.secondAt = r.Index/lowDigits*lowDigits, r.Elapsed-ns%timeStep, r.Elapsed-ns
}
