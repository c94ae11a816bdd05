package trace

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"logparser/parser"
)

// A callLoop is the state of a loop in assembly that reads all calls ([readCalls]). Offsets are in bytes.
type callLoop struct {
	// buffer, frames and calls begin where their offsets count from.
	buffer, frames, calls unsafe.Pointer
	cache                 unsafe.Pointer // the first cachedCall
	open                  unsafe.Pointer // the first element of callReader.open
	p, last               uintptr        // in buffer
	top, base             uintptr        // in frames
	call, full            uintptr        // in calls
	// As in stretch.
	time, limit uint64
	rate        uint64
	zero        int64
	up          uint64
}

// loopShorts does what shorts does where no calls are to be skipped.
func (r *callReader) loopShorts(s *stretch, calls []parser.Call) (n int, stopped bool) {
	const frameSize, callSize = unsafe.Sizeof(parser.OpenFrame{}), unsafe.Sizeof(parser.Call{})
	d := r.d
	// Each record but the last may leave a frame, and each has one written above the top.
	r.frames = slices.Grow(r.frames, mostShorts+1)
	frames := r.frames[:cap(r.frames)]
	before := len(r.frames) - 1
	l := callLoop{
		buffer: unsafe.Pointer(unsafe.SliceData(s.b)), p: uintptr(d.p), last: uintptr(s.last),
		frames: unsafe.Pointer(unsafe.SliceData(frames)), top: uintptr(before) * frameSize, base: uintptr(r.base) * frameSize,
		calls: unsafe.Pointer(unsafe.SliceData(calls)), full: uintptr(len(calls)) * callSize,
		cache: unsafe.Pointer(&r.cache), time: d.time - s.units, limit: s.limit, rate: s.rate, zero: s.zero, up: uint64(s.up & 63),
	}
	for {
		l.open = unsafe.Pointer(unsafe.SliceData(r.open))
		readCalls(&l)
		if l.p >= l.last || l.call == l.full {
			break
		}
		// It stops at what it does not know.
		v := binary.LittleEndian.Uint64(s.b[l.p:])
		if v&1 != 0 || r.known(v) || !r.remember(r.entry(v), v) {
			stopped = true
			break
		}
	}
	n, top := int(l.call/callSize), int(l.top/frameSize)
	d.p, d.time = int(l.p), l.time+s.units
	d.ordinal += int64(2*n + top - before)
	// The new frames are those on the top.
	lowest := top
	for ; lowest > 0 && frames[lowest].New; lowest-- {
		frames[lowest].New = false
	}
	r.settle(frames[:top+1], lowest)
	return n, stopped
}

// entry returns the element of the cache for the short enter in v's first bytes.
func (r *callReader) entry(v uint64) *cachedCall {
	return &r.cache[uint32(v)*0x9e3779b1>>(32-callCacheBits)]
}

// known reports whether the cache has it.
func (r *callReader) known(v uint64) bool { return r.entry(v).record == uint32(v) }
