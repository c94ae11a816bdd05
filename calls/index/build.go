package index

import (
	"cmp"
	"context"
	"os"
	"time"

	"logparser/calls"
	"logparser/calls/indexcache"
	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
	"logparser/message"
	"logparser/parser"
)

// Build makes an index of runs of a log; see [Index.Build].
func Build(ctx context.Context, log parser.Log, runs []parser.Run, namer calls.Namer, progress parser.Progress) (*Index, error) {
	x := New(log, runs)
	if err := x.Build(ctx, namer, progress); err != nil {
		return nil, err
	}
	return x, nil
}

// Build reads the events and pairs them. Progress, if not nil, is told the
// rows done, at most some twenty times a second. Called again, with a Namer
// that knows more, it goes over all rows anew, and what was there can be read
// until it has ended. Cancelled or stopped by an error it leaves what is done,
// or what was there; called again without a Namer it goes on.
func (x *Index) Build(ctx context.Context, namer calls.Namer, progress parser.Progress) error {
	x.building.Lock()
	defer x.building.Unlock()
	old := x.core.Load()
	addresses, counted := calls.NewAddresses(), int64(0)
	if x.done.Load() {
		addresses, counted = old.addresses, old.pairs.Row()
	}
	empty := func() *core {
		c := x.newCore(x.layout.Load(), addresses, counted, pairing.NewNames(namer))
		c.version.Store(old.version.Load() + 1)
		if x.store != nil {
			c.folder = x.store.Folder
		}
		return c
	}
	c := empty()
	var key indexcache.Key
	shorter := "" // the file of the kept index of the first rows that is extended
	if x.store != nil {
		// A file that turned out to be damaged may have left something in the core.
		forget := func() {
			if !x.done.Load() {
				addresses = calls.NewAddresses()
			}
			c = empty()
		}
		key = x.key.Of(namer, addresses, addresses.Len())
		if c.load(ctx, x.store, key) == nil {
			x.publish(c)
			if progress != nil {
				progress(c.pairs.Row(), c.pairs.Row())
			}
			return nil
		}
		forget()
		if shorter = x.loadShorter(ctx, c, namer); shorter == "" {
			forget()
		}
	}
	if shorter == "" && !x.done.Load() && namer == nil && !old.named && old.pairs.Row() > 0 {
		// The last Build was stopped: go on with what it has made.
		c = old
		c.rows.Store(x.layout.Load())
	}
	if old.pairs.Row() == 0 {
		x.core.Store(c)
	}
	for _, to := range []int64{counted, c.layout().Total()} {
		if err := c.run(ctx, to, progress); err != nil {
			return err
		}
	}
	x.publish(c)
	if x.store != nil {
		err := c.save(ctx, x.store, key)
		if err == nil && shorter != "" {
			os.Remove(shorter)
		}
		if ctx.Err() == nil {
			x.failedToStore(cmp.Or(err, c.refused))
		}
	}
	return nil
}

// publish makes a core that is built the one that is read.
func (x *Index) publish(c *core) {
	x.core.Store(c)
	x.done.Store(true)
	c.version.Add(1)
}

func (x *Index) failedToStore(err error) {
	if err == nil {
		x.storeError.Store(nil)
		return
	}
	x.storeError.Store(&err)
}

// Extend goes on where Build, or the last Extend, ended, after the log has
// grown: runs are those of the index, of which the last may have become
// longer, and new ones behind them. Rows are there at once and are paired as
// it goes; an open call gets its partner and duration when its leave comes.
// The index is then the same as if it had been built from all the rows at
// once, provided that namer answers as the one of the last Build did or that
// NeedsNames was false. The namer must call none of the index's methods, but
// may call Addresses.Find.
//
// Before Build has ended, Extend only makes the index longer.
func (x *Index) Extend(ctx context.Context, runs []parser.Run, namer calls.Namer, progress parser.Progress) error {
	x.building.Lock()
	defer x.building.Unlock()
	if err := continues(x.layout.Load().Runs, runs); err != nil {
		return err
	}
	l := calls.NewLayout(runs)
	x.layout.Store(l)
	c := x.core.Load()
	if !x.done.Load() {
		return nil
	}
	c.mu.Lock()
	c.rows.Store(l)
	c.pairs.SetNames(pairing.NewNames(namer))
	c.named = namer != nil
	c.mu.Unlock()
	x.extended = true
	return c.run(ctx, l.Total(), progress)
}

// continues returns an error unless runs are the old ones, of which the last may
// have become longer, and new ones behind them.
func continues(old, runs []parser.Run) error {
	for i, r := range old {
		last := i == len(old)-1
		if i >= len(runs) || runs[i].First != r.First || runs[i].Count < r.Count || runs[i].Count > r.Count && !last {
			return message.Errorf("run %d is not what it was", i)
		}
	}
	return nil
}

// progressEvery is the least time between two calls of a Progress.
const progressEvery = 50 * time.Millisecond

// readLen is how many events are read at a time.
const readLen = sizes.MaxBlock

// run goes on up to a row.
func (c *core) run(ctx context.Context, to int64, progress parser.Progress) error {
	l := c.layout()
	var told time.Time
	tell := func() {
		if progress != nil && time.Since(told) >= progressEvery {
			told = time.Now()
			progress(c.pairs.Row(), l.Total())
		}
	}
	events := make([]parser.Event, readLen)
	for c.pairs.Row() < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := c.pairs.Row()
		run, record := l.Position(row)
		if c.pairs.Run() < run {
			c.mu.Lock()
			for c.pairs.Run() < run {
				c.pairs.EndRun()
			}
			c.mu.Unlock()
		}
		if done, err := c.parallel(ctx, to, tell); err != nil {
			return err
		} else if done {
			continue
		}
		n := min(int64(len(events)), to-row, l.Starts[run+1]-row, sizes.Block-row%sizes.Block)
		got, err := parser.ReadFull(c.log.ReadEvents, events[:n], record)
		c.mu.Lock()
		c.pairs.Add(events[:got])
		c.pairs.Publish()
		if row += int64(got); row == to || err != nil {
			c.pairs.Flush()
		} else if row%(1<<20) < n {
			c.pairs.AddSums()
		}
		c.version.Add(1)
		c.mu.Unlock()
		if err != nil {
			return err
		}
		tell()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if progress != nil && c.pairs.Row() == l.Total() {
		progress(l.Total(), l.Total())
	}
	return nil
}
