package app

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"logparser/calls"
	"logparser/export"
	"logparser/message"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/rows"
	"logparser/symbols"
)

// How a live log is followed.
//
// The log is looked at again and again; notifications of changes are not to be
// had from network drives, and what is written through a mapping causes none.
// While rows come the looks follow each other closely, afterwards more and
// more slowly, but never so slowly that a row would be late.
const (
	soonest = 10 * time.Millisecond
	latest  = 100 * time.Millisecond
)

// ErrCannotFollow says that a log's format is not one that grows.
var ErrCannotFollow = message.New("a log of this format cannot be followed")

// An Update tells a follower what has changed.
type Update struct {
	// Rows is the number of rows that there are now, and New how many of them
	// are new. They are paired and named.
	Rows, New int64
	// Runs says how many runs have begun: the program was started again.
	Runs int
	// Modules says that modules were loaded, or their lines came late.
	Modules bool
	// Annotations says that there are new annotations; see [Session.Annotations].
	Annotations bool
	// Replaced says, once, that the log's path leads to another file now or
	// to none. Rows come from the file that was opened.
	Replaced bool
	// Ended says that the program has ended and that all rows are there. It
	// is the last update.
	Ended bool
}

// Follow takes in what is written to the log from now on, until the context is
// cancelled (it returns nil then) or the program has ended, if the log tells.
// It loads the session first if that was not done. Meanwhile the calls that
// were not left yet are marked as running. changed is called from this
// goroutine after rows were added; it may be nil.
//
// A session that shows the last run goes on with a run that begins after it.
// An error that wraps [parser.ErrShrunk] says that the file was cut or written
// anew, so that the session is worth nothing any more.
func (s *Session) Follow(ctx context.Context, changed func(Update)) error {
	err := s.follow(ctx, changed)
	if err == nil {
		s.keepFollowed()
	}
	return err
}

func (s *Session) follow(ctx context.Context, changed func(Update)) error {
	grower := s.can.Grower
	if grower == nil {
		return s.cannotFollow()
	}
	if changed == nil {
		changed = func(Update) {}
	}
	if err := s.Load(ctx, nil); err != nil {
		return followError(ctx, err)
	}
	s.setLive(true)
	defer s.setLive(false)
	told := Update{Rows: s.Rows().Len()}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := soonest; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		start := time.Now()
		growth, err := s.grow(ctx, grower)
		if err != nil {
			return followError(ctx, err)
		}
		now := Update{Rows: s.Rows().Len(), Runs: growth.runs, Modules: growth.Modules, Annotations: growth.Annotations, Replaced: growth.Replaced, Ended: growth.Ended}
		now.New = now.Rows - told.Rows
		news := now.New > 0 || now.Runs > 0 || now.Modules || now.Annotations || now.Replaced != told.Replaced
		if now.Ended {
			s.setLive(false)
		}
		if told, now.Replaced = now, now.Replaced && !told.Replaced; news || now.Ended {
			changed(now)
		}
		if now.Ended {
			return nil
		}
		if wait = min(2*wait, latest); news || growth.Pending {
			wait = soonest
		}
		// Where a look is slow, as on a network drive, it is not to take all
		// the time there is.
		timer.Reset(max(wait, min(2*time.Since(start), latest)))
	}
}

// cannotFollow says why the log cannot be followed.
func (s *Session) cannotFollow() error {
	if len(s.Inputs().Others) > 0 {
		return ErrFollowSeveral
	}
	return ErrCannotFollow
}

// WasCut reports whether an error of following says that the file was cut or written
// anew under its name.
func WasCut(err error) bool { return errors.Is(err, parser.ErrShrunk) }

// setLive says whether the program may still be writing. What is marked open or
// running changes with it.
func (s *Session) setLive(live bool) {
	s.table.SetLive(live)
	if s.live.Swap(live) != live {
		s.generation.Add(1)
	}
}

// followError makes the end that was asked for no error.
func followError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// A growth is what one look has found.
type growth struct {
	parser.Growth
	runs int // that are new and shown
}

// grow looks at the log once and takes in what is new.
func (s *Session) grow(ctx context.Context, log parser.Grower) (growth, error) {
	if err := s.acquire(ctx); err != nil {
		return growth{}, err
	}
	defer s.release()
	g, err := log.Grow(ctx)
	if err != nil {
		if errors.Is(err, parser.ErrShrunk) {
			err = &InputError{LogInput, s.Inputs().Log, err}
		}
		return growth{Growth: g}, err
	}
	before := len(s.runs())
	if g.Records > 0 || g.Modules || g.Annotations && s.table.Total() == 0 || s.table.Len() < s.table.Total() {
		err = s.takeIn(ctx)
	}
	if err == nil {
		s.watch()
	}
	return growth{g, len(s.runs()) - before}, err
}

