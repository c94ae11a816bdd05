package cab

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"logparser/symbols/pdb/cab/cabtest"
	"logparser/symbols/symtest"
)

// extract opens a cabinet and takes out its file.
func extract(b []byte) (string, []byte, error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return "", nil, err
	}
	var out bytes.Buffer
	err = f.Extract(&out, 1<<24)
	return f.Name, out.Bytes(), err
}

// text returns n bytes that compress a little.
func text(r *rand.Rand, n int) []byte {
	words := strings.Fields("the address of a function in a module at a line of its source \xE8\x10 \xE8\x00\x00\x00")
	var b []byte
	for len(b) < n {
		b = append(append(b, words[r.IntN(len(words))]...), byte(r.IntN(4)))
	}
	return b[:n]
}

func TestStored(t *testing.T) {
	content := text(rand.New(rand.NewPCG(1, 1)), 100_000)
	blocks := cabtest.Frames(content, func(b []byte) []byte { return b })
	for _, reserve := range []bool{false, true} {
		name, got, err := extract(cabtest.Build(kindStored, blocks, "a.pdb", 0, len(content), reserve))
		if err != nil || name != "a.pdb" || !bytes.Equal(got, content) {
			t.Errorf("%q, %d bytes, %v", name, len(got), err)
		}
	}
	// A file in the middle of the folder.
	_, got, err := extract(cabtest.Build(kindStored, blocks, "a.pdb", 40_000, 50_000, false))
	if err != nil || !bytes.Equal(got, content[40_000:90_000]) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestMSZIP(t *testing.T) {
	content := text(rand.New(rand.NewPCG(2, 2)), 150_000)
	blocks := cabtest.Zip(content)
	_, got, err := extract(cabtest.Build(kindMSZIP, blocks, "a.pdb", 0, len(content), false))
	if err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// lzxWriter writes LZX streams of a fixed set of codes, and what they stand
// for.
type lzxWriter struct {
	r      *rand.Rand
	blocks []cabtest.Block
	frame  []byte // compressed, of the frame that is written
	word   uint32
	n      uint
	start  int // of the frame in content

	content []byte
	recent  [3]int
	// old are the lengths of the codes in the block before.
	old [256 + 8*30 + lzxLengths]int
}

func (w *lzxWriter) bits(v uint32, n uint) {
	for n > 0 {
		take := min(n, 16-w.n)
		w.word = w.word<<take | v>>(n-take)&(1<<take-1)
		w.n += take
		n -= take
		if w.n == 16 {
			w.frame = append(w.frame, byte(w.word), byte(w.word>>8))
			w.word, w.n = 0, 0
		}
	}
}

func (w *lzxWriter) align() {
	if w.n > 0 {
		w.bits(0, 16-w.n)
	}
}

// room is what the frame still takes.
func (w *lzxWriter) room() int { return frame - (len(w.content) - w.start) }

func (w *lzxWriter) endFrame() {
	w.align()
	w.blocks = append(w.blocks, cabtest.Block{Packed: w.frame, Size: len(w.content) - w.start})
	w.frame, w.start = nil, len(w.content)
}

// The codes: of the main tree literals have 9 bits and the matches of the
// first 16 slots 8, the first 128 of the length tree 7, aligned ones 3.
func mainLength(s int) int {
	switch {
	case s < 256:
		return 9
	case s < 256+128:
		return 8
	}
	return 0
}

func lengthLength(s int) int {
	if s < 128 {
		return 7
	}
	return 0
}

// Canonical codes go by length and then by symbol.
func (w *lzxWriter) literal(s byte)   { w.bits(256+uint32(s), 9) }
func (w *lzxWriter) match(s int)      { w.bits(uint32(s), 8) }
func (w *lzxWriter) moreLength(s int) { w.bits(uint32(s), 7) }

// lengths writes the lengths of codes as differences, runs as such.
func (w *lzxWriter) lengths(old []int, length func(int) int) {
	// The differences that occur, with codes of four bits each.
	codes := []int{0, 7, 8, 9, 10, 17, 18, 19}
	for s := range lzxPreCodes {
		n := uint32(0)
		for _, c := range codes {
			if c == s {
				n = 3
			}
		}
		w.bits(n, 4)
	}
	code := func(c int) {
		for i := range codes {
			if codes[i] == c {
				w.bits(uint32(i), 3)
				return
			}
		}
		panic(c)
	}
	for s := 0; s < len(old); {
		run := 1
		for s+run < len(old) && length(s+run) == length(s) && old[s+run] == old[s] {
			run++
		}
		delta := (old[s] - length(s) + 17) % 17
		switch {
		case length(s) == 0 && run >= 20:
			run = min(run, 51)
			code(18)
			w.bits(uint32(run-20), 5)
		case length(s) == 0 && run >= 4:
			run = min(run, 19)
			code(17)
			w.bits(uint32(run-4), 4)
		case run >= 4 && w.r.IntN(2) == 0:
			run = min(run, 5)
			code(19)
			w.bits(uint32(run-4), 1)
			code(delta)
		default:
			run = 1
			code(delta)
		}
		for range run {
			old[s] = length(s)
			s++
		}
	}
}

// compressed writes a block of size bytes with random literals and matches.
func (w *lzxWriter) compressed(kind uint32, size int) {
	w.bits(kind, 3)
	w.bits(uint32(size>>8), 16)
	w.bits(uint32(size&0xFF), 8)
	if kind == lzxAligned {
		for range lzxAlignedCodes {
			w.bits(3, 3)
		}
	}
	w.lengths(w.old[:256], mainLength)
	w.lengths(w.old[256:256+240], func(s int) int { return mainLength(s + 256) })
	w.lengths(w.old[256+240:], lengthLength)
	for end := len(w.content) + size; len(w.content) < end; {
		if w.room() == 0 {
			w.endFrame()
		}
		most := min(end-len(w.content), w.room())
		slot, head, more := w.r.IntN(16), w.r.IntN(8), w.r.IntN(128)
		length := head + lzxMinMatch
		if head == 7 {
			length += more
		}
		extra := uint(slotBits[slot])
		low := w.r.Uint32N(1 << extra)
		distance := int(slotBase[slot]) - 2 + int(low)
		if slot < 3 {
			distance = w.recent[slot]
		}
		if length > most || distance > len(w.content) || w.r.IntN(4) == 0 {
			c := byte(w.r.Uint32())
			w.literal(c)
			w.content = append(w.content, c)
			continue
		}
		w.match(slot*8 + head)
		if head == 7 {
			w.moreLength(more)
		}
		switch {
		case slot < 3:
			w.recent[0], w.recent[slot] = w.recent[slot], w.recent[0]
		case kind == lzxAligned && extra >= 3:
			w.bits(low>>3, extra-3)
			w.bits(low&7, 3)
		default:
			w.bits(low, extra)
		}
		if slot >= 3 {
			w.recent = [3]int{distance, w.recent[0], w.recent[1]}
		}
		for range length {
			w.content = append(w.content, w.content[len(w.content)-distance])
		}
	}
}

// uncompressed writes a block of bytes as they are.
func (w *lzxWriter) uncompressed(b []byte) {
	w.bits(lzxUncompressed, 3)
	w.bits(uint32(len(b)>>8), 16)
	w.bits(uint32(len(b)&0xFF), 8)
	if w.n == 0 {
		w.bits(0, 16)
	}
	w.align()
	for i := range w.recent {
		w.recent[i] = w.r.IntN(50) + 1
		w.frame = binary.LittleEndian.AppendUint32(w.frame, uint32(w.recent[i]))
	}
	for i, c := range b {
		if w.room() == 0 {
			w.endFrame()
		}
		w.frame = append(w.frame, c)
		w.content = append(w.content, c)
		if i == len(b)-1 && len(b)%2 != 0 {
			w.frame = append(w.frame, 0)
		}
	}
}

// lzxSample returns the blocks of a stream with blocks of every kind and their
// content.
func lzxSample(seed uint64, jumps uint32) ([]cabtest.Block, []byte) {
	w := &lzxWriter{r: rand.New(rand.NewPCG(seed, 3)), recent: [3]int{1, 1, 1}}
	if jumps > 0 {
		w.bits(1, 1)
		w.bits(jumps>>16, 16)
		w.bits(jumps&0xFFFF, 16)
	} else {
		w.bits(0, 1)
	}
	w.compressed(lzxVerbatim, 1000)
	w.uncompressed(text(w.r, 301))
	w.compressed(lzxAligned, 50_000)
	w.uncompressed(text(w.r, 40_000))
	w.compressed(lzxVerbatim, 30_001)
	w.uncompressed(text(w.r, 12))
	w.compressed(lzxAligned, 20_000)
	w.endFrame()
	return w.blocks, w.content
}

func TestLZX(t *testing.T) {
	for seed := range uint64(20) {
		blocks, content := lzxSample(seed, 0)
		_, got, err := extract(cabtest.Build(kindLZX|15<<8, blocks, "a.pdb", 0, len(content), seed%2 == 0))
		if err != nil || !bytes.Equal(got, content) {
			at := 0
			for at < min(len(got), len(content)) && got[at] == content[at] {
				at++
			}
			t.Errorf("seed %d: %d bytes of %d, the same up to %d: %v", seed, len(got), len(content), at, err)
		}
	}
}

// TestCalls has call instructions whose targets were made absolute.
func TestCalls(t *testing.T) {
	const size = 5000
	blocks, content := lzxSample(5, size)
	_, got, err := extract(cabtest.Build(kindLZX|15<<8, blocks, "a.pdb", 0, len(content), false))
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for from := 0; from < len(content); from += frame {
		part := content[from:min(from+frame, len(content))]
		for i := 0; i < len(part)-10; i++ {
			if part[i] != 0xE8 {
				continue
			}
			at := from + i
			absolute := int32(binary.LittleEndian.Uint32(content[at+1:]))
			distance := int32(binary.LittleEndian.Uint32(got[at+1:]))
			want := absolute
			switch {
			case absolute >= 0 && absolute < size:
				want = absolute - int32(at)
			case absolute < 0 && absolute >= -int32(at):
				want = absolute + size
			}
			if distance != want {
				t.Fatalf("call at %d to %d: distance %d, want %d", at, absolute, distance, want)
			}
			if want != absolute {
				changed++
			}
			i += 4
		}
	}
	if changed == 0 {
		t.Error("the sample has no calls")
	}
}

func TestRefused(t *testing.T) {
	content := []byte("content of the file")
	good := cabtest.Build(kindStored, []cabtest.Block{{Packed: content, Size: len(content)}}, "a.pdb", 0, len(content), false)
	set := func(off int, v uint16) []byte {
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint16(b[off:], v)
		return b
	}
	const folder, file = headerSize, headerSize + folderSize
	for _, c := range []struct {
		name string
		file []byte
		err  error
	}{
		{"empty", nil, ErrDamaged},
		{"no signature", append([]byte("MSCG"), good[4:]...), ErrDamaged},
		{"cut", good[:len(good)-1], ErrDamaged},
		{"set of cabinets", set(30, hasNext), ErrUnsupported},
		{"no folder", set(26, 0), ErrDamaged},
		{"no file", set(28, 0), ErrDamaged},
		{"folder outside", set(file+8, 1), ErrDamaged},
		{"list of files outside", set(18, 0x7FFF), ErrDamaged},
		{"Quantum", set(folder+6, 2), ErrUnsupported},
		{"MSZIP without signature", set(folder+6, kindMSZIP), ErrDamaged},
		{"LZX with a large window", set(folder+6, kindLZX|22<<8), ErrDamaged},
		{"LZX that is none", set(folder+6, kindLZX|15<<8), ErrDamaged},
		{"no blocks", set(folder+4, 0), ErrDamaged},
		{"more blocks than there are", set(folder+4, 1000), ErrDamaged},
		{"larger than its blocks", set(file, 0xFFFF), ErrDamaged},
		{"longer than its block", set(file, 100), ErrDamaged},
		{"block outside", set(folder+2, 0x7FFF), ErrDamaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, _, err := extract(c.file); !errors.Is(err, c.err) {
				t.Errorf("got %v, want %v", err, c.err)
			}
		})
	}
	f, err := Open(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Extract(&bytes.Buffer{}, int64(len(content))-1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
}

// TestHostile damages cabinets of each kind.
func TestHostile(t *testing.T) {
	blocks, content := lzxSample(1, 100)
	stored := cabtest.Frames(content[:40_000], func(b []byte) []byte { return b })
	for name, file := range map[string][]byte{
		"LZX":    cabtest.Build(kindLZX|15<<8, blocks, "a.pdb", 0, len(content), true),
		"stored": cabtest.Build(kindStored, stored, "a.pdb", 10, 30_000, false),
		"MSZIP":  cabtest.Build(kindMSZIP, zeros(3), "a.pdb", 0, 3*frame, false),
	} {
		symtest.Hostile(t, name, file, symtest.Rounds(200), func(data []byte) {
			if f, err := Open(bytes.NewReader(data), int64(len(data))); err == nil {
				f.Extract(io.Discard, 1<<24)
			}
		})
	}
}

// zeros returns blocks of nothing but zeros, which MSZIP makes as small as
// anything can be made.
func zeros(n int) []cabtest.Block {
	out := bytes.NewBufferString("CK")
	w, _ := flate.NewWriter(out, flate.BestCompression)
	w.Write(make([]byte, frame))
	w.Close()
	return slices.Repeat([]cabtest.Block{{Packed: out.Bytes(), Size: frame}}, n)
}

// TestBomb takes out a file that is hundreds of times as large as its cabinet:
// no more than some blocks of it are in memory at a time.
func TestBomb(t *testing.T) {
	const blocks = 8000
	file := cabtest.Build(kindMSZIP, zeros(blocks), "a.pdb", 0, blocks*frame, false)
	f, err := Open(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Size < 256<<20-(8<<20) || int64(len(file)) > f.Size/300 {
		t.Fatalf("%d bytes for %d are no bomb", len(file), f.Size)
	}
	used := symtest.Allocated(func() { err = f.Extract(io.Discard, f.Size) })
	if err != nil || used > 4<<20 {
		t.Errorf("%d bytes allocated, %v", used, err)
	}
	if err := f.Extract(io.Discard, f.Size-1); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %v", err)
	}
}

func FuzzExtract(f *testing.F) {
	blocks, content := lzxSample(1, 100)
	f.Add(cabtest.Build(kindLZX|15<<8, blocks[:1], "a.pdb", 0, frame, true))
	f.Add(cabtest.Build(kindStored, []cabtest.Block{{Packed: content[:100], Size: 100}}, "a.pdb", 10, 50, false))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, got, err := extract(b)
		if len(got) > len(b)*4096 {
			t.Errorf("%d bytes from %d, %v", len(got), len(b), err)
		}
	})
}

func BenchmarkLZX(b *testing.B) {
	blocks, content := lzxSample(1, 0)
	file := cabtest.Build(kindLZX|15<<8, blocks, "a.pdb", 0, len(content), false)
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, _, err := extract(file); err != nil {
			b.Fatal(fmt.Errorf("sample: %w", err))
		}
	}
}
