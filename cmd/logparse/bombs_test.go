package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"logparser/internal/testlog/tracetest"
	"logparser/parser/trace/wire"
	"logparser/symbols/attached"
)

// A bomb is a small input that says how much work it is in one of its dimensions: counts, overlaps, shared names, nesting, parts
// that hold themselves, long lines.
type bomb struct {
	name string
	// n is the dimension in the test; the soak test goes on from half of it, up to most where that is not 0.
	n int
	// write makes the input, and returns its file.
	write func(dir string, n int) (string, error)
	// calls are the command lines, with FILE for the input and DIR for its folder.
	calls []string
	most  int
}

// The verbs that bring a log's calls in order, and some that write them.
var logVerbs = []string{"show FILE", "stats FILE", "tree FILE", "compare FILE FILE", "info FILE", "save FILE -o DIR/out --format perfetto", "save FILE -o DIR/out --format folded"}

// bombs returns all of them.
func bombs() []bomb {
	list := []bomb{
		{"threads with a call each", 5_000, writeThreads(1, 1), logVerbs, 0},
		{"threads with an open call each", 10_000, writeThreads(1, 0), []string{"stats FILE", "tree FILE", "tree FILE --bottom-up", "stats FILE --by thread", "stats FILE --where dur:>1us", "show FILE"}, 0},
		{"stacks of one thread", 50_000, writeStacks, logVerbs, 100_000},
		{"calls in one another", 40_000, writeThreads(40_000, 0), []string{"stats FILE", "tree FILE", "tree FILE --bottom-up", "stats FILE --by thread", "stats FILE --where dur:>1us", "show FILE"}, 80_000},
		{"threads of probes", 50_000, writeProbes, []string{"show FILE", "stats FILE"}, 0},
		{"structs that hold themselves", 2_000, writePlan, []string{"show FILE"}, 0},
		{"files of a pack over each other", 3_000, writePack(packOverlaps), []string{"show FILE"}, 0},
		{"a pack without a first log", 1, writePack(packSecond), []string{"show FILE"}, 0},
		{"a pack of zeros", 60, writePack(packZeros), []string{"show FILE"}, 0},
		{"names of threads in a minidump", 32_000, writeMinidump(dumpNames), []string{"crash FILE"}, 0},
		{"modules of one name in a minidump", 16_000, writeMinidump(dumpModules), []string{"crash FILE"}, 0},
		{"memory in pieces in a minidump", 200_000, writeMinidump(dumpMemory), []string{"crash FILE"}, 0},
		{"mapped files in a core", 40_000, writeCore(coreFiles), []string{"crash FILE"}, 0},
		{"memory in pieces in a core", 60_000, writeCore(coreMemory), []string{"crash FILE"}, 0},
		{"threads on one stack in a core", 200, writeCore(coreStack), []string{"crash FILE"}, 0},
		{"code that a file does not have", 0x70000000, writeImage, []string{"attach FILE"}, 0x70000000},
		{"mappings from the last to the first", 60_000, writeMappings, []string{"symbolize FILE"}, 0},
	}
	for _, part := range []string{"a+0x1", "0x55b25f3cb28e ", "./app(f+0x18)", "0001:00000099 ", "a!b+0x27 ", "#1 x ", "#1 +0x1) ", "#012#1 0x1 in f (a.b+0x1)", "{{{bt:0:0x1234567}}}", "(BuildId: 12)#1 pc 1 x"} {
		list = append(list, bomb{"a line of " + part, 1 << 20, func(dir string, n int) (string, error) {
			return write(dir, "text.txt", []byte(strings.Repeat(part, n/len(part)-1)+"\n"))
		}, []string{"symbolize FILE"}, 1 << 20})
	}
	return list
}

func write(dir, name string, b []byte) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, b, 0o600)
}

// writeTrace makes a trace of what fill writes.
func writeTrace(dir string, fill func(w *tracetest.Writer)) (string, error) {
	path := filepath.Join(dir, "bomb.lptrace")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := tracetest.NewWriter(f)
	w.Clock(1000, 1000, 1_700_000_000_000_000_000, 0)
	fill(w)
	return path, w.Close()
}

