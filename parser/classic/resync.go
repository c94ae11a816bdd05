package classic

// A window is a judgement of a few records at some offset.
type window struct {
	records, good int
	// enters counts the enters among the good records.
	enters int
	// known counts the records whose thread wrote others nearby.
	known int
	// tick and at are of the first record that is good and has a good
	// successor; at is an index.
	tick uint32
	at   int
}

// mixed reports whether there are both enters and leaves among the good
// records, and not only by an accident.
func (w window) mixed() bool {
	least := max(1, w.records/16)
	return w.enters >= least && w.good-w.enters >= least
}

const windowRecords = 64

// A recent is a small set of values, of which the oldest gives way.
type recent struct {
	values [16]uint64
	next   int
}

// seen reports whether the value is in the set, and puts it there.
func (t *recent) seen(v uint64) bool {
	for _, u := range t.values {
		if u == v {
			return true
		}
	}
	t.values[t.next%len(t.values)] = v
	t.next++
	return false
}

// A neighbourhood is what good records near a place have: their threads, and
// their addresses' 64 KiB.
type neighbourhood struct{ threads, pages recent }

// neighbours returns the neighbourhood of the records before the one at an
// offset, whose number is record.
func (s *scan) neighbours(at, record int64) neighbourhood {
	size := int64(s.size)
	first := int64(0)
	for i := len(s.segments) - 1; i >= 0; i-- {
		if s.segments[i].offset <= at {
			first = s.segments[i].first
			break
		}
	}
	back := min(record-first, windowRecords)
	return s.known(s.peek(at-back*size, int(back*size)))
}

// known returns the neighbourhood that the records in b make.
func (s *scan) known(b []byte) neighbourhood {
	var n neighbourhood
	for ; len(b) >= s.size; b = b[s.size:] {
		if r := parseRecord(b[:s.size]); plausible(r, s.size) {
			n.threads.seen(uint64(r.thread))
			n.pages.seen(r.address >> 16)
		}
	}
	return n
}

// unlike tells how little a record is like its neighbours, from which it is
// a tick step away.
func (n neighbourhood) unlike(r record, step int64) int64 {
	unlike := max(step, -step)
	if !n.threads.seen(uint64(r.thread)) {
		unlike += forward
	}
	if !n.pages.seen(r.address >> 16) {
		unlike += forward
	}
	return unlike
}

// window judges the records from an offset on; threads are those known.
func (s *scan) window(at int64, threads recent) window {
	w := window{at: -1}
	b := s.peek(at, windowRecords*s.size)
	var prev uint32
	wasGood := false
	for ; len(b) >= s.size; b = b[s.size:] {
		r := parseRecord(b[:s.size])
		good := plausible(r, s.size) && (w.records == 0 || steady(tickStep(prev, r.tick)))
		if good {
			w.good++
			if wasGood && w.at < 0 {
				w.at, w.tick = w.records-1, prev
			}
		}
		if good && r.flag == 1 {
			w.enters++
		}
		if threads.seen(uint64(r.thread)) {
			w.known++
		}
		wasGood, prev = good, r.tick
		w.records++
	}
	return w
}

// resync looks for records out of step with those at the offset at, where
// something is irregular. Where it finds them it takes the scan back to from, or as
// far on from there as records in the old step are good, and sets it on to the
// new ones. It returns whether it did.
func (s *scan) resync(from position, at int64) bool {
	if s.record < s.nextTry || len(s.segments) == maxSegments {
		return false
	}
	threads := s.neighbours(from.offset, from.record).threads
	here := s.window(at, threads)
	bad := here.good*2 <= here.records
	// Only leaves, or only enters, may be an unwinding recursion or the zeros
	// of padding in the flag's place.
	quiet := here.records >= 16 && !here.mixed()
	// What was believed since the trouble began may be noise.
	level := from
	if s.trouble != nil {
		level = *s.trouble
	}
	best, bestShift, bestScore := window{}, 0, 0
	for shift := 1; shift < s.size; shift++ {
		w := s.window(at+int64(shift), threads)
		if w.records < 4 || w.at < 0 || w.good*10 < w.records*9 || w.known*2 < w.records {
			continue
		}
		continues := level.havePrev && steady(tickStep(level.prev, w.tick))
		whole := w.good == w.records
		var better bool
		switch {
		case w.records < 16:
			// Few records prove something only if all is right with them and
			// not with those here.
			better = whole && continues && here.good < here.records
		case bad:
			better = w.mixed() || whole && continues
		case quiet:
			better = w.mixed()
		default:
			// The records here could be those of a new run.
			better = w.mixed() && continues
		}
		score := 4*w.good + w.known
		if continues {
			score += 2 * w.records
		}
		if better && score > bestScore {
			best, bestShift, bestScore = w, shift, score
		}
	}
	if s.err != nil {
		return false
	}
	if bestShift == 0 {
		if s.trouble == nil {
			s.trouble = &from
		}
		s.wait = min(max(2*s.wait, 8), windowRecords)
		s.nextTry = s.record + s.wait
		return false
	}
	from = level
	start := at + int64(bestShift) + int64(best.at*s.size)
	// The records found may begin earlier than where they were looked for.
	next := best.tick
	for start-int64(s.size) >= from.offset {
		r := parseRecord(s.peekRecord(start - int64(s.size)))
		if !plausible(r, s.size) || !steady(tickStep(r.tick, next)) {
			break
		}
		start -= int64(s.size)
		next = r.tick
	}
	s.skipTo(s.overlap(from, start, next))
	return s.err == nil
}

