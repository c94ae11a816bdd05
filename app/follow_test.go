package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/classic"
	"logparser/parser/trace/wire"
	"logparser/symbols"
)

// saved returns the rows of a session as jsonl.
func saved(t *testing.T, s *Session) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(context.Background(), &b, "jsonl", SaveOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func appendTo(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.Write(data)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGrowth holds sessions that take in a log piece by piece against those
// that open the whole: of our recorder, and of one whose leaves have other
// addresses, so that pairs depend on names.
func TestGrowth(t *testing.T) {
	from := logtest(t, "linux-gcc-O2")
	data, err := os.ReadFile(filepath.Join(from, "LogDetails.dat"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := bytes.Clone(data)
	for at := 0; at+classic.Size64 <= len(foreign); at += classic.Size64 {
		if foreign[at+16] == 0 {
			foreign[at]++
		}
	}
	for name, data := range map[string][]byte{"own": data, "foreign": foreign} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			for range 3 {
				dir := t.TempDir()
				copyFiles(t, from, dir, "LogDetails.bin", "logtest", "liblogtest_shapes.so")
				path := filepath.Join(dir, "LogDetails.dat")
				at := 100 + r.IntN(1000)
				appendTo(t, path, data[:at])
				in := Inputs{Log: dir, NoRecordedPaths: true, RecordSize: classic.Size64}
				s := open(t, in)
				for at < len(data) {
					n := min(len(data)-at, 1+r.IntN(len(data)/3))
					appendTo(t, path, data[at:at+n])
					at += n
					for pending := true; pending; {
						g, err := s.grow(context.Background(), s.can.Grower)
						if err != nil {
							t.Fatal(err)
						}
						pending = g.Pending
					}
					whole := open(t, in)
					if got, want := saved(t, s), saved(t, whole); got != want {
						t.Fatalf("%d of %d bytes: %s", at, len(data), firstDifference(got, want))
					}
					if got, want := s.Modules(), whole.Modules(); len(got) != len(want) || got[0].Records != want[0].Records {
						t.Errorf("modules %+v, want %+v", got, want)
					}
				}
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "\n" + g[i] + "\n" + w[i]
		}
	}
	return "one is longer"
}

// record makes a 24-byte classic record.
func record(address uint64, tick uint32, enter bool) []byte {
	b := make([]byte, classic.Size64)
	for i := range 8 {
		b[i] = byte(address >> (8 * i))
	}
	for i := range 4 {
		b[12+i] = byte(tick >> (8 * i))
	}
	if b[8] = 7; enter {
		b[16] = 1
	}
	return b
}

func newLiveLog(t *testing.T, records ...[]byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "LogDetails.dat")
	appendTo(t, path, bytes.Join(records, nil))
	return path
}

// A follower runs Follow and hands over its updates.
type follower struct {
	updates chan Update
	result  chan error
	stop    context.CancelFunc
}

func follow(t *testing.T, s *Session) *follower {
	ctx, stop := context.WithCancel(context.Background())
	f := &follower{make(chan Update, 100), make(chan error, 1), stop}
	go func() { f.result <- s.Follow(ctx, func(u Update) { f.updates <- u }) }()
	t.Cleanup(stop)
	return f
}

// wait returns the updates joined, until one satisfies the test.
func (f *follower) wait(t *testing.T, enough func(u Update) bool) Update {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case u := <-f.updates:
			if enough(u) {
				return u
			}
		case err := <-f.result:
			t.Fatalf("following ended: %v", err)
		case <-timeout:
			t.Fatal("no update")
		}
	}
}

func TestFollow(t *testing.T) {
	path := newLiveLog(t, record(0x401000, 1000, true), record(0x402000, 1001, true))
	s := open(t, Inputs{Log: path, RecordSize: classic.Size64})
	if note := s.Rows().Row(0).Note; note != "open" {
		t.Errorf("before following the note is %q", note)
	}
	f := follow(t, s)
	appendTo(t, path, record(0x402000, 1005, false))
	u := f.wait(t, func(u Update) bool { return u.Rows == 3 })
	if u.New != 1 || u.Ended || u.Replaced || u.Runs != 0 {
		t.Errorf("update %+v", u)
	}
	if first, second := s.Rows().Row(0), s.Rows().Row(1); first.Note != "running" || second.Note != "" || second.Duration != 4e6 {
		t.Errorf("rows %+v, %+v", first, second)
	}
	// A new run: the program was started again after a reboot.
	for i := range uint32(10) {
		appendTo(t, path, record(0x401000, 10+i, i%2 == 0))
	}
	f.wait(t, func(u Update) bool { return u.Rows == 13 })
	if err := os.Rename(path, path+".1"); err == nil {
		f.wait(t, func(u Update) bool { return u.Replaced })
		path += ".1"
		appendTo(t, path, record(0x401000, 50, true))
		f.wait(t, func(u Update) bool { return u.Rows == 14 && !u.Replaced })
	}
	f.stop()
	if err := <-f.result; err != nil {
		t.Errorf("stopped: %v", err)
	}
	if note := s.Rows().Row(0).Note; note != "open" {
		t.Errorf("afterwards the note is %q", note)
	}
}

