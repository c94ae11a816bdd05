package trace

import (
	"cmp"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Values are not read together with events. First a cursor finds, for each record, its stream and its number in that stream.
// Then a reader of the stream reads the values there. Values that hooks took lie directly after their event. Values that the
// program gave lie anywhere between the enter and the leave of their call, with other calls in between. They belong to the call
// that is open at that place, so the reader follows which calls are open.

const (
	// maxPlan bounds the plan of a trace, in bytes.
	maxPlan = 64 << 20
	// maxPlaces bounds the number of places where the program gives values.
	maxPlaces = 1 << 20
	// maxMismatched bounds the list of modules whose build differs from that in the plan.
	maxMismatched = 64
	// valuesWithin is the largest distance, in events of the stream, between a value that the program gave and the enter of its
	// call, and between the value and the leave. Values that are further away are not found.
	valuesWithin = sampleEvery
	// valueArena is the size in bytes of the pieces of memory for values.
	valueArena = 64 << 10
	// maxValueReaders is how many readers are kept so that reading can continue where they are.
	maxValueReaders = 16
)

// takenValues is the content of the process records about values.
type takenValues struct {
	pieces    []byte
	size      uint32
	hash      uint64
	places    map[uint32]*parser.ValuePlace
	mismatch  []string
	registers bool
	taken     bool
	// changed says that stated is out of date. stated may be in use, so it is replaced and never changed.
	changed bool
	stated  *parser.ValuesTaken
}

// plan adds a piece of the plan. Pieces come in order. In a ring they may come several times.
func (t *takenValues) plan(body []byte) error {
	p, err := wire.ParsePlan(body)
	if err != nil {
		return err
	}
	if p.Size > maxPlan {
		return message.Errorf("the plan of values has %d bytes, more than %d", p.Size, maxPlan)
	}
	if t.size == 0 {
		t.size, t.hash = p.Size, p.Hash
	}
	if p.Size != t.size || p.Hash != t.hash {
		return message.New("a piece of another plan of values")
	}
	if at := int(p.Offset); at <= len(t.pieces) && at+len(p.Piece) > len(t.pieces) {
		t.pieces = append(t.pieces, p.Piece[len(t.pieces)-at:]...)
	}
	t.taken, t.changed = true, true
	return nil
}

// place adds a PLACE record.
func (t *takenValues) place(body []byte) error {
	p, err := wire.ParsePlace(body)
	if err != nil || len(t.places) >= maxPlaces {
		return err
	}
	if t.stated != nil && !t.changed {
		t.places = maps.Clone(t.places)
	}
	if t.places == nil {
		t.places = make(map[uint32]*parser.ValuePlace)
	}
	t.taken, t.changed = true, true
	t.places[p.Number] = &parser.ValuePlace{Function: p.Function, Source: p.Source, Line: int(p.Line), Names: p.Names, Codes: p.Codes, Types: p.Types}
	return nil
}

// setting processes a setting of the recorder about values.
func (t *takenValues) setting(name, value string) {
	t.taken, t.changed = true, true
	switch word, rest, _ := strings.Cut(value, " "); {
	case name == "values-mismatch":
		// The value is: plan ID loaded ID PATH.
		if words := strings.SplitN(value, " ", 5); len(words) == 5 && len(t.mismatch) < maxMismatched {
			t.mismatch = append(slices.Clip(t.mismatch), words[4])
		}
	case word == "raw":
		t.registers = true
	case word == "plan" && t.size == 0:
		hash, _, _ := strings.Cut(rest, " ")
		t.hash, _ = strconv.ParseUint(hash, 16, 64)
	}
}

// state returns what the log tells about values, or nil if there are none.
func (t *takenValues) state() *parser.ValuesTaken {
	if !t.taken {
		return nil
	}
	if t.changed || t.stated == nil {
		t.stated = &parser.ValuesTaken{PlanHash: t.hash, Registers: t.registers, Places: t.places, Mismatched: t.mismatch}
		if n := int(t.size); n > 0 && len(t.pieces) == n {
			h := fnv.New64a()
			h.Write(t.pieces)
			if h.Sum64() == t.hash {
				t.stated.Plan = t.pieces[:n:n]
			}
		}
		t.changed = false
	}
	return t.stated
}

// ValuesTaken implements [parser.ValueTeller].
func (l *Log) ValuesTaken() *parser.ValuesTaken { return l.view.Load().values }

// Values implements [parser.ValueTeller].
func (l *Log) Values(dst []parser.CallValues, from int64) (int, error) {
	v := l.view.Load()
	if from < 0 {
		return 0, message.InFile(l.name, message.Errorf("there is no record %d", from))
	}
	if from >= v.index.total {
		return 0, io.EOF
	}
	n := int(min(int64(len(dst)), v.index.total-from))
	clear(dst[:n])
	if v.values != nil {
		for done := 0; done < n; {
			k, err := l.readValues(v, dst[done:n], from+int64(done))
			done += k
			if err != nil {
				return done, message.InFile(l.name, err)
			}
		}
	}
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// A valuePlace is the place of an event whose values are wanted: its index in the result, its stream, and its number in that
// stream.
type valuePlace struct {
	element int
	stream  uint32
	ordinal int64
}

type valueMemory struct {
	events [512]parser.Event
	places [512]valuePlace
}

var valueMemories = sync.Pool{New: func() any { return new(valueMemory) }}

// readValues reads the values of records, beginning with record from.
func (l *Log) readValues(v *view, dst []parser.CallValues, from int64) (int, error) {
	m := valueMemories.Get().(*valueMemory)
	defer valueMemories.Put(m)
	c := l.cursor(v, from, &l.ordinalCursors)
	c.ordinals = true
	n, err := readMapped(l.mapped, c, m.events[:min(len(m.events), len(dst))], from, false)
	if err == nil && n == 0 {
		err = errChanged
	}
	if err != nil {
		return 0, err
	}
	l.release(c, &l.ordinalCursors)
	places := m.places[:n]
	for i := range places {
		e := &m.events[i]
		places[i] = valuePlace{i, e.Thread, int64(e.Address)}
	}
	slices.SortStableFunc(places, func(a, b valuePlace) int { return cmp.Compare(a.stream, b.stream) })
	for len(places) > 0 {
		k := 1
		for k < len(places) && places[k].stream == places[0].stream {
			k++
		}
		of := places[:k]
		places = places[k:]
		s := v.stream(of[0].stream)
		if s == nil {
			return 0, errChanged
		}
		r := l.valueReader(v, s, of[0].ordinal)
		if err := l.takeValues(r, of[0].ordinal, of[k-1].ordinal); err != nil {
			return 0, err
		}
		for k, p := range of {
			found := r.found[p.ordinal]
			if found == nil {
				continue
			}
			taken := *found
			if taken.Form == parser.ValuesOfJump {
				if taken.Next, err = l.eventAfter(v, p, of[k+1:], from, int64(n)); err != nil {
					return 0, err
				}
				if taken.Next == 0 {
					taken.Form = parser.NoValues
				}
			}
			if taken.Form != parser.NoValues || len(taken.Given) > 0 {
				taken.By = v.values
				dst[p.element] = taken
			}
		}
		l.releaseValues(r)
	}
	return n, nil
}

// maxJump is how far the record of an event may be from that of the event before in its stream, for eventAfter.
const maxJump = 1 << 16

// eventAfter returns the record of the event that comes after another in its stream, or 0 if that is far away. after has the
// places of the stream's later events among the n records from number from on.
func (l *Log) eventAfter(v *view, p valuePlace, after []valuePlace, from, n int64) (int64, error) {
	if len(after) > 0 {
		return from + int64(after[0].element), nil
	}
	if v.onlyStream() != nil {
		return from + int64(p.element) + 1, nil
	}
	c := l.cursor(v, from+n, &l.ordinalCursors)
	c.ordinals = true
	var events [64]parser.Event
	for at := from + n; at < min(v.index.total, from+n+maxJump); {
		k, err := readMapped(l.mapped, c, events[:min(int64(len(events)), v.index.total-at)], at, false)
		if err == nil && k == 0 {
			err = errChanged
		}
		if err != nil {
			return 0, err
		}
		for i := range events[:k] {
			if e := &events[i]; e.Thread == p.stream && int64(e.Address) == p.ordinal+1 {
				l.release(c, &l.ordinalCursors)
				return at + int64(i), nil
			}
		}
		at += int64(k)
	}
	l.release(c, &l.ordinalCursors)
	return 0, nil
}

// stream returns the stream with a number, or nil if there is none.
func (v *view) stream(number uint32) *stream {
	for _, s := range v.index.streams {
		if s.number == number && s.count > 0 {
			return s
		}
	}
	return nil
}

// A valueReader reads the values of a stream in order.
type valueReader struct {
	v *view
	s *stream
	d *decoder
	// bytes is the mapped file while values are read.
	bytes []byte
	// found has the values that were found, by the numbers of their events in the stream.
	found map[int64]*parser.CallValues
	from  int64
	// open has an element for each of the decoder's frames: the number of the event that entered the call, or -1 if that is not
	// known. parked has the same for the other stacks.
	open   []openValues
	on     uint32
	parked map[uint32][]openValues
	// behind is the number of the last decoded event. Its kind follows.
	behind     int64
	behindKind parser.Kind
	// jumped is the number of the last event plus 1 if its call ended with a jump, else 0.
	jumped int64
	arena  []byte
	err    error
}

// An openValues is an open call: the number of the event that entered it, and the results that the program gave for it so far.
type openValues struct {
	enter int64
	given []parser.PlaceValues
}

// valueReader returns a reader of a stream. If possible, it is one that is a little before an event.
func (l *Log) valueReader(v *view, s *stream, first int64) *valueReader {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.valueReaders = slices.DeleteFunc(l.valueReaders, func(r *valueReader) bool { return r.v != v })
	for i, r := range l.valueReaders {
		if r.s == s && r.near(first) {
			l.valueReaders = slices.Delete(l.valueReaders, i, i+1)
			return r
		}
	}
	r := &valueReader{v: v, s: s, found: make(map[int64]*parser.CallValues)}
	r.d = newDecoder(l.r, wire.LongestFixed*256)
	r.d.mapped, r.d.values = &r.bytes, r
	r.begin(first)
	return r
}

// releaseValues keeps a reader for later use.
func (l *Log) releaseValues(r *valueReader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.valueReaders = append(l.valueReaders, r); len(l.valueReaders) > maxValueReaders {
		l.valueReaders = slices.Delete(l.valueReaders, 0, 1)
	}
}

// takeValues reads the values of the events from first to last.
func (l *Log) takeValues(r *valueReader, first, last int64) (err error) {
	size := l.mapped.Size()
	if size == 0 {
		return r.read(first, last)
	}
	fault := l.mapped.Use(0, size, func(b []byte) {
		r.bytes = b
		err = r.read(first, last)
		r.bytes = nil
	})
	if fault != nil {
		r.bytes = nil
		r.begin(first)
		return r.read(first, last)
	}
	return err
}

// near reports whether it is better to read on to an event than to begin at a sample.
func (r *valueReader) near(first int64) bool {
	return first >= r.from && first-r.d.ordinal <= 2*sampleEvery
}

// begin moves a reader before an event, so far that values given by the program are found.
func (r *valueReader) begin(first int64) {
	k := int(first / sampleEvery)
	if len(r.v.values.Places) > 0 {
		k = max(k-valuesWithin/sampleEvery, 0)
	}
	r.d.restore(r.s, r.v.epochs.times, k)
	r.from, r.behind, r.jumped = first, -1, 0
	r.open, r.parked, r.on = r.open[:0], nil, 0
	clear(r.found)
	r.align()
}

// align makes open as long as the decoder's frames.
func (r *valueReader) align() {
	if r.on != r.d.on {
		if r.parked == nil {
			r.parked = make(map[uint32][]openValues)
		}
		r.parked[r.on] = r.open
		r.open, r.on = r.parked[r.d.on], r.d.on
	}
	for len(r.open) < len(r.d.frames) {
		r.open = append(r.open, openValues{enter: -1})
	}
	r.open = r.open[:len(r.d.frames)]
}

// read reads on until all values of the events from first to last are found.
func (r *valueReader) read(first, last int64) error {
	defer r.d.detach()
	for at := r.from; at < first && len(r.found) > 0 && at < r.d.ordinal; at++ {
		delete(r.found, at)
	}
	r.from = first
	until := last + 1
	if len(r.v.values.Places) > 0 {
		until += valuesWithin
	}
	// Values after the last event are read together with the event after it.
	until = min(until+1, r.s.count)
	var e [1]parser.Event
	for r.d.ordinal < until {
		n, err := r.d.decode(e[:])
		if n == 1 {
			r.event(&e[0])
		}
		r.d.ordinal += int64(n)
		more, err := r.d.goOn(err)
		if err := cmp.Or(err, r.err); err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if r.d.ordinal == r.s.count && until == r.s.count {
		err := r.rest()
		r.notJumped()
		return err
	}
	return nil
}

// notJumped forgets that the last event's call ended with a jump, because no event that enters a call comes directly after it.
func (r *valueReader) notJumped() {
	if v := r.found[r.jumped-1]; r.jumped > 0 && v != nil {
		v.Form = parser.NoValues
	}
	r.jumped = 0
}

// rest reads the records after the stream's last event.
func (r *valueReader) rest() error {
	for {
		b, err := r.d.peek()
		if b == nil || err != nil || wire.IsEvent(uint16(b[0])|uint16(b[1])<<8) {
			return err
		}
		_, err = r.d.other(nil, r.d.ordinal)
		if err := cmp.Or(r.err, err); err != nil {
			if _, bad := err.(*recordError); bad {
				return nil
			}
			return err
		}
	}
}

// event processes the event that was decoded last. It is called before the event is counted.
func (r *valueReader) event(e *parser.Event) {
	if e.Gap == parser.EventsMissing {
		r.open = r.open[:0]
	}
	if e.Kind != parser.Enter || e.Gap != parser.NoGap || r.jumped != r.d.ordinal {
		r.notJumped()
	}
	r.jumped = 0
	frames := len(r.d.frames)
	switch e.Kind {
	case parser.Enter:
		r.align()
		if frames > 0 {
			r.open[frames-1] = openValues{enter: r.d.ordinal}
		}
	case parser.Leave:
		// The ending call was at the index that is now the number of open calls.
		if r.on == r.d.on && frames < len(r.open) && len(r.open[frames].given) > 0 && r.d.ordinal >= r.from {
			r.at(r.d.ordinal).Given = r.open[frames].given
		}
		r.align()
	}
	r.behind, r.behindKind = r.d.ordinal, e.Kind
}

// at returns the values of an event, to which more can be added.
func (r *valueReader) at(ordinal int64) *parser.CallValues {
	v := r.found[ordinal]
	if v == nil {
		v = &parser.CallValues{}
		r.found[ordinal] = v
	}
	return v
}

// record processes a record of values with the first word first. Its body has length bytes at an offset of the file; inside has
// the first of them.
func (r *valueReader) record(first uint16, offset, length int64, inside []byte) {
	if length > maxBody {
		return
	}
	if int64(cap(r.arena)-len(r.arena)) < length {
		r.arena = make([]byte, 0, max(valueArena, length))
	}
	b := r.arena[len(r.arena) : int64(len(r.arena))+length]
	if copy(b, inside) < len(b) {
		if _, err := r.d.r.ReadAt(b, offset); err != nil {
			r.err = shrunk(err)
			return
		}
	}
	said, ok := wire.ParseValues(first, b[:len(b):len(b)])
	if !ok {
		return
	}
	if said.Kind != wire.Given {
		want := parser.Enter
		if said.Result {
			want = parser.Leave
		}
		form := formOf(&said)
		if r.behind < r.from || r.behindKind != want || form == parser.NoValues {
			return
		}
		v := r.at(r.behind)
		v.Taken, v.Form = said.Values, form
		if form == parser.ValuesOfJump {
			v.Taken, r.jumped = nil, r.behind+1
		}
		r.arena = r.arena[:len(r.arena)+len(b)]
		return
	}
	r.align()
	if len(r.open) == 0 {
		return
	}
	given := parser.PlaceValues{Place: said.Place, Bytes: said.Values}
	r.arena = r.arena[:len(r.arena)+len(b)]
	of := &r.open[len(r.open)-1]
	switch {
	case said.Result:
		of.given = append(of.given, given)
	case of.enter >= r.from:
		v := r.at(of.enter)
		v.Given = append(v.Given, given)
	}
}
