package pdb

import "testing"

// TestInlinee finds where inlined functions begin by their ids, of which the list may have one several times.
func TestInlinee(t *testing.T) {
	c := &c13{inlinees: []inlinee{{1, 0x10, 5}, {2, 0x10, 7}, {2, 0x10, 7}, {3, 0x10, 4}, {3, 0x20, 8}, {4, 0x10, 9}, {4, 0x10, 11}, {6, 0x20, 1}}}
	for id, want := range map[uint32]inlinee{0: {}, 1: {1, 0x10, 5}, 2: {2, 0x10, 7}, 3: {}, 4: {4, 0x10, 0}, 5: {}, 6: {6, 0x20, 1}, 7: {}} {
		if got, ok := c.inlinee(id); got != want || ok != (want.id != 0) {
			t.Errorf("id %d is %+v, %v, want %+v", id, got, ok, want)
		}
	}
}