// writeThreads makes a trace of n calls: of n threads with depth calls each, or of one thread where depth is more than 1. ends
// is 1 for calls that have left.
func writeThreads(depth, ends int) func(dir string, n int) (string, error) {
	return func(dir string, n int) (string, error) {
		return writeTrace(dir, func(w *tracetest.Writer) {
			if depth > 1 {
				t := w.Thread(1, 0, 7)
				t.NoStack = true
				for i := range n {
					t.Enter(uint64(1000+i), uint64(0x400000+16*i), tracetest.Entry)
				}
				return
			}
			for i := range n {
				t, now := w.Thread(uint32(i+1), 0, uint64(i+1)), uint64(1000+10*i)
				t.Enter(now, uint64(0x400000+i%1000*16), tracetest.Entry)
				if ends > 0 {
					t.Leave(now + 5)
				}
			}
		})
	}
}

// writeStacks makes a trace of a thread that goes to a new stack for each call.
func writeStacks(dir string, n int) (string, error) {
	return writeTrace(dir, func(w *tracetest.Writer) {
		w.ChunkSize = 64 << 10
		t := w.Thread(1, 0, 7)
		for i := range n {
			now := uint64(1000 + 10*i)
			t.Switch(now, uint32(i+1))
			t.Enter(now, uint64(0x400000+i%1000*16), tracetest.Entry)
			t.Leave(now + 5)
		}
	})
}

// writeProbes makes a text of perf of n threads.
func writeProbes(dir string, n int) (string, error) {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%d %d.%06d: lp:lp_0002_f: (55836e71e4a0)\n", i+1, i/1000, i%1000)
	}
	return write(dir, "calls.txt", b.Bytes())
}

// writePlan makes a trace whose values are of structs that have themselves for base classes, n in all.
func writePlan(dir string, n int) (string, error) {
	const structs = 10
	var plan strings.Builder
	plan.WriteString("lpvalues 1\nmachine x86-64\nabi sysv\n")
	for i := range structs {
		fmt.Fprintf(&plan, "type %d struct 8 s%d\n", i+1, i+1)
	}
	for i := range n {
		fmt.Fprintf(&plan, "member %d 0 %d <base>\n", i*structs/n+1, i%structs+1)
	}
	const id = "0102030405060708090a0b0c0d0e0f1011121314"
	fmt.Fprintf(&plan, "module app\nidentity build-id %s\nfunction 100 10 f\nenter rdi value 8 1 a\n", id)
	return writeTrace(dir, func(w *tracetest.Writer) {
		w.ChunkSize = 1 << 20
		w.Load(1000, 1, 0x400000, 0x10000, "/nowhere/app", "build-id:"+id)
		for text, at := plan.String(), 0; at < len(text); at += 30_000 {
			w.Record(wire.PlanRecord, 1000, tracetest.Plan(text, at, min(at+30_000, len(text))))
		}
		t := w.Thread(1, 0, 7)
		for i := range 10 {
			t.Enter(uint64(1000+10*i), 0x400100, tracetest.Entry)
			t.Raw(wire.AppendValues(nil, wire.Arguments, 1, make([]byte, 8)))
			t.Leave(uint64(1005 + 10*i))
		}
	})
}

// Bombs of packs.
const (
	packOverlaps = iota // n files that are the same bytes
	packZeros           // a file of n MiB of zeros
	packSecond          // a file that belongs to log n
)

func writePack(kind int) func(dir string, n int) (string, error) {
	return func(dir string, n int) (string, error) {
		spool, err := attached.NewSpool()
		if err != nil {
			return "", err
		}
		defer spool.Close()
		size := int64(1 << 20)
		log := uint32(0)
		switch kind {
		case packZeros:
			size *= int64(n)
		case packSecond:
			log = uint32(n)
		}
		part, err := spool.Add(context.Background(), bytes.NewReader(make([]byte, size)), size, attached.File{Name: "a.dat", Role: attached.RoleLog, Log: log}, nil)
		if err != nil {
			return "", err
		}
		var b bytes.Buffer
		if err := attached.Write(&b, []attached.Part{part}); err != nil || kind != packOverlaps {
			return packed(dir, b.Bytes(), err)
		}
		// The directory has the same entry again and again, as logs 0, 1, 2….
		le, old := binary.LittleEndian, b.Bytes()
		const header, entry = 32, 32
		move := uint64(entry * (n - 1))
		pack := bytes.Clone(old[:header])
		for i := range n {
			e := bytes.Clone(old[header : header+entry])
			le.PutUint32(e[4:], uint32(i))
			le.PutUint64(e[8:], le.Uint64(e[8:])+move)
			pack = append(pack, e...)
		}
		le.PutUint32(pack[16:], uint32(n))
		le.PutUint32(pack[28:], crc32.Checksum(pack[header:], crc32.MakeTable(crc32.Castagnoli)))
		pack = append(pack, old[header+entry:]...)
		le.PutUint64(pack[20:], uint64(len(pack)))
		return packed(dir, pack, nil)
	}
}

