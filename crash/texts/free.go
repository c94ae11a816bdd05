package texts

import (
	"strings"

	"logparser/modules"
)

// readFree reads a line of no known format: numbers with 0x and 6 to 16 digits, MODULE+0xOFFSET and MODULE!FUNCTION+0xOFFSET.
// They are return addresses, unless a word before the number says that it is the program counter.
func (r *Reader) readFree(line string) {
	for from := 0; from < len(line); {
		i := strings.Index(line[from:], "0")
		if i < 0 {
			return
		}
		at := from + i
		c := scanner{line, at}
		from = at + 1
		if at > 0 && isWord(line[at-1]) || !c.prefix() {
			continue
		}
		digitsAt := c.pos
		n, ok := c.hex()
		if !ok || c.pos < len(line) && isWord(line[c.pos]) {
			continue
		}
		from = c.pos
		f := c.reference(at, n, Return)
		if r.kindOf(1) == Exact || saysProgramCounter(line[:at]) {
			f.Kind = Exact
		}
		if at > 1 && line[at-1] == '+' {
			start := at - 1
			for start > 0 && !strings.ContainsRune(" \t([{,;\"'", rune(line[start-1])) {
				start--
			}
			if g, ok := symbolOffset(line[:c.pos], start); ok && (g.Space == Function || strings.Contains(modules.BaseName(g.Module), ".")) {
				g.Kind = f.Kind
				r.refs = append(r.refs, g)
			}
			continue
		}
		if count := c.pos - digitsAt; count < 6 || n < lowest {
			continue
		}
		r.add(f)
	}
}

// lowest is the lowest address that code is looked for at: no system puts any below.
const lowest = 1 << 12

// saysProgramCounter reports whether a text ends in a word for the program counter.
func saysProgramCounter(before string) bool {
	before = strings.ToLower(strings.TrimRight(before, " \t:=("))
	i := len(before)
	for i > 0 && isWord(before[i-1]) {
		i--
	}
	switch before[i:] {
	case "rip", "eip", "pc", "ip", "fault", "crash", "crashed":
		return true
	}
	return false
}
