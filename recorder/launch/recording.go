package launch

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"logparser/message"
	"logparser/parser/trace/wire"
)

// marker is the file that tells that the logs of a folder belong together, and its first line.
const (
	marker     = "recording.txt"
	markerHead = "LogParser recording 1"
)

// mark writes the marker. The lines behind its first one are for people.
func (p *Plan) mark() error {
	text := fmt.Sprintf("%s\nprogram: %q\nway in: %s\nstarted: %s\n", markerHead, p.Program.Path, p.Way.Reason, time.Now().Format(time.RFC3339))
	return p.put(marker, 0, []byte(text))
}

// IsRecording reports whether a folder holds what was recorded of one program and of those
// that it started.
func IsRecording(dir string) bool {
	f, err := os.Open(filepath.Join(dir, marker))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return false
	}
	line, err := bufio.NewReaderSize(f, 256).ReadSlice('\n')
	return err == nil && strings.TrimRight(string(line), "\r\n") == markerHead
}

// A Log is a trace that a recorded process wrote.
type Log struct {
	Path string
	PID  uint32
	// Size is the file's, bytes.
	Size int64
	// Running says that the recording has not ended, and that its process still runs.
	Running bool

	header wire.Header
}

// Logs returns the logs of a folder, in the order in which their processes began to
// record.
func Logs(dir string) ([]Log, error) {
	paths, err := logsIn(dir)
	if err != nil {
		return nil, err
	}
	var logs []Log
	for _, path := range paths {
		l, err := readLog(path)
		if err != nil {
			// The process was killed while it made its log, or is just making it.
			continue
		}
		logs = append(logs, l)
	}
	slices.SortStableFunc(logs, func(a, b Log) int {
		return cmp.Or(cmp.Compare(a.header.Begin, b.header.Begin), strings.Compare(a.Path, b.Path))
	})
	return logs, nil
}

// logsIn returns the paths of a folder's traces.
func logsIn(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.EqualFold(filepath.Ext(e.Name()), ".lptrace") && !strings.Contains(e.Name(), ".snapshot") {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return paths, nil
}

func readLog(path string) (l Log, err error) {
	f, err := os.Open(path)
	if err != nil {
		return l, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return l, err
	}
	head := make([]byte, wire.HeaderUsed)
	if _, err := f.ReadAt(head, 0); err != nil {
		return l, err
	}
	l = Log{Path: path, Size: info.Size()}
	if l.header, err = wire.ParseHeader(head); err != nil {
		return l, err
	}
	l.PID = l.header.PID
	l.Running = l.header.State == wire.StateRecording && alive(&l.header)
	return l, nil
}

// An Ending is how a program ended.
type Ending struct {
	// Status is its exit status, where no signal ended it.
	Status int
	// Signal ended it, unless it is 0.
	Signal int
	Core   bool
	// Lasted is how long it ran.
	Lasted time.Duration

	pid  uint32
	when instant
	// unknown: only when it ended is known.
	unknown bool
}

// running is the process of a plan while it runs.
type running struct {
	mu    sync.Mutex
	child *os.Process
}

func (r *running) set(child *os.Process) {
	r.mu.Lock()
	r.child = child
	r.mu.Unlock()
}

// do calls f with the process, unless there is none or it has just ended.
func (r *running) do(f func(child *os.Process) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.child == nil {
		return nil
	}
	if err := f(r.child); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// A Result is what was recorded.
type Result struct {
	Logs []Log
	// Trouble says why the program's log does not say how it ended, nil where it does, or
	// where there is no log.
	Trouble error
}

// OwnLog returns the path of the log that the program itself wrote, "" for none. pid is the id that Run passed
// to started. Under wine that is the id of wine; the log has the id that wine gave the process.
func (p *Plan) OwnLog(logs []Log, pid int) string {
	i := slices.IndexFunc(logs, func(l Log) bool { return int(l.PID) == pid || p.Symbols() != "" })
	if i < 0 {
		return ""
	}
	return logs[i].Path
}

// Finish writes how the program ended into its log, and returns what was recorded. If nothing was recorded the
// folder is removed.
func (p *Plan) Finish(e Ending) (Result, error) {
	logs, err := Logs(p.Dir)
	if err != nil {
		return Result{}, err
	}
	runtime.KeepAlive(p.held)
	r := Result{Logs: logs}
	// A process that became another program by exec has a log of each: the last is that of
	// the program that ended.
	for _, l := range slices.Backward(logs) {
		if l.PID == e.pid && e.pid != 0 {
			if err := AppendExit(l.Path, e); err != nil {
				r.Trouble = message.Errorf("%s: how the program ended could not be written: %w", filepath.Base(l.Path), err)
			}
			break
		}
	}
	if len(logs) == 0 {
		p.Discard()
	}
	return r, nil
}
