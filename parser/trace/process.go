package trace

import (
	"bufio"
	"cmp"
	"encoding/hex"
	"io"
	"maps"
	"slices"
	"strings"

	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

const (
	// maxBody bounds the size of the process records that are read, in bytes. The
	// largest is a command line, which has at most 2 MiB.
	maxBody = 4 << 20
	// maxModules bounds the modules of a trace. Modules files have the same bound.
	maxModules = 100_000
	maxNotes   = 200
	// maxCrash bounds the body of a CRASH in bytes, and maxCrashes their number. A
	// recorder writes only one, of at most 128 KiB.
	maxCrash   = 1 << 20
	maxCrashes = 4
)

// A load is a LOAD record together with its UNLOAD.
type load struct {
	number           uint32
	flags            uint32
	module           modules.Module // its times are not set
	bias             uint64
	loaded, unloaded uint64 // units
}

// A process is the content of the process chunks.
type process struct {
	calibrations []calibration
	loads        []load // by time of loading
	byNumber     map[uint32]int
	// names has the last name of each thread, by the system's thread ids.
	names map[uint32]string
	// shared says that a view uses the map names, so that the map must be copied before a change.
	shared bool
	// The path of the executable, a description of the system, and the
	// version of the recorder.
	path, system, recorder string
	arguments              []string
	overhead               *wire.Overhead
	lost                   int64
	unloads                int // UNLOAD records that were read
	// threadEnds are the THREADEND records. ended is the time at which the recording ended, if hasEnded is set.
	threadEnds []threadEnd
	ended      uint64
	hasEnded   bool
	crashes    []crash
	// exited says that there is an EXIT record, so the process is gone. killed says that a signal ended it before the recording
	// ended.
	exited, killed bool
	// ways are the ways in by which events were recorded. late says that leaves are recorded late.
	ways        []string
	late        bool
	values      takenValues
	notes       []message.Text
	damage      []parser.Damage
	damageBytes int64
}

// A threadEnd says when the thread of a stream ended.
type threadEnd struct {
	stream uint32
	time   uint64 // units
}

func newProcess() *process {
	return &process{byNumber: make(map[uint32]int), names: make(map[uint32]string)}
}

func (p *process) note(pattern string, args ...any) {
	if len(p.notes) < maxNotes {
		p.notes = append(p.notes, message.Textf(pattern, args...))
	}
}

func (p *process) hurt(offset, n int64, err error) {
	p.damageBytes += n
	if len(p.damage) < parser.MaxDamage {
		p.damage = append(p.damage, parser.Damage{Offset: offset, Bytes: n, Reason: message.Textf("process record: %v", err)})
	}
}

var errRecordLength = message.New("it has an impossible length")

// read reads the records of a process chunk that were not read before. It notes damage; its errors are those of reading the
// file.
func (p *process) read(r io.ReaderAt, c *chunk) error {
	at, end := c.offset+wire.ChunkHeaderSize+int64(c.done), c.end()
	c.done = c.used
	in := bufio.NewReaderSize(io.NewSectionReader(r, at, end-at), 16<<10)
	var head [wire.ProcessHead]byte
	var body []byte
	for end-at >= wire.ProcessHead {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return message.Errorf("offset %d: %w", at, shrunk(err))
		}
		info := wire.ParseProcess(head[:])
		length := int64(info.Length)
		if length < wire.ProcessHead || length%8 != 0 || length > end-at {
			p.hurt(at, end-at, message.Errorf("%w; the rest of the chunk is left out", errRecordLength))
			return nil
		}
		n := length - wire.ProcessHead
		if info.Type == 0 || info.Type > wire.LastProcessType || info.Type == wire.ImageRecord || n > maxBody {
			if n > maxBody && info.Type != wire.ImageRecord {
				p.hurt(at, length, errRecordLength)
			}
			if _, err := io.CopyN(io.Discard, in, n); err != nil {
				return message.Errorf("offset %d: %w", at, shrunk(err))
			}
			at += length
			continue
		}
		if int64(cap(body)) < n {
			body = make([]byte, n)
		}
		body = body[:n]
		if _, err := io.ReadFull(in, body); err != nil {
			return message.Errorf("offset %d: %w", at, shrunk(err))
		}
		if err := p.record(info.Type, min(info.Time, maxTime), body); err != nil {
			p.hurt(at, length, err)
		}
		at += length
	}
	if at < end {
		p.hurt(at, end-at, errRecordLength)
	}
	return nil
}

