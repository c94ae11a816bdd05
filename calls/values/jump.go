package values

import (
	"encoding/binary"
	"slices"
	"strings"

	"logparser/rows"
)

// OfJump returns the bytes of the result of a call of c that ended with a jump to another function, in the form in which the plan
// has them for c. taken is what was taken by the plan when that function's call, of to, returned. OfJump returns nil if these
// bytes do not tell c's result: the result is not in the same registers, is larger there, or was read in another way.
func (d *Decoder) OfJump(c, to *Callee, taken []byte) []byte {
	f, g := d.Function(c), d.Function(to)
	if f == nil || g == nil || len(f.Hooks) > 0 || len(g.Hooks) > 0 {
		return nil
	}
	want, outs := resultsFirst(f.Leave)
	have, _ := resultsFirst(g.Leave)
	if len(want) == 0 || len(want) > len(have) || slices.ContainsFunc(outs, func(v Value) bool { return !isOut(v.Name) }) {
		return nil
	}
	in := input{b: taken}
	list := make([]byte, 0, len(taken))
	for i := range want {
		b := in.raw(&have[i].Op)
		switch {
		case want[i].Op.Kind == Unknown:
			continue // nothing was taken of it
		case b == nil || !isPartOf(&want[i], &have[i]):
			return nil
		case want[i].Op.Kind == Direct:
			b = b[:want[i].Op.Size]
		}
		list = append(list, b...)
	}
	return list
}

// resultsFirst divides the values of a leave before the first out.
func resultsFirst(leave []Value) (results, others []Value) {
	i := slices.IndexFunc(leave, func(v Value) bool { return isOut(v.Name) })
	if i < 0 {
		i = len(leave)
	}
	return leave[:i], leave[i:]
}

// isPartOf reports whether the bytes of a result are the first of those that were taken as another one.
func isPartOf(v, of *Value) bool {
	if v.Op.Kind == Direct && of.Op.Kind == Direct && v.Op.Size <= of.Op.Size {
		return v.Place == of.Place || strings.HasPrefix(of.Place, v.Place+"+")
	}
	// A pointer that was kept when one of the two functions was entered is not the other's.
	return v.Place == of.Place && v.Op == of.Op && !strings.Contains(v.Place, "@")
}

// raw returns the bytes of a value as they are in a record, or nil if they are not all there.
func (in *input) raw(op *Op) []byte {
	all := in.b
	n := 0
	switch op.Kind {
	case Unknown:
		return []byte{}
	case Direct:
		n = op.Size
	case Memory:
		n = 1
		if len(all) > 0 && all[0] == 0 {
			n += op.Size
		}
	default:
		n = 2
		if len(all) >= n {
			if length := int(binary.LittleEndian.Uint16(all)); length < textNotReadable {
				n += min(length, op.Max)
			}
		}
	}
	return in.take(n)
}

// ofJump decodes what OfJump has returned. What a pointer leads to was not read when the call ended.
func (d *Decoder) ofJump(c *Callee, b []byte) []rows.Value {
	list := d.byPlan(c, b, false)
	for i := range list {
		if v := &list[i]; isOut(v.Name) {
			*v = unknown(v.Name, v.Type, notTaken)
		}
	}
	return list
}
