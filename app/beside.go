package app

import (
	"context"
	"time"
)

// besideGrace is how long work that was cancelled is waited for.
const besideGrace = 50 * time.Millisecond

// beside does work that cannot be cancelled, such as opening a symbol file, in a
// goroutine of its own. Where ctx is cancelled it returns at once with the error of
// ctx; the work, which must touch nothing that others use, goes on to its end, and
// late is called with what it returns.
func beside[T any](ctx context.Context, work func() T, late func(T)) (T, error) {
	done := make(chan T, 1)
	go func() { done <- work() }()
	select {
	case v := <-done:
		return v, nil
	case <-ctx.Done():
	}
	// Most of it looks for the cancel itself, and clears up.
	soon := time.NewTimer(besideGrace)
	defer soon.Stop()
	select {
	case v := <-done:
		late(v)
	case <-soon.C:
		go func() { late(<-done) }()
	}
	var none T
	return none, ctx.Err()
}
