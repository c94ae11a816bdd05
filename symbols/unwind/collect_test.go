package unwind

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"logparser/symbols"
	"logparser/symbols/image"
)

// anARM64PE makes an image for arm64 of one section, which begins at RVA 0x1000 and which the exception
// directory lies at the beginning of.
func anARM64PE(t testing.TB, section []byte, directory, size uint32) *image.Image {
	t.Helper()
	le := binary.LittleEndian
	const ntAt, optionalSize, sectionAt, rva = 0x80, 240, 0x400, 0x1000
	b := make([]byte, sectionAt, sectionAt+len(section))
	copy(b, "MZ")
	le.PutUint32(b[0x3c:], ntAt)
	nt := b[ntAt:]
	copy(nt, "PE\x00\x00")
	le.PutUint16(nt[4:], 0xaa64)
	le.PutUint16(nt[6:], 1)
	le.PutUint16(nt[20:], optionalSize)
	le.PutUint16(nt[22:], 0x22)
	optional := nt[24:]
	le.PutUint16(optional, 0x20b)
	le.PutUint64(optional[24:], 0x140000000)
	le.PutUint32(optional[32:], 0x1000)
	le.PutUint32(optional[36:], 0x200)
	le.PutUint32(optional[56:], size)
	le.PutUint32(optional[60:], sectionAt)
	le.PutUint32(optional[108:], 16)
	le.PutUint32(optional[112+8*3:], rva)
	le.PutUint32(optional[116+8*3:], directory)
	head := optional[optionalSize:]
	copy(head, ".text")
	for i, v := range []uint32{uint32(len(section)), rva, uint32(len(section)), sectionAt} {
		le.PutUint32(head[8+4*i:], v)
	}
	le.PutUint32(head[36:], 0x60000020)
	data := append(b, section...)
	im, err := image.Open(&symbols.File{Path: "x.dll", ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.FreeScratch() })
	return im
}

// anARM64Record makes unwind data of a function of so many instructions. codes are filled up to whole words.
func anARM64Record(length uint32, scopes []uint32, codes []byte) []byte {
	le := binary.LittleEndian
	for len(codes)%4 != 0 {
		codes = append(codes, 0xe3)
	}
	b := le.AppendUint32(nil, length)
	b = le.AppendUint32(b, uint32(len(scopes))|uint32(len(codes)/4)<<16)
	for _, s := range scopes {
		b = le.AppendUint32(b, s)
	}
	return append(b, codes...)
}

// TestCollectARM64 holds what is collected of arm64 functions with several epilogues against what a walk takes, at every
// instruction.
func TestCollectARM64(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	le := binary.LittleEndian
	different := 0
	for range 50 {
		length := 1 + random.Uint32N(150)
		// Saves of registers, allocations, ends, and what means nothing.
		codes := []byte{}
		for range random.IntN(20) {
			codes = append(codes, [][]byte{{0x01}, {0xc8, 0x02}, {0x81}, {0xe1}, {0xe3}, {0xe4}, {0xd0, 0x82}, {0xe6}}[random.IntN(8)]...)
		}
		codes = append(codes, 0xe4)
		var scopes []uint32
		for range random.IntN(12) {
			scopes = append(scopes, random.Uint32N(length+20)|random.Uint32N(uint32(len(codes))+2)<<22)
		}
		section := le.AppendUint32(nil, 0x2000)
		section = le.AppendUint32(section, 0x1008)
		section = append(section, anARM64Record(length, scopes, codes)...)
		im := anARM64PE(t, section, 8, 0x10000)
		d := NewExceptionDirectory(im)
		entries := 0
		if err := Collect([]Rules{d}, func(e *Entry) error {
			entries++
			at := uint64(0)
			for _, s := range e.Spans {
				for end := at + s.Length; at < end; at += 4 {
					exact, err := d.arm64Full(0x1008, at/4, uint64(length), true)
					if err != nil {
						t.Fatal(err)
					}
					back, err := d.arm64Full(0x1008, at/4, uint64(length), false)
					if err != nil {
						t.Fatal(err)
					}
					if s.Exact != arm64Rule(exact) || s.Return != arm64Rule(back) {
						t.Fatalf("instruction %d of %d, scopes %x, codes %x: %x, %x, want %x, %x", at/4, length, scopes, codes, s.Exact, s.Return, arm64Rule(exact), arm64Rule(back))
					}
					if s.Exact != s.Return {
						different++
					}
				}
			}
			if at != 4*uint64(length) {
				t.Errorf("%d bytes of %d instructions", at, length)
			}
			return nil
		}); err != nil || entries != 1 {
			t.Fatalf("%d entries, %v", entries, err)
		}
	}
	if different < 500 {
		t.Errorf("%d instructions have a rule of their own", different)
	}
}

