package pdb

import (
	"errors"
	"os"
	"strings"
	"testing"

	"logparser/symbols/pdb/cab"
	"logparser/symbols/pdb/msf"
)

// cabinet puts a file into a cabinet without compressing it.
func cabinet(content []byte) []byte {
	var blocks []byte
	count := 0
	for rest := content; len(rest) > 0; count++ {
		n := min(len(rest), 32<<10)
		blocks = append(blocks, bin(uint32(0), uint16(n), uint16(n), rest[:n])...)
		rest = rest[n:]
	}
	files := bin(uint32(len(content)), uint32(0), make([]byte, 8), "a.pdb")
	first := 36 + 8
	return bin([]byte("MSCF"), uint32(0), uint32(first+len(files)+len(blocks)), uint32(0), uint32(first), uint32(0),
		uint16(0x0103), uint16(1), uint16(1), uint16(0), uint32(0),
		uint32(first+len(files)), uint16(count), uint16(0), files, blocks)
}

func TestCabinet(t *testing.T) {
	b := shapes(t, "x86_64")
	table, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	want := render(t, table)
	t.Setenv("TMPDIR", t.TempDir())
	packed := cabinet(b)
	if !Format.Detect(packed[:64]) {
		t.Error("not detected")
	}
	identity := table.Identity()
	if table, err = openBytes(packed); err != nil {
		t.Fatal(err)
	}
	if table.Identity() != identity {
		t.Errorf("identity %v, want %v", table.Identity(), identity)
	}
	if render(t, table) != want {
		t.Error("other answers from a cabinet")
	}
	if !strings.Contains(table.Describe(), "cabinet") {
		t.Errorf("described as %q", table.Describe())
	}
	if err := table.Close(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		name string
		file []byte
		err  error
	}{
		{"text in it", cabinet([]byte("no PDB at all")), msf.ErrMagic},
		{"cabinet in it", cabinet(packed), ErrUnsupported},
		{"cut", packed[:len(packed)-1], cab.ErrDamaged},
	} {
		if _, err := openBytes(c.file); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.name, err, c.err)
		}
	}
	MaxUnpacked = 1000
	defer func() { MaxUnpacked = 4 << 30 }()
	if _, err := openBytes(packed); !errors.Is(err, cab.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
