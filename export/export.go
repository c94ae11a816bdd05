// Package export writes rows to files: one file of this package a format
// (folded stacks: collapsed.go). Tables go through writeLines (blocks.go), calls
// through writeCalls (walk.go).
//
// Its input is a [rows.Source]; its output is the same bytes on every system.
// Tables are formatted in blocks by as many goroutines as there are processors
// and written in order. Formats of calls are made by one that walks over the
// rows with a stack for each thread. Memory does not grow with the log in
// either. Saving is atomic: [WriteFile] writes beside the target and renames,
// and [Save] does so with as many files as a format's readers need.
//
// docs/formats.md describes the formats.
package export

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"logparser/rows"
)

// Options are the user's choices for a saved file. The zero value is the
// default.
type Options struct {
	// BOM writes a byte order mark first; CRLF ends lines as Windows does.
	BOM, CRLF bool
	// Raw leaves csv cells alone that a spreadsheet would run as a formula.
	Raw bool
	// Weight is what folded stacks count, and ByThread keeps those of each thread
	// apart.
	Weight   Weight
	ByThread bool
	// Split is where [Save] begins another file; what is 0 in it is as the
	// format has it, and [NoLimit] lifts the format's own limit.
	Split Limits
	// KeepParts makes [Save] refuse to touch parts of an earlier save, where the
	// user was not asked.
	KeepParts bool
	// From is the first row that is written, and NoHead leaves out what stands before the
	// rows: both are for adding to a file that exists.
	From   int64
	NoHead bool
	// MostRows is how many rows there may be at most, where the columns of a text table are to be as
	// wide as these would need; 0: as wide as those that there are.
	MostRows int64
	// Columns are those of a table, in order; nil for the format's own.
	Columns []*rows.Column
	// Runs, if not nil, returns the runs that the rows are of, as far as there
	// are rows when it is called; without it all are of one. Formats of calls
	// ask for them.
	Runs func() []rows.Run
	// Annotations are those that formats of calls write, as far as they have
	// something for them; nil for none.
	Annotations Annotations
	// Header is written at the head of formats that have one.
	Header rows.Header
	// Progress, if not nil, is told the rows written so far, at most some
	// twenty times a second.
	Progress func(done, total int64)
}

// A Format is one kind of file to save.
type Format struct {
	// Name is the word the user says, and Title what it is in a few words, in English; the window has its own.
	Name, Title string
	// Extension is the file's extension without the first dot.
	Extension string
	// Live says that rows stand in it one after the other, so that a file
	// can go on with the rows that come ([Options.From], [Options.NoHead]).
	Live bool
	// Limits are where [Save] begins another file.
	Limits Limits
	// Whole says that it sums up all rows: it cannot be split.
	Whole bool
	// Table says that it is a table of rows, of which the user may choose the columns.
	Table bool
	// RecordedTimes says that it has calls from the time of their enter to that
	// of their leave, and not their durations, which may be corrected.
	RecordedTimes bool

	// columns are those of a table for programs where none are chosen.
	columns []string
	write   func(ctx context.Context, out *output, src rows.Source, opt Options) error
}

// Formats returns the formats, the default first.
func Formats() []Format {
	return []Format{
		{Name: "txt", Title: "Text table", Extension: "txt", Live: true, Table: true, write: writeTXT},
		{Name: "csv", Title: "Comma-separated values", Extension: "csv", Live: true, Table: true, columns: csvColumns, write: writeCSV},
		{Name: "jsonl", Title: "JSON Lines", Extension: "jsonl", Live: true, Table: true, columns: csvColumns, write: writeJSONL},
		{Name: "html", Title: "Web page", Extension: "html", Limits: Limits{Rows: 100_000}, Table: true, write: writeHTML},
		{Name: "chrome", Title: "Chrome trace", Extension: "json", Limits: Limits{Rows: 1_000_000, Bytes: 240 << 20}, RecordedTimes: true, write: writeChrome},
		{Name: "perfetto", Title: "Perfetto trace", Extension: "pftrace", Limits: Limits{Bytes: 1 << 30}, RecordedTimes: true, write: writePerfetto},
		{Name: "speedscope", Title: "Speedscope profile", Extension: "speedscope.json", Limits: Limits{Bytes: 400 << 20}, RecordedTimes: true, write: writeSpeedscope},
		{Name: "folded", Title: "Folded stacks, for flame graphs", Extension: "folded", Whole: true, RecordedTimes: true, write: writeFolded},
		{Name: "callgrind", Title: "Callgrind profile", Extension: "callgrind", Whole: true, RecordedTimes: true, write: writeCallgrind},
		{Name: "parquet", Title: "Parquet table", Extension: "parquet", Limits: Limits{Rows: 20_000_000}, Table: true, columns: parquetNames, write: writeParquet},
	}
}

// FormatOf returns the format whose extension a path has.
func FormatOf(path string) (Format, bool) {
	var found Format
	name := strings.ToLower(filepath.Base(path))
	for _, f := range Formats() {
		if strings.HasSuffix(name, "."+f.Extension) && len(f.Extension) > len(found.Extension) {
			found = f
		}
	}
	return found, found.Name != ""
}

// Write writes all rows that src has at the call, as one file whatever
// [Options.Split] says. It stops with the context's error when cancelled.
// Other errors name the row and wrap the source's or the writer's error.
func (f Format) Write(ctx context.Context, w io.Writer, src rows.Source, opt Options) error {
	return f.writeTo(ctx, &output{w: w}, src, opt)
}

// writeTo has the source fill in what the columns need.
func (f Format) writeTo(ctx context.Context, out *output, src rows.Source, opt Options) error {
	if !f.Table {
		opt.Columns = nil
	}
	needs := rows.Needs(opt.Columns)
	if opt.Header.Values && len(opt.Columns) == 0 {
		needs |= rows.Values
		if len(f.columns) > 0 {
			opt.Columns = defaultColumns(&opt.Header, f.columns)
		}
	}
	if opt.Header.Sites && f.Name == "txt" && len(opt.Columns) == 0 {
		needs |= rows.CallSites
	}
	return f.write(ctx, out, rows.With(src, needs), opt)
}

// runs returns the runs that the rows are of, nil for one that nothing more is
// known of.
func (opt *Options) runs() []rows.Run {
	if opt.Runs == nil {
		return nil
	}
	return opt.Runs()
}

const byteOrderMark = "\uFEFF"

func (opt *Options) lineEnd() string {
	if opt.CRLF {
		return "\r\n"
	}
	return "\n"
}
