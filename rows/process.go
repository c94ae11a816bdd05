package rows

import "strconv"

// A Process is one of several that the rows of a session are of. Rows of one process
// alone have none.
type Process struct {
	// Number counts the session's processes from 1.
	Number int
	// ID is the system's id of the process, 0 where it is not known, and Name the
	// base name of its executable, or "".
	ID   uint32
	Name string
	// Label is what it is called: id and name. No other of the session has it.
	Label string
}

// Text returns the label, "" of none.
func (p *Process) Text() string {
	if p == nil {
		return ""
	}
	return p.Label
}

// number returns the number, 0 of none.
func (p *Process) number() int {
	if p == nil {
		return 0
	}
	return p.Number
}

// LabelProcesses numbers and labels the processes of a session.
func LabelProcesses(list []*Process) {
	taken := make(map[string]bool, len(list))
	for i, p := range list {
		p.Number = i + 1
		p.Label = "?"
		if p.ID != 0 {
			p.Label = strconv.FormatUint(uint64(p.ID), 10)
		}
		if p.Name != "" {
			p.Label += " " + p.Name
		}
		for label, n := p.Label, 2; taken[p.Label]; n++ {
			p.Label = label + " (" + strconv.Itoa(n) + ")"
		}
		taken[p.Label] = true
	}
}

// A Track is what calls lie in one within the other: a thread of a process, or a stack of
// a coroutine.
type Track uint64

const (
	// stackTrack is set in the tracks of coroutines' stacks.
	stackTrack = 1 << 31
	// processTrack is where a track has the number of its process.
	processTrack = 32
)

// TrackOf returns the track of calls on a stack of a thread.
func TrackOf(p *Process, thread, stack uint32) Track {
	t := Track(thread)
	if stack != 0 {
		t = Track(stackTrack | stack)
	}
	return t | Track(p.number())<<processTrack
}

// Track returns the track of a row.
func (r *Row) Track() Track { return TrackOf(r.Process, r.Thread, r.Stack) }

// Home returns the track of the row's thread itself.
func (r *Row) Home() Track { return TrackOf(r.Process, r.Thread, 0) }

// ID returns what tells a track from others of its process: the id of the thread, or a
// number that no thread has.
func (t Track) ID() uint32 { return uint32(t) }

// ProcessNumber returns the number of the track's process, 0 where there is one.
func (t Track) ProcessNumber() int { return int(t >> processTrack) }

// Process returns the track's process in the log of the header, nil where there is only one.
func (h *Header) Process(t Track) *Process {
	if i := t.ProcessNumber() - 1; i >= 0 && i < len(h.Processes) {
		return h.Processes[i]
	}
	return nil
}

// StackName returns the name of a track that is a stack in the log of the header, "" for a
// thread's.
func (h *Header) StackName(t Track) string {
	if h.Stacks && t&stackTrack != 0 {
		return "stack " + strconv.FormatUint(uint64(t.ID()&^stackTrack), 10)
	}
	return ""
}
