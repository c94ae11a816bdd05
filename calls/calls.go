// Package calls says what the pairing of enters and leaves finds: each record's
// partner, its depth, its duration and its anomaly ([Record]), the distinct addresses
// of a log, and its threads. Package index finds it, for logs of any size; what is
// here are the rules and the types.
//
// Pairing goes over the events in file order ([parser.Log]) with one stack a
// thread, or a coroutine; the log is never re-sorted. A [Namer] says which
// addresses belong to one function.
//
// A leave closes a call by the first of these rules that applies:
//
//   - A thread without an open call: the leave is a stray.
//   - The leave's address and space are those of an open call's enter: that
//     call, the nearest if there are several. Our recorder writes the enter's
//     address again at the leave, so its logs pair by this rule alone.
//   - The log's leaves are exact ([parser.Log]): the leave is a stray.
//   - The function of the leave or of the top call is not known: the top.
//   - The leave names the top call's function: the top. It names the function
//     of a call deeper than the one below the top: the nearest such. It names
//     the one below the top or none: the top, and the leave is marked as a
//     tail, because a function that ends with a jump into the recorder leaves
//     with its caller's address.
//
// Calls above the closed one were left without a leave. Where events are missing
// ([parser.Gap]) the stack becomes what the log says is open. A damaged record is
// marked and has no effect on any other; not even its thread id is believed.
package calls

// An Anomaly says what is unusual about a record's pairing.
type Anomaly uint8

const (
	// None: an ordinary pair.
	None Anomaly = iota
	// Open: the log ended inside the call.
	Open
	// NoLeave: the call was left without a leave (exception, longjmp, kill of
	// the thread).
	NoLeave
	// Stray: a leave without its enter.
	Stray
	// Tail: the leave names the caller, because the function ended with a
	// jump into the recorder.
	Tail
	// Damaged: the record itself cannot be right.
	Damaged
	// Running: the call has not been left yet, and the program may still be
	// writing.
	Running

	// NoEnter: a leave whose enter is missing: from before the log's first
	// record, or lost.
	NoEnter
)

// String returns the anomaly as saved files have it.
func (m Anomaly) String() string {
	return [...]string{"", "open", "no leave", "stray", "tail", "damaged", "running", "no enter"}[m]
}

// A Function identifies a function for pairing; 0 stands for unknown.
type Function uint32

// A Namer tells which function an event's address (a VA) belongs to. One
// address may mean different functions in different runs and spaces: run is an
// index into the runs that are paired, space the event's. It is
// asked at most once for each address of a run and space, by one goroutine.
// Nil stands for a Namer that knows nothing.
type Namer func(run int, space uint16, address uint64) Function

// NoPartner and NoDuration stand for a partner and a duration that a record
// does not have.
const (
	NoPartner  = int64(-1)
	NoDuration = int64(-1)
)

// A Record is what the pairing knows of one record.
type Record struct {
	// Depth counts from 0; a leave has its enter's depth, a stray 0, a
	// damaged record that of its thread at that moment.
	Depth int
	// Partner is the row of the other half, or [NoPartner].
	Partner int64
	// Duration is the time between the two halves in nanoseconds, on both of
	// them, or [NoDuration]. It is never negative otherwise: ticks that run
	// backwards make it 0. The enter of a call without a leave has it if it is known
	// when the call ended, or until when it was open: with its thread or its run
	// ([parser.Ender]), but not while it is [Running].
	Duration int64
	Anomaly  Anomaly
}
