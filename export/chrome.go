package export

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"logparser/rows"
)

// writeChrome writes the object form of the trace event format, a JSON file that chrome://tracing, Perfetto and others read. It
// uses B and E events, because X events do not define the order of calls with duration 0.
func writeChrome(ctx context.Context, out *output, src rows.Source, opt Options) error {
	return writeCalls(ctx, out, src, opt, &chrome{header: &opt.Header, start: startTime(src, opt), pids: processIDs(&opt.Header)})
}

// startTime returns the local time at the beginning of the first run in the form of rows, or "" if it is not known.
func startTime(src rows.Source, opt Options) string {
	var r rows.Row
	if runs := opt.runs(); len(runs) > 0 {
		r.Wall, r.HasWall = runs[0].Start, runs[0].HasWall
	} else if opt.From < src.Len() {
		r = src.Row(opt.From)
		r.Wall = r.Wall.Add(-time.Duration(r.Elapsed))
	}
	if !r.HasWall {
		return ""
	}
	return string(rows.AppendTime(nil, &r, src.TimeDigits()))
}

// processIDs returns an id for each process, by the process's number. Number 0 is the process of a log that has only one. The
// ids are those of the system, replaced where they are unknown or not unique.
func processIDs(h *rows.Header) []uint32 {
	ids := []uint32{max(h.ProcessID, 1)}
	taken := make(map[uint32]bool)
	for _, p := range h.Processes {
		taken[p.ID] = true
	}
	seen, free := map[uint32]bool{0: true}, uint32(1)
	for _, p := range h.Processes {
		id := p.ID
		for ; seen[id]; free++ {
			if !taken[free] {
				id = free
			}
		}
		seen[id] = true
		ids = append(ids, id)
	}
	return ids
}

// chromeBegin is the beginning of a file, by which it is recognised.
const chromeBegin = `{"displayTimeUnit":"ns","otherData":{"writer":"LogParser"`

type chrome struct {
	header *rows.Header
	start  string
	pids   []uint32 // see processIDs
	recent recent
	row    rows.Row // buffer for the names of recent
}

func (c *chrome) head(dst []byte, part int, at int64) []byte {
	dst = append(dst, chromeBegin...)
	h := c.header
	for _, s := range []struct{ key, value string }{
		{`,"log":`, h.Log}, {`,"modules":`, h.Modules}, {`,"format":`, h.Format}, {`,"start":`, c.start}, {`,"notes":`, noteLines(h)},
	} {
		dst = appendJSONText(dst, s.key, s.value)
	}
	dst = append(dst, `,"part":"`...)
	dst = strconv.AppendInt(dst, int64(part)+1, 10)
	dst = append(dst, "\"},\"traceEvents\":[\n"...)
	for i, p := range h.Processes {
		if i > 0 {
			dst = append(dst, ",\n"...)
		}
		dst = c.meta(dst, "process_name", rows.TrackOf(p, 0, 0), p.Label)
	}
	if len(h.Processes) == 0 {
		dst = c.meta(dst, "process_name", 0, processName(h))
	}
	return dst
}

// processName returns the name of the program in formats of calls.
func processName(h *rows.Header) string {
	if h.Program == "" {
		return logName(h)
	}
	return h.Program
}

// logName returns the name of the log.
func logName(h *rows.Header) string {
	if h.Log == "" {
		return "log"
	}
	return h.Log
}

// noteLines joins the notes of a header.
func noteLines(h *rows.Header) string {
	var text []byte
	for i, s := range h.Lines {
		if i > 0 {
			text = append(text, "; "...)
		}
		text = append(text, s...)
	}
	return string(text)
}

func (c *chrome) meta(dst []byte, name string, t rows.Track, value string) []byte {
	dst = c.track(append(dst, `{"ph":"M","pid":`...), t)
	dst = append(dst, `,"name":"`...)
	dst = append(dst, name...)
	dst = append(dst, `","args":{"name":`...)
	dst = rows.AppendJSONString(dst, value)
	return append(dst, "}}"...)
}

// track appends the ids of the process and of the thread of a track.
func (c *chrome) track(dst []byte, t rows.Track) []byte {
	dst = strconv.AppendUint(dst, uint64(c.pids[t.ProcessNumber()]), 10)
	dst = append(dst, `,"tid":`...)
	return strconv.AppendUint(dst, uint64(t.ID()), 10)
}

func (c *chrome) thread(dst []byte, t *thread) []byte {
	name := cmp.Or(c.header.StackName(t.track), c.header.Threads[t.track])
	if name == "" {
		return dst
	}
	return c.meta(append(dst, ",\n"...), "thread_name", t.track, name)
}

// event appends the beginning of an event, up to its time.
func (c *chrome) event(dst []byte, phase byte, t *thread, at int64) []byte {
	dst = append(dst, ",\n{\"ph\":\""...)
	dst = append(dst, phase)
	dst = c.track(append(dst, `","pid":`...), t.track)
	dst = append(dst, `,"ts":`...)
	return rows.AppendMicroseconds(dst, at)
}

