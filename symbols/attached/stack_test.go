package attached

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"logparser/symbols"
)

func textFile(text string) *symbols.File {
	return &symbols.File{ReaderAt: strings.NewReader(text), Size: int64(len(text))}
}

// withStack returns a container with the STACK records of a symbol file, and its module.
func withStack(t testing.TB, text string) ([]byte, *Module) {
	t.Helper()
	e, err := EncodeStack(context.Background(), textFile(text))
	if err != nil {
		t.Fatal(err)
	}
	return containerOf(t, append((*Encoded)(nil).Parts(&Module{Name: "x"}, 0), e.Parts(0)...))
}

// containerOf writes a container of one module.
func containerOf(t testing.TB, parts []Part) ([]byte, *Module) {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, parts); err != nil {
		t.Fatal(err)
	}
	c, err := OpenContainer(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), c.Modules()[0]
}

// stackText returns a symbol file, and what is kept of it.
func stackText() (text, want string) {
	long := "STACK WIN 4 9000 86 13 0 8 0 e0 0 1 " + strings.Repeat("$T0 4 + ", 30_000) + "=\n"
	var all strings.Builder
	all.WriteString("MODULE Linux x86_64 0 x\nFUNC 0 10 0 STACK of cards\nSTACK CFI INIT 0 10 .cfa: $rsp 8 +\n")
	for i := range 20_000 {
		fmt.Fprintf(&all, "STACK CFI %x .cfa: $rsp %d +\n", i, 8*i)
	}
	before := all.Len()
	all.WriteString("PUBLIC 20 0 between\nFILE 1 x.c\n")
	between := all.Len()
	all.WriteString("STACK CFI 5 .cfa: $rsp 16 +\r\n" + long + "STACK CFI INIT 100 1 .cfa: $rsp")
	text = all.String()
	return text, text[strings.Index(text, "STACK CFI INIT"):before] + "\n" + text[between:]
}

// TestStackRecords: the records are kept as they are, and where something was between two there is an empty line.
func TestStackRecords(t *testing.T) {
	text, want := stackText()
	data, m := withStack(t, text)
	s, err := m.OpenStack()
	if err != nil {
		t.Fatal(err)
	}
	f := s.File()
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	if err != nil || string(got) != want {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	for _, at := range []int{0, 1, stackBlock - 3, len(want) - 5, len(want)} {
		b := make([]byte, 10)
		n, err := f.ReadAt(b, int64(at))
		if string(b[:n]) != want[at:min(at+10, len(want))] || (n < 10) != (err == io.EOF) {
			t.Errorf("at %d: %q, %v", at, b[:n], err)
		}
	}
	// Parts of an opened container are those of another one.
	again, m := containerOf(t, append((*Encoded)(nil).Parts(&Module{Name: "x"}, 0), s.Parts(0)...))
	if s2, err := m.OpenStack(); err != nil || s2.size != s.size || !bytes.Equal(again, data) {
		t.Errorf("%v", err)
	}
	if e, err := EncodeStack(context.Background(), textFile("MODULE Linux x86_64 0 x\nSTACKED 1\n")); e != nil || err != nil || e.Size() != 0 || e.Parts(0) != nil {
		t.Errorf("of a file without records: %v, %v", e, err)
	}
	if _, none := containerOf(t, (*Encoded)(nil).Parts(&Module{Name: "x"}, 0)); none != nil {
		if _, err := none.OpenStack(); !errors.Is(err, ErrNoUnwind) {
			t.Errorf("of a module without records: %v", err)
		}
	}
}

// TestSecondStackReader holds the description in docs/formats.md against what is written.
func TestSecondStackReader(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("zstd is not installed")
	}
	text, want := stackText()
	data, _ := withStack(t, text)
	n := &naive{t: t, data: data}
	got := ""
	for _, b := range n.blocks(n.part(8)) {
		if b.key != uint64(len(got)) {
			t.Errorf("a block of the key %d at %d", b.key, len(got))
		}
		got += string(b.columns[0])
	}
	if got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
}

// TestHostileStack: text that is much larger than what is stored of it, and keys that are not where a block lies, are refused.
func TestHostileStack(t *testing.T) {
	w := &blockWriter{w: io.Discard}
	var packed bytes.Buffer
	w.w = &packed
	for i := range uint64(64) {
		if err := w.add(i*maxBlock, make([]byte, maxBlock)); err != nil {
			t.Fatal(err)
		}
	}
	parts := append((*Encoded)(nil).Parts(&Module{Name: "x"}, 0), bytesPart(KindStack, 0, append(w.head(), packed.Bytes()...)))
	if _, m := containerOf(t, parts); m != nil {
		if _, err := m.OpenStack(); !errors.Is(err, ErrFormat) {
			t.Errorf("%d bytes of %d: %v", packed.Len(), 64*maxBlock, err)
		}
	}
	data, _ := withStack(t, "STACK CFI INIT 0 10 .cfa: $rsp 8 +\n")
	index := data[binary.LittleEndian.Uint64(data[headerSize+entrySize+8:]):]
	binary.LittleEndian.PutUint64(index[indexHead:], 1)
	data = repaired(data)
	c, err := OpenContainer(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Modules()[0].OpenStack(); !errors.Is(err, ErrFormat) {
		t.Errorf("a block with another key: %v", err)
	}
}
