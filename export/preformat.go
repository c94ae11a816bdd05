package export

import (
	"slices"

	"logparser/rows"
)

// The text of most rows depends on the row alone: it begins a call, or ends the innermost open call, at its own time. So the
// workers that read the rows make the text of all rows as if this held for each, in parallel. The walk uses the text of the
// rows for which it does hold, and makes the text of the others itself.

// A preformatter is a callWriter whose text of an enter or a leave depends on the row and its time only. Its leave does not
// look at the call, and its kept returns 0.
type preformatter interface {
	callWriter
	// preformats returns the functions of a worker. It is called once for each worker.
	preformats() preformats
}

// preformats are a worker's functions. row appends the text that enter or leave would append for the row at a time. briefs adds
// brief rows of a run, with their text, to d.
type preformats struct {
	row    func(dst []byte, r *rows.Row, at int64) []byte
	briefs func(d *preformatted, list *rows.Briefs, run *placedRun)
}

// preformatted is the text of the first rows of a batch.
type preformatted struct {
	text []byte
	rows []preformattedRow
	// run is the number of the run that they belong to.
	run int
}

// A preformattedRow is what the walk needs of a row.
type preformattedRow struct {
	at, duration int64
	track        rows.Track
	depth        int32
	// end is the offset of the end of its text.
	end uint32
	// event is Unknown if the row has no text.
	event    rows.Event
	unclosed bool
}

// maxPreformatted bounds the text of a batch without its last row, in bytes.
const maxPreformatted = 4 << 20

// prepare preformats the rows that were read since its last call.
func (b *batch) prepare(runs []placedRun, to preformats) {
	d := &b.preformatted
	if b.n == 0 {
		d.text, d.rows = d.text[:0], d.rows[:0]
		return
	}
	from := len(d.rows)
	if from != b.last {
		return // preformatting of this batch has stopped
	}
	if from == 0 {
		first := b.briefs.First
		if !b.brief {
			first = b.rows[0].Index
		}
		d.run = runAt(runs, first)
	}
	run, next := &runs[d.run], nextRun(runs, d.run)
	if b.brief {
		// All rows of briefs belong to one run.
		if b.briefs.First < next && len(d.text) <= maxPreformatted {
			to.briefs(d, &b.briefs, run)
		}
		return
	}
	list := b.rows[from-b.first:]
	for i := range list {
		if list[i].Index >= next || len(d.text) > maxPreformatted {
			return
		}
		d.add(&list[i], run, to.row)
	}
}

// add adds a row and its text.
func (d *preformatted) add(r *rows.Row, run *placedRun, text func(dst []byte, r *rows.Row, at int64) []byte) {
	row := d.next()
	row.at, row.duration, row.track, row.depth, row.event, row.unclosed = run.time(r.Elapsed), r.Duration, r.Track(), int32(r.Depth), r.Event, r.Unclosed
	if row.event != rows.Unknown {
		if int(row.depth) == r.Depth {
			d.text = text(d.text, r, row.at)
		} else {
			row.event = rows.Unknown
		}
	}
	row.end = uint32(len(d.text))
}

// next adds an element and returns it. The caller sets its fields one by one. If it built the element elsewhere and copied it,
// the copy would read more bytes at a time than were written, and the processor would wait for the writes (failed store
// forwarding).
func (d *preformatted) next() *preformattedRow {
	n := len(d.rows)
	if n == cap(d.rows) {
		d.rows = slices.Grow(d.rows, 1)
	}
	d.rows = d.rows[:n+1]
	return &d.rows[n]
}

// addBatch processes the rows of a batch.
func (w *walk) addBatch(src rows.Source, b *batch) error {
	d := &b.preformatted
	// The preformatted text before done is in w.buf, or was replaced.
	done := uint32(0)
	for i := range b.n {
		var end uint32
		preformatted := i < len(d.rows)
		if preformatted {
			row := &d.rows[i]
			end = row.end
			if d.run == w.run && w.takes(row, i) {
				w.out.rows++
				if w.out.open == nil || !w.out.full(1, int64(len(w.buf))+int64(end-done)) {
					continue
				}
				w.buf = append(w.buf, d.text[done:end]...)
				done = end
				w.settle(b.rows)
				if err := w.part(); err != nil {
					return err
				}
				continue
			}
			before := uint32(0)
			if i > 0 {
				before = d.rows[i-1].end
			}
			w.buf = append(w.buf, d.text[done:before]...)
			done = end
		} else if i == len(d.rows) {
			w.buf = append(w.buf, d.text[done:]...)
			done = uint32(len(d.text))
		}
		w.settle(b.rows)
		r, err := b.row(src, i)
		if err != nil {
			return err
		}
		if err := w.add(r); err != nil {
			return err
		}
	}
	w.settle(b.rows)
	text := d.text[done:]
	if len(text) < flushBytes/4 {
		w.buf = append(w.buf, text...)
		return nil
	}
	if err := w.flush(1); err != nil {
		return err
	}
	return w.write(text)
}

// takes does what add does, without making text, for a row whose preformatted text is right. It returns false, and changes
// nothing, if that text is not right.
func (w *walk) takes(d *preformattedRow, i int) bool {
	t := w.recent
	if t == nil || t.track != d.track {
		t = w.thread(d.track)
	}
	at := d.at
	if at < t.last || at >= w.nextAnnotation || !w.told[t.index] {
		return false
	}
	n := len(t.stack)
	switch d.event {
	case rows.Enter:
		if n > 0 {
			c := &t.stack[n-1]
			over := c.depth+1 < int(d.depth) && c.end < at
			if c.depth >= int(d.depth) || over {
				return false
			}
		}
		if w.open >= maxOpen {
			return false
		}
		w.open++
		w.activate(t)
		t.stack = slices.Grow(t.stack, 1)[:n+1]
		c := &t.stack[n]
		*c = call{}
		c.start, c.end, c.duration, c.unclosed, c.depth, c.row = at, endOf(at, d.duration), d.duration, d.unclosed, int(d.depth), int32(i)
		if !t.pending && w.out.open != nil {
			t.pending = true
			w.pending = append(w.pending, t)
		}
	case rows.Leave:
		if n == 0 || d.duration < 0 {
			return false
		}
		if c := &t.stack[n-1]; c.depth != int(d.depth) || c.duration != d.duration || c.unclosed {
			return false
		}
		t.stack = t.stack[:n-1]
		w.open--
	default:
		return false
	}
	t.last = at
	w.max = max(w.max, at)
	return true
}

// settle sets the fields of calls that are needed to enter them again in another file. list has all rows of the batch if there
// may be several files.
func (w *walk) settle(list []rows.Row) {
	for _, t := range w.pending {
		for n := len(t.stack); n > 0 && t.stack[n-1].fn == nil; n-- {
			c := &t.stack[n-1]
			r := &list[c.row]
			c.fn, c.index, c.address, c.note, c.line = w.function(r), r.Index, r.Address, r.SavedNote(), r.Line
		}
		t.pending = false
	}
	w.pending = w.pending[:0]
}
