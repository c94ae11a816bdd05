// Package fake is an engine without files, for tests of the window: a log of
// any length whose work goes on only as far as the test lets it.
package fake

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"logparser/app"
	"logparser/message"
	"logparser/rows"
	"logparser/ui/control"
)

// An Engine opens sessions of Rows rows. Fields are set before use.
type Engine struct {
	Rows    int64
	OpenErr error
	LoadErr error
	SaveErr error
	// Parts is into how many files is saved; 0 is as 1.
	Parts int
	// Opening, Loading, Searching, Filtering and Saving, if not nil, hold the
	// work back until they are closed or the work is cancelled. Filtering does
	// so after the first rows.
	Opening, Loading, Searching, Filtering, Saving chan struct{}
	// Analysing holds statistics and call trees back in the same way, and
	// AnalyseErr is what comes of them.
	Analysing  chan struct{}
	AnalyseErr error
	// Spans, if not nil, is received from twice by whoever reads a timeline.
	Spans chan struct{}
	// TimelineRuns are where several runs lie on a timeline.
	TimelineRuns []app.TimelineRun
	// Facts are added to what a session says of itself.
	Facts control.Facts
	// Modules are what a session has; nil gives one.
	Modules []app.ModuleState
	// Marks are what the program wrote itself; with nil the log can have none.
	Annotations []rows.Annotation
	// Growing brings what a session that is followed has more; when it is
	// closed following ends, with FollowErr.
	Growing   chan app.Update
	FollowErr error
	// Fetch is the URL of what a session fetches while it loads.
	Fetch string

	mu     sync.Mutex
	Opened []app.Inputs
	Closed int
	limit  string // of the timeline
	file   atomic.Int64
}

// SetFile says what becomes of the log's file.
func (e *Engine) SetFile(c app.FileChange) { e.file.Store(int64(c)) }

func wait(ctx context.Context, gate chan struct{}) error {
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// Open implements [control.Engine].
func (e *Engine) Open(ctx context.Context, in app.Inputs, p app.Progress) (control.Session, error) {
	e.mu.Lock()
	e.Opened = append(e.Opened, in)
	e.mu.Unlock()
	p(app.StageOpen, 0, 100)
	if err := wait(ctx, e.Opening); err != nil {
		return nil, err
	}
	if e.OpenErr != nil {
		return nil, e.OpenErr
	}
	if in.Modules == "" {
		in.Modules = strings.TrimSuffix(in.Log, ".dat") + ".bin"
	}
	return &Session{engine: e, in: in}, nil
}

// Search implements [control.Engine] by the function's name.
func (e *Engine) Search(ctx context.Context, src rows.Source, from int64, q app.Query, p app.Progress) (int64, error) {
	p(app.StageSearch, 0, src.Len())
	if err := wait(ctx, e.Searching); err != nil {
		return -1, err
	}
	step := int64(1)
	if q.Backward {
		step = -1
	}
	for i := from; i >= 0 && i < src.Len() && i-from < 5000 && from-i < 5000; i += step {
		r := src.Row(i)
		if strings.Contains(strings.ToLower(r.Function), strings.ToLower(q.Text)) {
			return i, nil
		}
	}
	return -1, nil
}

// OpenedInputs returns the inputs of every Open so far.
func (e *Engine) OpenedInputs() []app.Inputs {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]app.Inputs(nil), e.Opened...)
}

// ClosedCount returns how many sessions were closed.
func (e *Engine) ClosedCount() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.Closed
}

// A Session is a log of enters and leaves that nest to a depth of seven.
type Session struct {
	engine *Engine
	mu     sync.Mutex
	in     app.Inputs
	named  bool
	loads  int
	more   atomic.Int64 // rows that came while it was followed
}

// Load implements [control.Session].
func (s *Session) Load(ctx context.Context, p app.Progress) error {
	p(app.StagePair, 0, s.engine.Rows)
	if s.engine.Fetch != "" {
		p(app.StageFetch, 3<<20, 12<<20)
	}
	if err := wait(ctx, s.engine.Loading); err != nil {
		return err
	}
	if s.engine.LoadErr != nil {
		return s.engine.LoadErr
	}
	s.mu.Lock()
	s.named = true
	s.loads++
	s.mu.Unlock()
	return nil
}

// SetSymbols implements [control.Session].
func (s *Session) SetSymbols(ctx context.Context, in app.Inputs, p app.Progress) error {
	s.mu.Lock()
	s.in.Symbols, s.in.NoRecordedPaths, s.in.LoadMismatched, s.in.Network, s.in.SymbolCache =
		in.Symbols, in.NoRecordedPaths, in.LoadMismatched, in.Network, in.SymbolCache
	s.named = false
	s.mu.Unlock()
	return s.Load(ctx, p)
}

