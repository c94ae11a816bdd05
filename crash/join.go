package crash

// An OpenCall is a call that was open in the log when the process died.
type OpenCall struct {
	// Start is the address of the function's first byte, 0 if it is not known.
	Start uint64
	// Row is the number of its row in the log.
	Row int64
}

// A Source tells where a row of the joined table comes from.
type Source string

const (
	FromStack Source = "stack"
	FromLog   Source = "log"
	FromBoth  Source = "both"
)

// A Joined is a row of the joined table: a frame, an open call, or both.
type Joined struct {
	// Frame and Call are indexes into the frames and calls that were joined, -1 for none.
	Frame, Call int
	Source      Source
}

// Join merges the frames of a thread with its open calls. Both are innermost first. starts are the addresses of the first bytes
// of the frames' functions, 0 if they are not known.
//
// Calls and frames are matched from the outermost inwards, by the addresses of their functions. A function that is not
// instrumented has a frame but no call. A function that was inlined, that left its frame by a tail call, or whose frame was
// lost with a corrupted stack has a call but no frame. A call without a matching frame comes outside the remaining frames.
func Join(starts []uint64, calls []OpenCall) []Joined {
	var rows []Joined // outermost first
	f := len(starts) - 1
	for c := len(calls) - 1; c >= 0; c-- {
		at := -1
		if calls[c].Start != 0 {
			for i := f; i >= 0; i-- {
				if starts[i] == calls[c].Start {
					at = i
					break
				}
			}
		}
		if at < 0 {
			rows = append(rows, Joined{-1, c, FromLog})
			continue
		}
		for ; f > at; f-- {
			rows = append(rows, Joined{f, -1, FromStack})
		}
		rows = append(rows, Joined{at, c, FromBoth})
		f = at - 1
	}
	for ; f >= 0; f-- {
		rows = append(rows, Joined{f, -1, FromStack})
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return rows
}
