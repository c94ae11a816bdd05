package app

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"logparser/calls/indexcache"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/wholefile"
)

// How indexes, and the runs and damage that opening finds, are kept, so that a
// large log that is opened again need not be gone through again.

// leastKept is the least number of rows of which the index is kept: what is
// smaller is built at once. A variable for tests.
var leastKept = int64(2_000_000)

// leastEvent is how many bytes of a log an event has at least, on the average.
const leastEvent = 2

// indexCache returns the folder for indexes, "" where there is none.
func (in *Inputs) indexCache() string {
	if in.NoIndexCache || in.packed != nil {
		return ""
	}
	if in.IndexCache != "" {
		return in.IndexCache
	}
	dir, err := wholefile.CacheFolder()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "indexes")
}

// keepIndex makes the index be taken from the cache, or put there. Where the
// log cannot be told from others it is not. Where the log has grown, the index of
// its first rows is gone on with.
func (s *Session) keepIndex() {
	in, info, older := s.Inputs(), s.log.Info(), s.older
	s.older = nil
	folder := in.indexCache()
	if folder == "" || s.table.Total() < leastKept {
		return
	}
	now, ok := in.state()
	if !ok || now.size != info.Size {
		return
	}
	now.records = info.Records
	key, _, ok := s.indexKey(&in, &now)
	if !ok {
		return
	}
	store := indexcache.Store{Folder: folder}
	s.table.Keep(store, key)
	s.kept, s.seen = now, now
	for i := range older {
		key, runs, ok := s.indexKey(&in, &older[i])
		if _, err := os.Stat(store.File(key, indexcache.FileSuffix)); ok && err == nil && older[i].began(in.Log) {
			s.table.KeepGrown(key, runs)
			s.older = older[:i+1]
			return
		}
	}
}

// indexKept removes the notes that lead to the index of the log when it was
// shorter, where that of the whole log is kept.
func (s *Session) indexKept() {
	if s.IndexError() != nil {
		return
	}
	in := s.Inputs()
	store := indexcache.Store{Folder: in.indexCache()}
	for i := range s.older {
		os.Remove(store.File(s.older[i].key, indexcache.NoteSuffix))
	}
	s.older = nil
}

// watch looks at a log that is followed as often as it has become twice as long,
// so that what was written anew meanwhile is not kept.
func (s *Session) watch() {
	size := s.log.Info().Size
	if size < leastKept*classic.Size32 || size/2 < s.seen.size {
		return
	}
	in := s.Inputs()
	if s.seen.size > 0 && !s.seen.began(in.Log) {
		s.seen.size = math.MaxInt64 // no log begins with it
	} else if now, ok := stateOf(in.Log, &logState{size: size}); ok {
		s.seen = now
	}
}

// keepFollowed keeps the index of a log that was followed, as if the log had been
// opened now: if opening will not find the same, it is not taken. Where it cannot
// be kept the next opening takes longer, no more.
func (s *Session) keepFollowed() {
	if s.acquire(context.Background()) != nil {
		return
	}
	defer s.release()
	in, info := s.Inputs(), s.log.Info()
	folder := in.indexCache()
	if s.can.Scanner == nil || folder == "" || s.table.Total() < leastKept || info.Size == s.kept.size || s.seen.size == 0 || !s.seen.began(in.Log) {
		return
	}
	now, ok := stateOf(in.Log, nil)
	if ok && now.size != info.Size {
		now, ok = stateOf(in.Log, &logState{size: info.Size, time: now.time})
	}
	now.records = info.Records
	if _, known := s.can.Scanner.Beginning(info.Records); !ok || !known {
		return
	}
	store := indexcache.Store{Folder: folder}
	key, _, ok := s.indexKey(&in, &now)
	if !ok || s.table.Save(store, key) != nil || store.Note(now.key, now.note(s.can.Scanner.Found())) != nil {
		return
	}
	if s.kept.size > 0 {
		os.Remove(store.File(s.kept.key, indexcache.NoteSuffix))
	}
	s.kept, s.seen = now, now
}

// A logState is what a log was at some time.
//
// Its key is made of its size, its time of change and samples of its bytes: the
// first and the last 64 KiB, and 4 KiB at 64 places evenly between. A log whose
// size, time and samples give the key has not changed.
//
// A log that is longer than a state it was in has another time, and is that state
// grown if the samples of its first bytes give the key. What was cut off and
// written anew has another beginning or another end there; what was written over
// has, unless it lies between the samples: it is not seen that some bytes between
// them were changed in place before others were appended. What recorders may write
// late are bytes that were zero when the log was read; these are damage, and no
// index of it is gone on with (see [parser.Scanner]).
type logState struct {
	key indexcache.Key
	// size is in bytes, time in nanoseconds since 1970.
	size, time int64
	records    int64
}

// began reports whether the log at path begins as it was in the state.
func (s *logState) began(path string) bool {
	again, ok := stateOf(path, s)
	return ok && again.key == s.key
}

// Parts of a log that are looked at to tell it from others, in bytes.
const (
	keyEdge    = 64 << 10
	keySample  = 4 << 10
	keySamples = 64
	// keyBeginning is the beginning by which states of one log are found.
	keyBeginning = 1 << 10
)

