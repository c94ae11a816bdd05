package export

import (
	"encoding/binary"
	"slices"
	"strconv"
)

// pairs has the digits of 0 to 99, two each.
const pairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// put2 writes a number below 100 in two digits.
func put2(dst []byte, n uint32) {
	_ = dst[1]
	at := n * 2 % uint32(len(pairs))
	dst[0], dst[1] = pairs[at], pairs[at+1]
}

// put3 writes a number below 1000 in three digits.
func put3(dst []byte, n uint32) {
	dst[2] = byte('0' + n%10)
	dst[1] = byte('0' + n/10%10)
	dst[0] = byte('0' + n/100)
}

// put4 writes a number below 10000 in four digits.
func put4(dst []byte, n uint32) {
	_ = dst[3]
	put2(dst, n/100)
	put2(dst[2:], n%100)
}

// twoDigits has the digits of numbers below 100, the first in the lower byte.
var twoDigits = func() (list [128]uint16) {
	for n := range 100 {
		list[n] = uint16('0'+n/10) | uint16('0'+n%10)<<8
	}
	return list
}()

// fourDigits returns the digits of a number below 10000, the first in the lowest byte.
func fourDigits(n uint32) uint32 {
	high := n * 5243 >> 19 // division by 100
	return uint32(twoDigits[high&127]) | uint32(twoDigits[(n-100*high)&127])<<16
}

// put8 writes a number below 1e8 in eight digits. It divides the digits in parallel within one word: into two halves of four
// digits, four of two, and eight single digits.
func put8(dst []byte, n uint32) {
	halves := uint64(n/1e4) | uint64(n%1e4)<<32
	hundreds := halves * 10486 >> 20 & 0x0000007f0000007f // division by 100
	twos := hundreds | (halves-100*hundreds)<<16
	tens := twos * 103 >> 10 & 0x000f000f000f000f // division by 10
	digits := tens | (twos-10*tens)<<8
	binary.LittleEndian.PutUint64(dst, digits|0x3030303030303030)
}

// putFraction writes nanoseconds below a second in 3, 6 or 9 digits.
func putFraction(dst []byte, ns uint32, digits int) {
	switch digits {
	case 3:
		put3(dst, ns/1e6)
	case 6:
		put4(dst, ns/1e5)
		put2(dst[4:], ns/1e3%100)
	case 9:
		_ = dst[8]
		put8(dst, ns/10)
		dst[8] = byte('0' + ns%10)
	}
}

// A threeDigits has the three digits of a number below 1000 in its three lowest bytes, the number of its leading zeros (0 to 2)
// in the bits from 24 on, and that of its trailing zeros (0 to 3) in the bits from 28 on.
type threeDigits uint32

// threes has the digits of all numbers below 1000. The table replaces branches that processors cannot predict.
var threes = func() (list [1000]threeDigits) {
	for n := range list {
		text := [3]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)}
		first, last := 0, 0
		for first < 2 && text[first] == '0' {
			first++
		}
		for last < 3 && text[2-last] == '0' {
			last++
		}
		list[n] = threeDigits(text[0]) | threeDigits(text[1])<<8 | threeDigits(text[2])<<16 | threeDigits(first)<<24 | threeDigits(last)<<28
	}
	return list
}()

// threeOf returns the digits of a number below 1000.
func threeOf(n uint32) threeDigits { return threes[n%1000] }

func (d threeDigits) leading() int  { return int(d >> 24 & 3) }
func (d threeDigits) trailing() int { return int(d >> 28) }

// right returns the digits with blanks in the place of leading zeros.
func (d threeDigits) right() uint32 {
	zeros := uint32(1)<<(8*d.leading()) - 1
	return uint32(d)&0xffffff ^ zeros&0x101010
}

// lowDigits is the power of ten above the digits that growing writes anew for each number.
const lowDigits = 1e4

// growing writes numbers that mostly differ from the number before only in their last four digits.
type growing struct {
	// high is the number without these digits, and text[:n] its text.
	high int64
	n    int
	text [16]byte
}

// growingRoom is how many bytes a number may write, with those that are copied beyond its end.
const growingRoom = 24

// put writes a number to the beginning of dst, which must have growingRoom bytes. It returns the number of digits.
func (g *growing) put(dst []byte, n int64) int {
	if n < lowDigits {
		return len(strconv.AppendInt(dst[:0], n, 10))
	}
	if high := n / lowDigits; high != g.high {
		g.high, g.n = high, len(strconv.AppendInt(g.text[:0], high, 10))
	}
	*(*[16]byte)(dst) = g.text
	put4(dst[g.n:], uint32(n%lowDigits))
	return g.n + 4
}

func (g *growing) append(dst []byte, n int64) []byte {
	dst = slices.Grow(dst, growingRoom)
	at := len(dst)
	return dst[:at+g.put(dst[at:at+growingRoom], n)]
}

// putDuration writes a duration below a second as [rows.AppendDuration] does for nanoseconds, right-aligned, and two blanks.
func putDuration(dst *[durationWidth + 2]byte, ns uint32) {
	switch {
	case ns < 1e3:
		binary.LittleEndian.PutUint64(dst[:], 0x2020202020|uint64(threeOf(ns).right())<<40)
		copy(dst[8:], " ns  ")
		return
	case ns < 1e6:
		copy(dst[8:], " us  ")
	default:
		ns /= 1e3
		copy(dst[8:], " ms  ")
	}
	binary.LittleEndian.PutUint64(dst[:], ' '|uint64(threeOf(ns/1e3).right())<<8|'.'<<32|uint64(threeOf(ns%1e3)&0xffffff)<<40)
}

// putMilliseconds is putDuration for times in milliseconds.
func putMilliseconds(dst *[durationWidth + 2]byte, ns uint32) {
	binary.LittleEndian.PutUint64(dst[:], 0x2020202020|uint64(threeOf(ns/1e6).right())<<40)
	copy(dst[8:], " ms  ")
}

// putMicroseconds writes a duration in nanoseconds as [rows.AppendMicroseconds] does. dst must have pieceLen bytes. It returns
// the number of bytes.
func putMicroseconds(dst []byte, ns uint64) int {
	whole := ns / 1000
	n := 0
	if whole < 1000 {
		d := threeOf(uint32(whole))
		binary.LittleEndian.PutUint32(dst, uint32(d>>(8*d.leading())))
		n = 3 - d.leading()
	} else {
		n = len(strconv.AppendUint(dst[:0], whole, 10))
	}
	return n + putThousandths(dst[n:], uint32(ns%1000))
}

// putThousandths writes the decimal point and the decimals of n thousandths, n below 1000, without trailing zeros. dst must
// have 4 bytes. It returns the number of bytes, which is 0 if n is.
func putThousandths(dst []byte, n uint32) int {
	d := threeOf(n)
	binary.LittleEndian.PutUint32(dst, '.'|uint32(d)<<8)
	if n == 0 {
		return 0
	}
	return 4 - d.trailing()
}
