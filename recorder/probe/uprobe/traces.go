package uprobe

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/tracefile"
	"logparser/parser/trace/wire"
	"logparser/recorder/probe"
	"logparser/wholefile"
)

// ErrRights says that the kernel does not let this process set probes.
var ErrRights = message.New("probes cannot be set")

// ErrSystem says that the kernel of this system has no such probes.
var ErrSystem = message.New("only Linux on x86-64 and arm64 has probes that are recorded")

// Who says of which processes calls are recorded.
type Who struct {
	// All chooses all processes that run the file.
	All bool
	// PIDs chooses processes by their ids, Children those that this process starts from now on. The
	// processes that these start are chosen as well.
	PIDs     []uint32
	Children bool
}

// A Hit is one hit of a probe.
type Hit struct {
	Time     uint64 // ns, CLOCK_MONOTONIC
	PID, TID uint32
	Probe    *probe.Probe
	// IP is the address of the probe. At a return probe it is the address that the function returns to.
	IP uint64
	// SP is the stack pointer, 0 where it is not known.
	SP uint64
	// Stack identifies the stack of a goroutine. It is 0 on the thread's own stack.
	Stack uint64
	// Values are the values in the form of the log's records, nil for none.
	Values []byte
}

// Traces writes hits into traces, one for each process. It is not safe for concurrent use.
type Traces struct {
	// Dir is the folder of the traces, Name the beginning of their file names.
	Dir, Name string
	Target    probe.Target
	// Plan is the text of the plan by which values were taken, nil for none.
	Plan []byte

	processes map[uint32]*processTrace
	// made are all traces, also those of processes that run another program by now.
	made []*processTrace
	// Hits counts the hits that were written, Nowhere those that were not, because it is not known
	// where the process has mapped the image.
	Hits, Nowhere int64
}

// A processTrace is the trace of a process.
type processTrace struct {
	w       *tracefile.Writer
	f       *os.File
	base    uint64
	based   bool
	threads map[uint32]*threadTrace
	// stacks numbers the stacks of goroutines.
	stacks map[uint64]uint32
	last   uint64
}

// A threadTrace is the stream of a thread, and the stack that the thread is on.
type threadTrace struct {
	*tracefile.Thread
	stack uint32
	calls openCalls
}

// chunkSize is the size of a chunk in bytes. Of each thread one chunk is kept in memory.
const chunkSize = 64 << 10

// counterMonotonic says in a trace's header that its clock is CLOCK_MONOTONIC.
const counterMonotonic = 2

// machineNumbers are the numbers that ELF gives to processors.
var machineNumbers = map[string]uint16{"x86-64": 62, "arm64": 183}

// Add writes a hit.
func (t *Traces) Add(h *Hit) error {
	p := t.processes[h.PID]
	atProbe := h.Probe.Kind == parser.Enter || h.Probe.AtReturn
	base := h.IP - h.Probe.RVA
	if p != nil && atProbe && p.based && p.base != base {
		p = nil // the process runs another program, or the same one again
	}
	if p == nil {
		var err error
		if p, err = t.begin(h); err != nil {
			return err
		}
	}
	if !p.based {
		if !atProbe {
			// The call began before the probes were set, and where the image lies is not known.
			b, ok := mappedAt(h.PID, t.Target.Path)
			if !ok {
				t.Nowhere++
				return nil
			}
			base = b
		}
		p.based, p.base = true, base
		p.w.Load(h.Time, 1, base, t.Target.Size, t.Target.Path, t.Target.Identity.String())
	}
	th := p.threads[h.TID]
	if th == nil {
		number := uint32(len(p.threads) + 1)
		th = &threadTrace{Thread: p.w.Thread(number, 0, uint64(h.TID)), calls: openCalls{own: ownStack(h)}}
		p.threads[h.TID] = th
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/comm", h.PID, h.TID))
		if text := strings.TrimSuffix(string(name), "\n"); text != "" {
			p.w.Record(wire.ThreadRecord, h.Time, wire.AppendBody(nil, wire.Thread{Stream: number, ID: uint64(h.TID), Name: text}))
		}
	}
	t.Hits++
	p.last = max(p.last, h.Time)
	address := p.base + h.Probe.Function.RVA
	if h.Stack != 0 {
		number := p.stacks[h.Stack]
		if number == 0 {
			number = uint32(len(p.stacks) + 1)
			p.stacks[h.Stack] = number
		}
		if number != th.stack {
			th.stack = number
			th.Switch(h.Time, number)
		}
	}
	typ := wire.Arguments
	th.Reserve(len(h.Values)+16, h.Time)
	// Stacks of goroutines move, and functions of Go do not end by a jump.
	if h.Stack == 0 {
		if n := th.calls.hit(h); n > 0 {
			th.Left(n)
		}
	}
	if h.Probe.Kind == parser.Enter {
		th.Enter(h.Time, address, wire.Entry)
	} else {
		typ = wire.Result
		th.LeaveAddress(h.Time, address, wire.Entry)
	}
	if len(h.Values) > 0 {
		th.Raw(wire.AppendValues(nil, typ, uint16(wire.ByPlan), h.Values))
	}
	return nil
}

