package symbols

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// A Batch is a table that looks many addresses up in less time than one after
// another, on all processors.
type Batch interface {
	Table
	// LookupAll does what [LookupAll] says.
	LookupAll(ctx context.Context, rvas []uint64, found func(i int, sym Symbol, err error)) error
}

// A Prompt is a table whose first Lookup may take seconds, and that can name
// functions before.
type Prompt interface {
	Table
	// Slow reports whether the next Lookup will take long, because the file's
	// debug information has to be inflated.
	Slow() bool
	// Prompt returns what is known of an RVA at once: the procedure that
	// contains it, without line and without the calls inlined there. The error
	// is that of Lookup.
	Prompt(rva uint64) (Symbol, error)
}

// LookupAll looks addresses up on all processors. It calls found once for each
// index of rvas, with what [Table.Lookup] answers, in no promised order and
// from several goroutines at once. It ends early with the error of ctx alone.
func LookupAll(ctx context.Context, t Table, rvas []uint64, found func(i int, sym Symbol, err error)) error {
	if b, ok := t.(Batch); ok {
		return b.LookupAll(ctx, rvas, found)
	}
	const block = 64
	return Share(ctx, (len(rvas)+block-1)/block, func() func(int) {
		return func(b int) {
			for i := b * block; i < min(len(rvas), (b+1)*block); i++ {
				sym, err := t.Lookup(rvas[i])
				found(i, sym, err)
			}
		}
	})
}

// Share does n pieces of work on all processors. worker is called once for
// each goroutine and returns what does a piece, given its number. Share ends
// early with the error of ctx alone.
func Share(ctx context.Context, n int, worker func() func(i int)) error {
	var next atomic.Int64
	run := func() {
		work := worker()
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			work(i)
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		others.Add(1)
		go func() {
			defer others.Done()
			run()
		}()
	}
	if n > 0 {
		run()
	}
	others.Wait()
	return ctx.Err()
}
