// Package inflate decompresses zlib streams (RFC 1950, of deflate, RFC 1951),
// as compressed debug sections are. It gives the bytes that compress/zlib
// gives, in less than half the time for such sections: codes are looked up in
// one table entry with their base and extra bits, bits are taken 8 bytes at a
// time, and matches are copied by words.
//
// Invariants, each held by a test:
//
//  1. Where compress/zlib reads a stream, the bytes are the same; where it
//     refuses one, so does this package, having given the same bytes before
//     the error, and a few more where the input ends too early (FuzzReader,
//     TestDamaged).
//  2. Memory is the same for all streams: the window, some 300 KiB of output
//     and 64 KiB of input (TestMemory).
//  3. What a reader is given in pieces of any size makes no difference
//     (TestPieces).
package inflate

import (
	"encoding/binary"
	"hash"
	"hash/adler32"
	"io"

	"logparser/message"
)

const (
	// windowSize is how far a match can reach back, maxMatch how long one is.
	windowSize = 32 << 10
	maxMatch   = 258
	// outputSize is how many bytes are made before they are handed out;
	// overrun is how far the copying of a match may write behind its end.
	outputSize = 256 << 10
	overrun    = 16
	// inputSize is the size of the input buffer. reserve bytes are there
	// whenever a symbol is decoded: those of two codes with their extra bits, as
	// far as 8 bytes are loaded at a time, twice.
	inputSize = 64 << 10
	reserve   = 24
)

// ErrDamaged is wrapped by the errors of a stream that contradicts the format.
var ErrDamaged = message.New("damaged zlib stream")

func damaged(pattern string, args ...any) error {
	return message.Errorf("%w: %s", ErrDamaged, message.Textf(pattern, args...))
}

// A Reader reads the decompressed bytes of a stream. It is not safe for
// concurrent use.
type Reader struct {
	src io.Reader
	// in[at:end] is input that was not loaded into held yet. Once ended is set,
	// there are zeros behind end.
	in      []byte
	at, end int
	ended   bool
	readErr error // of src, but io.EOF
	// held are bits of the input, of which the lowest count are next.
	held  uint64
	count uint
	// out[given:made] is output that Read has not given yet; before given is
	// what matches reach back to. whole is how many bytes were made before out.
	out         []byte
	given, made int
	whole       int64
	sum         hash.Hash32 // of what was made up to summed
	summed      int

	state state
	final bool // the present block is the last
	left  int  // bytes of a stored block
	codes codes
	err   error
}

// A state is where in the stream a reader is.
type state uint8

const (
	atHeader state = iota
	atBlock
	inStored
	inCodes
	atTrailer
)

// NewReader returns a reader of the zlib stream that r reads. It reads ahead.
func NewReader(r io.Reader) *Reader {
	return &Reader{src: r, in: make([]byte, inputSize+reserve), out: make([]byte, windowSize+outputSize+maxMatch+overrun), sum: adler32.New()}
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for r.given == r.made {
		if r.err != nil {
			return 0, r.err
		}
		r.slide()
		r.err = r.decode()
		r.check()
	}
	n := copy(p, r.out[r.given:r.made])
	r.given += n
	return n, nil
}

// slide moves the window to the beginning of the output buffer once that is
// full.
func (r *Reader) slide() {
	if r.made < windowSize+outputSize {
		return
	}
	n := r.made - windowSize
	copy(r.out, r.out[n:r.made])
	r.whole += int64(n)
	r.given, r.made, r.summed = windowSize, windowSize, windowSize
}

// check takes what was made into the checksum, and compares it at the end.
func (r *Reader) check() {
	r.sum.Write(r.out[r.summed:r.made])
	r.summed = r.made
	if r.err != io.EOF {
		return
	}
	r.dropToByte()
	want, ok := r.number()
	if !ok {
		r.err = r.unexpected()
		return
	}
	if want != r.sum.Sum32() {
		r.err = damaged("the checksum is wrong")
	}
}

// decode makes output until the buffer is full or an error, io.EOF at the end.
func (r *Reader) decode() error {
	for r.made < windowSize+outputSize {
		switch r.state {
		case atHeader:
			if err := r.header(); err != nil {
				return err
			}
			r.state = atBlock
		case atBlock:
			if r.final {
				r.state = atTrailer
				continue
			}
			if err := r.block(); err != nil {
				return err
			}
		case inStored:
			if err := r.stored(); err != nil {
				return err
			}
		case inCodes:
			if err := r.symbols(); err != nil {
				return err
			}
		case atTrailer:
			return io.EOF
		}
	}
	return nil
}

