package parser

import (
	"context"
	"time"

	"logparser/message"
)

// Capabilities are what a log can do beyond what all can; nil where it cannot.
// Whoever opens a log asks for them once.
type Capabilities struct {
	Grower         Grower
	Checker        Checker
	Scanner        Scanner
	Resumer        Resumer
	Ender          Ender
	CallSiter      CallSiter
	Annotator      Annotator
	OverheadTeller OverheadTeller
	WayTeller      WayTeller
	Stacker        Stacker
	ThreadLister   ThreadLister
	ProcessTeller  ProcessTeller
	ClockTeller    ClockTeller
	ThreadedLog    ThreadedLog
	CalledLog      CalledLog
	UntimedReader  UntimedReader
	CrashTeller    CrashTeller
	CallEnder      CallEnder
	ValueTeller    ValueTeller
	TakenReader    TakenReader
	Namer          Namer
	Forked         Forked
}

// A Forked is the log of a process that was forked while calls were open, or has such logs: it goes on in these calls, which
// another process entered.
type Forked interface {
	// Inherited returns what enters the log has for such calls.
	Inherited() []InheritedCalls
}

// InheritedCalls are the enters that a log has for the calls that were open on a thread when its process was forked: all of the
// thread at Time whose depth is less than Depth.
type InheritedCalls struct {
	Thread uint32 // as Event.Thread
	Time   int64
	Depth  int32
}

// A Namer is a log that carries names itself.
type Namer interface {
	// Name returns the name of the function at an address, for use where no symbols name it; "" for
	// none.
	Name(run int, space uint16, address uint64) string
}

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
	// Overhead returns what a run's events cost; ok is false where the log
	// does not say.
	Overhead(run int) (o Overhead, ok bool)
}

// A Scanner is a log that was read as a whole when it was opened. What was found then is small and can be kept:
// with it in [Options] the file is opened quickly the next time, if it has not changed or has only grown.
type Scanner interface {
	// Found returns what was found when the log was opened, nil where that cannot be
	// kept. If that came from the options, and the file has not changed, it is the same
	// bytes. It is shared: do not change it.
	Found() []byte
	// Beginning returns what the events of the first so many records follow
	// from, together with the size of a record and as many bytes of the file
	// as these records have: logs in which all of that is equal begin with the
	// same events. ok is false where that cannot be said.
	Beginning(records int64) (b []byte, ok bool)
}

// A CallEnder is the beginning of a log. It can find where calls end that are still open behind its last
// record.
type CallEnder interface {
	// CallEnds returns, for those of the records that enter such calls and of which it is
	// known, the times of the leaves that end just these calls, in nanoseconds of the log's
	// clock.
	CallEnds(ctx context.Context, records []int64) (map[int64]int64, error)
}

// A CallSiter is a log that may say where calls were made from.
type CallSiter interface {
	// HasCallSites reports whether the recorder was told to record that.
	HasCallSites() bool
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
	// ProcessEnd returns what End does, but of the thread's process alone. It is ok in
	// logs of several processes, and then no event of the process is later.
	ProcessEnd(thread uint32) (time int64, exact, ok bool)
}

// A WayTeller is a log that says how its events came.
type WayTeller interface {
	// Ways returns the ways in by which the program called its recorder, as compilers name
	// them, and whether the ends of calls were noticed late: at the next enter that could
	// not be in them.
	Ways() (ways []string, late bool)
}

// A ThreadedLog is a log that can give the calls of each thread by themselves, which takes
// less than to put the events of all threads in order.
type ThreadedLog interface {
	// ReadThreads returns a reader of the calls from a record on, nil where they are not
	// to be had that way. It is not safe for concurrent use.
	ReadThreads(from int64) ThreadReader
}