// names appends what depends on the address: name, category, and the beginning of the arguments.
func (c *chrome) names(dst []byte, r *rows.Row) []byte {
	dst = rows.AppendJSONString(append(dst, `,"name":`...), r.Function)
	dst = appendJSONText(dst, `,"cat":`, r.Module)
	dst = append(dst, `,"args":{"address":"`...)
	dst = append(rows.AppendAddress(dst, r.Address), '"')
	dst = appendJSONText(dst, `,"source":`, r.Source)
	if r.Line != 0 {
		dst = rows.AppendLine(append(dst, `,"line":`...), r.Line)
	}
	return append(dst, `,"row":`...)
}

// place appends the names of a function at an address, from the cache if possible.
func (c *chrome) place(dst []byte, fn *function, line int, address uint64) []byte {
	r := &c.row
	r.Function, r.Module, r.Source, r.Line, r.Address = fn.name, fn.module, fn.source, line, address
	return c.recent.append(dst, r, c)
}

func (c *chrome) enter(dst []byte, t *thread, again bool) []byte {
	k := &t.stack[len(t.stack)-1]
	dst = c.event(dst, 'B', t, k.start)
	dst = c.place(dst, k.fn, k.line, k.address)
	dst = strconv.AppendInt(dst, k.index, 10)
	dst = appendJSONText(dst, `,"note":`, k.note)
	dst = appendJSONCall(dst, k.values)
	if again {
		dst = append(dst, `,"part":"goes on from the part before"`...)
	}
	return append(dst, "}}"...)
}

func (c *chrome) leave(dst []byte, t *thread, at int64, how ending) []byte {
	dst = c.event(dst, 'E', t, at)
	switch how {
	case hidden:
		dst = append(dst, `,"args":{"end":"its leave is not among the rows"}`...)
	case parted:
		dst = append(dst, `,"args":{"end":"goes on in the next part"}`...)
	}
	return append(dst, '}')
}

func (c *chrome) anomaly(dst []byte, t *thread, at int64, fn *function, r *rows.Row) []byte {
	dst = append(c.event(dst, 'i', t, at), `,"s":"t"`...)
	dst = c.place(dst, fn, r.Line, r.Address)
	dst = strconv.AppendInt(dst, r.Index, 10)
	dst = append(dst, `,"event":"`...)
	dst = append(append(dst, r.Event.String()...), '"')
	dst = appendJSONText(dst, `,"note":`, r.SavedNote())
	return append(dst, "}}"...)
}

func (c *chrome) annotation(dst []byte, t *thread, at int64, m *rows.Annotation) []byte {
	phase := byte('C')
	if m.Kind == rows.TextAnnotation {
		phase = 'i'
	}
	dst = rows.AppendJSONString(append(c.event(dst, phase, t, at), `,"name":`...), m.Text)
	if m.Kind == rows.TextAnnotation {
		return append(dst, `,"s":"t","cat":"mark"}`...)
	}
	dst = append(dst, `,"cat":"counter","args":{"value":`...)
	return append(appendJSONValue(dst, m), "}}"...)
}

func (c *chrome) preformats() preformats {
	p := &chromePreformat{chrome: chrome{pids: c.pids}}
	p.brief.names = new([briefPlaces]chromePlace)
	return preformats{p.append, p.briefs}
}

// chromePreformat makes the events of rows in a worker. It caches texts that repeat.
type chromePreformat struct {
	chrome
	thread rows.Track
	// begin is the beginning of a B event of the thread, and n its length.
	begin      [beginLen]byte
	n          int
	time, rows growing
	brief      chromeBrief
}

// beginLen has room for the longest ids of processes and threads.
const beginLen = 64

// chromeRoom is how many bytes the pieces of an event may write, without longer names.
const chromeRoom = beginLen + 2*growingRoom + 8 + shortText

func (c *chromePreformat) append(dst []byte, r *rows.Row, at int64) []byte {
	if id := r.Track(); c.n == 0 || c.thread != id {
		c.thread = id
		c.n = len(c.event(c.begin[:0], 'B', &thread{track: id}, 0)) - len("0")
	}
	if cap(dst)-len(dst) < chromeRoom {
		dst = slices.Grow(dst, max(chromeRoom, len(dst)))
	}
	b, n := dst[:cap(dst)], len(dst)
	*(*[beginLen]byte)(b[n:]) = c.begin
	if r.Event == rows.Leave {
		b[n+len(",\n{\"ph\":\"")] = 'E'
	}
	n += c.n
	n += c.time.put(b[n:], at/1e3)
	n += putThousandths(b[n:], uint32(uint64(at)%1e3))
	if r.Event == rows.Leave {
		b[n] = '}'
		return b[:n+1]
	}
	dst = c.recent.append(b[:n], r, &c.chrome)
	dst = c.rows.append(dst, r.Index)
	dst = appendJSONText(dst, `,"note":`, r.SavedNote())
	dst = appendJSONCall(dst, r.CallValues())
	return append(dst, "}}"...)
}

// appendJSONCall appends the arguments and results of a call, if it has any.
func appendJSONCall(dst []byte, v *rows.CallValues) []byte {
	if v == nil {
		return dst
	}
	if len(v.Arguments) > 0 {
		dst = rows.AppendJSONValues(append(dst, `,"arguments":`...), v.Arguments)
	}
	if len(v.Results) > 0 {
		dst = rows.AppendJSONValues(append(dst, `,"result":`...), v.Results)
	}
	return dst
}

func (c *chrome) tail(out *output, dst []byte) error {
	return out.write(append(dst, "\n]}\n"...))
}

func (c *chrome) kept() int64 { return 0 }
