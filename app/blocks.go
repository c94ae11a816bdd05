package app

import (
	"errors"
	"fmt"

	"logparser/calls/index"
)

var (
	errNoIndex = errors.New("the log is not indexed yet")
	errNoRow   = errors.New("there is no such row")
)

// checkRow says why nothing can be told of a row.
func (s *Session) checkRow(row int64) error {
	switch {
	case row < 0 || row >= s.rows.Len():
		return fmt.Errorf("row %d: %w", row, errNoRow)
	case row >= s.blocks().Len():
		return fmt.Errorf("row %d: %w", row, errNoIndex)
	}
	return nil
}

// blocks returns the index that queries are asked of.
func (s *Session) blocks() index.Source { return s.table }
