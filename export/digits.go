package export

import (
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

// put4 writes a number below 10000 in four digits.
func put4(dst []byte, n uint32) {
	_ = dst[3]
	put2(dst, n/100)
	put2(dst[2:], n%100)
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
		dst[8] = byte('0' + ns%10)
		put4(dst, ns/1e5)
		put4(dst[4:], ns/10%1e4)
	}
}

// lowDigits are those of a number that are written anew each time.
const lowDigits = 1e4

// growing writes numbers that mostly differ from the one before in their last
// four digits.
type growing struct {
	// high is the number without these digits, and text[:n] its own.
	high int64
	n    int
	text [16]byte
}

// growingRoom is what a number takes at most, with what is copied behind it.
const growingRoom = 24

// put writes a number to the beginning of dst, which has growingRoom, and
// returns how many digits it has.
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

// append appends what put writes.
func (g *growing) append(dst []byte, n int64) []byte {
	dst = slices.Grow(dst, growingRoom)
	at := len(dst)
	return dst[:at+g.put(dst[at:at+growingRoom], n)]
}

// putDuration writes a duration below a second as [rows.AppendDuration] does for a clock of
// nanoseconds, right-aligned, and two blanks.
func putDuration(dst *[durationWidth + 2]byte, ns uint32) {
	*dst = [durationWidth + 2]byte([]byte(blanks[:durationWidth+2]))
	const end = durationWidth
	dst[end-1] = 's'
	at := end - len(" ns")
	whole := ns
	switch {
	case ns < 1e3:
		dst[end-2] = 'n'
	case ns < 1e6:
		dst[end-2] = 'u'
		whole = ns / 1e3
		at -= len(".000")
		dst[at] = '.'
		put3(dst[at+1:], ns%1e3)
	default:
		dst[end-2] = 'm'
		whole = ns / 1e6
		at -= len(".000")
		dst[at] = '.'
		put3(dst[at+1:], ns/1e3%1e3)
	}
	for {
		at--
		dst[at] = byte('0' + whole%10)
		if whole /= 10; whole == 0 {
			return
		}
	}
}

// putMicroseconds writes a duration as [rows.AppendMicroseconds] does to the beginning of dst,
// which has pieceLen, and returns how many bytes that are.
func putMicroseconds(dst []byte, ns uint64) int {
	whole := ns / 1000
	n := 0
	switch {
	case whole < 10:
		dst[0] = byte('0' + whole)
		n = 1
	case whole < 100:
		put2(dst, uint32(whole))
		n = 2
	default:
		n = len(strconv.AppendUint(dst[:0], whole, 10))
	}
	rest := uint32(ns % 1000)
	if rest == 0 {
		return n
	}
	dst[n] = '.'
	put3(dst[n+1:], rest)
	n += 4
	if rest%10 == 0 {
		n--
		if rest%100 == 0 {
			n--
		}
	}
	return n
}
