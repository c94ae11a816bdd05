package classic

import (
	"encoding/binary"
	"encoding/json"
	"slices"

	"logparser/parser"
)

// What the look at all records has found can be kept, so that a log that is
// opened again need not be gone through, or where it has only grown no further
// than what is new: see [Log.Found]. That it is the same log, or begins with it, is
// for the caller to know; that it could be the result of a scan is checked here.
//
// A scan judges a record by others that follow it, and near the end of the file
// does without. So a scan of the longer file does not go on from the end of the
// first, but from a place before it at which all judgements would have been the
// same: it finds what a scan of the whole would. There is no such place behind
// damage, which may be a part of the file that was not written yet.

// scanCacheVersion changes with the scan's judgement and with the meaning of scanCache.
const scanCacheVersion = 3

// A scanCache is a scan that has come to its end, with what it depended on: a size of
// records, a file's size and end, and the tick at start.
type scanCache struct {
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
	Runs            []cachedRun
	Flaws           [][3]int64 // offset, bytes and kind
	FlawBytes       int64
	Firm            firm
}

// A firm is the state of a scan behind a chunk of plain records, before which
// there was no flaw and no judgement that another end of the file could change.
// Only the last epoch may become another later. One of no records is none.
type firm struct {
	Records      int64
	Prev         uint32
	Wraps        int64
	InWrap       bool
	Sound        int
	Epochs, Runs int // how many there are
	Last         [2]int64
}

// fix makes a firm of where the scan is, which is behind a plain chunk.
func (s *scan) fix() {
	if s.blind || len(s.flaws) > 0 {
		return
	}
	s.firm = firm{s.record, s.prev, s.wraps, s.inWrap, s.sound, len(s.epochs), len(s.runs), s.epochs[len(s.epochs)-1].wraps}
}

type cachedRun struct {
	First    int64
	From, To uint32
}

// Found implements [parser.Scanner].
func (l *Log) Found() []byte { return l.found }

// found returns what a scan of a file of some size has found.
func (s *scan) found(size int64) ([]byte, error) {
	f := scanCache{
		Version: scanCacheVersion, RecordSize: s.size, Size: size, Limit: s.limit, Start: s.start,
		Records: s.record, Offset: s.offset, Prev: s.prev, HavePrev: s.havePrev, Wraps: s.wraps, InWrap: s.inWrap,
		NextTry: s.nextTry, Wait: s.wait, Sound: s.sound, FlawBytes: s.flawBytes, Firm: s.firm,
	}
	for _, g := range s.segments {
		f.Segments = append(f.Segments, [2]int64{g.first, g.offset})
	}
	for _, e := range s.epochs {
		f.Epochs = append(f.Epochs, [3]int64{e.first, e.wraps[0], e.wraps[1]})
	}
	for _, r := range s.runs {
		f.Runs = append(f.Runs, cachedRun{r.first, r.from, r.to})
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
	var f scanCache
	if len(data) == 0 || json.Unmarshal(data, &f) != nil || f.Size != size || f.Limit != s.limit || !s.fits(&f) {
		return false
	}
	s.firm = f.Firm
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
		s.runs = append(s.runs, runStart{r.First, r.From, r.To})
	}
	for _, w := range f.Flaws {
		s.flaws = append(s.flaws, flaw{w[0], w[1], flawKind(w[2])})
	}
	return true
}

// resume makes a scan that has not begun one that stands where the scan that
// found data was firm, of the file when it was shorter. It returns false, and
// leaves the scan alone, where it cannot.
func (s *scan) resume(data []byte, size int64) bool {
	var f scanCache
	if len(data) == 0 || json.Unmarshal(data, &f) != nil || f.Size >= size || f.Limit > f.Size || !s.fits(&f) {
		return false
	}
	at := &f.Firm
	if at.Records == 0 || at.Records > s.limit/int64(s.size) {
		return false
	}
	s.position = position{record: at.Records, offset: at.Records * int64(s.size), prev: at.Prev, havePrev: true, wraps: at.Wraps, inWrap: at.InWrap}
	s.sound, s.firm = at.Sound, *at
	s.segments = []segment{{}}
	for _, e := range f.Epochs[:at.Epochs] {
		s.epochs = append(s.epochs, epoch{e[0], [2]int64{e[1], e[2]}})
	}
	s.epochs[at.Epochs-1].wraps = at.Last
	for _, r := range f.Runs[:at.Runs] {
		s.runs = append(s.runs, runStart{r.First, r.From, r.To})
	}
	return true
}

// fits reports whether f can be right.
func (s *scan) fits(f *scanCache) bool {
	if f.Version != scanCacheVersion || f.RecordSize != s.size ||
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
		if runs[i] = r.First; i > 0 && r.First == runs[i-1] || (i == 0) != (r.From == r.To) {
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
	p := &f.Firm
	return p.Records == 0 || p.Records > 0 && p.Records <= f.Records && p.Sound >= 0 && int64(p.Sound) <= p.Records &&
		p.Wraps >= 0 && p.Wraps <= maxEpochs && min(p.Last[0], p.Last[1]) >= -1 && max(p.Last[0], p.Last[1]) <= maxEpochs &&
		p.Epochs > 0 && p.Epochs <= len(epochs) && epochs[p.Epochs-1] < p.Records &&
		p.Runs > 0 && p.Runs <= len(runs) && runs[p.Runs-1] < p.Records
}

// Beginning implements [parser.Scanner]. A log that is damaged has no beginning
// from there on.
func (l *Log) Beginning(records int64) ([]byte, bool) {
	v := l.view.Load()
	if records > v.records || len(v.info.Damage) > 0 && v.info.Damage[0].Offset < records*int64(v.size) {
		return nil, false
	}
	var b []byte
	for _, e := range v.epochs {
		if e.first < records {
			for _, n := range []int64{e.first, e.wraps[0], e.wraps[1]} {
				b = binary.LittleEndian.AppendUint64(b, uint64(n))
			}
		}
	}
	return b, true
}
