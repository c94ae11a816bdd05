// Package report describes a dead process and writes the description as text, as a page (HTML), as JSON, and in the form of a
// debugger's backtrace.
//
// A [Report] is plain data; the caller fills it with symbols. Saved reports are in English and the same on every system.
package report

import (
	"fmt"
	"io"
	"strings"

	"logparser/message"
)

// A Report describes a dead process.
type Report struct {
	// File is the base name of the dump, and Format its format.
	File        string `json:"file"`
	Format      string `json:"format"`
	System      string `json:"system,omitempty"`
	Machine     string `json:"machine"`
	Program     string `json:"program,omitempty"`
	CommandLine string `json:"command_line,omitempty"`
	PID         int64  `json:"pid,omitempty"`
	// Time is when the dump was written, in UTC; "" if that is not known.
	Time  string `json:"time,omitempty"`
	Cause string `json:"cause"`
	// Code is the signal or exception as a number.
	Code string `json:"code,omitempty"`
	// Exception is set if Windows raised an exception.
	Exception *Exception `json:"exception,omitempty"`
	// Local is Time in the local time of the reader, in the form "2006-01-02 15:04:05".
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

// A Thread is a thread and its stack.
type Thread struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name,omitempty"`
	Crashed bool   `json:"crashed"`
	// Rows are the frames, innermost first. If there is a log, its open calls are merged with them. After the first First rows,
	// Omitted frames are left out.
	Rows    []Row `json:"rows"`
	First   int   `json:"first,omitempty"`
	Omitted int   `json:"omitted,omitempty"`
	// Unsaved says that the memory beyond the last frame was not saved, so that there may be more frames.
	Unsaved   bool       `json:"unsaved,omitempty"`
	Registers []Register `json:"registers"`
}

// A Register is a register of a thread.
type Register struct {
	Name  string `json:"name"`
	Value Hex    `json:"value"`
}

// A Row is a frame of the stack, an open call of the log, or both.
type Row struct {
	// Number is the number of the frame, or -1 for a call without a frame.
	Number  int `json:"number"`
	Address Hex `json:"address,omitempty"`
	// Exact says that Address is the address of an instruction. Otherwise it is a return address.
	Exact  bool   `json:"exact,omitempty"`
	Module string `json:"module,omitempty"`
	Offset Hex    `json:"offset,omitempty"`
	// Unloaded are the modules that lay at the address before, and the offsets in them: "x.dll+0x2345".
	Unloaded []string `json:"unloaded,omitempty"`
	// Section is the number, counted from 1, of the module's section that contains the address, and SectionOffset the offset in
	// that section. Both are 0 if the module's file is not available.
	Section       int `json:"section,omitempty"`
	SectionOffset Hex `json:"section_offset,omitempty"`
	// Functions are the functions that were inlined at the address, innermost first, and last the function itself.
	Functions []Function `json:"functions,omitempty"`
	// Symbols is "unverified" if nothing tells whether the names are of the build that crashed.
	Symbols string `json:"symbols,omitempty"`
	Found   string `json:"found,omitempty"`
	// Doubtful says that a frame that this one called was found by scan, and may be none.
	Doubtful bool `json:"doubtful,omitempty"`
	Signal   bool `json:"signal,omitempty"`
	// Source is "stack", "log" or "both" if there is a log.
	Source string `json:"source,omitempty"`
	// Entered is the time of the enter since the log began, and Running how long the call had been running. LogRow is the
	// number of its row, counted from 1.
	Entered string `json:"entered,omitempty"`
	Running string `json:"running,omitempty"`
	LogRow  int64  `json:"log_row,omitempty"`
}

// A Function is a function with the source line that it had reached.
type Function struct {
	Name      string `json:"name"`
	Signature string `json:"signature,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
}

// A Module is a module of the process, with the state of its symbols.
type Module struct {
	Base       Hex    `json:"base"`
	End        Hex    `json:"end"`
	Path       string `json:"path"`
	Identity   string `json:"identity,omitempty"`
	Status     string `json:"status"`
	SymbolFile string `json:"symbol_file,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

// Code is the machine code around the instruction at which the process ended.
type Code struct {
	Address Hex      `json:"address"`
	At      Hex      `json:"at"`
	Bytes   HexBytes `json:"bytes"`
}

// Source has the source lines around that of frame 0.
type Source struct {
	File  string   `json:"file"`
	First int      `json:"first"`
	Line  int      `json:"line"`
	Lines []string `json:"lines"`
}

// Hex is a number that is written in hexadecimal.
type Hex uint64

// MarshalText implements [encoding.TextMarshaler].
func (h Hex) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// HexBytes are bytes that are written as pairs of hexadecimal digits.
type HexBytes []byte

// MarshalText implements [encoding.TextMarshaler].
func (b HexBytes) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "% x", []byte(b)), nil }

// Formats are the names of the formats; the first one is the default.
var Formats = []string{"txt", "html", "json", "gdb-like", "exelog"}

// ErrFormat says that a format does not exist.
var ErrFormat = message.New("no such format")

// Write writes a report in a format. It wraps [ErrFormat] if the format does not exist.
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

// place returns file and line, or "" if they are not known.
func (f *Function) place() string {
	switch {
	case f.File == "":
		return ""
	case f.Line == 0:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// text returns the name to show.
func (f *Function) text() string {
	if f.Signature != "" {
		return f.Signature
	}
	return f.Name
}

// title returns the name and id of the thread.
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

// name returns the name of one of the row's functions, with a mark if nothing tells whether it is that of the build that crashed.
func (r *Row) name(f *Function) string { return r.mark() + f.text() }

func (r *Row) mark() string {
	if r.Symbols == "" {
		return ""
	}
	return "[" + r.Symbols + "] "
}

// foundBy returns how the frame was found, with "?" if that follows from a frame that may be none.
func (r *Row) foundBy() string {
	if r.Doubtful && r.Found != "" {
		return r.Found + "?"
	}
	return r.Found
}

// at returns the place of the row's address in its module.
func (r *Row) at() string {
	if r.Module == "" {
		if r.Number < 0 {
			return ""
		}
		if len(r.Unloaded) > 0 {
			return "unloaded " + strings.Join(r.Unloaded, " or ")
		}
		return fmt.Sprintf("%#x", uint64(r.Address))
	}
	return fmt.Sprintf("%s+%#x", baseName(r.Module), uint64(r.Offset))
}

func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}
