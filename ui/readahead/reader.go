// Package readahead reads the rows that a table shows on other goroutines than
// the one that draws it, and a few screens more in the direction that the table
// is scrolled in.
//
// In a filtered log the rows of one screen may lie far apart, and each costs the
// reading of its surroundings. A [Reader] stands between such a source and a
// [grid.Grid]: it hands out what it has within a moment, and a placeholder
// ([grid.Waiting]) for what it has not, for which it asks to be drawn again.
package readahead

import (
	"runtime"
	"sync"
	"time"

	"logparser/rows"
	"logparser/ui/grid"
)

const (
	// patience is how long a screen is waited for before placeholders are drawn.
	patience = 2 * time.Millisecond
	// redrawEvery is the least time between two redraws for one screen.
	redrawEvery = 25 * time.Millisecond
	// chunk is how many rows are read at a time. All may lie apart.
	chunk = 8
	// ahead and behind are how many screens are read besides the one seen.
	ahead, behind = 3, 1
	// maxRows is how many rows are kept.
	maxRows = 4096
)

// A Row is a row with what is shown of it besides its content.
type Row struct {
	rows.Row
	Decor grid.Decor
}

// A Reader reads rows ahead. SetSource, Renew and Read are called on one
// goroutine, that of the user interface.
type Reader struct {
	post   func(func())
	redraw func()
	wake   chan struct{} // gets a value when rows have come

	mu  sync.Mutex
	src rows.Source
	// decorate fills in Row.Decor; it may be nil.
	decorate func(pos int64, r *Row)
	// Rows of another source are never shown; those of another generation
	// only until they have been read again.
	source, generation uint64
	kept               map[int64]entry
	reading            map[int64]bool // chunks, by their first row
	workers            int
	first, count       int64 // what is seen
	up                 bool  // the table is scrolled towards its beginning
	owing              bool  // something seen was not there, or old
	posted             bool
	drawn              time.Time
}

type entry struct {
	Row
	generation uint64
}

// New makes a Reader without rows. redraw is posted when rows have come that
// were missing.
func New(post func(func()), redraw func()) *Reader {
	return &Reader{post: post, redraw: redraw, wake: make(chan struct{}, 1), kept: make(map[int64]entry), reading: make(map[int64]bool)}
}

// SetSource reads another source from now on; nil is none. decorate is called
// on other goroutines for each row that is read.
func (r *Reader) SetSource(src rows.Source, decorate func(pos int64, r *Row)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.src, r.decorate = src, decorate
	r.source++
	r.generation++
	r.first, r.count, r.up, r.owing = 0, 0, false, false
	clear(r.kept)
	clear(r.reading)
}

// Renew reads all rows again, since names or calls have changed.
func (r *Reader) Renew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.generation++
	clear(r.reading)
}

// Len implements [grid.Source].
func (r *Reader) Len() int64 {
	r.mu.Lock()
	src := r.src
	r.mu.Unlock()
	if src == nil {
		return 0
	}
	return src.Len()
}

// Read implements [grid.Source]: dst is what is seen from now on.
func (r *Reader) Read(dst []rows.Row, from int64) (int, error) {
	n := int(min(int64(len(dst)), r.Len()-from))
	if n <= 0 || from < 0 {
		return 0, nil
	}
	dst = dst[:n]
	r.mu.Lock()
	defer r.mu.Unlock()
	if from != r.first {
		r.up = from < r.first
	}
	r.first, r.count = from, int64(n)
	r.trim()
	if r.missing() > 0 {
		select {
		case <-r.wake: // of rows that came before
		default:
		}
		r.work()
		r.wait()
	}
	r.owing = false
	for i := range dst {
		e, ok := r.kept[from+int64(i)]
		if !ok {
			e.Row.Row = rows.Row{Index: grid.Waiting, Event: rows.Unknown, Duration: rows.NoDuration}
		}
		dst[i] = e.Row.Row
		r.owing = r.owing || !ok || e.generation != r.generation
	}
	r.drawn = time.Now()
	r.work()
	return n, nil
}

// Decor returns what was found for a row besides its content.
func (r *Reader) Decor(pos int64) grid.Decor {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.kept[pos].Decor
}

// At returns a row if it is there and up to date.
func (r *Reader) At(pos int64) (rows.Row, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.kept[pos]
	return e.Row.Row, ok && e.generation == r.generation
}

// wait waits, not long, until all that is seen has been read.
func (r *Reader) wait() {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for r.missing() > 0 {
		r.mu.Unlock()
		select {
		case <-r.wake:
			r.mu.Lock()
		case <-timeout.C:
			r.mu.Lock()
			return
		}
	}
}

