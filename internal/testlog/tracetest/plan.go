package tracetest

import (
	"hash/fnv"
	"io"

	"logparser/parser/trace/wire"
)

// Plan returns the body of a PLAN with the piece of a plan's text from one byte to another.
func Plan(text string, from, to int) []byte {
	h := fnv.New64a()
	io.WriteString(h, text) // which never fails
	b := wire.Plan{Hash: h.Sum64(), Size: uint32(len(text)), Offset: uint32(from), Piece: []byte(text[from:to])}.Append(nil)
	return append(b, make([]byte, -len(b)&7)...)
}
