package export

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"logparser/rows"
)

// A briefList is a list that reads rows in brief form, except some random ones.
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

// runOf returns the number of a row's run.
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

// TestBriefs checks that brief rows and whole rows make the same files.
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

// A wholeList is a list whose rows must not be read in brief form.
type wholeList struct {
	*list
	t *testing.T
}

func (l *wholeList) ReadBriefs(*rows.Briefs, int64, int) int {
	l.t.Error("rows are read in brief")
	return 0
}

// TestBriefsNotRead writes columns that brief rows do not support. The rows must be read whole from the beginning, not
// assembled from brief ones.
func TestBriefsNotRead(t *testing.T) {
	src := randomRows(rand.New(rand.NewPCG(1, 7)), 300, 0)
	src.digits = 9
	for _, header := range []rows.Header{{Stacks: true}, {Processes: []*rows.Process{{ID: 4, Name: "server"}}}} {
		for _, write := range []func(context.Context, *output, rows.Source, Options) error{writeCSV, writeJSONL} {
			out := &output{w: io.Discard}
			if err := write(t.Context(), out, &wholeList{src, t}, Options{Header: header}); err != nil {
				t.Error(err)
			}
		}
	}
}

// An askedLines makes lines that cannot share a rest, and counts how often it is asked for that.
type askedLines struct {
	csvLines
	asked int
}

func (a *askedLines) rest(dst []byte, r *rows.Row) (text []byte, end int, ok bool) {
	a.asked++
	return nil, 0, false
}

// TestBriefRest checks that the question whether lines share a rest is asked once for each list of rows.
func TestBriefRest(t *testing.T) {
	of := &askedLines{csvLines: csvLines{digits: 9, end: "\n"}}
	b, alone := newColumnsBrief(of, 9), &csvLines{digits: 9, end: "\n"}
	briefs := rows.Briefs{First: 20_000}
	for i := range 100 {
		briefs.List = append(briefs.List, rows.Brief{Elapsed: int64(i) * 20_000, Place: &rows.Place{Function: "f"}, Strand: &rows.Strand{Thread: 1}})
	}
	var want []byte
	for i := range briefs.List {
		var r rows.Row
		briefs.Row(&r, i)
		want = alone.append(want, &r)
	}
	for lists := 1; lists <= 2; lists++ {
		if got := b.append(nil, &briefs); !bytes.Equal(got, want) || of.asked != lists {
			t.Errorf("asked %d times for %d lists, lines\n%.200s\nwant\n%.200s", of.asked, lists, got, want)
		}
	}
}
