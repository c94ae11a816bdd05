package dwarf

import (
	"context"
	"math/bits"
	"slices"

	"logparser/symbols"
)

// few is how many addresses of a unit are looked up one by one: for less the
// unit's entries are not read as a whole.
const few = 16

// LookupAll implements [symbols.Batch]. Addresses are grouped by the unit that
// they lie in, and a unit is worked on by one processor.
func (t *Table) LookupAll(ctx context.Context, rvas []uint64, found func(i int, sym symbols.Symbol, err error)) error {
	groups := t.groups(rvas)
	return symbols.Share(ctx, len(groups), func() func(int) {
		return func(g int) {
			l := t.lookup()
			defer t.done(l)
			l.group(ctx, groups[g], found)
		}
	})
}

// group looks up the addresses of one unit, whose entries are looked at in the mapped file where there are enough of them.
func (l *lookup) group(ctx context.Context, list []query, found func(i int, sym symbols.Symbol, err error)) {
	l.many = len(list) >= few
	n := 0
	each := func() {
		for ; n < len(list); n++ {
			if n%1024 == 1023 && ctx.Err() != nil {
				return
			}
			sym, err := l.symbol(list[n].rva)
			found(list[n].i, sym, err)
		}
	}
	if l.many {
		if u, _ := l.t.unitFrom(l.t.im.Base + list[0].rva); u != nil {
			l.withBody(l.t.codeUnit(u), each)
		}
	}
	// What is left where the file is not mapped, or was shortened.
	each()
}

// A query is an address and its place in the list.
type query struct {
	rva uint64
	i   int
}

// sortedQueries returns addresses with their places, sorted. Both fit into one number nearly always, which
// are sorted several times as fast as pairs.
func sortedQueries(rvas []uint64) []query {
	all := make([]query, len(rvas))
	bits := bits.Len(uint(len(rvas)))
	keys := make([]uint64, len(rvas))
	for i, rva := range rvas {
		if rva>>(64-bits) != 0 {
			keys = nil
			break
		}
		keys[i] = rva<<bits | uint64(i)
	}
	if keys == nil {
		for i, rva := range rvas {
			all[i] = query{rva, i}
		}
		slices.SortFunc(all, func(a, b query) int { return compare(a.rva, b.rva) })
		return all
	}
	slices.Sort(keys)
	for i, key := range keys {
		all[i] = query{key >> bits, int(key & (1<<bits - 1))}
	}
	return all
}

// groups sorts addresses and divides them by unit, the largest group first.
func (t *Table) groups(rvas []uint64) [][]query {
	all := sortedQueries(rvas)
	t.indexOnce.Do(t.buildIndex)
	byUnit := make(map[*unit][]query)
	for from := 0; from < len(all); {
		// The addresses up to the next range of a unit are of the same.
		u, until := t.unitFrom(t.im.Base + all[from].rva)
		to := from + 1
		for to < len(all) && t.im.Base+all[to].rva < until {
			to++
		}
		if list, ok := byUnit[u]; ok {
			byUnit[u] = append(list, all[from:to]...)
		} else {
			byUnit[u] = all[from:to:to]
		}
		from = to
	}
	groups := make([][]query, 0, len(byUnit))
	for u, list := range byUnit {
		if u != nil {
			groups = append(groups, list)
			continue
		}
		// What no unit claims is of the symbol tables.
		const block = 1024
		for len(list) > block {
			groups = append(groups, list[:block])
			list = list[block:]
		}
		groups = append(groups, list)
	}
	slices.SortFunc(groups, func(a, b []query) int {
		if n := len(b) - len(a); n != 0 {
			return n
		}
		return compare(a[0].rva, b[0].rva)
	})
	return groups
}

// unitFrom returns the unit whose range begins nearest before an address and
// holds it, nil where there is none, and the address up to which that stays.
func (t *Table) unitFrom(addr uint64) (u *unit, until uint64) {
	i, end := 0, len(t.index)
	for i < end {
		if mid := int(uint(i+end) / 2); t.index[mid].lo <= addr {
			i = mid + 1
		} else {
			end = mid
		}
	}
	until = ^uint64(0)
	if i < len(t.index) {
		until = t.index[i].lo
	}
	i--
	for n := 0; i >= 0 && t.reach[i] > addr && n < maxUnitsAt; i, n = i-1, n+1 {
		if t.index[i].hi > addr {
			return t.index[i].u, min(until, t.index[i].hi)
		}
	}
	return nil, until
}
