package export

import (
	"math"
	"slices"
	"sort"
	"time"

	"logparser/rows"
)

// recent caches the text of the names at an address: the text made of function, module, source, line, address and symbols.
type recent struct{ places[recentText] }

// A recentText is a cached text with the names that it was made of.
type recentText struct {
	row  rowNames
	text []byte
	// short has the text if it fits, so that it can be copied as a whole.
	n     int // length of short, 0 if the text does not fit
	short [shortText]byte
}

// shortText is the size of buffers for names that are copied as a whole, in bytes.
const shortText = 128

const (
	recentBits = 10
	// maxRecent bounds the texts that are cached, in bytes.
	maxRecent = 2048
)

// A namer appends the text of a row's names.
type namer interface {
	names(dst []byte, r *rows.Row) []byte
}

// append appends the text of a row's names. If the cache does not have it, to makes it.
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

// A recentTime caches the text of a row's time, since most times differ from the one before only in their last digits.
type recentTime struct {
	clock   rows.Clock
	hasWall bool
	second  int64
	elapsed int64
	// fraction is the offset of the decimals of a local time.
	fraction int
	// For times of UTC: the local second that the text stands for, and by how much local time was ahead of UTC.
	ofSecond int64
	ahead    time.Duration
	piece
}

// put writes a row's time to the beginning of dst, which must have pieceLen bytes. It returns the number of bytes.
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

// putWall is put for a row with a local time.
func (c *recentTime) putWall(dst []byte, wall time.Time, digits int) int {
	if second := wall.Unix(); c.n == 0 || !c.hasWall || second != c.second || digits%3 != 0 || digits > 9 {
		c.hasWall, c.second = true, second
		c.n = copy(c.text[:], c.clock.Append(c.text[:0], &rows.Row{Wall: wall, HasWall: true}, digits))
		c.fraction = c.n - digits
	}
	return c.withFraction(dst, wall, digits)
}

// withFraction writes the cached text with the decimals of another time of the same second.
func (c *recentTime) withFraction(dst []byte, wall time.Time, digits int) int {
	*(*[pieceLen]byte)(dst) = c.text
	if digits%3 == 0 && digits <= 9 {
		putFraction(dst[c.fraction:], uint32(wall.Nanosecond()), digits)
	}
	return c.n
}

func (c *recentTime) append(dst []byte, r *rows.Row, digits int) []byte {
	dst = slices.Grow(dst, pieceLen)
	n := len(dst)
	return dst[:n+c.put(dst[n:n+pieceLen], r, digits)]
}

func (c *recentTime) appendWall(dst []byte, wall time.Time, digits int) []byte {
	dst = slices.Grow(dst, pieceLen)
	n := len(dst)
	return dst[:n+c.putWall(dst[n:n+pieceLen], wall, digits)]
}

// putUTC writes a local time as UTC. local must just have written the same local time.
func (c *recentTime) putUTC(dst []byte, local *recentTime, wall time.Time, ahead time.Duration, digits int) int {
	if c.n > 0 && c.ofSecond == local.second && c.ahead == ahead && ahead%time.Second == 0 {
		return c.withFraction(dst, wall, digits)
	}
	n := c.putWall(dst, wall.Add(-ahead), digits)
	c.ofSecond, c.ahead = local.second, ahead
	return n
}

// A zone finds by how much local times of rows are ahead of UTC.
type zone struct {
	runs []rows.Run
	// The run that was found last, and the Index of the first row after it.
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

// utc returns a row's time as UTC. It returns false if that is not known.
func (z *zone) utc(r *rows.Row) (time.Time, bool) {
	ahead, ok := z.ahead(r)
	return r.Wall.Add(-ahead), ok
}

// ahead returns by how much a row's local time is ahead of UTC. It returns false if that is not known.
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

// recentIndex returns the place of an address in a table of 1 << recentBits elements.
func recentIndex(address uint64) uint64 { return rows.Slot(address, recentBits) }

// rowNames are the names of a row, from function to symbols, for comparison with those of other rows.
type rowNames struct {
	known bool
	place *rows.Place
	row   rows.Place
}

// are reports whether a row has these names.
func (n *rowNames) are(r *rows.Row) bool {
	if n.known && r.Place != nil && r.Place == n.place {
		return true
	}
	m := &n.row
	if !n.known || m.Address != r.Address || m.Line != r.Line || m.Function != r.Function ||
		m.Source != r.Source || m.Module != r.Module || m.Symbols != r.Symbols {
		return false
	}
	n.place = r.Place // makes the next comparison faster
	return true
}

// set takes the names of a row.
func (n *rowNames) set(r *rows.Row) {
	*n = rowNames{true, r.Place, rows.Place{Function: r.Function, Module: r.Module, Source: r.Source, Line: r.Line, Address: r.Address, Symbols: r.Symbols}}
}
