package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/internal/testlog/classictest"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/symbols"
)

// A rowEnv is a [filter.Env] made of the rows alone.
type rowEnv struct {
	rows []rows.Row
	// filled are the rows with all that can be filled in.
	filled  []rows.Row
	threads map[uint32]string
	partner []int64
	calls   [][]int64 // enter rows
	self    []int64
	// callers has the enter row of each enter's caller.
	callers map[int64]int64
	// running has how long calls last that are open at the end of their run, by their
	// enters, and what of that is their own.
	running, runningSelf map[int64]int64
}

func newRowEnv(t *testing.T, s *Session) *rowEnv {
	t.Helper()
	n := s.Rows().Len()
	e := &rowEnv{rows: make([]rows.Row, n), threads: map[uint32]string{}, callers: map[int64]int64{},
		running: map[int64]int64{}, runningSelf: map[int64]int64{}}
	if got, err := s.Rows().Read(e.rows, 0); int64(got) != n {
		t.Fatalf("%d of %d rows: %v", got, n, err)
	}
	for _, th := range s.Threads() {
		e.threads[th.ID] = th.Name
	}
	var begins []int64
	at := int64(0)
	for _, r := range s.runs() {
		begins = append(begins, at)
		at += r.Count
	}
	children := e.findCallers(s, begins)
	e.findRunning(s, begins, children)
	e.fill(t, s)
	return e
}

// findCallers finds the callers of all calls, their self times, and how long what each call made took.
func (e *rowEnv) findCallers(s *Session, begins []int64) (children map[int64]int64) {
	stacks := map[uint32][]int64{}
	children = map[int64]int64{}
	for i := range e.rows {
		r := &e.rows[i]
		partner, ok := s.Partner(r.Index)
		if !ok {
			partner = -1
		}
		e.partner = append(e.partner, partner)
		e.calls = append(e.calls, nil)
		if slices.Contains(begins, r.Index) {
			clear(stacks)
		}
		stack := stacks[r.Thread]
		above := func(depth int) {
			for len(stack) > 0 && e.rows[stack[len(stack)-1]].Depth >= depth {
				stack = stack[:len(stack)-1]
			}
		}
		switch {
		case r.Event == rows.Unknown:
			continue
		case r.Event == rows.Enter:
			above(r.Depth)
			if len(stack) > 0 {
				e.callers[r.Index] = stack[len(stack)-1]
			}
			stack = append(stack, r.Index)
			e.calls[i] = slices.Clone(stack)
		case strings.HasPrefix(r.Note, "stray"):
		default:
			above(r.Depth + 1)
			if partner < 0 {
				above(r.Depth)
			}
			e.calls[i] = slices.Clone(stack)
			above(r.Depth)
			if caller, ok := e.callers[partner]; ok {
				children[caller] += r.Duration
			}
		}
		stacks[r.Thread] = stack
	}
	for i := range e.rows {
		self := int64(-1)
		if r := &e.rows[i]; r.Duration >= 0 {
			enter := r.Index
			if r.Event == rows.Leave {
				enter = e.partner[i]
			}
			self = max(r.Duration-children[enter], 0)
		}
		e.self = append(e.self, self)
	}
	return children
}

// findRunning finds how long the calls last that are open at the end of their run.
func (e *rowEnv) findRunning(s *Session, begins []int64, children map[int64]int64) {
	last := int64(0)
	events := map[uint32]int64{} // of each thread after the row, in its run
	for i, r := range slices.Backward(e.rows) {
		if slices.Contains(begins, r.Index+1) || i == len(e.rows)-1 {
			last = math.MinInt64
			clear(events)
		}
		if r.Event != rows.Unknown && last == math.MinInt64 {
			last = r.Elapsed
		}
		if r.Event == rows.Enter && strings.HasPrefix(r.Note, "open") {
			lasts := []int64{max(last-r.Elapsed, 0)}
			if correct := s.correcting(); correct != nil {
				correct(r.Index, lasts, []int64{events[r.Thread]})
			}
			e.running[r.Index] = lasts[0]
		}
		if r.Event != rows.Unknown {
			events[r.Thread]++
		}
	}
	for enter, d := range e.running {
		self := d - children[enter]
		for other, caller := range e.callers {
			if caller == enter {
				self -= e.running[other]
			}
		}
		e.runningSelf[enter] = max(self, 0)
	}
}