// stateOf returns the state of the log at path but for its records: the one of
// now, or the one that it was in with the size and time of was. All states of a
// log have keys that begin alike.
func stateOf(path string, was *logState) (s logState, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return s, false
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil || !stat.Mode().IsRegular() {
		return s, false
	}
	s.size, s.time = stat.Size(), stat.ModTime().UnixNano()
	if was != nil {
		if was.size > s.size {
			return s, false
		}
		s.size, s.time = was.size, was.time
	}
	h := sha256.New()
	for _, n := range []int64{s.size, s.time} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	buffer := make([]byte, keyEdge)
	sample := func(at, n int64) bool {
		at = max(0, min(at, s.size-n))
		n = min(n, s.size)
		if _, err := f.ReadAt(buffer[:n], at); err != nil {
			return false
		}
		h.Write(buffer[:n])
		return true
	}
	if !sample(0, keyEdge) {
		return s, false
	}
	beginning := sha256.Sum256(buffer[:min(keyBeginning, s.size)])
	if !sample(s.size, keyEdge) {
		return s, false
	}
	for i := range int64(keySamples) {
		if !sample(s.size/keySamples*i, keySample) {
			return s, false
		}
	}
	s.key = indexcache.Key(h.Sum(nil))
	copy(s.key[:indexcache.LogBytes], beginning[:])
	return s, true
}

// A scanNote is what opening a log found when it was opened before, as it is
// noted beside the indexes: size, time and number of records of the log's state,
// 8 bytes each, and what was found.
type scanNote struct {
	store indexcache.Store
	logState
	data []byte
	// older are the states that the log may have grown from, the longest first.
	// It has grown from that.
	older []logState
}

const noteHead = 3 * 8

// note returns the note of a state in which so much was found.
func (s *logState) note(found []byte) []byte {
	var b []byte
	for _, n := range []int64{s.size, s.time, s.records} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return append(b, found...)
}

// notedState returns the state, but for its key, that a note is of.
func notedState(note []byte) (s logState, ok bool) {
	if len(note) < noteHead {
		return s, false
	}
	for i, p := range []*int64{&s.size, &s.time, &s.records} {
		*p = int64(binary.LittleEndian.Uint64(note[8*i:]))
	}
	return s, s.size > 0
}

// found returns the note of the log that is about to be opened, or of the log when
// it was shorter; nil where none can be kept.
func (in *Inputs) found() *scanNote {
	folder := in.indexCache()
	if st, err := os.Stat(in.Log); folder == "" || err != nil || st.Size() < leastKept*leastEvent {
		return nil
	}
	now, ok := stateOf(in.Log, nil)
	if !ok {
		return nil
	}
	n := &scanNote{store: indexcache.Store{Folder: folder}, logState: now}
	n.data = n.store.Noted(now.key)
	notes := n.store.NotesOfLog(now.key)
	for key, note := range notes {
		if s, ok := notedState(note); ok && s.size < now.size {
			s.key = key
			n.older = append(n.older, s)
		}
	}
	slices.SortFunc(n.older, func(a, b logState) int { return cmp.Compare(b.size, a.size) })
	for len(n.older) > 0 && !n.older[0].began(in.Log) {
		n.older = n.older[1:]
	}
	if n.data == nil && len(n.older) > 0 {
		n.data = notes[n.older[0].key]
	}
	return n
}

// bytes returns what was found, nil for nothing.
func (n *scanNote) bytes() []byte {
	if n == nil || len(n.data) < noteHead {
		return nil
	}
	return n.data[noteHead:]
}

// keep notes what opening has found, where that is not known.
func (n *scanNote) keep(log parser.Log) {
	scanner, info := log.Capabilities().Scanner, log.Info()
	if n == nil || scanner == nil || info.Size != n.size || info.Records < leastKept {
		return
	}
	now, found := n.logState, scanner.Found()
	now.records = info.Records
	if note := now.note(found); found != nil && !bytes.Equal(note, n.data) {
		// That it cannot be kept is said of the index, which comes to the same
		// folder; here it only costs the next opening a look at the log.
		n.store.Note(n.key, note)
	}
}

// indexKey returns what tells the log in a state, its modules file and the chosen
// runs from others, and these runs as they were in that state. It is not ok for a
// state that the log has grown from where it cannot say what its first records
// follow from.
func (s *Session) indexKey(in *Inputs, of *logState) (key indexcache.Key, runs []parser.Run, ok bool) {
	info := s.log.Info()
	h := sha256.New()
	h.Write(of.key[:])
	number := func(list ...int64) {
		for _, n := range list {
			h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
		}
	}
	text := func(s string) {
		number(int64(len(s)))
		io.WriteString(h, s)
	}
	text(info.Format)
	number(int64(info.RecordSize), of.records)
	var beginning []byte
	known := false
	if s.can.Scanner != nil {
		beginning, known = s.can.Scanner.Beginning(of.records)
	}
	if !known && of.size < info.Size {
		return key, nil, false
	}
	text(string(beginning))
	for i := range s.runs() {
		r := s.runs()[i]
		if of.records < info.Records {
			if r.First >= of.records {
				break
			}
			r.Count = min(r.Count, of.records-r.First)
		}
		number(int64(r.number), r.First, r.Count)
		runs = append(runs, r.Run)
	}
	if in.Modules != "" {
		m, err := os.Open(in.Modules)
		if err != nil {
			return key, nil, false
		}
		defer m.Close()
		n, err := io.Copy(h, m)
		if err != nil {
			return key, nil, false
		}
		number(n)
		text(in.ModulesColumns)
	}
	return indexcache.Key(h.Sum(nil)), runs, true
}

// IndexError returns why the index could not be kept for the next opening, nil
// where it is or need not be. Everything works without.
func (s *Session) IndexError() error { return s.table.StoreError() }