func shrunk(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return parser.ErrShrunk
	}
	return err
}

// record processes a record. Its error says what is wrong with the body. Of some records, the fields before the error are used
// nevertheless.
func (p *process) record(typ wire.ProcessType, time uint64, body []byte) error {
	var err error
	switch typ {
	case wire.ProcessRecord:
		var r wire.Process
		err = wire.ParseBody(body, &r)
		p.path, p.system, p.recorder, p.arguments = r.Path, r.System, r.Recorder, r.Arguments
	case wire.ClockRecord:
		var r wire.Clock
		if err = wire.ParseBody(body, &r); err == nil {
			p.calibrations = append(p.calibrations, calibration{units: time, ns: r.NS, wall: r.Wall, ahead: r.Ahead})
		}
	case wire.LoadRecord:
		var r wire.Load
		if err = wire.ParseBody(body, &r); err == nil {
			p.load(time, &r)
		}
	case wire.UnloadRecord:
		var r wire.Unload
		if err = wire.ParseBody(body, &r); err == nil {
			p.unload(time, r.Module)
		}
	case wire.ThreadRecord:
		var r wire.Thread
		if err = wire.ParseBody(body, &r); err == nil && r.Name != "" {
			if p.shared {
				p.names, p.shared = maps.Clone(p.names), false
			}
			p.names[uint32(r.ID)] = r.Name
		}
	case wire.ThreadEndRecord:
		var r wire.ThreadEnd
		if err = wire.ParseBody(body, &r); err == nil {
			p.threadEnds = append(p.threadEnds, threadEnd{r.Stream, time})
		}
	case wire.EndRecord:
		p.ended, p.hasEnded = time, true
	case wire.ExitRecord:
		var r wire.Exit
		if err = wire.ParseBody(body, &r); err == nil {
			p.exit(time, &r)
		}
	case wire.ForkRecord:
		var r wire.Fork
		err = wire.ParseBody(body, &r)
		p.note("the process forked; the child has pid %d and a log of its own", r.Child)
	case wire.ExecRecord:
		var r wire.Exec
		err = wire.ParseBody(body, &r)
		p.note("the process became another program: %s", printable(r.Path))
		p.ended, p.hasEnded = time, true
	case wire.SwitchRecord:
		var r wire.Switching
		err = wire.ParseBody(body, &r)
		if r.On != 0 {
			// After an exec that failed, this revokes the end that the EXEC record has told.
			p.hasEnded = false
			p.note("recording was switched on: %s", printable(r.Why))
		} else {
			p.note("recording was switched off: %s", printable(r.Why))
		}
	case wire.OverheadRecord:
		var r wire.Overhead
		if err = wire.ParseBody(body, &r); err == nil {
			p.overhead = &r
		}
	case wire.LostRecord:
		var r wire.LostEvents
		if err = wire.ParseBody(body, &r); err == nil {
			n := min(r.Events, maxTime)
			p.lost += int64(n)
			if r.Stream == 0 {
				p.note("%d events were lost: %s", n, printable(r.Why))
			} else {
				p.note("%d events of stream %d were lost: %s", n, r.Stream, printable(r.Why))
			}
		}
	case wire.CrashRecord:
		err = p.crash(time, body)
	case wire.PlanRecord:
		err = p.values.plan(body)
	case wire.PlaceRecord:
		err = p.values.place(body)
	case wire.SettingRecord:
		var r wire.Setting
		err = wire.ParseBody(body, &r)
		switch {
		case err != nil:
		case r.Name == "values" || r.Name == "values-mismatch":
			p.note("setting %s = %s", printable(r.Name), printable(r.Value))
			p.values.setting(r.Name, r.Value)
		case r.Name == "way":
			p.way(r.Value)
		default:
			p.note("setting %s = %s", printable(r.Name), printable(r.Value))
		}
	}
	return err
}