// overlap looks whether the records found out of step at start begin one
// earlier, in the bytes of the last record in step: that one was cut off when
// the next was written. Where it lacks only padding both are kept, otherwise
// it gives way.
func (s *scan) overlap(from position, start int64, next uint32) (position, int64) {
	earlier := start - int64(s.size)
	shared := from.offset - earlier
	if shared <= 0 || from.record <= max(s.segments[from.nSegments-1].first, s.unsettled) {
		return from, start
	}
	r := parseRecord(s.peekRecord(earlier))
	if !plausible(r, s.size) || !steady(tickStep(r.tick, next)) {
		return from, start
	}
	size := int64(s.size)
	last := parseRecord(s.peekRecord(from.offset - size))
	if plausible(last, s.size) {
		before, after := s.neighbours(from.offset-size, from.record-1), s.known(s.peek(start, windowRecords*s.size))
		previous := last
		if from.record-1 > s.segments[from.nSegments-1].first {
			previous = parseRecord(s.peekRecord(from.offset - 2*size))
		}
		lastUnlike := before.unlike(last, tickStep(previous.tick, last.tick))
		earlierUnlike := after.unlike(r, tickStep(r.tick, next))
		switch {
		case max(lastUnlike, earlierUnlike) < forward && shared <= size-int64(flagOffset(s.size))-1:
			return from, earlier
		case lastUnlike < earlierUnlike, lastUnlike == earlierUnlike && lastUnlike >= forward:
			return from, start
		}
	}
	if s.runs[from.nRuns-1].first >= from.record || s.epochs[from.nEpochs-1].first >= from.record {
		return from, start
	}
	if from.nFlaws > 0 && from.lastFlaw.offset+from.lastFlaw.bytes == from.offset {
		if from.lastFlaw.kind != badRecords {
			return from, start
		}
		from.flawBytes -= size
		if from.lastFlaw.bytes -= size; from.lastFlaw.bytes == 0 {
			if from.nFlaws--; from.nFlaws > 0 {
				from.lastFlaw = s.flaws[from.nFlaws-1]
			}
		}
	} else if last.damaged() {
		return from, start // not in the list, which is full
	}
	from.record--
	from.offset -= size
	return from, earlier
}

func (s *scan) peekRecord(at int64) []byte {
	if b := s.peek(at, s.size); len(b) == s.size {
		return b
	}
	return make([]byte, s.size)
}

// skipTo goes back to a position, keeps the good records that follow it in the
// old step, and goes on at the offset start in a new one.
func (s *scan) skipTo(from position, start int64) {
	// The last good record before start ends the old step. In longer noise
	// one that seems good is an accident.
	end := from.offset
	prev, havePrev := from.prev, from.havePrev
	bad := 0
	for at := from.offset; at+int64(s.size) <= start && bad < 8; at += int64(s.size) {
		bad++
		r := parseRecord(s.peekRecord(at))
		if plausible(r, s.size) && (!havePrev || steady(tickStep(prev, r.tick))) {
			end = at + int64(s.size)
			prev, havePrev = r.tick, true
			bad = 0
		}
	}
	s.backTo(from)
	s.settled = true
	s.closely(end)
	s.settled = false
	if start < s.offset {
		// The damage is what is not there.
		s.flaw(flaw{start, 0, padding})
	} else {
		s.flaw(flaw{s.offset, start - s.offset, outOfStep})
	}
	s.offset = start
	if last := &s.segments[len(s.segments)-1]; last.first == s.record {
		last.offset = start
	} else {
		s.segments = append(s.segments, segment{s.record, start})
	}
	s.trouble, s.wait, s.sound = nil, 0, 0
	s.nextTry = s.record + 4
}
