package index

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"logparser/calls/indexcache"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
)

// TestFullFileSystem has a store on a file system of 64 KiB: neither the file
// nor memory beyond the limit find room there, and the index does without.
func TestFullFileSystem(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("no small file system can be mounted: ", err)
	}
	defer syscall.Unmount(folder, 0)
	old := memoryLimit
	memoryLimit = 0
	defer func() { memoryLimit = old }()
	smallBlocks(t, 16)
	log := testlog.Chaos{Threads: 3, Functions: 20, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 10_000, 1)
	x := New(log, log.Runs)
	x.Keep(indexcache.Store{Folder: folder}, indexcache.Key{1})
	if err := x.Build(context.Background(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := x.StoreError(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the error is %v", err)
	}
	store := indexcache.Store{Folder: folder}
	if err := store.Note(indexcache.Key{2}, make([]byte, 128<<10)); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a note: %v", err)
	}
	if c := x.core.Load(); !errors.Is(c.refused, syscall.ENOSPC) || c.bytes == 0 {
		t.Errorf("%d bytes, %v", c.bytes, c.refused)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != "index.key" {
		t.Errorf("%v, %v", entries, err)
	}
	p := expect(t, log, log.Runs, oracle.Options{})
	if err := p.differs(x); err != nil {
		t.Error(err)
	}
}

// TestPipes has pipes where an index and a note are looked for.
func TestPipes(t *testing.T) {
	store := indexcache.Store{Folder: t.TempDir()}
	log := testlog.Chaos{Threads: 3, Functions: 20, Enters: 50}.Log(rand.New(rand.NewPCG(1, 1)), 100, 1)
	x := New(log, log.Runs)
	x.Keep(store, indexcache.Key{1})
	for _, path := range []string{store.Path(indexcache.Key{1}), store.File(indexcache.Key{1}, indexcache.NoteSuffix)} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip("no pipe can be made: ", err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := x.Build(context.Background(), nil, nil); err != nil || x.StoreError() != nil {
			t.Error(err, x.StoreError())
		}
		if note := store.Noted(indexcache.Key{1}); note != nil {
			t.Errorf("a note: %q", note)
		}
		if notes := store.NotesOfLog(indexcache.Key{1}); len(notes) > 0 {
			t.Errorf("notes: %v", notes)
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it hangs")
	}
}
