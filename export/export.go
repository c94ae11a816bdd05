// Package export writes rows to files: one file of this package a format.
//
// Its input is a [rows.Source]; its output is the same bytes on every system.
// Rows are formatted in blocks by as many goroutines as there are processors
// and written in order, so memory does not grow with the log. Saving is
// atomic: [WriteFile] writes beside the target and renames.
//
// docs/formats.md describes the formats.
package export

import (
	"context"
	"fmt"
	"io"

	"logparser/rows"
)

// Options are the user's choices for a saved file. The zero value is the
// default.
type Options struct {
	// BOM writes a byte order mark first; CRLF ends lines as Windows does.
	BOM, CRLF bool
	// Raw leaves csv cells alone that a spreadsheet would run as a formula.
	Raw bool
	// From leaves out the rows before it, and NoHead what stands before the
	// first row: for what goes on with a file.
	From   int64
	NoHead bool
	// Header is written at the head of formats that have one (txt).
	Header rows.Header
	// Progress, if not nil, is told the rows written so far, at most some
	// twenty times a second.
	Progress func(done, total int64)
}

// A Format is one kind of file to save.
type Format struct {
	// Name is the word the user says, and the file's extension without dot.
	Name string
	// Write writes all rows that src has at the call. It stops with the
	// context's error when cancelled. Other errors name the row and wrap the
	// source's or the writer's error.
	Write func(ctx context.Context, w io.Writer, src rows.Source, opt Options) error
}

// Formats returns the formats, the default first.
func Formats() []Format {
	return []Format{
		{"txt", writeTXT},
		{"csv", writeCSV},
		{"jsonl", writeJSONL},
	}
}

const byteOrderMark = "\uFEFF"

func (opt *Options) lineEnd() string {
	if opt.CRLF {
		return "\r\n"
	}
	return "\n"
}

// writeHead writes what stands before the first row, if it is wanted.
func (opt *Options) writeHead(w io.Writer, head []byte) error {
	if opt.NoHead {
		return nil
	}
	if _, err := w.Write(head); err != nil {
		return fmt.Errorf("writing the header: %w", err)
	}
	return nil
}
