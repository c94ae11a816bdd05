package index

import (
	"math"

	"logparser/calls/internal/sizes"
	"logparser/calls/pairing"
)

// levelOfNode returns the level of a node.
func levelOfNode(n *pairing.Node) uint8 {
	if n.Leave < 0 {
		return openLevel
	}
	return levelOf(n.Enter/sizes.Block, n.Leave/sizes.Block)
}

// levelOf returns the greatest k for which two blocks lie in different groups
// of 4^k blocks.
func levelOf(a, b int64) uint8 {
	level := uint8(0)
	for a, b = a>>2, b>>2; a != b; a, b = a>>2, b>>2 {
		level++
	}
	return level
}

const (
	// openLevel is that of a call that has not ended.
	openLevel = math.MaxUint8
	// levelFan is how many nodes, or groups of them, have a greatest level.
	levelFan = 16
)

// levels has each node's level, and above that the greatest level of each
// group of levelFan, of levelFan^2, and so on, by which the nodes of a level
// and above are found without looking at all of them.
type levels struct {
	rows []array[uint8]
}

// add adds the next node.
func (l *levels) add(m *memory, level uint8) {
	if len(l.rows) == 0 {
		l.rows = append(l.rows, array[uint8]{})
	}
	*l.rows[0].add(m) = level
	for k, n := 1, l.rows[0].len(); ; k++ {
		if n = (n + levelFan - 1) / levelFan; n == 1 && l.rows[k-1].len() == 1 {
			return
		}
		if k == len(l.rows) {
			// All that is below comes first.
			l.rows = append(l.rows, array[uint8]{})
			for i := range n {
				*l.rows[k].add(m) = l.greatest(k, i)
			}
		}
		if n > l.rows[k].len() {
			l.rows[k].add(m)
		}
		most := l.rows[k].at(n - 1)
		*most = max(*most, level)
	}
}

// fill gives n nodes the levels that level returns. There were none.
func (l *levels) fill(m *memory, n int, level func(i int) uint8) {
	for row := 0; n > 0; row++ {
		l.rows = append(l.rows, array[uint8]{})
		for i := range n {
			if row > 0 {
				*l.rows[row].add(m) = l.greatest(row, i)
			} else {
				*l.rows[row].add(m) = level(i)
			}
		}
		if n == 1 {
			return
		}
		n = (n + levelFan - 1) / levelFan
	}
}

// greatest returns the greatest level of a group, from the row below.
func (l *levels) greatest(k, i int) uint8 {
	below := &l.rows[k-1]
	most := uint8(0)
	for j := i * levelFan; j < min((i+1)*levelFan, below.len()); j++ {
		most = max(most, *below.at(j))
	}
	return most
}

// set sets the level of a node.
func (l *levels) set(i int, level uint8) {
	if *l.rows[0].at(i) == level {
		return
	}
	*l.rows[0].at(i) = level
	for k := 1; k < len(l.rows); k++ {
		i /= levelFan
		most := l.greatest(k, i)
		if *l.rows[k].at(i) == most {
			return
		}
		*l.rows[k].at(i) = most
	}
}

// next returns the first node from a number on that has at least the level,
// or the number of nodes.
func (l *levels) next(i int, level uint8) int {
	if len(l.rows) == 0 {
		return 0
	}
	n := l.rows[0].len()
	if i >= n {
		return n
	}
	// Up as long as whole groups are skipped.
	k, group := 0, i
	for *l.rows[k].at(group) < level {
		group++
		for k+1 < len(l.rows) && group%levelFan == 0 {
			k, group = k+1, group/levelFan
		}
		if group >= l.rows[k].len() {
			return n
		}
	}
	for ; k > 0; k-- {
		group *= levelFan
		for *l.rows[k-1].at(group) < level {
			group++
		}
	}
	return group
}
