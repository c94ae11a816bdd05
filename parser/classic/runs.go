package classic

import (
	"errors"
	"io"
	"slices"
	"sort"
	"time"

	"logparser/message"
	"logparser/parser"
	"logparser/timeparse"
)

// How a file is divided into runs.
//
// The scan begins a new run where the tick counter goes back by more than a
// few seconds and not by a wrap: the machine was started again between. Runs
// of one boot have rising ticks and look like one. There the modules file
// helps: it was written when its run began, so that records before its tick
// belong to earlier runs, of which it knows nothing. Which of the scan's runs
// that tick falls into is decided here, together with the clocks.

// A candidate is a place where the run that the modules file describes may
// begin.
type candidate struct {
	run   int
	first int64 // record number
	// inside is the part of the sampled addresses that its modules own.
	inside float64
	// unseen says that the start tick lies before a wrap that happened while
	// nothing was recorded.
	unseen bool
}

// maxCandidates bounds the runs looked at, from the last back.
const maxCandidates = 64

// firstTime returns the time of the first undamaged record from a number on,
// before end, in milliseconds of the log's clock.
func (l *view) firstTime(from, end int64) (ms int64, ok bool, err error) {
	events := make([]parser.Event, 16)
	for from < end {
		n := min(int64(len(events)), end-from)
		if _, err := l.readEvents(events[:n], from, nil); err != nil {
			return 0, false, err
		}
		for _, e := range events[:n] {
			if e.Kind != parser.Damaged {
				return e.Time / 1e6, true, nil
			}
		}
		from += n
		events = moreEvents(events)
	}
	return 0, false, nil
}

// lastTime is firstTime from the other end.
func (l *view) lastTime(from, end int64) (ms int64, ok bool, err error) {
	events := make([]parser.Event, 16)
	for from < end {
		n := min(int64(len(events)), end-from)
		if _, err := l.readEvents(events[:n], end-n, nil); err != nil {
			return 0, false, err
		}
		for i := n - 1; i >= 0; i-- {
			if events[i].Kind != parser.Damaged {
				return events[i].Time / 1e6, true, nil
			}
		}
		end -= n
		events = moreEvents(events)
	}
	return 0, false, nil
}

// moreEvents makes reading over a long damaged stretch cheap.
func moreEvents(events []parser.Event) []parser.Event {
	const most = 8192
	if len(events) == most {
		return events
	}
	return make([]parser.Event, most)
}

// findRuns fills in runs, modules and clocks.
func (o *opener) findRuns() error {
	s, l := o.scan, o.log
	if s.record == 0 {
		return nil
	}
	for i, r := range s.runs {
		end := s.record
		if i+1 < len(s.runs) {
			end = s.runs[i+1].first
		}
		l.info.Runs = append(l.info.Runs, parser.Run{First: r.first, Count: end - r.first, Reason: r.reason()})
	}
	if len(s.runs) == maxRuns {
		o.notes = append(o.notes, message.Textf("the log has more than %d runs; those after are shown as part of the last", maxRuns))
	}
	described, found, err := o.describedRun()
	if err != nil {
		return err
	}
	if o.described = -1; found {
		o.described = described
	}
	known := len(o.modules.Modules) > 0
	if !found && (known || o.ticks) {
		o.notes = append(o.notes, message.Textf("the modules file was written at tick %d, after the last record: it describes no run of this log", o.start))
	}
	if !found {
		// What the user says of the time must be right all the same.
		if _, _, err := o.startTime(); err != nil {
			return err
		}
	}
	for i := range l.info.Runs {
		clock, err := o.clock(l.info.Runs[i], i == o.described)
		if err != nil {
			return err
		}
		l.clocks = append(l.clocks, clock)
		l.modules = append(l.modules, noModules)
	}
	if known && o.described >= 0 {
		o.setModules(l, o.described, o.modules.Modules)
	}
	return nil
}

