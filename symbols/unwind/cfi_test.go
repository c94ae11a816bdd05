package unwind

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"

	"logparser/symbols"
	"logparser/symbols/image"
)

// openImage opens an image of the machine or of testdata; the test is skipped where it
// is not there.
func openImage(t testing.TB, path string) *image.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Skip(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	im, err := image.Open(&symbols.File{Path: path, ReaderAt: f, Size: info.Size(), Closer: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

// elfFiles are files with call frame information: those of the tests of package
// dwarf, and libraries that every Linux has.
func elfFiles(t *testing.T) []string {
	list, err := filepath.Glob("../dwarf/testdata/*.so")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	for _, pattern := range []string{"/lib/*-linux-gnu/libc.so.6", "/usr/lib/*-linux-gnu/libstdc++.so.6", "/lib/*-linux-gnu/libm.so.6"} {
		more, _ := filepath.Glob(pattern)
		list = append(list, more...)
	}
	return list
}

// TestCFIAgainstDelve holds ranges and rules at many addresses against delve's
// pkg/dwarf/frame, which stops at what it does not know.
func TestCFIAgainstDelve(t *testing.T) {
	compared := 0
	for _, path := range elfFiles(t) {
		im := openImage(t, path)
		list := NewCFI(im)
		if len(list) == 0 {
			continue
		}
		c := list[0]
		s := im.Section(".eh_frame")
		if s == nil {
			continue
		}
		content, err := s.Content()
		if err != nil {
			t.Fatal(err)
		}
		data, err := content.Bytes(0, content.Size())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := frame.Parse(data, im.Order, 0, im.PointerSize, s.Addr)
		if err != nil {
			t.Logf("%s: delve: %v", path, err)
			continue
		}
		ours := make(map[uint64]uint64)
		if err := c.each(func(f *fde, _ int64) bool { ours[f.start] = f.end; return true }); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for i, f := range theirs {
			if end := ours[f.Begin()]; end != f.End() && f.Begin() != 0 {
				t.Fatalf("%s: FDE %#x-%#x, ours ends at %#x", path, f.Begin(), f.End(), end)
			}
			if i%7 != 0 && len(theirs) > 500 {
				continue
			}
			if bytes.ContainsAny(f.Instructions, "\x2c\x2d\x2e\x2f") || bytes.ContainsAny(f.CIE.InitialInstructions, "\x2c\x2d\x2e\x2f") {
				continue // delve runs for ever at an instruction that it does not know
			}
			for at := f.Begin(); at < f.End() && f.Begin() != 0; at += max(1, (f.End()-f.Begin())/16) {
				sameRow(t, path, c, f, at)
				compared++
			}
		}
	}
	if compared < 1000 {
		t.Errorf("only %d rows were compared", compared)
	}
	t.Logf("%d rows", compared)
}

func sameRow(t *testing.T, path string, c *CFI, f *frame.FrameDescriptionEntry, at uint64) {
	t.Helper()
	their, err := f.EstablishFrame(at)
	if err != nil {
		return
	}
	our, err := c.rowOf(at)
	if err != nil {
		t.Fatalf("%s: %#x: %v", path, at, err)
	}
	cfa := our.cfa
	switch their.CFA.Rule {
	case frame.RuleCFA:
		if cfa.kind != ruleRegister || cfa.register != their.CFA.Reg || cfa.offset != their.CFA.Offset {
			t.Errorf("%s: %#x: CFA %+v, delve has %+v", path, at, cfa, their.CFA)
		}
	case frame.RuleExpression:
		if cfa.kind != ruleValueOfExpression || string(cfa.expression) != string(their.CFA.Expression) {
			t.Errorf("%s: %#x: CFA %+v, delve has %+v", path, at, cfa, their.CFA)
		}
	}
	for n := range uint64(maxRegisters) {
		rule, ok := their.Regs[n]
		got := our.registers[n]
		switch {
		case !ok || rule.Rule == frame.RuleUndefined:
			if got.kind != ruleNone && got.kind != ruleUndefined && got.kind != ruleSame {
				t.Errorf("%s: %#x: register %d %+v, delve has %+v", path, at, n, got, rule)
			}
		case rule.Rule == frame.RuleOffset:
			if got.kind != ruleOffset || got.offset != rule.Offset {
				t.Errorf("%s: %#x: register %d %+v, delve has %+v", path, at, n, got, rule)
			}
		case rule.Rule == frame.RuleExpression:
			if got.kind != ruleExpression || string(got.expression) != string(rule.Expression) {
				t.Errorf("%s: %#x: register %d %+v, delve has %+v", path, at, n, got, rule)
			}
		}
	}
}

// TestSearchTable finds the same entries through .eh_frame_hdr as by reading all.
func TestSearchTable(t *testing.T) {
	found := 0
	for _, path := range elfFiles(t) {
		im := openImage(t, path)
		for _, c := range NewCFI(im) {
			if c.table.count == 0 {
				continue
			}
			without := &CFI{im: im, machine: c.machine, content: c.content, addr: c.addr, eh: c.eh, cies: c.cies}
			without.readAll()
			for i, r := range without.fdes {
				if i > 0 && without.fdes[i-1].start == r.start {
					continue
				}
				for _, at := range []uint64{r.start, r.end - 1} {
					a, err := c.search(at)
					b, err2 := without.find(at)
					if err != nil || err2 != nil || a.start != b.start || a.end != b.end {
						t.Fatalf("%s: %#x: %v, %v", path, at, err, err2)
					}
				}
				found++
			}
		}
	}
	if found < 500 {
		t.Errorf("only %d entries", found)
	}
}

// TestStarts holds the function starts of files with symbols against their symbols.
func TestStarts(t *testing.T) {
	im := openImage(t, "../dwarf/testdata/gcc5.so")
	s := NewStarts(im)
	if s == nil {
		t.Fatal("no starts")
	}
	f, err := elf.Open("../dwarf/testdata/gcc5.so")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, sym := range list {
		if elf.ST_TYPE(sym.Info) != elf.STT_FUNC || sym.Size == 0 {
			continue
		}
		rva := sym.Value - im.Base
		got, err := s.Lookup(rva + sym.Size - 1)
		if err != nil {
			continue // the C runtime's own
		}
		if got.Start != rva || got.Size != sym.Size || got.Frames[0].Function != StartName(rva) {
			t.Errorf("%s at %#x, %d bytes: %+v", sym.Name, rva, sym.Size, got)
		}
		named++
	}
	if named < 5 {
		t.Errorf("only %d functions", named)
	}
}
