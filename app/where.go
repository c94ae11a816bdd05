package app

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/query"
	"logparser/parser"
	"logparser/rows"
	"logparser/rows/filter"
)

// A condition is a filter expression made into a predicate of the index. What
// depends on an address, a name or a thread is found out once for each of
// them, so that the predicate compares numbers only.
type condition struct {
	s *Session
	// pass is nil where all rows pass.
	pass query.Predicate

	// What it was made of, to know when it is out of date.
	generation               uint64
	addresses, threads, runs int
	// placed are the terms about what belongs to an address, onThreads those
	// about threads.
	placed, onThreads []*filter.Term
	// valued are the tests of values by the plan.
	valued []*valueTest
	// withoutValues says that a term is about values, of which the log had none.
	withoutValues bool
	// unmatched are the terms that name something which the log does not have.
	unmatched []*filter.Term
	// until is the log's time that times of day were worked out to.
	until      int64
	timesOfDay bool

	src     *index.Index
	damaged bool // the log may hold damaged records

	mu    sync.Mutex // guards addresses and threads in outgrown
	grown bool       // what outgrown has found
}

// compile makes a condition of an expression.
func (s *Session) compile(ctx context.Context, e *filter.Expr) (*condition, error) {
	c := &condition{s: s, src: s.table, generation: s.generation.Load(), until: math.MaxInt64}
	c.addresses, c.threads, c.runs = c.src.AddressTable().Len(), c.src.Slots(), len(s.runs())
	c.damaged = !s.table.Done() || s.table.Count(calls.Damaged) > 0
	if e.IsAll() {
		return c, nil
	}
	var err error
	c.pass, err = c.expr(ctx, e)
	return c, err
}

