package compare

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"time"

	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// ChainEvery is how many events of a stack lie between two hashes of its Chain.
const ChainEvery = 4096

// A Chain has the hashes of a stack's events, one for every ChainEvery events. Damaged records do not
// count as events.
type Chain struct {
	Events int64
	// Hashes has the hash of the first (i + 1) * ChainEvery events at i, and Rows the row of event
	// i * ChainEvery.
	Hashes []uint64
	Rows   []int64
	// First has the addresses that are entered, in the order of their first enters.
	First []Appearance
}

// An Appearance is the first enter of an address on a stack.
type Appearance struct {
	Event   int64 // its number among the stack's, from 0
	Address uint32
}

// lanes is the number of hashes that take the events in turn. They do not depend on each other, so that
// a processor computes them at the same time.
const lanes = 4

// A chainer makes a Chain.
type chainer struct {
	Chain
	hashes [lanes]uint64
	// numbers has, for each address, 1 + its index in First, 0 for none. Where that array would take too
	// much memory it is nil, and sparse, which all stacks have in common, has the numbers.
	numbers []uint32
	sparse  map[slotAddress]uint32
	slot    uint32
}

type slotAddress struct{ slot, address uint32 }

// maxNumbers bounds the elements of the numbers arrays of all stacks together.
const maxNumbers = 1 << 24

// Chains returns the chains of all stacks of an index, by slot. Progress, if not nil, is told the rows
// done. It may be called from several goroutines at once.
func Chains(ctx context.Context, src *index.Index, progress parser.Progress) ([]Chain, error) {
	src = src.Steady()
	list := make([]chainer, src.Slots())
	addresses := src.AddressTable().Len()
	dense := int64(len(list))*int64(addresses) <= maxNumbers
	var sparse map[slotAddress]uint32
	if !dense {
		sparse = make(map[slotAddress]uint32)
	}
	for i := range list {
		if c := &list[i]; dense {
			c.numbers = make([]uint32, addresses)
		} else {
			c.sparse, c.slot = sparse, uint32(i)
		}
	}
	var told time.Time
	err := eachBlock(ctx, src, index.Threads|index.Kinds|index.Addresses, func(b *index.Block) {
		addBlock(list, b)
		if progress != nil && time.Since(told) >= tellEvery {
			told = time.Now()
			progress(b.First+int64(b.N), src.Len())
		}
	})
	if err != nil {
		return nil, err
	}
	chains := make([]Chain, len(list))
	for i := range list {
		chains[i] = list[i].Chain
	}
	return chains, nil
}

// tellEvery is the least time between two calls of a Progress.
const tellEvery = 50 * time.Millisecond

// eachBlock reads blocks in parallel, and calls f with them in order.
func eachBlock(ctx context.Context, src *index.Index, want index.Columns, f func(b *index.Block)) error {
	blocks := int((src.Len() + sizes.Block - 1) / sizes.Block)
	type filled struct {
		b   *index.Block
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer cancel()
	n := min(runtime.GOMAXPROCS(0), blocks)
	full, empty := make([]chan filled, n), make([]chan *index.Block, n)
	for w := range n {
		const ahead = 2
		full[w], empty[w] = make(chan filled, ahead), make(chan *index.Block, ahead)
		for range ahead {
			empty[w] <- &index.Block{}
		}
		readers.Add(1)
		go func() {
			defer readers.Done()
			for k := w; k < blocks; k += n {
				select {
				case b := <-empty[w]:
					err := src.Fill(b, k, want)
					full[w] <- filled{b, err}
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for k := range blocks {
		select {
		case r := <-full[k%n]:
			if r.err != nil {
				return r.err
			}
			f(r.b)
			empty[k%n] <- r.b
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// addBlock adds the events of the next block to the chains of their stacks.
func addBlock(list []chainer, b *index.Block) {
	for i := range b.N {
		kind, slot := b.Kind[i], b.Thread[i]
		if kind > parser.Leave || int(slot) >= len(list) {
			continue
		}
		c := &list[slot]
		address := b.Address[i]
		n := uint32(0)
		if int(address) < len(c.numbers) {
			n = c.numbers[address]
		}
		if n == 0 && kind == parser.Enter {
			n = c.number(address)
		}
		if c.Events%ChainEvery == 0 {
			c.Rows = append(c.Rows, b.First+int64(i))
		}
		// Without a branch, since a processor cannot predict which events are enters: a leave counts as 0.
		h := &c.hashes[c.Events%lanes]
		*h = step(*h, uint64(n)&-uint64(1-kind))
		if c.Events++; c.Events%ChainEvery == 0 {
			c.Hashes = append(c.Hashes, c.hash())
		}
	}
}

// number returns the number of an address that numbers does not have, and gives it one if it is new.
func (c *chainer) number(address uint32) uint32 {
	n := c.sparse[slotAddress{c.slot, address}]
	if n != 0 {
		return n
	}
	c.First = append(c.First, Appearance{c.Events, address})
	n = uint32(len(c.First))
	if c.sparse != nil {
		c.sparse[slotAddress{c.slot, address}] = n
	} else if int(address) < len(c.numbers) {
		c.numbers[address] = n
	}
	return n
}

func step(h, value uint64) uint64 { return bits.RotateLeft64(h^value, 29) * 0x9e3779b97f4a7c15 }

// hash returns the hash of all events so far.
func (c *chainer) hash() uint64 {
	h := uint64(c.Events)
	for _, l := range c.hashes {
		h = step(h, l^l>>32)
	}
	return h ^ h>>29
}
