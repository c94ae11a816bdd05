package values

import (
	"slices"
	"strconv"
	"strings"

	"logparser/symbols/hooks"
	"logparser/symbols/types"
)

// word is how many bytes a pointer has where such hooks are followed.
const word = 8

// AtHooks changes a function's plan if its code calls the hooks of -finstrument-functions. At those calls, values are no longer
// where the calling convention puts them, so AtHooks replaces their places by those at the calls. A value whose place at the
// calls is not known becomes unknown.
func (f *Function) AtHooks(code *hooks.Code) {
	if code == nil || !code.Calls(f.RVA, f.Size) {
		return
	}
	var enter []hooks.Hook
	if h := code.Enter(f.RVA, f.Size); h != nil {
		enter = append(enter, *h)
	}
	f.Enter = f.takeAt(enter, f.Enter, false)
	f.keepAt(enter)
	f.Leave = f.takeAt(code.Leaves(f.RVA, f.Size), f.Leave, true)
}

// Forget makes the values of the function's enter unknown, and what pointers lead to that are kept there: its hook may not be called
// by its first instruction, so that nothing is where the calling convention puts it.
func (f *Function) Forget() {
	for i := range f.Enter {
		f.Enter[i].Place, f.Enter[i].Op = "-", Op{}
	}
	for i := range f.Leave {
		if v := &f.Leave[i]; strings.HasPrefix(v.Place, "@") {
			v.Place, v.Op = "-", Op{}
		}
	}
}

// keepAt has the hook at which a function is entered keep the pointers that the values of Leave follow. The places of these
// values become the numbers of the pointers, counted from 0 in the order of Hook.Keeps. A value whose pointer is not known at
// that hook becomes unknown.
func (f *Function) keepAt(enter []hooks.Hook) {
	var keeps []string
	for k := range f.Leave {
		v := &f.Leave[k]
		at, follows := strings.CutPrefix(v.Place, "@")
		if !follows {
			continue
		}
		place := ""
		if len(enter) > 0 {
			place = enter[0].Place(at, word, func(_, n int) int { return n })
		}
		i := slices.Index(keeps, place)
		switch {
		case place == "" || strings.Contains(place, "+") || i < 0 && len(keeps) == maxKept:
			v.Op, v.Place = Op{}, "-"
			continue
		case i < 0:
			i = len(keeps)
			keeps = append(keeps, place)
		}
		v.Place = "@" + strconv.Itoa(i)
	}
	if len(keeps) == 0 {
		return
	}
	if len(f.Hooks) == 0 { // no value of Enter has a place there
		f.Hooks = []Hook{{RVA: enter[0].RVA, Places: slices.Repeat([]string{"-"}, len(f.Enter))}}
	}
	f.Hooks[0].Keeps = keeps
}

// takeAt chooses those hooks of a list at which the most values have known places, adds them to the function, and returns the
// values with their places there.
func (f *Function) takeAt(list []hooks.Hook, taken []Value, leaves bool) []Value {
	for k := range taken {
		// This place has a pointer to the view. At a hook it may be in memory, where the recorder would take it for the view
		// itself if At were not set.
		if v := &taken[k]; v.Op.Kind == View && !strings.Contains(v.Place, "+") {
			v.Op.At = true
		}
	}
	most := 0
	found := make([][]string, len(list))
	for i := range list {
		found[i] = make([]string, len(taken))
		known := 0
		for k := range taken {
			if found[i][k] = copiedAt(&list[i], &taken[k]); found[i][k] == "" {
				found[i][k] = placeAt(&list[i], &taken[k])
			}
			if found[i][k] != "" {
				known++
			}
		}
		most = max(most, known)
	}
	best := make([]string, len(taken))
	var at []Hook
	for i, places := range found {
		known := 0
		for k, p := range places {
			if p != "" && (at == nil || best[k] != "") {
				known++
			}
		}
		if known == 0 || known < most {
			continue
		}
		if at == nil {
			best = places
		}
		at = append(at, Hook{RVA: list[i].RVA, Leaves: leaves, Places: places})
	}
	var kept []Value
	for k := range taken {
		v := taken[k]
		if v.Place = best[k]; v.Place == "" {
			v.Op, v.Place = Op{}, "-"
		}
		if v.Op.Kind == Unknown && isTextOf(taken, k) {
			continue // the struct shows the text's pointer instead
		}
		for i := range at {
			if at[i].Places[k] == "" {
				at[i].Places[k] = "-"
			}
			at[i].Places[len(kept)] = at[i].Places[k]
		}
		kept = append(kept, v)
	}
	for i := range at {
		at[i].Places = at[i].Places[:len(kept)]
	}
	f.Hooks = append(f.Hooks, at...)
	return kept
}

// copiedAt returns where a value is at a hook, the one of a function's enter, that the function got the address of and has
// copied, "" if there is no copy. It is taken from there, then.
func copiedAt(h *hooks.Hook, v *Value) (place string) {
	switch {
	case v.Op.Kind == Memory && v.Op.Offset == 0 && v.Op.Size <= MaxDirect:
		place = h.Copy(v.Place, v.Op.Size, func(from, n int) int { return usedOf(v.Type, from, n) })
		if place != "" {
			v.Op = Op{Kind: Direct, Size: v.Op.Size}
		}
	case v.Op.Kind == View && v.Op.At && v.Op.Offset == 0 && h.Quiet():
		place = h.Copy(v.Place, 2*word, func(_, n int) int { return n })
		v.Op.At = place == ""
	}
	return place
}

// placeAt returns where a value is at a hook, "" if that is not known.
func placeAt(h *hooks.Hook, v *Value) string {
	size := word
	switch {
	case v.Op.Kind == Unknown:
		return ""
	case strings.HasPrefix(v.Place, "@"):
		if !h.Quiet() {
			return "" // what is behind the hook may still write to what the pointer leads to
		}
		return v.Place
	case v.Op.Kind == Direct:
		size = v.Op.Size
	case !h.Quiet():
		return "" // the memory that the pointer leads to may not have its value yet
	case v.Op.Kind == View && !v.Op.At && strings.Contains(v.Place, "+"):
		size = 2 * word
	}
	place := h.Place(v.Place, size, func(from, n int) int {
		if v.Op.Kind != Direct {
			return n
		}
		return usedOf(v.Type, from, n)
	})
	if v.Op.Kind != Direct && strings.Contains(place, "=") {
		return "" // a constant is no place that a pointer or a length can be taken from
	}
	return place
}

// usedOf returns how many of n bytes of a type, from one on, are not padding behind the last that has anything in it; 1 at least.
func usedOf(t *types.Type, from, n int) int { return max(min(usedUpTo(t, 0, from+n, 0)-from, n), 1) }

// x87Bytes is how many bytes a long double has that are not padding.
const x87Bytes = 10

// usedUpTo returns the offset behind the last byte before end that is not padding.
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
	case t.Kind == types.Float:
		used = at + min(t.Size, x87Bytes)
	default:
		used = at + t.Size
	}
	return min(used, end)
}
