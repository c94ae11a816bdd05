// Package report is what is told of a dead process, and writes it: as text, as a page
// (HTML), as JSON, and as a debugger prints a backtrace.
//
// A [Report] is plain data; who fills it has asked the symbols. Saved reports are in
// English, name files by what is needed to find them, and are the same on
// every system.
package report

import (
	"fmt"
	"io"
	"strings"

	"logparser/message"
)

// A Report is what is told of a dead process.
type Report struct {
	// File is the dump's base name, Format what it is.
	File        string `json:"file"`
	Format      string `json:"format"`
	System      string `json:"system,omitempty"`
	Machine     string `json:"machine"`
	Program     string `json:"program,omitempty"`
	CommandLine string `json:"command_line,omitempty"`
	PID         int64  `json:"pid,omitempty"`
	// Time is when the dump was written, in UTC, "" where that is not known.
	Time  string `json:"time,omitempty"`
	Cause string `json:"cause"`
	// Signal or exception, and its code.
	Code string `json:"code,omitempty"`
	// Exception is set for an exception of Windows.
	Exception *Exception `json:"exception,omitempty"`
	// Local is Time in the local time of who asks, "2006-01-02 15:04:05".
	Local    string   `json:"-"`
	Log      string   `json:"log,omitempty"`
	Notes    []string `json:"notes,omitempty"`
	Threads  []Thread `json:"threads"`
	Modules  []Module `json:"modules"`
	Bytes    *Code    `json:"bytes,omitempty"`
	Source   *Source  `json:"source,omitempty"`
	Pointers int      `json:"pointers"` // the size of an address in bytes
}

// An Exception is an exception of Windows.
type Exception struct {
	Code  Hex `json:"code"`
	Flags Hex `json:"flags"`
}

// A Thread is one thread and its stack.
type Thread struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name,omitempty"`
	Crashed bool   `json:"crashed"`
	// Rows are the frames, the innermost first, joined with the log's open calls where
	// there is a log. After the first First rows Omitted frames are left out, if any are.
	Rows    []Row `json:"rows"`
	First   int   `json:"first,omitempty"`
	Omitted int   `json:"omitted,omitempty"`
	// Unsaved says that the stack behind the last frame was not saved: there may be more of them.
	Unsaved   bool       `json:"unsaved,omitempty"`
	Registers []Register `json:"registers"`
}

// A Register is a register's name and value.
type Register struct {
	Name  string `json:"name"`
	Value Hex    `json:"value"`
}

// A Row is a frame of the stack, an open call of the log, or both.
type Row struct {
	// Number is the frame's, -1 for a call without a frame.
	Number  int `json:"number"`
	Address Hex `json:"address,omitempty"`
	// Exact says that Address is an instruction; otherwise it is a return address.
	Exact  bool   `json:"exact,omitempty"`
	Module string `json:"module,omitempty"`
	Offset Hex    `json:"offset,omitempty"`
	// Section is the number of the module's section with the address, counted from 1, and SectionOffset
	// where it is in there; 0 where the module's file is not here.
	Section       int `json:"section,omitempty"`
	SectionOffset Hex `json:"section_offset,omitempty"`
	// Functions are the function and what was inlined there, the innermost first.
	Functions []Function `json:"functions,omitempty"`
	Found     string     `json:"found,omitempty"`
	Signal    bool       `json:"signal,omitempty"`
	// Source is "stack", "log" or "both", if there is a log.
	Source string `json:"source,omitempty"`
	// Entered is when the call was entered, since the log began, and Running how
	// long it had been running; LogRow is its row counted from 1.
	Entered string `json:"entered,omitempty"`
	Running string `json:"running,omitempty"`
	LogRow  int64  `json:"log_row,omitempty"`
}

// A Function is a function with the place where it was.
type Function struct {
	Name      string `json:"name"`
	Signature string `json:"signature,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
}

// A Module is an image.
type Module struct {
	Base       Hex    `json:"base"`
	End        Hex    `json:"end"`
	Path       string `json:"path"`
	Identity   string `json:"identity,omitempty"`
	Status     string `json:"status"`
	SymbolFile string `json:"symbol_file,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Code is the code around the instruction at which the process ended.
type Code struct {
	Address Hex      `json:"address"`
	At      Hex      `json:"at"`
	Bytes   HexBytes `json:"bytes"`
}

// Source are the lines of source around frame 0.
type Source struct {
	File  string   `json:"file"`
	First int      `json:"first"`
	Line  int      `json:"line"`
	Lines []string `json:"lines"`
}

// Hex is a number that is shown in hexadecimal.
type Hex uint64

// MarshalText implements [encoding.TextMarshaler].
func (h Hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// HexBytes are bytes that are shown as pairs of digits.
type HexBytes []byte

// MarshalText implements [encoding.TextMarshaler].
func (b HexBytes) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "% x", []byte(b)), nil }

// Formats are the names of the formats, the first the default.
var Formats = []string{"txt", "html", "json", "gdb-like", "exelog"}

// ErrFormat says that there is no such format.
var ErrFormat = message.New("no such format")

// Write writes a report in a format.
func Write(w io.Writer, r *Report, format string) error {
	switch format {
	case "txt":
		return writeText(w, r)
	case "html":
		return writeHTML(w, r)
	case "json":
		return writeJSON(w, r)
	case "gdb-like":
		return writeGDB(w, r)
	case "exelog":
		return writeExeLog(w, r)
	}
	return message.Errorf("%q: %w", format, ErrFormat)
}

// place returns a file and line, "" where there is none.
func (f *Function) place() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// text returns the name that is shown.
func (f *Function) text() string {
	if f.Signature != "" {
		return f.Signature
	}
	return f.Name
}

// title says which thread it is.
func (t *Thread) title() string {
	s := fmt.Sprintf("thread %d", t.ID)
	if t.Name != "" {
		s += " " + t.Name
	}
	if t.Crashed {
		s += ", crashed"
	}
	return s
}

// at returns the place of a row in its module.
func (r *Row) at() string {
	if r.Module == "" {
		if r.Number < 0 {
			return ""
		}
		return fmt.Sprintf("%#x", uint64(r.Address))
	}
	return fmt.Sprintf("%s+%#x", baseName(r.Module), uint64(r.Offset))
}

func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
