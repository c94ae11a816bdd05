package rows

import "time"

// A Brief is a row in the 48 bytes that nearly all rows are made of, where a [Row] has 300: rows that
// are written as text pass through the processor's first cache twice, and texts took twice as
// long with whole ones.
type Brief struct {
	// Elapsed is the row's, from 0 on and less than a hundred years.
	Elapsed int64
	// Duration is the row's, [Exact] and of a call that a leave has closed.
	Duration int64
	// Place is what the row has from Function to Symbols. Number tells places apart, but for a few:
	// it counts from 0, so that what is kept of places can be found by it.
	Place  *Place
	Number uint32
	// Depth is the row's.
	Depth int32
	// Strand is where the row is.
	Strand *Strand
	// Whole is 0 where the row has nothing besides: neither note nor values. Else the rest says nothing,
	// and the row is element Whole-1 of the list's Whole.
	Whole uint16
	// Event is Enter or Leave.
	Event Event
}

// A Strand is the stack of calls that a row is on. It does not change.
type Strand struct {
	Thread, Stack uint32
	Process       *Process
}

// BlockLen is how many rows are best read at a time, from a multiple of it on: the rows of a block of the index, whose calls
// are then paired once.
const BlockLen = 8192

// MaxBriefs is how many rows are read in brief at a time, at most.
const MaxBriefs = 256

// Briefs are rows of one run that follow each other.
type Briefs struct {
	// First is the Index of the first row.
	First int64
	// Wall is the local time at which Elapsed is 0, if HasWall.
	Wall    time.Time
	HasWall bool
	List    []Brief
	Whole   []Row
}

// Row makes r row i of the list.
func (b *Briefs) Row(r *Row, i int) {
	m := &b.List[i]
	if m.Whole > 0 {
		*r = b.Whole[m.Whole-1]
		return
	}
	p, s := m.Place, m.Strand
	*r = Row{Index: b.First + int64(i), HasWall: b.HasWall, Elapsed: m.Elapsed, Thread: s.Thread, Stack: s.Stack, Process: s.Process,
		Event: m.Event, Depth: int(m.Depth), Duration: m.Duration, Function: p.Function, Module: p.Module, Source: p.Source, Line: p.Line,
		Address: p.Address, Symbols: p.Symbols, Place: p}
	if b.HasWall {
		r.Wall = b.Wall.Add(time.Duration(m.Elapsed))
	}
}

// A BriefReader is a [Source] that reads rows in brief as well.
type BriefReader interface {
	Source
	// ReadBriefs makes dst rows from number from on, at most n and [MaxBriefs], and returns how many those are. It
	// returns 0 where rows have to be read whole, which also tells why they cannot be read.
	ReadBriefs(dst *Briefs, from int64, n int) int
}
