package classic

import (
	"bytes"
	"io"
	"sort"
	"strings"

	"logparser/message"
	"logparser/modules"
)

// sampleRecords is how many records a judgement of the width looks at.
const sampleRecords = 4096

// A space is the set of addresses that modules occupy, for quick tests.
type space struct {
	whole, low []span // sorted, disjoint; low is modulo 2^32
}

type span struct{ from, end uint64 }

func newSpace(list []modules.Module) *space {
	var s space
	for i := range list {
		m := &list[i]
		if m.Size == 0 {
			continue
		}
		s.whole = append(s.whole, span{m.Base, m.Base + m.Size})
		from := m.Base & (1<<32 - 1)
		end := from + min(m.Size, 1<<32)
		s.low = append(s.low, span{from, min(end, 1<<32)})
		if end > 1<<32 {
			s.low = append(s.low, span{0, end - 1<<32})
		}
	}
	s.whole, s.low = merge(s.whole), merge(s.low)
	return &s
}

func merge(list []span) []span {
	sort.Slice(list, func(a, b int) bool { return list[a].from < list[b].from })
	var out []span
	for _, s := range list {
		if n := len(out); n > 0 && s.from <= out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
		} else {
			out = append(out, s)
		}
	}
	return out
}

func (s *space) empty() bool { return len(s.whole) == 0 }

// contains tells whether a module owns the address as records of the given
// size hold it.
func (s *space) contains(address uint64, size int) bool {
	list := s.whole
	if size == Size32 {
		list = s.low
	}
	i := sort.Search(len(list), func(i int) bool { return list[i].from > address })
	return i > 0 && address < list[i-1].end
}

// A fit says how well bytes read as records of one size.
type fit struct {
	size    int
	records int
	// good counts the records of which flag, address, thread and tick step
	// are all possible; inside those whose address a module owns.
	good, inside int
	enters       int
	// known counts the records whose thread is one of the last few.
	known int
	// whole says that the file's size is a multiple of the record's.
	whole bool
}

// measure reads b as records.
func measure(b []byte, size int, sp *space) fit {
	f := fit{size: size}
	var threads [8]uint32
	next := 0
	var prev uint32
	for ; len(b) >= size && f.records < sampleRecords; b = b[size:] {
		r := parseRecord(b[:size])
		if plausible(r, size) && (f.records == 0 || steady(tickStep(prev, r.tick))) {
			f.good++
		}
		prev = r.tick
		f.records++
		if r.flag == 1 {
			f.enters++
		}
		seen := false
		for _, t := range threads {
			seen = seen || t == r.thread && t != 0
		}
		if seen {
			f.known++
		} else {
			threads[next%len(threads)] = r.thread
			next++
		}
		if sp != nil && !sp.empty() && sp.contains(r.address, size) {
			f.inside++
		}
	}
	return f
}

// plausible tells whether a record alone could be one. No system here gives
// programs addresses beyond 2^48, or threads the id 0.
func plausible(r record, size int) bool {
	return !r.damaged() && r.thread != 0 && (size == Size32 || r.address>>48 == 0)
}

func (f fit) goodness() float64 {
	if f.records == 0 {
		return 0
	}
	return float64(f.good) / float64(f.records)
}

// score is what sizes are compared by.
func (f fit) score() float64 {
	if f.records == 0 {
		return 0
	}
	n := float64(f.records)
	s := f.goodness() + float64(f.inside)/n + 0.25*float64(f.known)/n
	if f.enters > 0 && f.enters < f.records {
		s += 0.25
	} else if f.records >= 8 {
		s -= 0.25
	}
	if f.whole {
		s += 0.1
	}
	return s
}

// A width is the decision on the record's size.
type width struct {
	size int
	// truncated: a 64-bit program's addresses, of which the low half is there.
	truncated bool
	why       message.Text
}

// clearly is the difference in score that overrules what the modules file
// says.
const clearly = 0.5