// TestGrowthOfModules takes in modules that a program loads while it is followed: what lies in them has names from then on, also
// calls that came before their module was told.
func TestGrowthOfModules(t *testing.T) {
	dir := t.TempDir()
	copyFiles(t, dwarfFolder, dir, "gcc4.so=first.so", "clang4.so=second.so")
	firstID, first := elfFacts(t, filepath.Join(dir, "first.so"), "_Z3runi")
	secondID, second := elfFacts(t, filepath.Join(dir, "second.so"), "_Z3runi")
	const base, other = uint64(0x7f0000000000), uint64(0x7e0000000000)
	begin := fmt.Sprintf(`file begin=1000 state=0
chunk process
clock @1000 ns=1000 wall=1700000000000000000
load @1000 module=1 base=%#x size=0x10000 path="/lib/first.so" identity="build-id:%s"
chunk events thread=7 base=1000
enter @1100 entry %#x
enter @1200 entry %#x
`, base, firstID, base+first, other+second)
	rest := fmt.Sprintf(`chunk process
load @1000 module=2 base=%#x size=0x10000 path="/lib/second.so" identity="build-id:%s"
chunk events thread=7 base=1300 sequence=1
leave @1400
enter @1500 entry %#x
leave @1600
`, other, secondID, other+second)
	path := traceOf(t, dir, begin)
	in := Inputs{Log: path, Symbols: []string{dir}, NoRecordedPaths: true}
	s := open(t, in)
	if r := s.Rows().Row(1); r.Function != fmt.Sprintf("%#x", other+second) {
		t.Errorf("before its module is known it is %+v", r)
	}
	generation := s.generation.Load()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(readFile(t, traceOf(t, t.TempDir(), begin+rest)))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	for pending := true; pending; {
		g, err := s.grow(t.Context(), s.can.Grower)
		if err != nil {
			t.Fatal(err)
		}
		pending = g.Pending
	}
	if r := s.Rows().Row(1); r.Function != "run" || r.Module != "second.so" || r.Symbols != "embedded" {
		t.Errorf("afterwards it is %+v", r)
	}
	if m := module(t, s, "second.so"); m.Status != symbols.Embedded || s.generation.Load() == generation {
		t.Errorf("the module is %+v", m)
	}
	if got, want := saved(t, s), saved(t, open(t, in)); got != want {
		t.Errorf("grown\n%s\nat once\n%s", got, want)
	}
}

// TestFollowEnded follows a trace whose program has ended: all is there, and nothing more will come.
func TestFollowEnded(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), fmt.Sprintf(childTrace, 51, int64(1700000000000000000))), NoRecordedPaths: true})
	if note := s.Rows().Row(0).Note; note != "open" {
		t.Errorf("its note is %q", note)
	}
	var updates []Update
	if err := s.Follow(t.Context(), func(u Update) { updates = append(updates, u) }); err != nil {
		t.Fatal(err)
	}
	if n := len(updates); n == 0 || !updates[n-1].Ended || updates[n-1].Rows != 3 {
		t.Errorf("updates %+v", updates)
	}
	if note := s.Rows().Row(0).Note; note != "open" {
		t.Errorf("afterwards its note is %q", note)
	}
	if err := open(t, Inputs{Log: logtest(t, "linux-gcc-O2")}).Follow(cancelledContext(t), nil); err != nil {
		t.Errorf("who stops following is told of %v", err)
	}
}

func TestFollowShrunk(t *testing.T) {
	path := newLiveLog(t, record(0x401000, 1000, true), record(0x402000, 1001, true))
	f := follow(t, open(t, Inputs{Log: path, RecordSize: classic.Size64}))
	if err := os.Truncate(path, classic.Size64); err != nil {
		t.Skip(err)
	}
	err := <-f.result
	var input *InputError
	if !errors.Is(err, parser.ErrShrunk) || !WasCut(err) || !errors.As(err, &input) || input.Input != LogInput {
		t.Errorf("error %v", err)
	}
}

// TestOpenLive waits for a log.
func TestOpenLive(t *testing.T) {
	dir := t.TempDir()
	for _, log := range []string{dir, filepath.Join(dir, "LogDetails.dat")} {
		path := filepath.Join(dir, "LogDetails.dat")
		os.Remove(path)
		var waited atomic.Bool
		opened := make(chan error)
		go func() {
			s, err := OpenLive(context.Background(), Inputs{Log: log, RecordSize: classic.Size64}, nil, func() { waited.Store(true) })
			if err == nil {
				if n := s.Rows().Len(); n == 0 {
					err = errors.New("no rows")
				}
				s.Close()
			}
			opened <- err
		}()
		for !waited.Load() {
			time.Sleep(time.Millisecond)
		}
		appendTo(t, path, nil)
		time.Sleep(2 * latest)
		appendTo(t, path, bytes.Repeat(record(0x401000, 1000, true), 3))
		if err := <-opened; err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := OpenLive(ctx, Inputs{Log: filepath.Join(dir, "none.dat")}, nil, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := OpenLive(context.Background(), Inputs{Log: filepath.Join(dir, "LogDetails.dat"), Run: "5"}, nil, nil); err == nil {
		t.Error("a run that is not there was opened")
	}
}

// TestOpenLiveRing refuses what cannot be followed before any row is shown.
func TestOpenLiveRing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ring.lptrace")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := tracetest.NewWriter(f)
	w.Header.Flags, w.Header.State = wire.FlagRing, wire.StateRecording
	w.Thread(1, 0, 7).Enter(2000, 0x401000, tracetest.Entry)
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	s, err := OpenLive(context.Background(), Inputs{Log: path}, nil, nil)
	if err == nil {
		s.Close()
		t.Fatal("a ring is followed")
	}
	if !strings.Contains(err.Error(), "a ring cannot be followed") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
}
