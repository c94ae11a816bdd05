// Package calls pairs the enters and leaves of a log: it finds each record's
// partner, its depth, its duration and its mark, and on the way counts the
// records of each thread and of each distinct address.
//
// Its input is ranges of events in file order ([parser.Log]) and a [Namer],
// which says which addresses belong to one function; its output is a [Table].
// What is implemented here is the plain one-pass way: one stack a thread,
// every event looked at once. The log is never re-sorted. The pass can go on
// when the log has grown.
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

// A Mark says what is odd about a record's pairing.
type Mark uint8

const (
	// None: an ordinary pair.
	None Mark = iota
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
	// writing; see [Table.SetLive].
	Running

	// NoEnter: a leave whose enter is missing: from before the log's first
	// record, or lost.
	NoEnter

	marks
)

// String returns the mark as saved files have it.
func (m Mark) String() string {
	return [...]string{"", "open", "no leave", "stray", "tail", "damaged", "running", "no enter"}[m]
}

// A Function identifies a function for pairing; 0 stands for unknown.
type Function uint32

// A Namer tells which function an event's address (a VA) belongs to. One
// address may mean different functions in different runs and spaces: run is an
// index into the runs that the table was made for, space the event's. It is
// asked at most once for each address of a run and space, by one goroutine.
// Nil stands for a Namer that knows nothing.
type Namer func(run int, space uint16, address uint64) Function
