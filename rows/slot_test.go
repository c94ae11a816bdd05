package rows

import "testing"

// TestSlot has functions of one size, as compilers lay them out, of which few may share a place.
func TestSlot(t *testing.T) {
	const functions, bits = 300, 12
	for stride := uint64(16); stride <= 1024; stride += 16 {
		taken := make(map[uint64]int)
		for i := range uint64(functions) {
			s := Slot(0x561f928c0000+i*stride, bits)
			if s >= 1<<bits {
				t.Fatalf("place %d of %d", s, 1<<bits)
			}
			taken[s]++
		}
		shared := 0
		for _, n := range taken {
			if n > 1 {
				shared += n
			}
		}
		// At random 21 of 300 do.
		if shared > 60 {
			t.Errorf("%d bytes apart: %d of %d share a place", stride, shared, functions)
		}
	}
}
