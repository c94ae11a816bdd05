package app

import (
	"slices"
	"sync"

	"logparser/calls"
	"logparser/calls/values"
	"logparser/parser"
	"logparser/rows"
)

// callValues makes values of what the log has of them. It is safe for concurrent use.
type callValues struct {
	mu       sync.Mutex
	decoders map[*parser.ValuesTaken]*values.Decoder
	// callees are the functions that calls called, by run and address.
	callees map[siteKey]*callee
	// enters is what was taken at enters, by their rows, of calls that did not end where
	// they were read.
	enters map[int64]parser.CallValues
	// pointers are the names of what pointers lead to.
	pointers pointers
}

// maxCallees bounds the functions that are kept, maxDecoders the decoders.
const (
	maxCallees  = 1 << 16
	maxDecoders = 64
)

// A callee is a function with what the plan says of it.
type callee struct {
	values.Callee
	by *parser.ValuesTaken
	// arguments and results say that a call of it may have some.
	arguments, results bool
	// bySignature is rows.CallValues.BySignature.
	bySignature bool
	// named are arguments of which the log never has anything.
	named []rows.Value
	// returned is what there is to say of the result of a call that ended without one.
	returned []rows.Value
}

// HasValues reports whether the recorder was told to take arguments and results of calls,
// or the program gave some itself.
func (s *Session) HasValues() bool {
	return s.can.ValueTeller != nil && s.can.ValueTeller.ValuesTaken() != nil
}

// decoder returns the decoder of values that were taken in a way.
func (c *callValues) decoder(by *parser.ValuesTaken) *values.Decoder {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.decoders[by]
	if d == nil {
		if c.decoders == nil || len(c.decoders) >= maxDecoders {
			c.decoders = make(map[*parser.ValuesTaken]*values.Decoder)
		}
		// What is wrong with the plan is said where the log is described.
		d, _ = values.NewDecoder(by)
		c.decoders[by] = d
	}
	return d
}

// calleeOf returns the function that an event enters or leaves, of whose call something was taken by
// taken, which may be nil. Of several logs each has its own; which one that is of a call that has
// nothing its others tell.
func (s *Session) calleeOf(run int, e *parser.Event, all, taken *parser.ValuesTaken) *callee {
	if taken != nil {
		return s.callee(run, e, taken)
	}
	if s.can.Grower == nil {
		s.taken.mu.Lock()
		found := s.taken.callees[siteKey{run, e.Address, e.Space}]
		s.taken.mu.Unlock()
		if found != nil {
			return found
		}
	}
	return s.callee(run, e, all)
}

// callee returns the function that an event enters or leaves.
func (s *Session) callee(run int, e *parser.Event, by *parser.ValuesTaken) *callee {
	key := siteKey{run, e.Address, e.Space}
	c := &s.taken
	c.mu.Lock()
	found := c.callees[key]
	c.mu.Unlock()
	if found != nil && found.by == by {
		return found
	}
	found = &callee{by: by}
	found.Symbol = func(address uint64) string { return s.symbolAt(key.run, key.space, address) }
	if loc := s.locate(run, e.Space, e.Address); loc.Module >= 0 {
		r := &s.runs()[run]
		found.Module, found.Identity, found.RVA = r.names[loc.Module], r.modules.At(loc.Module).Identity, loc.RVA
	}
	found.arguments = by.Registers || len(by.Places) > 0 || by.Events != nil
	found.results = found.arguments
	if f := c.decoder(by).Function(&found.Callee); f != nil {
		found.arguments = found.arguments || len(f.Enter) > 0
		found.results = found.results || len(f.Leave) > 0
		found.bySignature = c.decoder(by).BySignature(&found.Callee)
		found.named = c.decoder(by).Named(&found.Callee)
		found.returned = c.decoder(by).Returned(&found.Callee)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.callees == nil || len(c.callees) >= maxCallees {
		c.callees = make(map[siteKey]*callee)
	}
	c.callees[key] = found
	return found
}

// readValues reads the values of the calls of n rows of a block that begin at a row.
func (s *Session) readValues(b *block, run int, row int64, n int) error {
	if b.more.values == nil {
		b.more.values = make([]*rows.CallValues, blockRows)
	}
	if b.more.taken == nil {
		b.more.taken = make([]parser.CallValues, blockRows)
	}
	list, taken := b.more.values[:n], b.more.taken[:n]
	clear(list)
	if !s.HasValues() {
		return nil
	}
	log := s.can.ValueTeller
	_, record := s.table.Position(row)
	if _, err := log.Values(taken, record); err != nil {
		return err
	}
	by := log.ValuesTaken()
	for k := range list {
		e := &b.events[k]
		if e.Kind != parser.Enter && e.Kind != parser.Leave {
			continue
		}
		of := s.calleeOf(run, e, by, taken[k].By)
		other, err := s.otherValues(b, of, row, k, n)
		if err != nil {
			return err
		}
		entering, leaving := &taken[k], &other
		if e.Kind == parser.Leave {
			entering, leaving = leaving, entering
		}
		if leaving.Form == parser.ValuesOfJump {
			result, err := s.followJumps(&rowReader{s, b, row, n}, run, of, leaving)
			if err != nil {
				return err
			}
			result.By, result.Given = leaving.By, leaving.Given
			leaving = &result
		}
		list[k] = s.taken.decode(of, entering, leaving, b.records[k].Partner != calls.NoPartner)
	}
	return nil
}

// decode makes values of what was taken where a call begins and ends, nil where that is
// nothing.
func (c *callValues) decode(of *callee, entering, leaving *parser.CallValues, ended bool) *rows.CallValues {
	v := rows.CallValues{Arguments: of.named, BySignature: of.bySignature}
	if ended {
		v.Results = of.returned
	}
	if entering.By != nil {
		v.Arguments = c.decoder(entering.By).Arguments(&of.Callee, entering)
	}
	if leaving.By != nil {
		if list := c.decoder(leaving.By).Results(&of.Callee, leaving); len(list) > 0 {
			v.Results = list
		}
	}
	results, outs := values.Outs(v.Results)
	if v.Results = results; len(outs) > 0 {
		v.Arguments = slices.Concat(v.Arguments, outs)
	}
	if v.Arguments == nil && v.Results == nil {
		return nil
	}
	return &v
}

// otherValues returns what was taken at the other end of the call of element k of a block,
// which may lie far away: what was taken at enters was kept where rows are read one after
// the other.
func (s *Session) otherValues(b *block, of *callee, row int64, k, n int) (other parser.CallValues, err error) {
	partner := b.records[k].Partner
	leave := b.events[k].Kind == parser.Leave
	if partner == calls.NoPartner {
		return other, nil
	}
	if at := partner - row; at >= 0 && at < int64(n) {
		return b.more.taken[at], nil
	}
	c := &s.taken
	if leave {
		c.mu.Lock()
		v, ok := c.enters[partner]
		c.mu.Unlock()
		if ok {
			return v, nil
		}
	} else if of.arguments {
		c.mu.Lock()
		if c.enters == nil || len(c.enters) >= maxEnters {
			c.enters = make(map[int64]parser.CallValues)
		}
		c.enters[row+int64(k)] = b.more.taken[k]
		c.mu.Unlock()
	}
	if leave && !of.arguments || !leave && !of.results {
		return other, nil
	}
	return s.takenAt(partner)
}
