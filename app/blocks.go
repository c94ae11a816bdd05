package app

import (
	"errors"

	"logparser/calls/index"
)

var errNoIndex = errors.New("the log is not indexed yet")

// blocks returns the index that queries are asked of.
func (s *Session) blocks() index.Source { return s.table }
