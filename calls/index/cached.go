package index

import (
	"context"
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

// A shorter is an index of the first rows.
type shorter struct {
	key  indexcache.Key
	runs []parser.Run
	// addresses is how many it has, once it was taken from its file without
	// names.
	addresses int
}

// KeepGrown is for a log that had fewer records before: where no index is kept
// under the key of Keep, but one of the first rows under key k, Build goes on with
// that, and takes it out of the store when the longer one is there. runs are those
// of that index: the first ones of this, of which the last may have become longer.
// That their records are what they were is for the caller to know. It comes after
// Keep and before Build.
func (x *Index) KeepGrown(k indexcache.Key, runs []parser.Run) {
	x.building.Lock()
	defer x.building.Unlock()
	x.shorter = &shorter{key: k, runs: runs}
}

// loadShorter takes the index of the first rows, as a namer gives it, into an
// empty core, and returns the file that has it, "" where there is none that is
// good.
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

// Save keeps the index, which was built and then extended, in a store under
// another key than that of Keep, and takes out what is there under that one. It
// keeps none whose pairs depend on names: of these a store also has one without.
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
	x.store, x.key, x.shorter = &s, k, nil
	return nil
}

var errUnfinished = message.New("the index is not one that can be kept as it is")

// StoreError returns why the index could not be kept, nil where it is or was
// not to be. That it cannot be written does not keep it from working.
func (x *Index) StoreError() error {
	if e := x.storeError.Load(); e != nil {
		return *e
	}
	return nil
}
