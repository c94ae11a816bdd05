package inflate

import "math/bits"

const (
	maxLiterals  = 286
	maxDistances = 30
	// maxCode is the length of the longest code in bits.
	maxCode = 15
	// literalBits, distanceBits and lengthBits are how many bits index the
	// tables; longer codes are links to tables behind.
	literalBits  = 11
	distanceBits = 9
	lengthBits   = 7
	// literalRoom and distanceRoom are how many entries the tables have at
	// most: zlib's enough.c counts 2,342 for 288 symbols and 11 bits, and 594
	// for 32 symbols and 9 bits.
	literalRoom  = 2342
	distanceRoom = 594
)

// An entry is what a code stands for:
//
//	bits 0-5    bits to take: of the code, with the extra bits behind it
//	bits 8-11   bits of the code; of a link, bits that index its table
//	bits 12-15  number of extra bits
//	bits 16-30  the literal, the base of a length or distance, or where the
//	            table of a link begins
//
// and a flag where it is not a length or distance.
type entry uint32

const (
	isLiteral entry = 1 << 31
	// isSpecial is set in links, in the end of a block and in what stands for
	// nothing.
	isSpecial entry = 1 << 7
	isLink    entry = 1 << 6  // and isSpecial
	isEnd     entry = 1 << 15 // and isSpecial
)

// codes are the codes of a block.
type codes struct {
	literals  [literalRoom]entry
	distances [distanceRoom]entry
	isFixed   bool
}

// set makes the tables of codes of the given lengths. It reports whether they
// are codes.
func (c *codes) set(literals, distances []uint8) bool {
	c.isFixed = false
	return build(c.literals[:], literals, literalBits, literal) && build(c.distances[:], distances, distanceBits, distance)
}

// fixed makes the tables of the codes that need not be told.
func (c *codes) fixed() {
	if c.isFixed {
		return
	}
	var literals [288]uint8
	for i := range literals {
		switch {
		case i < 144:
			literals[i] = 8
		case i < 256:
			literals[i] = 9
		case i < 280:
			literals[i] = 7
		default:
			literals[i] = 8
		}
	}
	var distances [32]uint8
	for i := range distances {
		distances[i] = 5
	}
	c.set(literals[:], distances[:])
	c.isFixed = true
}

// literal returns what a symbol of the literals' code stands for, without the
// code's length.
func literal(symbol int) entry {
	switch {
	case symbol < 256:
		return isLiteral | entry(symbol)<<16
	case symbol == 256:
		return isSpecial | isEnd
	case symbol < 265:
		return entry(symbol-257+3) << 16
	case symbol < 285:
		extra := (symbol - 261) / 4
		return entry(3+(4+(symbol-265)%4)<<extra)<<16 | entry(extra)<<12
	case symbol == 285:
		return 258 << 16
	}
	return isSpecial // 286 and 287 are in no stream
}

// distance returns what a symbol of the distances' code stands for.
func distance(symbol int) entry {
	switch {
	case symbol < 4:
		return entry(symbol+1) << 16
	case symbol < maxDistances:
		extra := (symbol - 2) / 2
		return entry(1+(2+symbol%2)<<extra)<<16 | entry(extra)<<12
	}
	return isSpecial
}

// build makes the table of a code, of which lengths has the lengths of the
// symbols' codes and width is the number of bits that index it. It reports
// whether the lengths make a code: a complete one, a single code of one bit,
// or none at all.
func build(table []entry, lengths []uint8, width uint, of func(symbol int) entry) bool {
	var counts [maxCode + 1]int
	for _, n := range lengths {
		counts[n]++
	}
	counts[0] = 0
	longest, code := uint(0), uint32(0)
	var next [maxCode + 2]uint32
	for n := 1; n <= maxCode; n++ {
		next[n] = code
		code = (code + uint32(counts[n])) << 1
		if counts[n] > 0 {
			longest = uint(n)
		}
		if code > 1<<(n+1) {
			return false
		}
	}
	for i := range table {
		table[i] = isSpecial
	}
	if longest == 0 {
		return true
	}
	if full := code >> (maxCode + 1 - longest); full != 1<<longest && !(full == 1 && longest == 1) {
		return false
	}
	var order [288]uint16 // symbols by length and number
	var at [maxCode + 1]int
	for n := 1; n < maxCode; n++ {
		at[n+1] = at[n] + counts[n]
	}
	for symbol, n := range lengths {
		if n > 0 {
			order[at[n]] = uint16(symbol)
			at[n]++
		}
	}
	// The tables of longer codes lie behind the first. Codes of one prefix
	// follow each other.
	var link *entry
	behind := uint32(1) << width
	for _, symbol := range order[:at[maxCode]] {
		length := uint(lengths[symbol])
		reversed := bits.Reverse32(next[length]) >> (32 - length)
		next[length]++
		e := withLength(of(int(symbol)), length)
		if length <= width {
			for i := reversed; i < 1<<width; i += 1 << length {
				table[i] = e
			}
			counts[length]--
			continue
		}
		if l := &table[reversed&(1<<width-1)]; l != link {
			// As many bits index the table as the longest code of the prefix has
			// left: until the codes that follow fill it.
			index, used := length-width, counts[length]
			for used < 1<<index {
				index++
				used = used<<1 + counts[width+index]
			}
			link = l
			*link = isSpecial | isLink | entry(index)<<8 | entry(behind)<<16
			behind += 1 << index
		}
		counts[length]--
		index, start := uint(*link>>8&15), uint32(*link>>16)
		for i := reversed >> width; i < 1<<index; i += 1 << (length - width) {
			table[start+i] = e
		}
	}
	return true
}

// withLength gives an entry the length of its code, which counts as a whole in
// the tables of links, too.
func withLength(e entry, length uint) entry {
	if e&(isLiteral|isSpecial) != 0 {
		return e | entry(length)
	}
	extra := e >> 12 & 15
	return e | entry(length)<<8 | (entry(length) + extra)
}