// decideWidth chooses the record's size. head is the beginning of the file,
// which has size bytes.
func (o *opener) decideWidth(head []byte) (width, error) {
	sp := newSpace(o.modules.Modules)
	pointer := o.modules.PointerSize
	above := false // a module lies above 4 GiB
	for i := range o.modules.Modules {
		above = above || o.modules.Modules[i].Base+o.modules.Modules[i].Size > 1<<32
	}
	done := func(size int, why message.Text) (width, error) {
		w := width{size: size, why: why, truncated: size == Size32 && (pointer == 8 || pointer == 0 && above)}
		if w.truncated {
			w.why = why.And(message.Textf("the program has 64-bit addresses, of which only the low 32 bits are there"))
		}
		if o.size < int64(size) {
			return width{}, message.InFile(o.name, message.Errorf("%d bytes are less than one %d-byte record: %w", o.size, size, ErrTooShort))
		}
		return w, nil
	}
	if o.opt.RecordSize != 0 {
		return done(o.opt.RecordSize, message.Textf("%d-byte records, as asked for", o.opt.RecordSize))
	}

	best, other := o.measureBoth(head, sp)
	if best.score() < other.score() {
		best, other = other, best
	}
	where := int64(0) // the offset of what was looked at
	if best.goodness() < 0.9 && best.records >= 8 {
		// The beginning may be damaged, or out of step.
		var err error
		if best, other, where, err = o.search(head, sp, best, other); err != nil {
			return width{}, err
		}
	}
	figures := func() message.Text {
		return best.figures(where, sp).And(other.otherFigures(sp))
	}
	if pointer != 0 {
		said := Size32
		if pointer == 8 {
			said = Size64
		}
		reason := message.Textf("the modules file says %d-byte pointers", pointer)
		if best.size != said && other.records > 0 && best.score() >= other.score()+clearly {
			return done(best.size, message.Textf("%d-byte records, although %s: %s", best.size, reason, figures()))
		}
		if best.size != said {
			best, other = other, best
		}
		return done(said, message.Textf("%d-byte records: %s; %s", said, reason, figures()))
	}
	ok, unlike := best.good > 0 && (best.goodness() >= 0.1 || best.records < 8), false
	if sp.empty() {
		unlike = ok
		var err error
		if ok, err = o.convinces(head, best.size); err == nil && !ok {
			if ok, err = o.convinces(head, other.size); ok {
				best, other, where = other, best, 0
			}
		}
		if err != nil {
			return width{}, err
		}
	}
	if !ok {
		return width{}, message.InFile(o.name, message.Errorf("%w: %s", ErrNotLog, best.doubt(where, unlike)))
	}
	return done(best.size, message.Textf("%d-byte records: %s", best.size, figures()))
}

// figures says how many of the records looked at, from an offset on, are what the
// size makes of them; sp may be empty.
func (f fit) figures(from int64, sp *space) message.Text {
	looked := message.Textf("%d of %d records looked at fit", f.good, f.records)
	if from > 0 {
		looked = message.Textf("%d of %d records looked at from byte %d on fit", f.good, f.records, from)
	}
	if sp.empty() {
		return looked
	}
	return message.Textf("%s and %d lie in modules", looked, f.inside)
}

// otherFigures is figures of the size that was not taken.
func (f fit) otherFigures(sp *space) message.Text {
	if sp.empty() {
		return message.Textf("as %d-byte ones %d of %d", f.size, f.good, f.records)
	}
	return message.Textf("as %d-byte ones %d of %d and %d", f.size, f.good, f.records, f.inside)
}

// doubt says why the records looked at, from an offset on, are not taken for those
// of a log: they are too few, or many but unlike enters and leaves.
func (f fit) doubt(from int64, unlike bool) message.Text {
	looked := message.Textf("of %d records looked at %d fit at %d bytes a record", f.records, f.good, f.size)
	if from > 0 {
		looked = message.Textf("of %d records looked at from byte %d on %d fit at %d bytes a record", f.records, from, f.good, f.size)
	}
	if unlike {
		return message.Textf("%s, but they are not enters and leaves of threads that come again", looked)
	}
	return message.Textf("%s, which is the best", looked)
}

func (o *opener) measureBoth(b []byte, sp *space) (a, z fit) {
	a, z = measure(b, Size32, sp), measure(b, Size64, sp)
	a.whole, z.whole = o.size%Size32 == 0, o.size%Size64 == 0
	return a, z
}