// fill fills in what most rows do without.
func (e *rowEnv) fill(t *testing.T, s *Session) {
	t.Helper()
	_, late := s.Ways()
	for i, r := range e.rows {
		r.Filled, r.Self, r.SelfAbout = rows.SelfTimes|rows.CallSites|rows.ThreadNames, e.self[i], late
		if self, ok := e.runningSelf[r.Index]; ok && r.Duration != rows.NoDuration {
			r.Self = self
		}
		if r.Event != rows.Unknown {
			r.ThreadName = e.threads[r.Thread]
		}
		site, ok, err := s.CallSite(context.Background(), r.Index)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			r.Site = &site
		}
		e.filled = append(e.filled, r)
	}
}

func (e *rowEnv) ThreadName(r *rows.Row) string { return e.threads[r.Thread] }
func (e *rowEnv) Self(row int64) (int64, bool)  { return e.self[row], e.self[row] >= 0 }
func (e *rowEnv) Calls(row int64) (list []rows.Row) {
	for _, c := range e.calls[row] {
		list = append(list, e.rows[c])
	}
	return list
}

func (e *rowEnv) Enter(row int64) int64 {
	if row >= 0 && row < int64(len(e.rows)) && e.rows[row].Event == rows.Leave && e.partner[row] >= 0 {
		return e.partner[row]
	}
	return row
}

