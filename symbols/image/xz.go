package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"hash/crc64"

	"logparser/message"
	"logparser/symbols"
)

// MaxMiniDebugInfo is the most bytes that MiniDebugInfo may inflate to. It is
// held in memory.
const MaxMiniDebugInfo = 48 << 20

// MiniDebugInfo opens the symbol table that some distributions put into
// stripped files: an ELF file, compressed with xz, in .gnu_debugdata. It
// returns nil without an error where there is none.
func (im *Image) MiniDebugInfo() (*Image, error) {
	s := im.Section(".gnu_debugdata")
	if s == nil || s.NoBits {
		return nil, nil
	}
	c, err := s.Content()
	if err != nil {
		return nil, err
	}
	packed, err := c.Bytes(0, c.Size())
	if err != nil {
		return nil, err
	}
	data, err := unxz(packed, MaxMiniDebugInfo)
	if err != nil {
		return nil, message.Errorf("%s: section .gnu_debugdata: %w", im.file.Path, err)
	}
	return Open(&symbols.File{
		Path:     im.file.Path + " (.gnu_debugdata)",
		ReaderAt: bytes.NewReader(data), Size: int64(len(data)),
	})
}

// The xz container is described by "The .xz File Format" 1.1.0 of the Tukaani
// project, LZMA by Igor Pavlov's specification. Only the LZMA2 filter alone is
// read here, which is what MiniDebugInfo is made with.

var errXZ = message.New("damaged xz data")

// unxz inflates the first stream of an xz file to at most limit bytes.
func unxz(in []byte, limit int) ([]byte, error) {
	if len(in) < 12 || string(in[:6]) != "\xfd7zXZ\x00" || binary.LittleEndian.Uint32(in[8:]) != crc32.ChecksumIEEE(in[6:8]) {
		return nil, errXZ
	}
	check, err := newCheck(in[7])
	if err != nil {
		return nil, err
	}
	d := &lzma2{in: in, pos: 12, limit: limit}
	for {
		if d.pos >= len(in) {
			return nil, errXZ
		}
		if in[d.pos] == 0 { // the index
			return d.out, nil
		}
		if err := d.blockHeader(); err != nil {
			return nil, err
		}
		start, from := d.pos, len(d.out)
		if err := d.block(); err != nil {
			return nil, err
		}
		d.pos += -(d.pos - start) & 3
		size := 0
		if check != nil {
			check.Reset()
			check.Write(d.out[from:])
			size = check.Size()
		}
		if size > len(in)-d.pos || size > 0 && !bytes.Equal(checkBytes(check), in[d.pos:d.pos+size]) {
			return nil, message.Errorf("%w: checksum", errXZ)
		}
		d.pos += size
	}
}

func newCheck(kind byte) (hash.Hash, error) {
	switch kind {
	case 0:
		return nil, nil
	case 1:
		return crc32.NewIEEE(), nil
	case 4:
		return crc64.New(crc64.MakeTable(crc64.ECMA)), nil
	case 10:
		return sha256.New(), nil
	}
	return nil, message.Errorf("%w: checksum of kind %d", errXZ, kind)
}

// checkBytes returns a sum as xz writes it: CRCs are little-endian.
func checkBytes(h hash.Hash) []byte {
	sum := h.Sum(nil)
	if len(sum) <= 8 {
		for i, j := 0, len(sum)-1; i < j; i, j = i+1, j-1 {
			sum[i], sum[j] = sum[j], sum[i]
		}
	}
	return sum
}

// lzma2 decodes blocks. What was decoded is the dictionary.
type lzma2 struct {
	in    []byte
	pos   int
	out   []byte
	limit int

	dict       int // where the dictionary begins in out
	lc, lp, pb uint

	// Of the range decoder.
	rng, code uint32
	end       int // of the chunk in in

	// Of the LZMA model.
	state                   uint
	rep                     [4]uint32
	isMatch, isRep0Long     [12 << 4]uint16
	isRep, isRepG0, isRepG1 [12]uint16
	isRepG2                 [12]uint16
	slots                   [4][64]uint16
	special                 [115]uint16
	align                   [16]uint16
	matchLength, repLength  lengths
	literals                []uint16
}

type lengths struct {
	choice, choice2 uint16
	low, mid        [16][8]uint16
	high            [256]uint16
}

