package export

import (
	"context"
	"fmt"
	"strconv"

	"logparser/rows"
)

// maxArcs is how many pairs of caller and callee are summed up at a time. When there are more, the sums are written, and new
// ones begin. Readers add up the sums of a pair.
const maxArcs = 1 << 20

// writeCallgrind writes the profile format of callgrind with two costs: ns, the self time, and Calls, the number of calls.
// Threads are functions without cost that call the outermost functions.
func writeCallgrind(ctx context.Context, out *output, src rows.Source, opt Options) error {
	c := &callgrind{header: &opt.Header, start: startTime(src, opt), out: out, numbers: make(map[nameKey]int)}
	c.clear()
	return writeCalls(ctx, out, src, opt, c)
}

// A graphNode is a node of the call graph: a function or a thread.
type graphNode struct {
	name, module, source string
	line                 int
	self, calls          int64
	// arcs are the functions that it called, in the order of the first call.
	arcs []graphArc
}

type graphArc struct {
	to uint32
	// calls is the number of calls, time their total time in ns, and inner the number of these calls and of all calls below
	// them.
	calls, time, inner int64
}

type callgrind struct {
	header *rows.Header
	start  string
	out    *output
	nodes  []graphNode
	// ofFunction and ofThread are indexes of nodes plus 1, by a function's id and a thread's index.
	ofFunction, ofThread []uint32
	// arcs has the index of an arc in its caller's list, by the nodes of caller and callee.
	arcs                  map[[2]uint32]int
	numbers               map[nameKey]int
	totalTime, totalCalls int64
	line                  []byte
	err                   error
}

// callgrindBegin is the beginning of a file, by which it is recognised.
const callgrindBegin = "# callgrind format\nversion: 1\ncreator: LogParser\n"

// A nameKey is a name and its kind (object, file or function). Each is numbered, and written in full only once.
type nameKey struct {
	kind byte
	name string
}

func (c *callgrind) clear() {
	c.nodes, c.arcs = c.nodes[:0], make(map[[2]uint32]int)
	clear(c.ofFunction)
	clear(c.ofThread)
}

func (c *callgrind) head(dst []byte, part int, at int64) []byte {
	c.line = append(c.line, callgrindBegin...)
	lines := []string{"cmd: " + processName(c.header)}
	for _, s := range []struct{ key, value string }{{"Format: ", c.header.Format}, {"Modules file: ", c.header.Modules}, {"Time of start: ", c.start}} {
		if s.value != "" {
			lines = append(lines, "desc: "+s.key+s.value)
		}
	}
	for _, s := range c.header.Lines {
		lines = append(lines, "desc: Note: "+s)
	}
	for _, s := range lines {
		c.line = append(append(c.line, rows.Visible(s)...), '\n')
	}
	c.line = append(c.line, "positions: line\nevent: ns : Time in nanoseconds\nevent: Calls : Calls\nevents: ns Calls\n"...)
	return dst
}

func (c *callgrind) thread(dst []byte, t *thread) []byte { return dst }

// at returns a pointer to element i of a list, which it extends if necessary.
func at(list *[]uint32, i int) *uint32 {
	for len(*list) <= i {
		*list = append(*list, 0)
	}
	return &(*list)[i]
}

func (c *callgrind) ofCall(fn *function) uint32 {
	p := at(&c.ofFunction, fn.id)
	if *p == 0 {
		c.nodes = append(c.nodes, graphNode{name: fn.name, module: fn.module, source: fn.source, line: fn.line})
		*p = uint32(len(c.nodes))
	}
	return *p - 1
}

func (c *callgrind) caller(t *thread) uint32 {
	if n := len(t.stack); n > 1 {
		return c.ofCall(t.stack[n-2].fn)
	}
	p := at(&c.ofThread, t.index)
	if *p == 0 {
		c.nodes = append(c.nodes, graphNode{name: fullThreadName(c.header, t.track)})
		*p = uint32(len(c.nodes))
	}
	return *p - 1
}

func (c *callgrind) enter(dst []byte, t *thread, again bool) []byte { return dst }

func (c *callgrind) leave(dst []byte, t *thread, at int64, how ending) []byte {
	n := len(t.stack)
	call := &t.stack[n-1]
	took, below, own := at-call.start, call.calls+1, int64(1)
	if call.inherited {
		took, below, own = call.inner, call.calls, 0
	}
	from, to := c.caller(t), c.ofCall(call.fn)
	c.nodes[to].self += took - call.inner
	c.nodes[to].calls += own
	c.totalTime += took - call.inner
	c.totalCalls += own
	if n > 1 {
		t.stack[n-2].inner += took
		t.stack[n-2].calls += below
	}
	list := &c.nodes[from].arcs
	key := [2]uint32{from, to}
	i, ok := c.arcs[key]
	if !ok {
		i = len(*list)
		c.arcs[key] = i
		*list = append(*list, graphArc{to: to})
	}
	a := &(*list)[i]
	a.calls += own
	a.time += took
	a.inner += below
	if len(c.arcs) > maxArcs {
		if c.err == nil {
			c.err = c.flush()
		}
		c.clear()
	}
	return dst
}

func (c *callgrind) anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte {
	return dst
}

// name appends a line with a name: its number, and the first time also its text.
func (c *callgrind) name(key string, kind byte, name string) {
	k := nameKey{kind, name}
	n, ok := c.numbers[k]
	if !ok {
		n = len(c.numbers) + 1
		c.numbers[k] = n
	}
	c.line = append(c.line, key...)
	c.line = append(strconv.AppendInt(append(c.line, '('), int64(n), 10), ')')
	if !ok {
		c.line = append(append(c.line, ' '), rows.Visible(name)...)
	}
	c.line = append(c.line, '\n')
}

func known(s string) string {
	if s == "" {
		return "???"
	}
	return s
}

func (c *callgrind) flush() error {
	for i := range c.nodes {
		n := &c.nodes[i]
		c.line = append(c.line, '\n')
		c.name("ob=", 'o', known(n.module))
		c.name("fl=", 'f', known(n.source))
		c.name("fn=", 'n', n.name)
		c.line = fmt.Appendf(c.line, "%d %d %d\n", n.line, n.self, n.calls)
		for _, a := range n.arcs {
			to := &c.nodes[a.to]
			c.name("cob=", 'o', known(to.module))
			c.name("cfi=", 'f', known(to.source))
			c.name("cfn=", 'n', to.name)
			c.line = fmt.Appendf(c.line, "calls=%d %d\n%d %d %d\n", a.calls, to.line, n.line, a.time, a.inner)
		}
		if len(c.line) >= flushBytes {
			if err := c.out.write(c.line); err != nil {
				return err
			}
			c.line = c.line[:0]
		}
	}
	err := c.out.write(c.line)
	c.line = c.line[:0]
	return err
}

func (c *callgrind) tail(out *output, dst []byte) error {
	if c.err != nil {
		return c.err
	}
	if err := c.flush(); err != nil {
		return err
	}
	return out.write(fmt.Appendf(nil, "\ntotals: %d %d\n", c.totalTime, c.totalCalls))
}

func (c *callgrind) kept() int64 { return 0 }
