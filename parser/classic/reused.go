package classic

import (
	"math"
	"slices"
	"sort"

	"logparser/modules"
	"logparser/parser"
)

// How addresses are told apart that several modules had, one after the other.
//
// Our recorder writes into the modules file at which byte of the log a module came
// (modules.File.Came). An event whose address only ever belonged to one module is of space 0.
// One in a range that was used again has a space for each module that came there: of two
// functions at one address each gets its own name, and an enter and its leave have one space,
// since a module is not replaced while its code runs.

// A reused is a range of addresses that several modules had, not all at one time.
type reused struct {
	first, last uint64
	// changes rise by record. Before the first one the space is 0.
	changes []moduleChange
}

// A moduleChange says that a module came to a range.
type moduleChange struct {
	record int64
	space  uint16
}

// maxTogether bounds the modules of one range that are looked at as being there at one time:
// real ones do not overlap. Beyond it their addresses stay ambiguous.
const maxTogether = 64

// setModules sets what the modules file says of a run of the view: its modules, when each had its
// addresses, and the spaces that follow from that.
func (o *opener) setModules(v *view, run int, list []modules.Module) {
	v.info.Runs[run].HasModules = len(list) > 0
	v.described, v.spaces, v.reused = run, plainSpaces, nil
	came := o.modules.Came
	if len(came) == len(list) && !v.truncated {
		list = slices.Clone(list)
		start := v.offset(v.info.Runs[run].First)
		v.spaces, v.reused = reusedRanges(list, came, func(bytes int64) int64 { return v.recordAt(start + bytes) })
	}
	v.modules[run] = modules.NewMap(list)
}

// reusedRanges finds the ranges of addresses that modules had one after the other. It sets when each
// module had them, in numbers of spaces. record tells which record lies at a byte of the run.
func reusedRanges(list []modules.Module, came []int64, record func(bytes int64) int64) ([]parser.Space, []reused) {
	order := make([]int, 0, len(list))
	for i := range list {
		if list[i].Size > 0 && list[i].Base+(list[i].Size-1) >= list[i].Base {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return list[order[a]].Base < list[order[b]].Base })
	var ranges []reused
	of := make([]int, len(list)) // the range of each module, plus 1
	for begin := 0; begin < len(order); {
		r := reused{first: list[order[begin]].Base}
		end, apart := begin, false
		for ; end < len(order) && (end == begin || list[order[end]].Base <= r.last); end++ {
			m := &list[order[end]]
			r.last = max(r.last, m.Base+(m.Size-1))
			apart = apart || came[order[end]] != came[order[begin]]
		}
		if apart {
			ranges = append(ranges, r)
			for _, i := range order[begin:end] {
				of[i] = len(ranges)
			}
		}
		begin = end
	}
	spaces := slices.Clone(plainSpaces)
	there := make([][]int, len(ranges)) // the modules of each range that are there
	for i := range list {
		if of[i] == 0 {
			continue
		}
		r, m := &ranges[of[i]-1], &list[i]
		alive := there[of[i]-1]
		if came[i] > came[0] {
			if len(spaces) > math.MaxUint16 || len(alive) >= maxTogether {
				continue
			}
			space := len(spaces)
			spaces = append(spaces, parser.Space{Kind: parser.ReturnAddress, Time: int64(space)})
			r.changes = append(r.changes, moduleChange{record(came[i]), uint16(space)})
			m.Loaded = int64(space)
			alive = slices.DeleteFunc(alive, func(k int) bool {
				was := &list[k]
				over := came[k] < came[i] && was.Base <= m.Base+(m.Size-1) && m.Base <= was.Base+(was.Size-1)
				if over {
					was.Unloaded = int64(space)
				}
				return over
			})
		}
		there[of[i]-1] = append(alive, i)
	}
	return spaces, ranges
}

// setSpaces sets the spaces of events from a record on that lie in ranges used again.
func (l *view) setSpaces(events []parser.Event, from int64) {
	run := l.info.Runs[l.described]
	events = events[min(max(run.First-from, 0), int64(len(events))):min(max(run.First+run.Count-from, 0), int64(len(events)))]
	from = max(from, run.First)
	for i := range events {
		// The instruction meant is the one before the return address.
		at := events[i].Address - 1
		k := sort.Search(len(l.reused), func(k int) bool { return l.reused[k].last >= at })
		if k == len(l.reused) || at < l.reused[k].first {
			continue
		}
		changes := l.reused[k].changes
		n := sort.Search(len(changes), func(n int) bool { return changes[n].record > from+int64(i) })
		if n > 0 {
			events[i].Space = changes[n-1].space
		}
	}
}

// offset returns where a record lies in the file.
func (l *view) offset(record int64) int64 {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].first > record }) - 1
	if i < 0 {
		return record * int64(l.size)
	}
	return l.segments[i].offset + (record-l.segments[i].first)*int64(l.size)
}

// recordAt returns the first record that begins at an offset of the file or behind it.
func (l *view) recordAt(offset int64) int64 {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].offset > offset }) - 1
	if i < 0 {
		return 0
	}
	record := l.segments[i].first + (offset-l.segments[i].offset+int64(l.size)-1)/int64(l.size)
	if i+1 < len(l.segments) {
		record = min(record, l.segments[i+1].first)
	}
	return record
}
