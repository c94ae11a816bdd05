package trace

import (
	"sort"

	"logparser/parser"
)

// readTwo merges the decoded events of two streams into dst, up to a time, until one of them has no more. A processor cannot
// predict the order in which threads that run at the same time take turns, so there is no branch on whose turn it is.
func (c *cursor) readTwo(dst []parser.Event, end uint64) int {
	first, second := c.heap[0].of, c.heap[1].of
	a, b := eventsBefore(first.events, end), eventsBefore(second.events, end)
	tie := int64(0) // if times are equal, the second stream comes first
	if first.s.earlier(second.s) {
		tie = 1
	}
	n, i, j := 0, 0, 0
	for ; n < len(dst) && i < len(a) && j < len(b); n++ {
		next := [2]*parser.Event{&a[i], &b[j]}
		turn := int(uint64(next[1].Time-next[0].Time+tie-1) >> 63)
		dst[n] = *next[turn]
		i += 1 - turn
		j += turn
	}
	first.events, second.events = first.events[i:], second.events[j:]
	return n
}

// eventsBefore returns the events before end.
func eventsBefore(events []parser.Event, end uint64) []parser.Event {
	n := len(events)
	if n > 0 && uint64(events[n-1].Time) >= end {
		n = sort.Search(n, func(i int) bool { return uint64(events[i].Time) >= end })
	}
	return events[:n]
}

// refillTwo decodes more events of those of the two streams that have none left, and restores the order of the heap.
func (c *cursor) refillTwo() error {
	for k := 1; k >= 0; k-- {
		s := c.heap[k].of
		if len(s.events) == 0 {
			if err := s.more(); err != nil {
				return err
			}
		}
		if len(s.events) == 0 {
			c.heap[k] = c.heap[len(c.heap)-1]
			c.heap = c.heap[:len(c.heap)-1]
			c.idle = append(c.idle, s)
			continue
		}
		c.heap[k].time = s.events[0].Time
	}
	c.heap.down(0)
	return nil
}
