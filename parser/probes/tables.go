package probes

import (
	"sort"
	"strings"

	"logparser/modules"
	"logparser/parser"
)

// tables are what all lines of a text have told of events, processes and threads. A line read
// again, at its place in the file, gives the same event as the first time: tables only grow, and
// what depends on the place says from where on it holds.
type tables struct {
	names  namesReader
	events []*event
	// byName has indexes into events; functions has those of the first events of functions, by
	// what these are called.
	byName, functions map[string]int

	processes []*process
	byPID     map[int64][]*process // in the order of their places in the text
	// byBase finds processes by where images lie in them.
	byBase map[baseKey]*process
	// without counts, by image, the first processes of unknown id that have it.
	without map[int]int

	threads map[threadKey]uint32 // keys of Event.Thread
	holders map[uint32]*thread   // by key
	nextKey uint32

	modules []module
	// inherited counts mappings that children have from their parents.
	inherited int
	place     func(path string, offset uint64) (rva, size uint64, ok bool)
	placed    map[placeKey]placement
}

type baseKey struct {
	pid     int64
	program int
	image   int
	base    uint64
}

type threadKey struct {
	process int
	tid     int64
}

type placeKey struct {
	path   string
	offset uint64
}

type placement struct {
	rva, size uint64
	ok        bool
}

// An event is a name that lines have, with what is known of it.
type event struct {
	Event
	index int
	// called is the function's name: what Names has, or what the event's name itself says.
	called string
	// named says that Names has it.
	named bool
	// first is the first event of the same function, nil where it is not known yet.
	first *event
}

// A process is a process as one program: from a place in the text on, until it becomes another program.
type process struct {
	index int
	pid   int64 // -1 where it is not told
	from  int64 // offset in the file
	// program counts the programs that the process was told to be before.
	program int
	// bases are where images lie, since an offset in the file.
	bases map[int]based
	// mappings are those that perf told; of a child also its parent's.
	mappings []mapping
	// called has the names of events by their addresses.
	called map[uint64]int
	// entered is where functions were entered whose ends have no address, by their first events.
	entered map[int]based
	path    string
}

type based struct {
	base  uint64
	since int64
}

type mapping struct {
	start, end, offset uint64
	path               string
	since              int64
	module             bool
}

// A thread is what a value of Event.Thread stands for.
type thread struct {
	process int
	tid     int64
	name    string
}

// A module is an image in a process.
type module struct {
	process int
	modules.Module
}

// Bounds of what is kept of a text.
const (
	maxProcesses = 1 << 16
	maxPrograms  = 1 << 8 // of a process id
	maxThreads   = 1 << 22
	maxMappings  = 1 << 12 // of a process
	maxAddresses = 1 << 20 // of a process
	maxInherited = 1 << 20 // mappings that children have from their parents
)

func newTables() *tables {
	return &tables{byName: make(map[string]int), functions: make(map[string]int), byPID: make(map[int64][]*process), byBase: make(map[baseKey]*process),
		without: make(map[int]int), threads: make(map[threadKey]uint32), holders: make(map[uint32]*thread), nextKey: 1 << 31, placed: make(map[placeKey]placement)}
}

// synthetic is where the addresses begin that are given to events without one. No program has these.
const synthetic = 0x4000_0000_0000_0000

// eventOf returns the event with a name.
func (t *tables) eventOf(name []byte, sure, leave bool, learn bool) *event {
	if i, ok := t.byName[string(name)]; ok {
		return t.events[i]
	}
	if !learn || len(t.events) >= maxEvents || len(name) > maxText {
		return nil
	}
	e := &event{index: len(t.events), Event: Event{Name: string(name), Image: -1}}
	e.called = functionOf(e.Name, sure && leave)
	if i, ok := t.names.events[e.Name]; ok {
		e.Event, e.named = t.names.Events[i], true
		e.called = e.Function
	}
	t.byName[e.Name] = e.index
	t.events = append(t.events, e)
	return e
}

