package export

import (
	"context"
	"strconv"
	"strings"

	"logparser/rows"
)

// A Weight is what collapsed stacks count.
type Weight uint8

const (
	// Nanoseconds and Microseconds are the self time.
	Nanoseconds Weight = iota
	Microseconds
	// Calls is the number of calls.
	Calls
)

// String returns the name by which the user chooses the weight.
func (w Weight) String() string { return [...]string{"ns", "us", "calls"}[w] }

// ParseWeight returns the weight with a name, as [Weight.String] returns it. It reports false if there is none.
func ParseWeight(s string) (Weight, bool) {
	for w := Nanoseconds; w <= Calls; w++ {
		if s == w.String() {
			return w, true
		}
	}
	return 0, false
}

const (
	// maxStacks is how many different stacks are summed up at a time, or twice the number of open ones if that is more. When
	// there are more, the sums are written, and a stack may get another line later.
	maxStacks = 1 << 20
	// maxFrames is the largest number of names in a line. Deeper calls count for the name deeperName.
	maxFrames  = 1000
	deeperName = "[deeper]"
)

// writeFolded writes collapsed stacks. A line is a stack: its names from the process inwards, separated by semicolons, then a
// blank and the weight. Readers add up the lines of a stack.
func writeFolded(ctx context.Context, out *output, src rows.Source, opt Options) error {
	f := &collapsed{header: &opt.Header, weight: opt.Weight, byThread: opt.ByThread, out: out}
	f.clear()
	return writeCalls(ctx, out, src, opt, f)
}

// A stackNode is a stack: a name, and the stack of its caller.
type stackNode struct {
	parent uint32
	depth  uint32
	name   string
	weight int64
	// used says that a call with this stack has ended.
	used bool
}

type nodeKey struct {
	parent uint32
	// function is the id of a function. It is 0 for deeperName, and ofProcess or less for processes and threads.
	function int
}

// ofProcess is the number that stands for the process in the place of a function.
const ofProcess = -1

type collapsed struct {
	header   *rows.Header
	weight   Weight
	byThread bool
	out      *output
	nodes    []stackNode // nodes[0] is the empty stack
	limit    int         // largest number of nodes before they are written
	byKey    map[nodeKey]uint32
	threads  []*thread
	line     []byte
	err      error
}

func (f *collapsed) clear() {
	f.nodes = append(f.nodes[:0], stackNode{})
	f.limit = maxStacks
	f.byKey = make(map[nodeKey]uint32)
}

func (f *collapsed) head(dst []byte, part int, at int64) []byte { return dst }

func (f *collapsed) thread(dst []byte, t *thread) []byte {
	f.threads = append(f.threads, t)
	return dst
}

// node returns the node of a name below a parent.
func (f *collapsed) node(parent uint32, id int, name string) uint32 {
	key := nodeKey{parent, id}
	n, ok := f.byKey[key]
	if !ok {
		n = uint32(len(f.nodes))
		f.nodes = append(f.nodes, stackNode{parent: parent, depth: f.nodes[parent].depth + 1, name: name})
		f.byKey[key] = n
	}
	return n
}

// place sets the node of the call at index i of a thread's stack.
func (f *collapsed) place(t *thread, i int) {
	c := &t.stack[i]
	if i == 0 {
		process := processName(f.header)
		if p := f.header.Process(t.track); p != nil {
			process = p.Label
		}
		root := f.node(0, ofProcess-t.track.ProcessNumber(), process)
		if f.byThread {
			root = f.node(root, ofProcess-1-t.index, threadName(f.header, t.track))
		}
		c.node = f.node(root, c.fn.id, c.fn.name)
		return
	}
	parent := t.stack[i-1].node
	switch depth := f.nodes[parent].depth; {
	case depth < maxFrames:
		c.node = f.node(parent, c.fn.id, c.fn.name)
	case depth == maxFrames:
		c.node = f.node(parent, 0, deeperName)
	default:
		c.node = parent
	}
}

func (f *collapsed) enter(dst []byte, t *thread, again bool) []byte {
	f.place(t, len(t.stack)-1)
	if len(f.nodes) > f.limit {
		if f.err == nil {
			f.err = f.flush()
		}
		f.clear()
		for _, t := range f.threads {
			for i := range t.stack {
				f.place(t, i)
			}
		}
		f.limit = max(maxStacks, 2*len(f.nodes))
	}
	return dst
}

func (f *collapsed) leave(dst []byte, t *thread, at int64, how ending) []byte {
	c := &t.stack[len(t.stack)-1]
	n := &f.nodes[c.node]
	switch {
	case c.inherited:
	case f.weight == Calls:
		n.used = true
		n.weight++
	default:
		n.used = true
		n.weight += at - c.start - c.inner
	}
	if k := len(t.stack); k > 1 {
		t.stack[k-2].inner += at - c.start
	}
	return dst
}

func (f *collapsed) anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte {
	return dst
}

// flush writes the stacks, in the order of their first calls.
func (f *collapsed) flush() error {
	var names []string
	for i := range f.nodes {
		n := &f.nodes[i]
		if !n.used {
			continue
		}
		names = names[:0]
		for at := n; at.depth > 0; at = &f.nodes[at.parent] {
			names = append(names, at.name)
		}
		for k := len(names) - 1; k >= 0; k-- {
			f.line = appendFoldedName(f.line, names[k])
			f.line = append(f.line, ';')
		}
		f.line[len(f.line)-1] = ' '
		weight := n.weight
		if f.weight == Microseconds {
			weight /= 1000
		}
		f.line = append(strconv.AppendInt(f.line, weight, 10), '\n')
		if len(f.line) >= flushBytes {
			if err := f.out.write(f.line); err != nil {
				return err
			}
			f.line = f.line[:0]
		}
	}
	err := f.out.write(f.line)
	f.line = f.line[:0]
	return err
}

// appendFoldedName appends a name, in which it replaces the characters that separate names or lines.
func appendFoldedName(dst []byte, name string) []byte {
	return append(dst, strings.ReplaceAll(rows.Visible(name), ";", ":")...)
}

func (f *collapsed) tail(out *output, dst []byte) error {
	if f.err != nil {
		return f.err
	}
	return f.flush()
}

func (f *collapsed) kept() int64 { return 0 }
