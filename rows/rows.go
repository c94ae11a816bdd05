// Package rows defines what is shown of a log: a [Row] for each record, from
// a [Source] that can be asked for any of them.
//
// It knows neither logs nor symbols nor widgets, so that the window and the
// writers of files depend on nothing else.
package rows

import "time"

// An Event is what a row's record says.
type Event uint8

const (
	Enter Event = iota
	Leave
	Unknown // a damaged record
)

// String returns the event as saved files have it.
func (e Event) String() string { return [...]string{"enter", "leave", "unknown"}[e] }

// NoDuration is the duration of a row whose pair is not known.
const NoDuration = int64(-1)

// A Row is one record, ready to be shown. Its strings are shared with other
// rows.
type Row struct {
	// Index counts from 0 over the rows of the chosen runs; a filter keeps
	// it.
	Index int64
	// Wall is the recorded program's local time (its location means
	// nothing), if HasWall; Elapsed is the time since its run began, in
	// nanoseconds: since the first row of the run that is not damaged.
	Wall    time.Time
	HasWall bool
	Elapsed int64
	Thread  uint32
	Event   Event
	// Depth counts from 0; a leave has its enter's depth.
	Depth int
	// Duration of the call in nanoseconds, on both rows of a pair, or
	// [NoDuration].
	Duration int64
	// Function is never empty: without symbols it is module+0xRVA, or the
	// address where no module is known.
	Function string
	// Module is the base name of the module's path, "" if unknown.
	Module string
	// Source and Line are where the address lies, "" and 0 if unknown.
	Source string
	Line   int
	// Address is the recorded address (a VA).
	Address uint64
	// Symbols is the status of the module's symbols, "" without a module.
	Symbols string
	// Note is the mark of the pairing and whatever else must be said.
	Note string
}

// A Source hands out rows by number. Its methods are safe for concurrent use.
type Source interface {
	// Len returns the number of rows.
	Len() int64
	// Row returns row i, 0 <= i < Len(). A row that cannot be read says so in
	// its Note.
	Row(i int64) Row
	// Read fills dst with the rows from number from on and returns how many;
	// fewer than len(dst) only with an error, io.EOF at the end.
	Read(dst []Row, from int64) (int, error)
	// TimeDigits returns how many digits of a second times are worth: 3, 6
	// or 9.
	TimeDigits() int
}

// A Header describes what a source was made from, for the head of saved
// files. Inputs are named by base name.
type Header struct {
	// Log and Modules are base names; Format is a few words.
	Log, Modules, Format string
	// Corrected says that the recorder's own time is taken off the durations.
	Corrected bool
	// Lines are further remarks, in order: runs left out, damage.
	Lines []string
	// Images are the modules with their status.
	Images []Image
	// Threads are the names of the threads that have one.
	Threads map[uint32]string
}

// An Image is a module in the head of a saved file.
type Image struct {
	Name       string
	Base, Size uint64
	Identity   string
	Status     string
	// SymbolFile is a base name, "" for none.
	SymbolFile string
}
