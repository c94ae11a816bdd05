package parser

import (
	"errors"
	"io/fs"
	"os"

	"logparser/message"
)

// A Checker is a log that can tell whether its file is still the one that was
// read, without taking in what was added.
type Checker interface {
	// Check returns an error that wraps [ErrShrunk], [ErrReplaced] or
	// [fs.ErrNotExist] (the file was removed) if the log is not what it was. It
	// is cheap where nothing has changed.
	Check() error
}

// ErrReplaced says that the log's path leads to another file than the one that
// was opened.
var ErrReplaced = message.New("another file stands in the log's place")

// StatOpened returns what the system knows of a file that was opened, or an
// error if its path does not lead to it any more. Where the path cannot be
// looked at now, as on a network drive, that is no error.
func StatOpened(path string, opened *os.File) (fs.FileInfo, error) {
	here, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	st, statErr := opened.Stat()
	if statErr != nil {
		return nil, statErr
	}
	if err == nil && !os.SameFile(here, st) {
		return nil, message.InFile(path, ErrReplaced)
	}
	return st, nil
}
