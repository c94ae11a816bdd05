package image

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestShortenedImage shortens an image below a section that was opened.
func TestShortenedImage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a mapped file cannot be shortened here")
	}
	path := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(path, storedSection(t), 0o644); err != nil {
		t.Fatal(err)
	}
	im := openPath(t, path)
	c, err := im.Section(".debug_info").Content()
	if err != nil || c.mem != nil {
		t.Fatalf("in memory: %v, %v", c.mem != nil, err)
	}
	if b, err := c.Bytes(2<<20, 16); err != nil || !bytes.Equal(b, bytes.Repeat([]byte{7}, 16)) {
		t.Fatalf("%x, %v", b, err)
	}
	var seen []byte
	look := func(b []byte) { seen = bytes.Clone(b) }
	if !c.UseOnce(2<<20, 16, look) || !bytes.Equal(seen, bytes.Repeat([]byte{7}, 16)) {
		t.Fatalf("%x", seen)
	}
	for _, at := range [][2]int64{{-1, 1}, {0, -1}, {c.Size(), 1}, {c.Size() + 1, 0}} {
		if c.UseOnce(at[0], at[1], look) {
			t.Errorf("%d bytes at %d", at[1], at[0])
		}
	}
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if b, err := c.Bytes(2<<20, 16); err == nil {
		t.Errorf("read %x of what is gone", b)
	}
	if c.UseOnce(2<<20, 16, look) {
		t.Errorf("looked at what is gone")
	}
	if s, err := c.String(2 << 20); err == nil {
		t.Errorf("read %q of what is gone", s)
	}
}
