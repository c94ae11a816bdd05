package export

import "strconv"

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
	high uint64
	n    int
	text [16]byte
}

// growingRoom is what a number takes at most, with what is copied behind it.
const growingRoom = 24

// put writes a number to the beginning of dst, which has growingRoom, and
// returns how many digits it has.
func (g *growing) put(dst []byte, n uint64) int {
	if n < lowDigits {
		return len(strconv.AppendUint(dst[:0], n, 10))
	}
	if high := n / lowDigits; high != g.high {
		g.high, g.n = high, len(strconv.AppendUint(g.text[:0], high, 10))
	}
	*(*[16]byte)(dst) = g.text
	put4(dst[g.n:], uint32(n%lowDigits))
	return g.n + 4
}
