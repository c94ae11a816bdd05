package unwind

import (
	"cmp"
	"slices"

	"logparser/message"
	"logparser/symbols/image"
)

// An Entry is the rules of a function, or of a part of one: the code [Start, End), as RVAs.
type Entry struct {
	Start, End uint64
	// Function is the first byte of the function that the code belongs to.
	Function uint64
	// Spans fill the entry.
	Spans []Span
}

// A Span is a piece of code that has the same rules: Exact are those of a frame that was stopped there,
// Return those of one that waits there for what it called.
type Span struct {
	Length        uint64
	Exact, Return KeptRow
}

// add adds a piece of code.
func (e *Entry) add(length uint64, exact, back KeptRow) {
	if length == 0 {
		return
	}
	if n := len(e.Spans); n > 0 && e.Spans[n-1].Exact == exact && e.Spans[n-1].Return == back {
		e.Spans[n-1].Length += length
		return
	}
	e.Spans = append(e.Spans, Span{length, exact, back})
}

// RulesOf returns the unwind rules of an image, the best first. The image must stay open as long as they are
// used.
func RulesOf(im *image.Image) (list []Rules) {
	if d := NewExceptionDirectory(im); d != nil {
		list = append(list, d)
	}
	for _, c := range NewCFI(im) {
		list = append(list, c)
	}
	return list
}

// A collector is a source of unwind rules whose entries can be listed.
type collector interface {
	// extents returns the code of all entries, sorted and without overlaps; each names its entry by off.
	extents() ([]fdeRange, error)
	// collect returns an entry; its spans fill [start, end) of the extent. RVAs.
	collect(at fdeRange) (*Entry, error)
}

// LeavesAlone reports whether a function that has no entry saves nothing and changes no stack pointer, as in a PE
// with an exception directory.
func LeavesAlone(list []Rules) bool {
	for _, r := range list {
		if _, ok := r.(*ExceptionDirectory); ok {
			return true
		}
	}
	return false
}

// Collect calls visit with the rules of all code that has any, by rising RVA and without overlaps; of several sources
// the first one that has an entry counts. It ends with the first error of visit. What is damaged is passed over.
func Collect(list []Rules, visit func(*Entry) error) error {
	type owned struct {
		fdeRange
		from collector
		leaf bool
	}
	var all []owned
	leaf := false
	for _, r := range list {
		c, ok := r.(collector)
		if !ok {
			continue
		}
		ranges, err := c.extents()
		if err != nil {
			return err
		}
		var more []owned
		i := 0
		for _, r := range ranges {
			// What an earlier source has is taken out.
			for i < len(all) && all[i].end <= r.start {
				i++
			}
			for k := i; k < len(all) && all[k].start < r.end && r.start < r.end; k++ {
				if all[k].start > r.start {
					part := r
					part.end = all[k].start
					more = append(more, owned{part, c, leaf})
				}
				r.start = all[k].end
			}
			if r.start < r.end {
				more = append(more, owned{r, c, leaf})
			}
		}
		all = append(all, more...)
		slices.SortFunc(all, func(a, b owned) int { return cmp.Compare(a.start, b.start) })
		_, directory := r.(*ExceptionDirectory)
		leaf = leaf || directory
	}
	for _, o := range all {
		e, err := o.from.collect(o.fdeRange)
		if err != nil {
			continue
		}
		if o.leaf {
			for i := range e.Spans {
				e.Spans[i].Exact = leafRule
			}
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	return nil
}

// disjoint cuts sorted ranges where the next one begins; of several that begin at one address the
// last counts, as it does when one is looked for.
func disjoint(list []fdeRange) []fdeRange {
	kept := list[:0]
	for i, r := range list {
		if i+1 < len(list) {
			r.end = min(r.end, list[i+1].start)
		}
		if r.start < r.end {
			kept = append(kept, r)
		}
	}
	return kept
}

// maxInstructions bounds the instructions that are run for one section, in bytes: many functions may
// share a CIE, whose instructions are then run for each of them.
const maxInstructions = 1 << 31

// ruleRoom returns how many bytes the rules of an entry may take, by the bytes of its instructions. An instruction that
// changes a rule has at least two bytes, and real rules have less than 100. The limit is for forged entries: one byte
// (DW_CFA_restore) can bring back an expression of thousands of bytes.
func ruleRoom(instructions int) int { return 64<<10 + 64*instructions }

// extents implements collector.
func (c *CFI) extents() ([]fdeRange, error) {
	c.index.Do(c.readAll)
	var list []fdeRange
	for _, f := range c.fdes {
		if f.start >= c.im.Base && f.end-c.im.Base <= c.im.Size {
			list = append(list, fdeRange{f.start - c.im.Base, f.end - c.im.Base, f.off})
		}
	}
	return disjoint(list), nil
}

// collect implements collector.
func (c *CFI) collect(at fdeRange) (*Entry, error) {
	f, _, err := c.readFDE(at.off)
	if err != nil {
		return nil, err
	}
	if f == nil {
		return nil, errCFI
	}
	if c.ran.Add(int64(len(f.cie.instructions)+len(f.instructions))) > maxInstructions {
		return nil, message.Errorf("%w: too many instructions", errCFI)
	}
	return c.entryOf(f, at)
}

// entryOf returns the entry of an FDE, as far as its code counts.
func (c *CFI) entryOf(f *fde, at fdeRange) (*Entry, error) {
	base := c.im.Base
	e := &Entry{Start: at.start, End: at.end, Function: f.start - base}
	done := at.start
	p := &program{cie: f.cie, eh: c.eh, pc: f.start, target: 1<<64 - 1}
	p.row.ra, p.row.signal = f.ra, f.signal
	in := buffer{b: f.cie.instructions, addr: f.cie.addr, order: c.im.Order}
	if err := p.run(&in); err != nil {
		return nil, err
	}
	p.initial = p.row
	var last *row
	var kept KeptRow
	room := ruleRoom(len(f.instructions))
	visit := func(from, to uint64, r *row) bool {
		if to = min(to-base, at.end); to <= done {
			return to < at.end
		}
		if room > 0 && (last == nil || !last.equal(r)) {
			same := *r
			last, kept = &same, r.rule()
			room -= len(kept)
		}
		if room <= 0 {
			kept = "" // beyond that nothing is known
		}
		e.add(to-done, kept, kept)
		done = to
		return to < at.end
	}
	p.visit = visit
	in = buffer{b: f.instructions, addr: f.addr, order: c.im.Order}
	err := p.run(&in)
	switch {
	case done >= at.end:
	case err != nil:
		e.add(at.end-done, "", "") // where it is damaged
	default:
		visit(p.pc, at.end+base, &p.row)
		e.add(at.end-done, "", "")
	}
	return e, nil
}