// textTerm makes a term of a column that has to do with a text.
func textTerm(r *rand.Rand, column, value string) string {
	quote := func(text string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	part := func(text string) string {
		if len(text) < 2 {
			return text
		}
		from := r.IntN(len(text))
		return text[from : from+1+r.IntN(min(len(text)-from, 6))]
	}
	switch r.IntN(4) {
	case 0:
		return column + ":=" + quote(value)
	case 1:
		return column + `:~"` + strings.Trim(part(strings.Map(func(r rune) rune {
			if strings.ContainsRune(`\"[](){}*+?^$|<>`, r) {
				return '.'
			}
			return r
		}, value)), `"`) + `|^$"`
	}
	return column + ":" + quote(strings.ToUpper(part(value)))
}

// expression makes a random expression that has to do with the rows.
func (e *rowEnv) expression(r *rand.Rand, depth int) string {
	if depth > 0 {
		a, b := e.expression(r, depth-1), e.expression(r, depth-1)
		switch r.IntN(6) {
		case 0:
			return a + " " + b
		case 1:
			return "(" + a + " or " + b + ")"
		case 2:
			return "-(" + a + ")"
		case 3:
			return "(" + a + " or not " + b + ")"
		}
		return a
	}
	row := &e.filled[r.IntN(len(e.rows))]
	other := &e.filled[r.IntN(len(e.rows))]
	column := filter.Columns()[r.IntN(len(filter.Columns()))]
	c, _ := filter.ColumnNamed(column)
	if r.IntN(3) == 0 {
		if of, ok := filter.Of(c, row); ok {
			return of.String()
		}
	}
	number := func(of func(r *rows.Row) int64, unit string) string {
		low, high := min(of(row), of(other)), max(of(row), of(other))
		return []string{
			fmt.Sprintf("%s:%d%s", column, low, unit), fmt.Sprintf("%s:=%d%s", column, low, unit), fmt.Sprintf("%s:>%d%s", column, low, unit),
			fmt.Sprintf("%s:<=%d%s", column, low, unit), fmt.Sprintf("%s:%d%s..%d%s", column, low, unit, high, unit),
		}[r.IntN(5)]
	}
	text := func(value string) string { return textTerm(r, column, value) }
	switch c {
	case filter.Text:
		return text([]string{row.Function, row.Module, row.Source, row.Note, fmt.Sprint(row.Thread), fmt.Sprintf("%#x", row.Address), "e", "op"}[r.IntN(8)])
	case filter.Func, filter.In:
		return text(row.Function)
	case filter.Module:
		return text(row.Module)
	case filter.Source:
		return text(row.Source)
	case filter.Symbols:
		return text(row.Symbols)
	case filter.Event:
		return text(row.Event.String())
	case filter.Mark:
		return text([]string{row.Note, "open", "no leave", "stray", "tail", "damaged", "; ", ""}[r.IntN(8)])
	case filter.Line:
		return number(func(r *rows.Row) int64 { return int64(r.Line) }, "")
	case filter.Depth:
		return number(func(r *rows.Row) int64 { return int64(r.Depth) }, "")
	case filter.Row:
		return number(func(r *rows.Row) int64 { return r.Index }, "")
	case filter.Call:
		return fmt.Sprintf("call:%d", row.Index)
	case filter.Thread:
		if name := e.threads[row.Thread]; name != "" && r.IntN(2) == 0 {
			return text(name)
		}
		return number(func(r *rows.Row) int64 { return int64(r.Thread) }, "")
	case filter.Address:
		return []string{text(fmt.Sprintf("%#x", row.Address)), fmt.Sprintf("address:%#x..%#x", min(row.Address, other.Address), max(row.Address, other.Address)), fmt.Sprintf("address:>%#x", row.Address)}[r.IntN(3)]
	case filter.Duration:
		return number(func(r *rows.Row) int64 { return max(r.Duration, 0) }, []string{"ns", "us", "ms"}[r.IntN(3)])
	case filter.Self:
		return number(func(r *rows.Row) int64 { return max(e.self[r.Index], 0) }, []string{"ns", "us", "ms"}[r.IntN(3)])
	case filter.Time:
	default:
		entry := c.Entry()
		if entry.Kind == rows.Number {
			return number(func(r *rows.Row) int64 { n, _ := entry.Int(r); return max(n, 0) }, "")
		}
		return text(string(entry.Append(nil, row, 3)))
	}
	switch r.IntN(4) {
	case 0:
		return number(func(r *rows.Row) int64 { return r.Elapsed }, "ns")
	case 1:
		return fmt.Sprintf("time:%s..%s", row.Wall.Format("15:04:05.000"), other.Wall.Format("15:04:05.000"))
	case 2:
		return fmt.Sprintf("time:%s", row.Wall.Format("15:04:05.00"))
	}
	return fmt.Sprintf("time:>=%s", row.Wall.Format("2006-01-02T15:04:05.000000000"))
}

// brokenLog writes a log of two runs with everything in it that can be wrong, n
// records in the second.
func brokenLog(t *testing.T, r *rand.Rand, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("tick 900000\nenter t1 0x400100\nleave t1 0x400104 +5\nenter t2 0x400200 +1\nrun 1000\nours\nstart 2026-11-21T23:59:59.456\n")
	b.WriteString("module 0x400000 0x1000 8 - - /nowhere/app\nmodule 0x500000 0x1000 8 - - /nowhere/lib.so\n")
	for range n {
		kind := []string{"enter", "leave"}[r.IntN(2)]
		address := []int{0x400000, 0x500000, 0x600000}[r.IntN(3)] + 0x100*(1+r.IntN(4))
		if kind == "leave" {
			address += 4 * r.IntN(2)
		}
		fmt.Fprintf(&b, "%s t%d %#x +%d\n", kind, 1+r.IntN(3), address, r.IntN(8))
	}
	dir := t.TempDir()
	if _, _, err := classictest.Write(dir, b.String()); err != nil {
		t.Fatal(err)
	}
	return dir
}

const threadedTrace = `file begin=1000 flags=2
chunk process
clock @1000 ns=1000 wall=1700000000000000000
thread @1000 stream=1 id=7 name="worker"
thread @1000 stream=2 id=8 name="render thread"
chunk events thread=7 base=1000
enter @1100 entry 0x400100
site 0x400123
enter @1200 entry 0x400200
leave @1300
site 0x400133
enter @1300 entry 0x400200
leave @1450
leave @1500
enter @1600 entry 0x400300
chunk events stream=2 thread=8 base=1000
enter @1150 entry 0x400200
enter @1250 entry 0x400100
leave @1350
leave @1650
`

// sampleLogs opens logs of all kinds, the longest of at most so many records. A short test, which
// the race detector may watch, has one of each kind.
func sampleLogs(t *testing.T, longest int, f func(t *testing.T, s *Session)) {
	lanes, broken := []string{"linux-gcc-O2", "windows-x64-clang", "windows-x86-clang"}, uint64(rounds(3))
	if testing.Short() {
		lanes, broken = lanes[:1], 1
	}
	for _, lane := range lanes {
		t.Run(lane, func(t *testing.T) { f(t, open(t, Inputs{Log: logtest(t, lane), NoRecordedPaths: true})) })
	}
	t.Run("sample", func(t *testing.T) { f(t, open(t, Inputs{Log: "../assets/sample", NoRecordedPaths: true})) })
	t.Run("trace", func(t *testing.T) { f(t, open(t, Inputs{Log: traceOf(t, t.TempDir(), threadedTrace)})) })
	for seed := range broken {
		t.Run(fmt.Sprint("broken ", seed), func(t *testing.T) {
			n := 300
			if seed == 0 {
				n = longest
			}
			dir := brokenLog(t, rand.New(rand.NewPCG(seed, 1)), n)
			damaged := record(0x400100, 1500, true)
			damaged[16] = 77
			for range 3 {
				appendTo(t, filepath.Join(dir, "LogDetails.dat"), damaged)
				appendTo(t, filepath.Join(dir, "LogDetails.dat"), record(0x400300, 1500, true))
			}
			f(t, open(t, Inputs{Log: dir, Run: "all", RecordSize: 24}))
		})
	}
}

// TestWhere holds the rows of views against the definition of the language.
func TestWhere(t *testing.T) {
	ctx := context.Background()
	sampleLogs(t, 3*index.BlockLen, func(t *testing.T, s *Session) {
		env := newRowEnv(t, s)
		r := rand.New(rand.NewPCG(1, uint64(len(env.rows))))
		times := 300
		if testing.Short() {
			times = 60
		}
		for range rounds(times) {
			text := env.expression(r, r.IntN(3))
			where, err := filter.Parse(text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var want []int64
			for i := range env.rows {
				if where.Matches(&env.filled[i], env) {
					want = append(want, int64(i))
				}
			}
			v, err := s.View(ctx, Selection{Where: text}, nil)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if err := v.Wait(ctx); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if v.Len() != int64(len(want)) || v.Hidden() != int64(len(env.rows)-len(want)) {
				t.Errorf("%s: %d rows and %d hidden, want %d of %d", text, v.Len(), v.Hidden(), len(want), len(env.rows))
			}
			got := make([]rows.Row, v.Len())
			if n, err := v.Read(got, 0); n != len(got) {
				t.Fatalf("%s: %d rows read: %v", text, n, err)
			}
			for i, row := range got {
				if i >= len(want) || row != env.rows[want[i]] {
					t.Errorf("%s: position %d is row %d; want rows %v", text, i, row.Index, want)
					for k := range env.rows {
						has := slices.ContainsFunc(got, func(r rows.Row) bool { return r.Index == int64(k) })
						if has != slices.Contains(want, int64(k)) {
							t.Fatalf("row %d: %+v in calls %v", k, env.rows[k], env.calls[k])
						}
					}
					break
				}
			}
			if t.Failed() {
				return
			}
		}
	})
}

// TestWhereCorrected compares durations as they are shown.
func TestWhereCorrected(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), measuredTrace), Corrected: true, NoRecordedPaths: true})
	for text, want := range map[string][]int64{"dur:>=247ns": nil, "dur:243ns": {0, 5}, "dur:47..50ns": {3, 4}, "-dur:>0": {1, 2}} {
		if got := indexes(t, viewOf(t, s, Selection{Where: text})); !slices.Equal(got, want) {
			t.Errorf("%s: rows %v, want %v", text, got, want)
		}
	}
}

func TestWhereErrors(t *testing.T) {
	s := open(t, Inputs{Log: logtest(t, "linux-gcc-O2"), NoRecordedPaths: true})
	_, err := s.View(context.Background(), Selection{Where: "func:x dur:5"}, nil)
	var wrong *filter.Error
	if !errors.As(err, &wrong) || wrong.Offset != 12 {
		t.Errorf("error %v", err)
	}
}

// TestStatusesAreKnown filters by every status that rows may have.
func TestStatusesAreKnown(t *testing.T) {
	for _, status := range []symbols.Status{symbols.Matched, symbols.Embedded, symbols.ExportsOnly, symbols.Mismatched,
		symbols.Unverified, symbols.NotFound, symbols.Pending} {
		if _, err := filter.Parse(fmt.Sprintf("symbols:=%q", status)); err != nil {
			t.Error(err)
		}
	}
}

// TestAnomaliesAreKnown filters by every mark that rows may have.
func TestAnomaliesAreKnown(t *testing.T) {
	for m := calls.Open; m <= calls.NoEnter; m++ {
		if _, err := filter.Parse(fmt.Sprintf("mark:%q", m)); err != nil {
			t.Error(err)
		}
	}
}
