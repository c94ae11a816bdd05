package calls

import (
	"math"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/parser"
)

// NoPartner and NoDuration stand for a partner and a duration that a record
// does not have.
const (
	NoPartner  = int64(-1)
	NoDuration = int64(-1)
)

// A Record is what the pairing knows of one record.
type Record struct {
	// Depth counts from 0; a leave has its enter's depth, a stray 0, a
	// damaged record that of its thread at that moment.
	Depth int
	// Partner is the row of the other half, or [NoPartner].
	Partner int64
	// Duration is the time between the two halves in nanoseconds, on both of
	// them, or [NoDuration]. It is never negative otherwise: ticks that run
	// backwards make it 0. The enter of a call without a leave has it if it is known
	// when the call ended, or until when it was open: with its thread or its run
	// ([parser.Ender]), but not while it is [Running].
	Duration int64
	Mark     Mark
}

// A Table holds a [Record] for each record of the chosen runs. It is the
// reference: the tests of package index hold an index against it, and the
// programs use only that. Rows are
// counted from 0 over the runs in the order given. All its methods are safe
// for concurrent use: rows can be read while [Table.Build] still works on
// them.
//
// It needs 8 bytes of memory a record, and some 40 bytes for each distinct
// address and each thread.
type Table struct {
	log    parser.Log
	layout atomic.Pointer[Layout]

	building sync.Mutex // held by Build and Extend
	// builder is where Extend goes on, nil before a Build has ended.
	builder *builder
	// counted is the number of rows that the addresses' counts have.
	counted int64

	// countInside says that inside is to be filled; see CountInside.
	countInside bool

	mu        sync.RWMutex // guards what follows
	rows      int64
	inside    [][]uint32 // as chunks
	chunks    [][]entry  // of entryChunk each but the last
	addresses *Addresses
	pass
	done, live bool
}

// A pass is what one run of Build makes besides the entries.
type pass struct {
	threads threads
	// far has the partners that are too far away for an entry, by row.
	far map[int64]int64
	// long has the durations that do not fit an entry, by rising row of the
	// leave.
	long  []longCall
	marks [marks]int64
	// byPosition says that a leave was matched by position alone.
	byPosition bool
	// ended has the calls that ended with their thread, before another of its id
	// began, or with a run before the last, by row; open those that are open at the
	// end.
	ended, open map[int64]endedCall
	// stacks are those of coroutines by number.
	stacks map[uint32]*thread
	// perThread counts the records of threads in a log that is a [parser.Stacker].
	perThread map[uint32]int64
}

// An endedCall is how long a call without a leave lasted, and how many events it
// had inside. withThread says that its thread ended.
type endedCall struct {
	duration, inside int64
	withThread       bool
}

// endOf returns what is known of the end of a call without a leave. The caller holds
// the lock.
func (t *Table) endOf(row int64) (c endedCall, ok bool) {
	if c, ok = t.ended[row]; !ok && t.done {
		c, ok = t.open[row]
	}
	return c, ok
}

type longCall struct{ row, duration int64 }

const entryChunk = 1 << 16

// An entry is a record of the table.
type entry struct {
	// partner is the distance to the other half in rows, 0 for none; farAfter
	// and farBefore say that it is in the table's far map.
	partner int32
	// bits has the mark in its low three bits. The rest is the depth, but for
	// a leave with a partner, whose depth is its partner's, the duration as
	// packDuration makes it.
	bits uint32
}

const (
	farAfter  = math.MaxInt32
	farBefore = math.MinInt32

	markBits = 3
	markMask = 1<<markBits - 1
	// maxDepth is the greatest depth an entry can hold; deeper calls are
	// shown with this depth. The stack of such a log would need 12 GB.
	maxDepth = 1<<(32-markBits) - 1
)

// farFrom is the distance from which on a partner is kept in the far map; a
// variable for tests.
var farFrom = int64(farAfter)

const (
	mantissaBits = 27
	mantissaMask = 1<<mantissaBits - 1
	// longDuration is the packed form of a duration that is kept in the
	// table's list of long calls.
	longDuration = 3 << mantissaBits
)