// functionOf returns the function's name as an event's name tells it. The names of events of returns may have
// an ending, which is taken off.
func functionOf(name string, leave bool) string {
	if rest, ok := strings.CutPrefix(name, "lp_"); ok {
		if number, f, ok := strings.Cut(rest, "_"); ok && f != "" && strings.Trim(number, "0123456789") == "" {
			name = f
		}
	}
	if !leave {
		return name
	}
	for _, end := range []string{"__return", "_return", "_ret", "_exit"} {
		if f, ok := strings.CutSuffix(name, end); ok && f != "" {
			return f
		}
	}
	if i := strings.LastIndex(name, "_ret"); i > 0 && strings.Trim(name[i+4:], "0123456789") == "" {
		return name[:i]
	}
	return name
}

// processOf returns the process of an event. base is where the event's image lies in it.
func (t *tables) processOf(l *line, e *event, base uint64, hasBase bool, at int64, learn bool) *process {
	if l.pid < 0 {
		return t.unknownProcess(l, e, base, hasBase, at, learn)
	}
	last := t.lastProcess(l.pid, at)
	if last == nil {
		return t.newProcess(l.pid, at, 0, learn)
	}
	if hasBase {
		if p := t.byBase[baseKey{l.pid, last.program, e.Image, base}]; p != nil {
			return p
		}
		if b, ok := last.bases[e.Image]; ok && b.base != base && learn {
			// It became another program.
			return t.newProcess(l.pid, at, last.program, learn)
		}
	}
	return last
}

// lastProcess returns the last process of an id that begins before a place, or else the first one of that id;
// nil if there is none.
func (t *tables) lastProcess(pid, at int64) *process {
	list := t.byPID[pid]
	if len(list) == 0 {
		return nil
	}
	return list[max(sort.Search(len(list), func(i int) bool { return list[i].from > at })-1, 0)]
}

// unknownProcess is processOf of a line that tells no process.
func (t *tables) unknownProcess(l *line, e *event, base uint64, hasBase bool, at int64, learn bool) *process {
	list := t.byPID[l.pid]
	if hasBase {
		if p := t.byBase[baseKey{l.pid, 0, e.Image, base}]; p != nil {
			return p
		}
	} else if key, ok := t.threads[threadKey{-1, l.tid}]; ok {
		return t.processes[t.holders[key].process]
	}
	if len(list) > 0 && !hasBase {
		return list[0]
	}
	if !learn {
		return t.newProcess(l.pid, at, 0, learn)
	}
	// The first that does not have the image yet.
	i := t.without[e.Image]
	for i < len(list) {
		if _, has := list[i].bases[e.Image]; !has {
			break
		}
		i++
	}
	t.without[e.Image] = i
	if i < len(list) {
		return list[i]
	}
	return t.newProcess(l.pid, at, 0, learn)
}

// newProcess adds a process. If there are too many of its id it returns the last of these instead, and if there
// are too many in all, the last of all. It does so also when lines are read again: the process is missing then
// because there were too many.
func (t *tables) newProcess(pid, at int64, program int, learn bool) *process {
	if list := t.byPID[pid]; len(list) > 0 && (pid >= 0 && len(list) >= maxPrograms || len(t.processes) >= maxProcesses) {
		return list[len(list)-1]
	}
	if len(t.processes) >= maxProcesses {
		return t.processes[len(t.processes)-1]
	}
	if !learn {
		return nil
	}
	p := &process{index: len(t.processes), pid: pid, from: at, program: program, bases: make(map[int]based), called: make(map[uint64]int)}
	t.processes = append(t.processes, p)
	t.byPID[pid] = append(t.byPID[pid], p)
	return p
}

// thread returns the key of a thread.
func (t *tables) thread(p *process, l *line, learn bool) uint32 {
	tid := l.tid
	if tid < 0 {
		if tid = l.pid; tid < 0 {
			tid = 0
		}
	}
	key := threadKey{p.index, tid}
	k, ok := t.threads[key]
	if ok {
		if learn && len(l.command) > 0 {
			if h := t.holders[k]; h.name == "" {
				h.name = string(l.command)
			}
		}
		return k
	}
	if !learn || len(t.holders) >= maxThreads {
		return uint32(tid)
	}
	k = uint32(tid)
	for t.holders[k] != nil {
		k = t.nextKey
		t.nextKey++
	}
	t.threads[key] = k
	t.holders[k] = &thread{process: p.index, tid: tid, name: string(l.command)}
	if l.pid < 0 {
		if _, ok := t.threads[threadKey{-1, tid}]; !ok {
			t.threads[threadKey{-1, tid}] = k
		}
	}
	return k
}

