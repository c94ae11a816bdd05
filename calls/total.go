package calls

// A Total sums up the calls of an address. Times are in nanoseconds. Calls
// without a leave count in Calls and in nothing else.
type Total struct {
	Calls, Timed int64
	// Sum is all the time in the calls; NonRecursive leaves out those that
	// were made while another call of the address was open on the thread.
	Sum, Self, NonRecursive int64
	Min, Max                int64
	Histogram               Histogram
}

// Add counts a call.
func (t *Total) Add(duration, self int64, recursive bool) {
	t.Calls++
	if duration != NoDuration {
		t.AddTimed(duration, self, recursive)
	}
}

// AddTimed counts the duration of a call.
func (t *Total) AddTimed(duration, self int64, recursive bool) {
	if t.Timed == 0 || duration < t.Min {
		t.Min = duration
	}
	t.Max = max(t.Max, duration)
	t.Timed++
	t.Sum += duration
	t.Self += self
	if !recursive {
		t.NonRecursive += duration
	}
	t.Histogram.Add(duration)
}

// Merge adds what another counted.
func (t *Total) Merge(other *Total) {
	if other.Timed > 0 {
		if t.Timed == 0 || other.Min < t.Min {
			t.Min = other.Min
		}
		t.Max = max(t.Max, other.Max)
	}
	t.Calls += other.Calls
	t.Timed += other.Timed
	t.Sum += other.Sum
	t.Self += other.Self
	t.NonRecursive += other.NonRecursive
	t.Histogram.Merge(&other.Histogram)
}
