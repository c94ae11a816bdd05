package dwarf

// A workspace is memory that units are read in one after the other, so that lists need not grow from nothing for each.
type workspace struct {
	// found has the lists that a tree is made of, before they are cut to size.
	found tree
	areas []area
	spans []span
	stack []level
	// keys, sorted and grouped are memory for sorting areas.
	keys            []uint64
	sorted, grouped []area
	slots           []int32 // for walker.origins
	rows            []row
	program         []byte // of line numbers
}

// maxWorkspace bounds the entries of a list of a workspace that is kept for the next unit.
const maxWorkspace = 1 << 19

// reset makes the lists of a workspace empty. Those that one unit made very large are given up.
func (w *workspace) reset() {
	f := &w.found
	f.functions, f.nodes, f.parts = emptied(f.functions), emptied(f.nodes), emptied(f.parts)
	f.segs, f.scopes, f.origins, f.outside = emptied(f.segs), emptied(f.scopes), emptied(f.origins), nil
	w.areas, w.spans, w.stack, w.keys = emptied(w.areas), emptied(w.spans), emptied(w.stack), emptied(w.keys)
	w.sorted, w.grouped, w.slots, w.rows = emptied(w.sorted), emptied(w.grouped), emptied(w.slots), emptied(w.rows)
	w.program = emptied(w.program)
}

func emptied[T any](list []T) []T {
	if cap(list) > maxWorkspace {
		return nil
	}
	return list[:0]
}

// room returns a hash table of n empty places.
func (w *workspace) room(n int) []int32 {
	if cap(w.slots) < n {
		w.slots = make([]int32, n)
	}
	w.slots = w.slots[:n]
	clear(w.slots)
	return w.slots
}
