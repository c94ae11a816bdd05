package profile

import (
	"math"
	"slices"

	"logparser/calls/index"
)

// An outermostTime sums up the time in the outermost of the calls that count: those that
// were made while no other of them was open on the thread. It is told all that
// count in blocks that follow each other in the log, each time from the stacks on
// that the index has.
type outermostTime struct {
	threads []threadOutermost
	// reaching has the enters of those that end outside their block.
	reaching map[int64]struct{}
	// doubtful has the time in calls of which it is not known yet whether one is
	// open that counts, by the enter of the innermost call that was open before
	// the blocks.
	undecided map[int64]*undecided
}

type threadOutermost struct {
	sum int64
	// cover is the depth of the outermost open call that counts, as far as it was
	// entered in the blocks; -1 for none.
	cover int
	// deepest is the greatest depth of cover and before, -1 for none.
	deepest int
	// before has the calls that were open before the blocks and still are,
	// outermost first.
	before []index.Node
}

type undecided struct {
	call index.Node
	sum  int64
}

func newOutermostTime() outermostTime {
	return outermostTime{reaching: make(map[int64]struct{}), undecided: make(map[int64]*undecided)}
}

// load begins the stack of a thread with the calls that are open, innermost
// first.
func (w *outermostTime) load(thread uint32, open []index.Node) {
	for int(thread) >= len(w.threads) {
		w.threads = append(w.threads, threadOutermost{})
	}
	th := &w.threads[thread]
	th.cover, th.before = -1, th.before[:0]
	for _, n := range slices.Backward(open) {
		if n.Enter >= 0 {
			th.before = append(th.before, n)
		}
	}
	th.cut(math.MaxInt)
}

// cut ends the calls of depth d and more of a thread.
func (w *outermostTime) cut(thread uint32, d int) {
	if th := &w.threads[thread]; d <= th.deepest {
		th.cut(d)
	}
}

func (th *threadOutermost) cut(d int) {
	if d <= th.cover {
		th.cover = -1
	}
	th.deepest = th.cover
	for k := len(th.before) - 1; k >= 0; k-- {
		if depth := int(th.before[k].Depth); depth < d {
			th.deepest = max(th.deepest, depth)
			break
		}
		th.before = th.before[:k]
	}
}

// add tells of a call that counts, after cut.
func (w *outermostTime) add(thread uint32, d int, enter, duration int64, reaches bool) {
	if reaches {
		w.reaching[enter] = struct{}{}
	}
	th := &w.threads[thread]
	if th.cover >= 0 {
		return
	}
	th.cover, th.deepest = d, max(th.deepest, d)
	if len(th.before) == 0 {
		th.sum += duration
		return
	}
	call := &th.before[len(th.before)-1]
	o := w.undecided[call.Enter]
	if o == nil {
		o = &undecided{call: *call}
		w.undecided[call.Enter] = o
	}
	o.sum += duration
}

// sumOutermost returns the sum of each thread, and of AllThreads.
func sumOutermost(src *index.Index, list []*outermostTime) map[uint32]int64 {
	sum := map[uint32]int64{}
	add := func(thread uint32, ns int64) {
		home, _ := src.Stack(thread)
		sum[home] += ns
		sum[AllThreads] += ns
	}
	counts := func(n *index.Node) bool {
		return slices.ContainsFunc(list, func(w *outermostTime) bool { _, ok := w.reaching[n.Enter]; return ok })
	}
	for _, w := range list {
		for thread := range w.threads {
			add(uint32(thread), w.threads[thread].sum)
		}
		for _, o := range w.undecided {
			n := o.call
			for !counts(&n) {
				if n.Parent == index.NoNode {
					add(n.Thread, o.sum)
					break
				}
				n = src.Node(n.Parent)
			}
		}
	}
	return sum
}
