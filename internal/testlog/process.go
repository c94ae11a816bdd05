package testlog

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// A Process is a log of one process, which can be merged with others. Its leaves are exact.
type Process struct {
	*Broken
	// ID is that of the process. It has a module of its own in each space.
	ID uint32
	// Start is when its clock was 0, if it is not zero, and System its machine.
	Start  time.Time
	System string
}

// ExactLeaves implements [parser.Log].
func (l *Process) ExactLeaves() bool { return true }

// Info implements [parser.Log].
func (l *Process) Info() *parser.Info {
	return &parser.Info{Records: int64(len(l.Events)), Runs: []parser.Run{{Count: int64(len(l.Events))}}}
}

// Spaces implements [parser.Log]: space i is at the time 1,000 * i.
func (l *Process) Spaces(int) []parser.Space {
	list := make([]parser.Space, 1)
	for i := range l.Events {
		for len(list) <= int(l.Events[i].Space) {
			list = append(list, parser.Space{Time: int64(len(list)) * 1000})
		}
	}
	return list
}

// Modules implements [parser.Log]: the module of space i lies at 0x1000.
func (l *Process) Modules(int) *modules.Map {
	var list []modules.Module
	for i := range l.Spaces(0) {
		from := int64(i) * 1000
		list = append(list, modules.Module{Base: 0x1000, Size: 1 << 30, Path: fmt.Sprintf("/lib/%d/%d", l.ID, i), Loaded: from - 500, Unloaded: from + 500})
	}
	return modules.NewMap(list)
}

// Clock implements [parser.Log].
func (l *Process) Clock(int) timeparse.Clock {
	if l.Start.IsZero() {
		return timeparse.Clock{}
	}
	return timeparse.Clock{Start: l.Start, HasWall: true, HasUTC: true, Resolution: 1}
}

// Began implements [parser.ClockTeller].
func (l *Process) Began(int) (times []time.Time, system string) {
	if !l.Start.IsZero() {
		times = []time.Time{l.Start}
	}
	return times, l.System
}

// Processes implements [parser.ProcessTeller].
func (l *Process) Processes(int) []parser.Process {
	return []parser.Process{{ID: l.ID, Path: fmt.Sprintf("/bin/p%d", l.ID), Modules: l.Modules(0).Len()}}
}

// Capabilities implements [parser.Log].
func (l *Process) Capabilities() parser.Capabilities {
	can := l.Broken.Capabilities()
	can.ProcessTeller, can.ClockTeller, can.CallSiter = l, l, l
	return can
}

// HasCallSites implements [parser.CallSiter].
func (l *Process) HasCallSites() bool { return true }

// CallSites implements [parser.CallSiter]: every enter was called from behind its address.
func (l *Process) CallSites(dst []parser.CallSite, from int64) (int, error) {
	for i := range dst {
		if from+int64(i) >= int64(len(l.Events)) {
			return i, io.EOF
		}
		e := &l.Events[from+int64(i)]
		dst[i] = parser.CallSite{}
		if e.Kind == parser.Enter {
			dst[i] = parser.CallSite{Address: e.Address + 1, Space: e.Space, Known: true}
		}
	}
	return len(dst), nil
}

// RandomProcesses makes logs of so many processes with about n events in all. Their threads
// have the same ids; their clocks are those of one machine or of two.
func RandomProcesses(r *rand.Rand, processes, n int) []*Process {
	start := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	c := RandomChaos(r)
	other := int64(time.Hour) + r.Int64N(1e9)
	var list []*Process
	for i := range processes {
		p := &Process{Broken: c.Log(r, r.IntN(2*n/processes+1), 1), ID: uint32(100 + i), Start: start, System: "machine"}
		shift := int64(0)
		if r.IntN(4) == 0 {
			shift = other
			p.Start = start.Add(time.Duration(shift))
		}
		// They run at about the same time.
		if len(p.Events) > 0 {
			shift += p.Events[0].Time - r.Int64N(1e6)
			for k := range p.Events {
				p.Events[k].Time -= shift
			}
			p.EndTime -= min(shift, p.EndTime)
			for _, ends := range p.Ended {
				for k := range ends {
					ends[k] -= shift
				}
			}
		}
		list = append(list, p)
	}
	return list
}
