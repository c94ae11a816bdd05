package values

import (
	"strings"

	"logparser/symbols/hooks"
	"logparser/symbols/types"
)

// AtHooks has a function's values taken where its code calls the hooks of -finstrument-functions, if it does:
// where they are then. What is not known to be anywhere is not known.
func (f *Function) AtHooks(code *hooks.Code) {
	if code == nil || !code.Calls(f.RVA, f.Size) {
		return
	}
	var enter []hooks.Hook
	if h := code.Enter(f.RVA, f.Size); h != nil {
		enter = append(enter, *h)
	}
	f.takeAt(enter, f.Enter, false)
	f.takeAt(code.Leaves(f.RVA, f.Size), f.Leave, true)
}

// takeAt has values taken at those of some hooks that know the most of them.
func (f *Function) takeAt(list []hooks.Hook, taken []Value, leaves bool) {
	most := 0
	var found [][]string
	for i := range list {
		places, known := make([]string, len(taken)), 0
		for k := range taken {
			v := &taken[k]
			if places[k] = placeAt(&list[i], v); places[k] != "" {
				known++
			}
		}
		found = append(found, places)
		most = max(most, known)
	}
	var best []string
	for i, places := range found {
		known := 0
		for k, p := range places {
			if p != "" && (best == nil || best[k] != "") {
				known++
			}
		}
		if known == 0 || known < most {
			continue
		}
		if best == nil {
			best = places
		}
		f.Hooks = append(f.Hooks, Hook{RVA: list[i].RVA, Leaves: leaves, Places: places})
	}
	for k := range taken {
		if best == nil || best[k] == "" {
			taken[k].Op, taken[k].Place = Op{}, "-"
		} else {
			taken[k].Place = best[k]
		}
	}
	for i := range f.Hooks {
		h := &f.Hooks[i]
		for k := range h.Places {
			if h.Leaves == leaves && taken[k].Op.Kind == Unknown {
				h.Places[k] = "-"
			}
		}
	}
}

// placeAt returns where a value is at a hook, "" if that is not known.
func placeAt(h *hooks.Hook, v *Value) string {
	const word = 8
	size := word
	switch {
	case v.Op.Kind == Unknown || strings.HasPrefix(v.Place, "@"):
		return ""
	case v.Op.Kind == Direct:
		size = v.Op.Size
	case !h.Quiet():
		return "" // what it leads to may not be there yet
	case v.Op.Kind == View && !v.Op.At && strings.Contains(v.Place, "+"):
		size = 2 * word
	}
	place := h.Place(v.Place, size, func(from, n int) int {
		if v.Op.Kind != Direct {
			return n
		}
		return max(min(usedUpTo(v.Type, 0, from+n, 0)-from, n), 1)
	})
	if v.Op.Kind != Direct && strings.HasPrefix(place, "=") {
		return "" // nothing is where that leads to, or it is nowhere that is known now
	}
	return place
}

// usedUpTo returns where the last byte before end is that a type has anything in, and is not padding.
func usedUpTo(t *types.Type, at, end, depth int) (used int) {
	switch {
	case t == nil || depth > maxKept:
		return end
	case at >= end:
		return 0
	case t.Kind == types.Struct && len(t.Members) > 0:
		for i := range t.Members {
			m := &t.Members[i]
			if m.Bits > 0 {
				used = max(used, at+m.Offset+(m.Bit+m.Bits+7)/8)
			} else {
				used = max(used, usedUpTo(m.Type, at+m.Offset, end, depth+1))
			}
		}
	case t.Kind == types.Array && t.Target != nil && t.Count <= MaxDirect:
		for i := range t.Count {
			used = max(used, usedUpTo(t.Target, at+i*t.Target.Size, end, depth+1))
		}
	default:
		used = at + t.Size
	}
	return min(used, end)
}
