package rows

import (
	"io"
	"testing"
	"time"
)

// listed is a source of rows in memory.
type listed []Row

func (l listed) Len() int64      { return int64(len(l)) }
func (l listed) Row(i int64) Row { return l[i] }
func (l listed) TimeDigits() int { return 9 }
func (l listed) Read(dst []Row, from int64) (int, error) {
	n := copy(dst, l[from:])
	if n < len(dst) {
		return n, io.EOF
	}
	return n, nil
}

// Each row says how long it came after the one before in the source, wherever reading
// begins, by the wall clock where both have one.
func TestDeltas(t *testing.T) {
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.Local)
	src := listed{{Elapsed: 5}, {Elapsed: 25}, {Elapsed: 24}, {Elapsed: 40, Wall: noon, HasWall: true}, {Elapsed: 0, Wall: noon.Add(7), HasWall: true}}
	want := []int64{NoDelta, 20, -1, 16, 7}
	with := With(src, Deltas)
	for from := range src {
		if r := with.Row(int64(from)); r.Delta != want[from] || r.Filled&Deltas == 0 {
			t.Errorf("row %d: %d", from, r.Delta)
		}
		for n := 1; from+n <= len(src); n++ {
			dst := make([]Row, n)
			if got, err := with.Read(dst, int64(from)); got != n || err != nil {
				t.Fatalf("%d rows from %d: %d, %v", n, from, got, err)
			}
			for i := range dst {
				if dst[i].Delta != want[from+i] {
					t.Errorf("%d rows from %d: row %d has %d", n, from, from+i, dst[i].Delta)
				}
			}
		}
	}
	if n, err := with.Read(make([]Row, 9), 2); n != 3 || err != io.EOF {
		t.Errorf("behind the end: %d rows, %v", n, err)
	}
	if again := With(with, SelfTimes); again.Row(1).Delta != 20 {
		t.Error("filling in more takes it away")
	}
	if none := With(src, 0); none.Row(1).Filled != 0 {
		t.Error("filled in where it is not wanted")
	}
	c := ColumnOf("delta")
	r := with.Row(2)
	if got := string(c.Append(nil, &r, 9)); got != "-0.001" || c.Needs != Deltas {
		t.Errorf("a saved cell is %q", got)
	}
}
