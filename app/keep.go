package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"logparser/calls/index"
	"logparser/parser"
	"logparser/parser/classic"
)

// How indexes, and the runs and damage that opening finds, are kept, so that a
// large log that is opened again need not be gone through again.

// leastKept is the least number of rows of which the index is kept: what is
// smaller is built at once. A variable for tests.
var leastKept = int64(2_000_000)

// indexCache returns the folder for indexes, "" where there is none.
func (in *Inputs) indexCache() string {
	if in.NoIndexCache {
		return ""
	}
	if in.IndexCache != "" {
		return in.IndexCache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "logparser", "indexes")
}

// keepIndex makes the index be taken from the cache, or put there. Where the
// log cannot be told from others it is not.
func (s *Session) keepIndex() {
	in := s.Inputs()
	folder := in.indexCache()
	if folder == "" || s.table.Total() < leastKept {
		return
	}
	if key, ok := s.indexKey(&in); ok {
		s.table.Keep(index.Store{Folder: folder}, key)
	}
}

// Parts of a log that are looked at to tell it from others, in bytes.
const (
	keyEdge    = 64 << 10
	keySample  = 4 << 10
	keySamples = 64
)

// logKey returns what tells a log from others: its size, its time and samples of
// its bytes. It returns its size, too.
func logKey(path string) (key index.Key, size int64, ok bool) {
	f, err := os.Open(path)
	if err != nil {
		return key, 0, false
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil || !stat.Mode().IsRegular() {
		return key, 0, false
	}
	h := sha256.New()
	for _, n := range []int64{stat.Size(), stat.ModTime().UnixNano()} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	buffer := make([]byte, keyEdge)
	sample := func(at, n int64) bool {
		at = max(0, min(at, stat.Size()-n))
		n = min(n, stat.Size())
		if _, err := f.ReadAt(buffer[:n], at); err != nil {
			return false
		}
		h.Write(buffer[:n])
		return true
	}
	if !sample(0, keyEdge) || !sample(stat.Size(), keyEdge) {
		return key, 0, false
	}
	for i := range int64(keySamples) {
		if !sample(stat.Size()/keySamples*i, keySample) {
			return key, 0, false
		}
	}
	return index.Key(h.Sum(nil)), stat.Size(), true
}

// A foundNote is what opening a log found when it was opened before, as it is
// noted beside the indexes.
type foundNote struct {
	store index.Store
	key   index.Key
	size  int64 // of the log
	data  []byte
}

// found returns the note of the log that is about to be opened; nil where none
// is kept.
func (in *Inputs) found() *foundNote {
	folder := in.indexCache()
	if st, err := os.Stat(in.Log); folder == "" || err != nil || st.Size() < leastKept*classic.Size32 {
		return nil
	}
	key, size, ok := logKey(in.Log)
	if !ok {
		return nil
	}
	n := &foundNote{store: index.Store{Folder: folder}, key: key, size: size}
	n.data = n.store.Noted(key)
	return n
}

// bytes returns what was noted, nil for nothing.
func (n *foundNote) bytes() []byte {
	if n == nil {
		return nil
	}
	return n.data
}

// keep notes what opening has found, where that is not known.
func (n *foundNote) keep(log parser.Log) {
	scanner, ok := log.(parser.Scanner)
	if n == nil || !ok || log.Info().Size != n.size || log.Info().Records < leastKept || bytes.Equal(scanner.Found(), n.data) {
		return
	}
	// That it cannot be kept is said of the index, which comes to the same
	// folder; here it only costs the next opening a look at the log.
	n.store.Note(n.key, scanner.Found())
}

// indexKey returns what tells the log, its modules file and the chosen runs
// from others.
func (s *Session) indexKey(in *Inputs) (key index.Key, ok bool) {
	logged, size, ok := logKey(in.Log)
	info := s.log.Info()
	if !ok || size != info.Size {
		return key, false
	}
	h := sha256.New()
	h.Write(logged[:])
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
	number(int64(info.RecordSize), info.Records)
	for i := range s.runs() {
		r := &s.runs()[i]
		number(int64(r.number), r.First, r.Count)
	}
	if in.Modules != "" {
		m, err := os.Open(in.Modules)
		if err != nil {
			return key, false
		}
		defer m.Close()
		n, err := io.Copy(h, m)
		if err != nil {
			return key, false
		}
		number(n)
	}
	return index.Key(h.Sum(nil)), true
}

// IndexError returns why the index could not be kept for the next opening, nil
// where it is or need not be. Everything works without.
func (s *Session) IndexError() error { return s.table.StoreError() }
