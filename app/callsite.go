package app

import (
	"context"

	"logparser/calls"
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
	// Symbol files are open as long as nobody names anew.
	if err := s.acquire(ctx); err != nil {
		return rows.CallSite{}, false, err
	}
	defer s.release()
	return *s.nameSite(siteKey{run, found[0].Address, found[0].Space}), true, nil
}

// nameSite names a call site. The caller holds the token.
func (s *Session) nameSite(site siteKey) *rows.CallSite {
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
