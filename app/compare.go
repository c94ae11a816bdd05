package app

import (
	"context"
	"crypto/sha256"
	"slices"

	"logparser/calls/compare"
	"logparser/calls/indexcache"
	"logparser/message"
	"logparser/rows"
)

// How two runs are compared: which threads and functions of theirs are the same. Package
// compare does the rest.

// A ThreadComparison is two threads that were compared, or one that no other was found for.
type ThreadComparison struct {
	// A and B are the threads, nil where there is none.
	A, B *ComparedThread
	// Reason says why these two were compared.
	Reason message.Text
	// Differ says that their events are not the same from number Equal on; the first Equal
	// are.
	Differ bool
	Equal  int64
}

// A ComparedThread is one of a ThreadComparison.
type ComparedThread struct {
	Thread
	// Stack is the number of the stack, 0 for the thread's own, and Events how many it has.
	Stack  uint32
	Events int64
	// Row is the row of the first event that is not the same, -1 where the thread had ended,
	// Before the one of the event before, -1 where there is none.
	Row, Before int64

	slot uint32
}

// A Comparison says where two runs part.
type Comparison struct {
	// Threads are the threads of A with those of B that they were compared with, and then those
	// of B that were compared with none.
	Threads []ThreadComparison
	// OnlyA and OnlyB are the functions that threads of one log enter, and none of the other.
	OnlyA, OnlyB []FunctionRef
}

// Same reports whether each thread has one in the other log with the same events.
func (c *Comparison) Same() bool {
	return !slices.ContainsFunc(c.Threads, func(t ThreadComparison) bool { return t.Differ || t.A == nil || t.B == nil })
}

var compareReasons = map[compare.Reason]message.Text{
	compare.SameName:  message.Textf("the same name"),
	compare.SameFirst: message.Textf("the same first function, in the order in which they begin"),
	compare.OnlyOnes:  message.Textf("no others are left"),
}

// Compare finds where the threads of two logs part: the first event of each that is not the same.
// Events are enters of functions, known by their names, and leaves. Both sessions must be
// loaded. p is told of StageFilter.
func Compare(ctx context.Context, a, b *Session, p Progress) (*Comparison, error) {
	programA, programB := comparedPrograms(a, b)
	ga, gb := a.groups(), b.groups()
	fa, fb := a.comparedFunctions(ga, programA), b.comparedFunctions(gb, programB)
	na, nb := numberFunctions(fa, fb)
	la, err := a.compared(ctx, ga, na, p)
	if err != nil {
		return nil, err
	}
	lb, err := b.compared(ctx, gb, nb, p)
	if err != nil {
		return nil, err
	}
	c := &Comparison{}
	c.OnlyA, c.OnlyB = enteredOnly(ga, la, lb), enteredOnly(gb, lb, la)
	spellOut(c.OnlyA, fa, fb)
	spellOut(c.OnlyB, fb, fa)
	ta, ca := a.comparedThreads(la, programA)
	tb, cb := b.comparedThreads(lb, programB)
	matched := make([]bool, len(tb))
	partner := make(map[int]int) // indexes of pairs
	pairs := compare.Match(ca, cb)
	slots := make([]compare.Slots, len(pairs))
	for k, pair := range pairs {
		partner[pair.A] = k
		matched[pair.B] = true
		slots[k] = compare.Slots{A: ta[pair.A].slot, B: tb[pair.B].slot}
	}
	found, err := compare.FirstDivergences(ctx, la, lb, slots)
	if err != nil {
		return nil, err
	}
	for i := range ta {
		k, ok := partner[i]
		if !ok {
			c.Threads = append(c.Threads, ThreadComparison{A: &ta[i], Differ: true})
			continue
		}
		pair, d := pairs[k], &found[k]
		t := ThreadComparison{A: &ta[i], B: &tb[pair.B], Reason: compareReasons[pair.Reason], Differ: d.Differs, Equal: d.Event}
		t.A.Row, t.A.Before, t.B.Row, t.B.Before = d.A, d.BeforeA, d.B, d.BeforeB
		c.Threads = append(c.Threads, t)
	}
	for k := range tb {
		if !matched[k] {
			c.Threads = append(c.Threads, ThreadComparison{B: &tb[k], Differ: true})
		}
	}
	return c, nil
}

