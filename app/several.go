package app

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"

	"logparser/calls/indexcache"
	"logparser/message"
	"logparser/parser"
	"logparser/parser/merged"
)

// How several logs are one session: the logs of processes that ran beside or after each
// other, such as a program and its children, merged by time.

// Errors of sessions of several logs.
var (
	// ErrTwice says that one log is named twice.
	ErrTwice = message.New("the log is named twice")
	// ErrFollowSeveral and ErrCorrectSeveral say what cannot be done with several logs.
	ErrFollowSeveral  = message.New("several logs at once cannot be followed")
	ErrCorrectSeveral = message.New("the durations of several logs at once cannot be corrected")
)

// Mergeable reports whether a log may be one of several: whether its format has the
// modules, and with them the process, in the same file. A file that cannot be read is not.
func Mergeable(log string) bool { return !NeedsModulesFile(log) && !isPack(log) }

// Logs returns the paths of all logs.
func (in *Inputs) Logs() []string { return append([]string{in.Log}, in.Others...) }

// LogNames returns the base names of the logs, for people.
func (in *Inputs) LogNames() string {
	var names []string
	logs := in.Logs()
	if in.packed != nil {
		logs = in.packed.logs
	}
	for _, path := range logs {
		names = append(names, filepath.Base(path))
	}
	return strings.Join(names, ", ")
}

// openSeveral opens the logs of the inputs as one, and says how it put their events in
// order.
func (formats Formats) openSeveral(ctx context.Context, in Inputs, p Progress) (log parser.Log, order message.Text, err error) {
	var sources []merged.Source
	defer func() {
		for _, s := range sources {
			if err != nil {
				s.Log.Close()
			}
		}
	}()
	var files []os.FileInfo
	total := int64(0)
	for _, path := range in.Logs() {
		st, err := os.Stat(path)
		if err != nil {
			return nil, order, &InputError{LogInput, path, unwrapPath(err)}
		}
		for _, other := range files {
			if os.SameFile(st, other) {
				return nil, order, &InputError{LogInput, path, ErrTwice}
			}
		}
		files = append(files, st)
		total += st.Size()
	}
	// Opening them is one half of the work, and merging them the other.
	done := int64(0)
	part := func(size int64) Progress {
		if p == nil {
			return nil
		}
		return func(stage Stage, n, of int64) {
			p(stage, done+int64(float64(size)*float64(n)/float64(max(of, 1))), 2*total)
		}
	}
	for i, path := range in.Logs() {
		one := in
		one.Log, one.Modules = path, ""
		log, _, err := formats.openLog(ctx, one, nil, part(files[i].Size()))
		if err == nil {
			sources = append(sources, merged.Source{Name: filepath.Base(path), Log: log})
			if err = merged.Check(log); err != nil {
				err = &InputError{LogInput, path, err}
			}
		}
		if err != nil {
			return nil, order, err
		}
		done += files[i].Size()
	}
	all, err := merged.Open(ctx, sources, part(total).of(StageOpen))
	if err != nil {
		if ctx.Err() == nil {
			err = openError(in, err)
		}
		return nil, order, err
	}
	return all, orderText(all.Order()), nil
}

// orderText says how the order of the rows of several processes was made.
func orderText(o merged.Order) message.Text {
	switch o {
	case merged.ByMachine:
		return message.Textf("the rows of the processes are in the order of the monotonic clock of their machine")
	case merged.ByWall:
		return message.Textf("the rows of the processes are in the order of the time of day, because they have no other clock in common; between processes the order is only as right as their clocks were")
	}
	return message.Textf("of some processes nothing tells how their clock relates to those of the others, so the order between processes may be wrong")
}

// state is stateOf for the logs of the inputs, as they are now.
func (in *Inputs) state() (s logState, ok bool) {
	if len(in.Others) == 0 {
		return stateOf(in.Log, nil)
	}
	h := sha256.New()
	for i, path := range in.Logs() {
		one, ok := stateOf(path, nil)
		if !ok {
			return s, false
		}
		h.Write(one.key[:])
		s.size += one.size
		s.time = max(s.time, one.time)
		if i == 0 {
			s.key = one.key
		}
	}
	// The beginning of the key says which log it is of; see stateOf.
	copy(s.key[indexcache.LogBytes:], h.Sum(nil))
	return s, true
}
