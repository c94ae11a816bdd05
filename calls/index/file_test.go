package index

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// A countingLog counts the events that are read.
type countingLog struct {
	*testlog.Broken
	read atomic.Int64
}

func (l *countingLog) ReadEvents(dst []parser.Event, from int64) (int, error) {
	n, err := l.Broken.ReadEvents(dst, from)
	l.read.Add(int64(n))
	return n, err
}

// TestKept builds indexes that are kept, takes them from their files, and
// goes on with them.
func TestKept(t *testing.T) {
	for seed := range rounds(50) {
		r := rand.New(rand.NewPCG(seed, 7))
		pick := func(p ...int) int { return p[r.IntN(len(p))] }
		smallBlocks(t, int64(pick(1, 3, 16, 64)))
		c := testlog.RandomChaos(r)
		log := &countingLog{Broken: c.Log(r, pick(10, 100, 1000, 1000), pick(1, 1, 3))}
		log.Exact = r.IntN(3) == 0
		n := int64(len(log.Events))
		at := n - r.Int64N(n/2)
		store := indexcache.Store{Folder: t.TempDir()}
		runs := testlog.UpTo(log.Runs, at)
		namer := testlog.Namer
		if r.IntN(2) == 0 {
			namer = nil
		}
		p := expect(t, log, runs, oracle.Options{Namer: namer})
		unnamed := expect(t, log, runs, oracle.Options{})
		named := expect(t, log, runs, oracle.Options{Namer: namer, Before: unnamed.Log})
		for round := range 3 {
			x := New(log, runs)
			x.Keep(store, indexcache.Key{1})
			read := log.read.Load()
			if err := x.Build(context.Background(), nil, nil); err != nil {
				t.Fatal(err)
			}
			if namer != nil {
				if err := x.Build(context.Background(), namer, nil); err != nil {
					t.Fatal(err)
				}
			}
			if log.read.Load() != read && round > 0 {
				t.Fatalf("seed %d: %d events were read again", seed, log.read.Load()-read)
			}
			if err := x.StoreError(); err != nil {
				t.Fatal(err)
			}
			if namer == nil {
				if err := p.differs(x); err != nil {
					t.Fatalf("seed %d, round %d, blocks of %d, %+v: %v", seed, round, sizes.Block, c, err)
				}
			}
			if err := x.Extend(context.Background(), log.Runs, namer, nil); err != nil {
				t.Fatal(err)
			}
			whole := expect(t, log, log.Runs, oracle.Options{Namer: namer, Before: named.Log})
			if err := whole.differs(x); err != nil {
				t.Fatalf("seed %d, round %d, extended, blocks of %d, %+v: %v", seed, round, sizes.Block, c, err)
			}
		}
	}
}

// kept returns a log, its index and the file that holds it.
func kept(t testing.TB, store indexcache.Store) (*testlog.Broken, *Index, string) {
	r := rand.New(rand.NewPCG(5, 5))
	smallBlocks(t, 16)
	log := testlog.Chaos{Threads: 3, Functions: 20, Enters: 50, Foreign: true, Unwind: 2, Stray: 2, Gap: 1, Begin: 1, Damage: 1, Pause: 2}.Log(r, 1003, 2)
	x := New(log, log.Runs)
	x.Keep(store, indexcache.Key{1})
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := x.StoreError(); err != nil {
		t.Fatal(err)
	}
	return log, x, store.Path(indexcache.Key{1})
}

