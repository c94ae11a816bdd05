package app

import (
	"io"
	"strconv"
	"sync"
	"time"

	"logparser/calls"
	"logparser/parser"
	"logparser/rows"
	"logparser/symbols"
)

// A source hands out the rows of a session.
type source struct {
	s *Session
	// asWritten says that rows are for good: that a call is running will not
	// be true for long.
	asWritten bool
}

// Len returns the number of rows.
func (src *source) Len() int64 { return src.s.table.Total() }

// TimeDigits returns how many digits of a second times are worth.
func (src *source) TimeDigits() int {
	if len(src.s.runs()) == 0 {
		return 3
	}
	return src.s.runs()[0].clock.Digits()
}

// Row returns row i.
func (src *source) Row(i int64) rows.Row {
	var dst [1]rows.Row
	if n, err := src.Read(dst[:], i); n == 0 {
		return rows.Row{Index: i, Event: rows.Unknown, Duration: rows.NoDuration, Note: "cannot be read: " + err.Error()}
	}
	return dst[0]
}

// blockRows is how many rows are read from the log at a time.
const blockRows = 4096

// A block is the memory for reading rows.
type block struct {
	events  [blockRows]parser.Event
	records [blockRows]calls.Record
	inside  []int64 // where durations are corrected
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// Read fills dst with the rows from number from on.
func (src *source) Read(dst []rows.Row, from int64) (int, error) {
	s := src.s
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	s.mu.Lock()
	n := s.names
	s.mu.Unlock()
	total := s.table.Total()
	done := 0
	for done < len(dst) {
		row := from + int64(done)
		if row < 0 || row >= total {
			return done, io.EOF
		}
		run, record := s.table.Position(row)
		r := &s.runs()[run]
		want := min(int64(len(dst)-done), blockRows, r.First+r.Count-record)
		events := b.events[:want]
		got, err := s.log.ReadEvents(events, record)
		s.table.Read(b.records[:got], row)
		if s.in.Corrected {
			s.correct(b, r, row, got)
		}
		for k := range events[:got] {
			if src.asWritten && b.records[k].Mark == calls.Running {
				b.records[k].Mark = calls.None
			}
			s.fill(&dst[done+k], row+int64(k), run, &events[k], &b.records[k], n)
		}
		done += got
		if err != nil && int64(got) < want {
			return done, err
		}
	}
	return done, nil
}

// fill makes a row of an event and its pairing.
func (s *Session) fill(row *rows.Row, i int64, run int, e *parser.Event, r *calls.Record, n *names) {
	clock := &s.runs()[run].clock
	*row = rows.Row{
		Index:    i,
		HasWall:  clock.HasWall,
		Elapsed:  e.Time - s.runs()[run].zero,
		Thread:   e.Thread,
		Depth:    r.Depth,
		Duration: r.Duration,
		Note:     r.Mark.String(),
	}
	if clock.HasWall {
		row.Wall = clock.Start.Add(time.Duration(e.Time - clock.Zero))
	}
	switch e.Kind {
	case parser.Enter:
		row.Event = rows.Enter
	case parser.Leave:
		row.Event = rows.Leave
	default:
		row.Event = rows.Unknown
		row.Note = calls.Damaged.String()
	}
	p := n.find(run, e.Space, e.Address)
	if p == nil {
		p = s.unresolved(run, e.Space, e.Address)
	}
	row.Address = e.Address
	if p.address != 0 {
		row.Address = p.address
	}
	row.Function, row.Source, row.Line, row.Symbols = p.function, p.source, p.line, p.symbols
	if p.note != "" {
		if row.Note != "" {
			row.Note += "; "
		}
		row.Note += p.note
	}
	if p.module >= 0 {
		row.Module = s.runs()[run].names[p.module]
	}
	if row.Function == "" {
		row.Function = s.unnamed(run, p.module, row.Address)
	}
}

// unresolved is the place of an address before it is resolved.
func (s *Session) unresolved(run int, space uint16, address uint64) *place {
	loc := s.locate(run, space, address)
	p := &place{module: loc.Module}
	if loc.Address != address {
		p.address = loc.Address
	}
	if loc.Module >= 0 {
		p.symbols = string(symbols.Pending)
	}
	return p
}

// unnamed names an address that has no symbol: module+0xRVA, or the address
// itself outside all modules (module -1).
func (s *Session) unnamed(run, module int, address uint64) string {
	var buffer [64]byte
	name := buffer[:0]
	if module >= 0 {
		name = append(append(name, s.runs()[run].names[module]...), '+')
		address -= s.runs()[run].modules.At(module).Base
	}
	return string(strconv.AppendUint(append(name, "0x"...), address, 16))
}
