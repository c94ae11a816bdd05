package app

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"logparser/calls"
	"logparser/parser"
	"logparser/rows"
)

// moreOfRows holds, for the events of one block, the values of columns that rows have only
// on request.
type moreOfRows struct {
	selves []int64
	sites  []calledFrom
	// read are sites as the log has them, open the calls that are open in the block, by thread.
	read []parser.CallSite
	open map[uint32][]openAt
	// missing are the elements whose enters lie before the block, by their rows.
	missing []missingSite
	before  []parser.CallSite
	// taken are the values as the log has them; values are the same, decoded for rows.
	taken  []parser.CallValues
	values []*rows.CallValues
	// recent are the call sites seen last, with their names.
	recent [1 << siteBits]recentSite
}

// A recentSite is of a session and a generation of its names.
type recentSite struct {
	s          *Session
	generation uint64
	key        fromKey
	site       *rows.CallSite
}

type missingSite struct {
	element int
	enter   int64
}

// keep copies what is read of the row at one element to another, where only some rows of a block are
// wanted. What readMore reads row by row has to be here, or a view shows a value of another row.
func (m *moreOfRows) keep(to, from int, f rows.Fields) {
	if f&rows.SelfTimes != 0 {
		m.selves[to] = m.selves[from]
	}
	if f&rows.CallSites != 0 {
		m.sites[to] = m.sites[from]
	}
	if f&rows.Values != 0 {
		m.values[to] = m.values[from]
	}
}

// readMore reads more of the n rows of a block that begin at a row and belong to one
// run.
func (s *Session) readMore(b *block, f rows.Fields, run int, row int64, n int) error {
	if f&rows.SelfTimes != 0 {
		if b.more.selves == nil {
			b.more.selves = make([]int64, blockRows)
		}
		s.table.ReadSelf(b.more.selves[:n], row)
	}
	if f&rows.CallSites != 0 {
		if b.more.sites == nil {
			b.more.sites, b.more.read = make([]calledFrom, blockRows), make([]parser.CallSite, blockRows)
		}
		if err := s.readSites(b, row, n); err != nil {
			return err
		}
	}
	if f&rows.Values != 0 {
		return s.readValues(b, run, row, n)
	}
	return nil
}

// fillMore fills in more of rows that are made of a block's first elements.
func (s *Session) fillMore(dst []rows.Row, run int, b *block, f rows.Fields) {
	if f == 0 {
		return
	}
	var threads map[rows.Track]string
	if f&rows.ThreadNames != 0 {
		threads = s.threadNames()
	}
	_, late := s.Ways()
	for k := range dst {
		r := &dst[k]
		r.Filled = f
		if f&rows.ThreadNames != 0 {
			if r.ThreadName = ""; r.Event != rows.Unknown {
				r.ThreadName = threads[r.Home()]
			}
		}
		if f&rows.SelfTimes != 0 {
			r.Self, r.SelfAbout = rows.NoDuration, late
			if r.Duration != rows.NoDuration {
				r.Self = b.more.selves[k]
			}
		}
		if f&rows.CallSites != 0 {
			if r.Site = nil; b.more.sites[k].Known {
				r.Site = s.siteOf(b, run, b.more.sites[k])
			}
		}
		if f&rows.Values != 0 {
			r.Values = b.more.values[k]
		}
	}
}

// siteOf returns a call site with its names.
func (s *Session) siteOf(b *block, run int, site calledFrom) *rows.CallSite {
	key, generation := fromKey{siteKey{run, site.Address, site.Space}, site.around}, s.generation.Load()
	recent := &b.more.recent[site.Address*0x9e3779b97f4a7c15>>(64-siteBits)]
	if recent.s != s || recent.key != key || recent.generation != generation {
		place, final := s.sites.place(s, key, generation)
		if !final {
			return place
		}
		*recent = recentSite{s, generation, key, place}
	}
	return recent.site
}

