package pairing

// An Exception is an event that does not just enter a call or close the top: with the
// exceptions of a block its events are paired again by pushing and popping alone.
type Exception struct {
	Row  uint32 // in the block
	Kind uint8
	// N is how many calls were left without a leave.
	N uint32
	// Pushed are calls that were found to be open, outermost first.
	Pushed []Pushed
}

// The kinds of exceptions.
const (
	// Stray closes no call.
	Stray = iota
	// Unwound closes a call below the top.
	Unwound
	// Tailed closes the top, and is marked as a tail.
	Tailed
	// Resumed comes before what else the event does: calls end, and others
	// are open whose enters are missing.
	Resumed
)

// Pushed is so many calls of one address, by its number, whose enters are missing.
type Pushed struct{ N, Address uint32 }
