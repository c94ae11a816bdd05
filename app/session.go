// Package app joins the parts of LogParser into a session: it opens a log
// with its modules and symbols, pairs the records, names the addresses, hands
// out rows and saves them. Window and command share it, so they show and save
// the same.
package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/crash"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/attached"
	"logparser/symbols/store"
	"logparser/timeparse"
)

// Version is the version of LogParser.
const Version = "0.1.0"

// ErrNoSymbol is what a look-up's error wraps where no symbol covers the
// address.
var ErrNoSymbol = symbols.ErrNotFound

// ErrClosed says that a session was closed.
var ErrClosed = message.New("the session is closed")

// A Session is an opened log. All its methods are safe for concurrent use.
// The order of work is [Open], which is quick and after which [Session.Rows]
// already shows every record with its address, then [Session.Load], which
// fills in depth, durations and names while the rows can be read.
type Session struct {
	log parser.Log
	// can is what the log can do, asked when it was opened.
	can parser.Capabilities
	// order says how the rows of several logs were put in order, nothing for one.
	order message.Text
	// ownModules: the log itself tells its modules.
	ownModules bool
	// beside says what is wrong with a file beside the log that has the name of
	// its modules file, nil for nothing.
	beside *InputError
	// dump is the process of a dump, nil for a log.
	dump *crash.Process
	// shown are the chosen runs; see runs.
	shown atomic.Pointer[[]sessionRun]
	// chosen is the index of the chosen run in the log, -1 for all.
	chosen int
	// table has the pairs of the rows.
	table *index.Index
	rows  *source
	// processes are those of the rows where they are several.
	processes []*rows.Process
	// moduleCounts is how many modules each of them has.
	moduleCounts []int

	// work is held, as a token, by whoever pairs or names.
	work chan struct{}

	// fetching is the URL of what is being fetched from a symbol server.
	fetching atomic.Pointer[string]

	mu       sync.Mutex
	in       Inputs
	loaded   bool
	names    *names // nil before the addresses are known
	bindings [][]symbols.Binding
	closed   bool
	// crashes are those that were named, nil before.
	crashes atomic.Pointer[[]RecordedCrash]
	// kepts are the symbols that were kept beside the logs, in keptFiles, which
	// are opened once.
	kepts      []store.Kept
	keptFiles  []*os.File
	keptOpened bool
	// keptDamage says what of them, or of the pack, is damaged.
	keptDamage []message.Text

	// generation counts how often names, or anomalies and depths that depend on
	// them, have changed.
	generation atomic.Uint64
	// preview is not nil where the log is the beginning of another.
	preview *preview
	live    atomic.Bool // as the table was told
	views   viewCache
	sites   callSites
	taken   callValues
	// inherited are the calls of forked processes that others made; see inheritedCalls.
	inheritedOnce sync.Once
	inherited     map[inheritedKey]int32
	jumps         jumpEnds

	// functions are those of the last naming, and named is the number of
	// addresses that it named. older are the log's states of which there may be
	// an index to go on with; kept is the one whose index is kept, and seen the
	// last that was looked at. They are for who holds the token.
	functions *functions
	named     int
	// namesakes are the functions that have one name, nil before addresses are named. They are for who holds the token, too.
	namesakes  *namesakes
	older      []logState
	kept, seen logState
	// looking is closed when the look-ups have ended that a cancelled naming left
	// behind, nil for none; it is for who holds the token, too.
	looking chan struct{}
}

// runs returns the chosen runs. A list is never changed, and one that is
// returned later begins with the same runs, of which the last may have grown.
func (s *Session) runs() []sessionRun { return *s.shown.Load() }

// A sessionRun is a chosen run with what belongs to it.
type sessionRun struct {
	parser.Run
	// number is its index in the log.
	number  int
	modules *modules.Map
	// names are the modules' base names.
	names  []string
	spaces []parser.Space
	// plain finds the module of an address without its symbols.
	plain *symbols.Resolver
	clock timeparse.Clock
	// zero is the time of the run's first record that is not damaged, from which
	// elapsed time counts; as long as it has none, that of its first annotation, or of its clock.
	zero int64
}

