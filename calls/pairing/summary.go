package pairing

import "math"

// A Summary describes a block, or a group of blocks.
type Summary struct {
	// FirstTime and LastTime are the least and the greatest time.
	FirstTime, LastTime int64
	Rows                int64
	MaxDuration         int64
	MaxDepth            int32
	// Anomalies has bit 1<<anomaly set for each anomaly of its rows. Calls that are
	// open at the log's end are not among them.
	Anomalies uint16
	// Addresses and Threads are Bloom filters: bit n%256 and n%64 is set for
	// each number of an address and slot of a thread.
	Addresses [4]uint64
	Threads   uint64
	// Owners is that of the slots of the threads' own stacks, and has all of Threads.
	Owners uint64
}

// EmptySummary returns the summary of no rows.
func EmptySummary() Summary {
	return Summary{FirstTime: math.MaxInt64, LastTime: math.MinInt64}
}

// Merge adds another summary, but for the rows.
func (s *Summary) Merge(from *Summary) {
	s.FirstTime, s.LastTime = min(s.FirstTime, from.FirstTime), max(s.LastTime, from.LastTime)
	s.MaxDuration, s.MaxDepth = max(s.MaxDuration, from.MaxDuration), max(s.MaxDepth, from.MaxDepth)
	s.Anomalies |= from.Anomalies
	for i := range s.Addresses {
		s.Addresses[i] |= from.Addresses[i]
	}
	s.Threads |= from.Threads
	s.Owners |= from.Owners
}
