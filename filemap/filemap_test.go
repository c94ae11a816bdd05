package filemap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// mappedFile makes a file of n bytes, each its offset's low byte, and maps it.
func mappedFile(t *testing.T, n int) (*os.File, *Mapping) {
	t.Helper()
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i)
	}
	path := filepath.Join(t.TempDir(), "mapped")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m := New(f, int64(n))
	t.Cleanup(func() {
		m.Close()
		f.Close()
	})
	if m == nil {
		t.Skip("files are not mapped here")
	}
	return f, m
}

// uses are the ways to look at mapped bytes in place.
func uses(m *Mapping) map[string]func(off, end int64, look func(b []byte)) error {
	return map[string]func(off, end int64, look func(b []byte)) error{"Use": m.Use, "UseOnce": m.UseOnce}
}

func TestMapping(t *testing.T) {
	const n = 64 << 10
	_, m := mappedFile(t, n)
	for _, c := range []struct {
		off, n int64
		ok     bool
	}{{0, 16, true}, {n - 16, 16, true}, {n, 0, true}, {n - 15, 16, false}, {-1, 1, false}, {1 << 62, 1, false}} {
		got := make([]byte, c.n)
		err := m.Copy(got, c.off)
		if (err == nil) != c.ok {
			t.Errorf("%d bytes at %d: %v", c.n, c.off, err)
		}
		if c.ok && c.n > 0 && (got[0] != byte(c.off) || got[c.n-1] != byte(c.off+c.n-1)) {
			t.Errorf("%d bytes at %d: %x", c.n, c.off, got)
		}
	}
	for range 2 { // again, when their pages have left the process
		for name, use := range uses(m) {
			var seen []byte
			if err := use(8190, 8195, func(b []byte) { seen = bytes.Clone(b) }); err != nil || string(seen) != "\xfe\xff\x00\x01\x02" {
				t.Errorf("%s: %x, %v", name, seen, err)
			}
			if err := use(7, 7, func(b []byte) { seen = b }); err != nil || len(seen) > 0 {
				t.Errorf("%s of nothing: %x, %v", name, seen, err)
			}
			if err := use(n-1, n+1, func([]byte) { t.Errorf("%s: bytes beyond the end", name) }); err == nil {
				t.Errorf("%s: no error beyond the end", name)
			}
		}
	}
	s, ok, err := m.String(250, 300)
	if want := "\xfa\xfb\xfc\xfd\xfe\xff"; s != want || !ok || err != nil {
		t.Errorf("string %q, %v, %v", s, ok, err)
	}
	if s, ok, err := m.String(250, 255); ok || err != nil {
		t.Errorf("string without end: %q, %v", s, err)
	}
	if _, _, err := m.String(n-4, n+4); err == nil {
		t.Error("a string beyond the end")
	}
}

// TestShortenedFile shortens a file while it is mapped: an error, no crash.
func TestShortenedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be shortened here")
	}
	f, m := mappedFile(t, 64<<10)
	if err := f.Truncate(100); err != nil {
		t.Fatal(err)
	}
	if err := m.Copy(make([]byte, 16), 32<<10); err == nil {
		t.Error("bytes that are gone were read")
	}
	for name, use := range uses(m) {
		if err := use(32<<10, 33<<10, func(b []byte) { _ = bytes.Clone(b) }); err == nil {
			t.Errorf("%s: bytes that are gone", name)
		}
	}
	if s, ok, err := m.String(32<<10, 33<<10); err == nil {
		t.Errorf("a string that is gone: %q, %v", s, ok)
	}
	if err := m.Copy(make([]byte, 16), 0); err != nil {
		t.Errorf("what is left: %v", err)
	}
}

// TestGuard passes other panics on.
func TestGuard(t *testing.T) {
	other := errors.New("other")
	defer func() {
		if r := recover(); r != other {
			t.Errorf("recovered %v", r)
		}
	}()
	func() {
		var err error
		defer guard(false, &err)
		panic(other)
	}()
}

// TestCloseWhileUsed closes a mapping that others use.
func TestCloseWhileUsed(t *testing.T) {
	_, m := mappedFile(t, 64<<10)
	var users, started sync.WaitGroup
	for range 3 {
		users.Add(1)
		started.Add(1)
		go func() {
			defer users.Done()
			var last byte
			err := m.Use(0, 64<<10, func(b []byte) { last = b[len(b)-1] })
			started.Done()
			for err == nil {
				if last != 0xff {
					t.Errorf("the last byte is %#x", last)
					return
				}
				err = m.Use(0, 64<<10, func(b []byte) { last = b[len(b)-1] })
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("error %v", err)
			}
		}()
	}
	started.Wait()
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	users.Wait()
	if n := m.Size(); n != 0 {
		t.Errorf("%d bytes after it was closed", n)
	}
}