// takeIn shows, pairs and names what the log has more than the session. The
// caller holds the token.
func (s *Session) takeIn(ctx context.Context) error {
	old := s.runs()
	shown := s.grownRuns()
	s.shown.Store(&shown)
	runs := make([]parser.Run, len(shown))
	for i := range shown {
		runs[i] = shown[i].Run
	}
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	if !loaded {
		if err := s.table.Extend(ctx, runs, s.names.namer, nil); err != nil {
			return err
		}
		return s.load(ctx, nil)
	}
	// Pairing may need the names of new addresses, so modules come first.
	if err := s.bindNew(ctx); err != nil {
		return err
	}
	if err := s.table.Extend(ctx, runs, s.namerOfAll(), nil); err != nil {
		return err
	}
	return s.nameNew(ctx, old)
}

// grownRuns returns the runs to show, as the log knows them now.
func (s *Session) grownRuns() []sessionRun {
	all := s.log.Info().Runs
	old := s.runs()
	shown := make([]sessionRun, len(old), len(old)+1)
	copy(shown, old)
	for i := range shown {
		shown[i].Run = all[shown[i].number]
		if old[i].Count == 0 {
			s.findZero(&shown[i])
		}
		s.describeRun(&shown[i])
	}
	next := len(all)
	switch n := len(old); {
	case n > 0 && (s.chosen < 0 || s.Inputs().Run == ""):
		next = old[n-1].number + 1
	case n == 0:
		next = 0
	}
	for ; next < len(all); next++ {
		shown = append(shown, s.newRun(next, all[next]))
	}
	return shown
}

// bindNew finds the symbols of the modules that have none yet.
func (s *Session) bindNew(ctx context.Context) error {
	runs := s.runs()
	bindings := make([][]symbols.Binding, len(runs))
	var list []moduleKey
	s.mu.Lock()
	for run := range runs {
		if run < len(s.bindings) {
			bindings[run] = s.bindings[run]
		}
		for i := len(bindings[run]); i < runs[run].modules.Len(); i++ {
			list = append(list, moduleKey{run, i})
		}
		if n := runs[run].modules.Len(); n > len(bindings[run]) {
			longer := make([]symbols.Binding, n)
			for i := copy(longer, bindings[run]); i < n; i++ {
				longer[i].Status = symbols.Pending
			}
			bindings[run] = longer
		}
	}
	s.bindings = bindings
	in := s.in
	s.mu.Unlock()
	if len(list) == 0 {
		return nil
	}
	finder := s.symbolFinder(in)
	finder.Progress = s.fetchProgress(nil)
	defer s.fetching.Store(nil)
	for _, key := range list {
		mod := runs[key.run].modules.At(key.module)
		b, err := beside(ctx, func() symbols.Binding { return finder.Find(ctx, mod) }, closeTable)
		if err != nil {
			b.Status = symbols.Pending
		}
		s.mu.Lock()
		bindings[key.run][key.module] = b
		if ctx.Err() != nil {
			// Not all is found: naming is to be done again.
			s.loaded = false
		}
		s.mu.Unlock()
	}
	return ctx.Err()
}

// namerOfAll tells the functions of all addresses, also of those that are not
// named yet.
func (s *Session) namerOfAll() calls.Namer {
	n := s.names
	resolvers := make(map[int]*symbols.Resolver)
	return func(run int, space uint16, address uint64) calls.Function {
		if p := n.find(run, space, address); p != nil {
			return p.id
		}
		named := resolvers[run]
		if named == nil {
			named = symbols.NewResolver(s.runs()[run].modules, s.bindings[run], s.log.Truncated())
			resolvers[run] = named
		}
		key := moduleKey{module: -1}
		if loc := s.locate(run, space, address); loc.Module >= 0 {
			key = moduleKey{run, loc.Module}
		}
		a := calls.Address{Value: address, Run: int32(run), Space: space}
		return s.resolveOne(key, named, &a, &place{module: key.module}, s.functions).id
	}
}

// nameNew names the addresses that are new, and those that lay in no module
// as long as the runs were the old ones.
func (s *Session) nameNew(ctx context.Context, old []sessionRun) error {
	s.mu.Lock()
	s.names = s.names.extended(s.table.Addresses())
	n := s.names
	s.mu.Unlock()
	runs := s.runs()
	grown := make(map[int32]bool)
	for i := range old {
		if old[i].modules != runs[i].modules {
			grown[int32(i)] = true
		}
	}
	byModule := make(map[moduleKey][]int)
	first := s.named
	if len(grown) > 0 {
		first = 0
	}
	total, renamed := n.addresses.Len(), false
	for i := first; i < total; i++ {
		if i%cancelEvery == 0 && ctx.Err() != nil {
			return s.nameAgain(ctx.Err())
		}
		a := n.addresses.At(i)
		if i < s.named {
			if p := n.places[i].Load(); !grown[a.Run] || p != nil && p.module >= 0 {
				continue
			}
			renamed = true
		}
		key := moduleKey{module: -1}
		if loc := s.locate(int(a.Run), a.Space, a.Value); loc.Module >= 0 {
			key = moduleKey{int(a.Run), loc.Module}
		}
		byModule[key] = append(byModule[key], i)
	}
	for key, list := range byModule {
		if err := s.resolve(ctx, n, key, list, s.functions, nil); err != nil {
			return s.nameAgain(err)
		}
	}
	s.named = total
	if renamed {
		s.namesakes = nil
	}
	others, err := s.distinguish(ctx, n, total)
	if err != nil {
		return s.nameAgain(err)
	}
	if renamed || others {
		s.generation.Add(1) // for what keeps names
	}
	return nil
}

