package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"logparser/modules"
)

// An InputError says which input is wrong and what to do about it.
type InputError struct {
	// Path is the input.
	Path string
	// Err is what is wrong.
	Err error
	// Next is what to do next, a sentence without a full stop; "" for
	// nothing.
	Next string
}

func (e *InputError) Error() string {
	s := e.Err.Error()
	if !strings.HasPrefix(s, e.Path) {
		s = e.Path + ": " + s
	}
	if e.Next != "" {
		s += "; " + e.Next
	}
	return s
}

func (e *InputError) Unwrap() error { return e.Err }

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
		return "", "", &InputError{path, unwrapPath(err), "give the path of a log, of its modules file or of their folder"}
	}
	if info.IsDir() {
		return findInFolder(path)
	}
	if looksLikeModules(path) {
		stem := strings.TrimSuffix(path, filepath.Ext(path))
		if log := sameStem(stem, logExtension); log != "" {
			return log, path, nil
		}
		return "", "", &InputError{path, errors.New("this is a modules file, and its log is not beside it"),
			"give the log as well, with --modules for this file"}
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
	found := sameStem(strings.TrimSuffix(log, filepath.Ext(log)), modulesExtension)
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
		err = errors.New("it is empty")
	}
	if err == nil {
		_, err = modules.Parse(head, "")
	}
	if err == nil {
		err = modules.ErrNoModules
	}
	return &InputError{path, unwrapPath(err), ""}
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

var errNoLog = errors.New("no log (LogDetails.dat or .lptrace) in this folder")

func findInFolder(dir string) (log, modules string, err error) {
	if log := sameStem(filepath.Join(dir, "LogDetails"), logExtension); log != "" {
		return log, modulesBeside(log), nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", &InputError{dir, unwrapPath(err), ""}
	}
	var logs []string
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		switch {
		case sameExtension(e.Name(), traceExtension):
			logs = append(logs, filepath.Join(dir, e.Name()))
		case sameExtension(e.Name(), logExtension):
			if p := filepath.Join(dir, e.Name()); modulesBeside(p) != "" {
				logs = append(logs, p)
			}
		}
	}
	switch len(logs) {
	case 0:
		return "", "", &InputError{dir, errNoLog, "give the log itself"}
	case 1:
		if sameExtension(logs[0], traceExtension) {
			return logs[0], "", nil
		}
		return logs[0], modulesBeside(logs[0]), nil
	}
	sort.Strings(logs)
	names := make([]string, 0, 3)
	for _, l := range logs[:min(len(logs), 3)] {
		names = append(names, filepath.Base(l))
	}
	return "", "", &InputError{dir, fmt.Errorf("%d logs in this folder (%s, ...)", len(logs), strings.Join(names, ", ")), "give one of them"}
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