// TestHostileEpilogues: the epilogues that functions share in a damaged PE, as many as a record has room for, take neither
// long nor much memory, and where they would, nothing is known.
func TestHostileEpilogues(t *testing.T) {
	const functions, step = 1000, 16
	le := binary.LittleEndian
	var section []byte
	for i := range uint32(functions) {
		section = le.AppendUint32(section, 0x200000+step*i)
		section = le.AppendUint32(section, 0x1000+8*functions)
	}
	scopes := make([]uint32, 1<<16-1)
	for i := range scopes {
		scopes[i] = uint32(i) * 3 & 0x3ffff
	}
	section = append(section, anARM64Record(0x3ffff, scopes, append(bytes.Repeat([]byte{0x01}, 1018), 0xe4))...)
	im := anARM64PE(t, section, 8*functions, 0x400000)
	begin := time.Now()
	entries, end := 0, uint64(0)
	d := NewExceptionDirectory(im)
	if err := Collect([]Rules{d}, func(e *Entry) error {
		entries++
		end = e.End
		return nil
	}); err != nil || entries != functions || end != 0x200000+step*(functions-1)+4*0x3ffff {
		t.Errorf("%d entries up to %#x, %v", entries, end, err)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("it took %v", took)
	}
	d.steps.Store(maxEpilogueSteps)
	if err := Collect([]Rules{d}, func(e *Entry) error {
		if len(e.Spans) != 1 || e.Spans[0] != (Span{Length: e.End - e.Start}) {
			t.Fatalf("%+v", e)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestHostileRules: an expression of thousands of bytes that a few bytes of instructions bring back again and again makes no
// gigabytes of rules; the first ones are known, and those of other entries.
func TestHostileRules(t *testing.T) {
	const large = 4000
	instructions := append([]byte{0x10, 3}, binary.AppendUvarint(nil, large)...)
	instructions = append(instructions, bytes.Repeat([]byte{0x96}, large)...)
	for i := range uint64(25_000) {
		instructions = append(instructions, 0x41, 0x0e, byte(i)|0x80, byte(i>>7))
	}
	c := &CFI{im: &image.Image{Order: binary.LittleEndian}, eh: true, machine: X8664}
	f := &fde{cie: &cie{codeAlign: 1, dataAlign: -8, ra: 16, instructions: []byte{0x0c, 7, 8, 0x90, 1}, addressSize: 8}, end: 30_000, instructions: instructions}
	at := fdeRange{end: f.end}
	e, err := c.entryOf(f, at)
	if err != nil {
		t.Fatal(err)
	}
	size, length := 0, uint64(0)
	for _, s := range e.Spans {
		size += len(s.Exact)
		length += s.Length
	}
	if size > 10<<20 || size < 64<<10 || length != at.end-at.start {
		t.Errorf("%d bytes of rules of %d bytes of code", size, length)
	}
	if e.Spans[1].Exact == "" || e.Spans[len(e.Spans)-1].Exact != "" {
		t.Errorf("the second is %d bytes long, the last %d", len(e.Spans[1].Exact), len(e.Spans[len(e.Spans)-1].Exact))
	}
}
