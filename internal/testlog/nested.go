package testlog

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// NestedNames are the functions of a [Nested], each of which calls the next.
var NestedNames = []string{"main", "app::run", "app::Window::paint", "app::Shape::area<int>", "std::sort", "app::Shape::area", "util::clamp"}

// Addresses of a [Nested].
const (
	nestedBase    = 0x140000000
	nestedCaller  = 0x2000 // the function that its calls are made from
	nestedSpacing = 0x40   // between two functions
)

// ErrBroken is an error that says nothing of itself.
var ErrBroken = message.New("broken")

// A Nested is a log of any length that needs no memory: an event is computed from
// its number. Threads 1000 and 1001 take turns. At each turn seven functions are
// entered, one in the other, and left again; that is 14 events, one each millisecond.
//
// It is opened by its [Nested.Format], whatever the file. Fields are set before that.
type Nested struct {
	Records int64
	// Runs are the numbers of records of the runs before the last.
	Runs []int64
	// DamageBytes is how much of the file is said to be damaged.
	DamageBytes int64
	// NoTime is what is said of the time of day.
	NoTime message.Text
	// Modules are what the log tells; nil is the one that WriteSymbols names.
	Modules []modules.Module
	// ModulesFile says that modules are expected in a file of their own.
	ModulesFile bool
	// Annotations, if not nil, make it a log that can have annotations.
	Annotations []parser.Annotation
	// Overhead is what recording cost, nil where the log does not say.
	Overhead *parser.Overhead

	// Opening, if not nil, holds opening back until it is closed.
	Opening chan struct{}

	mu             sync.Mutex
	openErr, check error
	reading        func(from int64, n int) error
	opened, closed int
	growth         []NestedGrowth
}

// A NestedGrowth is what a log that is followed has more.
type NestedGrowth struct {
	Records     int64
	Annotations []parser.Annotation
	// NewRun says that the records are another run.
	NewRun, Replaced, Ended bool
	// Err is what taking it in gives.
	Err error
}

// FailOpening makes opening fail with an error; nil ends that.
func (l *Nested) FailOpening(err error) { l.set(func() { l.openErr = err }) }

// SetCheck says what is wrong with the log's file; see [parser.Checker].
func (l *Nested) SetCheck(err error) { l.set(func() { l.check = err }) }

// OnRead makes f be called before records are read, which holds reading back, and
// fails if f returns an error; nil ends that.
func (l *Nested) OnRead(f func(from int64, n int) error) { l.set(func() { l.reading = f }) }

// Slow makes reading more than one record slow.
func (l *Nested) Slow() {
	l.OnRead(func(_ int64, n int) error {
		if n > 1 {
			time.Sleep(20 * time.Millisecond)
		}
		return nil
	})
}

// Hold holds the reading of more than one record back until release is called.
func (l *Nested) Hold() (release func()) {
	held := make(chan struct{})
	l.OnRead(func(_ int64, n int) error {
		if n > 1 {
			<-held
		}
		return nil
	})
	return sync.OnceFunc(func() { l.OnRead(nil); close(held) })
}

// Grow lets the log grow.
func (l *Nested) Grow(g NestedGrowth) { l.set(func() { l.growth = append(l.growth, g) }) }

// Opened returns how often the log was opened.
func (l *Nested) Opened() (n int) { l.set(func() { n = l.opened }); return n }

// Closed returns how often it was closed.
func (l *Nested) Closed() (n int) { l.set(func() { n = l.closed }); return n }

