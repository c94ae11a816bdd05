package query

import (
	"cmp"
	"context"
	"math/bits"
	"math/rand/v2"
	"slices"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

const (
	// MaxPeriod is the greatest number of sibling calls, counting equal ones
	// that follow each other as one, that repeat as a group.
	MaxPeriod = 8
	// MaxRepeats bounds the length of Repeats.List.
	MaxRepeats = 1 << 20
	// maxSequences is the depth below which no repeats are looked for.
	maxSequences = 1 << 16
	// maxUnfinished bounds the calls open at the end whose last group of calls
	// is looked at.
	maxUnfinished = 64
)

// maxRepeats is MaxRepeats, and less in tests.
var maxRepeats = MaxRepeats

// A Repeat is a run of calls of one thread, made by one caller after each
// other, that do the same: their whole trees of calls have the same addresses
// and anomalies. Or it is a run of groups of such calls.
type Repeat struct {
	// First is the row at which the first iteration begins. Second is the row
	// at which the second begins and End the row after the last iteration:
	// the rows of the thread from Second to End are what a view leaves out.
	First, Second, End int64
	Thread             uint32
	// Calls is the number of calls of the caller in one iteration.
	Calls int64
	// Count is the number of iterations, 2 or more.
	Count int64
}

// Repeats are the repeats of a log, those within the first iteration of
// others too, but not those within the iterations that are left out. They are
// immutable.
type Repeats struct {
	// List is by rising First; of several at one row the outer is first.
	List []Repeat
	// Least is the number of rows that a repeat must leave out to be in the
	// list: 1, or more where there were more than MaxRepeats.
	Least int64
}

// At returns the repeats that begin at a row, the outer first.
func (r *Repeats) At(row int64) []Repeat {
	i, _ := slices.BinarySearchFunc(r.List, row, func(r Repeat, row int64) int { return cmp.Compare(r.First, row) })
	n := i
	for n < len(r.List) && r.List[n].First == row {
		n++
	}
	return r.List[i:n]
}

// FindRepeats finds the repeats of all rows. Progress, if not nil, is told
// the rows done. Of calls in more than 65,536 others none are found.
//
// It is one pass in the order of the rows. Each call that is left has a hash
// of its whole tree; the calls of one caller are first joined to runs of equal
// ones, and in the sequence of these the shortest period is looked for.
func FindRepeats(ctx context.Context, src *index.Index, progress parser.Progress) (*Repeats, error) {
	src = src.Steady()
	f := &repeatFinder{seed: [2]uint64{rand.Uint64(), rand.Uint64()}, least: 1}
	rows := src.Len()
	var told time.Time
	err := inOrder(ctx, src, rows, index.Threads|index.Addresses|index.Kinds|index.Depths|index.Pairs, func(b *index.Block) error {
		f.add(b)
		if progress != nil && time.Since(told) >= tellEvery {
			told = time.Now()
			progress(b.First+int64(b.N), rows)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if progress != nil {
		progress(rows, rows)
	}
	r := &Repeats{Least: f.least}
	for _, t := range f.threads {
		// The last runs of calls that are open are not in their sequences yet.
		t.ended = true
		for i := range min(len(t.frames), maxUnfinished) {
			f.finish(t, &t.frames[i])
		}
		for i := range t.list {
			if o := &t.list[i]; o.hides() >= f.least {
				r.List = append(r.List, o.Repeat)
			}
		}
		t.list = nil
	}
	slices.SortFunc(r.List, func(a, b Repeat) int {
		return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(b.End, a.End))
	})
	return r, nil
}

// inOrder reads blocks in parallel and calls visit with each in order. A block
// is valid until visit returns.
func inOrder(ctx context.Context, src *index.Index, rows int64, want index.Columns, visit func(b *index.Block) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		b   *index.Block
		err error
	}
	type lane struct {
		full chan result
		free chan *index.Block
	}
	blocks, n := sizes.Blocks(rows), Workers()
	lanes := make([]lane, n)
	for i := range lanes {
		l := lane{make(chan result, 4), make(chan *index.Block, 4)}
		for range cap(l.free) {
			l.free <- new(index.Block)
		}
		lanes[i] = l
		go func() {
			defer close(l.full)
			for k := i; k < blocks; k += n {
				var r result
				select {
				case r.b = <-l.free:
				case <-ctx.Done():
					return
				}
				if r.err = src.Fill(r.b, k, want); r.err == nil {
					r.b.N = int(min(int64(r.b.N), rows-int64(k)*sizes.Block))
				}
				select {
				case l.full <- r:
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	// The index is not used any more when this returns.
	defer func() {
		cancel()
		for _, l := range lanes {
			for range l.full {
			}
		}
	}()
	for k := range blocks {
		l := lanes[k%n]
		r, ok := <-l.full
		if !ok {
			return ctx.Err()
		}
		if r.err != nil {
			return r.err
		}
		if err := visit(r.b); err != nil {
			return err
		}
		l.free <- r.b
	}
	return ctx.Err()
}

// A repeatFinder has the state of each thread.
type repeatFinder struct {
	seed    [2]uint64
	threads []*repeatThread
	// total is the length of the threads' lists; those that hide fewer rows
	// than least are dropped.
	total int
	least int64
	free  []*sequence
}

type repeatThread struct {
	slot uint32
	// frames has a frame for the thread itself first.
	frames []repeatFrame
	// list has what is found. What begins after a row is at its end, until
	// the log has ended.
	list  []listedRepeat
	ended bool
}

type listedRepeat struct {
	Repeat
	// rows is the number of the thread's rows in an iteration.
	rows int64
	// moved is where it goes when the list is thinned out.
	moved int32
}

func (o *listedRepeat) hides() int64 { return o.rows * (o.Count - 1) }

// A repeatFrame is an open call, with the last run of equal calls that it
// made.
type repeatFrame struct {
	enter   int64
	address uint32
	depth   int32
	// hash is that of the calls made, events the number of rows so far.
	hash   uint64
	events int64

	// last is the run: the hash and rows of each of its calls and their
	// number, the rows of its begin and end, and its index in the list.
	last  token
	count int64
	index int32
	*sequence
}

// A token is a call that is left, or a run of equal calls.
type token struct {
	hash, events int64
	first, end   int64
	calls        int64
	// run is the number of the token that begins the run of groups that this
	// one is part of, or -1.
	run int64
}

func (t *token) equal(o *token) bool { return t.hash == o.hash && t.events == o.events }

// A sequence is the last runs of equal calls of a frame.
type sequence struct {
	ring [2 * MaxPeriod]token
	n    int64
	// period is that of the run of groups that goes on, or 0, and phase how
	// many tokens of the next group there are.
	period, phase int64
	group         int32 // its index in the list
}

func (s *sequence) at(i int64) *token { return &s.ring[i%int64(len(s.ring))] }

func (f *repeatFinder) mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^f.seed[0], b^f.seed[1])
	return hi ^ lo
}

func (f *repeatFinder) thread(slot uint32) *repeatThread {
	for int(slot) >= len(f.threads) {
		f.threads = append(f.threads, &repeatThread{slot: uint32(len(f.threads)), frames: []repeatFrame{{depth: -1}}})
	}
	return f.threads[slot]
}

// add goes on with the rows of a block.
func (f *repeatFinder) add(b *index.Block) {
	var t *repeatThread
	slot := index.NoThread
	for i := range b.N {
		kind := b.Kind[i]
		if kind == parser.Damaged || b.Anomaly[i] == calls.Stray {
			continue
		}
		if b.Thread[i] != slot {
			slot = b.Thread[i]
			t = f.thread(slot)
		}
		row, d := b.First+int64(i), b.Depth[i]
		top := len(t.frames) - 1
		if kind == parser.Enter {
			if t.frames[top].depth >= d {
				f.unwind(t, d, row)
			}
			t.frames = append(t.frames, repeatFrame{enter: row, address: b.Address[i], depth: d, hash: uint64(b.Address[i]) + 1, events: 1})
			continue
		}
		if t.frames[top].depth > d {
			top = f.unwind(t, d+1, row)
		}
		if b.Anomaly[i] == calls.NoEnter || top == 0 || t.frames[top].depth != d {
			// Nothing is equal to a call of which a part is missing.
			f.child(t, token{hash: int64(f.mix(uint64(row), ^uint64(0))), events: 1, first: row, end: row + 1})
			continue
		}
		f.leave(t, row+1, 1, b.Anomaly[i])
	}
	if f.total > maxRepeats {
		f.thin()
	}
}

// unwind takes the calls of depth d and more, which were left without a leave
// before a row, and returns the index of the top.
func (f *repeatFinder) unwind(t *repeatThread, d int32, row int64) int {
	for t.frames[len(t.frames)-1].depth >= d {
		f.leave(t, row, 0, calls.NoLeave)
	}
	return len(t.frames) - 1
}

// leave takes the top call.
func (f *repeatFinder) leave(t *repeatThread, end, rows int64, anomaly calls.Anomaly) {
	c := &t.frames[len(t.frames)-1]
	f.finish(t, c)
	tok := token{hash: int64(f.mix(c.hash, uint64(anomaly))), events: c.events + rows, first: c.enter, end: end}
	t.frames = t.frames[:len(t.frames)-1]
	f.child(t, tok)
}

// finish ends the sequence of a frame.
func (f *repeatFinder) finish(t *repeatThread, c *repeatFrame) {
	if c.sequence == nil {
		return
	}
	f.push(t, c)
	f.free = append(f.free, c.sequence)
	c.sequence = nil
}

// child adds a call that is left to its caller, the top.
func (f *repeatFinder) child(t *repeatThread, tok token) {
	c := &t.frames[len(t.frames)-1]
	c.hash = f.mix(c.hash, uint64(tok.hash))
	c.events += tok.events
	if len(t.frames) > maxSequences {
		return
	}
	if c.count > 0 && c.last.equal(&tok) {
		c.last.end = tok.end
		if c.count++; c.count > 2 {
			r := &t.list[c.index]
			r.End, r.Count = tok.end, c.count
			f.drop(t, r.Second, r.End, int(c.index)+1)
			return
		}
		c.index = f.found(t, Repeat{First: c.last.first, Second: tok.first, End: tok.end, Calls: 1, Count: 2}, tok.events)
		return
	}
	if c.count > 0 {
		f.push(t, c)
	}
	c.last, c.count = tok, 1
}

// found adds a repeat to the list and takes those out that are within its
// further iterations.
func (f *repeatFinder) found(t *repeatThread, r Repeat, rows int64) int32 {
	n := len(t.list)
	for !t.ended && n > 0 && t.list[n-1].First >= r.Second {
		n--
	}
	f.drop(t, r.Second, r.End, n)
	r.Thread = t.slot
	t.list = slices.Insert(t.list, n, listedRepeat{Repeat: r, rows: rows})
	f.total++
	return int32(n)
}

// drop takes the repeats out that begin at the rows from to to (not included).
// They are the list's from index n on, but for those within the call that
// came last, which begin at to or after it.
func (f *repeatFinder) drop(t *repeatThread, from, to int64, n int) {
	if !t.ended {
		m := len(t.list)
		for m > n && t.list[m-1].First >= to {
			m--
		}
		f.total -= m - n
		t.list = slices.Delete(t.list, n, m)
		return
	}
	for i := range t.list {
		if o := &t.list[i]; o.First >= from && o.First < to {
			o.Count = 0
		}
	}
}

// push adds the last run of equal calls to a frame's sequence.
func (f *repeatFinder) push(t *repeatThread, c *repeatFrame) {
	if c.sequence == nil {
		if n := len(f.free); n > 0 {
			c.sequence, f.free = f.free[n-1], f.free[:n-1]
			c.n, c.period, c.phase = 0, 0, 0
		} else {
			c.sequence = &sequence{}
		}
	}
	s := c.sequence
	tok := c.last
	tok.hash = int64(f.mix(uint64(tok.hash), uint64(c.count)))
	tok.events *= c.count
	tok.calls, tok.run = c.count, -1
	*s.at(s.n) = tok
	s.n++
	if s.period > 0 {
		if before := s.at(s.n - 1 - s.period); before.equal(&tok) {
			s.at(s.n - 1).run = before.run
			if s.phase++; s.phase == s.period {
				s.phase = 0
				r := &t.list[s.group]
				r.End = tok.end
				r.Count++
				f.drop(t, r.Second, r.End, int(s.group)+1)
			}
			return
		}
		for i := range s.phase {
			s.at(s.n - 2 - i).run = -1
		}
		s.period, s.phase = 0, 0
	}
	for p := int64(2); p <= MaxPeriod && 2*p <= s.n; p++ {
		if !s.at(s.n-1-p).equal(&tok) || !s.repeats(p) {
			continue
		}
		begin, second := s.n-2*p, s.n-p
		r := Repeat{First: s.at(begin).first, Second: s.at(second).first, End: tok.end, Count: 2}
		rows := int64(0)
		for i := begin; i < s.n; i++ {
			s.at(i).run = begin
			if i < second {
				r.Calls += s.at(i).calls
				rows += s.at(i).events
			}
		}
		s.period = p
		s.group = f.found(t, r, rows)
		return
	}
}

// repeats reports whether the last p tokens are equal to those before, and
// neither these nor those begin within another run.
func (s *sequence) repeats(p int64) bool {
	for _, i := range [...]int64{s.n - 2*p, s.n - p} {
		if run := s.at(i).run; run >= 0 && run != i {
			return false
		}
	}
	for i := s.n - p; i < s.n-1; i++ {
		if !s.at(i).equal(s.at(i - p)) {
			return false
		}
	}
	return true
}

// thin drops the repeats that leave out the fewest rows until there are half
// as many as there may be. Those that go on stay.
func (f *repeatFinder) thin() {
	for first := true; first || f.total > maxRepeats/2 && f.least < 1<<62; first = false {
		if !first {
			f.least *= 2
		}
		f.total = 0
		for _, t := range f.threads {
			for i := range t.list {
				t.list[i].moved = -1
			}
			goingOn := func(visit func(index *int32)) {
				for i := range t.frames {
					c := &t.frames[i]
					if c.count > 1 {
						visit(&c.index)
					}
					if c.sequence != nil && c.period > 0 {
						visit(&c.group)
					}
				}
			}
			goingOn(func(index *int32) { t.list[*index].moved = 0 })
			kept := t.list[:0]
			moved := make(map[int32]int32)
			for i := range t.list {
				if o := t.list[i]; o.moved == 0 || o.hides() >= f.least {
					if o.moved == 0 {
						moved[int32(i)] = int32(len(kept))
					}
					kept = append(kept, o)
				}
			}
			t.list = slices.Clip(kept)
			goingOn(func(index *int32) { *index = moved[*index] })
			f.total += len(t.list)
		}
	}
}
