// Package export writes rows to files. Each format has a file of this package (folded stacks: collapsed.go). Tables are written
// by writeLines (blocks.go), calls by writeCalls (walk.go).
//
// Its input is a [rows.Source]. Its output has the same bytes on every system. Tables are formatted in blocks by as many
// goroutines as there are processors, and written in order. Formats of calls are written by one goroutine that walks over the
// rows with a stack for each thread. In both, memory does not grow with the number of rows. Saving is atomic: [WriteFile]
// writes a temporary file and renames it, and [Save] does so for as many files as the limits of a format require.
//
// docs/formats.md describes the formats.
package export

import (
	"context"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"logparser/rows"
)

// Options are the choices for a saved file. The zero value is the default.
type Options struct {
	// BOM writes a byte order mark first. CRLF ends lines as Windows does.
	BOM, CRLF bool
	// Raw writes csv cells unchanged even if a spreadsheet would execute them as formulas.
	Raw bool
	// Weight is what collapsed stacks count. ByThread separates the stacks of different threads.
	Weight   Weight
	ByThread bool
	// Split says when [Save] begins another file. 0 stands for the format's own limit, and [NoLimit] for none.
	Split Limits
	// Mode limits the permissions of a file that is new; 0 stands for the usual ones.
	Mode fs.FileMode
	// KeepParts makes [Save] fail rather than replace parts of an earlier save, if the user was not asked.
	KeepParts bool
	// From is the first row that is written. NoHead leaves out what stands before the rows. Both serve to append to an existing
	// file.
	From   int64
	NoHead bool
	// MostRows is the number of rows for which the columns of a text table must be wide enough. 0 stands for the rows that
	// exist.
	MostRows int64
	// Columns are the columns of a table, in order; nil for the format's own.
	Columns []*rows.Column
	// Runs, if not nil, returns the runs of the rows that exist when it is called. If it is nil, all rows belong to one run.
	// Formats of calls need it, and tables to show times as UTC.
	Runs func() []rows.Run
	// Annotations are written by the formats of calls that can hold them; nil for none.
	Annotations Annotations
	// Header is written at the beginning of formats that have a header.
	Header rows.Header
	// Progress, if not nil, is called with the number of rows that were written so far, at most about twenty times a second.
	Progress func(done, total int64)
}

// A Format is a file format for rows.
type Format struct {
	// Name is what the user calls it. Title describes it in a few words of English; the window has its own titles.
	Name, Title string
	// Extension is the file's extension without the first dot.
	Extension string
	// Live says that rows can be appended to a file ([Options.From], [Options.NoHead]).
	Live bool
	// Limits say when [Save] begins another file.
	Limits Limits
	// Whole says that the format sums up all rows, so that it cannot be split.
	Whole bool
	// Table says that the format is a table of rows, of which the user may choose the columns.
	Table bool
	// RecordedTimes says that calls last from the recorded time of their enter to that of their leave, even if durations are
	// corrected elsewhere.
	RecordedTimes bool

	// columns are the default columns of a table for programs.
	columns []string
	write   func(ctx context.Context, out *output, src rows.Source, opt Options) error
}

// Formats returns the formats, the default first.
func Formats() []Format {
	return []Format{
		{Name: "txt", Title: "Text table", Extension: "txt", Live: true, Table: true, write: writeTXT},
		{Name: "csv", Title: "Comma-separated values", Extension: "csv", Live: true, Table: true, columns: csvColumns, write: writeCSV},
		{Name: "jsonl", Title: "JSON Lines", Extension: "jsonl", Live: true, Table: true, columns: csvColumns, write: writeJSONL},
		{Name: "tracer", Title: "Tracer lines", Extension: "tracer.txt", Live: true, RecordedTimes: true, write: writeTracer},
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

// Write writes the rows that src has when it is called as one file, whatever [Options.Split] says. If ctx is cancelled, it
// returns the context's error. Other errors name the row and wrap the error of the source or the writer.
func (f Format) Write(ctx context.Context, w io.Writer, src rows.Source, opt Options) error {
	return f.writeTo(ctx, &output{w: w}, src, opt)
}

// writeTo asks the source for the fields that the columns need, and writes the rows.
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
	if opt.Header.Sites && (f.Name == "txt" || f.Name == "tracer") && len(opt.Columns) == 0 {
		needs |= rows.CallSites
	}
	return f.write(ctx, out, rows.With(src, needs), opt)
}

// runs returns the runs of the rows, or nil if all rows belong to one run of which nothing else is known.
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
