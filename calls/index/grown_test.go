package index

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"testing"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// buildGrown builds an index as a session does, without names and then with them.
func buildGrown(t testing.TB, x *Index, namer calls.Namer) {
	t.Helper()
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if namer != nil {
		if err := x.Build(context.Background(), namer, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.StoreError(); err != nil {
		t.Fatal(err)
	}
}

// TestKeptGrown opens logs that grow in several steps, each time going on with the
// index that was kept, and holds the result against the oracle. Names may become
// others on the way.
func TestKeptGrown(t *testing.T) {
	otherNamer := func(run int, space uint16, address uint64) calls.Function {
		return testlog.Namer(run, space, address/2)
	}
	for seed := range rounds(40) {
		r := rand.New(rand.NewPCG(seed, 31))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(1, 3, 16, 64)))
		smallSegments(t, pick(1, 2, 5, 64))
		c := testlog.RandomChaos(r)
		log := &countingLog{Broken: c.Log(r, pick(10, 100, 1000, 1000), pick(1, 1, 3))}
		log.Exact = r.IntN(3) == 0
		namer := testlog.Namer
		if r.IntN(3) == 0 {
			namer = nil
		}
		store := indexcache.Store{Folder: t.TempDir()}
		n := int64(len(log.Events))
		var before []parser.Run
		named, addresses := false, 0 // with the other names
		key := indexcache.Key{}
		for at := 1 + r.Int64N(n); ; at = min(n, at+r.Int64N(1+n/3)) {
			runs := testlog.UpTo(log.Runs, at)
			x := New(log, runs)
			key[0]++
			x.Keep(store, key)
			old := indexcache.Key{key[0] - 1}
			if before != nil {
				x.KeepGrown(old, before)
			}
			read, asked := log.read.Load(), namer
			other := namer != nil && r.IntN(4) == 0
			if other {
				asked = otherNamer
			}
			buildGrown(t, x, asked)
			// Behind gaps names decide which addresses there are.
			if other == named && before != nil && addresses > 0 && (namer == nil || c.Gap == 0) {
				// Each time perhaps twice: in parallel, and where that fails.
				if got, news := log.read.Load()-read, calls.NewLayout(runs).Total()-calls.NewLayout(before).Total(); got > 4*news {
					t.Fatalf("seed %d: %d events were read for %d new ones", seed, got, news)
				}
				if _, err := os.Stat(store.Path(old)); err == nil {
					t.Fatalf("seed %d: the shorter index is still there", seed)
				}
			}
			unnamed := expect(t, log, runs, oracle.Options{})
			p := expect(t, log, runs, oracle.Options{Namer: asked, Before: unnamed.Log})
			if err := p.differs(x); err != nil {
				t.Fatalf("seed %d, %d of %d records, blocks of %d, %+v: %v", seed, at, n, sizes.Block, c, err)
			}
			// What was kept is the whole.
			again := New(log, runs)
			again.Keep(store, key)
			read = log.read.Load()
			buildGrown(t, again, asked)
			if log.read.Load() != read {
				t.Fatalf("seed %d: the index was not kept", seed)
			}
			if err := p.differs(again); err != nil {
				t.Fatalf("seed %d, %d of %d records, taken again: %v", seed, at, n, err)
			}
			if before, named, addresses = runs, other, x.Addresses().Len(); at == n && r.IntN(2) == 0 {
				break
			}
		}
	}
}