// comparedPrograms returns the executables that are taken for the same, which may have other names:
// of several processes the first one's, unless the other log is of one program that is among them.
func comparedPrograms(a, b *Session) (programA, programB string) {
	programA, programB = a.firstProgram(), b.firstProgram()
	switch severalA, severalB := len(a.processes) > 1, len(b.processes) > 1; {
	case severalB && !severalA && b.hasProcess(programA):
		programB = programA
	case severalA && !severalB && a.hasProcess(programB):
		programA = programB
	}
	return programA, programB
}

// firstProgram returns the base name of the executable, of several processes of the first one's.
func (s *Session) firstProgram() string {
	if len(s.processes) > 1 {
		return s.processes[0].Name
	}
	var images []rows.Image
	for _, m := range s.Modules() {
		images = append(images, rows.Image{Name: m.Name})
	}
	_, name := s.program(images)
	return name
}

func (s *Session) hasProcess(program string) bool {
	return slices.ContainsFunc(s.processes, func(p *rows.Process) bool { return p.Name == program })
}

// compared returns the log as it is compared, with the numbers of the functions that its groups are.
func (s *Session) compared(ctx context.Context, g *groups, numbers []uint32, p Progress) (*compare.Log, error) {
	chains, err := s.chains(ctx, p)
	if err != nil {
		return nil, err
	}
	l := &compare.Log{Index: s.table.Steady(), Chains: chains, Functions: make([]uint32, len(g.of))}
	for i, group := range g.of {
		l.Functions[i] = numbers[group]
	}
	return l, nil
}

// comparedThreads returns the threads, and stacks of coroutines, that have events.
func (s *Session) comparedThreads(l *compare.Log, program string) (list []ComparedThread, candidates []compare.Candidate) {
	for slot := range uint32(len(l.Chains)) {
		c := &l.Chains[slot]
		if c.Events == 0 {
			continue
		}
		t := ComparedThread{Thread: s.threadAt(slot), Events: c.Events, Row: -1, Before: -1, slot: slot}
		_, t.Stack = l.Index.Stack(slot)
		t.Rows = c.Events
		candidate := compare.Candidate{Row: c.Rows[0]}
		if t.Stack == 0 && t.Name != "" {
			candidate.Name = t.Name
			if t.Process != nil && t.Process.Name != program {
				candidate.Name += "\x00" + t.Process.Name
			}
		}
		if len(c.First) > 0 {
			candidate.First = l.Functions[c.First[0].Address]
		}
		list, candidates = append(list, t), append(candidates, candidate)
	}
	return list, candidates
}

// enteredOnly returns the functions, which are those of g, that are entered in l and not in other.
func enteredOnly(g *groups, l, other *compare.Log) []FunctionRef {
	known := make(map[uint32]bool)
	for i := range other.Chains {
		for _, f := range other.Chains[i].First {
			known[other.Functions[f.Address]] = true
		}
	}
	var list []FunctionRef
	for i := range l.Chains {
		for _, f := range l.Chains[i].First {
			if n := l.Functions[f.Address]; !known[n] {
				known[n] = true
				list = append(list, g.ref(f.Address))
			}
		}
	}
	return list
}

// chains returns the chains of the log's stacks, those that are kept where they are, and keeps
// them where its index is.
func (s *Session) chains(ctx context.Context, p Progress) ([]compare.Chain, error) {
	src := s.table.Steady()
	store, key, ok := s.chainsKey()
	if ok {
		if kept, err := compare.Decode(store.Noted(key), src.Slots(), src.Len(), src.AddressTable().Len()); err == nil {
			return kept, nil
		}
	}
	chains, err := compare.Chains(ctx, src, p.of(StageFilter))
	if err == nil && ok {
		// That they cannot be kept costs the next comparison the time that this took.
		store.Note(key, compare.Encode(chains))
	}
	return chains, err
}

// chainsKey returns where the log's chains are kept. It is not ok where its index is not.
func (s *Session) chainsKey() (store indexcache.Store, key indexcache.Key, ok bool) {
	in, info := s.Inputs(), s.log.Info()
	folder := in.indexCache()
	if folder == "" || s.table.Total() < leastKept {
		return store, key, false
	}
	now, ok := in.state()
	if !ok || now.size != info.Size {
		return store, key, false
	}
	now.records = info.Records
	if key, _, ok = s.indexKey(&in, &now); !ok {
		return store, key, false
	}
	return indexcache.Store{Folder: folder}, indexcache.Key(sha256.Sum256(append(key[:], "chains"...))), true
}
