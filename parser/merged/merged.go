// Package merged makes one log of the logs of several processes.
//
// Each of the logs is of one process, with modules, address spaces, threads and a
// clock of its own. The merged log has one run, with the events of all of them in
// order of time. Of equal times those of the earlier log come first, and the events
// of one log keep their order, whatever their times are: it is a merge, not a sort.
//
// # What is translated
//
//   - Times are those of one clock, of the first log that knows the time of day or
//     else of the first; clock.go says how the others are brought to it.
//   - A value of Event.Thread is the place of a thread, or of a strand of it, in a table
//     (threads.go). All of them are known once the log is opened.
//   - The spaces of the logs follow each other. An address means something only in
//     a space, and the modules of a space are those of its process: spaces of a process
//     and time have a time of their own, which is none of the clock, at which only
//     these live.
//   - Numbers of coroutines' stacks count through all the logs.
//
// # How a record is found
//
// Open goes over all events once. Then every so many records it is known which record
// of each log comes next, and from there on the merge is made again (cursor.go).
package merged

import (
	"cmp"
	"context"
	"math"
	"slices"

	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// A Source is one of the logs to be merged.
type Source struct {
	// Name is what the log is called in notes: the base name of its file.
	Name string
	Log  parser.Log
}

// ErrOther says that a log is not one that can be merged with others.
var ErrOther = message.New("only logs that say which process wrote them, as traces do, can be shown together")

// ErrMany says that the logs have more address spaces than can be told apart.
var ErrMany = message.New("these are too many processes, or their modules changed too often, to be shown together")

// MaxLogs is how many logs can be merged.
const MaxLogs = 1000

// A Log is several logs. It implements [parser.Log].
type Log struct {
	parts   []*part
	info    parser.Info
	order   Order
	modules *modules.Map
	spaces  []parser.Space
	clock   timeparse.Clock
	// threads are what Event.Thread is an index into.
	threads []thread
	// marks are the records of the logs that come next every so many records of this
	// one; see cursor.go.
	marks []int64
	every int64
	// taken is nil where no log has values; takenReader says that all that have some read them quickly.
	taken       *parser.ValuesTaken
	takenReader bool
	pool
}

// A part is one of the logs.
type part struct {
	Source
	can       parser.Capabilities
	processes []parser.Process
	// records is how many the log has.
	records int64
	// shift is added to times, firstSpace to spaces, stacks to numbers of stacks other
	// than 0, and process to numbers of processes.
	shift      int64
	firstSpace uint16
	stacks     uint32
	process    int
	// keys leads from the log's values of Event.Thread to those of the merged log.
	keys map[uint32]uint32
	// taken is nil where the log has no values.
	taken *parser.ValuesTaken
	// last is the time of the last event that is not damaged, of the merged log's clock.
	last int64
}

// Open merges logs, which belong to the merged log then: closing it closes them. Where
// they cannot be merged they are not closed. p is told the records done.
func Open(ctx context.Context, sources []Source, p parser.Progress) (*Log, error) {
	if len(sources) > MaxLogs {
		return nil, ErrMany
	}
	l := &Log{}
	for _, s := range sources {
		if err := Check(s.Log); err != nil {
			return nil, message.InFile(s.Name, err)
		}
		of := &part{Source: s, can: s.Log.Capabilities(), records: s.Log.Info().Records, last: math.MinInt64}
		of.processes = of.can.ProcessTeller.Processes(0)
		l.parts = append(l.parts, of)
	}
	l.setClock()
	if err := l.setSpaces(); err != nil {
		return nil, err
	}
	if err := l.scan(ctx, p); err != nil {
		return nil, err
	}
	l.describe()
	l.setValues()
	return l, nil
}

// Check returns an error if a log cannot be merged with others.
func Check(log parser.Log) error {
	if log.Capabilities().ProcessTeller == nil || len(log.Info().Runs) > 1 || !log.ExactLeaves() || log.Truncated() {
		return ErrOther
	}
	return nil
}

// spaceTimes is how many times the modules of one log are asked for at most: a log
// cannot have more spaces.
const spaceTimes = 1 << 16

// setSpaces numbers the spaces, and has the modules of each process live only at the times
// of its own. Log i has the times from i * spaceTimes on: one for each time of its spaces,
// in their order.
func (l *Log) setSpaces() error {
	var list []modules.Module
	for i, of := range l.parts {
		spaces := of.Log.Spaces(0)
		if len(l.spaces)+len(spaces) > math.MaxUint16+1 {
			return ErrMany
		}
		of.firstSpace = uint16(len(l.spaces))
		var times []int64
		for _, s := range spaces {
			times = append(times, s.Time)
		}
		slices.Sort(times)
		times = slices.Compact(times)
		// place returns where a time lies among those of the spaces.
		place := func(time int64) int64 {
			k, _ := slices.BinarySearch(times, time)
			return int64(i)*spaceTimes + int64(k)
		}
		for _, s := range spaces {
			s.Time = place(s.Time)
			l.spaces = append(l.spaces, s)
		}
		m := of.Log.Modules(0)
		for k := range m.Len() {
			mod := *m.At(k)
			mod.Loaded, mod.Unloaded = place(mod.Loaded), place(mod.Unloaded)
			list = append(list, mod)
		}
		if i > 0 {
			before := l.parts[i-1]
			of.process = before.process + len(before.processes)
		}
		if len(of.processes) == 1 {
			of.processes[0].Modules = m.Len()
		}
	}
	l.modules = modules.NewMap(list)
	return nil
}

// describe makes the merged log's Info.
func (l *Log) describe() {
	i := &l.info
	for _, of := range l.parts {
		one := of.Log.Info()
		i.Format = one.Format
		i.Size += one.Size
		i.Records += of.records
		i.DamageBytes += one.DamageBytes
		for _, d := range one.Damage {
			d.Reason = message.Textf("%s: %s", of.Name, d.Reason)
			i.Damage = append(i.Damage, d)
		}
		for _, n := range one.Notes {
			i.Notes = append(i.Notes, message.Textf("%s: %s", of.Name, n))
		}
	}
	i.Damage = slices.Clip(i.Damage[:min(len(i.Damage), parser.MaxDamage)])
	i.Why = message.Textf("%d logs, merged by time", len(l.parts))
	i.Runs = []parser.Run{{Count: i.Records, HasModules: l.modules.Len() > 0}}
}

// Info implements [parser.Log].
func (l *Log) Info() *parser.Info { return &l.info }

// Modules implements [parser.Log].
func (l *Log) Modules(int) *modules.Map { return l.modules }

// Clock implements [parser.Log].
func (l *Log) Clock(int) timeparse.Clock { return l.clock }

// Spaces implements [parser.Log].
func (l *Log) Spaces(int) []parser.Space { return l.spaces }

// ExactLeaves implements [parser.Log].
func (l *Log) ExactLeaves() bool { return true }

// Truncated implements [parser.Log].
func (l *Log) Truncated() bool { return false }

// Close closes the logs.
func (l *Log) Close() error {
	var first error
	for _, of := range l.parts {
		first = cmp.Or(first, of.Log.Close())
	}
	return first
}