// readSites reads the call sites of rows. A leave has that of its enter, which may lie
// far before: where rows are read one after the other it was kept.
func (s *Session) readSites(b *block, row int64, n int) error {
	log, sites := s.can.CallSiter, b.more.sites[:n]
	if has, _ := s.HasCallSites(); !has {
		clear(sites)
		return nil
	}
	_, record := s.table.Position(row)
	if _, err := log.CallSites(b.more.read[:n], record); err != nil {
		return err
	}
	for k := range sites {
		sites[k] = calledFrom{CallSite: b.more.read[k]}
	}
	if err := s.findAround(b, row, n); err != nil {
		return err
	}
	b.more.missing = b.more.missing[:0]
	kept := &s.sites
	kept.mu.Lock()
	for k := range b.records[:n] {
		partner := b.records[k].Partner
		if partner == calls.NoPartner {
			continue
		}
		switch at := partner - row; b.events[k].Kind {
		case parser.Leave:
			if at >= 0 && at < int64(n) {
				sites[k] = sites[at]
			} else if site, ok := kept.enters[partner]; ok {
				sites[k] = site
			} else {
				b.more.missing = append(b.more.missing, missingSite{k, partner})
			}
		case parser.Enter:
			if at >= int64(n) {
				kept.keep(row+int64(k), sites[k])
			}
		}
	}
	kept.mu.Unlock()
	return s.readMissing(log, b, sites)
}

// readMissing reads the call sites that lie before the block, those that lie near each
// other together.
func (s *Session) readMissing(log parser.CallSiter, b *block, sites []calledFrom) error {
	missing := b.more.missing
	slices.SortFunc(missing, func(a, b missingSite) int { return cmp.Compare(a.enter, b.enter) })
	for len(missing) > 0 {
		first := missing[0].enter
		run, record := s.table.Position(first)
		r := &s.runs()[run]
		room := min(r.First+r.Count-record, blockRows)
		k := 1
		for k < len(missing) && missing[k].enter-missing[k-1].enter <= nearRows && missing[k].enter-first < room {
			k++
		}
		if b.more.before == nil {
			b.more.before = make([]parser.CallSite, blockRows)
		}
		before := b.more.before[:missing[k-1].enter-first+1]
		if _, err := log.CallSites(before, record); err != nil {
			return err
		}
		for _, m := range missing[:k] {
			site, err := s.calledFrom(m.enter, before[m.enter-first])
			if err != nil {
				return err
			}
			sites[m.element] = site
		}
		missing = missing[k:]
	}
	return nil
}

// callSites has what was found out of call sites. It is safe for concurrent use.
type callSites struct {
	mu sync.Mutex
	// enters are call sites by the row of the enter, of calls that did not end where
	// they were read.
	enters map[int64]calledFrom
	// places are call sites as rows have them, with the names of a generation.
	places     map[fromKey]*rows.CallSite
	generation uint64
}

type siteKey struct {
	run     int
	address uint64
	space   uint16
}

// A fromKey is a call site with what calledFrom has.
type fromKey struct {
	siteKey
	around uint64
}

// maxEnters bounds the call sites that are kept for leaves, maxSites those with names.
const (
	maxEnters = 1 << 16
	maxSites  = 1 << 18
)

// keep keeps the call site of an enter for its leave. The caller holds the lock.
func (c *callSites) keep(enter int64, site calledFrom) {
	if c.enters == nil || len(c.enters) >= maxEnters {
		c.enters = make(map[int64]calledFrom)
	}
	c.enters[enter] = site
}

// place returns a call site with its names. While modules get their symbols it has
// none yet, and is not final.
func (c *callSites) place(s *Session, key fromKey, generation uint64) (site *rows.CallSite, final bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation || c.places == nil || len(c.places) >= maxSites {
		c.generation, c.places = generation, make(map[fromKey]*rows.CallSite)
	}
	if p := c.places[key]; p != nil {
		return p, true
	}
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	// Symbol files are open as long as nobody names anew.
	if !loaded || s.acquire(context.Background()) != nil {
		loc := s.locate(key.run, key.space, key.address)
		p := &rows.CallSite{Function: s.unnamed(key.run, loc.Module, key.address), Address: key.address}
		if loc.Module >= 0 {
			p.Module = s.runs()[key.run].names[loc.Module]
		}
		return p, false
	}
	defer s.release()
	p := s.nameSite(key)
	if s.generation.Load() != generation {
		return p, false
	}
	c.places[key] = p
	return p, true
}
