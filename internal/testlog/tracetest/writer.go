// Package tracetest makes traces for tests and benchmarks: a generator of random programs, and
// what writes them, which is that of package tracefile.
package tracetest

import (
	"io"

	"logparser/parser/trace/tracefile"
	"logparser/parser/trace/wire"
)

// Kinds of addresses in a trace.
const (
	Entry  = wire.Entry
	Return = wire.Return
)

// A Writer writes a trace, and a Thread a stream of it.
type (
	Writer = tracefile.Writer
	Thread = tracefile.Thread
)

// NewWriter begins a trace. f may be nil for a trace of which only the chunks'
// number of bytes matters.
func NewWriter(f io.WriterAt) *Writer { return tracefile.NewWriter(f) }