// search looks for the size where the records from the file's first byte on do
// not fit well: at other offsets, and further on. It returns the best fit of
// each size, and where the better one was found.
func (o *opener) search(head []byte, sp *space, best, other fit) (fit, fit, int64, error) {
	const records = 2 * windowRecords
	found := map[int]fit{best.size: best, other.size: other}
	places := map[int]int64{}
	try := func(b []byte, at int64) {
		for shift := range Size64 {
			for _, size := range []int{Size32, Size64} {
				if shift >= size || len(b) < shift+8*size {
					continue
				}
				f := measure(b[shift:min(len(b), shift+records*size)], size, sp)
				f.whole = o.size%int64(size) == 0
				if f.score() > found[size].score()+0.01 {
					found[size], places[size] = f, at+int64(shift)
				}
			}
		}
	}
	enough := func() bool { return found[Size32].goodness() >= 0.9 || found[Size64].goodness() >= 0.9 }
	const step = records * Size64
	for at := 0; at < len(head) && at < 8*step && !enough(); at += step {
		try(head[at:min(len(head), at+step+Size64)], int64(at))
	}
	buf := make([]byte, step+Size64)
	for i := int64(1); i < 16 && !enough(); i++ {
		at := o.size / 16 * i
		n, err := o.r.ReadAt(buf, at)
		if err != nil && err != io.EOF {
			return best, other, 0, message.InFile(o.name, message.Errorf("reading at byte %d: %w", at, err))
		}
		try(buf[:n], at)
	}
	best, other = found[Size32], found[Size64]
	if best.score() < other.score() {
		best, other = other, best
	}
	return best, other, places[best.size], nil
}

// samplePlaces is how many samples, evenly over the file, are looked at for records.
const samplePlaces = 16

// convinces tells whether a file of which nothing but the bytes is known is a log
// with records of that size. Other programs' tables fit here and there by
// accident, so that either the beginning is plainly one of a log, or one of the
// samples over the file is a piece of one, in whatever step.
func (o *opener) convinces(head []byte, size int) (bool, error) {
	// What was reserved and never written says nothing.
	written := len(bytes.TrimRight(head, "\x00"))
	head = head[:min(len(head)/size*size, (written+size-1)/size*size)]
	for _, n := range []int{sampleRecords, 2 * windowRecords} {
		f := measure(head[:min(len(head), n*size)], size, nil)
		if f.good > 0 && 2*f.good >= f.records && (f.records < 8 || f.mixed()) || f.goodness() >= 0.9 && f.fewThreads() {
			return true, nil
		}
	}
	for n := 4; n <= 16; n *= 2 {
		if piece(head[:min(len(head), n*size)], size) {
			return true, nil
		}
	}
	buf := make([]byte, (windowRecords+1)*size)
	for i := range int64(samplePlaces) {
		n, err := o.r.ReadAt(buf, o.size/samplePlaces*i)
		if err != nil && err != io.EOF {
			return false, message.InFile(o.name, message.Errorf("reading at byte %d: %w", o.size/samplePlaces*i, err))
		}
		for shift := range size {
			if piece(buf[min(n, shift):min(n, shift+windowRecords*size)], size) {
				return true, nil
			}
		}
	}
	return false, nil
}

// piece tells whether b is records by all that one can see of them: few threads
// enter and leave. The fewer there are, the more of them must be right.
func piece(b []byte, size int) bool {
	f := measure(b, size, nil)
	least := 0.9
	if f.records >= 16 {
		least = 0.5
	}
	return f.records >= 4 && f.goodness() >= least && f.fewThreads() && f.mixed()
}

// fewThreads reports whether threads come again and again.
func (f fit) fewThreads() bool { return 2*f.known >= f.records }

// mixed reports whether there are both enters and leaves, and not only by an
// accident.
func (f fit) mixed() bool {
	least := max(1, f.records/16)
	return f.enters >= least && f.records-f.enters >= least
}

// looksLikeText tells text from records, which always hold small control
// bytes: the flag, if nothing else.
func looksLikeText(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	if bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}) {
		zeros := bytes.Count(head, []byte{0})
		return zeros*4 > len(head) && !bytes.Contains(head, []byte{0, 0, 0})
	}
	for _, c := range head {
		if c < 8 || c > 13 && c < 32 && c != 0x1A && c != 0x1B {
			return false
		}
	}
	return true
}

// Detect is the Detect of [Format]: the format has no magic, so that the
// answer is never above 60.
func Detect(head []byte, size int64) int {
	if len(head) < Size32 || looksLikeText(head) {
		return 0
	}
	best := max(measure(head, Size32, nil).goodness(), measure(head, Size64, nil).goodness())
	if best < 0.1 {
		return 0
	}
	return int(60 * best)
}

// firstLine returns the beginning of a text for a message.
func firstLine(head []byte) string {
	s, _, _ := strings.Cut(string(head[:min(len(head), 200)]), "\n")
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}
