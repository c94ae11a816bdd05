package app

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"logparser/export"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/parser/trace"
	"logparser/symbols"
)

// An InputError says which input is wrong. What to do about it is said by whoever
// shows it.
type InputError struct {
	// Input is which one it is.
	Input Input
	// Path is its path, or what else was given.
	Path string
	// Err is what is wrong.
	Err error
}

// An Input is one of those that a session is opened with.
type Input int

// The inputs that mistakes are told apart by.
const (
	OtherInput Input = iota
	LogInput
	ModulesInput
)

// Cause returns what is wrong, for messages that name the input themselves.
func (e *InputError) Cause() error { return message.WithoutFile(e.Path, e.Err) }

func (e *InputError) Error() string { return e.Message().String() }

// Message returns the input and what is wrong with it.
func (e *InputError) Message() message.Text { return message.Textf("%s: %v", e.Path, e.Cause()) }

func (e *InputError) Unwrap() error { return e.Err }

// Errors by which callers say what to do next.
var (
	// ErrModulesFile: a modules file was given, whose log is not beside it.
	ErrModulesFile = message.New("this is a modules file, and its log is not beside it")
	// ErrNoLog: a folder holds no log.
	ErrNoLog = message.New("no log (LogDetails.dat or .lptrace) in this folder")
	// ErrNotLog: a file does not look like a log.
	ErrNotLog = classic.ErrNotLog
	// ErrNotTrace: a file is no trace.
	ErrNotTrace = trace.ErrNotTrace
	// ErrShrunk: the log was cut or written anew while it was read.
	ErrShrunk = parser.ErrShrunk
	// ErrEncoding: there is no such encoding of modules files.
	ErrEncoding = modules.ErrEncoding
	// ErrTemporary: a symbol file cannot be unpacked.
	ErrTemporary = symbols.ErrTemporary
	// ErrOtherFile: a file that would be replaced has another content.
	ErrOtherFile = message.New("there is another file of this name")
	// ErrLink and ErrNotFile: what stands where a file is to be written is no file.
	ErrLink    = message.New("there is a link, which may lead out of the folder")
	ErrNotFile = message.New("there is something else of this name")
	// ErrParts: parts of an earlier save are there.
	ErrParts = export.ErrParts
)

// The extensions of the classic pair of files, and of the trace.
const (
	logExtension     = ".dat"
	modulesExtension = ".bin"
	traceExtension   = ".lptrace"
)

// FindPair finds the log and its modules file from one path: the log, the
// modules file, or a folder that holds one pair or one trace. modules is ""
// where there is none, and where the log needs none. It looks at names and at the beginning of files only.
func FindPair(path string) (log, modules string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", &InputError{LogInput, path, unwrapPath(err)}
	}
	if info.IsDir() {
		return findInFolder(path)
	}
	if looksLikeModules(path) {
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		if log := sameStem(stem, logExtension); log != "" {
			return log, path, nil
		}
		if log := otherName(stem, modulesName, logName); log != "" {
			if log = sameStem(log, logExtension); log != "" {
				return log, path, nil
			}
		}
		return "", "", &InputError{LogInput, path, ErrModulesFile}
	}
	if !NeedsModulesFile(path) {
		return path, "", nil
	}
	return path, modulesBeside(path), nil
}

// modulesBeside returns the modules file beside a log, or "".
func modulesBeside(log string) string {
	if sameExtension(log, modulesExtension) {
		return ""
	}
	stem := strings.TrimSuffix(log, filepath.Ext(log))
	found := sameStem(stem, modulesExtension)
	if other := otherName(stem, logName, modulesName); found == "" && other != "" {
		found = sameStem(other, modulesExtension)
	}
	if found != "" && !looksLikeModules(found) {
		return ""
	}
	return found
}

// besideTrouble says what is wrong with a file in the place of a log's modules
// file, nil where there is none, or nothing is wrong.
func besideTrouble(log string) *InputError {
	if sameExtension(log, modulesExtension) {
		return nil
	}
	path := named(strings.TrimSuffix(log, filepath.Ext(log)), modulesExtension, func(os.FileInfo) bool { return true })
	if path == "" {
		return nil
	}
	head, _, err := readHead(path)
	if err == nil && modules.Looks(head) {
		return nil
	}
	if err == nil && len(head) == 0 {
		err = message.New("it is empty")
	}
	if err == nil {
		_, err = modules.Parse(head, modules.Options{})
	}
	if err == nil {
		err = modules.ErrNoModules
	}
	return &InputError{ModulesInput, path, unwrapPath(err)}
}

