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
	Log
	// Check returns an error that wraps [ErrShrunk], [ErrReplaced] or
	// [fs.ErrNotExist] (the file was removed) if the log is not what it was. It
	// is cheap where nothing has changed.
	Check() error
}

// ErrReplaced says that the log's path leads to another file than the one that
// was opened.
var ErrReplaced = message.New("another file stands in the log's place")

// CheckPath reports whether a path still leads to the file that was opened.
func CheckPath(path string, opened *os.File) error {
	here, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil // it cannot be looked at now, as on a network drive
	}
	st, err := opened.Stat()
	if err == nil && !os.SameFile(here, st) {
		return message.InFile(path, ErrReplaced)
	}
	return nil
}
