// Package rows defines what is shown of a log: a [Row] for each record, from
// a [Source] that can be asked for any of them.
//
// What a row has is described once, in the list of columns ([Columns]): the window's
// table, the filter language and the writers of files go through it. The package
// knows neither logs nor symbols nor widgets.
package rows

import (
	"time"
)

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

// A Bound says how a row's duration is to be understood.
type Bound uint8

const (
	// Exact: the call took so long.
	Exact Bound = iota
	// AtLeast: it was still running when the log ended, and nothing tells how long
	// the program ran on.
	AtLeast
	// AtMost: its leave was recorded late.
	AtMost
	// About: it may have been more or less, as of sums of both, and self times where
	// leaves are late.
	About
)

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
	// Bound says how far Duration can be relied on. Unclosed says that no leave has closed
	// the call, and Duration, if it is known, is the time until its thread or the log ended.
	Bound    Bound
	Unclosed bool
	// Stack is the number of the stack of calls that the row is on, 0 for the thread's
	// own: others are those of coroutines. Depth counts within the stack.
	Stack   uint32
	Elapsed int64
	// Thread is the system's id of the thread, in Process where there are several.
	Thread  uint32
	Event   Event
	Process *Process
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
	// Note is the anomaly of the pairing and whatever else must be said.
	Note string
	// Place tells rows of one address from others at a glance, where a source has set it:
	// those of equal Place do not differ in Function, Module, Source, Line, Address and
	// Symbols. Rows of different places may have them in common as well.
	Place *Place
	// Pending says that it is not known yet how the call ended: Duration is missing, and
	// Note may be.
	Pending bool
	// Inherited says that the row enters a call that another process made, which forked this one: sums count it there alone.
	Inherited bool

	// Filled says which of the following a source has filled in: it does that where it is
	// asked for them ([With]). The others mean nothing.
	Filled Fields
	// SelfAbout says that Self may be more or less, as leaves are recorded late.
	SelfAbout bool
	// Self is Duration without the calls that the call made, by the times that were
	// recorded, on both rows of a pair; [NoDuration] where Duration is not known.
	Self int64
	// Site is where the call was made from, on both rows of a pair; nil where the log
	// does not say.
	Site *CallSite
	// ThreadName is the name of the thread, "" if it has none.
	ThreadName string
	// Delta is the time since the row before in the same source, in nanoseconds, [NoDelta]
	// for its first row. It is negative where the recorder's clock stepped back.
	Delta int64
	// Values are those of the call, on both rows of a pair; nil where the log has none.
	Values *CallValues
}

// A Place is what rows of one address have in common. It does not change.
type Place struct {
	Function, Module, Source, Symbols string
	Line                              int
	Address                           uint64
}

// A CallSite is where a call was made from.
type CallSite struct {
	// Function, Module, Source and Line are those of the calling code.
	Function, Module, Source string
	Line                     int
	// Address is the return address (a VA).
	Address uint64
}

// SelfBound says how far Self can be relied on.
func (r *Row) SelfBound() Bound {
	if r.SelfAbout {
		return About
	}
	return r.Bound
}

// SavedNote is the note as files for programs have it, whose durations are
// numbers: it also says how far the duration can be relied on.
func (r *Row) SavedNote() string {
	switch {
	case r.Bound == Exact || r.Duration < 0:
		return r.Note
	case r.Bound == AtLeast && r.Note == "open":
		return "open; at least"
	case r.Note == "":
		return r.Bound.Words()
	}
	return r.Note + "; " + r.Bound.Words()
}

// With returns the bound of the sum of two times.
func (b Bound) With(other Bound) Bound {
	if b != Exact && other != Exact && b != other {
		return About
	}
	return max(b, other)
}

// Words is what saved files say of a bound.
func (b Bound) Words() string { return [...]string{"", "at least", "at most", "about"}[b] }

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
	// Counting says that it is not known yet how many rows there are.
	Counting bool
	// Images are the modules with their status.
	Images []Image
	// Threads are the names of the threads that have one.
	Threads map[Track]string
	// Processes are those that the rows are of, nil where there is only one.
	Processes []*Process
	// ProcessID is the system's id of the program's process, 0 where it is not
	// known, and Program the base name of its executable, or "".
	ProcessID uint32
	Program   string
	// Stacks says that there are stacks of calls besides the threads' own.
	Stacks bool
	// Values says that calls may have arguments and results.
	Values bool
	// Sites says that the log has where calls were made from.
	Sites bool
}

// An Image is a module in the head of a saved file.
type Image struct {
	Process    *Process // nil where there is only one
	Name       string
	Base, Size uint64
	Identity   string
	Status     string
	// SymbolFile is a base name, "" for none.
	SymbolFile string
}
