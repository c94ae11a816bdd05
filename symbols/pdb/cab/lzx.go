package cab

import (
	"encoding/binary"

	"logparser/message"
)

// Kinds of LZX blocks. These are parts of the stream, of any length; the
// blocks of the cabinet are called frames here.
const (
	lzxVerbatim     = 1
	lzxAligned      = 2
	lzxUncompressed = 3
)

const (
	minWindow = 15
	maxWindow = 21

	lzxLiterals     = 256
	lzxLengths      = 249
	lzxAlignedCodes = 8
	lzxPreCodes     = 20
	// lzxMinMatch is the length of the shortest match in bytes.
	lzxMinMatch = 2
)

// slots is the number of ranges that the distances of matches are divided
// into, by the window's size (its logarithm less minWindow).
var slots = [...]int{30, 32, 34, 36, 38, 42, 50}

// slotBits is how many bits follow the number of a slot, slotBase the first
// distance of a slot (with 2 added, as the first three slots are for repeated
// distances).
var slotBits, slotBase = func() (bits [51]uint8, base [51]uint32) {
	for i := range bits {
		if i >= 4 {
			bits[i] = uint8(min(i/2-1, 17))
		}
		if i > 0 {
			base[i] = base[i-1] + 1<<bits[i-1]
		}
	}
	return bits, base
}()

// lzx decodes the frames of an LZX stream, one after the other.
type lzx struct {
	window []byte
	pos    int // where the next byte goes in the window
	bits   bitReader

	started bool
	// jumps is the file size that call instructions were changed by, 0 if
	// they were not.
	jumps  uint32
	frames int
	done   int64

	kind   uint32
	left   int // of the block that is open
	padded bool
	recent [3]uint32

	mainLengths   []uint8
	lengthLengths [lzxLengths]uint8
	main, lengths huffman
	aligned       huffman
	pre           huffman

	out [frame]byte
}

func newLZX(window int) (*lzx, error) {
	if window < minWindow || window > maxWindow {
		return nil, message.Errorf("cab: %w: LZX window of 2^%d bytes", ErrDamaged, window)
	}
	return &lzx{
		window:      make([]byte, 1<<window),
		recent:      [3]uint32{1, 1, 1},
		mainLengths: make([]uint8, lzxLiterals+8*slots[window-minWindow]),
	}, nil
}

var errLZX = message.Errorf("%w: LZX data", ErrDamaged)

// block decodes one frame.
func (d *lzx) block(b []byte, size int) ([]byte, error) {
	d.bits = bitReader{in: b}
	if !d.started {
		d.started = true
		if d.bits.read(1) == 1 {
			d.jumps = d.bits.read(16) << 16
			d.jumps |= d.bits.read(16)
		}
	}
	start := d.pos
	for left := size; left > 0; {
		if d.left == 0 {
			if err := d.open(); err != nil {
				return nil, err
			}
		}
		n := min(left, d.left)
		var err error
		if d.kind == lzxUncompressed {
			err = d.copy(n)
		} else {
			err = d.decode(n)
		}
		if err != nil {
			return nil, err
		}
		left -= n
		d.left -= n
		if d.bits.overrun() {
			return nil, message.Errorf("%w end too soon", errLZX)
		}
	}
	// The byte that fills up an uncompressed block of odd length lies in the
	// frame that the block ends in.
	if d.left == 0 {
		d.padded = false
	}
	// Frames are a part of the window's size, so that none wraps.
	out := d.out[:size]
	copy(out, d.window[start:start+size])
	d.pos = (start + size) & (len(d.window) - 1)
	d.restoreCalls(out)
	d.frames++
	d.done += int64(size)
	return out, nil
}

// open reads the head of a block.
func (d *lzx) open() error {
	if d.kind == lzxUncompressed && d.padded {
		d.bits.skipByte()
	}
	d.padded = false
	d.kind = d.bits.read(3)
	d.left = int(d.bits.read(16) << 8)
	d.left |= int(d.bits.read(8))
	if d.left == 0 {
		return message.Errorf("%w: empty block", errLZX)
	}
	switch d.kind {
	case lzxAligned:
		var lengths [lzxAlignedCodes]uint8
		for i := range lengths {
			lengths[i] = uint8(d.bits.read(3))
		}
		if err := d.aligned.make(lengths[:]); err != nil {
			return err
		}
		fallthrough
	case lzxVerbatim:
		if err := d.readLengths(d.mainLengths[:lzxLiterals]); err != nil {
			return err
		}
		if err := d.readLengths(d.mainLengths[lzxLiterals:]); err != nil {
			return err
		}
		if err := d.main.make(d.mainLengths); err != nil {
			return err
		}
		if err := d.readLengths(d.lengthLengths[:]); err != nil {
			return err
		}
		return d.lengths.make(d.lengthLengths[:])
	case lzxUncompressed:
		d.padded = d.left%2 != 0
		head := d.bits.align(12)
		if head == nil {
			return message.Errorf("%w end too soon", errLZX)
		}
		for i := range d.recent {
			d.recent[i] = binary.LittleEndian.Uint32(head[4*i:])
		}
		return nil
	}
	return message.Errorf("%w: block of kind %d", errLZX, d.kind)
}