func (d *lzma2) blockHeader() error {
	size := (int(d.in[d.pos]) + 1) * 4
	if size > len(d.in)-d.pos {
		return errXZ
	}
	h := d.in[d.pos : d.pos+size]
	d.pos += size
	if binary.LittleEndian.Uint32(h[size-4:]) != crc32.ChecksumIEEE(h[:size-4]) {
		return message.Errorf("%w: block header", errXZ)
	}
	flags, rest := h[1], h[2:size-4]
	number := func() uint64 {
		v, n := binary.Uvarint(rest)
		if n <= 0 {
			rest = nil
			return 0
		}
		rest = rest[n:]
		return v
	}
	if flags&0x40 != 0 {
		number()
	}
	if flags&0x80 != 0 {
		number()
	}
	if id := number(); flags&3 != 0 || id != 0x21 {
		return message.Errorf("%w: filters other than LZMA2", errXZ)
	}
	return nil
}

func (d *lzma2) byte() byte {
	if d.pos >= len(d.in) {
		d.pos++
		return 0
	}
	d.pos++
	return d.in[d.pos-1]
}

func (d *lzma2) be16() int { return int(d.byte())<<8 | int(d.byte()) }

// block decodes the chunks of a block.
func (d *lzma2) block() error {
	needDict, needProps, needState := true, true, true
	for {
		if d.pos >= len(d.in) {
			return errXZ
		}
		control := d.byte()
		switch {
		case control == 0:
			return nil
		case control == 1 || control == 2:
			n := d.be16() + 1
			if control == 1 {
				d.dict, needDict = len(d.out), false
			}
			if needDict || n > len(d.in)-d.pos {
				return errXZ
			}
			if n > d.limit-len(d.out) {
				return d.tooBig()
			}
			d.out = append(d.out, d.in[d.pos:d.pos+n]...)
			d.pos += n
			continue
		case control < 0x80:
			return errXZ
		}
		n := int(control&0x1f)<<16 + d.be16() + 1
		packed := d.be16() + 1
		reset := control >> 5 & 3
		if reset == 3 {
			d.dict, needDict = len(d.out), false
		}
		if reset >= 2 {
			if !d.setProps(d.byte()) {
				return errXZ
			}
			needProps = false
		}
		if reset >= 1 {
			d.resetState()
			needState = false
		}
		if needDict || needProps || needState || packed < 5 || packed > len(d.in)-d.pos {
			return errXZ
		}
		if n > d.limit-len(d.out) {
			return d.tooBig()
		}
		d.end = d.pos + packed
		d.byte()
		d.rng, d.code = 0xffffffff, binary.BigEndian.Uint32(d.in[d.pos:])
		d.pos += 4
		if err := d.chunk(len(d.out) + n); err != nil {
			return err
		}
		if d.pos != d.end {
			return errXZ
		}
	}
}

func (d *lzma2) tooBig() error { return message.Errorf("inflates to more than %d bytes", d.limit) }

func (d *lzma2) setProps(b byte) bool {
	if b >= 9*5*5 {
		return false
	}
	d.lc, d.lp, d.pb = uint(b%9), uint(b/9%5), uint(b/45)
	return d.lc+d.lp <= 4
}

// half is the probability at which a bit starts.
const half = 1 << 10

func fill(p []uint16) {
	for i := range p {
		p[i] = half
	}
}

func (d *lzma2) resetState() {
	d.state, d.rep = 0, [4]uint32{}
	for _, p := range [][]uint16{d.isMatch[:], d.isRep0Long[:], d.isRep[:], d.isRepG0[:], d.isRepG1[:], d.isRepG2[:], d.special[:], d.align[:]} {
		fill(p)
	}
	for i := range d.slots {
		fill(d.slots[i][:])
	}
	for _, l := range []*lengths{&d.matchLength, &d.repLength} {
		l.choice, l.choice2 = half, half
		for i := range l.low {
			fill(l.low[i][:])
			fill(l.mid[i][:])
		}
		fill(l.high[:])
	}
	d.literals = make([]uint16, 0x300<<(d.lc+d.lp))
	fill(d.literals)
}

func (d *lzma2) normalize() {
	if d.rng < 1<<24 {
		d.rng <<= 8
		d.code <<= 8
		if d.pos < d.end {
			d.code |= uint32(d.in[d.pos])
		}
		d.pos++
	}
}

func (d *lzma2) bit(p *uint16) uint32 {
	bound := d.rng >> 11 * uint32(*p)
	var b uint32
	if d.code < bound {
		d.rng = bound
		*p += (1<<11 - *p) >> 5
	} else {
		d.rng -= bound
		d.code -= bound
		*p -= *p >> 5
		b = 1
	}
	d.normalize()
	return b
}

func (d *lzma2) tree(p []uint16, bits uint) uint32 {
	m := uint32(1)
	for range bits {
		m = m<<1 | d.bit(&p[m])
	}
	return m - 1<<bits
}

