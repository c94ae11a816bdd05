package pdb

import (
	"slices"
	"testing"
)

// expect holds what a program's table says of addresses against what it
// should.
func expect(t *testing.T, p *program, want map[uint64]string) {
	t.Helper()
	table, err := p.open()
	if err != nil {
		t.Fatal(err)
	}
	for rva, want := range want {
		if got := describe(t, table, rva); got != want {
			t.Errorf("%x: got  %q\n    want %q", rva, got, want)
		}
	}
}

// TestPublicsAndProcedures has publics at, inside and behind a procedure: they
// name only what no procedure covers.
func TestPublicsAndProcedures(t *testing.T) {
	p := sample()
	p.publics = append(p.publics,
		publicSymbol{"label", publicIsCode, 1, 0x30},
		publicSymbol{"behind", publicIsCode, 1, 0x72})
	expect(t, p, map[uint64]string{
		0x1010: `1010+40 procedure main(int, char *) a.cpp:100`,
		0x1030: `1010+40 procedure main(int, char *) a.cpp:102`,
		0x104F: `1010+40 procedure main(int, char *) a.cpp:0`,
		0x1050: "", // "label" begins inside the procedure and ends with it
		0x106F: `1060+10 procedure local(int, char *) :0`,
		0x1071: "",
		0x1072: `1072+0 public behind :0`,
		0x107F: `1072+0 public behind :0`,
		0x1080: `1080+6 thunk importThunk :0`,
		0x1086: "", // behind another procedure
	})
}

// TestPublicsNeverData has publics of strings, tables and constants among the
// code, and one that says it is code and lies in a section of data.
func TestPublicsNeverData(t *testing.T) {
	for _, name := range []string{"??_C@_03ABC@text@", "??_7Shape@@6B@", "??_R4Shape@@6B@", "__real@3ff0000000000000", "__xmm@00", "table"} {
		for _, flags := range []uint32{0, publicIsCode} {
			if name == "table" && flags != 0 {
				continue // nothing says that it is data
			}
			p := sample()
			p.publics = append(p.publics, publicSymbol{name, flags, 1, 0x710})
			expect(t, p, map[uint64]string{
				0x170F: `1700+0 public ns::named(int) :0 = folded`,
				0x1710: "", // it ends the function before it
				0x1711: "",
				0x1750: `1750+0 public last :0`,
			})
		}
	}
	p := sample()
	p.publics = append(p.publics, publicSymbol{"table", publicIsCode, 2, 0x20})
	expect(t, p, map[uint64]string{0x100020: "", 0x100030: ""})
}

// TestPublicsEndOfSection has the last function of the section, with and
// without section contributions: nothing goes on into the next section.
func TestPublicsEndOfSection(t *testing.T) {
	for _, contributions := range []bool{true, false} {
		p := sample()
		p.publics = append(p.publics, publicSymbol{"final", publicIsCode, 1, 0x7FFF0})
		p.objects = append(slices.Clip(p.objects), object{name: "end.obj", noStream: true, code: [][2]uint32{{0x7FFE0, 0x20}}})
		if !contributions {
			for i := range p.objects {
				p.objects[i].code = nil
			}
		}
		before := ""
		if !contributions {
			before = `1750+0 public last :0`
		}
		expect(t, p, map[uint64]string{
			0x80FEF:  before,
			0x80FF0:  `80ff0+0 public final :0`,
			0x80FFF:  `80ff0+0 public final :0`,
			0x81000:  "",
			0x82000:  "",
			0xFFFFF:  "",
			0x100000: "",
			0x100010: "",
		})
	}
}
