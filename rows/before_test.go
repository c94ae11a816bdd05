package rows

import (
	"io"
	"testing"
)

// filler is a source whose rows have their own time filled in on request.
type filler struct{ listed }

func (f filler) With(fields Fields) Source {
	filled := make(listed, len(f.listed))
	for i, r := range f.listed {
		r.Filled = fields
		filled[i] = r
	}
	return filled
}

func TestBefore(t *testing.T) {
	src := filler{listed{{Elapsed: 1}, {Elapsed: 2}, {Elapsed: 3}}}
	tests := []struct{ n, want int64 }{{0, 0}, {2, 2}, {3, 3}, {9, 3}}
	for _, test := range tests {
		b := Before(src, test.n)
		dst := make([]Row, 3)
		n, err := b.Read(dst, 0)
		if b.Len() != test.want || int64(n) != test.want || (err == io.EOF) != (test.want < 3) {
			t.Errorf("before %d: %d rows, read %d, %v", test.n, b.Len(), n, err)
		}
	}
	if n, err := Before(src, 2).Read(make([]Row, 2), 3); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d rows, %v", n, err)
	}
	if r := With(Before(src, 2), SelfTimes).Row(1); r.Filled&SelfTimes == 0 {
		t.Error("rows before a position cannot have more filled in")
	}
}
