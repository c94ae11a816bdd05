package app

import (
	"cmp"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"logparser/calls"
	"logparser/calls/index"
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
	// fields are filled in besides.
	fields rows.Fields
}

// With implements [rows.Filler].
func (src *source) With(f rows.Fields) rows.Source {
	return &source{src.s, src.asWritten, src.fields | f}
}

// Len returns the number of rows.
func (src *source) Len() int64 {
	if p := src.s.preview; p != nil {
		return p.rows
	}
	return src.s.table.Total()
}

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

// Does not compile unless events and kinds of records have equal numbers: fill makes one of the other.
var _ = [1]struct{}{uint8(rows.Enter) ^ uint8(parser.Enter) | uint8(rows.Leave) ^ uint8(parser.Leave) | uint8(rows.Unknown) ^ uint8(parser.Damaged): {}}

// blockRows is how many rows are read from the log at a time.
const blockRows = rows.BlockLen

// Does not compile unless these are the rows of a block of the index.
var _ = [1]struct{}{blockRows - index.BlockLen: {}}

// A block is the memory for reading rows.
type block struct {
	events  [blockRows]parser.Event
	records [blockRows]calls.Record
	inside  []int64 // where durations are corrected
	more    moreOfRows
	recent  [1 << recentBits]recentPlace
}

// The cache of call sites has 1<<siteBits entries.
const siteBits = 9

// A block's cache of addresses has 1<<recentBits entries. An address lies in the one of its hash or in
// one of three beside it.
const recentBits = 12

// A recentPlace keeps what rows of an address have in common. A block may go
// from session to session, which names tell apart.
type recentPlace struct {
	names   *names
	address uint64
	run     int32
	space   uint16
	slot    *atomic.Pointer[place]
	// place is what slot had, of which shown was made.
	place *place
	shown *shownPlace
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
	total := src.Len()
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
		got := s.table.ReadEvents(events, b.records[:want], row)
		var err error
		if got == 0 {
			got, err = s.log.ReadEvents(events, record)
			s.table.Read(b.records[:got], row)
		}
		if s.preview != nil {
			s.preview.complete(b.records[:got], b.events[:got], row)
		}
		if s.in.Corrected {
			s.correct(b, r, row, got)
		}
		if src.asWritten {
			for k := range b.records[:got] {
				if b.records[k].Anomaly == calls.Running {
					b.records[k].Anomaly = calls.None
				}
			}
		}
		if err := s.readMore(b, src.fields, run, row, got); err != nil {
			return done, err
		}
		s.fill(dst[done:done+got], row, run, b, n)
		s.fillMore(dst[done:done+got], run, b, src.fields)
		if s.preview != nil {
			s.preview.mark(dst[done : done+got])
		}
		done += got
		if err != nil && int64(got) < want {
			return done, err
		}
	}
	return done, nil
}

// A shownThread is what rows have of a value of Event.Thread.
type shownThread struct {
	key       uint32
	known     bool
	endKnown  bool // of the process
	id, stack uint32
	process   *rows.Process
}