// event returns the event that the line at an offset of the file stands for. It is not ok if the line is none;
// lines that were none when they were read first are none when they are read again.
func (t *tables) event(l *line, at int64, learn bool) (ev parser.Event, e *event, ok bool) {
	slot := &l.recent.events[nameHash(l.event)]
	if e = *slot; e == nil || e.Name != string(l.event) {
		if e = t.eventOf(l.event, l.sure, l.leave, learn); e == nil {
			return ev, nil, false
		}
		*slot = e
	}
	base, hasBase := uint64(0), false
	if e.Image >= 0 && l.known && l.address >= e.Probe && (l.address-e.Probe)&0xfff == 0 {
		base, hasBase = l.address-e.Probe, true
	}
	p := t.processOf(l, e, base, hasBase, at, learn)
	if p == nil {
		return ev, nil, false
	}
	if learn && hasBase {
		t.learnBase(p, e, base, at)
	}
	if r := &l.recent.threads[l.tid&(recentOnes-1)]; !learn && r.process == p && r.tid == l.tid && l.tid >= 0 {
		ev.Thread = r.key
	} else {
		ev.Thread = t.thread(p, l, learn)
		if !learn {
			*r = recentThread{p, l.tid, ev.Thread}
		}
	}
	ev.Space = uint16(p.index)
	if ev.Kind = e.Kind; l.sure {
		ev.Kind = parser.Enter
		if l.leave {
			ev.Kind = parser.Leave
		}
	}
	f := t.function(e, l.symbol, learn)
	if hasBase {
		ev.Address = base + e.Start
	} else {
		ev.Address = t.addressWithoutBase(l, p, e, f, ev.Kind, at, learn)
	}
	if learn {
		t.learnName(p, e, f, ev.Address)
	}
	if l.time != noTime {
		ev.Time = l.time
	}
	return ev, e, true
}

// addressWithoutBase returns the address of an event's function where the event's own address does not tell it.
func (t *tables) addressWithoutBase(l *line, p *process, e, f *event, kind parser.Kind, at int64, learn bool) (address uint64) {
	switch b, known := p.bases[e.Image]; {
	case e.Image >= 0 && known && b.since <= at:
		return b.base + e.Start
	case l.known && e.Image < 0 && !e.named:
		if learn && kind == parser.Enter {
			p.learnEntered(f, l.address, at)
		}
		return l.address
	default:
		// Both ends of a function without an address have one: that of its enters, which scripts
		// print alone, or one that no program has. The kernel's functions always have the latter,
		// because a return may be printed with another address than its enter.
		if b, ok := p.entered[f.index]; ok && !e.named && kind == parser.Leave && b.since <= at {
			return b.base
		}
		return synthetic | uint64(f.index)
	}
}

// recentOnes is how many of each kind a reader of lines keeps at hand: a power of two.
const recentOnes = 16

// recent is what lines that were read shortly before led to. What tables say of a line does not change while it is read again.
type recent struct {
	events  [recentOnes]*event
	threads [recentOnes]recentThread
}

type recentThread struct {
	process *process
	tid     int64
	key     uint32
}

// nameHash is a place for a name among recent ones.
func nameHash(name []byte) int {
	n := len(name)
	if n < 8 {
		return n
	}
	// The number in events of logparse probes, and how an end differs.
	return int(name[6]^name[n-1]^byte(n)) & (recentOnes - 1)
}

// function returns the first event of an event's function, which the kernel's symbol names where
// Names do not.
func (t *tables) function(e *event, symbol []byte, learn bool) *event {
	if symbol == nil || e.named {
		if e.first == nil && learn {
			e.first = t.firstOf(e.called, e)
		}
		if e.first != nil {
			return e.first
		}
		return e
	}
	if i, ok := t.functions[string(symbol)]; ok {
		return t.events[i]
	}
	if !learn || len(symbol) > maxText || string(symbol) != e.called && len(t.events) >= maxEvents {
		return e
	}
	if string(symbol) == e.called {
		return t.firstOf(e.called, e)
	}
	// One event may be that of several functions.
	f := &event{Event: Event{Image: -1}, index: len(t.events), called: string(symbol)}
	t.events = append(t.events, f)
	return t.firstOf(f.called, f)
}

