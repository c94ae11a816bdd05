package msf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"logparser/symbols/pdb/msf"
	"logparser/symbols/pdb/msf/msftest"
	"logparser/symbols/symtest"
)

// pattern returns n bytes that tell where they are.
func pattern(seed, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(seed*31 + i + i>>8)
	}
	return b
}

func TestPageSizes(t *testing.T) {
	for size := 512; size <= 65536; size *= 2 {
		for _, scatter := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d scattered %v", size, scatter), func(t *testing.T) {
				in := &msftest.File{PageSize: size, Scatter: scatter, Streams: [][]byte{
					{}, pattern(1, 100), nil, pattern(2, size), pattern(3, size+1), pattern(4, 5*size-1),
				}}
				b := in.Bytes()
				f, err := msf.Open(bytes.NewReader(b), int64(len(b)))
				if err != nil {
					t.Fatal(err)
				}
				if f.NumStreams() != len(in.Streams) || f.PageSize() != size {
					t.Fatalf("%d streams, page size %d", f.NumStreams(), f.PageSize())
				}
				for i, want := range in.Streams {
					s, err := f.Stream(i)
					if err != nil {
						t.Fatal(err)
					}
					got, err := s.Read(0, s.Size())
					if err != nil || !bytes.Equal(got, want) {
						t.Errorf("stream %d: %d bytes, %v; want %d", i, len(got), err, len(want))
					}
					for off := 0; off+7 <= len(want); off += 61 {
						if got, err := s.Read(int64(off), 7); err != nil || !bytes.Equal(got, want[off:off+7]) {
							t.Fatalf("stream %d at %d: % x, %v", i, off, got, err)
						}
					}
					var w msf.Window
					if err := w.Reset(s, 0, s.Size()); err != nil {
						t.Fatal(err)
					}
					for off := 0; off < len(want); off += 333 {
						n := min(500, len(want)-off)
						if got, err := w.Bytes(int64(off), n); err != nil || !bytes.Equal(got, want[off:off+n]) {
							t.Fatalf("stream %d: window at %d: %v", i, off, err)
						}
					}
				}
				if _, err := f.Stream(6); !errors.Is(err, msf.ErrNoStream) {
					t.Errorf("stream 6: %v", err)
				}
			})
		}
	}
}