// Open opens the inputs far enough that rows can be shown. Errors that the
// user can mend are of type [*InputError].
func Open(ctx context.Context, in Inputs, p Progress) (*Session, error) {
	return logFormats.Open(ctx, in, p)
}

// Open is the function Open for these formats.
func (formats Formats) Open(ctx context.Context, in Inputs, p Progress) (*Session, error) {
	if isPack(in.Log) {
		return formats.openPack(ctx, in, p)
	}
	log, found, err := FindPair(in.Log)
	var several *SeveralLogs
	if errors.As(err, &several) && several.Together && len(in.Others) == 0 {
		log, in.Others, err = several.Logs[0], several.Logs[1:], nil
	}
	if err != nil {
		return nil, err
	}
	in.Log = log
	if in.Modules == "" {
		in.Modules = found
	}
	var note *scanNote
	var opened parser.Log
	var format parser.Format
	var order message.Text
	if len(in.Others) > 0 {
		opened, order, err = formats.openSeveral(ctx, in, p)
	} else {
		note = in.found()
		opened, format, err = formats.openLog(ctx, in, note.bytes(), p)
	}
	if err != nil {
		return nil, err
	}
	note.keep(opened)
	var beside *InputError
	if !format.NeedsModulesFile {
		in.Modules = ""
	} else if in.Modules == "" {
		beside = besideTrouble(in.Log)
	}
	s := &Session{log: opened, can: opened.Capabilities(), order: order, ownModules: !format.NeedsModulesFile, beside: beside, in: in, work: make(chan struct{}, 1)}
	if note != nil {
		s.older = note.older
	}
	if err := s.choose(in.Run); err != nil {
		opened.Close()
		return nil, err
	}
	return s, nil
}

// errNoHeader is of a trace of which only zeros are there: its recorder has not
// written the header.
var errNoHeader = message.New("the trace has no header: the program ended before anything was recorded")

// openLog opens a log by the format that claims it most. found is what was found
// in it before, nil for nothing.
func (formats Formats) openLog(ctx context.Context, in Inputs, found []byte, p Progress) (parser.Log, parser.Format, error) {
	head, size, err := readHead(in.Log)
	if err != nil {
		return nil, parser.Format{}, &InputError{LogInput, in.Log, unwrapPath(err)}
	}
	if IsDump(head) {
		return nil, parser.Format{}, &InputError{LogInput, in.Log, ErrDump}
	}
	best := formats.of(head, size)
	if size > 0 && best.NeedsModulesFile && strings.EqualFold(filepath.Ext(in.Log), traceExtension) && len(bytes.Trim(head, "\x00")) == 0 {
		return nil, best, &InputError{LogInput, in.Log, errNoHeader}
	}
	opt, err := in.options(&best)
	if err != nil {
		return nil, best, err
	}
	opt.Found = found
	// Most of it looks for a cancel; reading the modules file does not, for one.
	type result struct {
		log parser.Log
		err error
	}
	progress := p.of(StageOpen)
	if progress != nil {
		tell := progress
		progress = func(done, total int64) {
			if ctx.Err() == nil {
				tell(done, total)
			}
		}
	}
	opened, err := beside(ctx, func() result {
		log, err := best.Open(ctx, in.Log, opt, progress)
		return result{log, err}
	}, func(r result) {
		if r.err == nil {
			r.log.Close()
		}
	})
	switch {
	case err != nil:
		return nil, best, err
	case opened.err != nil && ctx.Err() != nil:
		return nil, best, ctx.Err()
	case opened.err != nil:
		return nil, best, openError(in, opened.err)
	}
	return opened.log, best, nil
}

// options returns what a format is told to open the log of the inputs, or its first rows.
func (in *Inputs) options(format *parser.Format) (parser.Options, error) {
	opt := parser.Options{RecordSize: in.RecordSize, Encoding: in.Encoding, StartTime: in.StartTime, StartTick: in.StartTick, Live: in.live}
	if !in.NoRecordedPaths {
		opt.Place = placeInImage
	}
	if !format.NeedsModulesFile {
		return opt, nil
	}
	opt.ModulesFile = in.Modules
	if in.ModulesColumns != "" {
		columns, err := modules.ParseColumns(in.ModulesColumns)
		if err != nil {
			return opt, &InputError{ModulesInput, in.Modules, err}
		}
		opt.ModulesColumns = columns
	}
	return opt, nil
}

