package export

import (
	"io"
	"reflect"
	"testing"

	"logparser/rows"
)

// TestFoldedOpenThreads has more stacks of open calls than maxStacks. Writing the sums does not reduce the number of these, so
// it must not happen at each call.
func TestFoldedOpenThreads(t *testing.T) {
	if testing.Short() {
		t.Skip("a million stacks")
	}
	f := &collapsed{header: &rows.Header{}, weight: Calls, byThread: true, out: &output{w: io.Discard}}
	f.clear()
	fn := &function{id: 1, name: "f"}
	begun := 0
	before := reflect.ValueOf(f.byKey).Pointer()
	for i := range maxStacks/2 + 1000 {
		th := &thread{track: rows.Track(i + 1), index: i, stack: []call{{fn: fn}}}
		f.thread(nil, th)
		f.enter(nil, th, false)
		if now := reflect.ValueOf(f.byKey).Pointer(); now != before {
			before = now
			if begun++; begun > 1 {
				t.Fatalf("begun anew at thread %d again", i)
			}
		}
	}
	if begun != 1 {
		t.Fatalf("begun anew %d times", begun)
	}
	for _, th := range f.threads {
		f.leave(nil, th, 0, atEnd)
	}
	if err := f.tail(f.out, nil); err != nil {
		t.Fatal(err)
	}
	if want := int64(len(f.threads)); int64(len(f.nodes)) != 2*want+2 || f.out.bytes < want*int64(len("log;thread 1;f 1\n")) {
		t.Errorf("%d stacks in %d bytes of %d threads", len(f.nodes), f.out.bytes, want)
	}
}
