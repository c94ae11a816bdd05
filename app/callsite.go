package app

import (
	"context"

	"logparser/calls"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/wire"
	"logparser/symbols"
)

// A CallSite is where a call was made from. Source and Line are those of the
// calling code.
type CallSite struct {
	FunctionRef
	// Address is the return address (a VA).
	Address uint64
}

// HasCallSites reports whether the recorder was told to record where calls are
// made from. It is not ok for logs that cannot have that.
func (s *Session) HasCallSites() (has, ok bool) {
	log, ok := s.log.(*trace.Log)
	return ok && log.Header().Flags&wire.FlagSites != 0, ok
}

// CallSite returns where the call was made from that a row of the log enters or
// leaves. It is not ok where the log does not say. It waits while modules get
// their symbols.
func (s *Session) CallSite(ctx context.Context, row int64) (site CallSite, ok bool, err error) {
	log, ok := s.log.(parser.CallSiter)
	if !ok {
		return CallSite{}, false, nil
	}
	if err := s.checkRow(row); err != nil {
		return CallSite{}, false, err
	}
	if partner, ok := s.Partner(row); ok && partner < row {
		row = partner
	}
	run, record := s.table.Position(row)
	address, space, ok, err := log.CallSite(record)
	if err != nil || !ok {
		return CallSite{}, false, err
	}
	// Symbol files are open as long as nobody names anew.
	if err := s.acquire(ctx); err != nil {
		return CallSite{}, false, err
	}
	defer s.release()
	a := calls.Address{Value: address, Run: int32(run), Space: space}
	key := moduleKey{module: -1}
	var named *symbols.Resolver
	if loc := s.locate(run, space, address); loc.Module >= 0 {
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
	site = CallSite{FunctionRef: FunctionRef{Function: p.function, Source: p.source, Line: p.line}, Address: address}
	if p.module >= 0 {
		site.Module = s.runs()[run].names[p.module]
	}
	if site.Function == "" {
		site.Function = s.unnamed(run, p.module, address)
	}
	return site, true, nil
}
