package trace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
	"logparser/parser/trace/wire"
)

// siteOf asks for one call site.
func siteOf(log *trace.Log, record int64) (parser.CallSite, error) {
	var dst [1]parser.CallSite
	_, err := log.CallSites(dst[:], record)
	return dst[0], err
}

// sites returns the call site of each record, "-" for none.
func sites(t *testing.T, log *trace.Log) string {
	t.Helper()
	var list []string
	for i := range log.Info().Records {
		site, err := siteOf(log, i)
		if err != nil {
			t.Fatalf("record %d: %v", i, err)
		}
		if !site.Known {
			list = append(list, "-")
			continue
		}
		list = append(list, fmt.Sprintf("%#x/%d", site.Address, site.Space))
	}
	return strings.Join(list, " ")
}

// TestCallSites asks for the call sites of each record of two threads.
func TestCallSites(t *testing.T) {
	const text = `file begin=1000 flags=%d
chunk process
load @1000 module=1 base=0x400000 size=0x10000 path="/bin/a"
unload @5000 module=1
load @6000 module=2 base=0x400000 size=0x10000 path="/bin/b"
chunk events stream=1 thread=7 base=1000
window w0 entry 0x400000
window w7 return 0x7fff00000000
enter +5 w0 0x10
site w7 0x20
enter +6 w0 0x20
mark +2 "a mark"
site 0x123456789abc
time 2
enter +6 entry 0x400030
site w7 0x30
leave +7 # has none, whatever stands before it
site w6 0x30
enter +3 w0 0x40 # of a window that is not set
leave +3
chunk events stream=1 thread=7 base=90000
stack depth=2 entry:0x400010 entry:0x400020
window w1 return 0x500000
site w1 0x99
counter +2 i64 5 "queue"
enter @95000 entry 0x400050
leave +4
chunk events stream=2 thread=8 base=1000
window w0 return 0x400000
site w0 0x77
enter @2000 w0 0x10
`
	load := func(flags int) *trace.Log {
		file, err := tracetext.Load(strings.NewReader(fmt.Sprintf(text, flags)))
		if err != nil {
			t.Fatal(err)
		}
		return open(t, &tracetest.Memory{Bytes: file})
	}
	// The second space of each epoch is for return addresses.
	want := "- 0x7fff00000020/1 0x400077/1 0x123456789abc/3 - - - 0x500099/3 -"
	if got := sites(t, load(wire.FlagSites)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := sites(t, load(0)); strings.Trim(got, "- ") != "" {
		t.Errorf("without sites: %s", got)
	}
}

// TestCallSitesFar has many samples, and files that are damaged.
func TestCallSitesFar(t *testing.T) {
	m := &tracetest.Memory{}
	w := tracetest.NewWriter(m)
	w.Header.Flags = wire.FlagSites
	th := w.Thread(1, 0, 7)
	th.Full = true
	r := rand.New(rand.NewPCG(5, 5))
	want := make(map[int64]uint64)
	for i := range int64(20000) {
		now := uint64(1000 + i)
		if i%2 == 1 {
			th.Leave(now)
			continue
		}
		if r.IntN(3) == 0 {
			want[i] = r.Uint64()
			th.Site(now, want[i])
		}
		th.Enter(now, 0x400000, tracetest.Entry)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	log := open(t, m)
	for range 2000 {
		i := r.Int64N(20000)
		got, err := siteOf(log, i)
		if site, has := want[i]; err != nil || got.Known != has || got.Address != site && has {
			t.Fatalf("record %d: %+v, want %#x, %t, %v", i, got, site, has, err)
		}
	}
	for range 100 {
		from := r.Int64N(20000)
		dst := make([]parser.CallSite, r.IntN(3000))
		n, err := log.CallSites(dst, from)
		if whole := min(int64(len(dst)), 20000-from); int64(n) != whole || (err == nil) != (n == len(dst)) {
			t.Fatalf("%d of %d call sites from %d on, %v", n, len(dst), from, err)
		}
		for i, got := range dst[:n] {
			if site, has := want[from+int64(i)]; got.Known != has || got.Address != site && has {
				t.Fatalf("record %d of those from %d on: %+v, want %#x, %t", from+int64(i), from, got, site, has)
			}
		}
	}
	if _, err := siteOf(log, 20000); err == nil {
		t.Error("a record that is not there has no error")
	}
	for seed := range uint64(soak(40)) {
		r := rand.New(rand.NewPCG(seed, 16))
		b := bytes.Clone(m.Bytes)
		for range 16 {
			b[wire.HeaderSize+r.IntN(len(b)-wire.HeaderSize)] = byte(r.Uint32())
		}
		log := open(t, &tracetest.Memory{Bytes: b})
		for range 30 {
			i := r.Int64N(max(log.Info().Records, 1))
			if _, err := siteOf(log, i); err != nil && log.Info().Records > 0 {
				t.Fatalf("seed %d, record %d: %v", seed, i, err)
			}
		}
	}
}

// TestCallSiteOfAnEpoch checks the call site of the first enter of an epoch.
func TestCallSiteOfAnEpoch(t *testing.T) {
	const text = `file begin=1000 flags=2
chunk process
load @1000 module=1 base=0x400000 size=0x10000 path="/bin/a"
unload @5000 module=1
load @6000 module=2 base=0x400000 size=0x10000 path="/bin/b"
chunk events stream=1 thread=7 base=1000
window w0 entry 0x400000
window w7 return 0x400000
enter +5 w0 0x10
leave +3
site w7 0x20
enter +9000 w0 0x20
`
	file, err := tracetext.Load(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	log := open(t, &tracetest.Memory{Bytes: file})
	var e [3]parser.Event
	n, err := log.ReadEvents(e[:], 0)
	if n != len(e) || err != nil {
		t.Fatal(n, err)
	}
	site, err := siteOf(log, 2)
	if site.Address != 0x400020 || site.Space>>1 != e[2].Space>>1 || !site.Known || err != nil {
		t.Errorf("%+v, %v; of epoch %d, the enter of %d", site, err, site.Space>>1, e[2].Space>>1)
	}
}
