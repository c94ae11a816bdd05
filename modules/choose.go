package modules

import (
	"cmp"
	"slices"
	"strings"
)

// blockLines bounds the lines that one module may have.
const blockLines = 6

// looseMargin is how much better than any other a reading must score that does
// not fit everywhere, and leastScore what it must score at all unless it is the
// documented one.
const (
	looseMargin = 0.5
	leastScore  = 5
)

// lineGrouping has an entry for each line that can name a module, with so many numbers.
func lineGrouping(lines []rawLine, numbers int) *grouping {
	g := &grouping{lines: 1}
	for _, l := range lines {
		if isInteger(l.text) {
			continue
		}
		if e := lineEntry(l); e.complete(numbers) {
			g.entries = append(g.entries, e)
		}
	}
	return g
}

// complete reports whether an entry has so many numbers and something else.
func (e *entry) complete(numbers int) bool {
	for front := range min(len(e.front), numbers) + 1 {
		if _, ok := e.middle(front, numbers-front); ok {
			return true
		}
	}
	return false
}

// blockGrouping has an entry for each so many lines, at most limit of them.
func blockGrouping(lines []rawLine, size int, ahead bool, limit int) *grouping {
	if ahead {
		lines = lines[1:]
	}
	g := &grouping{lines: size, ahead: ahead, rest: len(lines) % size}
	for len(lines) >= size && len(g.entries) < limit {
		texts := make([]string, size)
		for i := range texts {
			texts[i] = lines[i].text
		}
		g.entries = append(g.entries, newEntry(lines[0].number, strings.Join(texts, blockSeparator)))
		lines = lines[size:]
	}
	return g
}

// groupings returns the ways to divide lines into entries. cut says that lines
// are missing at the end, so that what makes no whole entry there says nothing.
func groupings(lines []rawLine, columns Columns, cut bool) []*grouping {
	head := 0
	if columns == nil {
		if entries, columns, _, ok := labelledEntries(lines); ok {
			return []*grouping{{entries: entries, columns: columns}}
		}
		for i, l := range lines[:min(len(lines), 10)] {
			if c := headColumns(l.text); c != nil {
				columns, lines, head = c, lines[i+1:], i+1
				break
			}
		}
	}
	numbers := 2
	if len(columns) == 2 {
		numbers = 1 // the file has no sizes
	}
	g := lineGrouping(lines, numbers)
	g.columns, g.head = columns, head
	list := []*grouping{g}
	others := 0
	for _, l := range lines {
		if !isInteger(l.text) {
			others++
		}
	}
	if 2*len(g.entries) > others {
		return list
	}
	for size := 2; size <= blockLines; size++ {
		for _, ahead := range []bool{false, true} {
			if len(lines) < size || ahead && (len(lines) == size || !isInteger(lines[0].text)) {
				continue
			}
			b := blockGrouping(lines, size, ahead, sampleEntries)
			b.columns, b.head = columns, head
			if cut {
				b.rest = 0
			}
			if b.rest == 0 {
				list = append(list, b)
			}
		}
	}
	return list
}

// choose finds the one reading of a file's lines that is right. Of those that
// fit every line, the one with the fewest columns is taken; of several, the one
// in whose modules the log's addresses lie. Where none fits every line, the best is
// taken if no other comes near. It returns nil where there is none at all, and an
// AmbiguousError where two are equally good.
func choose(lines []rawLine, opt Options, cut bool) (*reading, error) {
	ways := groupings(lines, opt.Columns, cut)
	if opt.Columns != nil || ways[0].columns != nil {
		return chooseNumbers(ways, opt), nil
	}
	for numbers := 2; numbers < maxColumns; numbers++ {
		fit := strict(ways, numbers)
		if len(fit) == 0 {
			continue
		}
		if len(fit) == 1 && fit[0].numbered() {
			// Perhaps what all names begin or end with is a column.
			more := strict(ways, numbers+1)
			if len(more) == 1 && fit[0].counted() {
				return more[0], nil
			}
			fit = distinct(append(fit, more...))
		}
		if len(fit) == 1 {
			return fit[0], nil
		}
		if r := byAddresses(fit, opt.Addresses); r != nil {
			return r, nil
		}
		usual := slices.DeleteFunc(slices.Clone(fit), func(r *reading) bool { return r.low })
		if len(usual) == 1 {
			return usual[0], nil
		}
		return nil, ambiguous(fit, lines)
	}
	return loose(ways[0], lines, opt)
}

// strict returns the distinct readings with so many numbers that fit everywhere.
func strict(ways []*grouping, numbers int) []*reading {
	var fit []*reading
	for _, g := range ways {
		for _, r := range g.readings(numbers) {
			if r.strict {
				fit = append(fit, r)
			}
		}
	}
	return distinct(fit)
}

// numbered reports whether three or more names all begin or end with a number.
func (r *reading) numbered() bool {
	return len(r.found) >= 3 && !slices.ContainsFunc(r.found, func(p place) bool { return !beginsOrEndsWithNumber(p.name) })
}

// counted reports whether the names begin with the numbers of a list.
func (r *reading) counted() bool {
	for i := range r.found {
		e := newEntry(0, r.found[i].name)
		if len(e.front) == 0 {
			return false
		}
		first, ok1 := parseNumber(newEntry(0, r.found[0].name).front[0].text, 10)
		n, ok2 := parseNumber(e.front[0].text, 10)
		if !ok1 || !ok2 || n != first+uint64(i) {
			return false
		}
	}
	return len(r.found) < sampleEntries
}

// chooseNumbers chooses among the readings of columns that are known.
func chooseNumbers(ways []*grouping, opt Options) *reading {
	var list []*reading
	for _, g := range ways {
		list = append(list, g.readings(0)...)
	}
	sortReadings(list)
	if len(list) == 0 {
		return nil
	}
	if len(list) > 1 && !list[0].same(list[1]) && list[1].strict {
		if r := byAddresses(list, opt.Addresses); r != nil {
			return r
		}
	}
	return list[0]
}

func sortReadings(list []*reading) {
	slices.SortStableFunc(list, func(a, b *reading) int {
		if a.strict != b.strict {
			if a.strict {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.score, a.score)
	})
}

// loose chooses where no reading fits every line.
func loose(g *grouping, lines []rawLine, opt Options) (*reading, error) {
	var list []*reading
	for _, r := range g.readings(2) {
		if r.columns[r.place(r.size)].Role == Size && (r.plain() || r.score >= leastScore) {
			list = append(list, r)
		}
	}
	sortReadings(list)
	list = distinct(list)
	switch {
	case len(list) == 0:
		return nil, nil
	case len(list) == 1 || list[0].score >= list[1].score+looseMargin:
		return list[0], nil
	}
	if r := byAddresses(list, opt.Addresses); r != nil {
		return r, nil
	}
	near := slices.IndexFunc(list, func(r *reading) bool { return r.score+looseMargin < list[0].score })
	if near < 0 {
		near = len(list)
	}
	return nil, ambiguous(list[:near], lines)
}

// plain reports whether the columns are the documented ones, in either order of
// base and size.
func (r *reading) plain() bool { return r.front == 2 && r.back == 0 && r.in.lines == 1 }

// ambiguous makes the error about readings that are equally good.
func ambiguous(list []*reading, lines []rawLine) error {
	const most = 6
	err := &AmbiguousError{}
	for _, r := range list[:min(len(list), most)] {
		err.Columns = append(err.Columns, r.columns)
	}
	for _, l := range lines[:min(len(lines), most)] {
		err.Lines = append(err.Lines, clip(l.text))
	}
	return err
}