// nameAgain notes that naming is to be done again after an error, and returns it.
func (s *Session) nameAgain(err error) error {
	s.mu.Lock()
	s.loaded = false
	s.mu.Unlock()
	return err
}

// OpenLive is Open for a log that is about to be written: it waits until there
// is one. waiting, if not nil, is called once if there is not. The session is loaded.
func OpenLive(ctx context.Context, in Inputs, p Progress, waiting func()) (*Session, error) {
	in.live = true
	for {
		s, err := Open(ctx, in, p)
		if err == nil {
			return s.openLive(ctx, p)
		}
		if !unborn(in.Log, err) {
			return nil, err
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(latest / 2):
		}
	}
}

// openLive loads the session and looks at the log once, so that one that cannot be
// followed says so before its rows are shown.
func (s *Session) openLive(ctx context.Context, p Progress) (*Session, error) {
	err := s.Load(ctx, p)
	if s.can.Grower != nil && err == nil {
		_, err = s.grow(ctx, s.can.Grower)
	} else if err == nil {
		err = s.cannotFollow()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// unborn reports whether an error of Open may go away when a program begins to
// write the log.
func unborn(log string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoLog) || errors.Is(err, classic.ErrEmpty) || errors.Is(err, classic.ErrTooShort) {
		return true
	}
	// The beginning of a file is not written all at once.
	st, e := os.Stat(log)
	return e == nil && st.Mode().IsRegular() && time.Since(st.ModTime()).Abs() < time.Second
}

// WriteLive writes the rows of a view from row from of the log on that there are
// now, for a follower to go on with what it has written, and returns the number
// of the next row. It updates the view. Only at the first call, with head set,
// does the format's head come first. Rows whose leave has not come have no
// duration, and no note that they are running: whether a row is wanted is judged
// once. [Session.Follow] is to be called, too.
func (v *View) WriteLive(ctx context.Context, w io.Writer, format string, opt SaveOptions, from int64, head bool) (next int64, err error) {
	p, err := v.live(ctx, format, opt, from, head)
	if err != nil {
		return from, err
	}
	return p.next, p.write(ctx, w, p.src.Len())
}

// A livePart is the rows of a view that a follower has not written yet: those from opt.From on.
type livePart struct {
	src  rows.Source
	f    export.Format
	opt  SaveOptions
	next int64 // what comes behind them, as a row of the log
}

// live updates the view and prepares what there is now, as WriteLive has it.
func (v *View) live(ctx context.Context, format string, opt SaveOptions, from int64, head bool) (*livePart, error) {
	s := v.s
	s.setLive(true)
	if err := v.Update(ctx, nil); err != nil {
		return nil, err
	}
	if err := v.Wait(ctx); err != nil {
		return nil, err
	}
	f, ok := saveFormat(format)
	if !ok || !f.Live {
		return nil, message.Errorf("no format that a log can be followed in is called %q", format)
	}
	before, _ := v.PositionOf(from - 1)
	opt.From, opt.NoHead, opt.Runs = before+1, !head, s.rowRuns
	if head {
		opt.Header = s.Header()
		if !v.where.IsAll() {
			opt.Header.Lines = append(opt.Header.Lines, "rows where "+v.where.String())
		}
		opt.Header.Lines = append(opt.Header.Lines, "the program may still be writing; rows follow as they come")
		opt.Header.Counting = true
	}
	opt.Header.Values = s.HasValues()
	// What is written in parts is as wide as if it were written at once.
	opt.MostRows = v.Hidden() + v.Len()
	return &livePart{&filledView{v, &source{s: s, asWritten: true}}, f, opt, v.Hidden() + v.Len()}, nil
}

// write writes the rows before position to, and the head if that was not written yet.
func (p *livePart) write(ctx context.Context, w io.Writer, to int64) error {
	if to <= p.opt.From && p.opt.NoHead {
		return nil
	}
	err := p.f.Write(ctx, w, rows.Before(p.src, to), p.opt)
	p.opt.From, p.opt.NoHead = max(to, p.opt.From), true
	return err
}
