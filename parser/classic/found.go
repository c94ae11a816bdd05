package classic

import (
	"encoding/json"
	"slices"

	"logparser/parser"
)

// What the look at all records has found can be kept, so that a log that is
// opened again unchanged need not be gone through: see [Log.Found]. That it is
// the same log is for the caller to know; that it could be the result of a scan
// is checked here.

// foundVersion changes with the scan's judgement and with the meaning of found.
const foundVersion = 1

// found is a scan that has come to its end, with what it depended on: a size of
// records, a file's size and end, and the tick at start.
type found struct {
	Version     int
	RecordSize  int
	Size, Limit int64
	Start       *uint32

	Records, Offset int64
	Prev            uint32
	HavePrev        bool
	Wraps           int64
	InWrap          bool
	NextTry, Wait   int64
	Sound           int
	Segments        [][2]int64 // record and offset
	Epochs          [][3]int64 // record and wraps
	Runs            []foundRun
	Flaws           [][3]int64 // offset, bytes and kind
	FlawBytes       int64
}

type foundRun struct {
	First  int64
	Reason string
}

// Found implements [parser.Scanner].
func (l *Log) Found() []byte { return l.found }

// found returns what a scan of a file of some size has found.
func (s *scan) found(size int64) ([]byte, error) {
	f := found{
		Version: foundVersion, RecordSize: s.size, Size: size, Limit: s.limit, Start: s.start,
		Records: s.record, Offset: s.offset, Prev: s.prev, HavePrev: s.havePrev, Wraps: s.wraps, InWrap: s.inWrap,
		NextTry: s.nextTry, Wait: s.wait, Sound: s.sound, FlawBytes: s.flawBytes,
	}
	for _, g := range s.segments {
		f.Segments = append(f.Segments, [2]int64{g.first, g.offset})
	}
	for _, e := range s.epochs {
		f.Epochs = append(f.Epochs, [3]int64{e.first, e.wraps[0], e.wraps[1]})
	}
	for _, r := range s.runs {
		f.Runs = append(f.Runs, foundRun{r.first, r.reason})
	}
	for _, w := range s.flaws {
		f.Flaws = append(f.Flaws, [3]int64{w.offset, w.bytes, int64(w.kind)})
	}
	return json.Marshal(f)
}

// restore makes a scan that has not begun one that has ended, as it was when
// data was made. It returns false, and leaves the scan alone, where data is of
// another file or cannot be right.
func (s *scan) restore(data []byte, size int64) bool {
	var f found
	if len(data) == 0 || json.Unmarshal(data, &f) != nil || !s.fits(&f, size) {
		return false
	}
	s.position = position{
		record: f.Records, offset: f.Offset, prev: f.Prev, havePrev: f.HavePrev, wraps: f.Wraps, inWrap: f.InWrap, flawBytes: f.FlawBytes,
	}
	s.nextTry, s.wait, s.sound = f.NextTry, f.Wait, f.Sound
	for _, g := range f.Segments {
		s.segments = append(s.segments, segment{g[0], g[1]})
	}
	for _, e := range f.Epochs {
		s.epochs = append(s.epochs, epoch{e[0], [2]int64{e[1], e[2]}})
	}
	for _, r := range f.Runs {
		s.runs = append(s.runs, runStart{r.First, r.Reason})
	}
	for _, w := range f.Flaws {
		s.flaws = append(s.flaws, flaw{w[0], w[1], flawKind(w[2])})
	}
	return true
}

// fits reports whether f is of a file of some size and can be right.
func (s *scan) fits(f *found, size int64) bool {
	if f.Version != foundVersion || f.RecordSize != s.size || f.Size != size || f.Limit != s.limit ||
		(f.Start == nil) != (s.start == nil) || f.Start != nil && *f.Start != *s.start {
		return false
	}
	record := int64(s.size)
	if len(f.Segments) == 0 || len(f.Segments) > maxSegments || len(f.Epochs) > maxEpochs || len(f.Runs) > maxRuns || len(f.Flaws) > parser.MaxDamage {
		return false
	}
	segments, epochs, runs := make([]int64, len(f.Segments)), make([]int64, len(f.Epochs)), make([]int64, len(f.Runs))
	at := int64(0) // where a segment ends
	for i, g := range f.Segments {
		end := f.Records
		if i+1 < len(f.Segments) {
			end = f.Segments[i+1][0]
		}
		n := end - g[0]
		if g[0] < 0 || g[1] < 0 || g[1] > f.Limit || n < 0 || n > (f.Limit-g[1])/record {
			return false
		}
		segments[i], at = g[0], g[1]+n*record
	}
	if f.Offset != at || f.Limit-at >= record {
		return false
	}
	for i, e := range f.Epochs {
		if epochs[i] = e[0]; min(e[1], e[2]) < -1 || max(e[1], e[2]) > maxEpochs {
			return false
		}
	}
	for i, r := range f.Runs {
		if runs[i] = r.First; i > 0 && r.First == runs[i-1] || (i == 0) != (r.Reason == "") {
			return false
		}
	}
	for _, first := range [][]int64{segments, epochs, runs} {
		if len(first) == 0 || first[0] != 0 || first[len(first)-1] > f.Records || !slices.IsSorted(first) {
			return false
		}
	}
	end := int64(0)
	for _, w := range f.Flaws {
		if w[0] < end || w[1] < 0 || w[1] > f.Limit-w[0] || w[2] < 0 || w[2] > int64(padding) {
			return false
		}
		end = w[0] + w[1]
	}
	return true
}
