// Package testlog makes logs for tests: in memory, random or from a text. Its
// folders have an oracle that says what is to be said of a log, and the writers of
// log files. Nothing but tests imports it.
package testlog

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"logparser/calls"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// A Memory is a log of one or more runs that lies in memory.
type Memory struct {
	Events []parser.Event
	Runs   []parser.Run
	Exact  bool
	// EndTime is what End says, if it is not 0, Ended the times at which threads ended.
	EndTime int64
	Ended   map[uint32][]int64
}

// End implements [parser.Ender].
func (l *Memory) End() (time int64, exact bool) { return l.EndTime, l.EndTime != 0 }

// ProcessEnd implements [parser.Ender].
func (l *Memory) ProcessEnd(uint32) (time int64, exact, ok bool) { return 0, false, false }

// ThreadEnd implements [parser.Ender].
func (l *Memory) ThreadEnd(thread uint32, from, to int64) (time int64, ok bool) {
	for _, at := range l.Ended[thread] {
		if at >= from && at <= to && (!ok || at > time) {
			time, ok = at, true
		}
	}
	return time, ok
}

func (l *Memory) Info() *parser.Info {
	return &parser.Info{Records: int64(len(l.Events)), Runs: l.Runs}
}

// ReadEvents implements [parser.Log].
func (l *Memory) ReadEvents(dst []parser.Event, from int64) (int, error) {
	n := copy(dst, l.Events[min(from, int64(len(l.Events))):])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

func (l *Memory) Modules(int) *modules.Map  { return modules.NewMap(nil) }
func (l *Memory) Clock(int) timeparse.Clock { return timeparse.Clock{} }
func (l *Memory) Spaces(int) []parser.Space { return make([]parser.Space, 1<<16) }
func (l *Memory) ExactLeaves() bool         { return l.Exact }
func (l *Memory) Truncated() bool           { return false }

// Thread implements [parser.Log].
func (l *Memory) Thread(key uint32) parser.Thread { return parser.Thread{ID: key} }

// Capabilities implements [parser.Log].
func (l *Memory) Capabilities() parser.Capabilities { return parser.Capabilities{Ender: l} }

func (l *Memory) Close() error { return nil }

// A Program makes sequences of events: threads that call and return as
// programs do, and how often what can go wrong does, in percent.
type Program struct {
	Rand                                    *rand.Rand
	Threads, Functions, Enters              int
	Stray, Damage, Unwind, Backward, Repeat int
	Foreign                                 bool
}

func (g *Program) chance(percent int) bool { return g.Rand.IntN(100) < percent }

// Events makes about n events.
func (g *Program) Events(n int) []parser.Event {
	stacks := make([][]int, g.Threads)
	var list []parser.Event
	now := g.Rand.Int64N(1 << 40)
	th := 0
	add := func(thread int, kind parser.Kind, f int) {
		a := 0x1005 + 256*uint64(f)
		if kind == parser.Leave && g.Foreign {
			a += 4
		}
		if now += g.Rand.Int64N(3) * 1e6; g.chance(g.Backward) {
			now -= 5e6
		}
		list = append(list, parser.Event{Address: a, Time: now, Thread: 100 + uint32(thread), Kind: kind})
	}
	for len(list) < n {
		if g.chance(30) {
			th = g.Rand.IntN(g.Threads)
		}
		s := stacks[th]
		switch f := g.Rand.IntN(g.Functions); {
		case g.chance(g.Damage):
			add(g.Rand.IntN(2*g.Threads), parser.Damaged, f)
			if g.chance(30) {
				list[len(list)-1].Time = g.Rand.Int64N(1 << 50)
			}
		case g.chance(g.Stray):
			add(th, parser.Leave, g.Functions+f)
		case g.chance(g.Repeat):
			shape := g.shape(3)
			for range 1 + g.Rand.IntN(6) {
				for _, e := range shape {
					add(th, e.Kind, int(e.Address))
				}
			}
		case len(s) == 0 || len(s) < 12 && g.chance(g.Enters):
			add(th, parser.Enter, f)
			stacks[th] = append(s, f)
		case g.chance(g.Unwind):
			stacks[th] = s[:g.Rand.IntN(len(s))]
		default:
			add(th, parser.Leave, s[len(s)-1])
			stacks[th] = s[:len(s)-1]
		}
	}
	return list
}

// shape makes a few sibling calls with their calls; addresses are functions.
func (g *Program) shape(depth int) []parser.Event {
	var list []parser.Event
	for range 1 + g.Rand.IntN(3) {
		f := uint64(g.Rand.IntN(g.Functions))
		list = append(list, parser.Event{Address: f, Kind: parser.Enter})
		if depth > 0 && g.chance(50) {
			body := g.shape(depth - 1)
			for range 1 + g.Rand.IntN(3) {
				list = append(list, body...)
			}
		}
		list = append(list, parser.Event{Address: f, Kind: parser.Leave})
	}
	return list
}

// Random makes a log of about n events, well-formed or broken in all ways,
// in one or several runs.
func Random(r *rand.Rand, n int) *Memory {
	g := &Program{Rand: r, Threads: 1 + r.IntN(4), Functions: 2 + r.IntN(8), Enters: 40 + r.IntN(20), Repeat: r.IntN(6)}
	log := &Memory{Exact: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		g.Stray, g.Damage, g.Unwind, g.Backward = r.IntN(4), r.IntN(4), r.IntN(4), r.IntN(10)
		g.Foreign = !log.Exact && r.IntN(3) == 0
	}
	log.Events = g.Events(n)
	first := 0
	for first < len(log.Events) {
		count := len(log.Events) - first
		if r.IntN(3) == 0 {
			count = 1 + r.IntN(count)
		}
		log.Runs = append(log.Runs, parser.Run{First: int64(first), Count: int64(count)})
		first += count
	}
	if len(log.Runs) == 1 && r.IntN(2) == 0 {
		last := log.Events[len(log.Events)-1].Time
		log.EndTime = last + r.Int64N(1e9)
		log.Ended = map[uint32][]int64{100: {last + r.Int64N(1e9)}}
	}
	return log
}

// A Broken is a log in memory in which events may be missing, and whose threads may have
// several stacks.
type Broken struct {
	Memory
	Open map[int64][]parser.OpenCall
	// Outer is how many calls around those of Open are not known.
	Outer map[int64]int
}

// CoroutineIDs is where the ids of coroutines begin: 1,000,000 + 1,000 times the stack + the
// thread.
const CoroutineIDs = 1_000_000

// Thread implements [parser.Log].
func (l *Broken) Thread(key uint32) parser.Thread {
	thread, stack := l.Strand(key)
	return parser.Thread{ID: thread, Stack: stack}
}

// Capabilities implements [parser.Log].
func (l *Broken) Capabilities() parser.Capabilities {
	return parser.Capabilities{Ender: l, Resumer: l, Stacker: l}
}

// HasStacks implements [parser.Stacker].
func (l *Broken) HasStacks() bool { return true }

// Strand implements [parser.Stacker].
func (l *Broken) Strand(id uint32) (thread, stack uint32) {
	if id < CoroutineIDs {
		return id, 0
	}
	return (id - CoroutineIDs) % 1000, (id - CoroutineIDs) / 1000
}

// StackOf returns what tells the stack of an event from others.
func StackOf(log parser.Log, e *parser.Event) uint32 {
	if l := log.Capabilities().Stacker; l != nil {
		if _, stack := l.Strand(e.Thread); stack != 0 {
			return CoroutineIDs + stack
		}
	}
	return e.Thread
}

// ThreadOf returns the thread of an event.
func ThreadOf(log parser.Log, e *parser.Event) uint32 {
	if l := log.Capabilities().Stacker; l != nil {
		thread, _ := l.Strand(e.Thread)
		return thread
	}
	return e.Thread
}

// OpenCalls implements [parser.Resumer].
func (l *Broken) OpenCalls(record int64) ([]parser.OpenCall, int, error) {
	return l.Open[record], l.Outer[record], nil
}

// A Chaos makes logs in which whatever can go wrong does, in percent.
type Chaos struct {
	Threads, Functions                    int
	Enters                                int
	Foreign                               bool
	Tail, Unwind, Stray, Damage, Backward int
	Spaces, Begin, Gap                    int
	Pause                                 int
	// Coroutines is how many stacks there are besides the threads', Left how likely calls
	// are left without a leave, and the log says so.
	Coroutines, Left int
}

// RandomChaos chooses what goes wrong, and how often.
func RandomChaos(r *rand.Rand) Chaos {
	pick := func(p ...int) int { return p[r.IntN(len(p))] }
	c := Chaos{
		Threads: pick(1, 2, 3, 40), Functions: pick(1, 3, 20, 2000), Enters: pick(45, 48, 50, 55, 90), Foreign: pick(0, 1) == 1,
		Tail: pick(0, 0, 10), Unwind: pick(0, 0, 1, 10), Stray: pick(0, 0, 1, 20), Damage: pick(0, 0, 5), Backward: pick(0, 5),
		Spaces: pick(0, 0, 1), Begin: pick(0, 0, 1), Gap: pick(0, 0, 0, 1), Pause: pick(0, 1),
		Coroutines: pick(0, 0, 1, 5, 50), Left: pick(0, 0, 1, 20),
	}
	if c.Coroutines > 0 {
		c.Damage = 0 // no format has both
	}
	return c
}

// Log makes a log of n events. Functions are 256 bytes long from 0x1000 on,
// enters at their byte 5, foreign leaves at byte 9.
func (c Chaos) Log(r *rand.Rand, n, runs int) *Broken {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	type open struct {
		function int
		space    uint16
	}
	l := &Broken{Open: map[int64][]parser.OpenCall{}, Outer: map[int64]int{}}
	l.Ended = map[uint32][]int64{}
	stacks := make([][]open, c.Threads+c.Coroutines)
	on := make([]int, c.Threads) // the stack of each thread
	for th := range on {
		on[th] = th
	}
	now := r.Int64N(1 << 40)
	space := uint16(0)
	busy := 0
	for len(l.Events) < n {
		if chance(20) {
			busy = r.IntN(c.Threads)
		}
		if k := c.Threads + r.IntN(max(c.Coroutines, 1)); c.Coroutines > 0 && chance(10) {
			if on[busy] = busy; !slices.Contains(on, k) && chance(70) {
				on[busy] = k
			}
		}
		th := on[busy]
		gap := parser.NoGap
		if th == busy && chance(c.Begin) {
			gap, stacks[th] = parser.ThreadBegins, nil
			if chance(50) {
				l.Ended[100+uint32(th)] = append(l.Ended[100+uint32(th)], now)
				now += r.Int64N(3) * 1000
			}
		}
		if chance(c.Gap) {
			gap = parser.EventsMissing
			s := stacks[th][:r.IntN(len(stacks[th])+1)]
			for range r.IntN(3) {
				s = append(s[:len(s):len(s)], open{r.IntN(c.Functions), space})
			}
			stacks[th] = s
			known := s[r.IntN(len(s)+1):]
			var list []parser.OpenCall
			for _, o := range known {
				list = append(list, parser.OpenCall{Address: 0x1005 + 256*uint64(o.function), Space: o.space})
			}
			l.Open[int64(len(l.Events))], l.Outer[int64(len(l.Events))] = list, len(s)-len(known)
		}
		s := stacks[th]
		if n := len(s); n > 0 && gap == parser.NoGap && chance(c.Left) {
			k := 1 + r.IntN(min(n, 5))
			s, gap = s[:n-k], parser.CallsLeft+parser.Gap(k-1)
			stacks[th] = s
		}
		add := func(kind parser.Kind, f open) {
			a := 0x1005 + 256*uint64(f.function)
			if kind == parser.Leave && c.Foreign {
				a += 4
			}
			if now += r.Int64N(3) * 1000; chance(c.Pause) {
				now += 1 << r.IntN(40)
			}
			if chance(c.Backward) {
				now -= 5e3
			}
			id := 100 + uint32(busy)
			if th != busy {
				id += CoroutineIDs + 1000*uint32(th-c.Threads+1)
			} else if kind == parser.Damaged && c.Coroutines == 0 {
				id += uint32(r.IntN(2 * c.Threads))
			}
			l.Events = append(l.Events, parser.Event{Address: a, Time: now, Thread: id, Space: f.space, Kind: kind, Gap: gap})
		}
		if chance(c.Spaces) {
			space++
		}
		f := open{r.IntN(c.Functions), space}
		switch {
		case chance(c.Damage) && gap == parser.NoGap:
			add(parser.Damaged, f)
		case chance(c.Stray):
			add(parser.Leave, f)
		case len(s) == 0 && chance(3):
			add(parser.Leave, f)
		case len(s) == 0 || chance(c.Enters):
			add(parser.Enter, f)
			stacks[th] = append(s, f)
		case chance(c.Unwind) && gap == parser.NoGap:
			stacks[th] = s[:r.IntN(len(s))]
		case chance(c.Tail) && len(s) > 1:
			add(parser.Leave, s[len(s)-2])
			stacks[th] = s[:len(s)-1]
		default:
			add(parser.Leave, s[len(s)-1])
			stacks[th] = s[:len(s)-1]
		}
	}
	c.end(r, l, now, runs)
	return l
}

// end divides a log into runs, and says of some when the recording and its threads ended.
func (c Chaos) end(r *rand.Rand, l *Broken, now int64, runs int) {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	if runs == 1 && chance(50) {
		l.EndTime = now + r.Int64N(1e6)
		for th := range c.Threads {
			if chance(30) {
				l.Ended[100+uint32(th)] = append(l.Ended[100+uint32(th)], now+r.Int64N(1e6))
			}
		}
	}
	first := 0
	for k := range runs {
		count := len(l.Events) - first
		if k < runs-1 {
			count = r.IntN(count + 1)
		}
		l.Runs = append(l.Runs, parser.Run{First: int64(first), Count: int64(count)})
		first += count
	}
}

// Namer knows all functions of a Chaos but every fifth.
func Namer(run int, space uint16, address uint64) calls.Function {
	f := calls.Function(address-0x1000)>>8 + calls.Function(run) + calls.Function(space)
	if f%5 == 4 || f > math.MaxUint32/2 {
		return 0
	}
	return f + 1
}

// Script makes a log of a text with a word an event: the thread's letter, the kind
// (">" enters, "<" leaves, "?" is damaged), and the function's letter. A leave with an
// asterisk has another address of the function than the enter; a word with a quote is
// of another space. A word "n(" to a word ")" stands for its inside n times. An event is
// one millisecond after the one before.
func Script(text string) *Memory {
	var expand func(words []string) ([]string, []string)
	expand = func(words []string) (out, rest []string) {
		for len(words) > 0 {
			w := words[0]
			words = words[1:]
			if w == ")" {
				return out, words
			}
			if !strings.HasSuffix(w, "(") {
				out = append(out, w)
				continue
			}
			n := 0
			fmt.Sscan(w[:len(w)-1], &n)
			var inner []string
			inner, words = expand(words)
			for range n {
				out = append(out, inner...)
			}
		}
		return out, nil
	}
	words, _ := expand(strings.Fields(text))
	log := &Memory{}
	for i, w := range words {
		e := parser.Event{Thread: uint32(w[0]), Time: int64(i) * 1e6, Address: uint64(w[2])<<8 + 5}
		e.Kind = map[byte]parser.Kind{'>': parser.Enter, '<': parser.Leave, '?': parser.Damaged}[w[1]]
		switch w[3:] {
		case "*":
			e.Address += 4
		case "'":
			e.Space = 1
		}
		log.Events = append(log.Events, e)
	}
	log.Runs = []parser.Run{{Count: int64(len(log.Events))}}
	return log
}

// UpTo returns the runs of a log of which only the first n records are there.
func UpTo(runs []parser.Run, n int64) []parser.Run {
	var list []parser.Run
	for _, r := range runs {
		if r.First >= n && len(list) > 0 {
			break
		}
		r.Count = min(r.Count, max(0, n-r.First))
		list = append(list, r)
	}
	return list
}

// ErrRead is the error of a [Failing].
var ErrRead = errors.New("these records cannot be read")

// A Failing is a log whose records from From on cannot be read any more once Broken is
// set.
type Failing struct {
	*Memory
	From   int64
	Broken bool
}

// ReadEvents implements [parser.Log].
func (l *Failing) ReadEvents(dst []parser.Event, from int64) (int, error) {
	if l.Broken && from+int64(len(dst)) > l.From {
		return 0, ErrRead
	}
	return l.Memory.ReadEvents(dst, from)
}