// TestNoted keeps something with an index, and finds it again by its name with the same index of the same log only.
func TestNoted(t *testing.T) {
	store := indexcache.Store{Folder: t.TempDir()}
	log, x, _ := kept(t, store)
	name, note := []byte("tree of all"), []byte("what it is")
	x.Note(name, note)
	built := func(k indexcache.Key, in *indexcache.Store) *Index {
		x := New(log, log.Runs)
		if in != nil {
			x.Keep(*in, k)
		}
		if err := x.Build(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		return x
	}
	live := built(indexcache.Key{1}, &store)
	live.SetLive(true)
	alone := built(indexcache.Key{}, nil)
	alone.Note(name, note)
	for _, test := range []struct {
		what string
		x    *Index
		name []byte
		want []byte
	}{
		{"the same index", x, name, note},
		{"another name", x, []byte("tree"), nil},
		{"opened again", built(indexcache.Key{1}, &store), name, note},
		{"of another log", built(indexcache.Key{2}, &store), name, nil},
		{"while the log grows", live, name, nil},
		{"that is not kept", alone, name, nil},
		{"that is not built", New(log, log.Runs), name, nil},
	} {
		if got := test.x.Noted(test.name); !bytes.Equal(got, test.want) {
			t.Errorf("index %s: %q, want %q", test.what, got, test.want)
		}
	}
}

// refuses holds that a file is not taken, and that the index is built anew.
func refuses(t *testing.T, log *testlog.Broken, store indexcache.Store, what string) {
	t.Helper()
	c := newCore(log, calls.NewLayout(log.Runs), calls.NewAddresses(), 0, nil)
	if err := c.load(context.Background(), &store, indexcache.Key{1}); err == nil {
		t.Errorf("%s: it was taken", what)
	}
	x := New(log, log.Runs)
	x.Keep(store, indexcache.Key{1})
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	if err := p.differs(x); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func TestRefusedFiles(t *testing.T) {
	store := indexcache.Store{Folder: t.TempDir()}
	log, _, path := kept(t, store)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := func(at int) []byte {
		return sealed(t, store, func(b []byte) []byte {
			b[at] ^= 1
			return b
		}, good)
	}
	// The head begins at byte 8, after its number.
	for what, at := range map[string]int{"magic": 8, "byte order": 16, "version": 20, "key": 24, "sizes": 56, "rows": 88, "length of blocks": 96} {
		write(change(at))
		refuses(t, log, store, what)
	}
	for _, n := range []int{0, 1, 7, 8, 100, len(good) / 2, len(good) - 5, len(good) - 1} {
		write(good[:n])
		refuses(t, log, store, "cut")
	}
	write(append(bytes.Clone(good), 0))
	refuses(t, log, store, "longer")
	for at := 0; at < len(good); at += 97 * 1000 / int(rounds(1000)) {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		write(b)
		refuses(t, log, store, "a flipped bit")
	}
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	x := New(log, log.Runs)
	x.Keep(store, indexcache.Key{1})
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if x.StoreError() == nil {
		t.Error("a folder was replaced")
	}
}

// sealed returns a file whose content was changed, sealed with the store's key.
func sealed(t testing.TB, store indexcache.Store, change func(content []byte) []byte, file []byte) []byte {
	t.Helper()
	content := change(unsealed(t, store, file))
	path := filepath.Join(store.Folder, "sealed-by-a-test")
	err := store.Write(context.Background(), path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	os.Remove(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// unsealed returns the content of a file.
func unsealed(t testing.TB, store indexcache.Store, file []byte) []byte {
	t.Helper()
	path := filepath.Join(store.Folder, "unsealed-by-a-test")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path)
	kept, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	return bytes.Clone(kept.Content)
}

// A failingWriter fails after some bytes.
type failingWriter struct{ left int }

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

var errFull = errors.New("no space left on device")

func TestFullDisk(t *testing.T) {
	_, x, path := kept(t, indexcache.Store{Folder: t.TempDir()})
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := range int(info.Size()) / 100 {
		if err := x.core.Load().encode(&failingWriter{n * 100}, indexcache.Key{1}); !errors.Is(err, errFull) {
			t.Fatalf("%d bytes: %v", n*100, err)
		}
	}
	if err := x.core.Load().encode(&failingWriter{int(info.Size())}, indexcache.Key{1}); err != nil {
		t.Error(err)
	}
}

// TestNoFolder has a store that cannot be: the index works without.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := memoryLimit
	memoryLimit = 0
	defer func() { memoryLimit = old }()
	log := testlog.Chaos{Threads: 1, Functions: 3, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 1000, 1)
	x := New(log, log.Runs)
	x.Keep(indexcache.Store{Folder: filepath.Join(file, "folder")}, indexcache.Key{1})
	if err := x.Build(context.Background(), nil, nil); err != nil || !x.Done() {
		t.Fatal(err)
	}
	if x.StoreError() == nil {
		t.Error("no error")
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	if err := p.differs(x); err != nil {
		t.Error(err)
	}
}

// TestMapped has an index whose memory is a temporary file.
func TestMapped(t *testing.T) {
	old := memoryLimit
	memoryLimit = 0
	defer func() { memoryLimit = old }()
	store := indexcache.Store{Folder: t.TempDir()}
	log, x, _ := kept(t, store)
	if c := x.core.Load(); c.bytes != 0 && c.refused == nil || c.refused != nil && !errors.Is(c.refused, errors.ErrUnsupported) {
		t.Errorf("%d bytes are not mapped: %v", c.bytes, c.refused)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	for range 2 {
		if err := p.differs(x); err != nil {
			t.Fatal(err)
		}
		_, x, _ = kept(t, store)
	}
	entries, err := os.ReadDir(store.Folder)
	if err != nil || len(entries) != 2 { // the index and the key
		t.Errorf("%v, %v", entries, err)
	}
}

// TestSavedTwice has several that write one file at once.
func TestSavedTwice(t *testing.T) {
	store := indexcache.Store{Folder: t.TempDir()}
	log, x, _ := kept(t, store)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				if err := x.core.Load().save(context.Background(), &store, indexcache.Key{1}); err != nil {
					t.Error(err)
				}
				c := newCore(log, calls.NewLayout(log.Runs), calls.NewAddresses(), 0, nil)
				if err := c.load(context.Background(), &store, indexcache.Key{1}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	wg.Wait()
}

// use asks an index of everything. A block that contradicts its log is refused
// as a log that was written anew; nothing else may go wrong.
func use(x *Index) {
	c := x.core.Load()
	var b Block
	for k := range c.blockCount() {
		if err := x.Fill(&b, k, ^Columns(0)); err != nil && !errors.Is(err, parser.ErrShrunk) {
			panic(err)
		}
		x.Summary(0, k)
		x.Summary(1, k)
		x.Longest(nil, 1, k)
		for slot := range x.Slots() {
			x.Top(k, uint32(slot))
		}
	}
	for i := range x.Nodes() {
		x.Node(uint32(i))
	}
	x.Level(nil, 1, x.Len()/2, x.Len())
	x.Totals()
	for _, s := range x.Segments() {
		x.SegmentTotals(s, func(uint32, *calls.Total) {})
	}
	x.Threads()
	for m := calls.None; m <= calls.NoEnter; m++ {
		x.Count(m)
	}
}

// FuzzFile damages the content of a file: whatever is taken must do no harm.
func FuzzFile(f *testing.F) {
	store := indexcache.Store{Folder: f.TempDir()}
	log, _, path := kept(f, store)
	file, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	good := unsealed(f, store, file)
	f.Add(uint32(300), []byte{255, 255, 255, 255})
	f.Add(uint32(len(good)/2), []byte{1})
	f.Add(uint32(535), []byte("0000000")) // enters and leaves in other places than the log's
	f.Fuzz(func(t *testing.T, at uint32, with []byte) {
		b := bytes.Clone(good)
		copy(b[int(at)%len(b):], with)
		x := New(log, log.Runs)
		c := newCore(log, calls.NewLayout(log.Runs), calls.NewAddresses(), 0, nil)
		if c.decode(b, indexcache.Key{1}) != nil {
			return
		}
		x.publish(c)
		use(x)
		runs := append([]parser.Run(nil), log.Runs...)
		n := int64(len(log.Events))
		runs[len(runs)-1].Count += n
		longer := &testlog.Memory{Events: append(log.Events[:n:n], log.Events...), Runs: runs}
		x.log, c.log = longer, longer
		if err := x.Extend(context.Background(), runs, nil, nil); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, parser.ErrShrunk) {
			t.Fatal(err)
		}
		use(x)
	})
}
