package export

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"logparser/rows"
)

// A briefList is a list that reads rows in brief, some of them at random whole.
type briefList struct {
	*list
	mu      sync.Mutex
	r       *rand.Rand
	places  map[rows.Place]*rows.Place
	numbers map[*rows.Place]uint32
	strands map[rows.Strand]*rows.Strand
}

func newBriefList(l *list, r *rand.Rand) *briefList {
	return &briefList{list: l, r: r, places: make(map[rows.Place]*rows.Place), numbers: make(map[*rows.Place]uint32), strands: make(map[rows.Strand]*rows.Strand)}
}

// runOf is the number of a row's run.
func (l *briefList) runOf(r *rows.Row) int {
	n := 0
	for n+1 < len(l.runs) && l.runs[n+1].First <= r.Index {
		n++
	}
	return n
}

func (l *briefList) ReadBriefs(dst *rows.Briefs, from int64, n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := l.rows[from:min(int(from)+1+l.r.IntN(n), len(l.rows))]
	if l.r.IntN(10) == 0 {
		return 0
	}
	first, run := &list[0], l.runOf(&list[0])
	*dst = rows.Briefs{First: first.Index, HasWall: first.HasWall, Wall: first.Wall.Add(-time.Duration(first.Elapsed)), List: dst.List[:0], Whole: dst.Whole[:0]}
	for i := range list {
		r := &list[i]
		if l.runOf(r) != run || r.Index != first.Index+int64(i) {
			return i
		}
		if r.Event == rows.Unknown || r.Note != "" || r.Bound != rows.Exact || r.Elapsed < 0 || r.Elapsed >= 1e18 || int64(int32(r.Depth)) != int64(r.Depth) || r.Process != nil ||
			r.HasWall != first.HasWall || r.HasWall && !r.Wall.Equal(dst.Wall.Add(time.Duration(r.Elapsed))) || l.r.IntN(50) == 0 {
			dst.Whole = append(dst.Whole, *r)
			dst.List = append(dst.List, rows.Brief{Whole: uint16(len(dst.Whole))})
			continue
		}
		p := rows.Place{Function: r.Function, Module: r.Module, Source: r.Source, Symbols: r.Symbols, Line: r.Line, Address: r.Address}
		s := rows.Strand{Thread: r.Thread, Stack: r.Stack}
		if l.places[p] == nil {
			l.places[p] = &p
			// Some have a number in common.
			l.numbers[&p] = uint32(len(l.numbers)/3*2) + uint32(l.r.IntN(2))*briefPlaces
		}
		if l.strands[s] == nil {
			l.strands[s] = &s
		}
		place := l.places[p]
		dst.List = append(dst.List, rows.Brief{Elapsed: r.Elapsed, Duration: r.Duration, Place: place, Number: l.numbers[place], Depth: int32(r.Depth), Strand: l.strands[s], Event: r.Event})
	}
	return len(list)
}

// TestBriefs makes the same files of rows in brief and of whole ones.
func TestBriefs(t *testing.T) {
	seeds := uint64(24)
	if testing.Short() {
		seeds = 8
	}
	briefs := 0
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 6))
		src := randomRows(r, 1+r.IntN([]int{50, 12000}[seed%2]), []int{0, 20, 3000}[r.IntN(3)])
		src.digits = []int{9, 9, 3}[seed%3]
		utc := r.IntN(3) > 0
		for i := range src.runs {
			src.runs[i].HasUTC, src.runs[i].Ahead = utc, time.Duration(r.IntN(3))*time.Hour+time.Duration(r.IntN(20)/19)
		}
		long := strings.Repeat("name", r.IntN(70))
		for i := range src.rows {
			row := &src.rows[i]
			switch row.Address % 3 {
			case 0:
				row.Function = long + row.Function
			case 1:
				row.Function = "Ä, \"" + row.Function
			}
			if row.Thread == 77777 && seed%5 == 0 {
				row.Stack = 7
			}
		}
		opt := Options{CRLF: r.IntN(2) == 0, Header: rows.Header{Threads: map[rows.Track]string{77777: "worker"}, Stacks: seed%5 == 0}, Runs: func() []rows.Run { return src.runs }}
		brief := newBriefList(src, r)
		for _, name := range []string{"txt", "csv", "jsonl", "chrome"} {
			var got, want bytes.Buffer
			for _, f := range Formats() {
				if f.Name != name {
					continue
				}
				if err := f.Write(context.Background(), &want, src, opt); err != nil {
					t.Fatal(err)
				}
				if err := f.Write(context.Background(), &got, brief, opt); err != nil {
					t.Fatal(err)
				}
			}
			if want.Len() == 0 {
				t.Fatalf("no format %s", name)
			}
			g, w := got.Bytes(), want.Bytes()
			if !bytes.Equal(g, w) {
				at := 0
				for at < min(len(g), len(w)) && g[at] == w[at] {
					at++
				}
				from := max(at-200, 0)
				t.Fatalf("seed %d, %s: from byte %d\n%.400s\nwant\n%.400s", seed, name, from, g[from:], w[from:])
			}
		}
		briefs += len(brief.numbers)
	}
	if briefs == 0 {
		t.Error("no row was read in brief")
	}
}
