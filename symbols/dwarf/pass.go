package dwarf

import (
	std "debug/dwarf"
	"encoding/binary"
)

// A passage says how a walk passes over entries of an abbreviation that it needs nothing of. It has few bytes and
// stands apart from the abbreviation, so that the passages of a whole unit stay in the processor's nearest cache:
// most entries of a program are passed over.
type passage struct {
	way way
	// n are numbers of bytes: n[0] of the attributes, or of those before the first expression.
	n [3]uint16
}

// A way is what a passage's numbers mean.
type way uint8

const (
	// wayNone is for entries that are looked at.
	wayNone way = iota
	wayFixed
	// wayChildren is for entries whose children are passed over, or looked at, as if they were the entry's siblings.
	wayChildren
	// waySibling is for entries that are passed over with their children: n[1] bytes behind the code, four bytes say
	// where the entry behind these is.
	waySibling
	// wayExpression is for entries with one expression that tells its length, and n[1] bytes behind it;
	// wayExpressions for two, with n[1] bytes between and n[2] behind them.
	wayExpression
	wayExpressions
)

// passageOf returns the passage of an abbreviation of a little-endian file, or of a big-endian one.
func passageOf(a *abbrev, big bool) passage {
	switch {
	case a.role == roleNone, a.role == roleBlock:
	case a.role == roleScope && !a.children:
	case a.role == roleFunction && !a.children && a.codeless:
	default:
		return passage{}
	}
	switch {
	case !a.children && a.fixed < 0:
		return a.expressions()
	case a.fixed < 0 || a.fixed > 1<<16-1:
		return passage{}
	case !a.children:
		return passage{wayFixed, [3]uint16{uint16(a.fixed)}}
	case a.role == roleBlock || !a.sibling:
		return passage{wayChildren, [3]uint16{uint16(a.fixed)}}
	}
	at := uint16(0)
	for i := range a.attrs {
		s := &a.attrs[i]
		if s.attr == uint16(std.AttrSibling) {
			if s.form == formRef4 && !big {
				return passage{waySibling, [3]uint16{uint16(a.fixed), at}}
			}
			break
		}
		at += uint16(s.size)
	}
	return passage{}
}

// expressions returns the passage of an abbreviation whose size varies only by expressions.
func (a *abbrev) expressions() passage {
	p := passage{way: wayExpression}
	found := 0
	for _, s := range a.steps {
		if s.fixed > 1<<16-1 {
			return passage{}
		}
		p.n[found] = uint16(s.fixed)
		if s.form == 0 {
			break // the last step
		}
		if found++; s.form != formExprloc || found > 2 {
			return passage{}
		}
	}
	switch found {
	case 0:
		return passage{} // too large to have places
	case 2:
		p.way = wayExpressions
	}
	return p
}

// pass passes over entries from pos on and returns where the first is that has to be looked at, which may be
// damaged, or the end of a list of children. head is how many bytes of the unit are in front of data. depth is the
// number of lists of children around pos that were begun by passages and not ended, at most most; it is returned as
// it is there.
func (t *abbrevTable) pass(data []byte, pos, head, depth, most int) (int, int) {
	passages := t.passages
	for pos < len(data) {
		code, next := uint(data[pos]), pos+1
		if code >= 0x80 {
			if next >= len(data) || data[next] >= 0x80 {
				return pos, depth
			}
			code = code&0x7f | uint(data[next])<<7
			next++
		}
		if code == 0 {
			if depth == 0 {
				return pos, depth
			}
			depth--
			pos = next
			continue
		}
		if code >= uint(len(passages)) {
			return pos, depth
		}
		p := &passages[code]
		if next += int(p.n[0]); next > len(data) {
			return pos, depth
		}
		switch p.way {
		case wayFixed:
		case wayChildren:
			if depth >= most {
				return pos, depth
			}
			depth++
		case waySibling:
			sibling := int(binary.LittleEndian.Uint32(data[next-int(p.n[0])+int(p.n[1]):])) - head
			if sibling < next || sibling >= len(data) {
				return pos, depth
			}
			next = sibling
		case wayExpressions, wayExpression:
			if next >= len(data) || data[next] >= 0x80 {
				return pos, depth
			}
			next += 1 + int(data[next]) + int(p.n[1])
			if p.way == wayExpressions {
				if next >= len(data) || data[next] >= 0x80 {
					return pos, depth
				}
				next += 1 + int(data[next]) + int(p.n[2])
			}
			if next > len(data) {
				return pos, depth
			}
		default:
			return pos, depth
		}
		pos = next
	}
	return pos, depth
}
