package app

import (
	"sync"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/parser"
	"logparser/rows"
)

// A briefReader is the memory for reading rows in brief.
type briefReader struct {
	// places are those of addresses seen last, each in one of four elements.
	places [1 << recentBits]briefPlace
	// names, run and session are what they belong to, and generation that of the session's names.
	names      *names
	run        int
	session    *Session
	generation uint64
	// strands are those of events' threads.
	strands [256]briefStrand
}

// A briefPlace is a recentPlace for rows in brief.
type briefPlace struct {
	address uint64
	place   *rows.Place // nil where rows are to be whole
	number  uint32
	// of is the space of the address, with knownPlace where it stays as it is as long as the session's names do.
	of uint32
}

const knownPlace = 1 << 16

type briefStrand struct {
	key    uint32
	strand *rows.Strand // nil for none
}

var briefReaders = sync.Pool{New: func() any { return new(briefReader) }}

// maxBriefTime is the latest time of rows in brief: a hundred years.
const maxBriefTime = 100 * 365 * 24 * int64(time.Hour)

// ReadBriefs implements [rows.BriefReader].
func (src *source) ReadBriefs(dst *rows.Briefs, from int64, n int) int {
	s := src.s
	_, late := s.Ways()
	if from < 0 || from >= src.Len() || src.fields != 0 || src.asWritten || s.in.Corrected || s.preview != nil || late {
		return 0
	}
	run, record := s.table.Position(from)
	r := &s.runs()[run]
	start := r.zero - r.clock.Zero
	if r.clock.HasWall && (start < -maxBriefTime || start > maxBriefTime) {
		return 0 // times of rows may overflow
	}
	dst.First, dst.HasWall = from, r.clock.HasWall
	if dst.HasWall {
		dst.Wall = r.clock.Start.Add(time.Duration(start))
	}
	s.mu.Lock()
	names := s.names
	s.mu.Unlock()
	if names == nil {
		return 0
	}
	m := briefReaders.Get().(*briefReader)
	defer briefReaders.Put(m)
	m.begin(s, names, run)
	return s.table.Use(from, int(min(int64(n), rows.MaxBriefs, r.First+r.Count-record)), func(b *index.Block, events []parser.Event, i, n int) {
		m.fill(dst, b, events[i:i+n], i)
	})
}

// begin prepares for rows of a run.
func (m *briefReader) begin(s *Session, n *names, run int) {
	if g := s.generation.Load(); m.session != s || m.names != n || m.run != run || m.generation != g {
		clear(m.places[:])
		clear(m.strands[:])
		m.session, m.names, m.run, m.generation = s, n, run, g
	}
}

// fill makes rows of events, which are the elements from i on of a block.
func (m *briefReader) fill(dst *rows.Briefs, b *index.Block, events []parser.Event, i int) {
	zero := m.session.runs()[m.run].zero
	if cap(dst.List) < len(events) {
		dst.List = make([]rows.Brief, rows.MaxBriefs)
	}
	list := dst.List[:len(events)]
	dst.List, dst.Whole = list, dst.Whole[:0]
	depths, durations, partners, anomalies := b.Depth[i:][:len(list)], b.Duration[i:][:len(list)], b.Partner[i:][:len(list)], b.Anomaly[i:][:len(list)]
	for k := range list {
		row, e := &list[k], &events[k]
		at := rows.Slot(e.Address, recentBits)
		p := &m.places[at]
		if p.address != e.Address || p.of != knownPlace|uint32(e.Space) {
			p = m.otherPlace(at, e, k)
		}
		th := &m.strands[e.Thread%uint32(len(m.strands))]
		if th.strand == nil || th.key != e.Thread {
			m.addStrand(th, e.Thread)
		}
		elapsed := e.Time - zero
		if anomalies[k] != calls.None || partners[k] == calls.NoPartner || p.place == nil || uint64(elapsed) >= uint64(maxBriefTime) {
			row.Whole = m.whole(dst, e, calls.Record{Depth: int(depths[k]), Partner: partners[k], Duration: durations[k], Anomaly: anomalies[k]}, b.First+int64(i+k))
			continue
		}
		row.Elapsed, row.Duration = elapsed, durations[k]
		row.Place, row.Number, row.Depth, row.Strand = p.place, p.number, depths[k], th.strand
		row.Whole, row.Event = 0, rows.Event(e.Kind)
	}
}

// otherPlace is where the address of an event is kept whose first place, at, has another or does not know it: in one of
// four. The first is taken as long as it is free, because it is the one that is looked at without a call.
func (m *briefReader) otherPlace(at uint64, e *parser.Event, k int) *briefPlace {
	p := &m.places[at^uint64(k&3)]
	for way := range uint64(4) {
		if w := &m.places[at^way]; w.address == e.Address || w.address == 0 {
			p = w
			break
		}
	}
	if p.address != e.Address || p.of != knownPlace|uint32(e.Space) {
		m.recall(p, e)
	}
	return p
}

// recall fills an entry of the cache with what is known of an event's address.
func (m *briefReader) recall(p *briefPlace, e *parser.Event) {
	of := recentPlace{names: m.names, address: e.Address, run: int32(m.run), space: e.Space}
	m.session.recall(&of, m.run, e, m.names)
	// What is not resolved yet may be the next time, and rows with a note are whole.
	*p = briefPlace{address: e.Address, of: uint32(e.Space)}
	if of.names == nil {
		return
	}
	if p.of |= knownPlace; of.shown.note == "" {
		p.place, p.number = &of.shown.Place, uint32(m.names.index(m.run, e.Space, e.Address))
	}
}

func (m *briefReader) addStrand(th *briefStrand, key uint32) {
	t, stack := m.session.threadOf(key)
	*th = briefStrand{key, &rows.Strand{Thread: t.ID, Stack: stack, Process: t.Process}}
}

// whole adds a whole row, and returns its number from 1.
func (m *briefReader) whole(dst *rows.Briefs, e *parser.Event, c calls.Record, row int64) uint16 {
	var list [1]rows.Row
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	b.events[0], b.records[0] = *e, c
	m.session.fill(list[:], row, m.run, b, m.names)
	dst.Whole = append(dst.Whole, list[0])
	return uint16(len(dst.Whole))
}
