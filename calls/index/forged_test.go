package index

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/pairing"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

// A spacedLog has as many spaces as its events need.
type spacedLog struct {
	*testlog.Broken
	spaces int
}

func (l *spacedLog) Spaces(int) []parser.Space { return make([]parser.Space, l.spaces) }

// A field is a number in the content of a kept file.
type field struct {
	name     string
	at, size int
}

// fieldsOf returns the numbers of the file of an index: all of the head, and of
// each array those of the first, the last and one element between.
func fieldsOf(t *testing.T, content []byte, levels int) []field {
	t.Helper()
	var list []field
	at := 0
	array := func(element any) {
		n := int(binary.NativeEndian.Uint64(content[at:]))
		list = append(list, field{"the length of an array", at, 8})
		at += 8
		typ := reflect.TypeOf(element)
		var add func(typ reflect.Type, name string, at int)
		add = func(typ reflect.Type, name string, at int) {
			switch typ.Kind() {
			case reflect.Struct:
				for i := range typ.NumField() {
					add(typ.Field(i).Type, name+"."+typ.Field(i).Name, at+int(typ.Field(i).Offset))
				}
			case reflect.Array:
				for i := range min(typ.Len(), 40) {
					add(typ.Elem(), name, at+i*int(typ.Elem().Size()))
				}
			default:
				list = append(list, field{name, at, int(typ.Size())})
			}
		}
		for i := range n {
			if i == 0 || i == n/2 || i == n-1 {
				add(typ, typ.Name(), at+i*int(typ.Size()))
			}
		}
		at += (n*int(typ.Size()) + 7) &^ 7
	}
	array(fileHead{})
	array(byte(0))
	array(fileThread{})
	array(fileStrand{})
	array(fileAddress{})
	array(sum{})
	array(octaveCounts{})
	array(pairing.Node{})
	for range levels {
		array(Summary{})
		array(pairing.Longest{})
	}
	array(place{})
	array(checkpoint{})
	array(byte(0))
	array(keptSegment{})
	array(byte(0))
	array(uint32(0))
	if at != len(content) {
		t.Fatalf("the content has %d bytes, %d are known", len(content), at)
	}
	return list
}

// TestForgedFiles changes every field of a kept file, as somebody does who knows
// the format: sealed with another key it is never taken, and the index is what the
// log says; even with the store's own key nothing panics.
func TestForgedFiles(t *testing.T) {
	c := testlog.Chaos{Threads: 3, Functions: 20, Enters: 50, Foreign: true, Unwind: 2, Stray: 2, Gap: 1, Begin: 1, Damage: 1, Pause: 2}
	t.Run("damage", func(t *testing.T) { forge(t, c, "", 1200) })
	// No format has both.
	c.Damage, c.Coroutines, c.Left = 0, 3, 2
	t.Run("coroutines", func(t *testing.T) { forge(t, c, "fileStrand.", 30) })
}

// forge changes the fields of the kept index of a log whose names begin with prefix, in at
// least so many ways.
func forge(t *testing.T, c testlog.Chaos, prefix string, least int) {
	store, attacker := indexcache.Store{Folder: t.TempDir()}, indexcache.Store{Folder: t.TempDir()}
	smallBlocks(t, 16)
	plain := c.Log(rand.New(rand.NewPCG(5, 5)), 403, 2)
	log := &spacedLog{Broken: plain}
	for _, e := range plain.Events {
		log.spaces = max(log.spaces, int(e.Space)+1)
	}
	build := func() *Index {
		x := New(log, log.Runs)
		x.Keep(store, indexcache.Key{1})
		if err := x.Build(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		return x
	}
	levels := len(build().core.Load().groups)
	path := store.Path(indexcache.Key{1})
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := attacker.Note(indexcache.Key{1}, nil); err != nil { // makes its key
		t.Fatal(err)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	content := unsealed(t, store, good)
	r := rand.New(rand.NewPCG(3, 4))
	variants, taken := 0, 0
	for _, f := range fieldsOf(t, content, levels) {
		if !strings.HasPrefix(f.name, prefix) {
			continue
		}
		for _, value := range []uint64{0, 1<<(8*f.size) - 1, r.Uint64() >> r.IntN(64)} {
			forged := bytes.Clone(content)
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], value)
			if copy(forged[f.at:f.at+f.size], b[:]); bytes.Equal(forged, content) {
				continue
			}
			variants++
			change := func([]byte) []byte { return forged }
			write := func(s indexcache.Store) {
				other := good
				if s == attacker {
					other, _ = os.ReadFile(attacker.File(indexcache.Key{1}, indexcache.NoteSuffix))
				}
				if err := os.WriteFile(path, sealed(t, s, change, other), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(attacker)
			c := newCore(log, calls.NewLayout(log.Runs), calls.NewAddresses(), 0, nil)
			if err := c.load(context.Background(), &store, indexcache.Key{1}); err == nil {
				t.Fatalf("%s at %d = %#x: a file with another's seal is taken", f.name, f.at, value)
			}
			if variants%50 == 0 {
				if err := p.differs(build()); err != nil {
					t.Fatalf("%s at %d = %#x: %v", f.name, f.at, value, err)
				}
			}
			write(store)
			c = newCore(log, calls.NewLayout(log.Runs), calls.NewAddresses(), 0, nil)
			if c.load(context.Background(), &store, indexcache.Key{1}) != nil {
				continue
			}
			taken++
			x := New(log, log.Runs)
			x.publish(c)
			use(x)
			for i := range c.addresses.Len() {
				a := c.addresses.At(i)
				_ = log.Spaces(int(a.Run))[a.Space]
			}
		}
	}
	if variants < least || taken == 0 {
		t.Errorf("%d variants, of which %d were taken with the store's own key", variants, taken)
	}
	t.Logf("%d variants, %d taken with the store's own key, none without", variants, taken)
}

// TestForeignFiles has files, links and keys in a store that are not its user's.
func TestForeignFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("whose a file is its folder's permissions say there")
	}
	store := indexcache.Store{Folder: t.TempDir()}
	log, _, path := kept(t, store)
	key := filepath.Join(store.Folder, "index.key")
	load := func() error {
		return newCore(log, calls.NewLayout(log.Runs), calls.NewAddresses(), 0, nil).load(context.Background(), &store, indexcache.Key{1})
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	elsewhere := filepath.Join(t.TempDir(), "index")
	if err := os.Rename(path, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if load() == nil {
		t.Error("a link was followed")
	}
	if err := os.Rename(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	if err := load(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{path, key} {
		if os.Geteuid() != 0 {
			break // nobody else can give files away
		}
		if err := os.Chown(file, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if load() == nil {
			t.Errorf("%s of another user was taken", filepath.Base(file))
		}
		if err := os.Chown(file, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if load() == nil {
		t.Error("a key that all can read is taken")
	}
	// Another key is made, and what it did not seal is not taken.
	refuses(t, log, store, "after its key was shown")
	if err := load(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(key, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, log, store, "after its key was cut")
	if err := load(); err != nil {
		t.Error(err)
	}
}
