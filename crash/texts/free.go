package texts

import (
	"strings"

	"logparser/modules"
)

// readFree reads a line of no known format: numbers with 0x and 6 to 16 digits, MODULE+0xOFFSET and MODULE!FUNCTION+0xOFFSET.
// They are return addresses, unless a word before the number says that it is the program counter.
func (r *Reader) readFree(line string) {
	if isGoCall(line) {
		return
	}
	word := 0 // the beginning of the part without blanks and brackets that the loop is in
	for from := 0; from < len(line); {
		i := strings.Index(line[from:], "0")
		if i < 0 {
			return
		}
		at := from + i
		if k := strings.LastIndexAny(line[from:at], wordEnds); k >= 0 {
			word = from + k + 1
		}
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
		if r.kindOf(1) == Exact || saysProgramCounter(line[:at]) || saysFirstFrame(line[:at]) {
			f.Kind = Exact
		}
		if at > 1 && line[at-1] == '+' {
			if at-word > longestName {
				continue
			}
			if g, ok := symbolOffset(line[:c.pos], word); ok && (g.Space == Function || strings.Contains(modules.BaseName(g.Module), ".")) {
				g.Kind = f.Kind
				r.refs = append(r.refs, g)
			}
			continue
		}
		if count := c.pos - digitsAt; count < 6 || n < lowest || f.Kind != Exact && saysData(line[:at]) {
			continue
		}
		r.add(f)
	}
}

// wordEnds are the characters before which a module's name does not reach.
const wordEnds = " \t([{,;\"'"

// longestName bounds MODULE!FUNCTION in free text, in bytes, so that the time for a line grows with its length alone.
const longestName = 4 << 10

// lowest is the lowest address that code is looked for at: no system puts any below.
const lowest = 1 << 12
