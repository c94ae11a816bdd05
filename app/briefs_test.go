package app

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"logparser/rows"
)

// TestBriefs holds rows that are read in brief against whole ones: of calls on two threads, some of which
// end without a leave or had begun before the log, and of addresses with names and without.
func TestBriefs(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, dwarfFolder, dir, "gcc4.so=first.so")
	id, run := elfFacts(t, dir+"/first.so", "_Z3runi")
	const base = uint64(0x7f0000000000)
	var text strings.Builder
	fmt.Fprintf(&text, `file begin=1000
chunk process
clock @1000 ns=1000 wall=1700000000000000000
load @1000 module=1 base=%#x size=0x10000 path="/lib/first.so" identity="build-id:%s"
thread @1000 stream=1 id=7
thread @1000 stream=2 id=8
`, base, id)
	r := rand.New(rand.NewPCG(3, 4))
	for _, thread := range []int{7, 8} {
		fmt.Fprintf(&text, "chunk events thread=%d base=1000\nleave @1001\n", thread)
		depth := 0
		for at := 1100; at < 60000; at += 1 + r.IntN(30) {
			if depth > 0 && r.IntN(2) == 0 {
				depth--
				fmt.Fprintf(&text, "leave @%d\n", at)
			} else {
				depth++
				fmt.Fprintf(&text, "enter @%d entry %#x\n", at, base+run+uint64(r.IntN(40)*r.IntN(2)*16))
			}
		}
	}
	s := open(t, Inputs{Log: traceOf(t, dir, text.String()), Symbols: []string{dir}})
	src := s.Rows().(rows.BriefReader)
	n := int(src.Len())
	if n < 5000 {
		t.Fatalf("%d rows", n)
	}
	var list rows.Briefs
	brief, whole := 0, 0
	for from := 0; from < n; {
		got := src.ReadBriefs(&list, int64(from), 1+r.IntN(400))
		if got == 0 {
			t.Fatalf("no rows from %d on", from)
		}
		want := make([]rows.Row, got)
		if _, err := src.Read(want, int64(from)); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			var row rows.Row
			list.Row(&row, i)
			if list.List[i].Whole > 0 {
				whole++
			} else {
				brief++
			}
			if !row.Wall.Equal(want[i].Wall) {
				t.Fatalf("row %d is at %v, want %v", from+i, row.Wall, want[i].Wall)
			}
			row.Wall = want[i].Wall
			if !reflect.DeepEqual(row, want[i]) {
				t.Fatalf("row %d is %+v, want %+v", from+i, row, want[i])
			}
		}
		from += got
	}
	if brief < n/2 || whole == 0 {
		t.Errorf("%d rows in brief and %d whole", brief, whole)
	}
	// With more in them, and where durations are corrected, rows are whole.
	if got := rows.With(src, rows.SelfTimes).(rows.BriefReader).ReadBriefs(&list, 0, 100); got != 0 {
		t.Errorf("%d rows with self times were read in brief", got)
	}
}