func (l *Nested) set(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// Format returns a format that takes every file for the log.
func (l *Nested) Format() parser.Format {
	return parser.Format{Name: "nested", NeedsModulesFile: l.ModulesFile,
		Detect: func([]byte, int64) int { return 100 },
		Open: func(ctx context.Context, _ string, _ parser.Options, p parser.Progress) (parser.Log, error) {
			if p != nil {
				p(0, 100)
			}
			if l.Opening != nil {
				select {
				case <-l.Opening:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			return l.open()
		}}
}

func (l *Nested) open() (parser.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.openErr != nil {
		return nil, l.openErr
	}
	l.opened++
	list := l.Modules
	if list == nil {
		list = []modules.Module{NestedModule()}
	}
	o := &nested{l: l, modules: modules.NewMap(list), annotations: l.Annotations}
	first := int64(0)
	for _, n := range append(slices.Clone(l.Runs), l.Records) {
		if n > 0 {
			o.info.Runs = append(o.info.Runs, parser.Run{First: first, Count: n, HasModules: true})
		}
		first += n
	}
	o.info.NoTime = l.NoTime
	o.info.Format, o.info.RecordSize, o.info.Records, o.info.DamageBytes = "nested", 24, first, l.DamageBytes
	for range l.growth {
		o.grow()
	}
	if l.Annotations != nil {
		return annotated{o}, nil
	}
	return o, nil
}

// NestedModule is the module of a Nested.
func NestedModule() modules.Module {
	m := modules.Module{Base: nestedBase, Size: 0x20000, Path: `C:\sample\sample.exe`, PointerSize: 8, Unloaded: modules.Always}
	m.Identity.Age = 1
	for i := range m.Identity.PDB {
		m.Identity.PDB[i] = 0x11
	}
	return m
}

// WriteSymbols writes the symbol file of [NestedModule] into a folder. Function f of
// [NestedNames] is in line 10 + 7 f of /src/sample/app.cpp.
func WriteSymbols(folder string) error {
	text := "MODULE windows x86_64 " + strings.Repeat("1", 33) + " sample.pdb\nFILE 0 /src/sample/app.cpp\nFILE 1 /src/sample/caller.cpp\n"
	function := func(rva, file, line int, name string) {
		text += fmt.Sprintf("FUNC %[1]x 40 0 %[2]s\n%[1]x 40 %[3]d %[4]d\n", rva, name, line, file)
	}
	for i, name := range NestedNames {
		function(0x1000+i*nestedSpacing, 0, 10+7*i, name)
	}
	function(nestedCaller, 1, 20, "app::caller")
	return os.WriteFile(filepath.Join(folder, "sample.sym"), []byte(text), 0o666)
}

// nested is a Nested that was opened.
type nested struct {
	l           *Nested
	modules     *modules.Map
	mu          sync.Mutex
	info        parser.Info
	taken       int // how much of the growth
	annotations []parser.Annotation
}

// annotated is one that can have annotations.
type annotated struct{ *nested }

// Info implements [parser.Log].
func (o *nested) Info() *parser.Info {
	o.mu.Lock()
	defer o.mu.Unlock()
	info := o.info
	return &info
}

// ReadEvents implements [parser.Log].
func (o *nested) ReadEvents(dst []parser.Event, from int64) (int, error) {
	var reading func(from int64, n int) error
	o.l.set(func() { reading = o.l.reading })
	if reading != nil {
		if err := reading(from, len(dst)); err != nil {
			return 0, err
		}
	}
	n := int(min(int64(len(dst)), max(o.Info().Records-from, 0)))
	depth, turn := from%14, uint32(from/14%2)
	for i := range dst[:n] {
		e := parser.Event{Time: (from + int64(i)) * 1e6, Thread: 1000 + turn, Address: nestedBase + 0x1000 + nestedSpacing*uint64(depth)}
		if depth > 6 {
			e.Kind, e.Address = parser.Leave, nestedBase+0x1000+nestedSpacing*uint64(13-depth)
		}
		if depth++; depth == 14 {
			depth, turn = 0, 1-turn
		}
		dst[i] = e
	}
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// Modules implements [parser.Log].
func (o *nested) Modules(int) *modules.Map { return o.modules }

// Clock implements [parser.Log].
func (o *nested) Clock(int) timeparse.Clock {
	return timeparse.Clock{Start: time.Date(2013, 5, 4, 10, 0, 0, 0, time.UTC), HasWall: true, Resolution: 1e6}
}

// Spaces implements [parser.Log].
func (o *nested) Spaces(int) []parser.Space { return []parser.Space{{Kind: parser.EntryAddress}} }

// ExactLeaves implements [parser.Log].
func (o *nested) ExactLeaves() bool { return true }

// Truncated implements [parser.Log].
func (o *nested) Truncated() bool { return false }

// Thread implements [parser.Log].
func (o *nested) Thread(key uint32) parser.Thread { return parser.Thread{ID: key} }

// Capabilities implements [parser.Log].
func (o *nested) Capabilities() parser.Capabilities {
	return parser.Capabilities{Grower: o, Checker: o, OverheadTeller: o, CallSiter: o}
}

// Close implements [parser.Log].
func (o *nested) Close() error {
	o.l.set(func() { o.l.closed++ })
	return nil
}

// Check implements [parser.Checker].
func (o *nested) Check() (err error) {
	o.l.set(func() { err = o.l.check })
	return err
}

// Overhead implements [parser.OverheadTeller].
func (o *nested) Overhead(int) (parser.Overhead, bool) {
	if o.l.Overhead == nil {
		return parser.Overhead{}, false
	}
	return *o.l.Overhead, true
}

// HasCallSites implements [parser.CallSiter].
func (o *nested) HasCallSites() bool { return true }

// CallSites implements [parser.CallSiter]: calls whose number is divisible by 10 have one.
func (o *nested) CallSites(dst []parser.CallSite, from int64) (int, error) {
	for i := range dst {
		record := from + int64(i)
		dst[i] = parser.CallSite{Address: nestedBase + nestedCaller + 5, Known: record%10 == 0 && record%14 < 7}
	}
	return len(dst), nil
}

// Grow implements [parser.Grower].
func (o *nested) Grow(ctx context.Context) (parser.Growth, error) {
	o.l.mu.Lock()
	defer o.l.mu.Unlock()
	if o.taken == len(o.l.growth) {
		return parser.Growth{}, ctx.Err()
	}
	return o.grow()
}

// grow takes in the next growth, for who holds the lock of l.
func (o *nested) grow() (parser.Growth, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	g := &o.l.growth[o.taken]
	o.taken++
	runs := slices.Clone(o.info.Runs)
	if g.NewRun || len(runs) == 0 {
		runs = append(runs, parser.Run{First: o.info.Records, HasModules: true})
	}
	runs[len(runs)-1].Count += g.Records
	o.info.Runs, o.info.Records = runs, o.info.Records+g.Records
	o.annotations = append(o.annotations[:len(o.annotations):len(o.annotations)], g.Annotations...)
	return parser.Growth{Records: g.Records, Annotations: len(g.Annotations) > 0, Replaced: g.Replaced, Ended: g.Ended}, g.Err
}

// Capabilities implements [parser.Log].
func (a annotated) Capabilities() parser.Capabilities {
	can := a.nested.Capabilities()
	can.Annotator = a
	return can
}

// AnnotationCount implements [parser.Annotator].
func (a annotated) AnnotationCount(int) (texts, counters int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.annotations {
		if a.annotations[i].Kind == parser.TextAnnotation {
			texts++
		} else {
			counters++
		}
	}
	return texts, counters
}

// Annotations implements [parser.Annotator].
func (a annotated) Annotations(ctx context.Context, _ int, from int64, yield func(m *parser.Annotation) bool) error {
	a.mu.Lock()
	list := a.annotations
	a.mu.Unlock()
	for i := range list {
		if m := list[i]; m.Time >= from && !yield(&m) {
			break
		}
	}
	return ctx.Err()
}