// exit processes an EXIT record. Its time is also the end of the recording, unless the recording had ended before.
func (p *process) exit(time uint64, r *wire.Exit) {
	p.exited = true
	if !p.hasEnded {
		p.ended, p.hasEnded, p.killed = time, true, r.How == wire.ExitSignal
	}
	switch core := r.Flags&wire.ExitCore != 0; {
	case r.How == wire.ExitStatus:
		p.note("the process ended with status %d", r.Value)
	case r.How == wire.ExitSignal && core:
		p.note("signal %d ended the process, and the system wrote a core file", r.Value)
	case r.How == wire.ExitSignal:
		p.note("signal %d ended the process", r.Value)
	default:
		p.note("the process ended in a way that is not known")
	}
}

// unload notes the time at which a module was unloaded.
func (p *process) unload(time uint64, number uint32) {
	i, ok := p.byNumber[number]
	if !ok {
		p.note("module %d was unloaded and never loaded", number)
		return
	}
	if l := &p.loads[i]; time < l.unloaded {
		l.unloaded = max(time, l.loaded)
		p.unloads++
	}
}

// wayNames are the names that users know for the ways in.
var wayNames = map[string]string{
	"finstrument-functions": "-finstrument-functions", "mfentry": "-pg -mfentry", "minstrument-return": "-minstrument-return=call",
	"penter": "/Gh /GH", "api": "logrec.h", "preloaded": "LD_PRELOAD",
	"xray": "patched -fxray-instrument", "patched": "patched entries", "patched-returns": "patched returns", "libcalls": "calls into libraries",
}

// maxWays bounds the ways in that are listed.
const maxWays = 16

// way adds a way in.
func (p *process) way(value string) {
	if value == "late-leaves" {
		p.late = true
		return
	}
	name := wayNames[value]
	if name == "" {
		name = printable(value)
	}
	if len(p.ways) < maxWays && !slices.Contains(p.ways, name) {
		p.ways = append(slices.Clip(p.ways), name)
	}
}