// more makes sure that reserve bytes of input lie behind at, unless the input
// ends before.
func (r *Reader) more() {
	if r.ended || r.end-r.at >= reserve {
		return
	}
	// Bytes that are held may be given back.
	back := min(r.at, 8)
	r.end = copy(r.in, r.in[r.at-back:r.end])
	r.at = back
	for idle := 0; r.end-r.at < reserve; idle++ {
		n, err := r.src.Read(r.in[r.end:inputSize])
		if r.end += n; n > 0 {
			idle = 0
		}
		if err == nil && idle == 100 {
			err = io.ErrNoProgress
		}
		if err != nil {
			r.ended = true
			if err != io.EOF {
				r.readErr = err
			}
			clear(r.in[r.end:])
			return
		}
	}
}

// spent reports whether bits were taken that are not in the input.
func (r *Reader) spent() bool { return r.ended && r.at-int(r.count/8) > r.end }

func (r *Reader) unexpected() error {
	if r.readErr != nil {
		return r.readErr
	}
	return io.ErrUnexpectedEOF
}

// refill holds at least 56 bits.
func (r *Reader) refill() {
	r.more()
	if r.at+8 > len(r.in) {
		// All of these are zeros behind the end.
		r.at, r.end = r.at-r.end, 0
		clear(r.in)
	}
	r.held |= binary.LittleEndian.Uint64(r.in[r.at:]) << r.count
	r.at += int(63-r.count) >> 3
	r.count |= 56
}

// take returns the next n bits, at most 16. They must be held.
func (r *Reader) take(n uint) uint32 {
	v := uint32(r.held) & (1<<n - 1)
	r.held >>= n
	r.count -= n
	return v
}

// dropToByte drops the bits up to the next whole byte, and gives those behind
// it back to the input.
func (r *Reader) dropToByte() {
	r.at -= int(r.count / 8)
	r.held, r.count = 0, 0
}

// byte returns the next byte, when no bits are held.
func (r *Reader) byte() (byte, bool) {
	r.more()
	if r.at >= r.end {
		return 0, false
	}
	r.at++
	return r.in[r.at-1], true
}

// number returns the next four bytes as a big-endian number, when no bits are
// held.
func (r *Reader) number() (n uint32, ok bool) {
	for range 4 {
		b, ok := r.byte()
		if !ok {
			return 0, false
		}
		n = n<<8 | uint32(b)
	}
	return n, true
}

func (r *Reader) header() error {
	cmf, ok := r.byte()
	flags, ok2 := r.byte()
	if !ok || !ok2 {
		if r.readErr == nil && !ok {
			return io.ErrUnexpectedEOF
		}
		return r.unexpected()
	}
	if cmf&15 != 8 || cmf>>4 > 7 || (uint(cmf)<<8|uint(flags))%31 != 0 {
		return damaged("the header is none of zlib")
	}
	if flags&0x20 == 0 {
		return nil
	}
	// The empty dictionary is at hand.
	id, ok := r.number()
	if !ok {
		return r.unexpected()
	}
	if id != 1 {
		return damaged("it needs a dictionary")
	}
	return nil
}

// block reads the head of a block.
func (r *Reader) block() error {
	r.refill()
	r.final = r.take(1) != 0
	kind := r.take(2)
	if r.spent() {
		return r.unexpected()
	}
	switch kind {
	case 0:
		r.dropToByte()
		var head [4]byte
		for i := range head {
			b, ok := r.byte()
			if !ok {
				return r.unexpected()
			}
			head[i] = b
		}
		n := binary.LittleEndian.Uint16(head[:])
		if n != ^binary.LittleEndian.Uint16(head[2:]) {
			return damaged("the length of a stored block")
		}
		r.left, r.state = int(n), inStored
		return nil
	case 1:
		r.codes.fixed()
	case 2:
		if err := r.dynamic(); err != nil {
			return err
		}
	default:
		return damaged("a block of kind 3")
	}
	r.state = inCodes
	return nil
}

