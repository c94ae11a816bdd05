package export

import "logparser/rows"

// The text of most rows depends on nothing but the row: it begins a call, or
// ends the one that is open, at its own time. A drafter's text of rows is made
// as if they all did, by the workers that read them, and the walk takes it
// where it turns out right. The others' is made by the walk.

// A drafter is a callWriter whose text of a call's beginning and end depends on
// the row and its time only.
type drafter interface {
	callWriter
	// drafts makes a worker a function that appends what enter or leave
	// would for a row that enters or leaves a call at a time. Such a
	// writer's leave does not look at the call, and its kept is 0.
	drafts() func(dst []byte, r *rows.Row, at int64) []byte
}

// A draft is the text of the first rows of a batch.
type draft struct {
	text []byte
	rows []draftRow
	// delta was added to their Elapsed. All have HasWall or none, and then
	// Elapsed and the origin are their local time.
	delta, origin int64
	hasWall       bool
}

// A draftRow is what the walk has to know of a row.
type draftRow struct {
	at, duration int64
	thread       uint32
	depth        int32
	// end is where its text ends.
	end uint32
	// event is Unknown for rows without text.
	event rows.Event
}

// maxDraft bounds the text of a batch but for the last row's.
const maxDraft = 4 << 20

// prepare goes on with the draft of a batch.
func (b *batch) prepare(delta int64, text func(dst []byte, r *rows.Row, at int64) []byte) {
	d := &b.draft
	if len(b.rows) == 0 {
		d.text, d.rows, d.delta = d.text[:0], d.rows[:0], bound(delta)
		return
	}
	from := len(d.rows)
	if from%formatRows != 0 {
		return
	}
	for i := range b.rows[from:] {
		r := &b.rows[from+i]
		var origin int64
		if r.HasWall {
			origin = r.Wall.UnixNano() - r.Elapsed
		}
		if len(d.rows) == 0 {
			d.hasWall, d.origin = r.HasWall, origin
		}
		if r.HasWall != d.hasWall || origin != d.origin || len(d.text) > maxDraft {
			return
		}
		row := draftRow{at: bound(r.Elapsed) + d.delta, duration: r.Duration, thread: r.Thread, depth: int32(r.Depth), event: r.Event}
		if row.event != rows.Unknown {
			if row.at >= 0 && row.at <= maxTime/2 && r.Elapsed == bound(r.Elapsed) && int(row.depth) == r.Depth {
				d.text = text(d.text, r, row.at)
			} else {
				row.event = rows.Unknown
			}
		}
		row.end = uint32(len(d.text))
		d.rows = append(d.rows, row)
	}
}

// addBatch takes the rows of a batch.
func (w *walk) addBatch(b *batch) error {
	d := &b.draft
	agrees := w.agrees(d)
	// Up to here drafted text is in buf, or left out.
	done := uint32(0)
	for i := range b.rows {
		var end uint32
		drafted := i < len(d.rows)
		if drafted {
			row := &d.rows[i]
			end = row.end
			if agrees && w.takes(row, d.hasWall, i) {
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
		if err := w.add(&b.rows[i]); err != nil {
			return err
		}
		if drafted {
			agrees = w.agrees(d)
		}
	}
	w.settle(b.rows)
	if n := len(b.rows); n > 0 {
		w.delta.Store(w.offset(b.rows[n-1].HasWall))
	}
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

// offset is what is added to the Elapsed of rows like the last.
func (w *walk) offset(hasWall bool) int64 {
	if hasWall {
		return w.origin - w.base + w.shift
	}
	return w.shift
}

// agrees reports whether the times of a draft are those of the walk.
func (w *walk) agrees(d *draft) bool {
	if len(d.rows) == 0 || d.hasWall && (!w.hasBase || w.origin != d.origin) {
		return false
	}
	return w.offset(d.hasWall) == d.delta && w.shift >= -maxTime/2 && w.shift <= maxTime/2
}

// takes does what add does, for a row that is as drafted. It reports whether
// it is; if not, nothing has changed.
func (w *walk) takes(d *draftRow, hasWall bool, i int) bool {
	t := w.recent
	if t == nil || t.id != d.thread {
		t = w.thread(d.thread)
	}
	at := d.at
	if at < t.last || at >= w.nextMark || !w.told[t.index] || !hasWall && at < w.max-runGap {
		return false
	}
	n := len(t.stack)
	switch d.event {
	case rows.Enter:
		if n > 0 {
			c := &t.stack[n-1]
			over := c.depth+1 < int(d.depth) && c.duration >= 0 && c.duration < at-c.start
			if c.depth >= int(d.depth) || over {
				return false
			}
		}
		if w.open >= maxOpen {
			return false
		}
		w.open++
		t.stack = append(t.stack, call{start: at, duration: d.duration, depth: int(d.depth), row: int32(i)})
		if !t.pending && w.out.open != nil {
			t.pending = true
			w.pending = append(w.pending, t)
		}
	case rows.Leave:
		if n == 0 || d.duration < 0 {
			return false
		}
		if c := &t.stack[n-1]; c.depth != int(d.depth) || c.duration != d.duration {
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

// settle sets what a call that goes on in another part is told again with.
func (w *walk) settle(list []rows.Row) {
	for _, t := range w.pending {
		for n := len(t.stack); n > 0 && t.stack[n-1].fn == nil; n-- {
			c := &t.stack[n-1]
			r := &list[c.row]
			c.fn, c.index, c.address, c.note, c.line = w.function(r), r.Index, r.Address, r.Note, r.Line
		}
		t.pending = false
	}
	w.pending = w.pending[:0]
}
