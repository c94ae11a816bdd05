package tracetext_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/parser"
	"logparser/parser/trace"
	"logparser/parser/trace/tracetext"
	"logparser/parser/trace/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

func dump(t testing.TB, b []byte) string {
	t.Helper()
	var s strings.Builder
	if err := tracetext.Dump(context.Background(), &s, bytes.NewReader(b), int64(len(b))); err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// TestGolden loads a text that has each record once. Its dump has all fields, and
// loads as the same file.
func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/all.txt")
	if err != nil {
		t.Fatal(err)
	}
	b, err := tracetext.Load(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	got := dump(t, b)
	const golden = "testdata/all.dump"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the dump differs from %s:\n%s", golden, got)
	}
	again, err := tracetext.Load(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again, b) {
		t.Error("the dump becomes another file")
	}
	log, err := trace.New(context.Background(), bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatal(err)
	}
	events := make([]parser.Event, 20)
	n, err := log.ReadEvents(events, 0)
	if n != 10 || err != io.EOF {
		t.Errorf("%d events, %v; damage %v", n, err, log.Info().Damage)
	}
	if m := log.Modules(0); m.Len() != 1 || m.At(0).Path != "/bin/a \"b\"" {
		t.Errorf("%d modules", m.Len())
	}
}

// TestRoundTrip dumps and loads runs of random programs.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 5))
		p := tracetest.Random(r)
		p.Events = min(p.Events, 3000)
		m := &tracetest.Memory{}
		w := tracetest.NewWriter(m)
		if w.Ring = r.IntN(3); w.Ring > 0 {
			w.Header.Flags = wire.FlagRing
		}
		p.Write(r, w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		s := dump(t, m.Bytes)
		if strings.Contains(s, "raw ") {
			t.Errorf("seed %d: a record is not understood", seed)
		}
		b, err := tracetext.Load(strings.NewReader(s))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !bytes.Equal(b, m.Bytes) {
			t.Fatalf("seed %d: another file", seed)
		}
	}
}

// TestRaw checks that dump and load keep records that our recorder would not write.
func TestRaw(t *testing.T) {
	tests := []struct{ name, text, line string }{
		{"a type of later versions", "raw a0030102", "raw a0030102"},
		{"a mark with a long head", "raw 28000e0000000500010061007800", "raw 28000e0000000500010061007800"},
		{"reserved bits", "raw 1c0405001900000000", ""},
		{"cut off", "raw 08060000", "raw 08060000"},
		{"a time with too many bytes", "raw 04040100000000000000", ""},
		{"a process record of later versions", "chunk process\nrecord @7 type=40 0102030405060708", "record @7 type=40 0102030405060708"},
		{"bytes behind a string", "chunk process\nraw 200000000800000007000000000000000100000061000000ffffffffffffffff", "raw 200000000800000007000000000000000100000061000000ffffffffffffffff"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			text := test.text
			if !strings.HasPrefix(text, "chunk") {
				text = "chunk events\n" + text
			}
			b, err := tracetext.Load(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			s := dump(t, b)
			if test.line != "" && !strings.HasSuffix(s, "\n"+test.line+"\n") {
				t.Errorf("dump:\n%s", s)
			}
			if again, err := tracetext.Load(strings.NewReader(s)); err != nil || !bytes.Equal(again, b) {
				t.Errorf("another file: %v\n%s", err, s)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "no line with file or chunk"},
		{"file\nleave +1", `line 2: syntax error: "leave" is outside of a chunk`},
		{"chunk events\nleave", "line 2: syntax error: a time, + or @ is missing"},
		{"chunk events\nfrobnicate 1", `no event record "frobnicate"`},
		{"chunk events\nleave 1", `"1" is not a time`},
		{"chunk events\nleave +32768", "does not fit"},
		{"chunk events base=10\nleave @9", "@9 is before 10"},
		{"chunk events\nenter +1 w8 0", `"w8" is neither entry nor return`},
		{"chunk events\nenter +1 w1 0x8000000", "not a number of 27 bits"},
		{"chunk events\nenter +1 entry", "an address is missing"},
		{"chunk events\nleave +1 entry 1 2", `"2" is too much`},
		{"chunk events\nleave +1 x=1", `no field "x"`},
		{"chunk events\nmark +1 \"a", "a quote without its end"},
		{"chunk events\nmark +1 a", "not a quoted text"},
		{"chunk process\nfrobnicate @1", "no process record"},
		{"chunk process\nload @1 path=7", "not a quoted text"},
		{"chunk other", "neither process nor events"},
		{"chunk kind=9\nleave +1", "only raw bytes"},
		{"chunk events at=5", "cannot begin at 5"},
		{"chunk events size=5", "cannot have 5 bytes"},
		{"chunk events\nfile pid=1", "must come first"},
		{"file granularity=5", "sizes are impossible"},
	} {
		_, err := tracetext.Load(strings.NewReader(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}

func TestDumpErrors(t *testing.T) {
	for _, b := range [][]byte{nil, make([]byte, 5000)} {
		if err := tracetext.Dump(context.Background(), io.Discard, bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%d zeros are dumped", len(b))
		}
	}
	b, err := tracetext.Load(strings.NewReader("chunk process\nclock @1"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tracetext.Dump(ctx, io.Discard, bytes.NewReader(b), int64(len(b))); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzText dumps any records, and checks that loading gives the same file.
func FuzzText(f *testing.F) {
	f.Add([]byte("\x01\x00\x08\x06\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x02\x02\x00\x00\x05\x00"), []byte{}, true)
	text, err := os.ReadFile("testdata/all.txt")
	if err != nil {
		f.Fatal(err)
	}
	b, err := tracetext.Load(bytes.NewReader(text))
	if err != nil {
		f.Fatal(err)
	}
	var bodies [][]byte
	for at := wire.HeaderSize; at < len(b); {
		h, err := wire.ParseChunkHeader(b[at:], wire.Granularity)
		if err != nil {
			f.Fatal(err)
		}
		bodies = append(bodies, b[at+wire.ChunkHeaderSize:][:h.Used])
		at += int(h.Size)
	}
	f.Add(bodies[1], bodies[0], false)
	f.Fuzz(func(t *testing.T, events, process []byte, ring bool) {
		h := wire.Header{Major: 1, Size: wire.HeaderSize, Granularity: wire.Granularity}
		if ring {
			h.Flags = wire.FlagRing
		}
		b := h.Append(nil)
		for kind, body := range map[uint8][]byte{wire.EventsChunk: events, wire.ProcessChunk: process} {
			c := wire.ChunkHeader{Kind: kind, Used: uint32(len(body)), Size: uint32(wire.ChunkHeaderSize+len(body)+4095) &^ 4095}
			b = append(c.Append(b), body...)
			b = append(b, make([]byte, int(c.Size)-wire.ChunkHeaderSize-len(body))...)
		}
		s := dump(t, b)
		again, err := tracetext.Load(strings.NewReader(s))
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("another file: %v\n%s", err, s)
		}
	})
}
