package pdb

import (
	"errors"
	"strings"
	"testing"

	"logparser/symbols"
)

func managedRecord(kind uint16, name string, off, size, token uint32) []byte {
	return bin(kind, uint32(0), uint32(0), uint32(0), size, uint32(0), uint32(0), token, off, uint16(1), uint8(0), uint16(0), name)
}

// onlyManaged is a program of managed code alone, with the section headers of
// its image.
func onlyManaged() *program {
	return &program{objects: []object{{name: "a.netmodule", code: [][2]uint32{{0, 0x100}}, symbols: [][]byte{
		managedRecord(sGManProc, "Program.Main", 0x10, 0x20, 0x06000001), endRecord(),
		managedRecord(sLManProc, "Program.Work", 0x30, 0x20, 0x06000002), endRecord(),
	}}}}
}

// mixed is a program with native and managed code, in one object file and in
// several, as C++/CLI makes it.
func mixed() *program {
	return &program{
		objects: []object{{name: "a.obj", code: [][2]uint32{{0, 0x100}}, symbols: [][]byte{
			managedRecord(sGManProc, "il", 0x10, 0x20, 0x06000001), endRecord(),
			procedureRecord(sGProc32, "native", 0x30, 0x20, 0), endRecord(),
			managedRecord(sLManProc, "il_static", 0x50, 0x20, 0x06000002), endRecord(),
		}}, {name: "b.obj", code: [][2]uint32{{0x100, 0x100}}, symbols: [][]byte{
			managedRecord(sGManProc, "stray", 0x300, 0x20, 0x06000003), endRecord(),
		}}, {name: "c.obj", noStream: true, code: [][2]uint32{{0x300, 0x100}}}},
		publics: []publicSymbol{
			{"?il@@$$FYAXXZ", publicCode | publicFunction | publicIL | 1<<2, 1, 0x10},
			{"?native@@YAXXZ", publicCode | publicFunction, 1, 0x30},
			// Without a record of the procedure.
			{"?native2@@YAXXZ", publicCode | publicFunction, 1, 0x100},
			{"?il2@@$$FYAXXZ", publicCode | publicFunction | publicIL | 1<<2, 1, 0x120},
			{"?native3@@YAXXZ", publicCode | publicFunction, 1, 0x140},
			{"?stray@@$$FYAXXZ", publicCode | publicFunction | publicIL | 1<<2, 1, 0x300},
		},
	}
}

// TestManaged looks up managed code: never a name, of whatever is near it
// either, and all others have theirs.
func TestManaged(t *testing.T) {
	withoutContributions := mixed()
	for i := range withoutContributions.objects {
		withoutContributions.objects[i].code = nil
	}
	for name, p := range map[string]*program{"mixed": mixed(), "without contributions": withoutContributions} {
		table, err := p.open()
		if err != nil {
			t.Fatal(err)
		}
		for rva, want := range map[uint64]string{
			0x1010: "", 0x102F: "", 0x1030: "native", 0x104F: "native", 0x1050: "", 0x106F: "",
			0x1100: "native2", 0x111F: "native2", 0x1120: "", 0x113F: "", 0x1140: "native3", 0x1300: "", 0x131F: "",
		} {
			s, err := table.Lookup(rva)
			got := ""
			if err == nil {
				got = s.Outermost().Function
			} else if !errors.Is(err, symbols.ErrNotFound) {
				t.Errorf("%s, %x: %v", name, rva, err)
			}
			if got != want {
				t.Errorf("%s, %x: got %q, want %q", name, rva, got, want)
			}
		}
		table.Procedures(func(rva uint64, name string) bool {
			if name != "native" {
				t.Errorf("procedure %s at %x", name, rva)
			}
			return true
		})
	}
}

// TestDescribeManaged has the table of tokens that the linker writes for an
// image with managed code.
func TestDescribeManaged(t *testing.T) {
	p := mixed()
	for _, tokens := range []bool{false, true} {
		f := p.file()
		if tokens {
			// The slots are the last thing in the stream.
			d := f.Streams[streamDBI]
			le.PutUint32(d[48:], le.Uint32(d[48:])+2)
			f.Streams[streamDBI] = append(d, bin(uint16(testNames))...)
		}
		table, err := openBytes(f.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(table.Describe(), ".NET"); got != tokens {
			t.Errorf("tokens %v: described as %q", tokens, table.Describe())
		}
	}
}
