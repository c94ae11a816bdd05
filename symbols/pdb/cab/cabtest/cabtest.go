// Package cabtest writes cabinets, so that tests can have those of symbol stores
// without the tools that make them. Only tests import it.
package cabtest

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
)

// The kinds of compression.
const (
	Stored = 0
	MSZIP  = 1
)

const (
	// frame is the content of every block but the last, in bytes.
	frame      = 32 << 10
	folderSize = 8
	hasReserve = 1 << 2
)

// A Block is a block of a cabinet as it is stored, and the size of its content.
type Block struct {
	Packed []byte
	Size   int
}

// Frames divides the content of a folder into blocks.
func Frames(content []byte, pack func([]byte) []byte) []Block {
	var blocks []Block
	for len(content) > 0 {
		n := min(len(content), frame)
		blocks = append(blocks, Block{Packed: pack(content[:n]), Size: n})
		content = content[n:]
	}
	return blocks
}

// Zip packs the content of a folder of the kind MSZIP.
func Zip(content []byte) []Block {
	var before []byte
	return Frames(content, func(b []byte) []byte {
		out := bytes.NewBufferString("CK")
		w, err := flate.NewWriterDict(out, 6, before)
		if err != nil {
			panic(err) // there is no such level
		}
		w.Write(b) // to memory
		w.Close()
		before = b
		return out.Bytes()
	})
}

// Build makes a cabinet of one folder with one file, with reserved bytes
// everywhere if reserve is set.
func Build(kind uint16, blocks []Block, name string, offset, size int, reserve bool) []byte {
	le := binary.LittleEndian
	flags, extra := uint16(0), 0
	if reserve {
		flags, extra = hasReserve, 3
	}
	var b []byte
	b = append(b, "MSCF"...)
	b = append(b, make([]byte, 22)...)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, flags)
	b = append(b, make([]byte, 4)...)
	if reserve {
		b = le.AppendUint16(b, 5)
		b = append(b, 3, 3)
		b = append(b, "12345"...)
	}
	folder := len(b)
	b = append(b, make([]byte, folderSize+extra)...)
	le.PutUint16(b[folder+4:], uint16(len(blocks)))
	le.PutUint16(b[folder+6:], kind)
	le.PutUint32(b[16:], uint32(len(b)))
	b = le.AppendUint32(b, uint32(size))
	b = le.AppendUint32(b, uint32(offset))
	b = append(b, make([]byte, 8)...)
	b = append(b, name...)
	b = append(b, 0)
	le.PutUint32(b[folder:], uint32(len(b)))
	for _, k := range blocks {
		b = le.AppendUint32(b, 0)
		b = le.AppendUint16(b, uint16(len(k.Packed)))
		b = le.AppendUint16(b, uint16(k.Size))
		b = append(b, make([]byte, extra)...)
		b = append(b, k.Packed...)
	}
	le.PutUint32(b[8:], uint32(len(b)))
	return b
}
