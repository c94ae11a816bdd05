package modules

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"logparser/message"
)

// A grouping is one way to divide a file's lines into entries.
type grouping struct {
	entries []entry
	// lines is how many lines an entry has, 0 where labels say it.
	lines int
	// head is how many lines stand before, up to the one that names the columns,
	// and ahead says that one more does: the tick.
	head  int
	ahead bool
	// rest is how many lines at the end make no whole entry.
	rest int
	// columns are what labels or a head line say; nil for nothing.
	columns Columns
}

// A reading is one way to understand the entries of a grouping.
type reading struct {
	in *grouping
	// columns has the radix of the numbers, too.
	columns Columns
	// front and back are how many columns stand before and behind the name.
	front, back int
	// size is the place of the Size or End column among the numbers, base that
	// of the load address. size is -1 if the file has neither.
	base, size int
	// score and strict are what judge found.
	score  float64
	strict bool
	// low says that a module lies where images hardly ever do.
	low   bool
	found []place
}

// A place is an entry as a reading has it.
type place struct {
	base, size uint64
	name       string
}

// An AmbiguousError says that a modules file can be read in several ways.
type AmbiguousError struct {
	// Columns are the ways, the most likely first, each in the form of
	// [ParseColumns].
	Columns []Columns
	// Lines are the first lines of the file, as they can be shown to a person.
	Lines []string
}

func (e *AmbiguousError) Error() string { return e.Message().String() }

// Message returns what is wrong.
func (e *AmbiguousError) Message() message.Text {
	ways := make([]message.Text, len(e.Columns))
	for i, c := range e.Columns {
		ways[i] = message.Textf("%s", c.String())
	}
	return message.Textf("its columns can be read in several ways: %s", message.Or(ways))
}

func parseNumber(s string, radix int) (uint64, bool) {
	t, prefixed := cutPrefix0x(s)
	if prefixed {
		radix = 16
	}
	v, err := strconv.ParseUint(t, radix, 64)
	return v, err == nil
}

// radices returns those that the numbers of a column can have. A prefix, a digit
// from a to f, or zeros in front (%08x, %p) make the whole column hexadecimal:
// one printf wrote it.
func radices(entries []entry, i, front, back int) []int {
	for j := range entries {
		e := &entries[j]
		if front > len(e.front) || back > len(e.back) {
			continue
		}
		s := e.column(i, front, back)
		if _, prefixed := cutPrefix0x(s); prefixed || strings.ContainsAny(s, "abcdefABCDEF") || len(s) >= 8 && s[0] == '0' {
			return []int{16}
		}
	}
	return []int{16, 10}
}

// sampleEntries is how many entries the choice of a reading looks at.
const sampleEntries = 200

func (g *grouping) sample() []entry {
	if len(g.entries) <= sampleEntries {
		return g.entries
	}
	s := make([]entry, sampleEntries)
	for i := range s {
		s[i] = g.entries[i*len(g.entries)/sampleEntries]
	}
	return s
}

// usual returns how many numbers nine tenths of the entries have in front and at
// the end.
func usual(entries []entry) (front, back int) {
	f, b := make([]int, len(entries)), make([]int, len(entries))
	for i := range entries {
		f[i], b[i] = len(entries[i].front), len(entries[i].back)
	}
	slices.Sort(f)
	slices.Sort(b)
	return f[len(f)/10], b[len(b)/10]
}

// readings returns all readings of a grouping that has the given number of
// columns besides the name.
func (g *grouping) readings(numbers int) []*reading {
	sample := g.sample()
	if len(sample) == 0 {
		return nil
	}
	if g.columns != nil {
		front := g.columns.name()
		return expand(nil, g, sample, g.columns, front, len(g.columns)-1-front)
	}
	mostFront, mostBack := usual(sample)
	var list []*reading
	for back := 0; back <= min(numbers, mostBack); back++ {
		front := numbers - back
		if front > mostFront {
			continue
		}
		for base := range numbers {
			for size := range numbers {
				if size == base {
					continue
				}
				for _, role := range []Role{Size, End} {
					columns := make(Columns, numbers+1)
					at := func(i int) int {
						if i >= front {
							return i + 1
						}
						return i
					}
					columns[front].Role = Name
					columns[at(base)].Role, columns[at(size)].Role = Base, role
					list = expand(list, g, sample, columns, front, back)
				}
			}
		}
	}
	return list
}

// expand adds the readings of these columns in each radix that their numbers
// can have.
func expand(list []*reading, g *grouping, sample []entry, columns Columns, front, back int) []*reading {
	r := reading{in: g, front: front, back: back, base: -1, size: -1}
	number := 0
	for _, c := range columns {
		switch c.Role {
		case Name:
			continue
		case Base:
			r.base = number
		case Size, End:
			r.size = number
		}
		number++
	}
	of := func(i int) []int {
		if radix := columns[r.place(i)].Radix; radix != 0 {
			return []int{radix}
		}
		return radices(sample, i, front, back)
	}
	if r.size < 0 {
		for _, base := range of(r.base) {
			one := r
			one.columns = slices.Clone(columns)
			one.columns[r.place(r.base)].Radix = base
			one.judge(sample)
			list = append(list, &one)
		}
		return list
	}
	for _, base := range of(r.base) {
		for _, size := range of(r.size) {
			one := r
			one.columns = slices.Clone(columns)
			one.columns[r.place(r.base)].Radix, one.columns[r.place(r.size)].Radix = base, size
			one.judge(sample)
			list = append(list, &one)
		}
	}
	return list
}

// place returns where in columns number i stands.
func (r *reading) place(i int) int {
	if i >= r.front {
		return i + 1
	}
	return i
}