// stored copies what there is of a stored block.
func (r *Reader) stored() error {
	for r.left > 0 && r.made < windowSize+outputSize {
		if r.at == r.end {
			if r.more(); r.at == r.end {
				return r.unexpected()
			}
		}
		n := copy(r.out[r.made:min(r.made+r.left, windowSize+outputSize)], r.in[r.at:r.end])
		r.at, r.made, r.left = r.at+n, r.made+n, r.left-n
	}
	if r.left == 0 {
		r.state = atBlock
	}
	return nil
}

// codeOrder is the order in which the lengths of the code lengths' code stand.
var codeOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// dynamic reads the codes of a block.
func (r *Reader) dynamic() error {
	r.refill()
	literals, distances, n := int(r.take(5))+257, int(r.take(5))+1, int(r.take(4))+4
	if literals > maxLiterals {
		return r.damaged("too many literal codes")
	}
	if distances > maxDistances {
		return r.damaged("too many distance codes")
	}
	var lengths [maxLiterals + maxDistances]uint8
	for _, k := range codeOrder[:n] {
		r.refill()
		lengths[k] = uint8(r.take(3))
	}
	var table [1 << lengthBits]entry
	if !build(table[:], lengths[:len(codeOrder)], lengthBits, func(symbol int) entry { return entry(symbol) << 16 }) {
		return r.damaged("the code of the code lengths")
	}
	lengths = [maxLiterals + maxDistances]uint8{}
	for i := 0; i < literals+distances; {
		r.refill()
		if r.spent() {
			return r.unexpected()
		}
		e := table[r.held&(1<<lengthBits-1)]
		if e&isSpecial != 0 {
			return r.damaged("a code length")
		}
		r.drop(e)
		symbol := int(e >> 16)
		if symbol < 16 {
			lengths[i] = uint8(symbol)
			i++
			continue
		}
		repeat, value := 0, uint8(0)
		switch symbol {
		case 16:
			if i == 0 {
				return r.damaged("a code length that repeats none")
			}
			repeat, value = 3+int(r.take(2)), lengths[i-1]
		case 17:
			repeat = 3 + int(r.take(3))
		default:
			repeat = 11 + int(r.take(7))
		}
		if repeat > literals+distances-i {
			return r.damaged("too many code lengths")
		}
		for range repeat {
			lengths[i] = value
			i++
		}
	}
	if r.spent() {
		return r.unexpected()
	}
	if !r.codes.set(lengths[:literals], lengths[literals:literals+distances]) {
		return r.damaged("the codes of a block")
	}
	return nil
}

// damaged is for what was read: where the input had ended before, that is the
// error.
func (r *Reader) damaged(pattern string, args ...any) error {
	if r.spent() {
		return r.unexpected()
	}
	return damaged(pattern, args...)
}