// TestBeyondFourGigabytes has its streams behind the offsets that 32 bits can
// hold.
func TestBeyondFourGigabytes(t *testing.T) {
	in := &msftest.File{PageSize: 4096, FirstPage: 3 << 20, Streams: [][]byte{{}, pattern(1, 10000)}}
	r, size := in.ReaderAt()
	if size < 12<<30 {
		t.Fatalf("the file has %d bytes", size)
	}
	f, err := msf.Open(r, size)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(0, s.Size()); err != nil || !bytes.Equal(got, in.Streams[1]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestManyPages has a directory whose list of pages needs several pages
// itself.
func TestManyPages(t *testing.T) {
	in := &msftest.File{PageSize: 512, Streams: [][]byte{{}, pattern(1, 20<<20)}}
	b := in.Bytes()
	f, err := msf.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Stream(1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Read(0, s.Size()); err != nil || !bytes.Equal(got, in.Streams[1]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestRefused(t *testing.T) {
	good := (&msftest.File{PageSize: 512, Streams: [][]byte{{}, pattern(1, 1000), pattern(2, 600)}}).Bytes()
	word := func(off int, v uint32) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[off:], v)
		return b
	}
	// The directory lies in the page that the only root page lists.
	root := int(binary.LittleEndian.Uint32(good[52:])) * 512
	dir := int(binary.LittleEndian.Uint32(good[root:])) * 512
	for _, c := range []struct {
		name string
		file []byte
		err  error
		text string
	}{
		{"empty", nil, msf.ErrMagic, ""},
		{"text", []byte(strings.Repeat("nothing of the kind ", 10)), msf.ErrMagic, ""},
		{"magic only", good[:40], msf.ErrCut, "needs 52 bytes, the file has 40"},
		{"cut in the superblock", good[:511], msf.ErrCut, "pages of 512 bytes need"},
		{"cut by a byte", good[:len(good)-1], msf.ErrCut, fmt.Sprintf("the file has %d", len(good)-1)},
		{"page size 0", word(32, 0), msf.ErrDamaged, "page size 0 at offset 32"},
		{"page size 256", word(32, 256), msf.ErrDamaged, "page size 256"},
		{"page size 131072", word(32, 131072), msf.ErrDamaged, "page size 131072"},
		{"page size 513", word(32, 513), msf.ErrDamaged, "page size 513"},
		{"too many pages", word(40, 1<<31), msf.ErrCut, "pages of 512 bytes need"},
		{"directory of no bytes", word(44, 0), msf.ErrDamaged, "directory of 0 bytes"},
		{"huge directory", word(44, 1<<31), msf.ErrDamaged, "directory of 2147483648 bytes"},
		{"root page outside", word(52, 1<<20), msf.ErrDamaged, "root page 0 is number 1048576"},
		{"directory page outside", word(root, 1<<20), msf.ErrDamaged, "directory page 0 is number 1048576"},
		{"too many streams", word(dir, 1<<30), msf.ErrDamaged, "lists 1073741824 streams"},
		{"huge stream", word(dir+8, 1<<30), msf.ErrDamaged, "stream 1 needs 2097152 pages"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := msf.Open(bytes.NewReader(c.file), int64(len(c.file)))
			if !errors.Is(err, c.err) || !strings.Contains(fmt.Sprint(err), c.text) {
				t.Errorf("got %v, want %v with %q", err, c.err, c.text)
			}
		})
	}
	t.Run("page of a stream outside", func(t *testing.T) {
		b := word(dir+4+3*4, 1<<20)
		f, err := msf.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		s, _ := f.Stream(1)
		if _, err := s.Read(0, 1000); !errors.Is(err, msf.ErrDamaged) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("streams share pages", func(t *testing.T) {
		in := &msftest.File{PageSize: 512}
		for range 100 {
			in.Streams = append(in.Streams, pattern(1, 512))
		}
		b := in.Bytes()
		// A file of few pages whose directory lists 100 streams of one page.
		b = b[:len(b)-90*512]
		binary.LittleEndian.PutUint32(b[40:], uint32(len(b)/512))
		f, err := msf.Open(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			t.Errorf("opened %d streams in %d pages", f.NumStreams(), len(b)/512)
		}
	})
}

// failing reads nothing.
type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func TestReadError(t *testing.T) {
	if _, err := msf.Open(failing{}, 1<<20); err == nil {
		t.Error("no error")
	}
}

// TestHostile damages files of every page size.
func TestHostile(t *testing.T) {
	for size := 512; size <= 65536; size *= 2 {
		b := (&msftest.File{PageSize: size, Streams: [][]byte{{}, pattern(1, 3*size), nil, pattern(2, 600)}}).Bytes()
		symtest.Hostile(t, fmt.Sprint("pages of ", size), b, symtest.Rounds(100), func(data []byte) {
			file, err := msf.Open(bytes.NewReader(data), int64(len(data)))
			if err != nil {
				return
			}
			for i := range min(file.NumStreams(), 1000) {
				if s, err := file.Stream(i); err == nil {
					s.Read(0, s.Size())
				}
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	f.Add((&msftest.File{PageSize: 512, Streams: [][]byte{{}, pattern(1, 1000), nil, pattern(2, 600)}}).Bytes())
	f.Add((&msftest.File{PageSize: 4096, Streams: [][]byte{{}, pattern(1, 5000)}}).Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := msf.Open(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		total := int64(0)
		for i := range file.NumStreams() {
			s, err := file.Stream(i)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				total += s.Size()
			}
			if total > int64(len(b)) {
				t.Fatalf("streams of %d bytes in a file of %d", total, len(b))
			}
			s.Read(0, s.Size())
		}
	})
}