func (d *lzma2) reverse(p []uint16, bits uint) (v uint32) {
	m := uint32(1)
	for i := range bits {
		b := d.bit(&p[m])
		m = m<<1 | b
		v |= b << i
	}
	return v
}

func (d *lzma2) direct(bits uint) (v uint32) {
	for range bits {
		d.rng >>= 1
		if d.code >= d.rng {
			d.code -= d.rng
			v = v<<1 | 1
		} else {
			v <<= 1
		}
		d.normalize()
	}
	return v
}

func (l *lengths) decode(d *lzma2, posState int) int {
	if d.bit(&l.choice) == 0 {
		return int(d.tree(l.low[posState][:], 3)) + 2
	}
	if d.bit(&l.choice2) == 0 {
		return int(d.tree(l.mid[posState][:], 3)) + 10
	}
	return int(d.tree(l.high[:], 8)) + 18
}

// chunk decodes until out has the given length.
func (d *lzma2) chunk(until int) error {
	for len(d.out) < until {
		if d.pos > d.end {
			return errXZ
		}
		at := len(d.out) - d.dict
		posState := at & (1<<d.pb - 1)
		both := d.state<<4 | uint(posState)
		if d.bit(&d.isMatch[both]) == 0 {
			if err := d.literal(at); err != nil {
				return err
			}
			continue
		}
		var n int
		if d.bit(&d.isRep[d.state]) == 0 {
			d.rep[3], d.rep[2], d.rep[1] = d.rep[2], d.rep[1], d.rep[0]
			n = d.matchLength.decode(d, posState)
			d.state = after(d.state, 7, 10)
			d.rep[0] = d.distance(n)
			if d.rep[0] == 0xffffffff {
				return errXZ // an end mark, which LZMA2 does not have
			}
		} else {
			if at == 0 {
				return errXZ
			}
			short := false
			switch {
			case d.bit(&d.isRepG0[d.state]) == 0:
				short = d.bit(&d.isRep0Long[both]) == 0
			case d.bit(&d.isRepG1[d.state]) == 0:
				d.rep[0], d.rep[1] = d.rep[1], d.rep[0]
			case d.bit(&d.isRepG2[d.state]) == 0:
				d.rep[0], d.rep[1], d.rep[2] = d.rep[2], d.rep[0], d.rep[1]
			default:
				d.rep[0], d.rep[1], d.rep[2], d.rep[3] = d.rep[3], d.rep[0], d.rep[1], d.rep[2]
			}
			if short {
				n = 1
				d.state = after(d.state, 9, 11)
			} else {
				n = d.repLength.decode(d, posState)
				d.state = after(d.state, 8, 11)
			}
		}
		back := int64(d.rep[0]) + 1
		if back > int64(at) || n > until-len(d.out) {
			return errXZ
		}
		for range n {
			d.out = append(d.out, d.out[len(d.out)-int(back)])
		}
	}
	return nil
}

// after returns the state that follows one after a match.
func after(state, literal, match uint) uint {
	if state < 7 {
		return literal
	}
	return match
}

func (d *lzma2) literal(at int) error {
	var previous byte
	if at > 0 {
		previous = d.out[len(d.out)-1]
	}
	context := (at&(1<<d.lp-1))<<d.lc | int(previous)>>(8-d.lc)
	p := d.literals[context*0x300:]
	m := uint32(1)
	if d.state >= 7 {
		back := int64(d.rep[0]) + 1
		if back > int64(at) {
			return errXZ
		}
		match := uint32(d.out[len(d.out)-int(back)])
		for m < 0x100 {
			want := match >> 7 & 1
			match <<= 1
			b := d.bit(&p[(1+want)<<8+m])
			m = m<<1 | b
			if want != b {
				break
			}
		}
	}
	for m < 0x100 {
		m = m<<1 | d.bit(&p[m])
	}
	d.out = append(d.out, byte(m))
	switch {
	case d.state < 4:
		d.state = 0
	case d.state < 10:
		d.state -= 3
	default:
		d.state -= 6
	}
	return nil
}

func (d *lzma2) distance(n int) uint32 {
	slot := d.tree(d.slots[min(n-2, 3)][:], 6)
	if slot < 4 {
		return slot
	}
	bits := uint(slot>>1) - 1
	v := (2 | slot&1) << bits
	if slot < 14 {
		return v + d.reverse(d.special[v-slot:], bits)
	}
	return v + d.direct(bits-4)<<4 + d.reverse(d.align[:], 4)
}
