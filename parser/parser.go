// Package parser says what a log is: a numbered sequence of events, the
// modules that were loaded, and a clock.
//
// Each format is a sub-package that implements [Log] and offers a [Format]
// (parser/classic is the binary enter/leave log of the 2013 article). The
// session in package app keeps the list of formats. Parsers neither pair
// events nor resolve addresses.
package parser

import (
	"context"

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
	// Thread is the id of the thread. In a log that is a [Stacker] it may be a number
	// for the thread and one of its stacks.
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

// An OpenCall is a call whose enter is not in the log.
type OpenCall struct {
	// Address is 0 where it is not known.
	Address uint64
	Space   uint16
}

// A Resumer is a log in which events may be missing.
type Resumer interface {
	// OpenCalls returns the calls that were open on the thread of an event
	// that has EventsMissing, just before it, the outermost first. There are
	// outer more around them, of which nothing is known.
	OpenCalls(record int64) (calls []OpenCall, outer int, err error)
}

// A Space says what the addresses of its events are, and when.
type Space struct {
	Kind AddressKind
	// Time is a time, in nanoseconds of the log's clock, at which the modules
	// that the addresses mean own them in Log.Modules.
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

// A Run is a contiguous range of records that one process wrote. A classic
// file that was appended to holds several.
type Run struct {
	// First and Count are in records.
	First, Count int64
	// HasModules says that the modules file describes this run.
	HasModules bool
	// Reason says why the run begins here, nothing for the first.
	Reason message.Text
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
	// ExactLeaves says that a leave has the address and space of the call
	// that it closes, the innermost of them, and that one whose address no
	// open call has closes none.
	ExactLeaves() bool
	// Truncated says that addresses hold only the low 32 bits of 64.
	Truncated() bool
	Close() error
}

// A Grower is a log whose file may still be written.
//
// What was once counted in Info().Records never changes afterwards: neither
// its number nor any field of its event, nor the runs' First, nor what a value
// of Event.Space means. Grow only adds records behind the last one; the last
// run grows, or new runs begin. What cannot be placed for good yet (a record
// that is not whole, events that others with an earlier time may still come
// before) waits for a later Grow.
//
// Grow is called by one goroutine at a time, and the other methods of the log
// may be called meanwhile. Those return what was known before or after it, and
// what they have returned is never changed: Info, Modules and Spaces return new
// values where something was added. A new slice of Spaces begins with the old
// one, and a new Map with the modules of the old one in their order.
type Grower interface {
	Log
	// Grow looks at the file again and takes in what was added. It is cheap
	// where nothing was. Cancelled, it leaves a part for the next call. It
	// wraps [ErrShrunk] where records that were counted are gone.
	Grow(ctx context.Context) (Growth, error)
}

// A Growth says what a Grow found.
type Growth struct {
	// Records counts those that are new.
	Records int64
	// Modules says that for some run there are modules that were not known.
	Modules bool
	// Annotations says that there are new annotations; see [Annotator].
	Annotations bool
	// Pending says that something waits for a later Grow, which should come
	// soon even if the file does not change.
	Pending bool
	// Ended says that the program that wrote the log has ended, and that all
	// it wrote was taken in. A log that cannot tell never says so.
	Ended bool
	// Replaced says that the log's path now leads to another file, or to
	// none. The log goes on with the file that was opened.
	Replaced bool
}

// ErrShrunk says that the file has become shorter, or that other bytes stand
// where records were read: what was read is not to be trusted any more.
var ErrShrunk = message.New("the log was cut or written anew while it was read")

// An Overhead is what recording one event cost the program, on average, in
// picoseconds.
type Overhead struct {
	// EnterBefore and EnterAfter are the parts of an enter before and after
	// its time was taken; LeaveBefore and LeaveAfter those of a leave.
	EnterBefore, EnterAfter, LeaveBefore, LeaveAfter int64
}

// An OverheadTeller is a log in which the recorder wrote down its own cost.
type OverheadTeller interface {
	Log
	// Overhead returns what a run's events cost; ok is false where the log
	// does not say.
	Overhead(run int) (o Overhead, ok bool)
}

// A Scanner is a log of which all was looked at when it was opened. What that
// found is small and can be kept: with it in [Options], opening the file again
// is quick as long as it has not changed or has only grown.
type Scanner interface {
	Log
	// Found returns what was found when the log was opened. If that came from
	// the options, and the file has not changed, it is the same bytes. It is
	// shared: do not change it.
	Found() []byte
	// Beginning returns what the events of the first so many records follow
	// from, together with the size of a record and as many bytes of the file
	// as these records have: logs in which all of that is equal begin with the
	// same events. ok is false where that cannot be said.
	Beginning(records int64) (b []byte, ok bool)
}

// A CallSiter is a log that may say where calls were made from.
type CallSiter interface {
	Log
	// CallSites fills dst with the call sites of the records from number from on and
	// returns how many; fewer than len(dst) only with an error, io.EOF at the end.
	CallSites(dst []CallSite, from int64) (int, error)
}

// A CallSite is the return address with which the function was called that a record
// enters. It is not Known of other records, and where the log does not say.
type CallSite struct {
	Address uint64
	Space   uint16
	Known   bool
}

// An Ender is a log of one run that may know when calls ended that have no leave.
// Its times are in nanoseconds of the log's clock.
type Ender interface {
	// End returns a time until which was recorded at least; it may lie before the
	// last event. Exact says that the recording ended then, in order, so that calls
	// that were open lasted until then, or until the last event.
	End() (time int64, exact bool)
	// ThreadEnd returns when a thread of an id ended, the last time that this
	// happened from a time to another, both included.
	ThreadEnd(thread uint32, from, to int64) (time int64, ok bool)
}

// A WayTeller is a log that says how its events came.
type WayTeller interface {
	// Ways returns the ways in by which the program called its recorder, as compilers name
	// them, and whether the ends of calls were noticed late: at the next enter that could
	// not be in them.
	Ways() (ways []string, late bool)
}

// A Stacker is a log whose threads may have several stacks of calls, those of
// coroutines. Calls are paired by the stack, which may go on in another thread.
type Stacker interface {
	// HasStacks reports whether there are others than the threads' own.
	HasStacks() bool
	// Strand says what a value of Event.Thread stands for: the id of the thread, and the
	// number of the stack, 0 for the thread's own.
	Strand(id uint32) (thread, stack uint32)
}

// A ThreadNamer is a log that knows names of threads.
type ThreadNamer interface {
	// ThreadNames returns the names of a run's threads by id, as far as they
	// were recorded. It is shared: do not change it.
	ThreadNames(run int) map[uint32]string
}

// A Program is the process that wrote a run.
type Program struct {
	// ID is the system's id of the process, 0 where it is not known.
	ID uint32
	// Path is that of its executable, as it was recorded; "" where it is not known.
	Path string
}

// A ProgramTeller is a log that knows what process wrote it.
type ProgramTeller interface {
	Program(run int) Program
}

// An AnnotationKind says what an [Annotation] is.
type AnnotationKind uint8

const (
	// TextAnnotation is a text.
	TextAnnotation AnnotationKind = iota
	// IntCounter, UintCounter and FloatCounter are the value that a counter
	// has from then on: an int64, a uint64 or a float64.
	IntCounter
	UintCounter
	FloatCounter
)

// An Annotation is what the program itself wrote into its log at a moment.
type Annotation struct {
	// Time is in nanoseconds of the log's clock, as that of an [Event].
	Time   int64
	Thread uint32
	Kind   AnnotationKind
	// Bits is a counter's value: an int64 or uint64, or what
	// [math.Float64bits] makes of a float64.
	Bits uint64
	// Text is a text, or a counter's name, as it was recorded: it need not be
	// UTF-8.
	Text []byte
}

// An Annotator is a log that may have annotations.
type Annotator interface {
	Log
	// AnnotationCount says how many texts and values of counters a run has, as far
	// as the log was read.
	AnnotationCount(run int) (texts, counters int64)
	// Annotations calls yield with the annotations of a run whose time is not before
	// from, in order of time, until it returns false. The annotation and its Text
	// are only good until then. Of equal times the smaller thread id comes
	// first. Annotations of a log that grows may be found late: another call may
	// give some between those that were given before.
	Annotations(ctx context.Context, run int, from int64, yield func(m *Annotation) bool) error
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
}
