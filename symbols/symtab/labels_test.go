package symtab

import (
	"errors"
	"path/filepath"
	"testing"

	"logparser/symbols"
	"logparser/symbols/symtest"
)

// A stretch says what code from an address on up to the next stretch is named;
// "" is nothing.
type stretch struct {
	addr uint64
	name string
}

// TestConformanceSymbols names every byte of assembler code whose symbols have
// no types or no sizes, of functions whose symbols are those of descriptors,
// and of stubs of ARM. The addresses are those that nm --synthetic and objdump
// print.
func TestConformanceSymbols(t *testing.T) {
	for file, want := range map[string][]stretch{
		"labels.so":       {{0x1d0, "filter"}, {0x1f0, "exported"}, {0x1fd, "measured"}, {0x1ff, "measured_end"}, {0x200, "untyped"}, {0x201, "behind"}, {0x202, ""}},
		"opd.so":          {{0x400, "helper"}, {0x470, "area"}, {0x4c8, ""}, {0x4d0, "scaled"}, {0x508, ""}, {0x510, "last"}, {0x580, ""}, {0x588, ""}},
		"opd.o":           {{0, "helper"}, {0x70, "area"}, {0xc8, ""}, {0xd0, "scaled"}, {0x108, ""}, {0x110, "last"}, {0x180, ""}},
		"arm-plt.so":      {{0x1e0, ""}, {0x1f4, "counted@plt"}, {0x204, "report@plt"}, {0x214, "area@plt"}, {0x220, "helper"}},
		"arm-long-plt.so": {{0x1e0, ""}, {0x1f4, "counted@plt"}, {0x208, "report@plt"}, {0x21c, "area@plt"}, {0x22c, "helper"}},
		"twins.so":        {{0x1a0, "long_name"}, {0x1a3, ""}, {0x1b0, "outer"}, {0x1b1, "entry"}, {0x1b3, ""}, {0x1c0, "last"}, {0x1c2, ""}},
	} {
		t.Run(file, func(t *testing.T) {
			table := openTable(t, filepath.Join("testdata", file))
			var c symtest.Comparison
			for i, s := range want[:len(want)-1] {
				for addr := s.addr; addr < want[i+1].addr; addr++ {
					sym, err := table.Lookup(addr)
					name := ""
					if err == nil {
						name = sym.Frames[0].Function
					}
					c.Names.All++
					if name == s.name && (err == nil || errors.Is(err, symbols.ErrNotFound)) {
						c.Names.Same++
					} else {
						t.Errorf("%#x: %q, %v, want %q", addr, name, err, s.name)
					}
				}
			}
			c.Report(t, "ELF symbols, "+file+", every byte", symtest.Bars{})
		})
	}
	table := openTable(t, filepath.Join("testdata", "twins.so"))
	if sym, err := table.Lookup(0x1a1); err != nil || sym.Size != 3 || len(sym.Aliases) != 1 || sym.Aliases[0] != "short_name" {
		t.Errorf("%+v, %v, want 3 bytes and short_name", sym, err)
	}
}

// TestNameOfLabel holds that a label which lies in no function has its whole
// name.
func TestNameOfLabel(t *testing.T) {
	table := &Table{im: openTable(t, filepath.Join("testdata", "labels.so")).im, texts: []string{"..@4.non_prefetch"}}
	table.syms = []sym{{addr: 0x1d0, rank: rankLocalLabel, src: inText}}
	table.arrange()
	if sym, err := table.Lookup(0x1d4); err != nil || sym.Frames[0].Function != table.texts[0] {
		t.Errorf("%+v, %v", sym, err)
	}
}
