package timeline

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/sizes"
	"logparser/parser"
)

// Of a region that is too narrow to be looked into some blocks are read, spread over
// it: all if there are no more than sampledBlocks. They say for each thread and depth how
// many calls it has, and in which functions the time was spent.

// sampledBlocks is how many blocks of a region are read at most; a variable for tests.
var sampledBlocks = 8

// sampleTime is how long regions are sampled in each pictureTime, before blocks are read
// for fillTime. What is asked for the first time is to be seen at once: then it is firstTime.
const (
	sampleTime = 8 * time.Millisecond
	firstTime  = time.Millisecond
)

// maxSampleWeights bounds what is kept of all regions.
const maxSampleWeights = 1 << 20

// A regionKey tells regions apart.
type regionKey struct{ level, k int }

// A sample is what was read of a region.
type sample struct {
	rows int64 // of the region
	// read is how many of its blocks were read, of blocks in all.
	read, blocks int
	threads      []sampledThread // by slot
	weights      int
	used         uint64
}

type sampledThread struct {
	thread uint32
	depths []sampledDepth
}

// A sampledDepth is of the calls of a depth that begin and end in the region.
type sampledDepth struct {
	calls   int64
	weights []weight
}

// wanted is how many blocks are to be read.
func (s *sample) wanted() int { return min(s.blocks, sampledBlocks) }

// thread returns what is known of a thread, nil for nothing.
func (s *sample) thread(slot uint32) *sampledThread {
	i, ok := slices.BinarySearchFunc(s.threads, slot, func(t sampledThread, slot uint32) int { return cmp.Compare(t.thread, slot) })
	if !ok {
		return nil
	}
	return &s.threads[i]
}

// sampleOf returns what is known of a region. The caller holds the lock.
func (p *picture) sampleOf(r *region) *sample {
	key := regionKey{r.level, r.k}
	s := p.samples[key]
	if s == nil || s.rows != r.Rows {
		if s != nil {
			p.weights -= s.weights
		}
		s = &sample{rows: r.Rows, blocks: max(sizes.Blocks(r.to)-int(r.from/sizes.Block), 1)}
		p.samples[key] = s
	}
	s.used = p.tick
	return s
}

// sampleRegions reads blocks of the regions that are not looked into, as far as there
// is time: first one of each, then more.
func (p *picture) sampleRegions() error {
	t := p.Timeline
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.drawnOf != p.src {
		return nil
	}
	t.tick++
	begun := time.Now()
	p.sampling = sampleTime
	if t.asked != p.SpanQuery {
		t.asked, p.sampling = p.SpanQuery, firstTime
	}
	for round := 0; ; round++ {
		more := false
		for i := range p.regions {
			r := &p.regions[i]
			if r.read {
				continue
			}
			s := p.sampleOf(r)
			if s.read > round || s.read >= s.wanted() {
				more = more || s.read < s.wanted()
				continue
			}
			if t.weights >= maxSampleWeights && !t.forget() {
				return nil
			}
			if p.read && t.spent+time.Since(begun) >= p.sampling {
				p.finer = true
				t.spent += time.Since(begun)
				return nil
			}
			p.read = true
			if err := p.sampleBlock(r, s); err != nil {
				return err
			}
			more = more || s.read < s.wanted()
		}
		if !more {
			t.spent += time.Since(begun)
			return nil
		}
	}
}

// forget forgets the regions that are not in this picture, and reports whether that
// has made room. The caller holds the lock.
func (t *Timeline) forget() bool {
	for k, s := range t.samples {
		if s.used != t.tick {
			t.weights -= s.weights
			delete(t.samples, k)
		}
	}
	return t.weights < maxSampleWeights
}

// sampleBlock reads the next block of a region. The caller holds the lock.
func (p *picture) sampleBlock(r *region, s *sample) error {
	sr := sampleReaders.Get().(*sampleReader)
	defer sampleReaders.Put(sr)
	n := s.wanted()
	// Blocks in the order 0, 1/2, 1/4, 3/4 … of those wanted.
	k := int(r.from/sizes.Block) + spread(s.read, n)*s.blocks/n
	if err := sr.sum(p.src, r, k); err != nil {
		return err
	}
	s.read++
	p.weights -= s.weights
	sr.addTo(s)
	p.weights += s.weights
	return nil
}

// spread returns the i-th of the numbers below n in an order in which each part of them is
// as good as spread over all.
func spread(i, n int) int {
	bits := 0
	for 1<<bits < n {
		bits++
	}
	for k := 0; ; k++ {
		reversed := 0
		for b := range bits {
			reversed |= k >> b & 1 << (bits - 1 - b)
		}
		if reversed < n {
			if i == 0 {
				return reversed
			}
			i--
		}
	}
}

// A sampleReader sums up the calls of a block by thread and depth.
type sampleReader struct {
	block index.Block
	nodes []uint32
	sums  map[sampleKey]*sampleSum
	free  []*sampleSum
}