func (c *condition) expr(ctx context.Context, e *filter.Expr) (query.Predicate, error) {
	if e.Kind == filter.Leaf {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return c.term(e.Term)
	}
	var parts []query.Predicate
	for _, a := range e.Args {
		p, err := c.expr(ctx, a)
		if err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	switch e.Kind {
	case filter.Or:
		return query.Or(parts...), nil
	case filter.Not:
		return query.Not(parts[0]), nil
	}
	return query.And(parts...), nil
}

// term makes the predicate of one term, by its column.
func (c *condition) term(t *filter.Term) (query.Predicate, error) {
	switch t.Column {
	case filter.Func, filter.Module, filter.Source, filter.Line, filter.Address, filter.Symbols:
		set := c.addressSet(t, t.MatchPlace)
		if t.Column == filter.Func || t.Column == filter.Module || t.Column == filter.Source {
			c.noteUnmatched(t, set.Len() > 0)
		}
		return c.orDamaged(t.MatchPlace, inAddresses(set)), nil
	case filter.Text:
		p := c.anywhere(t)
		c.noteUnmatched(t, p != nil)
		return c.orDamaged(t.MatchPlace, p), nil
	case filter.Mark:
		return c.orDamaged(t.MatchPlace, c.noted(t)), nil
	case filter.Event:
		return eventPredicate(t), nil
	case filter.Row:
		return query.InRows(t.Range.Low, t.Range.High), nil
	case filter.Thread:
		set := c.threadSet(t, func(th *Thread) bool { return t.MatchThread(th.ID, th.Name) })
		c.noteUnmatched(t, set.Len() > 0)
		return query.OnThreads(set), nil
	case filter.Process:
		set := c.threadSet(t, func(th *Thread) bool { return t.MatchProcess(th.Process) })
		c.noteUnmatched(t, set.Len() > 0)
		return query.OnThreads(set), nil
	case filter.ThreadName:
		set := c.threadSet(t, func(th *Thread) bool { return t.MatchText(th.Name) })
		c.noteUnmatched(t, set.Len() > 0)
		return query.OnThreads(set), nil
	case filter.Duration:
		if c.s.Inputs().Corrected {
			return c.slow(func(r *rows.Row) bool { return r.Duration != rows.NoDuration && t.Range.Has(r.Duration) }), nil
		}
		return query.WithDuration(t.Range.Low, t.Range.High), nil
	case filter.Self:
		return query.WithSelf(t.Range.Low, t.Range.High), nil
	case filter.Depth:
		low, high := max(t.Range.Low, 0), min(t.Range.High, math.MaxInt32)
		if low > high {
			return query.Or(), nil
		}
		return query.AtDepth(int32(low), int32(high)), nil
	case filter.Time:
		return c.time(t), nil
	case filter.In:
		set := c.addressSet(t, func(r *rows.Row) bool { return t.MatchFunction(r.Function) })
		c.noteUnmatched(t, set.Len() > 0)
		return query.Inside(set), nil
	case filter.Call:
		return c.call(t.Range.Low)
	}
	if t.Column.IsValue() {
		return c.value(t), nil
	}
	return c.slowWith(t.Column.Entry().Needs, t.MatchFilled), nil
}

// noteUnmatched keeps a term that names something which the log does not have, for [Session.Unmatched].
func (c *condition) noteUnmatched(t *filter.Term, there bool) {
	if !there {
		c.unmatched = append(c.unmatched, t)
	}
}

// Unmatched returns the terms of a filter expression that name something which the
// log does not have: a function that was never called or is misspelt, a module, a
// source file, a thread, a text that is nowhere. The session must be loaded.
func (s *Session) Unmatched(ctx context.Context, where string) ([]string, error) {
	e, err := filter.Parse(where)
	if err != nil {
		return nil, err
	}
	c, err := s.compile(ctx, e)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, t := range c.unmatched {
		list = append(list, t.String())
	}
	return list, nil
}

// HasNames reports whether some function of the log has a name; of a log without
// rows it says so, too. The session must be loaded.
func (s *Session) HasNames() bool {
	s.mu.Lock()
	n := s.names
	s.mu.Unlock()
	if n == nil || len(n.places) == 0 {
		return true
	}
	for i := range n.places {
		if p := n.places[i].Load(); p != nil && p.function != "" {
			return true
		}
	}
	return false
}

// orDamaged adds the damaged rows that match: they are in no set of addresses,
// but are shown with an address's function all the same, and their times count
// for nothing that the index knows of the log's.
func (c *condition) orDamaged(match func(r *rows.Row) bool, p query.Predicate) query.Predicate {
	if p == nil {
		p = query.Or()
	}
	if !c.damaged {
		return p
	}
	damaged := query.OfKind(parser.Damaged)
	return query.Or(query.And(query.Not(damaged), p), query.And(damaged, c.slow(match)))
}

// slow reads rows as they are shown and tests each, for what the index cannot answer.
func (c *condition) slow(match func(r *rows.Row) bool) query.Predicate { return c.slowWith(0, match) }

// slowWith tests rows with more of them filled in.
func (c *condition) slowWith(f rows.Fields, match func(r *rows.Row) bool) query.Predicate {
	return query.Func(c.shownTest(f, match))
}

// shownTest is slowWith's test.
func (c *condition) shownTest(f rows.Fields, match func(r *rows.Row) bool) func(ctx context.Context, list []int64, pass []bool) error {
	as := &source{s: c.s, fields: f}
	return func(ctx context.Context, list []int64, pass []bool) error {
		var buffer [256]rows.Row
		for len(list) > 0 {
			n := min(len(list), len(buffer))
			if err := c.s.readRows(ctx, buffer[:n], list[:n], as); err != nil {
				return err
			}
			for k := range n {
				pass[k] = match(&buffer[k])
			}
			list, pass = list[n:], pass[n:]
		}
		return nil
	}
}

// placeRow is a row with what an address gives it; its note is the address's
// alone.
func (s *Session) placeRow(n *names, a *calls.Address, i int) rows.Row {
	run := int(a.Run)
	p := n.at(i)
	if p == nil {
		p = s.unresolved(run, a.Space, a.Value)
	}
	row := rows.Row{Address: a.Value, Function: cmp.Or(p.label, p.function), Source: p.source, Line: p.line, Symbols: p.symbols, Note: p.note}
	if p.address != 0 {
		row.Address = p.address
	}
	if p.module >= 0 {
		row.Module = s.runs()[run].names[p.module]
	}
	if row.Function == "" {
		row.Function = s.unnamed(run, p.module, row.Address)
	}
	return row
}

// eachPlace calls f for the addresses from number from on.
func (c *condition) eachPlace(from int, f func(i uint32, r *rows.Row)) {
	table := c.src.AddressTable()
	c.s.mu.Lock()
	n := c.s.names
	c.s.mu.Unlock()
	for i := from; i < c.addresses; i++ {
		a := table.At(i)
		row := c.s.placeRow(n, &a, i)
		f(uint32(i), &row)
	}
}

// addressSet returns the addresses whose rows match.
func (c *condition) addressSet(t *filter.Term, match func(r *rows.Row) bool) *query.Set {
	c.placed = append(c.placed, t)
	set := query.NewSet(c.addresses)
	c.eachPlace(0, func(i uint32, r *rows.Row) {
		if match(r) {
			set.Add(i)
		}
	})
	return set
}

// threadSet returns the threads that match.
func (c *condition) threadSet(t *filter.Term, match func(t *Thread) bool) *query.Set {
	c.onThreads = append(c.onThreads, t)
	set := query.NewSet(c.threads)
	for slot := range uint32(c.threads) {
		if _, stack := c.src.Stack(slot); stack != 0 {
			continue
		}
		if t := c.s.threadAt(slot); match(&t) {
			set.Add(slot)
		}
	}
	return set
}

// anywhere is a term without a column, but for damaged rows; nil where nothing
// matches.
func (c *condition) anywhere(t *filter.Term) query.Predicate {
	places := c.addressSet(t, func(r *rows.Row) bool {
		return t.MatchText(r.Function) || t.MatchText(r.Module) || t.MatchText(r.Source) ||
			t.MatchText(string(rows.AppendAddress(nil, r.Address)))
	})
	threads := c.threadSet(t, func(th *Thread) bool { return t.MatchText(decimal(th.ID)) })
	parts := []query.Predicate{inAddresses(places), c.noted(t)}
	if threads.Len() > 0 {
		parts = append(parts, query.OnThreads(threads))
	}
	return anyOf(parts)
}

// inAddresses passes the rows of some addresses; nil stands for none.
func inAddresses(set *query.Set) query.Predicate {
	if set.Len() == 0 {
		return nil
	}
	return query.InAddresses(set)
}

// anyOf passes the rows that some part passes. Parts that are nil pass none, and
// are left out, so that the index need not work out what they would look at.
func anyOf(parts []query.Predicate) query.Predicate {
	parts = slices.DeleteFunc(parts, func(p query.Predicate) bool { return p == nil })
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return parts[0]
	}
	return query.Or(parts...)
}

