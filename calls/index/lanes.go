package index

import (
	"math/bits"

	"logparser/calls"
	"logparser/parser"
)

// maxLanes is how many threads of a block are paired side by side.
const maxLanes = 16

// A lane is a thread whose calls are paired together with those of others.
type lane struct {
	th *replayThread // nil for none
	id uint32
	// frames has the thread's and room for more, sp is how many there are; without a thread it is less than 0.
	frames []int32
	sp     int
	depth  int32
	n      int64
}

// haveLanes reports whether the block has several threads, each of which has a lane.
func (r *replay) haveLanes() bool {
	taken := uint32(0)
	for k := range r.threads {
		taken |= 1 << (r.threads[k].id % maxLanes)
	}
	return len(r.threads) > 1 && bits.OnesCount32(taken) == len(r.threads)
}

// pairLanes is pair for events of several threads, which may take turns at every event. That they do is nothing that a
// processor could guess, so that there is no branch on it: what is needed of each thread is found by its id alone.
func (r *replay) pairLanes(b *Block, events []parser.Event, i, stop int, open calls.Anomaly) int {
	for k := range r.lanes {
		r.lanes[k].th, r.lanes[k].sp = nil, -2
	}
	for k := range r.threads {
		th := &r.threads[k]
		l := &r.lanes[th.id%maxLanes]
		sp := len(th.frames)
		if need := sp + stop - i; cap(th.frames) < need {
			th.frames = append(make([]int32, 0, need+BlockLen), th.frames...)
		}
		*l = lane{th: th, id: th.id, frames: th.frames[:sp+stop-i], sp: sp, depth: th.depth}
	}
	events = events[:stop]
	depths, durations, partners, anomalies := b.Depth[:stop], b.Duration[:stop], b.Partner[:stop], b.Anomaly[:stop]
	for ; i < len(events); i++ {
		e := &events[i]
		l := &r.lanes[e.Thread%maxLanes]
		leave := int(e.Kind)
		p := l.sp - leave
		if l.id != e.Thread || leave > 1 || p < 0 {
			break
		}
		none := int64(leave) - 1 // all bits of an enter
		// An enter is a pair with itself until its leave comes.
		f := l.frames[p]&^int32(none) | int32(i)&int32(none)
		if f < 0 {
			break
		}
		l.frames[p] = f
		l.sp = p + 1 - leave
		l.n++
		depths[i] = l.depth + int32(p)
		d := e.Time - events[f].Time
		if d < 0 {
			d = calls.Elapsed(events[f].Time, e.Time)
		}
		d |= none
		durations[i], durations[f] = d, d
		partners[i], partners[f] = (b.First+int64(f))|none, (b.First+int64(i))|none
		m := open & calls.Anomaly(none)
		anomalies[i], anomalies[f] = m, m
	}
	for k := range r.lanes {
		if l := &r.lanes[k]; l.th != nil {
			l.th.frames = l.frames[:l.sp]
			l.th.records += l.n
		}
	}
	return i
}