// The article that the classic format comes from calls the log LegDetails.dat in
// one place, beside LogDetails.bin.
const (
	logName     = "LegDetails"
	modulesName = "LogDetails"
)

// otherName returns the stem with the other name where it has that name, in any
// case; else "".
func otherName(stem, name, other string) string {
	if dir, base := filepath.Split(stem); strings.EqualFold(base, name) {
		return filepath.Join(dir, other)
	}
	return ""
}

// sameExtension reports whether a path has that extension, in any case.
func sameExtension(path, ext string) bool { return strings.EqualFold(filepath.Ext(path), ext) }

// sameStem returns the path with that extension, in any case, if it exists.
func sameStem(stem, ext string) string {
	return named(stem, ext, func(info os.FileInfo) bool { return info.Mode().IsRegular() })
}

// named is sameStem for what is wanted.
func named(stem, ext string, wanted func(os.FileInfo) bool) string {
	for _, e := range []string{ext, strings.ToUpper(ext), strings.ToUpper(ext[:2]) + ext[2:]} {
		if info, err := os.Stat(stem + e); err == nil && wanted(info) {
			return stem + e
		}
	}
	return ""
}

// SeveralLogs says that a folder holds more than one log, so that one is to be
// chosen.
type SeveralLogs struct {
	// Logs are their paths, the one that was written last first.
	Logs []string
	// Together says that they are what was recorded of one program and of those that it
	// started: one session, in the order in which the processes began.
	Together bool
}

func (e *SeveralLogs) Error() string { return e.Message().String() }

// Message returns how many logs there are, and the names of some.
func (e *SeveralLogs) Message() message.Text {
	names := make([]string, 0, 3)
	for _, l := range e.Logs[:min(len(e.Logs), 3)] {
		names = append(names, filepath.Base(l))
	}
	return message.Textf("%d logs in this folder (%s, ...)", len(e.Logs), strings.Join(names, ", "))
}

// findInFolder finds the log of a folder: the only one, or LogDetails.dat among
// older classic logs, which our recorder renames.
func findInFolder(dir string) (log, modules string, err error) {
	if list := recordedTogether(dir); len(list) == 1 {
		return list[0], "", nil
	} else if len(list) > 1 {
		return "", "", &InputError{LogInput, dir, &SeveralLogs{Logs: list, Together: true}}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", &InputError{LogInput, dir, unwrapPath(err)}
	}
	latest := cmp.Or(sameStem(filepath.Join(dir, modulesName), logExtension), sameStem(filepath.Join(dir, logName), logExtension))
	var classic, traces []string
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		switch p := filepath.Join(dir, e.Name()); {
		case sameExtension(e.Name(), traceExtension):
			traces = append(traces, p)
		case sameExtension(e.Name(), logExtension) && p != latest && modulesBeside(p) != "":
			classic = append(classic, p)
		}
	}
	if latest != "" {
		classic = []string{latest}
	}
	logs := append(classic, traces...)
	switch len(logs) {
	case 0:
		return "", "", &InputError{LogInput, dir, ErrNoLog}
	case 1:
		if len(traces) == 1 {
			return logs[0], "", nil
		}
		return logs[0], modulesBeside(logs[0]), nil
	}
	return "", "", &InputError{LogInput, dir, &SeveralLogs{Logs: LatestFirst(logs)}}
}

// LatestFirst sorts files by the time when they were written last, the latest
// first; files that cannot be looked at come last.
func LatestFirst(paths []string) []string {
	times := make(map[string]time.Time, len(paths))
	for _, p := range paths {
		if info, err := os.Stat(p); err == nil {
			times[p] = info.ModTime()
		}
	}
	sorted := slices.Clone(paths)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return cmp.Or(times[b].Compare(times[a]), strings.Compare(a, b))
	})
	return sorted
}

// unwrapPath strips the operation and the path of a file error, for messages
// that name the path themselves.
func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
