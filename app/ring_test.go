package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRingCallers has calls whose enters a ring has lost: the trees, the filters
// and the sums know them all the same, in the block where they turn up and in the
// next ones.
func TestRingCallers(t *testing.T) {
	ctx := context.Background()
	for _, calls := range []int{2, 3000, 9000} {
		var text strings.Builder
		text.WriteString("file flags=1 state=1 ring=65536\nchunk events base=1000 sequence=3\n" +
			"stack depth=2 entry:0x10000010 entry:0x10000020\nwindow w0 entry 0x10000000\n")
		for range calls {
			text.WriteString("enter +10 w0 0x100\nenter +1 w0 0x20\nleave +2\nleave +100\n")
		}
		text.WriteString("leave +5\n")
		s := open(t, Inputs{Log: traceOf(t, t.TempDir(), text.String()), NoRecordedPaths: true})
		tree, err := s.CallTree(ctx, Selection{}, TreeOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		tree.Walk(func(n *TreeNode, path []*TreeNode) bool {
			got = append(got, fmt.Sprintf("%d %s %d", len(path), n.Label(), n.Calls))
			return true
		})
		want := []string{"0 0x10000010 0", "1 0x10000020 0", fmt.Sprintf("2 0x10000100 %d", calls), fmt.Sprintf("3 0x10000020 %d", calls)}
		if !slices.Equal(got, want) {
			t.Errorf("%d calls: %q, want %q", calls, got, want)
		}
		for where, rows := range map[string]int64{
			"in:0x10000020": int64(4*calls + 1), "in:0x10000010": int64(4*calls + 1), "in:0x10000100": int64(4 * calls), "-in:0x10000010": 0,
		} {
			v, err := s.View(ctx, Selection{Where: where}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			if n := v.Len(); n != rows {
				t.Errorf("%d calls, %s: %d rows, want %d", calls, where, n, rows)
			}
		}
		for _, where := range []string{"", "depth:>=0"} {
			list, err := s.Statistics(ctx, Selection{Where: where}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range list {
				// One that is open all the while lies within itself.
				if within := f.Function == "0x10000020"; (f.NonRecursive == 0) != within {
					t.Errorf("%d calls, %q: %+v", calls, where, f)
				}
			}
		}
	}
}
