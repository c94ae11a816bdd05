package app

import (
	"cmp"
	"context"

	"logparser/calls"
	"logparser/calls/query"
	"logparser/parser"
	"logparser/rows"
	"logparser/symbols"
)

// HasCallSites reports whether the recorder was told to record where calls are
// made from. It is not ok for logs that cannot have that.
func (s *Session) HasCallSites() (has, ok bool) {
	sites := s.can.CallSiter
	return sites != nil && sites.HasCallSites(), sites != nil
}

// CallSite returns where the call was made from that a row of the log enters or
// leaves. It is not ok where the log does not say. It waits while modules get
// their symbols.
func (s *Session) CallSite(ctx context.Context, row int64) (site rows.CallSite, ok bool, err error) {
	if s.can.CallSiter == nil {
		return rows.CallSite{}, false, nil
	}
	if err := s.checkRow(row); err != nil {
		return rows.CallSite{}, false, err
	}
	if partner, ok := s.Partner(row); ok && partner < row {
		row = partner
	}
	run, record := s.table.Position(row)
	var found [1]parser.CallSite
	if _, err := s.can.CallSiter.CallSites(found[:], record); err != nil || !found[0].Known {
		return rows.CallSite{}, false, err
	}
	from, err := s.calledFrom(row, found[0])
	if err != nil {
		return rows.CallSite{}, false, err
	}
	// Symbol files are open as long as nobody names anew.
	if err := s.acquire(ctx); err != nil {
		return rows.CallSite{}, false, err
	}
	defer s.release()
	return *s.nameSite(fromKey{siteKey{run, from.Address, from.Space}, from.around}), true, nil
}

// notKnownSite is the function of a call site that is not known.
const notKnownSite = "?"

// A calledFrom is a call site as the log has it.
//
// The recorder takes a function's return address for where it was called. That of a function that was inlined into another one, or that
// this has jumped to, is the other one's: both have the same call site then, which is none of the inner call. Only
// a function that calls itself in one place has it, too.
type calledFrom struct {
	parser.CallSite
	// around is the address of the call around this one if that has the same call site, else 0.
	around uint64
}

// fromOf returns a call site, with the call around it.
func fromOf(site parser.CallSite, around *openAt) calledFrom {
	if site.Known && around.site == site {
		return calledFrom{site, around.address}
	}
	return calledFrom{CallSite: site}
}

// An openAt is an open call.
type openAt struct {
	depth   int
	address uint64
	site    parser.CallSite
}

// openAround returns the call around that of an enter, with no call site where there is none.
func (s *Session) openAround(enter int64) (around openAt, err error) {
	c, ok, err := query.Caller(s.table, enter)
	if err != nil || !ok || c.Enter < 0 {
		return openAt{}, err
	}
	_, record := s.table.Position(c.Enter)
	var found [1]parser.CallSite
	_, err = s.can.CallSiter.CallSites(found[:], record)
	return openAt{int(c.Depth), s.table.Addresses().At(int(c.Address)).Value, found[0]}, err
}

// calledFrom adds to the call site that the log has of an enter the call around it.
func (s *Session) calledFrom(enter int64, site parser.CallSite) (calledFrom, error) {
	if !site.Known {
		return calledFrom{}, nil
	}
	around, err := s.openAround(enter)
	return fromOf(site, &around), err
}

// findAround finds the calls around those that are entered in the n rows of a block.
func (s *Session) findAround(b *block, row int64, n int) error {
	if b.more.open == nil {
		b.more.open = make(map[uint32][]openAt)
	}
	clear(b.more.open)
	for k := range n {
		e, depth := &b.events[k], b.records[k].Depth
		if e.Kind != parser.Enter && e.Kind != parser.Leave {
			continue
		}
		open := b.more.open[e.Thread]
		for len(open) > 0 && open[len(open)-1].depth >= depth {
			open = open[:len(open)-1]
		}
		if site := &b.more.sites[k]; e.Kind == parser.Enter {
			if site.Known && depth > 0 {
				if len(open) == 0 || open[len(open)-1].depth != depth-1 {
					around, err := s.openAround(row + int64(k))
					if err != nil {
						return err
					}
					around.depth = depth - 1
					open = append(open, around)
				}
				*site = fromOf(site.CallSite, &open[len(open)-1])
			}
			open = append(open, openAt{depth, e.Address, site.CallSite})
		}
		b.more.open[e.Thread] = open
	}
	return nil
}

// notFrom reports whether a call was not made where its call site says: the call around it has the same one, which does not lie in the
// function of that call.
func notFrom(named *symbols.Resolver, site fromKey, time int64) bool {
	if site.around == 0 {
		return false
	}
	at, around := named.Resolve(site.address, time, 1), named.Resolve(site.around, time, 0)
	switch {
	case at.Module < 0 || around.Module < 0:
		return false
	case at.Module != around.Module:
		return true
	case len(at.Symbol.Frames) == 0 || len(around.Symbol.Frames) == 0:
		return false
	}
	return at.Symbol.Outermost().Function != around.Symbol.Outermost().Function
}

// nameSite names a call site. The caller holds the token.
func (s *Session) nameSite(site fromKey) *rows.CallSite {
	run := site.run
	a := calls.Address{Value: site.address, Run: int32(run), Space: site.space}
	key := moduleKey{module: -1}
	var named *symbols.Resolver
	if loc := s.locate(run, site.space, site.address); loc.Module >= 0 {
		key = moduleKey{run, loc.Module}
		if run < len(s.bindings) {
			named = symbols.NewResolver(s.runs()[run].modules, s.bindings[run], s.log.Truncated())
		}
	}
	if notFrom(cmp.Or(named, s.runs()[run].plain), site, s.runs()[run].spaces[site.space].Time) {
		return &rows.CallSite{Function: notKnownSite, Address: site.address}
	}
	unnamed := &place{module: key.module}
	if named != nil && key.module < len(s.bindings[run]) {
		unnamed.symbols = string(s.bindings[run][key.module].Status)
	}
	p := s.resolveOne(key, named, &a, unnamed, nil)
	result := &rows.CallSite{Function: p.function, Source: p.source, Line: p.line, Address: site.address}
	if p.module >= 0 {
		result.Module = s.runs()[run].names[p.module]
	}
	if label := s.namesakes.label(result.Module, p); label != "" {
		result.Function = label
	}
	if result.Function == "" {
		result.Function = s.unnamed(run, p.module, site.address)
	}
	return result
}
