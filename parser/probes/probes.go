// Package probes reads what other tools print of probes as a log: the text of ftrace (trace,
// trace_pipe) and trace-cmd report, perf script, and the lines that the scripts of logparse probes
// have bpftrace, gdb, WinDbg, frida and SystemTap print.
//
// Its input is a text, a line an event; what else stands in it, such as the program's own
// output, is passed over. Its output is a [parser.Log] of one run, in the order of time.
//
// # What a line says
//
// An event has a name, a time, a thread, the address where its probe lies, and arguments
// name=value. The arrow of return probes, or the names that logparse probes wrote down
// ([Names]), tell ends of calls. With these names an address is the base of its image
// plus a known RVA, so that symbols name functions, exactly and in every process. Without them,
// mappings that perf script shows lead to the image, if that may be opened here;
// otherwise what the event's name says is the function's name, which [Log.Name] tells.
//
// # How a record is found
//
// Lines are numbered once, when the log is opened, with a mark every so many, and are read
// again from the mark. What lines told of processes is kept with the place from where on it holds
// (tables.go), so that a line always gives the same event. Where lines are not in the order
// of time, as from buffers of several processors, their places are sorted.
package probes

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/timeparse"
)

// Format is the text of probes.
var Format = parser.Format{Name: formatName, Detect: Detect, Open: func(ctx context.Context, path string, opt parser.Options, p parser.Progress) (parser.Log, error) {
	return Open(ctx, path, opt, p)
}}

const formatName = "probes"

// NamesExtension is the extension of the file with the Names. It lies beside the text and has its name, or is
// the only one in the folder.
const NamesExtension = ".lpnames"

// Detect tells a text of probes by its first lines. Lines that any text may have, such as a word with a number
// in parentheses, do not count.
func Detect(head []byte, _ int64) int {
	if len(head) == 0 || bytes.IndexByte(head, 0) >= 0 {
		return 0
	}
	var l line
	told := 0
	for len(head) > 0 {
		b := head
		if i := bytes.IndexByte(head, '\n'); i >= 0 {
			b, head = head[:i], head[i+1:]
		} else {
			head = nil
		}
		l.parse(b)
		switch l.kind {
		case eventLine:
			if l.evident || bytes.HasPrefix(l.event, []byte("lp_")) {
				return 95
			}
		case nameLine, headLine, mapLine, endLine:
			told = 90
		}
	}
	return told
}

// A Log is a text of probes. It implements [parser.Log].
type Log struct {
	file *os.File
	path string

	mu sync.RWMutex
	*tables
	info parser.Info
	// size is how much of the file was read: whole lines, of which the last may be unended, without a line feed.
	size    int64
	unended bool
	// openText says that the file ended within a text that has line feeds, of which the first line was shown.
	openText bool
	marks    []int64
	// order are the offsets of all events in the order of time, nil where that is the file's.
	order []int64
	// last is the greatest time, early counts lines with a smaller one behind it.
	last    int64
	early   int64
	other   int64 // lines that are no events
	lost    int64
	untimed int64
	valued  bool
	ticks   bool
	ended   bool
	taken   *parser.ValuesTaken
	theMap  *modules.Map
}

// every is how many events lie between two marks.
const every = 1024

// maxSorted bounds the events that are sorted.
const maxSorted = 1 << 25

// Open opens the text at a path and reads all of it once.
func Open(ctx context.Context, path string, opt parser.Options, p parser.Progress) (*Log, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &Log{file: f, path: path, tables: newTables(), last: noTime}
	l.tables.place = opt.Place
	l.readNames()
	info, err := f.Stat()
	if err == nil {
		_, err = l.scan(ctx, info.Size(), !opt.Live && time.Since(info.ModTime()) >= still, p)
	}
	if err == nil && l.early > 0 {
		err = l.sort(ctx)
	}
	if err != nil {
		f.Close()
		return nil, message.InFile(path, err)
	}
	l.describe()
	return l, nil
}

// readNames reads the names beside the text.
func (l *Log) readNames() {
	stem := strings.TrimSuffix(l.path, filepath.Ext(l.path))
	name := stem + NamesExtension
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		list, err := filepath.Glob(filepath.Join(escaped(filepath.Dir(l.path)), "*"+NamesExtension))
		if err != nil || len(list) != 1 {
			return
		}
		name = list[0]
	}
	f, err := os.Open(name)
	if err != nil {
		return
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64<<20))
	if err != nil {
		return
	}
	for line := range bytes.Lines(b) {
		if line = uncommented(bytes.TrimRight(line, "\r\n")); isNames(line) {
			l.names.line(string(line))
		}
	}
}

