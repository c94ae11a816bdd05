package tracetest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"logparser/parser"
)

// A Program says what a random program does; all chances are in percent.
type Program struct {
	Threads, Events, Functions int
	// Enters is how likely a thread enters rather than leaves.
	Enters int
	// Unwind calls are left without a leave, Stray leaves end no call, Handler
	// is how likely an event is a call and its end in a signal handler.
	Unwind, Stray, Handler int
	// Pause is how likely a long time passes.
	Pause int
	// Returns is how likely an address is a return address.
	Returns int
	// Epochs is how often a module is replaced by another.
	Epochs int
	// Full makes threads write whole addresses, Gaps is how likely a chunk
	// ends early.
	Full bool
	Gaps int
	// Now, if not nil, is called before each event.
	Now func()
	// Far spreads the functions over this many windows.
	Far int
}

// Random returns what a random program might do.
func Random(r *rand.Rand) Program {
	pick := func(p ...int) int { return p[r.IntN(len(p))] }
	return Program{
		Threads: pick(1, 2, 5, 40), Events: pick(10, 1000, 30000), Functions: pick(1, 20, 2000), Enters: pick(45, 50, 55, 90),
		Unwind: pick(0, 1, 10), Stray: pick(0, 1, 20), Handler: pick(0, 1, 10), Pause: pick(0, 1, 20), Returns: pick(0, 50, 100),
		Epochs: pick(0, 0, 1, 7), Full: r.IntN(4) == 0, Gaps: pick(0, 1), Far: pick(1, 5, 20),
	}
}

// An event with what orders it besides its time.
type event struct {
	parser.Event
	level  uint8
	number uint32
}

type stack struct {
	t    *Thread
	open []parser.Event
	// began says that it has events.
	began bool
}

// threads begins the streams of all threads, each with those of its two levels.
func (p Program) threads(w *Writer) [][2]*stack {
	threads := make([][2]*stack, p.Threads)
	for i := range threads {
		for level := range threads[i] {
			t := w.Thread(uint32(i+1), uint8(level), uint64(100+i%7))
			t.Full = p.Full
			threads[i][level] = &stack{t: t}
		}
	}
	return threads
}

// Write writes a run of the program and returns the events that a reader must
// give, times in units, which are nanoseconds.
func (p Program) Write(r *rand.Rand, w *Writer) []parser.Event {
	chance := func(percent int) bool { return r.IntN(100) < percent }
	start := uint64(5000)
	w.Clock(start, start, 1_700_000_000_000_000_000, 3600)
	space := uint16(0)
	w.Load(start, 1, 0x400000, 1<<34, "/bin/program", "build-id:00")
	module := uint32(1)
	var list []event
	threads := p.threads(w)
	add := func(s *stack, kind parser.Kind, time uint64, address uint64, space uint16) {
		gap := parser.NoGap
		if !s.began && s.t.Level == 0 {
			gap = parser.ThreadBegins
		}
		s.began = true
		list = append(list, event{parser.Event{Address: address, Time: int64(time), Thread: uint32(s.t.ID), Kind: kind, Space: space, Gap: gap}, s.t.Level, s.t.Number})
	}
	function := func() (address uint64, kind int) {
		f := uint64(r.IntN(p.Functions))
		address = 0x400000 + f*64 + f%uint64(p.Far)<<27
		if chance(p.Returns) {
			return address + 5, Return
		}
		return address, Entry
	}
	enter := func(s *stack, time uint64) {
		a, k := function()
		s.t.Enter(time, a, k)
		add(s, parser.Enter, time, a, space|uint16(k))
		s.open = append(s.open, list[len(list)-1].Event)
	}
	leave := func(s *stack, time uint64) {
		n := len(s.open) - 1
		top := s.open[n]
		s.open = s.open[:n]
		s.t.Leave(time)
		add(s, parser.Leave, time, top.Address, top.Space)
	}
	// leaveAddress leaves the innermost call of an address, if there is one.
	leaveAddress := func(s *stack, time, a uint64, k int) {
		s.t.LeaveAddress(time, a, k)
		sp := space | uint16(k)
		for i := len(s.open) - 1; i >= 0; i-- {
			if s.open[i].Address == a && s.open[i].Space&1 == uint16(k) {
				sp = s.open[i].Space
				s.open = s.open[:i]
				break
			}
		}
		add(s, parser.Leave, time, a, sp)
	}
	now := start
	for n := 0; n < p.Events; n++ {
		now += uint64(r.IntN(40))
		if chance(p.Pause) {
			now += r.Uint64N(1 << r.IntN(45))
		}
		if p.Epochs > 0 && r.IntN(p.Events) < p.Epochs {
			now++
			w.Unload(now, module)
			module++
			now++
			w.Load(now, module, 0x400000, 1<<34, fmt.Sprintf("/lib/%d.so", module), "build-id:00")
			space += 2
		}
		if p.Now != nil {
			p.Now()
		}
		i := r.IntN(p.Threads)
		s := threads[i][0]
		if chance(p.Gaps) {
			s.t.Flush()
		}
		switch {
		case chance(p.Handler):
			h := threads[i][1]
			enter(h, now)
			now += uint64(r.IntN(40))
			leave(h, now)
		case chance(p.Stray):
			a, k := function()
			leaveAddress(s, now, a, k)
		case len(s.open) == 0 || chance(p.Enters):
			enter(s, now)
		case chance(p.Unwind):
			f := s.open[r.IntN(len(s.open))]
			leaveAddress(s, now, f.Address, int(f.Space&1))
		default:
			leave(s, now)
		}
	}
	w.Clock(now+1, now+1, 1_700_000_000_000_000_000, 3600)
	return inOrder(list)
}

// inOrder returns events as a reader must give them.
func inOrder(list []event) []parser.Event {
	slices.SortStableFunc(list, func(a, b event) int {
		for _, d := range [...]int64{a.Time - b.Time, int64(a.Thread) - int64(b.Thread), int64(a.level) - int64(b.level), int64(a.number) - int64(b.number)} {
			if d != 0 {
				return int(d>>63)*2 + 1
			}
		}
		return 0
	})
	events := make([]parser.Event, len(list))
	for i := range list {
		events[i] = list[i].Event
	}
	return events
}
