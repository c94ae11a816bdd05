package trace

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"logparser/parser/trace/wire"
)

// A guesser tells whether the kinds of a thread's records, enters and leaves, can be guessed. A processor guesses them well in a loop that
// does the same again and again: then shorts takes less than readThread does.
type guesser struct {
	// kinds are the last ones, the latest in the lowest bit, and next what came after each.
	kinds uint8
	next  [256]uint8
	// rest is for how many stretches more the guess is good.
	rest int
	good bool
}

const (
	// One in guessEvery stretches is looked at, up to guessRecords records.
	guessEvery   = 32
	guessRecords = 512
	// Of so many guesses one is wrong at most where they are good.
	guessWrong = 4
)

// look looks at the short records in b from offset p up to offset last, if it is time for that, and reports whether guesses are good.
func (g *guesser) look(b []byte, p, last int) (good bool) {
	if g.rest--; g.rest > 0 {
		return g.good
	}
	g.rest = guessEvery
	n, wrong := 0, 0
	for ; n < guessRecords && p < last; n++ {
		leave := b[p] & 1
		wrong += int(leave ^ g.next[g.kinds])
		g.next[g.kinds] = leave
		g.kinds = g.kinds<<1 | leave
		p += wire.ShortEnterSize - int(leave)*(wire.ShortEnterSize-wire.ShortLeaveSize)
	}
	g.good = wrong*guessWrong < n
	return g.good
}

// A threadLoop is the state of a loop in assembly over the short records of a thread ([readThread]).
type threadLoop struct {
	buffer unsafe.Pointer // of the decoder
	times  unsafe.Pointer // of the events
	ended  unsafe.Pointer // the calls that end
	frames unsafe.Pointer // the open calls
	counts unsafe.Pointer // of threadSource
	cache  unsafe.Pointer // of threadSource

	p, last int // offsets in the buffer
	time    uint64
	// events, left and open count events, calls that have ended and open ones. number is that of the first event.
	events, left, open int
	number             uint32
	one                uint32
}

// loopShorts does what shorts does, with readThread.
func (r *threadReader) loopShorts(a *threadSource, most, last int) (n int) {
	d := a.d
	// Behind the last frame, and behind the last call that ends, one is written that means nothing.
	a.frames, a.ended = slices.Grow(a.frames, most+1), slices.Grow(a.ended, most+1)
	number := a.end()
	l := threadLoop{
		buffer: unsafe.Pointer(unsafe.SliceData(d.buf)), times: unsafe.Pointer(unsafe.SliceData(a.times[len(a.times):cap(a.times)])),
		ended: unsafe.Pointer(unsafe.SliceData(a.ended[len(a.ended):cap(a.ended)])), frames: unsafe.Pointer(unsafe.SliceData(a.frames)),
		cache: unsafe.Pointer(&a.cache), p: d.p, last: last, time: d.time, open: len(a.frames), number: number, one: 1,
	}
	for {
		l.counts = unsafe.Pointer(unsafe.SliceData(a.counts))
		readThread(&l)
		if l.p >= last {
			break
		}
		// It stops at what it does not know.
		v := binary.LittleEndian.Uint64(d.buf[l.p : l.p+8 : cap(d.buf)])
		if v&1 != 0 || a.known(v) || r.remember(a, v, number+uint32(l.events)) == nil {
			break
		}
	}
	r.settle(a, l.p, l.time, l.events, l.left, l.open)
	return l.events
}

// known reports whether the cache has the short enter in v's first bytes.
func (a *threadSource) known(v uint64) bool {
	at := enterPlace(v)
	return a.cache[at].record == uint32(v) || a.cache[at^1].record == uint32(v)
}

// enterPlace returns the place in the cache of the short enter in v's first bytes.
func enterPlace(v uint64) uint32 { return uint32(v) * 0x9e3779b1 >> (32 - cacheBits) }
