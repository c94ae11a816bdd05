package app

import (
	"crypto/sha256"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"

	"logparser/calls/index"
)

// How indexes are kept, so that a large log that is opened again need not be
// gone through again.

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

// indexKey returns what tells the log, its modules file and the chosen runs
// from others: the log's size, time and samples of its bytes.
func (s *Session) indexKey(in *Inputs) (key index.Key, ok bool) {
	f, err := os.Open(in.Log)
	if err != nil {
		return key, false
	}
	defer f.Close()
	stat, err := f.Stat()
	info := s.log.Info()
	if err != nil || !stat.Mode().IsRegular() || stat.Size() != info.Size {
		return key, false
	}
	h := sha256.New()
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
	number(stat.Size(), stat.ModTime().UnixNano(), int64(info.RecordSize), info.Records)
	for i := range s.runs() {
		r := &s.runs()[i]
		number(int64(r.number), r.First, r.Count)
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
		return key, false
	}
	for i := range int64(keySamples) {
		if !sample(stat.Size()/keySamples*i, keySample) {
			return key, false
		}
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
