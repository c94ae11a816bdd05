// Package parser says what a log is: a numbered sequence of events, the
// modules that were loaded, and a clock.
//
// Formats are sub-packages that implement [Log] and offer a [Format]:
// parser/classic is the binary enter/leave log of the 2013 article, parser/trace
// our own, parser/probes what perf, ftrace and others print of probes. Package parser/merged makes one log of several. What a log can do
// beyond what all can is in its [Capabilities]. The session in package app keeps
// the list of formats. Parsers neither pair events nor resolve addresses.
package parser

import (
	"context"
	"io"

	"logparser/message"
	"logparser/modules"
	"logparser/timeparse"
)

// A Kind says what an event is.
type Kind uint8

const (
	Enter Kind = iota
	Leave
	// Damaged stands for a record that cannot be right (a flag byte that is
	// neither 0 nor 1, for example). It keeps its place in the sequence.
	Damaged
)

// An Event is one record of a log.
type Event struct {
	// Address is the code address (a VA) as recorded. It means something only
	// together with Space.
	Address uint64
	// Time is in nanoseconds of the log's clock, counter wraps undone. Zero
	// has no meaning of its own; Log.Clock relates it to the wall.
	Time int64
	// Thread is a number for the thread and the stack of calls that the event is on:
	// Log.Thread says which. It is the system's id of the thread where nothing speaks
	// against that.
	Thread uint32
	// Space tells apart equal addresses that mean different things: it is an
	// index into what Log.Spaces returns for the event's run. A leave has its
	// enter's.
	Space uint16
	Kind  Kind
	Gap   Gap
}

// A Gap says how an event follows the one before of its thread id.
type Gap uint8

const (
	// NoGap: it is the next.
	NoGap Gap = iota
	// ThreadBegins: it is the first of a thread; calls that are open under its
	// id are an earlier thread's.
	ThreadBegins
	// EventsMissing: events before it are missing. The log is a [Resumer] and
	// knows which calls are open.
	EventsMissing
	// CallsLeft and what is greater: so many innermost calls were left without a leave
	// before it, by a longjmp or an exception; CallsLeft says one.
	CallsLeft
)

// A Space says what the addresses of its events are, and when.
type Space struct {
	Kind AddressKind
	// Time is the time by which Log.Modules tells the modules that the addresses
	// mean: in nanoseconds of the log's clock, or none of it where processes are
	// merged.
	Time int64
}

// An AddressKind says what addresses are.
type AddressKind uint8

const (
	// ReturnAddress: inside the function, where the recorder's call returns
	// to. The instruction meant is the one before.
	ReturnAddress AddressKind = iota
	// EntryAddress: the first byte of the function.
	EntryAddress
)

// A Run is a contiguous range of records that one process wrote, or several whose
// events are merged. A classic
// file that was appended to holds several.
type Run struct {
	// First and Count are in records.
	First, Count int64
	// HasModules says that the modules file describes this run.
	HasModules bool
	// Reason says why the run begins here, nothing for the first.
	Reason message.Text
}

// A Thread is what a value of Event.Thread stands for.
type Thread struct {
	// Process is an index into what the log's [ProcessTeller] returns for the run.
	Process int
	// ID is the system's id.
	ID uint32
	// Stack is the number of the stack, 0 for the thread's own.
	Stack uint32
	// Name is "" where the log gives none.
	Name string
}

// A Damage is a place in the file that could not be read as records.
type Damage struct {
	// Offset and Bytes say where and how much, in bytes of the log file.
	Offset, Bytes int64
	// Reason is a sentence: "the last record is cut off".
	Reason message.Text
}

// An Info describes an opened log for people.
type Info struct {
	// Format is the format's name and Why how it was recognised.
	Format string
	Why    message.Text
	// RecordSize is in bytes, 0 where records vary.
	RecordSize int
	// Size is the file's size in bytes.
	Size int64
	// Records counts all the records of the file, in all runs.
	Records int64
	// Runs has at least one entry unless the log is empty.
	Runs []Run
	// Damage lists what was skipped, in file order; at most MaxDamage
	// entries are kept, DamageBytes counts them all.
	Damage      []Damage
	DamageBytes int64
	// NoTime says why the time of day is not known although the modules file tells of it; it is zero where
	// there is nothing to say.
	NoTime message.Text
	// Notes are remarks on how the modules file was read: lines that were
	// not understood and the like.
	Notes []message.Text
}