func packed(dir string, b []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return write(dir, "bomb.lppack", b)
}

// Bombs of minidumps.
const (
	dumpNames   = iota // n threads, and n names for the last of them
	dumpModules        // n modules with one long name
	dumpMemory         // n pieces of memory one behind the other, and a stack in them
)

func writeMinidump(kind int) func(dir string, n int) (string, error) {
	return func(dir string, n int) (string, error) {
		le := binary.LittleEndian
		b := make([]byte, 200)
		type stream struct {
			kind uint32
			data []byte
		}
		count := func(n, entry int) []byte { return append(le.AppendUint32(nil, uint32(n)), make([]byte, n*entry)...) }
		system := make([]byte, 56)
		le.PutUint16(system, 9)
		le.PutUint32(system[20:], 0x8201)
		threads := count(1, 48)
		streams := []stream{{7, system}}
		text := uint32(len(b))
		b = append(le.AppendUint32(b, 60_000), make([]byte, 60_000)...)
		for i := int(text) + 4; i < len(b); i += 2 {
			b[i] = 'a'
		}
		registers := uint32(len(b))
		b = append(b, make([]byte, 1232)...)
		switch kind {
		case dumpNames:
			threads = count(n, 48)
			names := count(n, 12)
			for i := range n {
				le.PutUint32(threads[4+48*i:], uint32(i))
				le.PutUint32(names[4+12*i:], uint32(n-1))
				le.PutUint64(names[8+12*i:], uint64(text))
			}
			streams = append(streams, stream{24, names})
		case dumpModules:
			list := count(n, 108)
			for i := range n {
				m := list[4+108*i:]
				le.PutUint64(m, uint64(0x10000*(i+1)))
				le.PutUint32(m[8:], 0x1000)
				le.PutUint32(m[20:], text)
			}
			streams = append(streams, stream{4, list})
		case dumpMemory:
			const image, stack, size = 0x10000, 0x10000000, 16
			list := count(n, 16)
			for i := range n {
				m := list[4+16*i:]
				le.PutUint64(m, stack+uint64(i)*size)
				le.PutUint32(m[8:], size)
				le.PutUint32(m[12:], uint32(len(b)))
				b = le.AppendUint64(le.AppendUint64(b, stack+uint64(i+1)*size), image+0x100)
			}
			le.PutUint64(b[registers+120+4*8:], stack)
			le.PutUint64(b[registers+120+5*8:], stack)
			le.PutUint64(b[registers+120+16*8:], image)
			streams = append(streams, stream{5, list})
			modules := count(1, 108)
			le.PutUint64(modules[4:], image)
			le.PutUint32(modules[12:], 0x1000)
			le.PutUint32(modules[24:], text)
			streams = append(streams, stream{4, modules})
		}
		for i := 0; i < int(le.Uint32(threads)); i++ {
			le.PutUint32(threads[4+48*i+40:], 1232)
			le.PutUint32(threads[4+48*i+44:], registers)
		}
		streams = append(streams, stream{3, threads})
		copy(b, "MDMP")
		le.PutUint32(b[8:], uint32(len(streams)))
		le.PutUint32(b[12:], 32)
		for i, s := range streams {
			le.PutUint32(b[32+12*i:], s.kind)
			le.PutUint32(b[36+12*i:], uint32(len(s.data)))
			le.PutUint32(b[40+12*i:], uint32(len(b)))
			b = append(b, s.data...)
		}
		return write(dir, "bomb.dmp", b)
	}
}

// Bombs of core files.
const (
	coreFiles  = iota // n mapped files that begin at one ELF header
	coreMemory        // n pieces of memory one behind the other
	coreStack         // n threads on one stack of 1 MiB
)