// readLengths reads the lengths of codes, which are given as differences from
// those of the block before.
func (d *lzx) readLengths(lengths []uint8) error {
	var pre [lzxPreCodes]uint8
	for i := range pre {
		pre[i] = uint8(d.bits.read(4))
	}
	if err := d.pre.make(pre[:]); err != nil {
		return err
	}
	for i := 0; i < len(lengths); {
		code, ok := d.pre.next(&d.bits)
		if !ok {
			return message.Errorf("%w: no such code", errLZX)
		}
		run, value := 1, uint8(0)
		switch code {
		case 17:
			run = 4 + int(d.bits.read(4))
		case 18:
			run = 20 + int(d.bits.read(5))
		case 19:
			run = 4 + int(d.bits.read(1))
			if code, ok = d.pre.next(&d.bits); !ok || code > 16 {
				return message.Errorf("%w: no such code", errLZX)
			}
			fallthrough
		default:
			value = uint8((int(lengths[i]) - int(code) + 17) % 17)
		}
		if run > len(lengths)-i {
			return message.Errorf("%w: run of %d lengths", errLZX, run)
		}
		for range run {
			lengths[i] = value
			i++
		}
	}
	return nil
}

// decode decodes n bytes of a compressed block into the window.
func (d *lzx) decode(n int) error {
	mask := len(d.window) - 1
	for n > 0 {
		code, ok := d.main.next(&d.bits)
		if !ok {
			return message.Errorf("%w: no such code", errLZX)
		}
		if code < lzxLiterals {
			d.window[d.pos] = uint8(code)
			d.pos = (d.pos + 1) & mask
			n--
			continue
		}
		length := int(code & 7)
		if length == 7 {
			more, ok := d.lengths.next(&d.bits)
			if !ok {
				return message.Errorf("%w: no such code", errLZX)
			}
			length += int(more)
		}
		length += lzxMinMatch
		distance, err := d.distance(int(code-lzxLiterals) >> 3)
		if err != nil {
			return err
		}
		if length > n || distance == 0 || distance > uint32(len(d.window)) {
			return message.Errorf("%w: match of %d bytes from %d back", errLZX, length, distance)
		}
		n -= length
		from := (d.pos - int(distance)) & mask
		for range length {
			d.window[d.pos] = d.window[from]
			d.pos, from = (d.pos+1)&mask, (from+1)&mask
		}
	}
	return nil
}

// distance returns the distance of a match, in bytes.
func (d *lzx) distance(slot int) (uint32, error) {
	switch slot {
	case 0:
		return d.recent[0], nil
	case 1, 2:
		d.recent[0], d.recent[slot] = d.recent[slot], d.recent[0]
		return d.recent[0], nil
	}
	extra := uint(slotBits[slot])
	distance := slotBase[slot] - 2
	if d.kind == lzxAligned && extra >= 3 {
		distance += d.bits.read(extra-3) << 3
		low, ok := d.aligned.next(&d.bits)
		if !ok {
			return 0, message.Errorf("%w: no such code", errLZX)
		}
		distance += uint32(low)
	} else {
		distance += d.bits.read(extra)
	}
	d.recent = [3]uint32{distance, d.recent[0], d.recent[1]}
	return distance, nil
}

// copy copies n bytes of an uncompressed block.
func (d *lzx) copy(n int) error {
	b := d.bits.bytes(n)
	if b == nil {
		return message.Errorf("%w end too soon", errLZX)
	}
	d.pos += copy(d.window[d.pos:], b)
	d.pos &= len(d.window) - 1
	return nil
}

// restoreCalls turns the targets of call instructions (E8), which were made
// absolute to compress better, back into distances.
func (d *lzx) restoreCalls(b []byte) {
	const maxFrames = 32768
	if d.jumps == 0 || d.frames >= maxFrames || len(b) <= 10 {
		return
	}
	size := int32(d.jumps)
	for i := 0; i < len(b)-10; i++ {
		if b[i] != 0xE8 {
			continue
		}
		here := int32(d.done) + int32(i)
		target := int32(binary.LittleEndian.Uint32(b[i+1:]))
		if target >= -here && target < size {
			if target >= 0 {
				target -= here
			} else {
				target += size
			}
			binary.LittleEndian.PutUint32(b[i+1:], uint32(target))
		}
		i += 4
	}
}

