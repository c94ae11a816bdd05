package export

import (
	"math"
	"slices"
	"sort"
	"time"

	"logparser/rows"
)

// recent keeps the text of names that rows of one address share: what is made
// of function, module, source, line, address and symbols, for the addresses
// seen last.
type recent struct{ places[recentText] }

// A recentText is the text and what it was made of.
type recentText struct {
	row  rowNames
	text []byte
	// short has the text and what lies behind it where that has room, which a few instructions
	// copy.
	n     int // 0 where it has not
	short [shortText]byte
}

// shortText is the room for texts that are copied whole.
const shortText = 128

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
	m := k.at(r.Address)
	if !m.row.are(r) {
		m.row.set(r)
		m.text = to.names(m.text[:0], r)
		if m.n = 0; len(m.text) <= len(m.short) {
			m.n = copy(m.short[:], m.text)
		}
	}
	if n := len(dst); m.n > 0 && cap(dst)-n >= shortText {
		*(*[shortText]byte)(dst[n : n+shortText]) = m.short
		return dst[:n+m.n]
	}
	dst = append(dst, m.text...)
	if len(m.text) > maxRecent {
		*m = recentText{}
	}
	return dst
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
	// A time of UTC is that of a second of local time which is ahead by this.
	ofSecond int64
	ahead    time.Duration
	piece
}

// put writes a row's time to the beginning of dst, which has pieceLen, and returns how many
// bytes that are.
func (c *recentTime) put(dst []byte, r *rows.Row, digits int) int {
	if r.HasWall {
		return c.putWall(dst, r.Wall, digits)
	}
	if c.n == 0 || c.hasWall || r.Elapsed != c.elapsed {
		c.hasWall, c.elapsed = false, r.Elapsed
		c.n = copy(c.text[:], c.clock.Append(c.text[:0], r, digits))
	}
	*(*[pieceLen]byte)(dst) = c.text
	return c.n
}

// putWall is put for a local time.
func (c *recentTime) putWall(dst []byte, wall time.Time, digits int) int {
	if second := wall.Unix(); c.n == 0 || !c.hasWall || second != c.second || digits%3 != 0 || digits > 9 {
		c.hasWall, c.second = true, second
		c.n = copy(c.text[:], c.clock.Append(c.text[:0], &rows.Row{Wall: wall, HasWall: true}, digits))
		c.fraction = c.n - digits
	}
	return c.withFraction(dst, wall, digits)
}

// withFraction writes the text that is kept with the decimals of a time of the same second.
func (c *recentTime) withFraction(dst []byte, wall time.Time, digits int) int {
	*(*[pieceLen]byte)(dst) = c.text
	if digits%3 == 0 && digits <= 9 {
		putFraction(dst[c.fraction:], uint32(wall.Nanosecond()), digits)
	}
	return c.n
}

// append appends what put writes.
func (c *recentTime) append(dst []byte, r *rows.Row, digits int) []byte {
	dst = slices.Grow(dst, pieceLen)
	n := len(dst)
	return dst[:n+c.put(dst[n:n+pieceLen], r, digits)]
}

// appendWall appends what putWall writes.
func (c *recentTime) appendWall(dst []byte, wall time.Time, digits int) []byte {
	dst = slices.Grow(dst, pieceLen)
	n := len(dst)
	return dst[:n+c.putWall(dst[n:n+pieceLen], wall, digits)]
}

// putUTC writes a local time, of which local was the last, as UTC.
func (c *recentTime) putUTC(dst []byte, local *recentTime, wall time.Time, ahead time.Duration, digits int) int {
	if c.n > 0 && c.ofSecond == local.second && c.ahead == ahead && ahead%time.Second == 0 {
		return c.withFraction(dst, wall, digits)
	}
	n := c.putWall(dst, wall.Add(-ahead), digits)
	c.ofSecond, c.ahead = local.second, ahead
	return n
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
	ahead, ok := z.ahead(r)
	return r.Wall.Add(-ahead), ok
}

// ahead returns by how much a row's local time is ahead, and false where that is not known.
func (z *zone) ahead(r *rows.Row) (time.Duration, bool) {
	if len(z.runs) == 0 || !r.HasWall {
		return 0, false
	}
	if r.Index >= z.next || r.Index < z.runs[z.run].First {
		n := sort.Search(len(z.runs), func(i int) bool { return z.runs[i].First > r.Index })
		z.run, z.next = max(n-1, 0), math.MaxInt64
		if n < len(z.runs) {
			z.next = z.runs[n].First
		}
	}
	run := &z.runs[z.run]
	return run.Ahead, run.HasUTC
}

// recentIndex picks an address's place among 1 << recentBits.
func recentIndex(address uint64) uint64 { return rows.Slot(address, recentBits) }

// rowNames are what a row has from function to symbols, to be compared with others'.
type rowNames struct {
	known bool
	place *rows.Place
	row   rows.Place
}

// are reports whether a row has them.
func (n *rowNames) are(r *rows.Row) bool {
	if n.known && r.Place != nil && r.Place == n.place {
		return true
	}
	m := &n.row
	if !n.known || m.Address != r.Address || m.Line != r.Line || m.Function != r.Function ||
		m.Source != r.Source || m.Module != r.Module || m.Symbols != r.Symbols {
		return false
	}
	n.place = r.Place // which is found sooner the next time
	return true
}

// set makes them those of a row.
func (n *rowNames) set(r *rows.Row) {
	*n = rowNames{true, r.Place, rows.Place{Function: r.Function, Module: r.Module, Source: r.Source, Line: r.Line, Address: r.Address, Symbols: r.Symbols}}
}
