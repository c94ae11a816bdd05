package pairing

import (
	"slices"

	"logparser/calls"
)

// Stacks of coroutines.
//
// What is paired is stacks. A thread has one of its own, and a log that is a
// [parser.Stacker] may have others, which go from thread to thread: a slot is a stack. What
// events have as their thread is a strand, a stack while it is on a thread. Where there are
// no such stacks a strand, a thread and its stack are the same.

// A pairedStrand is a strand: a value of Event.Thread.
type pairedStrand struct {
	id uint32
	// stack is the slot of its stack, owner that of its thread's own.
	stack, owner uint32
	// records counts its events but for those since the stack's last strand was another.
	records int64
}

// lookup returns the strand of an id, or -1.
func (p *pairer) lookup(id uint32) int {
	h := &p.byID
	for s := h.Start(uint64(id), 0); ; s++ {
		i := h.At(s)
		if i == 0 {
			return -1
		}
		if p.strands[i-1].id == id {
			return int(i - 1)
		}
	}
}

// findThread returns the stack that the events of an id are on, or nil.
func (p *pairer) findThread(id uint32) *Thread {
	if i := p.lookup(id); i >= 0 {
		return p.threads[p.strands[i].stack]
	}
	return nil
}

// find returns the stack that is one of another pairer's, or nil.
func (p *pairer) find(other *Thread) *Thread {
	if other.number == 0 {
		return p.findThread(other.id)
	}
	return p.byStack[other.number]
}

// addThread returns the stack that the events of an id are on, which it adds if it is
// new, and notes that it is this strand now.
func (p *pairer) addThread(id uint32) *Thread {
	i := p.lookup(id)
	if i < 0 {
		i = p.addStrand(id)
	}
	s := &p.strands[i]
	th := p.threads[s.stack]
	if th.strand != uint32(i) {
		p.settleRecords(th)
		th.strand, th.id = uint32(i), id
	}
	if s.stack != s.owner && p.begun {
		p.noteOwner(s.owner)
	}
	return th
}

// settleRecords counts the events of a stack for its strand.
func (p *pairer) settleRecords(th *Thread) {
	p.strands[th.strand].records += th.records - th.settled
	th.settled = th.records
}

// noteOwner notes that a thread has events in the block that are not on its own stack.
func (p *pairer) noteOwner(owner uint32) {
	if n := len(p.owners); n == 0 || p.owners[n-1] != owner {
		if !slices.Contains(p.owners, owner) {
			p.owners = append(p.owners, owner)
		}
	}
}

func (p *pairer) addStrand(id uint32) int {
	on, stack := id, uint32(0)
	if p.stacker != nil {
		on, stack = p.stacker.Strand(id)
	}
	owner := uint32(0)
	if stack != 0 {
		if i := p.lookup(on); i >= 0 {
			owner = p.strands[i].owner
		} else {
			owner = p.strands[p.addStrand(on)].owner
		}
	}
	i := len(p.strands)
	th := p.byStack[stack]
	if stack == 0 || th == nil {
		th = &Thread{id: id, slot: uint32(len(p.threads)), number: stack, top: p.bottom, strand: uint32(i)}
		if th.home = owner; stack == 0 {
			owner = th.slot
			th.home = owner
		} else {
			if p.byStack == nil {
				p.byStack = make(map[uint32]*Thread)
			}
			p.byStack[stack] = th
		}
		p.threads = append(p.threads, th)
	}
	p.strands = append(p.strands, pairedStrand{id: id, stack: th.slot, owner: owner})
	p.hashStrand(i)
	return i
}

func (p *pairer) hashStrand(i int) {
	h := &p.byID
	if h.Full(i + 1) {
		h.Grow()
		for k := range p.strands[:i] {
			h.Put(h.Start(uint64(p.strands[k].id), 0), uint32(k))
		}
	}
	h.Put(h.Start(uint64(p.strands[i].id), 0), uint32(i))
}

// threadRecords returns the threads with their events.
func (p *pairer) threadRecords() []calls.Thread {
	records := make([]int64, len(p.threads))
	for i := range p.strands {
		s := &p.strands[i]
		n := s.records
		if th := p.threads[s.stack]; th.strand == uint32(i) {
			n += th.records - th.settled
		}
		records[s.owner] += n
	}
	var list []calls.Thread
	for i, th := range p.threads {
		if th.number == 0 && (records[i] > 0 || th.seen || len(p.byStack) == 0) {
			list = append(list, calls.Thread{ID: th.id, Records: records[i]})
		}
	}
	return list
}
