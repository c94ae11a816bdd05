package app

import (
	"errors"
	"io/fs"

	"logparser/parser"
)

// A FileChange is what has become of a log's file since it was opened.
type FileChange int

const (
	Unchanged FileChange = iota // or only grown
	Cut                         // shorter than what was read, or written anew
	Replaced                    // another file stands in its place
	Removed                     // nothing stands there
)

// CheckLog looks at the log's file again, without taking in what was added. It
// is cheap; what a session that is followed finds is told by [Session.Follow].
func (s *Session) CheckLog() FileChange {
	if s.can.Checker == nil {
		return Unchanged
	}
	switch err := s.can.Checker.Check(); {
	case errors.Is(err, parser.ErrShrunk):
		return Cut
	case errors.Is(err, parser.ErrReplaced):
		return Replaced
	case errors.Is(err, fs.ErrNotExist):
		return Removed
	}
	return Unchanged
}
