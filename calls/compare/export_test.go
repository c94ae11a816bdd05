package compare

import "testing"

// SetMostEvents sets how many events of a log are in memory at a time, for a test.
func SetMostEvents(t *testing.T, n int64) {
	old := mostEvents
	mostEvents = n
	t.Cleanup(func() { mostEvents = old })
}
