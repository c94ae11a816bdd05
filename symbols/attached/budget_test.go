package attached

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
)

// A countingReader counts how often it is read.
type countingReader struct {
	io.ReaderAt
	reads int
}

func (r *countingReader) ReadAt(p []byte, at int64) (int, error) {
	r.reads++
	return r.ReaderAt.ReadAt(p, at)
}

// TestDamagedBlockIsReadOnce looks many addresses up whose block is damaged: its error is known after the first.
func TestDamagedBlockIsReadOnce(t *testing.T) {
	table := openFile(t, "../mapfile/testdata/bfd.map")
	ranges, err := CodeOfTable(table)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := encodeFile(t, table, ranges)
	c, err := OpenContainer(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := c.part(KindRuns, 0)
	b[e.offset+e.length-1] ^= 1
	r := &countingReader{ReaderAt: bytes.NewReader(b)}
	if c, err = OpenContainer(r, int64(len(b))); err != nil {
		t.Fatal(err)
	}
	damaged, err := c.Modules()[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	r.reads = 0
	for i := range uint64(1000) {
		if _, err := damaged.Lookup(ranges[0].Lo + i); !errors.Is(err, ErrFormat) {
			t.Fatalf("look-up %d: %v", i, err)
		}
	}
	if r.reads > 1 {
		t.Errorf("the damaged block was read %d times", r.reads)
	}
}

// TestPartsApart refuses a container whose parts lie over each other, or over the directory.
func TestPartsApart(t *testing.T) {
	parts := []Part{bytesPart(KindFile, 0, make([]byte, 100)), bytesPart(KindFile, 1, nil), bytesPart(KindFile, 2, make([]byte, 50))}
	var b bytes.Buffer
	if err := Write(&b, parts); err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	const begin = headerSize + 3*entrySize
	for _, test := range []struct {
		at uint64 // of the last part
		ok bool
	}{{begin + 100, true}, {begin + 99, false}, {begin, false}, {begin - 60, false}} {
		c := bytes.Clone(b.Bytes())
		le.PutUint64(c[headerSize+2*entrySize+8:], test.at)
		le.PutUint32(c[28:], checksum(c[headerSize:begin]))
		if _, err := OpenContainer(bytes.NewReader(c), int64(len(c))); (err == nil) != test.ok || !test.ok && !errors.Is(err, ErrFormat) {
			t.Errorf("a part at %d of %d: %v", test.at, len(c), err)
		}
	}
}
