package classic

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// How a log is followed while it is written.
//
// The scan goes on from the last record, and what it finds is put behind what
// is known. It looks a few records ahead where a tick jumps, so that an irregular
// record among the last ones waits for others, but not for long: the program
// may write no more.

const (
	// lookAhead is how many records must follow an irregular one.
	lookAhead = 8
	// patience is how long an irregular record waits for them.
	patience = 150 * time.Millisecond
)

// A growthState is what Grow remembers from call to call.
type growthState struct {
	// runs is the number of the scan's runs that are in the view.
	runs int
	// last holds the bytes of the last record, at the offset lastAt: that they
	// are still there shows that the file was not written anew.
	last   []byte
	lastAt int64
	// held is the offset of an irregular record that waits, since heldSince.
	held      int64
	heldSince time.Time
	// undescribed says that the modules file has been written anew, and that
	// the run that it describes has not begun.
	undescribed bool
}

// remember notes where Grow has to go on.
func (l *Log) remember() error {
	o, g := l.o, &l.growth
	g.runs = len(o.scan.runs)
	if o.scan.record == 0 {
		return nil
	}
	g.last, g.lastAt = make([]byte, o.scan.size), o.scan.offset-int64(o.scan.size)
	return readFull(o.r, o.name, g.last, g.lastAt)
}

// Grow implements [parser.Grower]. A program that was started again and appends
// to the same log begins a new run, with the modules of the modules file as it
// is then. Lines that are added to the modules file are modules that were
// loaded later.
func (l *Log) Grow(ctx context.Context) (parser.Growth, error) {
	l.growing.Lock()
	defer l.growing.Unlock()
	var growth parser.Growth
	if l.file == nil {
		return growth, nil
	}
	o, g := l.o, &l.growth
	st, err := l.file.Stat()
	if err != nil {
		return growth, err
	}
	path, err := os.Stat(o.name)
	growth.Replaced = errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(path, st)
	if err := l.growModules(&growth); err != nil {
		return growth, err
	}
	old := o.stat
	if st.Size() == old.Size() && st.ModTime().Equal(old.ModTime()) && g.held == 0 {
		return growth, nil
	}
	s := o.scan
	if err := l.compare(st); err != nil {
		return growth, err
	}
	o.stat, o.size = st, st.Size()
	end, err := l.wholeRecords(ctx)
	if err != nil {
		return growth, err
	}
	growth.Pending = g.held != 0
	s.limit, s.unsettled = end, s.record
	s.trouble, s.alike, s.block = nil, 0, nil
	before := l.view.Load().records
	err = s.run(ctx, nil)
	if e := l.publish(); err == nil {
		err = e
	}
	growth.Records = l.view.Load().records - before
	if err != nil {
		// The same again, even if the file does not change.
		o.stat = old
	}
	return growth, err
}

// wholeRecords returns the end of the new records that can be taken in.
func (l *Log) wholeRecords(ctx context.Context) (int64, error) {
	o, s, g := l.o, l.o.scan, &l.growth
	limit, err := o.written(ctx, s.offset)
	if err != nil {
		return 0, err
	}
	size := int64(s.size)
	n := (limit - s.offset) / size
	tail := make([]byte, min(n, lookAhead)*size)
	if err := readFull(o.r, o.name, tail, s.offset+n*size-int64(len(tail))); err != nil {
		return 0, err
	}
	// What is all zero was not written yet.
	for len(tail) > 0 && len(bytes.Trim(tail[len(tail)-s.size:], "\x00")) == 0 {
		tail = tail[:len(tail)-s.size]
		n--
	}
	end := s.offset + n*size
	prev, havePrev := s.prev, s.havePrev
	if int64(len(tail)) < n*size {
		havePrev = false
	}
	for b := tail; len(b) > 0; b = b[s.size:] {
		r := parseRecord(b[:s.size])
		if !plausible(r, s.size) || havePrev && !steady(tickStep(prev, r.tick)) {
			at := end - int64(len(b))
			if g.held != at {
				g.held, g.heldSince = at, time.Now()
			}
			if time.Since(g.heldSince) < patience {
				return at, nil
			}
			break
		}
		prev, havePrev = r.tick, true
	}
	g.held = 0
	return end, nil
}

