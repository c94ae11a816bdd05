// Package msftest writes multi-stream files, so that tests can have PDBs of
// every page size and shape. Only tests import it.
package msftest

import (
	"encoding/binary"
	"io"
	"testing"

	"logparser/symbols/pdb/msf"
)

// A File is a multi-stream file to be written.
type File struct {
	// PageSize is the size of a page in bytes.
	PageSize int
	// Streams are the streams' contents. A nil one does not exist.
	Streams [][]byte
	// FirstPage is the number of the first page that is used behind the
	// superblock; those between do not take space in memory. 0 means 3.
	FirstPage uint32
	// Scatter lays the streams' pages in reverse order.
	Scatter bool
}

// Load returns the streams of a file that was written by somebody else.
func Load(t testing.TB, r io.ReaderAt, size int64) *File {
	t.Helper()
	m, err := msf.Open(r, size)
	if err != nil {
		t.Fatal(err)
	}
	f := &File{PageSize: m.PageSize()}
	for i := range m.NumStreams() {
		s, err := m.Stream(i)
		if err != nil {
			t.Fatal(err)
		}
		b, err := s.Read(0, s.Size())
		if err != nil {
			t.Fatal(err)
		}
		f.Streams = append(f.Streams, b)
	}
	return f
}

// Bytes returns the file. FirstPage must be 0.
func (f *File) Bytes() []byte {
	r, size := f.ReaderAt()
	b := make([]byte, size)
	if _, err := r.ReadAt(b, 0); err != nil && err != io.EOF {
		panic(err)
	}
	return b
}

// ReaderAt returns the file as something to read from, and its size in bytes.
func (f *File) ReaderAt() (io.ReaderAt, int64) {
	first := max(f.FirstPage, 3)
	ps := f.PageSize
	var pages [][]byte
	add := func(b []byte) []uint32 {
		var list []uint32
		for len(b) > 0 {
			page := make([]byte, ps)
			n := copy(page, b)
			b = b[n:]
			list = append(list, first+uint32(len(pages)))
			pages = append(pages, page)
		}
		return list
	}
	dir := binary.LittleEndian.AppendUint32(nil, uint32(len(f.Streams)))
	var lists []byte
	for _, s := range f.Streams {
		if s == nil {
			dir = binary.LittleEndian.AppendUint32(dir, 0xFFFFFFFF)
			continue
		}
		dir = binary.LittleEndian.AppendUint32(dir, uint32(len(s)))
		at := len(pages)
		list := add(s)
		if f.Scatter {
			for i, j := at, len(pages)-1; i < j; i, j = i+1, j-1 {
				pages[i], pages[j] = pages[j], pages[i]
			}
			for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
				list[i], list[j] = list[j], list[i]
			}
		}
		lists = appendWords(lists, list)
	}
	dir = append(dir, lists...)
	root := add(appendWords(nil, add(dir)))

	head := make([]byte, ps)
	copy(head, msf.Magic)
	for i, v := range []uint32{uint32(ps), 1, first + uint32(len(pages)), uint32(len(dir)), 0} {
		binary.LittleEndian.PutUint32(head[32+4*i:], v)
	}
	copy(head[52:], appendWords(nil, root))
	return &image{head, pages, int64(first), int64(ps)}, (int64(first) + int64(len(pages))) * int64(ps)
}

func appendWords(b []byte, words []uint32) []byte {
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return b
}

// image reads as a file whose pages from 1 to first are zero.
type image struct {
	head     []byte
	pages    [][]byte
	first    int64
	pageSize int64
}

func (m *image) ReadAt(p []byte, off int64) (int, error) {
	done := 0
	for done < len(p) {
		page, within := off/m.pageSize, off%m.pageSize
		n := min(int(m.pageSize-within), len(p)-done)
		switch i := page - m.first; {
		case page == 0:
			copy(p[done:done+n], m.head[within:])
		case i < 0:
			clear(p[done : done+n])
		case i < int64(len(m.pages)):
			copy(p[done:done+n], m.pages[i][within:])
		default:
			return done, io.EOF
		}
		done += n
		off += int64(n)
	}
	return done, nil
}