// escaped returns a pattern that only this folder matches.
func escaped(dir string) string {
	if os.PathSeparator == '\\' {
		return dir // there \ escapes nothing
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// describe fills in Info and the other facts about the whole log.
func (l *Log) describe() {
	l.info.Format = formatName
	l.info.Why = message.Textf("lines as perf, ftrace and the scripts of probes print them")
	l.info.Size = l.size
	l.info.Runs = nil
	l.info.Notes = nil
	if l.info.Records > 0 {
		l.info.Runs = []parser.Run{{Count: l.info.Records, HasModules: len(l.modules) > 0}}
	}
	note := func(t message.Text) { l.info.Notes = append(l.info.Notes, t) }
	if l.lost > 0 {
		note(message.Textf("%d events were lost by the tool that wrote the lines: calls may be missing", l.lost))
	}
	if l.early > 0 && l.order == nil {
		note(message.Textf("%d lines are earlier than lines before them, and are shown where they are", l.early))
	}
	if l.untimed > 0 {
		note(message.Textf("%d lines have no time: their durations are not known", l.untimed))
	}
	if l.ticks {
		note(message.Textf("the times have no decimal point: they are taken as nanoseconds"))
	}
	if len(l.names.Events) == 0 && l.info.Records > 0 {
		note(message.Textf("there is no file of names (%s) beside it: functions are called what the events are called, where no mapping leads to their symbols", NamesExtension))
	}
	list := make([]modules.Module, 0, len(l.modules))
	for i := range l.modules {
		list = append(list, l.modules[i].Module)
	}
	if l.theMap == nil || l.theMap.Len() != len(list) {
		l.theMap = modules.NewMap(list)
	}
	if l.valued && (l.taken == nil || len(l.taken.Events) != len(l.events)) {
		taken := &parser.ValuesTaken{Events: make([][]parser.ValueName, len(l.events))}
		for i, e := range l.events {
			for _, a := range e.Arguments {
				taken.Events[i] = append(taken.Events[i], parser.ValueName(a))
			}
		}
		l.taken = taken
	}
}

// Info implements [parser.Log].
func (l *Log) Info() *parser.Info {
	l.mu.RLock()
	defer l.mu.RUnlock()
	info := l.info
	return &info
}

// Modules implements [parser.Log].
func (l *Log) Modules(int) *modules.Map {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.theMap
}

// Clock implements [parser.Log].
func (l *Log) Clock(int) timeparse.Clock { return timeparse.Clock{Resolution: 1} }

// Spaces implements [parser.Log]: one a process.
func (l *Log) Spaces(int) []parser.Space {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]parser.Space, max(len(l.processes), 1))
	for i := range list {
		list[i] = parser.Space{Kind: parser.EntryAddress, Time: int64(i)}
	}
	return list
}

// Thread implements [parser.Log].
func (l *Log) Thread(key uint32) parser.Thread {
	l.mu.RLock()
	defer l.mu.RUnlock()
	h := l.holders[key]
	if h == nil {
		return parser.Thread{ID: key}
	}
	return parser.Thread{Process: h.process, ID: uint32(h.tid), Name: h.name}
}

// ExactLeaves implements [parser.Log].
func (l *Log) ExactLeaves() bool { return true }

// Truncated implements [parser.Log].
func (l *Log) Truncated() bool { return false }

// Capabilities implements [parser.Log].
func (l *Log) Capabilities() parser.Capabilities {
	return parser.Capabilities{Grower: l, ThreadLister: l, ProcessTeller: l, ValueTeller: l, Namer: l}
}

// Name implements [parser.Namer].
func (l *Log) Name(_ int, space uint16, address uint64) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.called(space, address)
}

// NamedThreads implements [parser.ThreadLister].
func (l *Log) NamedThreads(int) (keys []uint32) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for key, h := range l.holders {
		if h.name != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// Processes implements [parser.ProcessTeller].
func (l *Log) Processes(int) []parser.Process {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]parser.Process, max(len(l.processes), 1))
	for i, p := range l.processes {
		list[i].Path = p.path
		if p.pid > 0 {
			list[i].ID = uint32(p.pid)
		}
	}
	for i := range l.modules {
		list[l.modules[i].process].Modules++
	}
	return list
}

// ValuesTaken implements [parser.ValueTeller].
func (l *Log) ValuesTaken() *parser.ValuesTaken {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.taken
}

// Close implements [parser.Log].
func (l *Log) Close() error { return l.file.Close() }