// noted is a term about the note, which has the pairing's anomaly and what is to
// be said of the address; nil where no note matches.
func (c *condition) noted(t *filter.Term) query.Predicate {
	c.placed = append(c.placed, t)
	notes := map[string]*query.Set{}
	any := query.NewSet(c.addresses)
	c.eachPlace(0, func(i uint32, r *rows.Row) {
		if r.Note == "" {
			return
		}
		if notes[r.Note] == nil {
			notes[r.Note] = query.NewSet(c.addresses)
		}
		notes[r.Note].Add(i)
		any.Add(i)
	})
	marked := func(note string) query.Predicate {
		var list []calls.Anomaly
		for m := calls.None; m <= calls.NoEnter; m++ {
			if t.MatchText(joinNotes(m.String(), note)) {
				list = append(list, m)
			}
		}
		if len(list) == 0 {
			return nil
		}
		return query.WithAnomaly(list...)
	}
	plain := marked("")
	if len(notes) == 0 {
		return plain
	}
	var parts []query.Predicate
	if plain != nil {
		parts = append(parts, query.And(query.Not(query.InAddresses(any)), plain))
	}
	for note, set := range notes {
		if p := marked(note); p != nil {
			parts = append(parts, query.And(query.InAddresses(set), p))
		}
	}
	return anyOf(parts)
}

// joinNotes joins what a row's note is made of.
func joinNotes(anomaly, note string) string {
	if anomaly != "" && note != "" {
		anomaly += "; "
	}
	return anomaly + note
}

func eventPredicate(t *filter.Term) query.Predicate {
	var kinds []parser.Kind
	for kind, event := range map[parser.Kind]rows.Event{
		parser.Enter: rows.Enter, parser.Leave: rows.Leave, parser.Damaged: rows.Unknown,
	} {
		if t.MatchText(event.String()) {
			kinds = append(kinds, kind)
		}
	}
	return query.OfKind(kinds...)
}

// maxDays bounds the days of a log for which times of day are worked out.
const maxDays = 64

// time makes a range of times one of the log's clock, for each run.
func (c *condition) time(t *filter.Term) query.Predicate {
	var parts []query.Predicate
	runs, first := c.s.runs(), int64(0)
	for k := range runs {
		r := &runs[k]
		last := first + r.Count - 1
		if k == len(runs)-1 {
			last = math.MaxInt64 // it may grow
		}
		p := c.timeInRun(&t.Range, r)
		if len(runs) > 1 {
			p = query.And(query.InRows(first, last), p)
		}
		parts = append(parts, p)
		first += r.Count
	}
	return query.Or(parts...)
}