// MaxDamage bounds the entries of Info.Damage.
const MaxDamage = 1000

// A Log is an opened log. Its methods are safe for concurrent use.
type Log interface {
	// Info describes the log.
	Info() *Info
	// ReadEvents fills dst with the events from record number from on (in
	// the whole file, 0 the first) and returns how many it read: less than
	// len(dst) only with an error, which is io.EOF at the end of the log.
	// It sets every field: dst may hold events of another log.
	ReadEvents(dst []Event, from int64) (int, error)
	// Modules returns the modules of a run (an index into Info().Runs); an
	// empty map where none are known. It is made for look-ups at the times of
	// Spaces: modules may seem to live longer in it than they did.
	Modules(run int) *modules.Map
	// Clock returns the clock of a run.
	Clock(run int) timeparse.Clock
	// Spaces returns what the values of Event.Space mean in a run; it has at
	// least one element and at most 65,536. It is shared: do not change it.
	Spaces(run int) []Space
	// Thread says what a value of Event.Thread stands for.
	Thread(key uint32) Thread
	// ExactLeaves says that a leave has the address and space of the call
	// that it closes, the innermost of them, and that one whose address no
	// open call has closes none.
	ExactLeaves() bool
	// Truncated says that addresses hold only the low 32 bits of 64.
	Truncated() bool
	// Capabilities returns what else the log can do. It is the same at each call.
	Capabilities() Capabilities
	Close() error
}

// Options are what the user may say about a log. The zero value means that
// the file itself decides.
type Options struct {
	// ModulesFile is the path of the modules file, "" for none. Formats that
	// carry their own modules ignore it.
	ModulesFile string
	// RecordSize forces the size of a classic record, 16 or 24 bytes.
	RecordSize int
	// Encoding forces the modules file's encoding: "utf-8", "utf-16le",
	// "utf-16be", "gbk", "windows-1252", ….
	Encoding string
	// ModulesColumns says what the columns of the modules file are; nil: its
	// contents say it.
	ModulesColumns modules.Columns
	// StartTime (civil local time, as text) and StartTick replace those of
	// the modules file; StartTick is nil where not given.
	StartTime string
	StartTick *uint32
	// Found is what a [Scanner] found when the same file was opened before, nil
	// for nothing. It may have been shorter then, if it began with the same
	// bytes. Formats that have none ignore it.
	Found []byte
	// Place tells where in an image a byte of its file is mapped: the RVA, with the size that the
	// image takes in memory. It is nil, or not ok, where the file may not be opened, or is none. Formats that
	// have no need of it ignore it.
	Place func(path string, offset uint64) (rva, size uint64, ok bool)
	// Live: the log is being written, so that what has no end yet may go on.
	Live bool
}

// A Progress is called now and then with the bytes done and the whole; it may
// be nil.
type Progress func(done, total int64)

// A Format is one kind of log, as the session's list has it.
type Format struct {
	Name string
	// NeedsModulesFile says that the modules lie in a file of their own.
	NeedsModulesFile bool
	// Detect judges the first bytes of a file (up to 64 KiB): 0 = certainly
	// not this format, 100 = certainly; a format without a magic stays low.
	Detect func(head []byte, size int64) int
	// Open opens the log, which must scan no more than it needs to find the
	// runs; it can be cancelled.
	Open func(ctx context.Context, path string, opt Options, p Progress) (Log, error)
	// OpenHead, if not nil, opens the beginning of a log that takes long to open: some
	// of its first records, about as many as are wanted, as a log that does not grow. What
	// Info and Capabilities say of it is of no worth, but for CallEnder and the one run of Info. Of a classic log
	// run, modules and wall clock are what the beginning and samples of the rest say, which the
	// whole log may contradict. It returns nil where the first records are not to be had before the others.
	OpenHead func(ctx context.Context, path string, opt Options, records int64) (Log, error)
}

// ReadFull fills dst with the events from record on, which read reads: ReadEvents of a log, or
// ReadUntimed. Where there are fewer it returns how many, and an error that says which record
// is missing, of [io.ErrUnexpectedEOF] where the log just ends.
func ReadFull(read func(dst []Event, from int64) (int, error), dst []Event, record int64) (int, error) {
	got, err := read(dst, record)
	if got == len(dst) {
		return got, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return got, message.Errorf("record %d: %w", record+int64(got), err)
}
