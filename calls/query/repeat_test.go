package query_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"logparser/calls"
	"logparser/calls/index"
	"logparser/calls/internal/logtest"
	"logparser/calls/query"
	"logparser/internal/testlog"
	"logparser/internal/testlog/oracle"
	"logparser/parser"
)

func TestRepeats(t *testing.T) {
	tests := []struct{ name, log, want string }{
		{"none", "A>f A>g A<g A>h A<h A<f", ""},
		{"calls", "A>f 5( A>g A<g ) A<f", "1-3-11 x5 of 1"},
		{"outermost", "3( A>f A<f )", "0-2-6 x3 of 1"},
		{"trees", "4( A>f A>g A<g A<f )", "0-4-16 x4 of 1"},
		{"trees that differ", "A>f A>g A<g A<f A>f A>h A<h A<f", ""},
		{"nested", "3( A>f 4( A>g A<g ) A<f )", "0-10-30 x3 of 1, 1-3-9 x4 of 1"},
		{"a group", "A>f 5( A>g A<g A>h A<h ) A<f", "1-5-21 x5 of 2"},
		{"a group and a part of it", "3( A>g A<g A>h A<h ) A>g A<g", "0-4-12 x3 of 2"},
		{"a group that begins with a run", "3( 4( A>g A<g ) A>h A<h )", "0-10-30 x3 of 5, 0-2-8 x4 of 1"},
		{"a group within a group", "2( 2( A>a A<a A>b A<b ) A>c A<c )", "0-10-20 x2 of 5, 0-4-8 x2 of 2"},
		{"a group of eight", "2( A>a A<a A>b A<b A>c A<c A>d A<d A>e A<e A>f A<f A>g A<g A>h A<h )", "0-16-32 x2 of 8"},
		{"a group of nine", "2( A>a A<a A>b A<b A>c A<c A>d A<d A>e A<e A>f A<f A>g A<g A>h A<h A>i A<i )", ""},
		{"threads", "3( A>f B>f A<f B<f )", "0-4-11 x3 of 1, 1-5-12 x3 of 1"},
		{"left without a leave", "A>f 3( A>g A>h A<g ) A<f", "1-4-10 x3 of 1"},
		{"a call that goes on", "2( A>f A<f ) A>f", "0-2-4 x2 of 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			logtest.SmallBlocks(t, 8)
			log := testlog.Script(test.log)
			_, x := logtest.Indexed(t, log, log.Runs, false)
			r, err := query.FindRepeats(t.Context(), x, nil)
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, r := range r.List {
				list = append(list, fmt.Sprintf("%d-%d-%d x%d of %d", r.First, r.Second, r.End, r.Count, r.Calls))
			}
			if got := strings.Join(list, ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// shape returns what the rows from to to (not included) of a thread's calls do.
func shape(s *oracle.Log, thread uint32, from, to int64) string {
	var b strings.Builder
	for row := from; row < to; row++ {
		if e := s.Rows[row].Event; s.Rows[row].Slot == thread && e.Kind != parser.Damaged && s.Rows[row].Anomaly != calls.Stray {
			a := int64(-1)
			if e.Kind == parser.Enter {
				a = int64(s.Rows[row].Number)
			}
			fmt.Fprintf(&b, "%d/%d/%d/%d ", e.Kind, a, s.Rows[row].Depth, s.Rows[row].Anomaly)
		}
	}
	return b.String()
}

// TestRepeatsOfRandomLogs checks that what is left out is what is left in, as
// often as is said, and that no call is left in that does the same as the one
// before.
func TestRepeatsOfRandomLogs(t *testing.T) {
	found, groups := 0, 0
	logtest.EachLog(t, 50, 4000, func(t *testing.T, r *rand.Rand, src *oracle.Log, tested *index.Index) {
		repeats, err := query.FindRepeats(t.Context(), tested, nil)
		if err != nil {
			t.Fatal(err)
		}
		hidden := make([]bool, src.Len())
		for i, r := range repeats.List {
			found++
			if r.Calls > 1 {
				groups++
			}
			first := shape(src, r.Thread, r.First, r.Second)
			if got := shape(src, r.Thread, r.First, r.End); r.Count < 2 || got != strings.Repeat(first, int(r.Count)) {
				t.Fatalf("%+v is not so:\n%s\n%s", r, first, got)
			}
			for _, o := range repeats.List[:i] {
				inFirst := r.First >= o.First && r.End <= o.Second
				if o.Thread == r.Thread && r.First < o.End && !inFirst {
					t.Fatalf("%+v overlaps %+v", r, o)
				}
			}
			for row := r.Second; row < r.End; row++ {
				if src.Rows[row].Slot == r.Thread {
					hidden[row] = true
				}
			}
		}
		last := map[[2]int64]int64{}
		for row := range src.Len() {
			if src.Rows[row].Kind != parser.Enter {
				continue
			}
			p := src.Rows[row].Partner
			if p < 0 {
				delete(last, [2]int64{int64(src.Rows[row].Slot), src.CallerRow(row)})
				continue
			}
			key := [2]int64{int64(src.Rows[row].Slot), src.CallerRow(row)}
			if before, ok := last[key]; ok && !hidden[row] {
				end := src.Rows[before].Partner + 1
				between := shape(src, src.Rows[row].Slot, end, row)
				if between == "" && shape(src, src.Rows[row].Slot, before, end) == shape(src, src.Rows[row].Slot, row, p+1) && src.CallerRow(row) >= 0 {
					t.Fatalf("the calls at %d and %d are the same: %s", before, row, shape(src, src.Rows[row].Slot, src.CallerRow(row), p+1))
				}
			}
			last[key] = row
		}
	})
	if found == 0 || groups == 0 {
		t.Errorf("%d repeats, %d groups", found, groups)
	}
}

// TestRepeatsBounded has more repeats than are kept.
func TestRepeatsBounded(t *testing.T) {
	defer func(n int) { *query.KeptRepeats = n }(*query.KeptRepeats)
	logtest.SmallBlocks(t, 64)
	var text strings.Builder
	text.WriteString("A>z ")
	for i := range 2000 {
		n := 2
		if i%500 == 250 {
			n = 100
		}
		fmt.Fprintf(&text, "%d( A>f A<f ) A>%c A<%c ", n, 'a'+i%5, 'a'+i*i%7%5)
	}
	log := testlog.Script(text.String())
	_, src := logtest.Indexed(t, log, log.Runs, false)
	all, err := query.FindRepeats(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	*query.KeptRepeats = 100
	some, err := query.FindRepeats(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(some.List) > 100 || some.Least <= 1 {
		t.Errorf("%d repeats of at least %d rows", len(some.List), some.Least)
	}
	long := 0
	for _, r := range all.List {
		if r.Count == 100 {
			long++
			if len(some.At(r.First)) == 0 {
				t.Errorf("%+v is missing", r)
			}
		}
	}
	if long != 4 {
		t.Errorf("%d long repeats", long)
	}
}