type sampleKey struct {
	thread uint32
	depth  int32
}

type sampleSum struct {
	calls int64
	times map[uint32]int64 // by address
}

var sampleReaders = sync.Pool{New: func() any { return &sampleReader{sums: make(map[sampleKey]*sampleSum)} }}

// add counts a call.
func (sr *sampleReader) add(thread uint32, depth int32, address uint32, took int64) {
	if depth > maxSpanDepth {
		return
	}
	key := sampleKey{thread, depth}
	sum := sr.sums[key]
	if sum == nil {
		if n := len(sr.free); n > 0 {
			sum, sr.free = sr.free[n-1], sr.free[:n-1]
		} else {
			sum = &sampleSum{times: make(map[uint32]int64)}
		}
		sr.sums[key] = sum
	}
	sum.calls++
	sum.times[address] += max(took, 0)
}

// sum sums up the calls that begin in a block of a region and end in the region.
func (sr *sampleReader) sum(src *index.Index, r *region, k int) error {
	b := &sr.block
	if err := src.Fill(b, k, index.Times|index.Threads|index.Addresses|index.Kinds|index.Depths|index.Pairs); err != nil {
		return err
	}
	n := int(min(int64(b.N), r.to-b.First))
	end := b.First + int64(n)
	for i := max(int(r.from-b.First), 0); i < n; i++ {
		if b.Kind[i] != parser.Enter || b.Anomaly[i] == calls.Stray {
			continue
		}
		switch leave := b.Partner[i]; {
		case leave != calls.NoPartner && leave < end:
			sr.add(b.Thread[i], b.Depth[i], b.Address[i], b.Duration[i])
		case leave == calls.NoPartner && b.Anomaly[i] == calls.NoLeave:
			sr.add(b.Thread[i], b.Depth[i], b.Address[i], 0) // left before the region ends, or drawn by itself
		}
	}
	sr.nodes = src.Level(sr.nodes[:0], 0, max(b.First, r.from), end)
	for _, i := range sr.nodes {
		if n := src.Node(i); n.Leave >= end && n.Leave < r.to {
			sr.add(n.Thread, n.Depth, n.Address, n.LeaveTime-n.EnterTime)
		}
	}
	return nil
}

// addTo adds what was summed up to a sample, and empties the sums.
func (sr *sampleReader) addTo(s *sample) {
	for key, sum := range sr.sums {
		delete(sr.sums, key)
		at, ok := slices.BinarySearchFunc(s.threads, key.thread, func(t sampledThread, slot uint32) int { return cmp.Compare(t.thread, slot) })
		if !ok {
			s.threads = slices.Insert(s.threads, at, sampledThread{thread: key.thread})
		}
		t := &s.threads[at]
		for int(key.depth) >= len(t.depths) {
			t.depths = append(t.depths, sampledDepth{})
		}
		d := &t.depths[key.depth]
		d.calls += sum.calls
		s.weights -= len(d.weights)
		list := make([]weight, 0, len(sum.times)+len(d.weights))
		for _, w := range d.weights {
			list = append(list, weight{w.address, w.time + sum.times[w.address]})
			delete(sum.times, w.address)
		}
		for address, took := range sum.times {
			list = append(list, weight{address, took})
		}
		d.weights = slices.Clone(heaviest(list, keptWeights))
		s.weights += len(d.weights)
		clear(sum.times)
		sum.calls = 0
		sr.free = append(sr.free, sum)
	}
}

// sampled draws a region as far as it was sampled. rest is what is known of all its calls.
func (p *picture) sampled(r *region, rest *Span) {
	t := p.Timeline
	t.mu.Lock()
	s := t.samples[regionKey{r.level, r.k}]
	var depths []sampledDepth
	read, blocks := 0, 1
	if s != nil && s.rows == r.Rows {
		if th := s.thread(rest.Thread); th != nil {
			depths = slices.Clone(th.depths)
		}
		read, blocks = s.read, s.blocks
	}
	t.mu.Unlock()
	deepest := rest.Depth - 1 // of what is known
	for d := range depths {
		if len(depths[d].weights) == 0 {
			continue
		}
		span := *rest
		span.Depth, span.Deepest = int32(d), int32(d)
		span.Address, span.Time = depths[d].weights[0].address, depths[d].weights[0].time
		span.Count = depths[d].calls
		if read < blocks {
			span.Count = max(span.Count*int64(blocks)/int64(read), 1)
		}
		p.add(&span, depths[d].weights)
		deepest = max(deepest, int32(d))
	}
	if read == blocks {
		return // there is nothing else
	}
	// The blocks that were not read may have deeper calls.
	rest.Depth = deepest + 1
	if rest.Depth <= r.MaxDepth && rest.Start <= rest.End {
		p.add(rest, nil)
	}
}
