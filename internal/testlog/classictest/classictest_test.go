package classictest

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCompile(t *testing.T) {
	f, err := Compile(`
record 16
padding 0xcc
start 2026-11-21T11:22:33.456
tick 1000
module 0x400000 0x10000 C:\a b\#c.exe # the program
name main 0x401000
enter t7 main+5 +2
flag 9 8 0x401010
leave t7 main @900
bytes 01 02
drop 1
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{
		0x05, 0x10, 0x40, 0, 7, 0, 0, 0, 0xea, 3, 0, 0, 1, 0xcc, 0xcc, 0xcc,
		0x10, 0x10, 0x40, 0, 8, 0, 0, 0, 0xea, 3, 0, 0, 9, 0xcc, 0xcc, 0xcc,
		0x00, 0x10, 0x40, 0, 7, 0, 0, 0, 0x84, 3, 0, 0, 0, 0xcc, 0xcc, 0xcc,
		1,
	}
	if !bytes.Equal(f.Log, want) {
		t.Errorf("log % x", f.Log)
	}
	if got := string(f.Modules); got != "2026-11-21T11:22:33.456\n1000\n0x400000 0x10000 C:\\a b\\#c.exe\n" {
		t.Errorf("modules file %q", got)
	}
	again, err := Compile(Text(f.Log, 16))
	if err != nil || !bytes.Equal(again.Log, want) {
		t.Errorf("%v\n%s", err, Text(f.Log, 16))
	}
}

func TestCompileRun(t *testing.T) {
	f, err := Compile("ours\ntick 5\nmodule old\nenter 1 0x10\nrun 7\nmodule new\nenter 2 0x20\n")
	if err != nil || len(f.Log) != 48 {
		t.Fatalf("%d bytes, %v", len(f.Log), err)
	}
	if got := string(f.Modules); !strings.HasSuffix(got, "path\n7\nnew\n") {
		t.Errorf("modules file %q", got)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, text := range []string{
		"jump", "enter 1", "enter 1 nowhere", "enter 1 2 3", "enter 1 2 3 4", "enter x 2", "record 17",
		"enter 1 2\nrecord 16", "drop 1", "padding 256", "tick", "flag 300 1 2", "bytes 0", "run x", "name a", "enter 1 2+z", "enter 1 2 +z",
	} {
		if _, err := Compile(text); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTextOfAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		b := make([]byte, r.IntN(200))
		for i := range b {
			b[i] = byte(r.Uint32() % 3 * 0x55)
		}
		for _, size := range []int{16, 24} {
			text := Text(b, size)
			f, err := Compile(text)
			if err != nil || !bytes.Equal(f.Log, b) {
				t.Fatalf("%v\n%s", err, text)
			}
		}
	}
}

// TestGenerate checks that a generated log is what a recorder would write.
func TestGenerate(t *testing.T) {
	for _, s := range []Spec{
		{Records: 50_001, Seed: 1},
		{Records: 50_001, RecordSize: 16, Threads: 1, Functions: 1, MaxDepth: 3},
		{Records: 50_001, RecordSize: 16, Tiny: true},
		{Records: 200_000, RecordSize: 16, Truncated: true, Threads: 300, Modules: 7, StartTick: 1<<32 - 100},
	} {
		var b, again bytes.Buffer
		if err := Generate(&b, s); err != nil {
			t.Fatal(err)
		}
		if err := Generate(&again, s); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Fatal("not the same the second time")
		}
		s = s.filled()
		if int64(b.Len()) != s.Records*int64(s.RecordSize) {
			t.Fatalf("%d bytes", b.Len())
		}
		known := make(map[uint64]bool)
		for i := range s.Functions {
			a := s.Address(i)
			in := false
			for _, m := range s.ModuleSpans() {
				in = in || a >= m.Base && a < m.Base+m.Size
			}
			if !in {
				t.Fatalf("function %d at %#x lies in no module", i, a)
			}
			if s.RecordSize == 16 {
				a &= 1<<32 - 1
			}
			known[a] = true
		}
		if len(known) != s.Functions {
			t.Fatalf("%d addresses of %d functions", len(known), s.Functions)
		}
		stacks := make(map[uint32][]uint64)
		tick := s.StartTick
		deepest, enters := 0, 0
		for r := b.Bytes(); len(r) > 0; r = r[s.RecordSize:] {
			var address uint64
			rest := r[8:]
			if s.RecordSize == 16 {
				address, rest = uint64(binary.LittleEndian.Uint32(r)), r[4:]
			} else {
				address = binary.LittleEndian.Uint64(r)
			}
			thread := binary.LittleEndian.Uint32(rest)
			now := binary.LittleEndian.Uint32(rest[4:])
			if now-tick > 1 || !known[address] {
				t.Fatalf("tick %d after %d, address %#x", now, tick, address)
			}
			tick = now
			stack := stacks[thread]
			if rest[8] == 1 {
				stack = append(stack, address)
				enters++
			} else if n := len(stack); n == 0 || stack[n-1] != address {
				t.Fatalf("leave of %#x does not fit", address)
			} else {
				stack = stack[:n-1]
			}
			stacks[thread] = stack
			deepest = max(deepest, len(stack))
		}
		if deepest > s.MaxDepth || deepest < min(s.MaxDepth, 8) || len(stacks) < s.Threads*9/10 {
			t.Errorf("depth %d, %d threads", deepest, len(stacks))
		}
	}
}

func BenchmarkGenerate(b *testing.B) {
	for range b.N {
		if err := Generate(io.Discard, Spec{Records: 1_000_000}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "Mrecords/s")
}