// clock makes the clock of a run, which the modules file describes or not.
func (o *opener) clock(run parser.Run, described bool) (timeparse.Clock, error) {
	first, _, err := o.log.firstTime(run.First, run.First+run.Count)
	if err != nil {
		return timeparse.Clock{}, err
	}
	clock := timeparse.ElapsedClock(first)
	if !described {
		return clock, nil
	}
	start, hasStart, err := o.startTime()
	switch {
	case err != nil:
		return timeparse.Clock{}, err
	case hasStart && o.ticks:
		clock = timeparse.NewTickClock(start, o.start, first)
	case hasStart && o.opt.StartTime != "":
		clock = timeparse.NewTickClock(start, uint32(first), first)
		o.notes = append(o.notes, message.Textf("no start tick is known: the start time given is taken for that of the first record"))
	case hasStart:
		o.noTime = message.Textf("the modules file has no tick count: only the time since the first record is known")
	case o.ticks:
		o.notes = append(o.notes, message.Textf("no start time is known: only the time since the first record is"))
	}
	return clock, nil
}

// startTime reads the start time, the user's or the modules file's. What the
// user gives must be right, what the file gives is only noted when it is not.
func (o *opener) startTime() (t time.Time, ok bool, err error) {
	text := o.opt.StartTime
	if text == "" {
		text = o.modules.StartText
	}
	if text == "" {
		return time.Time{}, false, nil
	}
	st, err := timeparse.ParseStart(text)
	if err != nil {
		if o.opt.StartTime != "" {
			return time.Time{}, false, message.Errorf("start time: %w", err)
		}
		o.noTime = message.Textf("the start time of the modules file is not understood (%v)", err)
		return time.Time{}, false, nil
	}
	if st.Zone != "" {
		o.notes = append(o.notes, message.Textf("the start time names the zone %s, which is left out of account: times are the program's local time", st.Zone))
	}
	if st.WrongWeekday {
		o.notes = append(o.notes, message.Textf("the day of the week in the start time %q does not fit the date", text))
	}
	return st.Time, true, nil
}

// describedRun finds the run that the modules file describes, dividing one
// where it begins in the middle.
func (o *opener) describedRun() (run int, found bool, err error) {
	l := o.log
	var list []candidate
	for i := len(l.info.Runs) - 1; i >= 0 && i >= len(l.info.Runs)-maxCandidates; i-- {
		c, err := o.candidates(i)
		if err != nil {
			return 0, false, err
		}
		list = append(list, c...)
	}
	// The last one counts, except where the addresses speak for another.
	sp := newSpace(o.modules.Modules)
	most := 0.0
	for i := range list {
		if list[i].inside, err = o.inside(list[i], sp); err != nil {
			return 0, false, err
		}
		most = max(most, list[i].inside)
	}
	sort.SliceStable(list, func(a, b int) bool { return list[a].first > list[b].first })
	for _, c := range list {
		if c.inside < most/10 {
			continue
		}
		if c.unseen && o.joinUnseen(c.run) {
			return c.run - 1, true, nil
		}
		r := &l.info.Runs[c.run]
		if c.first == r.First {
			return c.run, true, nil
		}
		later := parser.Run{
			First: c.first, Count: r.First + r.Count - c.first,
			Reason: message.Textf("the modules file was written here, at tick %d", o.start),
		}
		r.Count = c.first - r.First
		l.info.Runs = append(l.info.Runs[:c.run+1], append([]parser.Run{later}, l.info.Runs[c.run+1:]...)...)
		return c.run + 1, true, nil
	}
	return 0, false, nil
}

// candidates returns the places in a run of the scan where the modules file's
// run may begin.
func (o *opener) candidates(run int) ([]candidate, error) {
	l := o.log
	r := l.info.Runs[run]
	end := r.First + r.Count
	whole := candidate{run: run, first: r.First}
	if !o.ticks {
		return []candidate{whole}, nil
	}
	first, ok, err := l.firstTime(r.First, end)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, nil // all damaged
	}
	last, _, err := l.lastTime(r.First, end)
	if err != nil {
		return nil, err
	}
	var list []candidate
	at := timeparse.Nearest(o.start, first)
	if at <= first {
		whole.unseen = at < 0
		list = append(list, whole)
		if first-at < 60_000 {
			// It begins where the modules file was just written. That the
			// counter comes by the same tick 49 days later means nothing.
			return list, nil
		}
		at += timeparse.TickWrap
	}
	// The last time the counter came by.
	if at <= last {
		at += (last - at) / timeparse.TickWrap * timeparse.TickWrap
		c, err := l.crossing(r.First, end, at)
		if err != nil {
			return nil, err
		}
		same := false
		if at-first <= backward && !o.modules.Ours {
			if same, err = l.sameThreads(r.First, c, end); err != nil {
				return nil, err
			}
		}
		if same {
			return append(list, whole), nil
		}
		return append(list, candidate{run: run, first: c}), nil
	}
	if at-first <= backward && !o.modules.Ours {
		// Written a little after the first records of a short run.
		list = append(list, whole)
	}
	return list, nil
}

