package attached

import (
	"math"
	"slices"
	"sort"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/image"
)

// CodeOf returns the code of an image, as RVAs.
func CodeOf(im *image.Image) []Range {
	var list []Range
	for _, r := range im.Code() {
		list = append(list, Range{r[0] - im.Base, r[1] - im.Base})
	}
	return list
}

// SavedCodeOf returns the part of an image's code that its file has. No more is code: a file can say of any few bytes that they
// are gigabytes. The error wraps [image.ErrFormat] where pieces of code lie over each other in the file.
func SavedCodeOf(im *image.Image) (list []Range, err error) {
	total := uint64(0)
	for _, r := range CodeOf(im) {
		n := sort.Search(int(r.Hi-r.Lo), func(i int) bool {
			_, ok := im.Offset(im.Base + r.Lo + uint64(i))
			return !ok
		})
		if n > 0 {
			list = append(list, Range{r.Lo, r.Lo + uint64(n)})
			total += uint64(n)
		}
	}
	if size := im.File().Size; total > uint64(size) {
		return nil, message.Errorf("%w: %d bytes of code in a file of %d", image.ErrFormat, total, size)
	}
	return list, nil
}

// maxGuess is how far a procedure without a size is followed, in bytes.
const maxGuess = 64 << 10

// CodeOfTable returns what a table's procedures cover, for tables whose image
// is not there.
func CodeOfTable(t symbols.Table) ([]Range, error) {
	var starts []uint64
	err := t.Procedures(func(rva uint64, _ string) bool {
		starts = append(starts, rva)
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(starts)
	starts = slices.Compact(starts)
	var list []Range
	for i, start := range starts {
		next := uint64(math.MaxUint64)
		if i+1 < len(starts) {
			next = starts[i+1]
		}
		end := min(next, start+maxGuess)
		if s, err := t.Lookup(start); err == nil && s.Size > 0 {
			// What a function was cut into is found piece by piece.
			end = max(start+1, min(s.Start+s.Size, start+maxFunction))
		}
		list = append(list, Range{start, max(end, start+1)})
	}
	return list, nil
}

// maxFunction bounds one function, in bytes.
const maxFunction = 64 << 20