// packDuration packs a duration in nanoseconds exactly into 29 bits: a number
// of 27 bits and above it the unit, nanoseconds, micro- or milliseconds. A
// clock that steps in milliseconds, as the classic log's, reaches 37 hours.
func packDuration(d int64) (packed uint32, ok bool) {
	if d <= mantissaMask {
		return uint32(d), true
	}
	if d <= mantissaMask*1e3 && d%1e3 == 0 {
		return uint32(d/1e3) | 1<<mantissaBits, true
	}
	if d <= mantissaMask*1e6 && d%1e6 == 0 {
		return uint32(d/1e6) | 2<<mantissaBits, true
	}
	return longDuration, false
}

func unpackDuration(p uint32) int64 {
	units := [...]int64{1, 1e3, 1e6, 0}
	return int64(p&mantissaMask) * units[p>>mantissaBits]
}

// NewTable makes an empty table for runs of a log. Each run has stacks of its
// own; the runs need not be neighbours. The table keeps the log, which must
// stay open while Build works.
func NewTable(log parser.Log, runs []parser.Run) *Table {
	t := &Table{log: log}
	t.layout.Store(NewLayout(runs))
	return t
}

// Total returns the number of rows that the table will have when it is built.
func (t *Table) Total() int64 { return t.layout.Load().Total() }

// Len returns the number of rows that can be read: it rises to Total while
// Build works. The calls of these rows that are still open then have no
// partner yet.
func (t *Table) Len() int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rows
}

// Done reports whether the last Build ran to its end.
func (t *Table) Done() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.done
}

// Position returns the run (an index into the runs given) and the record
// number in the whole log of a row, 0 <= row < Total().
func (t *Table) Position(row int64) (run int, record int64) {
	return t.layout.Load().Position(row)
}

// CountInside makes the builds that follow count the events inside each call,
// for [Table.ReadInside]. It needs 4 bytes more a record.
func (t *Table) CountInside() {
	t.building.Lock()
	defer t.building.Unlock()
	t.countInside = true
}

// ReadInside fills dst, for the rows from number from on, with the number of
// events that the thread of a pair recorded between its two halves, and -1 for
// rows without a partner. Counts end at the greatest uint32.
func (t *Table) ReadInside(dst []int64, from int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for k := range dst {
		dst[k] = -1
		i := from + int64(k)
		if i < 0 || i >= t.rows || !t.countInside {
			continue
		}
		if j := t.partner(i, *t.entry(i)); j != NoPartner && t.partner(j, *t.entry(j)) == i {
			leave := max(i, j)
			dst[k] = int64(t.inside[leave/entryChunk][leave%entryChunk])
		} else if c, ok := t.endOf(i); ok && t.done {
			if run, _ := t.Position(i); !t.live || c.withThread || run < len(t.layout.Load().Runs)-1 {
				dst[k] = c.inside
			}
		}
	}
}

// SetLive says whether the program may still be writing. While it may, the
// open calls of the last run are marked [Running] instead of [Open].
func (t *Table) SetLive(live bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live = live
}

// At returns row i. A row that Build has not reached yet has neither partner
// nor duration.
func (t *Table) At(i int64) Record {
	var r [1]Record
	t.Read(r[:], i)
	return r[0]
}

