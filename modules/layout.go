package modules

import (
	"math"
	"sort"
	"strconv"
	"strings"
)

// A layout says how the two numbers of a module line are meant.
type layout struct {
	// sizeFirst: size before base.
	sizeFirst bool
	// hex[i]: numbers of column i that have no prefix are hexadecimal.
	hex [2]bool
}

func parseNumber(s string, hex bool) (uint64, bool) {
	t, prefixed := cutPrefix0x(s)
	base := 10
	if hex || prefixed {
		base = 16
	}
	v, err := strconv.ParseUint(t, base, 64)
	return v, err == nil
}

func (y layout) numbers(l *moduleLine) (base, size uint64, ok bool) {
	a, ok1 := parseNumber(l.first, y.hex[0])
	b, ok2 := parseNumber(l.last, y.hex[1])
	if y.sizeFirst {
		a, b = b, a
	}
	return a, b, ok1 && ok2
}

// A radix says what the form of a column's numbers tells.
type radix int

const (
	ambiguous radix = iota
	hexadecimal
)

// columnRadix judges a column by form. A prefix, a digit from a to f, or zeros
// in front (%08x, %p) make the whole column hexadecimal: one printf wrote it.
func columnRadix(lines []moduleLine, column int) radix {
	for i := range lines {
		s := lines[i].first
		if column == 1 {
			s = lines[i].last
		}
		if _, prefixed := cutPrefix0x(s); prefixed || strings.ContainsAny(s, "abcdefABCDEF") ||
			len(s) >= 8 && s[0] == '0' {
			return hexadecimal
		}
	}
	return ambiguous
}

// sampleLines is how many lines the choice of a layout looks at.
const sampleLines = 1000

// chooseLayout decides for the whole file what its columns are. Where form
// does not tell hexadecimal from decimal, and always to tell base from size,
// the layout is taken whose bases and sizes are the best module list:
// Windows maps images at multiples of 64 KiB and Linux of 4 KiB, sizes are
// multiples of 4 KiB, and modules do not overlap. Equal scores go to
// hexadecimal and to base before size. Our own header says what the columns are.
func (p *scanner) chooseLayout() layout {
	lines := p.lines
	best := layout{hex: [2]bool{true, true}}
	if len(lines) == 0 || p.ours {
		return best
	}
	sample := lines
	if len(lines) > sampleLines {
		sample = make([]moduleLine, sampleLines)
		for i := range sample {
			sample[i] = lines[i*len(lines)/sampleLines]
		}
	}
	var choices [2][]bool
	guessed := false
	for c := range choices {
		choices[c] = []bool{true, false}
		if columnRadix(lines, c) == hexadecimal {
			choices[c] = choices[c][:1]
		} else {
			guessed = true
		}
	}
	bestScore := math.Inf(-1)
	for _, sizeFirst := range []bool{false, true} {
		for _, hex0 := range choices[0] {
			for _, hex1 := range choices[1] {
				y := layout{sizeFirst, [2]bool{hex0, hex1}}
				if s := y.score(sample); s > bestScore {
					best, bestScore = y, s
				}
			}
		}
	}
	if best.sizeFirst {
		p.notes.add("the modules file has sizes before bases, to judge by alignment and overlap")
	}
	if guessed {
		name := func(hex bool) string {
			if hex {
				return "hexadecimal"
			}
			return "decimal"
		}
		base, size := best.hex[0], best.hex[1]
		if best.sizeFirst {
			base, size = size, base
		}
		p.notes.add("the numbers of the modules file do not show their base: load addresses are read as %s and sizes as %s, to judge by alignment",
			name(base), name(size))
	}
	return best
}

// score is the mean plausibility of the lines as modules.
func (y layout) score(lines []moduleLine) float64 {
	type span struct{ base, end uint64 }
	spans := make([]span, 0, len(lines))
	total := 0.0
	for i := range lines {
		base, size, ok := y.numbers(&lines[i])
		if !ok || base+size < base {
			total -= 10
			continue
		}
		switch {
		case base%(64<<10) == 0:
			total += 3
		case base%(4<<10) == 0:
			total += 2
		}
		if base >= 64<<10 {
			total++
		}
		if size%(4<<10) == 0 {
			total += 2
		}
		if size > 0 && size <= 1<<31 {
			total++
		}
		if base > size {
			total++
		}
		spans = append(spans, span{base, base + size})
	}
	sort.Slice(spans, func(a, b int) bool { return spans[a].base < spans[b].base })
	var end uint64
	for i, s := range spans {
		// The same module may be listed twice, whatever the layout.
		if s.base < end && (i == 0 || s != spans[i-1]) {
			total -= 4
		}
		end = max(end, s.end)
	}
	return total / float64(len(lines))
}