// A ThreadReader reads the calls of threads. What its methods return is valid until the next
// call of Next.
type ThreadReader interface {
	// Next goes over the next n events. It is not ok, and gives nothing, where there is
	// anything among them but enters and leaves, each leave of its thread's innermost call,
	// where times fall, or where they cannot be read; ReadEvents says more of these. Threads are in the order
	// of their first events.
	Next(n int) (threads []ThreadCalls, ok bool)
	// Row says how many of the n events come before an event of a thread, an index into what
	// Next returned, by the event's number.
	Row(thread int, number uint32) int
	// Address returns an address that calls have.
	Address(number uint16) (address uint64, space uint16)
}

// An UntimedReader is a log that reads events sooner where their times are not wanted.
type UntimedReader interface {
	// ReadUntimed is ReadEvents, but leaves anything for the times.
	ReadUntimed(dst []Event, from int64) (int, error)
}

// ThreadCalls are what some events of a thread come to. The events of a thread that a reader goes over have numbers from 1 on.
type ThreadCalls struct {
	Thread uint32
	// First is the number of the first event, End is behind that of the last one.
	First, End uint32
	// Times has the time of each event, in nanoseconds, that of event First first. They do not fall.
	Times []int64
	// Depth is how many calls were open before the first event.
	Depth int32
	// Ended are the calls that end, in that order, Open those that are entered and stay open, outermost first.
	Ended, Open []ThreadCall
	// New are the calls, among both, that are the thread's first of their address.
	New []NewAddress
}

// A ThreadCall is a call of a known thread; its address and space have a number.
type ThreadCall struct {
	// Enter and Leave are the numbers of its events, 0 for those that the reader has not gone over.
	Enter, Leave uint32
	Depth        int32
	Address      uint16
	// Recursive says that another call of the address is around it, of those that the reader has seen entered.
	Recursive bool
}

// A NewAddress is the number of an address and that of the event that enters its first call.
type NewAddress struct {
	Address uint16
	Enter   uint32
}

// A Stacker is a log whose threads may have several stacks of calls, those of
// coroutines. Calls are paired by the stack, which may go on in another thread.
type Stacker interface {
	// HasStacks reports whether there are others than the threads' own.
	HasStacks() bool
	// Strand tells which stack a value of Event.Thread is on: the value that events on the
	// thread's own stack have, and the number of the stack, 0 for that one. No two stacks
	// of the log have one number.
	Strand(id uint32) (thread, stack uint32)
}

// A ThreadLister is a log that knows names of threads.
type ThreadLister interface {
	// NamedThreads returns what Event.Thread is, or would be, of the threads of a run
	// whose names were recorded, also of those that have no events.
	NamedThreads(run int) []uint32
}

// A Process is one that wrote a run.
type Process struct {
	// ID is the system's id of the process, 0 where it is not known.
	ID uint32
	// Path is that of its executable, as it was recorded; "" where it is not known.
	Path string
	// Modules is how many of Log.Modules are its own: first come those of the first
	// process, then those of the second.
	Modules int
}

// A ProcessTeller is a log that knows what processes wrote it.
type ProcessTeller interface {
	// Processes returns those that wrote a run, at least one.
	Processes(run int) []Process
}

// A ClockTeller is a log that knows how its clock relates to other clocks.
type ClockTeller interface {
	// Began returns when the log's clock was 0, each time that the clock was compared with
	// the time of day and this had changed, and a description of the system. Clocks that
	// count from the start of a machine are the same if one of these times and the
	// description are.
	Began(run int) (times []time.Time, system string)
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
	// AnnotationCount says how many texts and values of counters a run has, as far
	// as the log was read.
	AnnotationCount(run int) (texts, counters int64)
	// Annotations calls yield with the annotations of a run whose time is not
	// before from, in order of time, until it returns false. The annotation and
	// its Text are only good until then. Of equal times the smaller thread id
	// comes first. Those of a log that grows may be found late: another call may
	// give some between those that were given before.
	Annotations(ctx context.Context, run int, from int64, yield func(m *Annotation) bool) error
}