// TestGrownNotTaken has indexes of first rows that cannot be gone on with, and
// stores in which the longer one finds no place.
func TestGrownNotTaken(t *testing.T) {
	folder := t.TempDir()
	store := indexcache.Store{Folder: folder}
	log, _, path := kept(t, store)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	runs := append([]parser.Run(nil), log.Runs...)
	n := int64(len(log.Events))
	runs[len(runs)-1].Count += n
	longer := &testlog.Broken{Memory: log.Memory, Open: log.Open, Outer: log.Outer}
	longer.Events = append(log.Events[:n:n], log.Events...)
	longer.Runs = runs
	p := expect(t, longer, runs, oracle.Options{})
	reset := func(b []byte) {
		t.Helper()
		for _, k := range []indexcache.Key{{1}, {2}} {
			os.RemoveAll(store.Path(k))
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// build returns how many events were read.
	build := func(what string, k indexcache.Key, before []parser.Run) int64 {
		t.Helper()
		counting := &countingLog{Broken: longer}
		x := New(counting, runs)
		x.Keep(store, indexcache.Key{2})
		x.KeepGrown(k, before)
		if err := x.Build(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		read := counting.read.Load()
		if err := p.differs(x); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return read
	}
	is := func(what string, k indexcache.Key, there bool) {
		t.Helper()
		if _, err := os.Stat(store.Path(k)); (err == nil) != there {
			t.Errorf("%s: the file of %d: %v", what, k[0], err)
		}
	}
	reset(good)
	if got := build("good", indexcache.Key{1}, log.Runs); got >= 2*n {
		t.Errorf("%d events were read", got)
	}
	is("good", indexcache.Key{1}, false)
	is("good", indexcache.Key{2}, true)

	shifted := append([]parser.Run(nil), log.Runs...)
	shifted[1].First--
	shifted[0].Count--
	shifted[1].Count++
	shorter := append([]parser.Run(nil), log.Runs...)
	shorter[len(shorter)-1].Count--
	longest := append([]parser.Run(nil), runs...)
	longest[len(longest)-1].Count++
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for what, c := range map[string]struct {
		key  indexcache.Key
		runs []parser.Run
		file []byte
	}{
		"another key":   {indexcache.Key{3}, log.Runs, good},
		"other runs":    {indexcache.Key{1}, shifted, good},
		"fewer rows":    {indexcache.Key{1}, shorter, good},
		"more rows":     {indexcache.Key{1}, runs, good},
		"more than all": {indexcache.Key{1}, longest, good},
		"fewer runs":    {indexcache.Key{1}, log.Runs[:1], good},
		"a flipped bit": {indexcache.Key{1}, log.Runs, flipped},
		"cut":           {indexcache.Key{1}, log.Runs, good[:len(good)-8]},
		"another version": {indexcache.Key{1}, log.Runs, sealed(t, store, func(b []byte) []byte {
			b[20] ^= 1
			return b
		}, good)},
	} {
		reset(c.file)
		if got := build(what, c.key, c.runs); got < int64(len(longer.Events)) {
			t.Errorf("%s: only %d events were read", what, got)
		}
		is(what, indexcache.Key{1}, true)
		is(what, indexcache.Key{2}, true)
	}

	// A place that is taken stands for a full disk: the shorter one stays.
	reset(good)
	if err := os.Mkdir(store.Path(indexcache.Key{2}), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		build("no room", indexcache.Key{1}, log.Runs)
		is("no room", indexcache.Key{1}, true)
	}
	// One that was killed leaves a part of the longer one, or both.
	reset(good)
	if err := os.WriteFile(store.Path(indexcache.Key{2})+".part-1", good[:len(good)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	build("killed while it was written", indexcache.Key{1}, log.Runs)
	if err := os.WriteFile(path, good, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := build("killed behind that", indexcache.Key{1}, log.Runs); got != 0 {
		t.Errorf("%d events were read", got)
	}
}

// FuzzGrown damages the index of the first rows and seals it again, once without and once with names: whatever is gone on with must do no harm.
func FuzzGrown(f *testing.F) {
	store := indexcache.Store{Folder: f.TempDir()}
	log, x, path := kept(f, store)
	if err := x.Build(context.Background(), testlog.Namer, nil); err != nil {
		f.Fatal(err)
	}
	named := store.Path(x.key.Of(testlog.Namer, x.Addresses(), x.Addresses().Len()))
	var good [2][]byte
	for i, path := range []string{path, named} {
		var err error
		if good[i], err = os.ReadFile(path); err != nil {
			f.Fatal(err)
		}
	}
	runs := append([]parser.Run(nil), log.Runs...)
	n := int64(len(log.Events))
	runs[len(runs)-1].Count += n
	longer := &testlog.Memory{Events: append(log.Events[:n:n], log.Events...), Runs: runs}
	f.Add(uint32(300), []byte{255, 255, 255, 255}, true)
	f.Add(uint32(len(good[0])/2), []byte{1}, false)
	f.Add(uint32(0), []byte{}, true)
	f.Fuzz(func(t *testing.T, at uint32, with []byte, second bool) {
		files := [2][]byte{bytes.Clone(good[0]), bytes.Clone(good[1])}
		changed := 0
		if second {
			changed = 1
		}
		files[changed] = sealed(t, store, func(b []byte) []byte {
			copy(b[int(at)%len(b):], with)
			return b
		}, files[changed])
		x := New(longer, runs)
		x.Keep(store, indexcache.Key{2})
		x.KeepGrown(indexcache.Key{1}, log.Runs)
		for i, path := range []string{path, named} {
			if err := os.WriteFile(path, files[i], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for _, namer := range []calls.Namer{nil, testlog.Namer} {
			if x.Build(context.Background(), namer, nil) != nil {
				return
			}
			use(x)
			os.Remove(store.Path(x.key.Of(namer, x.Addresses(), x.Addresses().Len())))
		}
	})
}
