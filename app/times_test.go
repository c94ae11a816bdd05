package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"logparser/internal/testlog"
	"logparser/rows"
	"logparser/rows/filter"
)

// oddTimes is a log whose first and last records are damaged, with times of other
// days and in a module that no other record is in.
const oddTimes = `
record 16
tick 1000
ours
start 2026-11-21T14:02:00.000
module 0x400000 0x1000 4 - - /nowhere/app
module 0x800000 0x1000 4 - - /nowhere/lib
flag 9 7 0x800100 @1802637843
enter t7 0x400100 @1000
enter t7 0x400200 @2000
leave t7 0x400200 @3000
leave t7 0x400100 @7000
enter t8 0x400300 @8000
leave t8 0x400300 @9000
enter t8 0x400300 @9000
leave t8 0x400300 @9000
flag 9 7 0x800200 @1702637843
`

// TestOddTimes holds that damaged records have no part in the times of others, and
// are found by their own.
func TestOddTimes(t *testing.T) {
	ctx := context.Background()
	s := openText(t, oddTimes)
	n := s.Rows().Len()
	if n != 10 || s.Rows().Row(0).Event != rows.Unknown || s.Rows().Row(n-1).Event != rows.Unknown {
		t.Fatalf("%d rows, from %+v to %+v", n, s.Rows().Row(0), s.Rows().Row(n-1))
	}
	if r := s.Rows().Row(1); r.Elapsed != 0 {
		t.Errorf("the first sound row comes after %v", time.Duration(r.Elapsed))
	}
	if d := s.runSpan(&s.runs()[0]); d != 8*time.Second {
		t.Errorf("the run takes %v", d)
	}
	var folded bytes.Buffer
	if err := s.Write(ctx, &folded, "folded", SaveOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	if text := folded.String(); !strings.Contains(text, "app+0x100 5000000000\n") || !strings.Contains(text, "app+0x300 1000000000\n") {
		t.Errorf("folded stacks:\n%s", text)
	}

	env := newRowEnv(t, s)
	for _, row := range []int64{0, 1, n - 1} {
		r := s.Rows().Row(row)
		if r.Symbols != "not found" {
			t.Errorf("row %d: symbols %q", row, r.Symbols)
		}
		for _, text := range []string{r.Wall.Format("time:15:04"), r.Wall.Format("-time:15:04"), r.Wall.Format("time:2006-01-02T15:04:05.000")} {
			where, err := filter.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for i := range env.rows {
				if where.Matches(&env.filled[i], env) {
					want = append(want, fmt.Sprint(env.rows[i].Index))
				}
			}
			view, err := s.View(ctx, Selection{Where: text}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := view.Wait(ctx); err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range view.Len() {
				got = append(got, fmt.Sprint(view.RowOf(i)))
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || len(want) == 0 {
				t.Errorf("%s: rows %v, want %v", text, got, want)
			}
		}
	}
}

// TestFirstDamage filters a log that grows by its first damaged record, which is
// in no list of addresses.
func TestFirstDamage(t *testing.T) {
	ctx := context.Background()
	var sound [][]byte
	for i := range uint32(20) {
		sound = append(sound, record(0x400100, 1000+i/2, i%2 == 0))
	}
	path := newLiveLog(t, sound...)
	s := open(t, Inputs{Log: path, RecordSize: 24})
	view, err := s.View(ctx, Selection{Where: "func:400100"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	damaged := record(0x400100, 1011, true)
	damaged[16] = 77
	appendTo(t, path, damaged)
	for range 20 {
		appendTo(t, path, record(0x400100, 1011, true))
		appendTo(t, path, record(0x400100, 1011, false))
	}
	for pending := true; pending; {
		g, err := s.grow(ctx, s.can.Grower)
		if err != nil {
			t.Fatal(err)
		}
		pending = g.Pending
	}
	if err := view.Update(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := view.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if _, shown := view.PositionOf(20); !shown || view.Len() != s.Rows().Len() || s.Rows().Row(20).Event != rows.Unknown {
		t.Errorf("%d of %d rows; the damaged one is shown: %v", view.Len(), s.Rows().Len(), shown)
	}
}

// Before its calls are paired, a log is searched by the times of its events.
func TestRowAtTimeBeforeLoad(t *testing.T) {
	log := &testlog.Nested{Records: 1_000_000_000}
	path := filepath.Join(t.TempDir(), "a.dat")
	if err := os.WriteFile(path, []byte{0}, 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := Formats{log.Format()}.Open(context.Background(), Inputs{Log: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for elapsed, want := range map[int64]int64{-5: 0, 0: 0, 1: 1, 50.5e6: 51, 500_000_000e6: 500_000_000, 1 << 62: 999_999_999} {
		if row := s.RowAtTime(elapsed); row != want {
			t.Errorf("at %d ns: row %d, want %d", elapsed, row, want)
		}
	}
}