func (c *condition) timeInRun(r *filter.Range, run *sessionRun) query.Predicate {
	clock := &run.clock
	// toLog turns local time into the log's.
	toLog := func(t time.Time) int64 { return saturatedSum(clock.Zero, int64(t.Sub(clock.Start))) }
	switch {
	case r.Measure == filter.Number:
		if r.Low > r.High {
			break
		}
		return query.InTime(saturatedSum(run.zero, r.Low), saturatedSum(run.zero, r.High))
	case !clock.HasWall:
	case r.Measure == filter.Wall:
		from, to := int64(math.MinInt64), int64(math.MaxInt64)
		if !r.From.IsZero() {
			from = toLog(r.From)
		}
		if !r.To.IsZero() {
			to = toLog(r.To)
		}
		return query.InTime(from, to)
	case r.Measure == filter.TimeOfDay:
		return c.timeOfDay(r, clock.Start, clock.Zero)
	}
	return query.Or()
}

// timeOfDay is a range of times of day on each day of the log.
func (c *condition) timeOfDay(r *filter.Range, start time.Time, zero int64) query.Predicate {
	const day = int64(24 * time.Hour)
	first, last := c.span()
	begin := start.Add(time.Duration(first - zero))
	y, m, d := begin.Date()
	midnight := saturatedSum(zero, int64(time.Date(y, m, d, 0, 0, 0, 0, start.Location()).Sub(start)))
	// Times of a damaged log may be anything, so differences count without sign.
	days := (uint64(last) - uint64(midnight)) / uint64(day)
	match := func(row *rows.Row) bool { return r.HasTime(row.Elapsed, row.Wall, row.HasWall) }
	if last < first || first < midnight || days >= maxDays {
		return c.slow(match)
	}
	var parts []query.Predicate
	// The log may go on into the next day before this is worked out again.
	until := midnight
	for range days + 2 {
		from, to := saturatedSum(until, r.Low), saturatedSum(until, r.High)
		if r.Low > r.High {
			parts = append(parts, query.InTime(until, to))
			to = saturatedSum(until, day-1)
		}
		parts = append(parts, query.InTime(from, to))
		until = saturatedSum(until, day)
	}
	c.timesOfDay, c.until = true, min(c.until, until-1)
	return c.orDamaged(match, query.Or(parts...))
}

// span returns the least and the greatest time of the rows that the index has.
func (c *condition) span() (first, last int64) {
	level, blocks := 0, (c.src.Len()+index.BlockLen-1)/index.BlockLen
	if blocks == 0 {
		return 0, -1
	}
	for n := blocks; n > 1; n = (n + 3) / 4 {
		level++
	}
	s := c.src.Summary(level, 0)
	return s.FirstTime, s.LastTime
}

func saturatedSum(a, b int64) int64 {
	switch sum := a + b; {
	case b > 0 && sum < a:
		return math.MaxInt64
	case b < 0 && sum > a:
		return math.MinInt64
	default:
		return sum
	}
}

// call is the rows in the call that is entered or left at a row.
func (c *condition) call(row int64) (query.Predicate, error) {
	if row < 0 || row >= c.src.Len() {
		return query.Or(), nil
	}
	call, err := query.CallAt(c.src, row)
	if err != nil {
		return nil, err
	}
	if call.Enter < 0 {
		return query.Or(), nil
	}
	return query.InsideCall(call.Enter), nil
}

// outdated reports whether names or pairs have changed since the condition was
// made.
func (c *condition) outdated() bool { return c.pass != nil && c.generation != c.s.generation.Load() }

// outgrown reports whether the log has gained something since that the
// condition would have to know: a new address or thread that a term matches, a
// run, a day, the first damaged record.
func (c *condition) outgrown() bool {
	if c.pass == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.grown {
		return true
	}
	grown := c.runs != len(c.s.runs()) || !c.damaged && c.s.table.Count(calls.Damaged) > 0
	if c.timesOfDay {
		_, last := c.span()
		grown = grown || last > c.until
	}
	from := c.addresses
	c.addresses = c.src.AddressTable().Len()
	grown = grown || c.withoutValues && c.s.HasValues()
	for _, v := range c.valued {
		for i := from; i < c.addresses && !grown; i++ {
			grown = v.matcher(uint32(i)) != nil || v.failed
		}
	}
	c.eachPlace(from, func(_ uint32, r *rows.Row) {
		for _, t := range c.placed {
			grown = grown || r.Note != "" || t.MatchPlace(r) || t.Column == filter.In && t.MatchFunction(r.Function)
		}
	})
	threads := c.threads
	c.threads = c.src.Slots()
	for slot := uint32(threads); slot < uint32(c.threads); slot++ {
		th := c.s.threadAt(slot)
		for _, t := range c.onThreads {
			grown = grown || t.Column == filter.Text || t.MatchThread(th.ID, th.Name) || t.Column == filter.ThreadName && t.MatchText(th.Name) || t.Column == filter.Process && t.MatchProcess(th.Process)
		}
	}
	c.grown = grown
	return grown
}
