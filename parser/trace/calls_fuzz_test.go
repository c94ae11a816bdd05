package trace_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"logparser/parser"
	"logparser/parser/trace"
)

// FuzzCalls compares the calls that are read by the loops in assembly with those that are read without. The file has the records of four
// chunks.
func FuzzCalls(f *testing.F) {
	seeds(f, func(bodies [4][]byte, what []byte) {
		f.Add(bodies[0], bodies[1], bodies[2], bodies[3], what, uint16(20))
	})
	f.Fuzz(func(t *testing.T, a, b, c, d, what []byte, count uint16) {
		if len(a)+len(b)+len(c)+len(d) > 1<<16 || len(what) < 4 {
			return
		}
		file := assemble([][]byte{a, b, c, d}, what, 0)
		var want []readPart
		for _, loops := range []bool{false, true} {
			restore := trace.SetLoops(loops)
			log, err := trace.New(context.Background(), bytes.NewReader(file), int64(len(file)), nil)
			var got []readPart
			if err == nil {
				got = readParts(log, 1+int(count))
			}
			restore()
			if !loops {
				want = got
				continue
			}
			if len(got) != len(want) {
				t.Fatalf("%d parts, want %d", len(got), len(want))
			}
			for i := range got {
				if g, w := &got[i], &want[i]; g.ok != w.ok || g.ok && !(slices.Equal(g.calls, w.calls) && slices.Equal(g.ended, w.ended) && slices.Equal(g.open, w.open)) {
					t.Fatalf("part %d: %+v\nwant %+v", i, *g, *w)
				}
			}
		}
	})
}

// A readPart is what a part of a log has.
type readPart struct {
	ok    bool // read to its end
	calls []parser.Call
	ended []parser.EndedFrame
	open  []parser.OpenFrame
}

// readParts reads the parts of a log, so many calls at a time.
func readParts(log *trace.Log, count int) (list []readPart) {
	source := log.Calls(log.Info().Records)
	if source == nil {
		return nil
	}
	reader := source.Reader(describeCall)
	calls := make([]parser.Call, count)
	for i := range source.Parts() {
		var p readPart
		for p.ok = reader.Begin(&source.Parts()[i]); p.ok; {
			n, ended, ok := reader.Next(calls)
			p.ok = ok
			for _, c := range calls[:n] {
				c.Recursive = c.Recursive && grouped(c.ID)
				p.calls = append(p.calls, c)
			}
			if ended != nil {
				p.ended = append(p.ended, *ended)
			} else if n == 0 {
				open, _ := reader.Open()
				for _, o := range open {
					o.Number, o.New, o.Recursive = 0, false, o.Recursive && grouped(o.ID)
					p.open = append(p.open, o)
				}
				break
			}
		}
		list = append(list, p)
	}
	return list
}
