package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/parser"
	"logparser/parser/trace/tracetext"
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