// missing counts the rows seen that are not there, or old.
func (r *Reader) missing() int {
	n := 0
	for pos := r.first; pos < r.first+r.count; pos++ {
		if !r.fresh(pos) {
			n++
		}
	}
	return n
}

func (r *Reader) fresh(pos int64) bool {
	e, ok := r.kept[pos]
	return ok && e.generation == r.generation
}

// trim forgets rows far from what is seen, where there are too many.
func (r *Reader) trim() {
	if len(r.kept) <= maxRows {
		return
	}
	margin := (ahead + 1) * r.count
	for pos := range r.kept {
		if pos < r.first-margin || pos >= r.first+r.count+margin {
			delete(r.kept, pos)
		}
	}
}

// work starts goroutines while there is something to be read. For what is not
// seen one is enough: drawing needs the processors, too.
func (r *Reader) work() {
	most := min(max(runtime.GOMAXPROCS(0), 2), 8)
	for r.workers < most {
		from, to, ok := r.next(r.workers > 0)
		if !ok {
			return
		}
		r.workers++
		r.reading[from] = true
		go r.run(from, to)
	}
}

// next returns the rows to be read next: what is seen first, then, unless only
// that is asked for, what comes.
func (r *Reader) next(seenOnly bool) (from, to int64, ok bool) {
	if r.src == nil || r.count == 0 {
		return 0, 0, false
	}
	// What is seen, what is ahead and what is behind.
	down, back := int64(ahead), int64(behind)
	if r.up {
		down, back = back, down
	}
	length := r.src.Len()
	seen := [2]int64{r.first, r.first + r.count}
	below := [2]int64{seen[1], seen[1] + down*r.count}
	above := [2]int64{seen[0] - back*r.count, seen[0]}
	ranges := [][2]int64{seen, below, above}
	if r.up {
		ranges[1], ranges[2] = above, below
	}
	if seenOnly {
		ranges = ranges[:1]
	}
	for _, part := range ranges {
		low, high := max(part[0], 0)/chunk*chunk, min(part[1], length)
		for i := low; i < high; i += chunk {
			// Upwards the nearest rows are the last.
			at := i
			if r.up && part == above {
				at = low + (high-1-low)/chunk*chunk - (i - low)
			}
			if r.reading[at] {
				continue
			}
			end := min(at+chunk, length)
			for pos := at; pos < end; pos++ {
				if !r.fresh(pos) {
					return at, end, true
				}
			}
		}
	}
	return 0, 0, false
}

// run reads chunks as long as there are any to be read.
func (r *Reader) run(from, to int64) {
	buffer := make([]Row, chunk)
	plain := make([]rows.Row, chunk)
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		src, decorate, source, generation := r.src, r.decorate, r.source, r.generation
		if src == nil {
			// The log was closed before this goroutine came to its first rows.
			r.workers--
			return
		}
		r.mu.Unlock()
		n := fetch(buffer[:to-from], plain, src, from)
		if decorate != nil {
			for i := range buffer[:n] {
				decorate(from+int64(i), &buffer[i])
			}
		}
		r.mu.Lock()
		if source == r.source {
			for i, row := range buffer[:n] {
				if pos := from + int64(i); r.kept[pos].generation <= generation {
					r.kept[pos] = entry{row, generation}
				}
			}
		}
		if generation == r.generation {
			delete(r.reading, from)
			if r.tell() {
				r.mu.Unlock()
				r.post(r.show)
				r.mu.Lock()
			}
		}
		var ok bool
		if from, to, ok = r.next(r.workers > 1); !ok || n == 0 {
			r.workers--
			return
		}
		r.reading[from] = true
	}
}

// fetch reads rows; one that cannot be read says so.
func fetch(dst []Row, plain []rows.Row, src rows.Source, from int64) int {
	got, _ := src.Read(plain[:len(dst)], from)
	for i := range dst {
		if i >= got {
			if from+int64(i) >= src.Len() {
				return i
			}
			plain[i] = src.Row(from + int64(i))
		}
		dst[i] = Row{Row: plain[i]}
	}
	return len(dst)
}

// tell wakes who waits, and reports whether the table is to be drawn again since
// it lacked rows: as soon as all is there, or from time to time until then.
func (r *Reader) tell() bool {
	select {
	case r.wake <- struct{}{}:
	default:
	}
	if !r.owing || r.posted || r.missing() > 0 && time.Since(r.drawn) < redrawEvery {
		return false
	}
	r.posted = true
	return true
}

func (r *Reader) show() {
	r.mu.Lock()
	r.posted = false
	r.mu.Unlock()
	r.redraw()
}