// fill makes rows of a block's first events and their pairing; from is the
// first row's number. It sets every field of a row: clearing them first would
// take as long again.
func (s *Session) fill(dst []rows.Row, from int64, run int, b *block, n *names) {
	r := &s.runs()[run]
	hasWall := r.clock.HasWall
	var wall time.Time
	var at int64
	_, late := s.Ways()
	var threads [16]shownThread
	inherited := s.inheritedCalls()
	for k := range dst {
		row, e, c := &dst[k], &b.events[k], &b.records[k]
		if hasWall && (k == 0 || e.Time != at) {
			at = e.Time
			wall = r.clock.Start.Add(time.Duration(at - r.clock.Zero))
		}
		row.Index = from + int64(k)
		row.Wall, row.HasWall, row.Elapsed = wall, hasWall, e.Time-r.zero
		th := &threads[e.Thread%uint32(len(threads))]
		if !th.known || th.key != e.Thread {
			t, stack := s.threadOf(e.Thread)
			*th = shownThread{e.Thread, true, s.endKnownOf(e.Thread), t.ID, stack, t.Process}
		}
		row.Thread, row.Stack, row.Process = th.id, th.stack, th.process
		row.Depth, row.Duration = c.Depth, c.Duration
		row.Note = c.Anomaly.String()
		row.Bound, row.Unclosed, row.Filled, row.Pending = rows.Exact, false, 0, false
		row.Inherited = inherited != nil && isInherited(inherited, e, c)
		if late && c.Partner != calls.NoPartner && c.Duration > 0 {
			row.Bound = rows.AtMost
		}
		if c.Partner == calls.NoPartner && c.Duration != calls.NoDuration {
			if row.Unclosed = true; c.Anomaly == calls.Open && !th.endKnown {
				row.Bound = rows.AtLeast
			}
		}
		// The kinds come in no order that a processor could guess.
		row.Event = rows.Event(min(e.Kind, parser.Damaged))
		if e.Kind >= parser.Damaged {
			row.Note = calls.Damaged.String()
		}
		at := rows.Slot(e.Address, recentBits)
		m := &b.recent[at]
		if m.address != e.Address {
			m = b.otherPlace(at, e.Address, k)
		}
		if m.names != n || m.address != e.Address || m.run != int32(run) || m.space != e.Space || n == nil || m.slot.Load() != m.place {
			s.recall(m, run, e, n)
		}
		p := m.shown
		row.Place = &p.Place
		if m.names == nil {
			row.Place = nil // it may change
		}
		row.Address, row.Function, row.Module = p.Address, p.Function, p.Module
		row.Source, row.Line, row.Symbols = p.Source, p.Line, p.Symbols
		if p.note != "" {
			if row.Note != "" {
				row.Note += "; "
			}
			row.Note += p.note
		}
	}
}

// otherPlace returns the entry of an address that is not in the one of its hash, at: that if it is free, or one of the three
// beside it that is free or has the address, or else one of the four to overwrite.
func (b *block) otherPlace(at, address uint64, k int) *recentPlace {
	for way := range uint64(4) {
		if m := &b.recent[at^way]; m.address == address || m.address == 0 {
			return m
		}
	}
	return &b.recent[at^uint64(k&3)]
}

// recall fills an entry of the cache with what is known of an event's address.
func (s *Session) recall(m *recentPlace, run int, e *parser.Event, n *names) {
	*m = recentPlace{names: n, address: e.Address, run: int32(run), space: e.Space}
	i := n.index(run, e.Space, e.Address)
	if i >= 0 {
		m.slot = &n.places[i]
		m.place = m.slot.Load()
	}
	if m.place == nil {
		// It is not known for good: the next row is to look again.
		m.place, m.names = s.unresolved(run, e.Space, e.Address), nil
		m.shown = s.show(m.place, run, e.Address)
		return
	}
	m.shown = n.shown[i].Load()
	if m.shown == nil || m.shown.of != m.place {
		before := m.shown
		m.shown = s.show(m.place, run, e.Address)
		if !n.shown[i].CompareAndSwap(before, m.shown) {
			// Equal rows have the same.
			if now := n.shown[i].Load(); now.of == m.place {
				m.shown = now
			}
		}
	}
}

// show makes what rows have of an address.
func (s *Session) show(p *place, run int, address uint64) *shownPlace {
	shown := &shownPlace{rows.Place{Function: cmp.Or(p.label, p.function), Source: p.source, Line: p.line, Symbols: p.symbols, Address: address}, p.note, p}
	if p.address != 0 {
		shown.Address = p.address
	}
	if p.module >= 0 {
		shown.Module = s.runs()[run].names[p.module]
	}
	if p.function == "" {
		shown.Function = s.unnamed(run, p.module, shown.Address)
	}
	return shown
}

// unresolved is the place of an address before it is resolved, or of one that
// only damaged records have.
func (s *Session) unresolved(run int, space uint16, address uint64) *place {
	loc := s.locate(run, space, address)
	p := &place{module: loc.Module}
	if loc.Address != address {
		p.address = loc.Address
	}
	if loc.Module >= 0 {
		p.symbols = string(s.statusOf(run, loc.Module))
	}
	return p
}

// statusOf returns the status of a module's symbols for an address that was not resolved. Once symbols
// are loaded, these are the addresses of damaged records alone.
func (s *Session) statusOf(run, module int) symbols.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded && run < len(s.bindings) && module < len(s.bindings[run]) {
		return s.bindings[run][module].Status
	}
	return symbols.Pending
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
