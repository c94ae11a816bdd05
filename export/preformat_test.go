package export

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"logparser/rows"
)

// randomRows returns the rows of nested calls on a few threads. Now and then a row is missing, damaged or out of order, or
// another run begins.
func randomRows(r *rand.Rand, n, faults int) *list {
	l := &list{digits: []int{3, 6, 9}[r.IntN(3)]}
	threads := make([][]rows.Row, 1+r.IntN(3))
	wall := time.Unix(r.Int64N(1e9), r.Int64N(1e9)).UTC()
	hasWall := r.IntN(3) > 0
	elapsed, shift := int64(0), int64(0)
	step := []int64{10, 1e4, 1e8}[r.IntN(3)]
	index := r.Int64N(3) * 9000
	l.runs = []rows.Run{{Start: wall, HasWall: hasWall}}
	for len(l.rows) < n {
		elapsed += r.Int64N(step)
		k := r.IntN(len(threads))
		stack := threads[k]
		row := rows.Row{Thread: uint32(k) * 77777, HasWall: hasWall, Elapsed: elapsed, Depth: len(stack), Duration: rows.NoDuration}
		row.Address = 0x1000 + r.Uint64N(6)*16
		row.Function, row.Module, row.Source, row.Line = fmt.Sprintf("f%x", row.Address), []string{"", "m.exe"}[r.IntN(2)], "/s/a.c", 3
		if d := len(stack); d > 0 && (d > 25 || r.IntN(2) == 0) {
			row = stack[d-1]
			row.Event, row.Elapsed = rows.Leave, elapsed
			threads[k] = stack[:d-1]
			// Both rows of a call have the duration.
			row.Duration = elapsed - stack[d-1].Elapsed
			for i := len(l.rows) - 1; i >= 0; i-- {
				if e := &l.rows[i]; e.Thread == row.Thread && e.Event == rows.Enter && e.Depth == row.Depth {
					e.Duration = row.Duration
					break
				}
			}
		} else {
			threads[k] = append(stack, row)
		}
		row.Index = index
		index++
		row.Wall = wall.Add(time.Duration(row.Elapsed + shift))
		if faults > 0 && r.IntN(faults) == 0 {
			switch r.IntN(9) {
			case 0:
				continue
			case 1:
				row.Event = rows.Unknown
			case 2:
				row.Note = "a\tnote"
			case 3:
				row.Depth = r.IntN(2000) - 2
			case 4:
				row.Elapsed -= r.Int64N(1e6)
				row.Wall = wall.Add(time.Duration(row.Elapsed + shift))
			case 5: // another run
				shift += r.Int64N(1e12) - 1e11
				l.runs[len(l.runs)-1].End = elapsed - r.Int64N(2)
				elapsed = r.Int64N(5)
				l.runs = append(l.runs, rows.Run{First: index, Start: wall.Add(time.Duration(shift)), HasWall: r.IntN(2) == 0})
			case 6:
				row.Elapsed = int64(r.Uint64())
			case 7:
				row.HasWall = !row.HasWall
			case 8:
				index += r.Int64N(1e6)
				row.Duration = math.MaxInt64 - r.Int64N(2)
			}
		}
		l.rows = append(l.rows, row)
	}
	return l
}

// alone hides that a callWriter implements preformatter.
type alone struct{ callWriter }

func (a alone) annotation(dst []byte, t *thread, at int64, m *rows.Annotation) []byte {
	return a.callWriter.(annotationWriter).annotation(dst, t, at, m)
}

// randomAnnotations returns annotations at random times near those of rows, in order of time.
func randomAnnotations(r *rand.Rand, l *list, n int) Annotations {
	var list []rows.Annotation
	for range n {
		row := &l.rows[r.IntN(len(l.rows))]
		list = append(list, rows.Annotation{Elapsed: row.Elapsed + r.Int64N(3) - 1, Thread: row.Thread + uint32(r.IntN(2)),
			Kind: rows.AnnotationKind(r.IntN(4)), Bits: r.Uint64(), Text: "mark"})
	}
	slices.SortStableFunc(list, func(a, b rows.Annotation) int { return cmp.Compare(a.Elapsed, b.Elapsed) })
	return func(_ context.Context, yield func(*rows.Annotation) bool) error {
		for i := range list {
			if !yield(&list[i]) {
				break
			}
		}
		return nil
	}
}

// TestPreformat checks that the same files result with and without preformatted text.
func TestPreformat(t *testing.T) {
	seeds := uint64(120)
	if testing.Short() {
		seeds = 16
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 4))
		src := randomRows(r, 1+r.IntN([]int{50, 20000}[seed%2]), []int{0, 20, 3000}[r.IntN(3)])
		opt := Options{Header: rows.Header{Threads: map[rows.Track]string{77777: "worker"}}}
		if seed%4 != 0 {
			opt.Runs = func() []rows.Run { return src.runs }
		}
		if seed%3 == 0 {
			opt.Annotations = randomAnnotations(r, src, 1+r.IntN(300))
		}
		limits := []Limits{{}, {Rows: 1 + r.Int64N(5000)}, {Bytes: 1000 + r.Int64N(1e6)}}[r.IntN(3)]
		file := func(hide bool) []byte {
			var buf bytes.Buffer
			out := &output{w: &buf}
			if limits != (Limits{}) {
				out.limits = limits
				out.open = func() (io.Writer, error) { buf.WriteString("----"); return &buf, nil }
			}
			var to callWriter = &chrome{header: &opt.Header, pids: processIDs(&opt.Header)}
			if hide {
				to = alone{to}
			}
			if err := writeCalls(context.Background(), out, src, opt, to); err != nil {
				t.Fatal(err)
			}
			return buf.Bytes()
		}
		got, want := file(false), file(true)
		if !bytes.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			from := max(at-100, 0)
			t.Fatalf("seed %d: from byte %d\n%.300s\nwant\n%.300s", seed, from, got[from:], want[from:])
		}
	}
}

// TestTextLines checks that lines are the same with and without cached text.
func TestTextLines(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 5))
		src := randomRows(r, 3000, []int{0, 10, 1000}[r.IntN(3)])
		fresh := txtLines{digits: src.digits, end: []string{"\n", "\r\n"}[r.IntN(2)], indexWidth: minIndexWidth, timeWidth: elapsedWidth}
		fresh.clock.Separator = ' '
		kept := fresh
		for i := range src.rows {
			row := &src.rows[i]
			fresh.head.ok, fresh.durations = false, [1 << callBits]durationText{}
			m := fresh.recent.at(row.Address)
			*m = fresh.newCells(row)
			m.short = false
			got, want := kept.append(nil, row), fresh.append(nil, row)
			if !bytes.Equal(got, want) {
				t.Fatalf("seed %d, row %d:\n%q, want\n%q", seed, i, got, want)
			}
		}
	}
}