// placeInImage tells where in an image, of whose path a log tells, a byte of its file is mapped.
func placeInImage(path string, offset uint64) (rva, size uint64, ok bool) {
	path, err := store.CheckRecorded(path)
	if err != nil {
		return 0, 0, false
	}
	im, err := openImage(path)
	if err != nil {
		return 0, 0, false
	}
	defer im.Close()
	vaddr, ok := im.AtOffset(offset)
	if !ok || vaddr < im.Base {
		return 0, 0, false
	}
	return vaddr - im.Base, im.Size, true
}

// NeedsModulesFile reports whether a log's modules lie in a file of their own;
// of a file that cannot be read it is assumed.
func NeedsModulesFile(log string) bool {
	head, size, err := readHead(log)
	return err != nil || !attached.Detect(head) && logFormats.of(head, size).NeedsModulesFile
}

// openError says which of the inputs an error of opening is about.
func openError(in Inputs, err error) error {
	path := in.Log
	var system *fs.PathError
	var file *message.FileError
	switch {
	case errors.As(err, &system):
		path, err = system.Path, system.Err
	case errors.As(err, &file) && file.Path == in.Modules:
		path = in.Modules
	}
	input := OtherInput
	switch path {
	case in.Log:
		input = LogInput
	case in.Modules:
		input = ModulesInput
	}
	return &InputError{input, path, err}
}

// choose selects the runs to show and makes the empty table for them.
func (s *Session) choose(run string) error {
	all := s.log.Info().Runs
	first, last, err := parseRun(run, len(all))
	if err != nil {
		return err
	}
	s.chosen = first
	if run == "all" {
		s.chosen = -1
	}
	runs := make([]parser.Run, 0, last-first)
	shown := make([]sessionRun, 0, last-first)
	for i := first; i < last; i++ {
		shown = append(shown, s.newRun(i, all[i]))
		runs = append(runs, all[i])
	}
	s.shown.Store(&shown)
	s.table = index.New(s.log, runs)
	if s.in.Corrected && len(shown) > 0 && shown[0].Count > 0 {
		if _, ok := s.overhead(&shown[0]); !ok && len(s.in.Others) > 0 {
			return &InputError{LogInput, s.in.Log, ErrCorrectSeveral}
		} else if !ok {
			return &InputError{LogInput, s.in.Log, ErrNoOverhead}
		}
	}
	s.rows = &source{s: s}
	s.findProcesses()
	return nil
}

// newRun makes a run of the log ready to be shown.
func (s *Session) newRun(i int, run parser.Run) sessionRun {
	r := sessionRun{Run: run, number: i}
	s.findZero(&r)
	s.describeRun(&r)
	return r
}

// findZero finds the time from which the elapsed time of a run counts: without
// rows and annotations that at which recording began.
func (s *Session) findZero(r *sessionRun) {
	var event [1]parser.Event
	if n, _ := s.log.ReadEvents(event[:], r.First); n == 1 {
		r.zero = event[0].Time
		if event[0].Kind == parser.Damaged {
			r.zero = s.firstTime(r)
		}
		return
	}
	r.zero = s.log.Clock(r.number).Zero
	if s.can.Annotator != nil {
		// What cannot be read of annotations is said where they are shown.
		_ = s.can.Annotator.Annotations(context.Background(), r.number, math.MinInt64, func(m *parser.Annotation) bool {
			r.zero = m.Time
			return false
		})
	}
}

// describeRun fills in what belongs to a run as the log knows it now.
func (s *Session) describeRun(r *sessionRun) {
	r.spaces, r.clock = s.log.Spaces(r.number), s.log.Clock(r.number)
	m := s.log.Modules(r.number)
	if m == nil {
		m = modules.NewMap(nil)
	}
	if m == r.modules {
		return
	}
	r.modules = m
	r.names = make([]string, m.Len())
	for k := range r.names {
		r.names[k] = m.At(k).Name()
	}
	r.plain = symbols.NewResolver(m, nil, s.log.Truncated())
}

// ErrNoRun says that a log has no run of that number.
var ErrNoRun = message.New("there is no such run")