// publish makes a new view of what the scan has found.
func (l *Log) publish() error {
	o, s, g := l.o, l.o.scan, &l.growth
	v := *l.view.Load()
	first := v.records
	v.records = s.record
	v.segments, v.epochs = slices.Clone(s.segments), slices.Clone(s.epochs)
	v.info.Runs = slices.Clone(v.info.Runs)
	v.modules, v.clocks = slices.Clone(v.modules), slices.Clone(v.clocks)
	o.log = &v
	if s.record > first {
		for _, r := range s.runs[g.runs:] {
			v.beginRun(r.first, r.reason())
		}
		g.runs = len(s.runs)
		if len(v.info.Runs) == 0 {
			v.beginRun(first, message.Text{})
		}
		n := len(v.info.Runs) - 1
		v.info.Runs[n].Count = s.record - v.info.Runs[n].First
		if g.undescribed {
			if err := o.describeNew(first); err != nil {
				return err
			}
			g.undescribed = o.described < 0
		}
		for i := len(v.clocks); i < len(v.info.Runs); i++ {
			clock, err := o.clock(v.info.Runs[i], i == o.described)
			if err != nil {
				return err
			}
			v.modules, v.clocks = append(v.modules, noModules), append(v.clocks, clock)
			if i == o.described && len(o.modules.Modules) > 0 {
				o.setModules(&v, i, o.modules.Modules)
			}
		}
		if err := l.remember(); err != nil {
			return err
		}
	}
	o.tail = flaw{}
	if s.offset < o.size && g.held == 0 {
		o.tail = flaw{s.offset, o.size - s.offset, cutOff}
		if o.size-s.offset >= int64(s.size) {
			o.tail.kind = zeros
		}
	}
	o.describe(&v.info)
	l.view.Store(&v)
	return nil
}

// beginRun begins a run at a record that is not in the view yet.
func (l *view) beginRun(first int64, reason message.Text) {
	if n := len(l.info.Runs); n > 0 {
		l.info.Runs[n-1].Count = first - l.info.Runs[n-1].First
	}
	l.info.Runs = append(l.info.Runs, parser.Run{First: first, Count: l.records - first, Reason: reason})
}

// describeNew finds the run, among the records from a number on, that the new
// modules file describes. It may begin within the last run.
func (o *opener) describeNew(from int64) error {
	v := o.log
	n := len(v.info.Runs) - 1
	r := v.info.Runs[n]
	from = max(from, r.First)
	if from > r.First && o.ticks {
		first, ok, err := v.firstTime(from, v.records)
		if err != nil || !ok {
			return err
		}
		last, _, err := v.lastTime(from, v.records)
		if err != nil {
			return err
		}
		at := timeparse.Nearest(o.start, first)
		if at > last {
			return nil
		}
		if at > first {
			if from, err = v.crossing(from, v.records, at); err != nil {
				return err
			}
		}
	}
	if from > r.First {
		reason := message.Textf("the modules file was written here")
		if o.ticks {
			reason = message.Textf("the modules file was written here, at tick %d", o.start)
		}
		v.beginRun(from, reason)
		n++
	}
	o.described = n
	return nil
}

// growModules reads the modules file again where it has changed.
func (l *Log) growModules(growth *parser.Growth) error {
	o, g := l.o, &l.growth
	if o.opt.ModulesFile == "" {
		return nil
	}
	st, err := os.Stat(o.opt.ModulesFile)
	if err != nil {
		return nil // between two names; what was read counts
	}
	if old := o.modulesStat; old != nil && os.SameFile(st, old) && st.Size() == old.Size() && st.ModTime().Equal(old.ModTime()) {
		return nil
	}
	file, err := o.readModules()
	if err != nil {
		return nil // perhaps half written: it will change again
	}
	o.modulesStat = st
	before := o.modules
	o.modules = file
	if o.opt.StartTick == nil {
		o.ticks, o.start = file.HasTick, file.Tick
	}
	o.scan.start = nil
	if o.ticks {
		o.scan.start = &o.start
	}
	o.noTime = message.Text{}
	if before.HasTick && (before.Tick != file.Tick || before.StartText != file.StartText) {
		g.undescribed, o.described = true, -1
		o.notes = slices.Clone(file.Notes)
		return nil
	}
	if o.described < 0 {
		return nil
	}
	// The same run, with modules that were loaded later.
	v := *l.view.Load()
	known := v.modules[o.described]
	var list []modules.Module
	for i := range known.Len() {
		list = append(list, *known.At(i))
	}
	changed := before.HasTick != file.HasTick
	more := file.Modules
	if file.Came != nil {
		// Our recorder only appends, and lists a module again that came again.
		changed = changed || !slices.Equal(before.Modules, file.Modules)
		list, more = file.Modules, nil
	}
	for _, m := range more {
		i := slices.IndexFunc(list, func(k modules.Module) bool { return k.Base == m.Base && k.Size == m.Size })
		switch {
		case i < 0:
			list = append(list, m)
		case list[i] == m:
			continue
		default:
			list[i] = m // its line was not whole yet
		}
		changed = true
	}
	if !changed {
		return nil
	}
	growth.Modules = true
	v.modules, v.clocks, v.info.Runs = slices.Clone(v.modules), slices.Clone(v.clocks), slices.Clone(v.info.Runs)
	o.setModules(&v, o.described, list)
	o.log = &v
	if v.clocks[o.described], err = o.clock(v.info.Runs[o.described], true); err != nil {
		return err
	}
	l.view.Store(&v)
	return nil
}