// bitReader reads bits from 16-bit words, the highest first. Behind the end
// it reads zeros.
type bitReader struct {
	in   []byte
	next int // of the byte that is taken into word next
	word uint64
	n    uint // bits left in word
}

// fill sees to it that at least 17 bits are in word.
func (r *bitReader) fill() {
	for r.n <= 32 {
		var w uint64
		if r.next+1 < len(r.in) {
			w = uint64(r.in[r.next]) | uint64(r.in[r.next+1])<<8
		} else if r.next < len(r.in) {
			w = uint64(r.in[r.next])
		}
		r.next += 2
		r.word = r.word<<16 | w
		r.n += 16
	}
}

// read reads up to 17 bits.
func (r *bitReader) read(n uint) uint32 {
	if n == 0 {
		return 0
	}
	if r.n < n {
		r.fill()
	}
	r.n -= n
	return uint32(r.word>>r.n) & (1<<n - 1)
}

// overrun reports whether more was read than there is.
func (r *bitReader) overrun() bool { return r.next-int(r.n/16)*2 > len(r.in)+1 }

// align drops the bits up to the next word, at least one, and returns the n
// bytes behind, or nil if there are fewer.
func (r *bitReader) align(n int) []byte {
	if r.n%16 == 0 {
		r.read(16)
	}
	r.next -= int(r.n/16) * 2
	r.word, r.n = 0, 0
	return r.bytes(n)
}

// bytes returns the next n bytes of a reader that is aligned, or nil.
func (r *bitReader) bytes(n int) []byte {
	if r.n != 0 || n > len(r.in)-r.next {
		return nil
	}
	b := r.in[r.next : r.next+n]
	r.next += n
	return b
}

func (r *bitReader) skipByte() {
	if r.n == 0 {
		r.next++
	}
}

// maxCode is the longest code of a Huffman tree, in bits.
const maxCode = 16

// huffman decodes canonical Huffman codes.
type huffman struct {
	// first is the lowest code of a length, left-aligned to maxCode bits, end
	// the first code behind those of the length, and index the place of the
	// length's first symbol in symbols.
	first, end [maxCode + 1]uint32
	index      [maxCode + 1]int
	symbols    []uint16
	// fast gives symbol and length of codes up to fastBits long.
	fast [1 << fastBits]uint16
}

const fastBits = 9

// make sets the tree from the lengths of the codes of each symbol. A tree
// without symbols is allowed: it must not be used.
func (h *huffman) make(lengths []uint8) error {
	var count [maxCode + 1]int
	for _, l := range lengths {
		if l > maxCode {
			return message.Errorf("%w: code of %d bits", errLZX, l)
		}
		count[l]++
	}
	count[0] = 0
	code, place := uint32(0), 0
	var at [maxCode + 1]int
	for l := 1; l <= maxCode; l++ {
		h.first[l], h.index[l], at[l] = code, place, place
		code += uint32(count[l]) << (maxCode - l)
		place += count[l]
		h.end[l] = code
	}
	if code > 1<<maxCode || place > 0 && code < 1<<maxCode && place > 1 {
		return message.Errorf("%w: codes that are no tree", errLZX)
	}
	if cap(h.symbols) < len(lengths) {
		h.symbols = make([]uint16, len(lengths))
	}
	h.symbols = h.symbols[:place]
	clear(h.fast[:])
	for s, l := range lengths {
		if l == 0 {
			continue
		}
		i := at[l]
		at[l]++
		h.symbols[i] = uint16(s)
		if l <= fastBits {
			c := h.first[l] + uint32(i-h.index[l])<<(maxCode-l)
			from, n := c>>(maxCode-fastBits), uint32(1)<<(fastBits-l)
			for j := from; j < from+n; j++ {
				h.fast[j] = uint16(l)<<12 | uint16(s)
			}
		}
	}
	return nil
}

// next reads a symbol.
func (h *huffman) next(r *bitReader) (uint16, bool) {
	if r.n < maxCode {
		r.fill()
	}
	code := uint32(r.word>>(r.n-maxCode)) & (1<<maxCode - 1)
	if f := h.fast[code>>(maxCode-fastBits)]; f != 0 {
		r.n -= uint(f >> 12)
		return f & 0xFFF, true
	}
	for l := 1; l <= maxCode; l++ {
		if code < h.end[l] && code >= h.first[l] {
			r.n -= uint(l)
			return h.symbols[h.index[l]+int((code-h.first[l])>>(maxCode-l))], true
		}
	}
	return 0, false
}