// parseRun turns the user's word for a run into a range of runs.
func parseRun(run string, n int) (first, last int, err error) {
	switch run {
	case "":
		return max(n-1, 0), n, nil
	case "all":
		return 0, n, nil
	}
	var k int
	if _, err := fmt.Sscanf(run, "%d", &k); err != nil || fmt.Sprint(k) != run || k < 1 || k > n {
		return 0, 0, &InputError{OtherInput, "run " + run, message.Wrap(ErrNoRun, "there is no such run; the log has %d", n)}
	}
	return k - 1, k, nil
}

// acquire takes the token for pairing and naming.
func (s *Session) acquire(ctx context.Context) error {
	select {
	case s.work <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		<-s.work
		return ErrClosed
	}
	return nil
}

func (s *Session) release() { <-s.work }

// Load pairs the records, finds the symbols and names the addresses. Rows
// change in place as it goes. Cancelled, it leaves what is done, and a later
// Load goes on.
func (s *Session) Load(ctx context.Context, p Progress) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	return s.load(ctx, p)
}

// load is Load for a caller that holds the token.
func (s *Session) load(ctx context.Context, p Progress) error {
	s.mu.Lock()
	loaded := s.loaded
	s.mu.Unlock()
	if loaded {
		return nil
	}
	if !s.table.Done() {
		s.keepIndex()
		if err := s.table.Build(ctx, nil, p.of(StagePair)); err != nil {
			return err
		}
	}
	if err := s.name(ctx, p); err != nil {
		return err
	}
	s.indexKept()
	if s.preview != nil && s.can.CallEnder == nil {
		// Where pairs depend on names, other calls may be open now.
		return s.findEnds(ctx)
	}
	return nil
}

// SetSymbols takes over those of the inputs that say where symbols are and
// which of them count, and names everything again, without reading the log
// again except where its pairs depend on names.
func (s *Session) SetSymbols(ctx context.Context, in Inputs, p Progress) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	s.mu.Lock()
	s.in.takeSymbols(in)
	s.loaded = false
	s.mu.Unlock()
	return s.load(ctx, p)
}

// Inputs returns what the session was opened with, with the files found.
func (s *Session) Inputs() Inputs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in
}

// Fetching returns the URL of what is being fetched from a symbol server, ""
// for nothing.
func (s *Session) Fetching() string {
	if u := s.fetching.Load(); u != nil {
		return *u
	}
	return ""
}

// OwnModules reports whether the log itself tells its modules: no modules file
// is read then.
func (s *Session) OwnModules() bool { return s.ownModules }

// Info describes the log. It must not be changed.
func (s *Session) Info() *parser.Info { return s.log.Info() }

// Run returns the index of the chosen run in Info().Runs; all is true if all
// of them are chosen.
func (s *Session) Run() (chosen int, all bool) {
	return max(s.chosen, 0), s.chosen < 0
}

// ShownRuns returns how many runs are shown, from the chosen one on. It is more
// than one if all are chosen, and where the program was started again while the
// log was followed.
func (s *Session) ShownRuns() int { return len(s.runs()) }

// Partner returns the row of the other half of row i's pair.
func (s *Session) Partner(i int64) (int64, bool) {
	r := s.table.At(i)
	return r.Partner, r.Partner != calls.NoPartner
}

// Rows returns the rows of the chosen runs. The source stays valid and
// current until Close.
func (s *Session) Rows() rows.Source { return s.rows }

// Damaged reports whether anything of the log could not be read as it should.
func (s *Session) Damaged() bool {
	info := s.log.Info()
	return len(s.KeptDamage()) > 0 || len(info.Damage) > 0 || info.DamageBytes > 0 || s.table.Count(calls.Damaged) > 0
}

// Close frees the log and the symbol files. Work that is under way ends
// first; cancel it to close soon.
func (s *Session) Close() error {
	s.work <- struct{}{}
	defer s.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.looking == nil {
		closeTables(s.bindings)
	} else {
		go func(looked chan struct{}, bindings [][]symbols.Binding) {
			<-looked
			closeTables(bindings)
		}(s.looking, s.bindings)
	}
	s.closeKept()
	err := s.log.Close()
	s.in.packed.close()
	return err
}
