package timeline

// A Lane is a thread, or the stack of a coroutine.
type Lane struct {
	// Thread is its id, or what tells the stack with the number Stack from all threads: then
	// Home is the thread that was on it first.
	Thread      uint32
	Stack, Home uint32
	// Name is shown; empty, the thread's number is.
	Name string
	// Depth is the greatest number of calls that were open at once, 0 while
	// that is not known: the lane grows then with what is seen of it.
	Depth int
	// Rows counts its rows.
	Rows int64
}

// A Run is a time in which the program ran. Of several each has a clock of its
// own.
type Run struct {
	// From and To are the times of its first and its last row, Zero that from
	// which its own times count.
	From, To, Zero int64
	// Name is shown where it begins.
	Name string
	// Seam says that what lies between it and the run before is no time.
	Seam bool
}

// A Span is a call, or several that are too short to be told apart. Times are
// nanoseconds since the first row.
type Span struct {
	From, To int64
	// Depth counts from 0, the outermost call. Several calls lie at Depth to
	// Deepest; for one call both are the same.
	Depth, Deepest int
	// Count is 1 for a call. Of several calls it is their number, or 0 where
	// that is not known, and From and To are about where they begin and end.
	Count int64
	// Function and Module are those of the call, or of the longest of several;
	// "" where that is not known.
	Function, Module string
	// Row is the row of the enter within the log, -1 where that is missing.
	Row int64
	// Open: the call had not ended when the log did.
	Open bool
	// Hidden says that a filter hides the call, or all of several, or that this
	// is not known yet. Some: it may hide some of several, and shows at most Shown.
	Hidden, Some bool
	Shown        int64
	// colour is the function's; the widget fills it in.
	colour uint8
}

// A Source hands out calls to be drawn. Its methods are safe for concurrent
// use.
type Source interface {
	// Lanes returns the lanes from top to bottom.
	Lanes() []Lane
	// Bounds returns the times of the first and the last row.
	Bounds() (first, last int64)
	// Runs returns the runs from left to right; where there is one at most times
	// are those of the log.
	Runs() []Run
	// TimeDigits returns how many digits of a second times are worth.
	TimeDigits() int
	// Spans returns what a lane holds between two times, where that time is
	// drawn so many pixels wide, at each depth by time. Calls narrower than a
	// pixel may be merged. finer says that asking again gives more detail.
	Spans(lane int, from, to int64, pixels int) (spans []Span, finer bool, err error)
}