// Fetching implements [control.Session].
func (s *Session) Fetching() string { return s.engine.Fetch }

// Inputs implements [control.Session].
func (s *Session) Inputs() app.Inputs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.in
}

// Facts implements [control.Session].
func (s *Session) Facts() control.Facts {
	f := s.engine.Facts
	f.Format, f.RecordSize, f.Records = "classic", 24, s.engine.Rows
	annotations := s.engine.annotations()
	f.Marked, f.Marks = annotations != nil, int64(len(annotations))
	if f.Runs == nil {
		f.Runs = []control.Run{{Records: f.Records, HasModules: true}}
	}
	return f
}

// Modules implements [control.Session].
func (s *Session) Modules() []app.ModuleState {
	s.mu.Lock()
	named := s.named
	s.mu.Unlock()
	list := s.engine.Modules
	if list == nil {
		list = []app.ModuleState{{Name: "sample.exe", Path: `C:\sample\sample.exe`, Base: 0x140000000, Size: 0x20000,
			Identity: "pdb:0123ABCD-4567-89AB-CDEF-0123456789AB:1", Status: "matched",
			SymbolFile: "/sample/sample.pdb", Reason: message.Text{Pattern: "GUID and age are equal"}, Records: s.engine.Rows}}
	}
	list = append([]app.ModuleState(nil), list...)
	for i := range list {
		if !named {
			list[i].Status, list[i].SymbolFile, list[i].Reason = "pending", "", message.Text{}
		}
	}
	return list
}

// Threads implements [control.Session].
func (s *Session) Threads() []app.Thread {
	return []app.Thread{{ID: 1000, Rows: s.engine.Rows / 2}, {ID: 1001, Rows: s.engine.Rows - s.engine.Rows/2}}
}

// Rows implements [control.Session].
func (s *Session) Rows() rows.Source { return &source{s: s, n: s.engine.Rows} }

// Partner implements [control.Session].
func (s *Session) Partner(i int64) (int64, bool) {
	p := i/14*14 + 13 - i%14
	return p, p < s.engine.Rows
}

// Follow implements [control.Session].
func (s *Session) Follow(ctx context.Context, changed func(app.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case u, ok := <-s.engine.Growing:
			if !ok {
				return s.engine.FollowErr
			}
			u.Rows = s.engine.Rows + s.more.Add(u.New)
			changed(u)
		}
	}
}

// CheckLog implements [control.Session].
func (s *Session) CheckLog() app.FileChange { return app.FileChange(s.engine.file.Load()) }

// Close implements [control.Session].
func (s *Session) Close() error {
	s.engine.mu.Lock()
	defer s.engine.mu.Unlock()
	s.engine.Closed++
	return nil
}

type source struct {
	s *Session
	n int64
}

func (s *source) Len() int64 { return s.n + s.s.more.Load() }

func (s *source) TimeDigits() int { return 3 }

var names = []string{"main", "app::run", "app::Window::paint", "app::Shape::area<int>", "std::sort", "app::Shape::area", "util::clamp"}

func (s *source) Row(i int64) rows.Row {
	depth := int(i % 14)
	event := rows.Enter
	if depth > 6 {
		event, depth = rows.Leave, 13-depth
	}
	r := rows.Row{
		Index: i, Wall: time.Date(2013, 5, 4, 10, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Millisecond), HasWall: true,
		Elapsed: i * 1e6, Thread: 1000 + uint32(i%2), Event: event, Depth: depth, Duration: int64(13-2*depth) * 1e6,
		Module: "sample.exe", Address: 0x140001000 + uint64(depth)*0x40, Symbols: "pending",
		Function: fmt.Sprintf("sample.exe+0x%x", 0x1000+depth*0x40),
	}
	s.s.mu.Lock()
	named := s.s.named
	s.s.mu.Unlock()
	if named {
		r.Function, r.Symbols, r.Source, r.Line = names[depth], "matched", "/src/sample/app.cpp", 10+depth*7
	}
	return r
}

func (s *source) Read(dst []rows.Row, from int64) (int, error) {
	for k := range dst {
		if from+int64(k) >= s.Len() {
			return k, io.EOF
		}
		dst[k] = s.Row(from + int64(k))
	}
	return len(dst), nil
}

// ErrBroken is an error that says nothing of itself.
var ErrBroken = message.New("broken")