// symbols decodes literals and matches until the block's end, or until the
// output buffer is full.
func (r *Reader) symbols() error {
	for r.made < windowSize+outputSize && r.state == inCodes {
		r.more()
		var err error
		if r.end-r.at >= reserve {
			err = r.quickly()
		} else {
			err = r.carefully()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// quickly decodes symbols as long as there are reserve bytes of input. What it
// works with stays in registers.
func (r *Reader) quickly() (err error) {
	literals, distances := &r.codes.literals, &r.codes.distances
	in, at, last := r.in, r.at, r.end-reserve
	out, made := r.out, r.made
	held, count := r.held, r.count
	for made < windowSize+outputSize && at <= last {
		held |= binary.LittleEndian.Uint64(in[at:at+8:at+8]) << (count & 63)
		at += int(63-count) >> 3
		count |= 56
		e := literals[held&(1<<literalBits-1)]
		if e&isLiteral != 0 {
			// Three codes that the table holds as a whole have 33 bits.
			held >>= e & 63
			count -= uint(e & 63)
			out[made] = byte(e >> 16)
			made++
			if e = literals[held&(1<<literalBits-1)]; e&isLiteral != 0 {
				held >>= e & 63
				count -= uint(e & 63)
				out[made] = byte(e >> 16)
				made++
				if e = literals[held&(1<<literalBits-1)]; e&isLiteral != 0 {
					held >>= e & 63
					count -= uint(e & 63)
					out[made] = byte(e >> 16)
					made++
					continue
				}
			}
			held |= binary.LittleEndian.Uint64(in[at:at+8:at+8]) << (count & 63)
			at += int(63-count) >> 3
			count |= 56
		}
		if e&isSpecial != 0 {
			if e&isLink != 0 {
				e = literals[uint64(e>>16)+held>>literalBits&(1<<(e>>8&15)-1)]
			}
			if e&isLiteral != 0 {
				held >>= e & 63
				count -= uint(e & 63)
				out[made] = byte(e >> 16)
				made++
				continue
			}
			if e&isSpecial != 0 {
				held >>= e & 63
				count -= uint(e & 63)
				err = r.special(e)
				break
			}
		}
		length := int(e>>16) + int(held>>(e>>8&15)&(1<<(e>>12&15)-1))
		held >>= e & 63
		count -= uint(e & 63)
		d := distances[held&(1<<distanceBits-1)]
		if d&isSpecial != 0 {
			if d&isLink != 0 {
				d = distances[uint64(d>>16)+held>>distanceBits&(1<<(d>>8&15)-1)]
			}
			if d&isSpecial != 0 {
				err = errDistance
				break
			}
		}
		distance := int(d>>16) + int(held>>(d>>8&15)&(1<<(d>>12&15)-1))
		held >>= d & 63
		count -= uint(d & 63)
		if distance > made {
			err = errReach
			break
		}
		copyMatch(out, made, distance, length)
		made += length
	}
	r.at, r.held, r.count, r.made = at, held, count, made
	return err
}

var (
	errLiteral  = damaged("a code that stands for nothing")
	errDistance = damaged("a distance code that stands for nothing")
	errReach    = damaged("a distance that reaches before the beginning")
)

// special takes the end of a block, or a code that stands for nothing.
func (r *Reader) special(e entry) error {
	if e&isEnd == 0 {
		return errLiteral
	}
	r.state = atBlock
	return nil
}

// carefully decodes one symbol near the end of the input, none of whose bits
// may lie behind that.
func (r *Reader) carefully() error {
	r.refill()
	e := r.codes.literals[r.held&(1<<literalBits-1)]
	if e&isLink != 0 {
		e = r.codes.literals[uint64(e>>16)+r.held>>literalBits&(1<<(e>>8&15)-1)]
	}
	before := r.held
	r.drop(e)
	if r.spent() {
		return r.unexpected()
	}
	switch {
	case e&isLiteral != 0:
		r.out[r.made] = byte(e >> 16)
		r.made++
		return nil
	case e&isSpecial != 0:
		return r.special(e)
	}
	length := int(e>>16) + int(before>>(e>>8&15)&(1<<(e>>12&15)-1))
	d := r.codes.distances[r.held&(1<<distanceBits-1)]
	if d&isLink != 0 {
		d = r.codes.distances[uint64(d>>16)+r.held>>distanceBits&(1<<(d>>8&15)-1)]
	}
	before = r.held
	r.drop(d)
	if r.spent() {
		return r.unexpected()
	}
	if d&isSpecial != 0 {
		return errDistance
	}
	distance := int(d>>16) + int(before>>(d>>8&15)&(1<<(d>>12&15)-1))
	if distance > r.made {
		return errReach
	}
	copyMatch(r.out, r.made, distance, length)
	r.made += length
	return nil
}

// drop takes the bits of an entry.
func (r *Reader) drop(e entry) {
	r.held >>= e & 63
	r.count -= uint(e & 63)
}

// copyMatch copies length bytes from distance before at to there. It may write
// overrun bytes more.
func copyMatch(out []byte, at, distance, length int) {
	from := at - distance
	switch {
	case distance >= length && length > 32:
		copy(out[at:at+length], out[from:at])
	case distance >= 8:
		dst, src := out[at:at+length+8], out[from:from+length+8]
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], binary.LittleEndian.Uint64(src[i:]))
		}
	case distance == 1:
		b := uint64(out[from]) * 0x0101010101010101
		dst := out[at : at+length+8]
		for i := 0; i < length; i += 8 {
			binary.LittleEndian.PutUint64(dst[i:], b)
		}
	default:
		dst, src := out[at:at+length], out[from:from+length]
		for i := range dst {
			dst[i] = src[i]
		}
	}
}