// printable makes a text from a file safe to show in a one-line message.
func printable(s string) string {
	const most = 500
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

func (p *process) load(time uint64, r *wire.Load) {
	l := load{number: r.Module, flags: r.Flags, bias: uint64(r.Bias), loaded: time, unloaded: maxTime}
	l.module.Base, l.module.Size, l.module.Path = uint64(r.Base), uint64(r.Size), r.Path
	if len(p.loads) == maxModules {
		p.note("more than %d modules were loaded; the rest is left out", maxModules)
		return
	}
	if l.module.Size > ^l.module.Base {
		l.module.Size = ^l.module.Base
	}
	id, ok := parseIdentity(r.Identity)
	if !ok {
		p.note("%s: %q is not an identity", printable(l.module.Path), printable(r.Identity))
	}
	id.Timestamp, id.ImageSize = r.Timestamp, r.ImageSize
	l.module.Identity = id
	if _, ok := p.byNumber[l.number]; ok {
		p.note("module %d was loaded twice", l.number)
	}
	p.byNumber[l.number] = len(p.loads)
	p.loads = append(p.loads, l)
}

// order sorts the loads from index from on by time. Loads before published get that time, because published results must not
// change.
func (p *process) order(from int, published uint64) {
	for i := range p.loads[from:] {
		l := &p.loads[from+i]
		l.loaded = max(l.loaded, published)
		l.unloaded = max(l.unloaded, l.loaded)
	}
	slices.SortStableFunc(p.loads[from:], func(a, b load) int { return cmp.Compare(a.loaded, b.loaded) })
	for i := range p.loads {
		p.byNumber[p.loads[i].number] = i
	}
}

// parseIdentity reads an identity in the form of the modules file. It also accepts a build-id of hexadecimal digits alone, and
// a GUID with an age alone.
func parseIdentity(s string) (modules.Identity, bool) {
	if s == "" {
		return modules.Identity{}, true
	}
	if id, err := modules.ParseIdentity(s); err == nil {
		return id, true
	}
	if b, err := hex.DecodeString(s); err == nil && len(b) <= modules.MaxBuildID {
		return modules.Identity{BuildID: string(b)}, true
	}
	if id, err := modules.ParseIdentity("pdb:" + s); err == nil {
		return id, true
	}
	return modules.Identity{}, false
}

// epochs divide the time of a log. Within an epoch an address always has the same meaning.
type epochs struct {
	// times are the beginnings of all epochs but the first, in units.
	times []uint64
	// modules are for looking up addresses. For that, a module exists from the beginning of the epoch in which it was loaded to
	// the end of the epoch in which it was unloaded.
	modules *modules.Map
	spaces  []parser.Space
}

// maxEpochs is the number of epochs that Event.Space can distinguish.
const maxEpochs = 1 << 15

// findEpochs divides time into epochs. A new epoch begins only where a module is
// loaded at addresses that another module had before. If a library is only
// unloaded and loaded again at the same place, the epoch goes on.
//
// The list must be in order of time. If loads are appended to it later, the first
// epochs stay the same.
func findEpochs(list []load, c *clock, pointer int) (*epochs, []message.Text) {
	var notes []message.Text
	list = slices.Clone(list)
	e := &epochs{}
	byAddress := newIntervalMap(list)
	first := make([]int, len(list)) // epochs
	// A life is a sequence of loads of the same module without another module in between: its first and its last load.
	type life struct{ first, last int }
	found := make(map[modules.Module]life)
	same := make([]int, len(list)) // the first load of the same life
	epoch := 0
	for i := range list {
		l := &list[i]
		other := false
		byAddress.take(i, l.module.Base, l.module.Base+l.module.Size, func(owner int) {
			o := &list[owner]
			if o.module != l.module {
				other = true
			}
			// The log has no record of the unloading.
			o.unloaded = min(o.unloaded, l.loaded)
		})
		if other {
			if epoch+1 == maxEpochs && notes == nil {
				notes = append(notes, message.Textf("addresses changed their meaning more than %d times; later names may be wrong", maxEpochs))
			}
			if epoch+1 < maxEpochs {
				epoch++
				e.times = append(e.times, l.loaded)
			}
		}
		first[i] = epoch
		same[i] = i
		if k, ok := found[l.module]; ok && (epoch == 0 || list[k.last].unloaded > e.times[epoch-1]) {
			same[i] = k.first
		}
		found[l.module] = life{same[i], i}
	}
	// The beginnings of epochs in nanoseconds. Two epochs may begin in the same
	// nanosecond, but the times of spaces must differ.
	begins := make([]int64, len(e.times)+1)
	begins[0] = -maxTime
	for i, t := range e.times {
		begins[i+1] = max(c.at(t), begins[i]+1)
	}
	var look []modules.Module
	index := make(map[int]int)
	for i := range list {
		l := &list[i]
		m := l.module
		m.PointerSize = pointer
		last, _ := slices.BinarySearch(e.times, l.unloaded)
		last = max(last, first[i])
		m.Loaded, m.Unloaded = begins[first[i]], modules.Always
		if last+1 < len(begins) {
			m.Unloaded = begins[last+1]
		}
		if k, ok := index[same[i]]; ok {
			look[k].Unloaded = max(look[k].Unloaded, m.Unloaded)
			continue
		}
		index[i] = len(look)
		look = append(look, m)
	}
	e.modules = modules.NewMap(look)
	for _, t := range begins {
		e.spaces = append(e.spaces, parser.Space{Kind: parser.EntryAddress, Time: t}, parser.Space{Kind: parser.ReturnAddress, Time: t})
	}
	return e, notes
}
