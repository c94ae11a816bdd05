package export

import (
	"encoding/binary"

	"logparser/rows"
)

// Lines of brief rows have the same text as those of whole rows. They are assembled from pieces of fixed size at offsets that
// are mostly known in advance, without calls and almost without unpredictable branches. For 45 million rows as text that takes
// two thirds of the time.

// briefPlaces is how many places have cached texts. The cache is indexed by the number of the place.
const briefPlaces = 1 << 12

// briefStep returns the step of a cached time, in nanoseconds: times within a step differ only in their last four digits if
// digits is 9, and not at all if it is 3. It is 0 for other numbers of digits, with which brief rows are not used.
func briefStep(digits int) int64 {
	switch digits {
	case 9:
		return 1e4
	case 3:
		return 1e6
	}
	return 0
}

var blank = [wide]byte([]byte(blanks))

// A briefHead is a cached text of index and time. It serves for rows whose index differs from firstIndex, and whose time
// differs from firstTime, only in the last four digits. secondAt is where the second of that time begins. These numbers have
// the units of the rows' Index and Elapsed.
type briefHead struct {
	// n is the length of the text, 0 if nothing is cached.
	n    int
	text [wide]byte
	// low is the offset of the index's last four digits in the text, end that of the end of the time, and digits the number of
	// its decimals.
	low, end, digits                      int
	step, firstIndex, firstTime, secondAt int64
}

// is reports whether the text serves for a row.
func (h *briefHead) is(index, elapsed int64) bool {
	return uint64(elapsed-h.firstTime) < uint64(h.step) && uint64(index-h.firstIndex) < lowDigits && h.n > 0
}

// put writes the text for a row, for which is must hold. dst must have wide bytes.
func (h *briefHead) put(dst []byte, index, elapsed int64) {
	*(*[wide]byte)(dst) = h.text
	binary.LittleEndian.PutUint32(dst[h.low:], fourDigits(uint32(index-h.firstIndex)))
	h.putTime(dst[h.end-4:], elapsed)
}

// putTime writes the last four digits of a row's time if these change within a step.
func (h *briefHead) putTime(dst []byte, elapsed int64) {
	if h.digits == 9 {
		binary.LittleEndian.PutUint32(dst, fourDigits(uint32(elapsed-h.firstTime)))
	}
}

// goTo updates the text for a row of the same second. It returns false if the row is of another second, or has other leading
// digits of the index.
func (h *briefHead) goTo(index, elapsed int64) bool {
	ns := elapsed - h.secondAt
	if h.n == 0 || ns < 0 || ns >= 1e9 || uint64(index-h.firstIndex) >= lowDigits {
		return false
	}
	putFraction(h.text[h.end-h.digits:], uint32(ns), h.digits)
	h.firstTime = elapsed - ns%h.step
	return true
}

// set caches a row's text. low is the offset of the index's last four digits, and end that of the end of the time.
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
