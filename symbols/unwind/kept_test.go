package unwind

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"logparser/symbols"
	"logparser/symbols/image"
)

// listTable is rules in memory.
type listTable struct {
	list  []*Entry
	alone bool
}

func (l *listTable) LeavesAlone() bool { return l.alone }

func (l *listTable) Rule(rva uint64) (k Place, err error) {
	i := sort.Search(len(l.list), func(i int) bool { return l.list[i].Start > rva })
	if i == 0 || rva >= l.list[i-1].End {
		return k, nil
	}
	e := l.list[i-1]
	k = Place{Start: e.Start, End: e.End, Function: e.Function}
	at := e.Start
	for _, s := range e.Spans {
		if rva < at+s.Length {
			k.Exact, k.Return = s.Exact, s.Return
			return k, nil
		}
		at += s.Length
	}
	return k, errRule
}

// collected returns the rules of an image, and checks what must hold of them.
func collected(t testing.TB, im *image.Image) *listTable {
	rules := RulesOf(im)
	l := &listTable{alone: LeavesAlone(rules)}
	end := uint64(0)
	err := Collect(rules, func(e *Entry) error {
		length := uint64(0)
		for _, s := range e.Spans {
			length += s.Length
		}
		if e.Start < end || e.End <= e.Start || length != e.End-e.Start {
			t.Fatalf("an entry at %#x up to %#x with %#x bytes, behind %#x", e.Start, e.End, length, end)
		}
		end = e.End
		l.list = append(l.list, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// sameCaller holds rules that were kept against those of the image, from a frame of some registers.
func sameCaller(t *testing.T, machine Machine, im *image.Image, kept *Kept, rules []Rules, rva uint64, exact bool, r Registers, memory Memory) (found bool) {
	const base = 0x10000000
	pc := base + rva
	if !exact {
		pc++
	}
	r.Set(machine.PC(), pc)
	var got [2]caller
	var ok [2]bool
	for i, list := range [][]Rules{rules, {kept}} {
		m := &Module{Base: base, Size: im.Size, Code: CodeOf(im), Rules: list}
		u := &Unwinder{Machine: machine, Memory: memory, Windows: im.Kind == image.PE, Find: func(address uint64) *Module {
			if address >= base && address-base < im.Size {
				return m
			}
			return nil
		}}
		got[i], ok[i] = u.caller(&Frame{PC: pc, Exact: exact, Found: ByCFI, Registers: r})
		start, known := FunctionStart(m, base+rva)
		if i == 1 && exact {
			want, have := FunctionStart(&Module{Base: base, Size: im.Size, Code: CodeOf(im), Rules: rules}, base+rva)
			if start != want || known != have {
				t.Fatalf("%#x: the function begins at %#x, %v, and by the image at %#x, %v", rva, start, known, want, have)
			}
		}
	}
	if ok[0] != ok[1] || got[0] != got[1] && ok[0] {
		k, _ := kept.table.Rule(rva)
		t.Fatalf("%#x, exact %v:\n%+v %v\n%+v %v\n%x", rva, exact, got[0], ok[0], got[1], ok[1], k)
	}
	return ok[0]
}

// TestKeptRules: rules that were kept lead from every piece of code to the same caller as the image's.
func TestKeptRules(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../dwarf/testdata/*", "../pdb/testdata/*", "../symtab/testdata/*", "../../testdata/*", "../../../shared/data/*/*", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/wine/*/ntdll.so",
		"/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/kernel32.dll", "/usr/lib/i386-linux-gnu/libc.so.6"} {
		list, _ := filepath.Glob(pattern)
		files = append(files, list...)
	}
	random := rand.New(rand.NewPCG(1, 2))
	images, places, followed := 0, 0, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil || !image.Detect(data) || len(data) > 16<<20 || testing.Short() && images > 20 {
			continue
		}
		im, err := image.Open(&symbols.File{Path: name, ReaderAt: bytes.NewReader(data), Size: int64(len(data))})
		if err != nil {
			continue
		}
		machine, rules := MachineOf(im.Machine), RulesOf(im)
		if machine == Unknown || len(rules) == 0 || im.Relocatable {
			im.FreeScratch()
			continue
		}
		table := collected(t, im)
		kept := NewKept(machine, table)
		images++
		const low = 0x7fff0000
		stack := stackOf([]byte{byte(random.Uint32())})
		total := uint64(0)
		for _, c := range im.Code() {
			total += c[1] - c[0]
		}
		step := max(1, total/1000)
		for _, c := range im.Code() {
			for rva := c[0] - im.Base; rva < c[1]-im.Base; rva += step + random.Uint64N(step) {
				var r Registers
				for n := range maxRegisters {
					if random.IntN(8) > 0 || n == machine.SP() {
						r.Set(n, low+8*random.Uint64N(400))
					}
				}
				r.Set(machine.SP(), low+8*random.Uint64N(40))
				for _, exact := range []bool{true, false} {
					places++
					if sameCaller(t, machine, im, kept, rules, rva, exact, r, bytesMemory{low, stack}) {
						followed++
					}
				}
			}
		}
		for _, e := range table.list {
			for _, s := range e.Spans {
				for _, k := range []KeptRow{s.Exact, s.Return} {
					if r, err := k.row(); k != "" && k != leafRule && (err != nil || r.rule() != k) {
						t.Fatalf("%s: rule %x: %v", name, k, err)
					}
				}
			}
		}
		if t.Failed() {
			t.Fatal(name)
		}
		im.FreeScratch()
	}
	t.Logf("%d images, %d places, from %d of them to a caller", images, places, followed)
	if images < 5 || followed < 1000 {
		t.Errorf("%d images, %d places, from %d of them to a caller", images, places, followed)
	}
}
