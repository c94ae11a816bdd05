package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/parser"
	"logparser/parser/trace/tracetext"
	"logparser/rows/filter"
)

// measuredTrace is a trace whose recorder measured itself: 2.5 ns between the
// times of a pair, 2 ns an event.
const measuredTrace = `file pid=4711 begin=1000 rate=1000000000
chunk process
process @1000 pid=4711 parent=1 path="/bin/a" system="Linux" recorder="1.0" "a"
clock @1000 ns=1000 wall=1700000000000000000 ahead=0 uncertainty=20
load @1000 module=1 base=0x400000 size=0x10000 bias=0x400000 path="/bin/a"
thread @1000 stream=1 id=4711 name="main"
thread @1000 stream=2 id=4712 name="other"
overhead @1000 way=1 enterbefore=1000 enterafter=2000 leavebefore=500 leaveafter=500
end @9001
chunk events stream=1 thread=4711 base=1000
enter +10 entry 0x400100
enter +100 entry 0x400200
leave +50
leave +100
chunk events stream=2 thread=4712 base=1000
enter +20 entry 0x400100
leave +1
`

func TestCorrectedTrace(t *testing.T) {
	data, err := tracetext.Load(strings.NewReader(measuredTrace))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.lptrace")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		corrected bool
		want      []int64
	}{
		{false, []int64{250, 1, 1, 50, 50, 250}},
		{true, []int64{243, 0, 0, 47, 47, 243}},
	} {
		s := open(t, Inputs{Log: path, Corrected: test.corrected, NoRecordedPaths: true})
		var got []int64
		for i := range s.Rows().Len() {
			got = append(got, s.Rows().Row(i).Duration)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("corrected %t: durations %v, want %v", test.corrected, got, test.want)
		}
		if said := strings.Contains(strings.Join(s.Header().Lines, "\n"), "corrected"); said != test.corrected {
			t.Errorf("corrected %t: the head says so: %t", test.corrected, said)
		}
		for _, format := range []string{"csv", "jsonl"} {
			var b bytes.Buffer
			if err := s.Write(context.Background(), &b, format, SaveOptions{}, nil); err != nil {
				t.Fatal(err)
			}
			if said := strings.Contains(b.String(), "duration_corrected_us"); said != test.corrected {
				t.Errorf("corrected %t: %s says so: %t", test.corrected, format, said)
			}
		}
		if a := s.Advise(0); !a.Measured || a.EventCost != 2 || a.Overhead != 12 || a.Span != 250 {
			t.Errorf("advice %+v", a)
		}
	}
}

func TestCorrected(t *testing.T) {
	o := parser.Overhead{EnterBefore: 1000, EnterAfter: 4000, LeaveBefore: 6000, LeaveAfter: 3000}
	for _, c := range []struct{ raw, inside, want int64 }{
		{100, 0, 90},
		{100, 2, 76},
		{100, 12, 6},
		{100, 13, 0},
		{5, 0, 0},
		{1e9, 1 << 32, 0},
	} {
		if got := corrected(c.raw, c.inside, o); got != c.want {
			t.Errorf("%d ns with %d events inside: %d, want %d", c.raw, c.inside, got, c.want)
		}
	}
	if got := corrected(7, 100, parser.Overhead{}); got != 7 {
		t.Errorf("a recorder that costs nothing leaves %d of 7", got)
	}
}

// TestCorrectedRefuses opens a log of a recorder that did not measure itself.
func TestCorrectedRefuses(t *testing.T) {
	in := Inputs{Log: logtest(t, "linux-gcc-O2"), Corrected: true}
	if _, err := Open(context.Background(), in, nil); !errors.Is(err, ErrNoOverhead) {
		t.Errorf("error %v", err)
	}
}

// randomTrace is a trace of two threads whose recorder measured itself.
func randomTrace(r *rand.Rand, events int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `file pid=1 begin=1000 rate=1000000000
chunk process
clock @1000 ns=1000 wall=1700000000000000000 ahead=0 uncertainty=20
load @1000 module=1 base=0x400000 size=0x10000 bias=0x400000 path="/bin/a"
thread @1000 stream=1 id=7 name="main"
thread @1000 stream=2 id=8 name="other"
overhead @1000 way=1 enterbefore=%d enterafter=%d leavebefore=%d leaveafter=%d
`, r.IntN(3000), r.IntN(9000), r.IntN(9000), r.IntN(3000))
	for stream := 1; stream <= 2; stream++ {
		fmt.Fprintf(&b, "chunk events stream=%d thread=%d base=1000\n", stream, 6+stream)
		depth := 0
		for range events {
			if depth > 0 && (depth > 12 || r.IntN(2) == 0) {
				fmt.Fprintf(&b, "leave +%d\n", r.IntN(30)*r.IntN(30))
				depth--
			} else {
				fmt.Fprintf(&b, "enter +%d entry %#x\n", r.IntN(30), 0x400100+0x100*r.IntN(5))
				depth++
			}
		}
	}
	return b.String()
}

// TestCorrectedStatistics holds statistics and trees of corrected durations
// against sums over the corrected rows.
func TestCorrectedStatistics(t *testing.T) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(6, 6))
	texts := []string{measuredTrace}
	for range rounds(4) {
		texts = append(texts, randomTrace(r, 100), randomTrace(r, 5000))
	}
	for _, text := range texts {
		s := open(t, Inputs{Log: traceOf(t, t.TempDir(), text), Corrected: true, NoRecordedPaths: true})
		env := newRowEnv(t, s)
		for _, expression := range []string{"", "thread:7", "func:a+0x100", "in:a+0x200", "dur:>20ns", "depth:2"} {
			where, err := filter.Parse(expression)
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.Statistics(ctx, Selection{Where: expression}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := env.statistics(where, functionOf)
			checkStatistics(t, expression, list, want)
			tree, err := s.CallTree(ctx, Selection{Where: expression}, TreeOptions{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := map[statKey]int64{}
			tree.Walk(func(n *TreeNode, _ []*TreeNode) bool {
				got[statKey{n.Function, n.Module, n.Source, 0}] += n.Self
				return true
			})
			for key, w := range want {
				if got[key] != w.self {
					t.Errorf("%s: %s has %d in the tree, want %d", expression, key.function, got[key], w.self)
				}
			}
			if t.Failed() {
				t.Fatal(text[:min(len(text), 3000)])
			}
		}
		list, err := s.Statistics(ctx, Selection{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.csv")
		if err := s.SaveStatistics(ctx, path, list, SaveOptions{}); err != nil {
			t.Fatal(err)
		}
		if saved, err := os.ReadFile(path); err != nil || !strings.Contains(string(saved), ",total_corrected_us,") {
			t.Errorf("%v, saved %.200s", err, saved)
		}
	}
}