func writeCore(kind int) func(dir string, n int) (string, error) {
	return func(dir string, n int) (string, error) {
		le := binary.LittleEndian
		var notes []byte
		note := func(kind uint32, desc []byte) {
			notes = le.AppendUint32(notes, 5)
			notes = le.AppendUint32(notes, uint32(len(desc)))
			notes = le.AppendUint32(notes, kind)
			notes = append(append(notes, "CORE\x00\x00\x00\x00"...), desc...)
			notes = append(notes, make([]byte, -len(desc)&3)...)
		}
		const image, stack, piece = 0x400000, 0x10000000, 16
		threads, stackSize, pieces := 1, 1<<20, 1
		switch kind {
		case coreStack:
			threads = n
		case coreMemory:
			pieces, stackSize = n, n*piece
		}
		for i := range threads {
			b := make([]byte, 336)
			le.PutUint32(b[32:], uint32(i+1))
			le.PutUint64(b[112+16*8:], image+0x100)
			le.PutUint64(b[112+19*8:], stack)
			le.PutUint64(b[112+4*8:], stack)
			note(1, b)
		}
		if kind == coreFiles {
			b := le.AppendUint64(le.AppendUint64(nil, uint64(n)), 4096)
			var names []byte
			for i := range n {
				b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, image), image+0x1000), 0)
				names = fmt.Appendf(names, "/opt/%d\x00", i)
			}
			note(0x46494c45, append(b, names...))
		}
		code := make([]byte, 64<<10)
		copy(code, "\x7fELF\x02\x01\x01")
		le.PutUint64(code[32:], 64)
		le.PutUint16(code[54:], 56)
		const headers = 256
		le.PutUint16(code[56:], headers)
		for i := range headers {
			h := code[64+56*i:]
			le.PutUint32(h, 4)
			le.PutUint64(h[16:], 0x8000)
			le.PutUint64(h[32:], 16<<10)
		}
		le.PutUint32(code[64:], 1)
		le.PutUint64(code[64+16:], 0)
		le.PutUint64(code[64+40:], 0x10000)
		code[0x100-5] = 0xe8 // a call
		// A stack of frames that lead to each other by frame pointers, a return address in each.
		data := make([]byte, stackSize)
		for i := 0; i+16 <= len(data); i += 16 {
			le.PutUint64(data[i:], uint64(stack+i+16))
			le.PutUint64(data[i+8:], image+0x100)
		}
		type segment struct {
			kind, flags, vaddr, size, at uint64
		}
		list := []segment{{4, 0, 0, uint64(len(notes)), 0}, {1, 5, image, uint64(len(code)), uint64(len(notes))}}
		for i := range pieces {
			size := uint64(stackSize / pieces)
			list = append(list, segment{1, 6, stack + uint64(i)*size, size, uint64(len(notes)+len(code)) + uint64(i)*size})
		}
		b := make([]byte, 64)
		copy(b, "\x7fELF\x02\x01\x01")
		le.PutUint16(b[16:], 4)
		le.PutUint16(b[18:], 62)
		le.PutUint64(b[32:], 64)
		le.PutUint16(b[54:], 56)
		le.PutUint16(b[56:], uint16(len(list)))
		from := uint64(64 + 56*len(list))
		for _, s := range list {
			b = le.AppendUint32(le.AppendUint32(b, uint32(s.kind)), uint32(s.flags))
			b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, from+s.at), s.vaddr), s.vaddr)
			b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, s.size), s.size), 1)
		}
		return write(dir, "core.1", append(append(append(b, notes...), code...), data...))
	}
}

// writeImage makes a PE whose code has n bytes, of which the file has a few.
func writeImage(dir string, n int) (string, error) {
	le := binary.LittleEndian
	b := make([]byte, 0x20400)
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], 0x40)
	copy(b[0x40:], "PE\x00\x00")
	le.PutUint16(b[0x44:], 0x8664)
	le.PutUint16(b[0x46:], 1)
	// A symbol "f" of the code.
	symbols := len(b)
	b = append(append(b, "f\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x01\x00\x20\x00\x02\x00"...), 4, 0, 0, 0)
	le.PutUint32(b[0x4c:], uint32(symbols))
	le.PutUint32(b[0x50:], 1)
	le.PutUint16(b[0x54:], 240)
	optional := b[0x58:]
	le.PutUint16(optional, 0x20b)
	le.PutUint32(optional[56:], 0xF0000000)
	le.PutUint32(optional[60:], 0x200)
	le.PutUint32(optional[108:], 16)
	section := optional[240:]
	copy(section, ".text")
	le.PutUint32(section[8:], uint32(n))
	le.PutUint32(section[12:], 0x1000)
	le.PutUint32(section[16:], 0x20000)
	le.PutUint32(section[20:], 0x400)
	le.PutUint32(section[36:], 0x60000020)
	return write(dir, "bomb.exe", b)
}

// writeMappings makes a text of n mappings, each before the one above it.
func writeMappings(dir string, n int) (string, error) {
	var b bytes.Buffer
	for i := range n {
		at := 0x100000000 + uint64(n-i)*0x2000
		fmt.Fprintf(&b, "%x-%x r-xp 00000000 08:01 77  /opt/seg\n", at, at+0x1000)
	}
	return write(dir, "maps.txt", b.Bytes())
}