// begin begins the trace of a process.
func (t *Traces) begin(h *Hit) (*processTrace, error) {
	folder, err := wholefile.OpenMine(t.Dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	mode := fs.FileMode(0o666)
	if len(t.Plan) > 0 {
		// Values may be secrets.
		mode = 0o600
	}
	var f *os.File
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.%d", t.Name, h.PID)
		if n > 1 {
			name += "." + strconv.Itoa(n)
		}
		f, err = folder.Open(name+".lptrace", os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) && n < 10_000 {
			continue
		}
		if err != nil {
			return nil, err
		}
		break
	}
	p := &processTrace{w: tracefile.NewWriter(f), f: f, threads: make(map[uint32]*threadTrace), stacks: make(map[uint64]uint32), last: h.Time}
	p.w.ChunkSize = chunkSize
	head := &p.w.Header
	head.PID, head.Begin, head.Rate, head.Counter, head.Machine = h.PID, h.Time, 1e9, counterMonotonic, machineNumbers[t.Target.Machine]
	head.State = wire.StateRecording
	path, parent := t.Target.Path, uint32(0)
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", h.PID)); err == nil {
		path = exe
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.PID)); err == nil {
		// Behind the name, which may hold anything: state, parent, … and, 20th, the start.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) > 19 {
			n, _ := strconv.ParseUint(fields[1], 10, 32)
			parent = uint32(n)
			head.Started, _ = strconv.ParseUint(fields[19], 10, 64)
		}
	}
	t.clock(p, h.Time)
	p.w.Record(wire.ProcessRecord, h.Time, wire.AppendBody(nil, wire.Process{PID: h.PID, Parent: parent, Path: path, System: "Linux", Recorder: "probes"}))
	p.w.Record(wire.SettingRecord, h.Time, wire.AppendBody(nil, wire.Setting{Name: "way in", Value: "probes of the kernel"}))
	if len(t.Plan) > 0 {
		t.plan(p, h.Time)
	}
	if t.processes == nil {
		t.processes = make(map[uint32]*processTrace)
	}
	t.processes[h.PID] = p
	t.made = append(t.made, p)
	return p, nil
}

// planPiece is the most bytes of a plan in one record.
const planPiece = 32 << 10

// plan writes the plan into a trace.
func (t *Traces) plan(p *processTrace, time uint64) {
	sum := fnv.New64a()
	sum.Write(t.Plan)
	p.w.Record(wire.SettingRecord, time, wire.AppendBody(nil, wire.Setting{Name: "values", Value: fmt.Sprintf("plan %016x", sum.Sum64())}))
	for at := 0; at < len(t.Plan); at += planPiece {
		piece := t.Plan[at:min(at+planPiece, len(t.Plan))]
		p.w.Record(wire.PlanRecord, time, wire.Plan{Hash: sum.Sum64(), Size: uint32(len(t.Plan)), Offset: uint32(at), Piece: piece}.Append(nil))
	}
}

// clock writes a record that ties CLOCK_MONOTONIC to the time of day.
func (t *Traces) clock(p *processTrace, at uint64) {
	mono, wall := now()
	_, ahead := time.Unix(0, wall).Zone()
	if mono == 0 {
		return
	}
	p.w.Clock(at, at, wall-int64(mono-at), int32(ahead))
}

// Sync writes what is still in memory into the files.
func (t *Traces) Sync() error {
	for _, p := range t.made {
		if err := p.w.Sync(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all traces, also those of processes that still run. lost is how many hits the kernel lost.
func (t *Traces) Close(lost uint64) (err error) {
	for _, p := range t.made {
		if lost > 0 {
			p.w.Record(wire.LostRecord, p.last, wire.AppendBody(nil, wire.LostEvents{Events: lost, Why: "the ring buffer of the probes was full"}))
			lost = 0
		}
		if e := p.w.Close(); e != nil && err == nil {
			err = e
		}
		if e := p.f.Close(); e != nil && err == nil {
			err = e
		}
	}
	t.made, t.processes = nil, nil
	return err
}

// mappedAt returns the address at which a process has mapped the first byte of a file.
func mappedAt(pid uint32, path string) (base uint64, ok bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(strings.TrimSuffix(line, "\n"), " "+path) {
			start, _, _ := strings.Cut(line, "-")
			base, err = strconv.ParseUint(start, 16, 64)
			return base, err == nil
		}
	}
	return 0, false
}