// firstOf returns the first event of a function, which is e where there was none yet.
func (t *tables) firstOf(called string, e *event) *event {
	i, ok := t.functions[called]
	if !ok {
		t.functions[called] = e.index
		return e
	}
	return t.events[i]
}

// learnEntered notes where a function is entered.
func (p *process) learnEntered(f *event, address uint64, at int64) {
	if _, known := p.entered[f.index]; known {
		return
	}
	if p.entered == nil {
		p.entered = make(map[int]based)
	}
	p.entered[f.index] = based{address, at}
}

// learnBase notes where an image lies in a process.
func (t *tables) learnBase(p *process, e *event, base uint64, at int64) {
	if _, known := p.bases[e.Image]; known {
		return
	}
	p.bases[e.Image] = based{base, at}
	t.byBase[baseKey{p.pid, p.program, e.Image, base}] = p
	image := &t.names.Images[e.Image]
	t.modules = append(t.modules, module{p.index, t.newModule(p, base, image.Size, image.Path, image.Identity)})
	if p.path == "" {
		p.path = image.Path
	}
}

func (t *tables) newModule(p *process, base, size uint64, path string, id modules.Identity) modules.Module {
	return modules.Module{Base: base, Size: size, Path: path, PointerSize: 8, Identity: id, Loaded: int64(p.index), Unloaded: int64(p.index) + 1}
}

// learnName notes the name of what lies at an address and, if perf told of a mapping there, the module.
func (t *tables) learnName(p *process, e, f *event, address uint64) {
	if _, known := p.called[address]; known || len(p.called) >= maxAddresses {
		return
	}
	p.called[address] = f.index
	if e.Image >= 0 || t.place == nil {
		return
	}
	for i := len(p.mappings) - 1; i >= 0; i-- {
		m := &p.mappings[i]
		if address < m.start || address >= m.end {
			continue
		}
		if m.module {
			return
		}
		m.module = true
		key := placeKey{m.path, m.offset}
		is, known := t.placed[key]
		if !known {
			is.rva, is.size, is.ok = t.place(m.path, m.offset)
			t.placed[key] = is
		}
		if is.ok && m.start >= is.rva {
			t.modules = append(t.modules, module{p.index, t.newModule(p, m.start-is.rva, is.size, m.path, modules.Identity{})})
		}
		return
	}
}

// mapped notes a mapping.
func (t *tables) mapped(l *line, at int64) {
	p := t.processOf(l, &event{Event: Event{Image: -1}}, 0, false, at, true)
	if p.pid != l.pid || len(p.mappings) >= maxMappings || l.start+l.length < l.start || len(l.path) > maxText {
		return
	}
	if p.path == "" {
		p.path = string(l.path) // the program comes first
	}
	p.mappings = append(p.mappings, mapping{start: l.start, end: l.start + l.length, offset: l.offset, path: string(l.path), since: at})
}

// executed begins a new process for one that became another program: what lay in the old one does not lie in
// the new one.
func (t *tables) executed(l *line, at int64) {
	p := t.lastProcess(l.pid, at)
	if p == nil {
		return
	}
	if len(p.called) > 0 {
		p = t.newProcess(l.pid, at, p.program+1, true)
	}
	p.path, p.mappings = "", nil
}

// forked gives a child the mappings of its parent.
func (t *tables) forked(l *line, at int64) {
	parents := t.byPID[l.parent]
	if len(parents) == 0 || len(t.byPID[l.pid]) > 0 {
		return
	}
	parent := parents[len(parents)-1]
	p := t.newProcess(l.pid, at, 0, true)
	if p.pid != l.pid {
		return // there are too many
	}
	p.path = parent.path
	if t.inherited += len(parent.mappings); t.inherited > maxInherited {
		return
	}
	p.mappings = append(p.mappings, parent.mappings...)
	for i := range p.mappings {
		p.mappings[i].module = false
	}
}

// called returns the name of what lies at an address of a process.
func (t *tables) called(space uint16, address uint64) string {
	if int(space) >= len(t.processes) {
		return ""
	}
	if i, ok := t.processes[space].called[address]; ok {
		return t.events[i].called
	}
	return ""
}