// numbers returns base and size of an entry; the size is 0 where the file has none.
func (r *reading) numbers(e *entry) (base, size uint64, ok bool) {
	if r.front > len(e.front) || r.back > len(e.back) {
		return 0, 0, false
	}
	base, ok1 := parseNumber(e.column(r.base, r.front, r.back), r.columns[r.place(r.base)].Radix)
	if r.size < 0 {
		return base, 0, ok1
	}
	size, ok2 := parseNumber(e.column(r.size, r.front, r.back), r.columns[r.place(r.size)].Radix)
	if !ok1 || !ok2 {
		return 0, 0, false
	}
	if r.columns[r.place(r.size)].Role == End {
		if size < base {
			return 0, 0, false
		}
		size -= base
	}
	return base, size, base+size >= base
}

const (
	page        = 4 << 10
	granularity = 64 << 10 // of Windows's mappings
	usualSize   = 1 << 30  // images are smaller
	usualBase   = 1 << 20  // hardly any image lies below
)

// judge looks how well the entries are a list of modules: Windows maps images at
// multiples of 64 KiB and Linux of 4 KiB, sizes are multiples of 4 KiB, and
// modules do not overlap. A reading is strict if all of that is so for all
// entries and what is left is a name and nothing else.
func (r *reading) judge(sample []entry) {
	r.strict = r.in.rest == 0
	commas := false
	windows := false
	names := make([]string, len(sample))
	more := 0
	for i := range sample {
		e := &sample[i]
		text, ok := e.middle(r.front, r.back)
		if ok && r.front > 0 {
			commas = commas || strings.HasPrefix(e.text[e.front[r.front-1].end:], ",")
		} else if ok && r.back > 0 {
			commas = commas || strings.HasSuffix(strings.TrimRight(e.text[:e.back[r.back-1].start], " "), ",")
		}
		names[i] = text
		windows = windows || isWindowsName(text)
	}
	type span struct{ base, end uint64 }
	spans := make([]span, 0, len(sample))
	total := 0.0
	for i := range sample {
		p := place{name: unquote(names[i])}
		trouble := judgeName(names[i], commas)
		if trouble == nameMore {
			more++
		}
		var ok bool
		if p.base, p.size, ok = r.numbers(&sample[i]); r.size < 0 {
			p.size = page // of whichever size: it says nothing against the reading
		}
		r.found = append(r.found, p)
		if !ok || trouble == nameNot {
			r.strict = false
			total -= 10
			continue
		}
		total += plausible(p.base, p.size)
		r.strict = r.strict && trouble == nameFits && p.base >= granularity && p.base%page == 0 &&
			(!windows || p.base%granularity == 0) && p.size > 0 && p.size%page == 0 && p.size <= usualSize
		r.low = r.low || p.base < usualBase
		spans = append(spans, span{p.base, p.base + p.size})
	}
	sort.Slice(spans, func(a, b int) bool { return spans[a].base < spans[b].base })
	var end uint64
	for i, s := range spans {
		// The same module may be listed twice, whatever the columns.
		if s.base < end && (i == 0 || s != spans[i-1]) {
			total -= 4
			r.strict = false
		}
		end = max(end, s.end)
	}
	// Where names have something behind or before them everywhere, that is
	// another column.
	if 2*more > len(sample) {
		total -= 4 * float64(len(sample))
	}
	r.score = total / float64(len(sample))
}

// plausible is how likely it is that a module lies there.
func plausible(base, size uint64) float64 {
	points := 0.0
	switch {
	case base%granularity == 0:
		points += 3
	case base%page == 0:
		points += 2
	}
	if base >= granularity {
		points++
	}
	if size%page == 0 {
		points += 2
	}
	if size > 0 && size <= 1<<31 {
		points++
	}
	if base > size {
		points++
	}
	return points
}

func isWindowsName(name string) bool {
	name = unquote(name)
	if len(name) > 2 && name[1] == ':' && name[2] == '\\' || strings.HasPrefix(name, `\\`) {
		return true
	}
	lower := strings.ToLower(name)
	return strings.HasSuffix(lower, ".exe") || strings.HasSuffix(lower, ".dll")
}

// same reports whether two readings say the same of the sample.
func (r *reading) same(o *reading) bool { return slices.Equal(r.found, o.found) }

// supported returns the part of a sample of addresses that lies in the modules.
func (r *reading) supported(addresses []uint64) float64 {
	if len(addresses) == 0 {
		return 0
	}
	list := slices.Clone(r.found)
	sort.Slice(list, func(a, b int) bool { return list[a].base < list[b].base })
	inside := 0
	for _, a := range addresses {
		i := sort.Search(len(list), func(i int) bool { return list[i].base > a }) - 1
		if i >= 0 && a-list[i].base < list[i].size {
			inside++
		}
	}
	return float64(inside) / float64(len(addresses))
}

// distinct returns the readings without those that say the same as an earlier one.
func distinct(list []*reading) []*reading {
	var d []*reading
	for _, r := range list {
		if !slices.ContainsFunc(d, r.same) {
			d = append(d, r)
		}
	}
	return d
}

// byAddresses returns the reading in whose modules the log's addresses lie, if
// they lie in no other's; else nil.
func byAddresses(list []*reading, samples [][]uint64) *reading {
	var best *reading
	most, second := 0.0, 0.0
	for _, r := range list {
		s := 0.0
		for _, addresses := range samples {
			s = max(s, r.supported(addresses))
		}
		if s > most {
			best, most, second = r, s, most
		} else {
			second = max(second, s)
		}
	}
	if most < 0.5 || second > most/2 {
		return nil
	}
	return best
}
