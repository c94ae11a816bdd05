package gosym

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/symtest"
)

// exercise asks a table of data for everything, and more addresses than it
// has.
func exercise(data []byte) {
	table, err := openBytes(data)
	if err != nil {
		return
	}
	defer table.Close()
	for rva := uint64(madeText - 8); rva < madeEnd+8; rva += 3 {
		table.Lookup(rva)
	}
	n := 0
	table.Procedures(func(rva uint64, _ string) bool {
		table.Lookup(rva)
		table.Lookup(rva + 9)
		n++
		return n < 200
	})
}

func samples() (list []made) {
	for _, v := range []version{go12, go116, go118, go120} {
		list = append(list, made{version: v, order: binary.LittleEndian, pointer: 8},
			made{version: v, order: binary.BigEndian, pointer: 4})
	}
	return append(list, made{version: go120, order: binary.LittleEndian, pointer: 8, pie: true})
}

// TestHostile damages the sample in every form.
func TestHostile(t *testing.T) {
	for _, m := range samples() {
		symtest.Hostile(t, m.version.String(), m.file(), symtest.Rounds(2000), exercise)
	}
}

// TestChangedWords puts the values that break readers into each word.
func TestChangedWords(t *testing.T) {
	for _, m := range samples() {
		file := m.file()
		symtest.Limited(t, m.version.String(), len(file)*len(file)*8, func() {
			for at := 0; at+4 <= len(file); at += 4 {
				for _, v := range []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, uint32(len(file))} {
					old := binary.LittleEndian.Uint32(file[at:])
					binary.LittleEndian.PutUint32(file[at:], v)
					exercise(file)
					binary.LittleEndian.PutUint32(file[at:], old)
				}
			}
		})
	}
}

// TestRefused says what is wrong with tables that give no names.
func TestRefused(t *testing.T) {
	le := binary.LittleEndian
	sample := made{version: go120, order: le, pointer: 8}
	for _, c := range []struct {
		name   string
		m      made
		damage func(table []byte)
		none   bool
		want   string
	}{
		{"no moduledata", made{version: go120, order: le, pointer: 8, noModule: true}, nil, true, "no moduledata does"},
		{"many functions", sample, func(b []byte) { le.PutUint64(b[8:], 1<<30) }, false, "1073741824 functions in"},
		{"most functions", sample, func(b []byte) { le.PutUint64(b[8:], 1<<63) }, false, "9223372036854775808 functions in"},
		{"table behind the end", sample, func(b []byte) { le.PutUint64(b[8+7*8:], 1<<40) }, false, "table at offset 0x10000000000"},
		{"no functions", sample, func(b []byte) { le.PutUint64(b[8:], 0) }, false, "no header"},
		{"unknown magic", sample, func(b []byte) { b[0] = 0xf7 }, false, "no header"},
		{"unsorted", sample, func(b []byte) { le.PutUint32(b[le.Uint64(b[8+7*8:]):], 0x30) }, false, "function 1 begins at 0x20, the one before at 0x30"},
		{"record elsewhere", sample, func(b []byte) { le.PutUint32(b[le.Uint64(b[8+7*8:])+4:], 0xffff0000) }, false, "function 0: record at offset 0xffff0000"},
		{"no name", sample, func(b []byte) {
			at := le.Uint64(b[8+7*8:])
			le.PutUint32(b[at+uint64(le.Uint32(b[at+4:]))+4:], 0xffff)
		}, false, "no string at offset 0xffff"},
		{"outside the code", sample, func(b []byte) { le.PutUint32(b[le.Uint64(b[8+7*8:])+24:], 0x10000) }, false, "where there is no code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := c.m.file()
			if c.damage != nil {
				table, _, _ := c.m.tables()
				i := strings.Index(string(file), string(table[:72]))
				c.damage(file[i : i+len(table)])
			}
			_, err := openBytes(file)
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, symbols.ErrNoSymbols) != c.none {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestHeaderText takes the start of the code from the header where there is no
// moduledata; then inlined calls are not found, and lines that may be theirs
// are not given.
func TestHeaderText(t *testing.T) {
	table, err := openBytes(made{version: go120, order: binary.LittleEndian, pointer: 8, noModule: true, text: true}.file())
	if err != nil {
		t.Fatal(err)
	}
	const want = "0x1000 0x1000+0x18 procedure: main.outer a.go:10\n" +
		"0x1008 0x1000+0x18 procedure: main.outer\n" +
		"0x1014 0x1000+0x18 procedure: main.outer a.go:11\n"
	if got := answers(table, 0x1000, 0x1008, 0x1014); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestInlineCycle has inlined calls that stand in each other.
func TestInlineCycle(t *testing.T) {
	m := made{version: go120, order: binary.LittleEndian, pointer: 8}
	file := m.file()
	_, goFunc, _ := m.tables()
	i := strings.Index(string(file), string(goFunc))
	// inner, which covers 8 to 20, says that it was called at 8.
	binary.LittleEndian.PutUint32(file[i+8:], 8)
	table, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if got := answers(table, 0x1008); !strings.Contains(got, "more than 256 inlined calls around each other") {
		t.Errorf("got %s", got)
	}
	if got := answers(table, 0x1000); got != "0x1000 0x1000+0x18 procedure: main.outer a.go:10\n" {
		t.Errorf("got %s", got)
	}
}

func FuzzOpen(f *testing.F) {
	for _, m := range samples() {
		f.Add(m.file())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		symtest.Limited(t, "fuzz", len(data), func() { exercise(data) })
	})
}