// Read fills dst with the rows from number from on, as At returns them.
func (t *Table) Read(dst []Record, from int64) {
	layout := t.layout.Load()
	t.mu.RLock()
	defer t.mu.RUnlock()
	// An enter that no leave has closed is open if none can come any more.
	open, running := int64(0), int64(0)
	if t.done {
		open, running = t.rows, t.rows
		if t.live && len(layout.Runs) > 0 {
			open = layout.Starts[len(layout.Runs)-1]
		}
	}
	for k := range dst {
		i := from + int64(k)
		if i < 0 || i >= t.rows {
			dst[k] = Record{Partner: NoPartner, Duration: NoDuration}
			continue
		}
		e := *t.entry(i)
		r := Record{Depth: int(e.bits >> markBits), Partner: NoPartner, Duration: NoDuration, Mark: Mark(e.bits & markMask)}
		if e.partner < 0 {
			r.Depth = 0
		}
		// While Build works on a finished table again, the other half may
		// still belong to a former partner, or the partner be forgotten.
		if j := t.partner(i, e); j == NoPartner {
			if e.partner == 0 && r.Mark == None && i < running {
				if r.Mark = Running; i < open {
					r.Mark = Open
				}
			}
			if c, ok := t.endOf(i); ok && e.partner == 0 && t.done {
				if c.withThread {
					r.Mark = NoLeave
				}
				if r.Mark == Open || r.Mark == NoLeave {
					r.Duration = c.duration
				}
			}
		} else if t.partner(j, *t.entry(j)) == i {
			enter, leave := min(i, j), max(i, j)
			r.Partner = j
			r.Depth = int(t.entry(enter).bits >> markBits)
			r.Duration = t.duration(leave)
		}
		dst[k] = r
	}
}

// chunk returns the chunk that has a row, which it makes long enough for the
// rows that are to come.
func (t *Table) chunk(row int64) []entry {
	k := int(row / entryChunk)
	if k == len(t.chunks) {
		t.chunks = append(t.chunks, nil)
	}
	c := t.chunks[k]
	if need := min(entryChunk, t.Total()-int64(k)*entryChunk); int64(len(c)) < need {
		if len(c) > 0 {
			need = min(entryChunk, max(need, 2*int64(len(c))))
		}
		longer := make([]entry, need)
		copy(longer, c)
		c = longer
		t.chunks[k] = c
	}
	if t.countInside {
		if k == len(t.inside) {
			t.inside = append(t.inside, nil)
		}
		if n := len(t.inside[k]); n < len(c) {
			t.inside[k] = append(t.inside[k], make([]uint32, len(c)-n)...)
		}
	}
	return c
}

func (t *Table) entry(i int64) *entry { return &t.chunks[i/entryChunk][i%entryChunk] }

func (t *Table) partner(i int64, e entry) int64 {
	switch e.partner {
	case 0:
		return NoPartner
	case farAfter, farBefore:
		if j, ok := t.far[i]; ok {
			return j
		}
		return NoPartner
	}
	return i + int64(e.partner)
}

// duration returns the duration of the pair whose leave is row i.
func (t *Table) duration(i int64) int64 {
	p := t.entry(i).bits >> markBits
	if p != longDuration {
		return unpackDuration(p)
	}
	k := sort.Search(len(t.long), func(k int) bool { return t.long[k].row >= i })
	if k < len(t.long) && t.long[k].row == i {
		return t.long[k].duration
	}
	return NoDuration
}

// Addresses returns the distinct addresses of the rows, or nil before Build
// has run to its end for the first time. Later builds do not change them;
// Extend adds to them.
func (t *Table) Addresses() *Addresses {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.addresses
}

// Threads returns the threads by rising id, with the records counted so far.
func (t *Table) Threads() []Thread {
	t.mu.RLock()
	defer t.mu.RUnlock()
	list := make([]Thread, 0, t.threads.list.n)
	for id, n := range t.perThread {
		list = append(list, Thread{id, n})
	}
	for i := range t.threads.list.n {
		if th := t.threads.list.at(i); len(t.perThread) == 0 {
			list = append(list, Thread{th.id, th.records})
		}
	}
	slices.SortFunc(list, func(a, b Thread) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return list
}

// Count returns how many rows have a mark. Those of [Open] and [Running] are
// known when Build has ended.
func (t *Table) Count(m Mark) int64 {
	t.mu.RLock()
	defer t.mu.RUnlock()
	n := t.marks[m]
	if end := m == Open && !t.live || m == Running && t.live; t.done && (end || m == NoLeave) {
		for _, c := range t.open {
			if c.withThread != end {
				n++
			}
		}
	}
	return n
}

// NeedsNames reports whether some leave closed a call and was not matched by
// its address, so that building again with a Namer can give better marks and
// depths. The order of rows, threads and addresses never depends on names.
func (t *Table) NeedsNames() bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byPosition
}
