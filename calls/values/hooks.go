package values

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"logparser/symbols/hooks"
	"logparser/symbols/types"
)

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

// slot is how many bytes an argument takes at least on the stack of x86-64.
const slot = 8

// ForgetUnread makes those values of a function of types unknown that its callers may have left out, because its code does nothing with the
// registers that have them, or lead to them.
func (f *Function) ForgetUnread(of *types.Function, code hooks.Taken) {
	forget := func(v *Value, place string) {
		if of.Omits == types.OmitMemory && v.Op.Kind == Direct {
			return
		}
		unread := func(register string) bool { return code.Unread(register, of.Result != nil) }
		offset, err := strconv.ParseInt(strings.TrimPrefix(place, "stack+"), 10, 64)
		if slices.ContainsFunc(strings.Split(place, "+"), unread) || err == nil && v.Op.Size <= slot && code.UnreadStack(offset) {
			v.Place, v.Op = "-", Op{}
		}
	}
	for i := range f.Enter {
		forget(&f.Enter[i], f.Enter[i].Place)
	}
	for i := range f.Leave {
		if place, kept := strings.CutPrefix(f.Leave[i].Place, "@"); kept {
			forget(&f.Leave[i], place)
		}
	}
	f.Enter, f.Leave = withoutLostTexts(f.Enter), withoutLostTexts(f.Leave)
}

// withoutLostTexts leaves out texts of structs that are not known: the struct says so, or shows the text's pointer.
func withoutLostTexts(list []Value) (kept []Value) {
	for i, v := range list {
		if v.Op.Kind != Unknown || !isTextOf(list, i) {
			kept = append(kept, v)
		}
	}
	return kept
}

// Forget makes all values unknown that are taken when the function is entered, and those that follow pointers kept at that
// time. It is for a function whose first instruction may not be the call of the hook: at the call, values need not be where the
// calling convention puts them.
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

// keepAt makes the hook at the function's entry keep the pointers that the values of Leave follow. The places of these values
// become the numbers of the pointers, counted from 0 in the order of Hook.Keeps. A value whose pointer is not known at that
// hook becomes unknown.
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
			place = enter[0].Place(at, enter[0].Word(), func(_, n int) int { return n })
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
	if len(f.Hooks) == 0 { // no value of Enter has a known place at the hook
		f.Hooks = []Hook{{RVA: enter[0].RVA, Places: slices.Repeat([]string{"-"}, len(f.Enter))}}
	}
	f.Hooks[0].Keeps = keeps
}

// takeAt chooses, of a list, the hooks at which most values have known places, adds them to the function, and returns the
// values with their places. All chosen hooks take the same values, because a record does not tell which hook wrote it.
func (f *Function) takeAt(list []hooks.Hook, taken []Value, leaves bool) []Value {
	for k := range taken {
		// This place has a pointer to the view. If the hook finds the pointer in memory, the recorder would take that memory
		// for the view itself, unless At is set.
		if v := &taken[k]; v.Op.Kind == View && !strings.Contains(v.Place, "+") {
			v.Op.At = true
		}
	}
	places := make([][]string, len(list))
	best, most := make([]string, len(taken)), 0
	for i := range list {
		known := 0
		if places[i], known = placesAt(&list[i], taken); known > most {
			best, most = places[i], known
		}
	}
	var kept []Value
	var from []int // indexes in taken
	for k, v := range taken {
		if v.Place = best[k]; v.Place == "" {
			v.Op, v.Place = Op{}, "-"
		}
		if v.Op.Kind == Unknown && isTextOf(taken, k) {
			continue // the struct shows the pointer of this text instead
		}
		kept, from = append(kept, v), append(from, k)
	}
	sameKnown := func(a, b string) bool { return (a == "") == (b == "") }
	for i := range list {
		if most == 0 || !slices.EqualFunc(places[i], best, sameKnown) {
			continue
		}
		h := Hook{RVA: list[i].RVA, Leaves: leaves}
		for _, k := range from {
			h.Places = append(h.Places, cmp.Or(places[i][k], "-"))
		}
		f.Hooks = append(f.Hooks, h)
	}
	return kept
}

// placesAt returns the places of values at a hook, "" for those that are not known, and how many are known.
func placesAt(h *hooks.Hook, taken []Value) (places []string, known int) {
	places = make([]string, len(taken))
	for k := range taken {
		if places[k] = copiedAt(h, &taken[k]); places[k] == "" {
			places[k] = placeAt(h, &taken[k])
		}
		if places[k] != "" {
			known++
		}
	}
	return places, known
}

// copiedAt returns the place of the copy that the function has made, before a hook, of a value passed by address. It returns ""
// if there is no copy. If there is one, copiedAt changes v so that the value is taken from the copy.
func copiedAt(h *hooks.Hook, v *Value) (place string) {
	switch {
	case v.Op.Kind == Memory && v.Op.Offset == 0 && v.Op.Size <= MaxDirect:
		place = h.Copy(v.Place, v.Op.Size, func(from, n int) int { return usedOf(v.Type, from, n) })
		if place != "" {
			v.Op = Op{Kind: Direct, Size: v.Op.Size}
		}
	case v.Op.Kind == View && v.Op.At && v.Op.Offset == 0 && h.Quiet():
		place = h.Copy(v.Place, 2*h.Word(), func(_, n int) int { return n })
		v.Op.At = place == ""
	}
	return place
}

// placeAt returns the place of a value at a hook, or "" if it is not known.
func placeAt(h *hooks.Hook, v *Value) string {
	size := h.Word()
	switch {
	case v.Op.Kind == Unknown:
		return ""
	case strings.HasPrefix(v.Place, "@"):
		if !h.Quiet() {
			return "" // code after the hook may still write to the memory that the pointer leads to
		}
		return v.Place
	case v.Op.Kind == Direct:
		size = v.Op.Size
	case !h.Quiet():
		return "" // the memory that the pointer leads to may not have the value yet
	case v.Op.Kind == View && !v.Op.At && strings.Contains(v.Place, "+"):
		size = 2 * h.Word()
	}
	place := h.Place(v.Place, size, func(from, n int) int {
		if v.Op.Kind != Direct {
			return n
		}
		return usedOf(v.Type, from, n)
	})
	if v.Op.Kind != Direct && strings.Contains(place, "=") {
		return "" // the recorder takes constants as values, but not as pointers or lengths
	}
	return place
}

// usedOf returns how many of n bytes of a type, beginning at offset from, are not padding at their end. It is at least 1.
func usedOf(t *types.Type, from, n int) int { return max(min(usedUpTo(t, 0, from+n, 0)-from, n), 1) }

// x87Bytes is how many bytes of a long double are not padding.
const x87Bytes = 10

// usedUpTo returns the offset after the last byte before end that is not padding. t lies at offset at.
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