// crossing returns the first record of the range whose time is not before at
// (milliseconds). Between two runs times do not overlap, so that halving finds
// the place exactly; a damaged record on the way is stepped over.
func (l *view) crossing(from, end, at int64) (int64, error) {
	for from < end {
		mid := from + (end-from)/2
		t, ok, err := l.firstTime(mid, end)
		if err != nil {
			return 0, err
		}
		if !ok || t >= at {
			end = mid
		} else {
			from = mid + 1
		}
	}
	return from, nil
}

// sameThreads reports whether a thread that wrote shortly before the record at
// also writes shortly after it: then both are one run, whose modules file was
// written when it had already begun to log.
func (l *view) sameThreads(first, at, end int64) (bool, error) {
	var events [256]parser.Event
	from := max(first, at-int64(len(events)))
	n, err := l.readEvents(events[:at-from], from, nil)
	if err != nil {
		return false, err
	}
	before := make(map[uint32]bool)
	for _, e := range events[:n] {
		before[e.Thread] = before[e.Thread] || e.Kind != parser.Damaged
	}
	n, err = l.readEvents(events[:min(int64(len(events)), end-at)], at, nil)
	if err != nil {
		return false, err
	}
	for _, e := range events[:n] {
		if e.Kind != parser.Damaged && before[e.Thread] {
			return true, nil
		}
	}
	return false, nil
}

// inside samples a candidate's addresses.
func (o *opener) inside(c candidate, sp *space) (float64, error) {
	if sp.empty() {
		return 0, nil
	}
	l := o.log
	r := l.info.Runs[c.run]
	end := r.First + r.Count
	var events [256]parser.Event
	total, hits := 0, 0
	for _, from := range [2]int64{c.first, c.first + (end-c.first)/2} {
		n, err := l.readEvents(events[:min(int64(len(events)), end-from)], from, nil)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for _, e := range events[:n] {
			if e.Kind == parser.Damaged {
				continue
			}
			total++
			if sp.contains(e.Address, l.size) {
				hits++
			}
		}
	}
	if total == 0 {
		return 0, nil
	}
	return float64(hits) / float64(total), nil
}

// joinUnseen joins a run to the one before it where the modules file shows
// that they are one: its tick is that of the start of the one before, so that
// the step back between them was a wrap during a long pause.
func (o *opener) joinUnseen(run int) bool {
	if run == 0 {
		return false
	}
	l := o.log
	before, r := l.info.Runs[run-1], l.info.Runs[run]
	first, ok, err := l.firstTime(before.First, before.First+before.Count)
	if err != nil || !ok {
		return false
	}
	start := timeparse.Nearest(o.start, first)
	if start > first || first-start > 60_000 || len(l.epochs) == maxEpochs {
		return false
	}
	i := sort.Search(len(l.epochs), func(i int) bool { return l.epochs[i].first >= before.First })
	wraps := int64(0)
	for ; i < len(l.epochs) && l.epochs[i].first < r.First+r.Count; i++ {
		e := &l.epochs[i]
		if e.first < r.First {
			wraps = e.wraps[0]
			continue
		}
		e.wraps[0] += wraps + 1
		e.wraps[1] += wraps + 1
	}
	if run == len(l.info.Runs)-1 {
		// The scan may go on from here when the log grows.
		o.scan.wraps += wraps + 1
		o.scan.epochs = slices.Clone(l.epochs)
	}
	l.info.Runs[run-1].Count += r.Count
	l.info.Runs = append(l.info.Runs[:run], l.info.Runs[run+1:]...)
	return true
}
