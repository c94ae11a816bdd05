package export

import (
	"math"
	"sort"
	"strconv"
	"time"

	"logparser/rows"
)

// recent keeps the text of names that rows of one address share: what is made
// of function, module, source, line, address and symbols, for the addresses
// seen last.
type recent [1 << recentBits]recentText

// A recentText is the text and what it was made of.
type recentText struct {
	address                           uint64
	line                              int
	function, source, module, symbols string
	text                              []byte
}

const (
	recentBits = 10
	// maxRecent bounds a text that is kept, in bytes.
	maxRecent = 2048
)

// A namer appends what is made of a row's names.
type namer interface {
	names(dst []byte, r *rows.Row) []byte
}

// append appends the row's text, which is made by to if it is not kept.
func (k *recent) append(dst []byte, r *rows.Row, to namer) []byte {
	m := &k[recentIndex(r.Address)]
	if m.text == nil || m.address != r.Address || m.line != r.Line || m.function != r.Function ||
		m.source != r.Source || m.module != r.Module || m.symbols != r.Symbols {
		*m = recentText{r.Address, r.Line, r.Function, r.Source, r.Module, r.Symbols, to.names(m.text[:0], r)}
	}
	dst = append(dst, m.text...)
	if len(m.text) > maxRecent {
		*m = recentText{}
	}
	return dst
}

// A counter makes the text of numbers that mostly grow by one.
type counter struct {
	last int64
	at   int // of the first digit
	// text has the digits before maxDigits.
	text [2 * maxDigits]byte
}

const maxDigits = 20

// set makes the text that of n: text[at:maxDigits].
func (c *counter) set(n int64) {
	if n != c.last+1 || c.at == 0 || n <= 0 {
		var text [maxDigits]byte
		digits := strconv.AppendInt(text[:0], n, 10)
		c.last, c.at = n, maxDigits-len(digits)
		copy(c.text[c.at:], digits)
		return
	}
	c.last = n
	i := maxDigits - 1
	for ; i >= c.at && c.text[i] == '9'; i-- {
		c.text[i] = '0'
	}
	if i < c.at {
		c.at = i
		c.text[i] = '0'
	}
	c.text[i]++
}

// A recentTime has the text of a row's time, which mostly is that of the row
// before but for the last digits.
type recentTime struct {
	clock   rows.Clock
	hasWall bool
	second  int64
	elapsed int64
	// fraction is where the decimals of a local time begin.
	fraction int
	piece
}

func (c *recentTime) set(r *rows.Row, digits int) {
	if !r.HasWall {
		if c.n == 0 || c.hasWall || r.Elapsed != c.elapsed {
			c.hasWall, c.elapsed = false, r.Elapsed
			c.n = copy(c.text[:], c.clock.Append(c.text[:0], r, digits))
		}
		return
	}
	c.setWall(r.Wall, digits)
}

func (c *recentTime) setWall(wall time.Time, digits int) {
	second := wall.Unix()
	if c.n > 0 && c.hasWall && second == c.second && digits%3 == 0 && digits <= 9 {
		at, ns := c.fraction, uint32(wall.Nanosecond())
		if digits >= 3 {
			put3(c.text[at:at+3], ns/1e6)
		}
		if digits >= 6 {
			put3(c.text[at+3:at+6], ns/1e3%1e3)
		}
		if digits == 9 {
			put3(c.text[at+6:at+9], ns%1e3)
		}
		return
	}
	c.hasWall, c.second = true, second
	c.n = copy(c.text[:], c.clock.Append(c.text[:0], &rows.Row{Wall: wall, HasWall: true}, digits))
	c.fraction = c.n - digits
}

// A zone tells by how much rows' local times are ahead of UTC.
type zone struct {
	runs []rows.Run
	// The run found last, and the Index of the first row behind it.
	run  int
	next int64
}

func (opt *Options) zone() zone {
	for _, r := range opt.runs() {
		if r.HasUTC {
			return zone{runs: opt.runs()}
		}
	}
	return zone{}
}

// utc returns a row's time as UTC, and false where that is not known.
func (z *zone) utc(r *rows.Row) (time.Time, bool) {
	if len(z.runs) == 0 || !r.HasWall {
		return time.Time{}, false
	}
	if r.Index >= z.next || r.Index < z.runs[z.run].First {
		n := sort.Search(len(z.runs), func(i int) bool { return z.runs[i].First > r.Index })
		z.run, z.next = max(n-1, 0), math.MaxInt64
		if n < len(z.runs) {
			z.next = z.runs[n].First
		}
	}
	run := &z.runs[z.run]
	return r.Wall.Add(-run.Ahead), run.HasUTC
}

// put3 writes a number below 1000 in three digits.
func put3(dst []byte, n uint32) {
	dst[2] = byte('0' + n%10)
	dst[1] = byte('0' + n/10%10)
	dst[0] = byte('0' + n/100)
}

// recentIndex picks an address's place among 1 << recentBits.
func recentIndex(address uint64) uint64 { return address * 0x9e3779b97f4a7c15 >> (64 - recentBits) }

// sameNames reports whether two rows are equal from function to symbols. It is
// quick, because equal strings are mostly the same string.
func sameNames(a, b *rows.Row) bool {
	return a.Address == b.Address && a.Line == b.Line && a.Function == b.Function &&
		a.Source == b.Source && a.Module == b.Module && a.Symbols == b.Symbols
}
