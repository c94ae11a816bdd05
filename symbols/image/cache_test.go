package image

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"logparser/symbols"
)

// openCached opens a compressed file whose inflated sections are kept below a
// folder.
func openCached(t *testing.T, data []byte, cache string) *Image {
	t.Helper()
	im, err := Open(&symbols.File{Path: "big", ReaderAt: bytes.NewReader(data), Size: int64(len(data)), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.FreeScratch() })
	return im
}

// sevens checks the contents of debugFile's section.
func sevens(t *testing.T, im *Image) *Content {
	t.Helper()
	c, err := im.Section(".debug_info").Content()
	if err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte{7}, 100<<10)
	for _, off := range []int64{0, 1 << 20, 3<<20 - 100<<10} {
		if b, err := c.Bytes(off, 100<<10); err != nil || !bytes.Equal(b, want) {
			t.Errorf("wrong bytes at %#x, %v", off, err)
		}
	}
	return c
}

func kept(c *Content) bool { return c.backing.Load().sums != nil }

const entry = "inflated/7468656275696c64/debug_info"

func TestCache(t *testing.T) {
	data, cache := bigSection(t), t.TempDir()
	path := filepath.Join(cache, entry)
	im := openCached(t, data, cache)
	if c := sevens(t, im); !kept(c) || len(im.scratch.files) != 1 {
		t.Errorf("kept: %v, %d files", kept(c), len(im.scratch.files))
	}
	first, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if c := sevens(t, openCached(t, data, cache)); !kept(c) {
		t.Error("the second opening did not find the entry")
	}
	if again, err := os.Stat(path); err != nil || !again.ModTime().Equal(first.ModTime()) {
		t.Errorf("the second opening made the entry anew: %v", err)
	}
	// Without a folder, or a build-id, nothing is kept.
	if c := sevens(t, openCached(t, data, "")); kept(c) {
		t.Error("kept without a folder")
	}
	other := bytes.Replace(data, []byte("GNU\x00thebuild"), []byte("GNO\x00thebuild"), 1)
	if c := sevens(t, openCached(t, other, cache)); kept(c) {
		t.Error("kept without a build-id")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestDamagedCache damages an entry in every way that matters: what is read is
// right all the same.
func TestDamagedCache(t *testing.T) {
	if testing.Short() {
		t.Skip("many damaged files")
	}
	data := bigSection(t)
	for _, c := range []struct {
		name   string
		damage func(entry []byte) []byte
		// kept says that only reading tells the damage.
		kept bool
	}{
		{"first byte", func(b []byte) []byte { b[0]++; return b }, true},
		{"last byte", func(b []byte) []byte { b[3<<20-1]++; return b }, true},
		{"checksum", func(b []byte) []byte { b[3<<20]++; return b }, false},
		{"version", func(b []byte) []byte { b[len(b)-footerSize+7]++; return b }, false},
		{"what it was made of", func(b []byte) []byte { b[len(b)-footerSize+24]++; return b }, false},
		{"cut", func(b []byte) []byte { return b[:len(b)-1] }, false},
		{"empty", func(b []byte) []byte { return nil }, false},
		{"longer", func(b []byte) []byte { return append(b, 0) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cache := t.TempDir()
			path := filepath.Join(cache, entry)
			sevens(t, openCached(t, data, cache))
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, c.damage(bytes.Clone(whole)), 0o644); err != nil {
				t.Fatal(err)
			}
			content := sevens(t, openCached(t, data, cache))
			if kept(content) == c.kept {
				t.Errorf("read from the entry: %v", kept(content))
			}
			if c.kept {
				// The damaged entry is gone, and the next opening makes another.
				if _, err := os.Stat(path); err == nil {
					t.Error("the damaged entry is still there")
				}
				sevens(t, openCached(t, data, cache))
			}
			if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, whole) {
				t.Errorf("the entry was not made anew: %d bytes, %v", len(again), err)
			}
		})
	}
}

// TestForeignEntry has an entry of the same name that was made of other bytes.
func TestForeignEntry(t *testing.T) {
	data, cache := bigSection(t), t.TempDir()
	sevens(t, openCached(t, data, cache))
	// The stream's own checksum is its last four bytes, in front of the note.
	i := bytes.Index(data, []byte("\x04\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00GNU"))
	data[i-1]++
	im := openCached(t, data, cache)
	if back := im.Section(".debug_info").openEntry(filepath.Join(cache, entry)); back != nil {
		t.Error("the other file's entry was taken")
	}
}

// TestUnwritableCache has a file where the folder should be.
func TestUnwritableCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(cache, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if c := sevens(t, openCached(t, bigSection(t), cache)); kept(c) {
		t.Error("kept below a file")
	}
}

// TestStaleParts removes what was left over, and only that.
func TestStaleParts(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"old" + partSuffix + "1", "new" + partSuffix + "1", "old"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if name[:3] == "old" {
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(-2*staleAfter)); err != nil {
				t.Fatal(err)
			}
		}
	}
	removeStale(dir)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestInflate inflates ahead of time, and closes while that goes on.
func TestInflate(t *testing.T) {
	data := bigSection(t)
	im := openCached(t, data, "")
	im.Inflate("info", "line")
	sevens(t, im)
	im = openCached(t, data, "")
	im.Inflate("info")
	if err := im.FreeScratch(); err != nil {
		t.Error(err)
	}
	if files := im.scratch.files; len(files) != 0 {
		t.Errorf("%d files left", len(files))
	}
}

// TestCacheConcurrent has several readers find the same damage.
func TestCacheConcurrent(t *testing.T) {
	data, cache := bigSection(t), t.TempDir()
	sevens(t, openCached(t, data, cache))
	path := filepath.Join(cache, entry)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole[1<<20]++
	if err := os.WriteFile(path, whole, 0o644); err != nil {
		t.Fatal(err)
	}
	im := openCached(t, data, cache)
	var readers sync.WaitGroup
	for range 4 {
		readers.Add(1)
		go func() {
			defer readers.Done()
			sevens(t, im)
		}()
	}
	readers.Wait()
}
