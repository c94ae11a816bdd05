package index

import (
	"context"
	"crypto/sha256"
	"os"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/message"
	"logparser/parser"
)

// Keep makes Build take the index from a file of the store if there is one,
// and leave it there otherwise. It comes before Build.
func (x *Index) Keep(s indexcache.Store, k indexcache.Key) {
	x.building.Lock()
	defer x.building.Unlock()
	x.store, x.key = &s, k
}

// A shorter is a kept index of the first rows of a log that has grown since.
type shorter struct {
	key  indexcache.Key
	runs []parser.Run
	// addresses is how many addresses it has. It is known when the index without names was read.
	addresses int
}

// KeepGrown is for a log that had fewer records before. If the store has no index under the key of Keep, but one
// of the log's first rows under key k, Build extends that one, and removes it from the store when the longer one is
// kept. runs are the runs of the shorter index: the first runs of this one, of which the last may have become longer.
// The caller has to know that their records have not changed. KeepGrown is called after Keep and before Build.
func (x *Index) KeepGrown(k indexcache.Key, runs []parser.Run) {
	x.building.Lock()
	defer x.building.Unlock()
	x.shorter = &shorter{key: k, runs: runs}
}

// loadShorter reads the kept index of the first rows, with the names of a namer, into an empty core. It returns
// the path of its file, "" if there is none that can be used.
func (x *Index) loadShorter(ctx context.Context, c *core, namer calls.Namer) (path string) {
	s, l := x.shorter, c.layout()
	if s == nil || namer != nil && s.addresses == 0 || continues(s.runs, l.Runs) != nil {
		return ""
	}
	key := s.key.Of(namer, c.addresses, s.addresses)
	c.rows.Store(calls.NewLayout(s.runs))
	if c.load(ctx, x.store, key) != nil {
		return ""
	}
	c.rows.Store(l)
	if namer == nil {
		s.addresses = c.addresses.Len()
	}
	return x.store.Path(key)
}

// Save keeps an index that was built and then extended, in a store under another key than that of Keep, and removes
// the file of the key of Keep. An index whose pairs depend on names is not saved, since a store needs the one without
// names as well.
func (x *Index) Save(s indexcache.Store, k indexcache.Key) error {
	x.building.Lock()
	defer x.building.Unlock()
	c := x.core.Load()
	if !x.done.Load() || c.pairs.Row() < c.layout().Total() || c.pairs.ByPosition() {
		return errUnfinished
	}
	if err := c.save(context.Background(), &s, k); err != nil {
		return err
	}
	if x.store != nil {
		os.Remove(x.store.Path(x.key))
	}
	x.store, x.key, x.shorter, x.extended = &s, k, nil, false
	return nil
}

var errUnfinished = message.New("the index is not one that can be kept as it is")

// StoreError returns why the index could not be kept, nil if it was kept or should not be. The index works without.
func (x *Index) StoreError() error {
	if e := x.storeError.Load(); e != nil {
		return *e
	}
	return nil
}

// noteKey returns the store of the index, and the key there of what is called name. There is no store where the index is not kept,
// or is not that of a whole log.
func (x *Index) noteKey(name []byte) (s *indexcache.Store, k indexcache.Key) {
	if !x.building.TryLock() {
		return nil, k
	}
	defer x.building.Unlock()
	c := x.core.Load()
	if x.store == nil || x.extended || !x.done.Load() || x.live.Load() || c.named || c.pairs.Row() < x.layout.Load().Total() {
		return nil, k
	}
	h := sha256.New()
	h.Write(x.key[:])
	h.Write(name)
	return x.store, indexcache.Key(h.Sum(nil))
}

// Noted returns the note that Note kept under a name, nil where there is none.
func (x *Index) Noted(name []byte) []byte {
	if s, k := x.noteKey(name); s != nil {
		return s.Noted(k)
	}
	return nil
}

// Note keeps something that was made of the whole index, under a name that says all that it depends on besides, where the
// index is kept and is that of the whole log. That it cannot be kept is no error: it is made again then.
func (x *Index) Note(name, note []byte) {
	if s, k := x.noteKey(name); s != nil {
		s.Note(k, note)
	}
}
