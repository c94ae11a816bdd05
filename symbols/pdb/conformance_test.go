package pdb

import (
	"bytes"
	"debug/pe"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"logparser/symbols"
	"logparser/symbols/pdb/msf/msftest"
	"logparser/symbols/symtest"
)

// openData opens a PDB of the conformance data.
func openData(t testing.TB, name string) *Table {
	t.Helper()
	path := symtest.Path(t, "pdb", name)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	table, err := Open(&symbols.File{Path: path, ReaderAt: f, Size: st.Size(), Closer: f})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

// TestConformance holds look-ups against tables that another tool made, with
// Microsoft's own reader or with a Rust one, by the rules of
// [symtest.Compare]. No difference may be without a cause.
func TestConformance(t *testing.T) {
	for _, name := range []string{"dump_syms_regtest64", "dump_syms_regtest", "basic32-min", "omap_reorder_bbs", "omap_stretched"} {
		t.Run(name, func(t *testing.T) {
			table := openData(t, name+".pdb")
			sym := symtest.Load(t, "pdb", name+".sym")
			if id := table.Identity(); sym.ID != fmt.Sprintf("%s%x", id.PDB.Key(), id.Age) {
				t.Errorf("identity %v, the table says %s", id, sym.ID)
			}
			explain := func(sym *symtest.Table, d *symtest.Difference) string { return explain(t, table, sym, d) }
			c := symtest.Compare(sym, table.Lookup, symtest.Rules{Explain: explain})
			c.Report(t, "PDB "+name, symtest.DefaultBars)
		})
	}
}

// The causes of the differences.
const (
	// The tables of Microsoft's reader drop one underscore in front of C
	// names, as if they were decorated. On x64 they are not, so that the name
	// in the table is not that of the source: the linker's public symbol has
	// the underscore too.
	causeUnderscore = "underscore of a C name dropped by the table; the public symbol has it"
	// The same of functions that have no public symbol.
	causeUnderscoreStatic = "underscore of a C name dropped by the table; static, no public symbol"
	// They leave the type of a pointer to a function blank.
	causeBlankType = "pointer to a function left blank by the table"
	// They cut the last piece off a procedure that OMAP has rearranged, where
	// that is shorter than what was inserted before it.
	causeOMAP = "OMAP piece cut in two by the table"
	// The table of basic32-min has assembler labels that the linker did not
	// mark as code. The marks are all that tells them from strings in the same
	// section, so they are not looked up; where a procedure covers them, it is
	// what is found.
	causeLabel = "label that the linker did not mark as code"
	causeNone  = "no such public in the file"
	// The undecorator that wrote that table's publics gives up on functions
	// that return or take pointers to functions, or leaves brackets
	// unbalanced, or calls constructors "ctor" and conversions "operatorcast",
	// and it drops the calling convention of pointers to functions. What is
	// answered is what the decorated name in the file says.
	causeGarbled    = "decorated name garbled by the table's undecorator"
	causeConvention = "calling convention dropped by the table"
)

func explain(t *testing.T, table *Table, sym *symtest.Table, d *symtest.Difference) string {
	s := &d.Symbol
	switch d.Subject {
	case symtest.Name:
		if d.Err != nil || sym.Arch != "x86_64" || "_"+symtest.Plain(d.Want) != symtest.Plain(s.Outermost().Function) {
			return ""
		}
		decorated, _ := publicsAt(t, table, d.Address)
		switch {
		case slices.Contains(decorated, s.Outermost().Function):
			return causeUnderscore
		case len(decorated) == 0:
			return causeUnderscoreStatic
		}
	case symtest.ParameterList:
		if list, _ := symtest.Parameters(d.Want); strings.HasPrefix(list, "*") || strings.Contains(list, ",*") {
			return causeBlankType
		}
	case symtest.Size:
		if d.Err == nil && table.layout.present() && sym.Piece(d.Func, s) {
			return causeOMAP
		}
	case symtest.PublicName:
		decorated, code := publicsAt(t, table, d.Address)
		if len(decorated) == 0 {
			if d.Err != nil {
				return causeNone
			}
			return ""
		}
		if !code {
			if d.Err != nil || s.Start < d.Address {
				return causeLabel
			}
			return ""
		}
		if d.Err != nil || s.Start != d.Address {
			return ""
		}
		for _, name := range decorated {
			plain, _ := table.publics.plain(name)
			if plain != s.Outermost().Function {
				continue
			}
			if symtest.Plain(d.Want) == symtest.Plain(withoutConventions(plain)) {
				return causeConvention
			}
			if garbled(d.Want) {
				return causeGarbled
			}
		}
	}
	return ""
}

// publicsAt returns the decorated names of the publics at an RVA, and whether
// one of them is marked as code.
func publicsAt(t *testing.T, table *Table, rva uint64) (decorated []string, code bool) {
	source := uint32(rva)
	if table.layout.present() {
		p, _ := table.layout.source(source)
		source = p.source
	}
	sec, off, ok := table.sections.find(source)
	if !ok {
		return nil, false
	}
	list, err := table.publics.last(at(sec, off))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.addr != at(sec, off) {
			continue
		}
		name, err := table.publics.decorated(p.record)
		if err != nil {
			t.Fatal(err)
		}
		decorated = append(decorated, name)
		code = code || p.code
	}
	return decorated, code
}

// garbled reports whether an undecorator has failed on a name.
func garbled(name string) bool {
	return strings.HasPrefix(name, "?") || strings.Count(name, "(") != strings.Count(name, ")") ||
		strings.Contains(name, "operatorcast") || strings.Contains(name, "::ctor<") ||
		strings.HasSuffix(name, "(void (** const)(void))") || strings.Contains(name, ")(")
}

func withoutConventions(name string) string {
	for _, c := range []string{"__cdecl ", "__stdcall ", "__thiscall "} {
		name = strings.ReplaceAll(name, c, "")
	}
	return name
}

// TestConformanceArrangements rewrites PDBs as if tools had rearranged their
// images, and wants of every byte of the new image what the PDB without it
// says of the byte that it was.
func TestConformanceArrangements(t *testing.T) {
	for _, name := range []string{"dump_syms_regtest64.pdb", "dump_syms_regtest.pdb"} {
		original := openData(t, name)
		b, err := os.ReadFile(symtest.Path(t, "pdb", name))
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range arrangements {
			t.Run(name+", "+a.name, func(t *testing.T) {
				f := msftest.Load(t, bytes.NewReader(b), int64(len(b)))
				c := compareArrangement(t, original, f, &a, rand.New(rand.NewPCG(uint64(i), 3)))
				c.Report(t, "PDB "+strings.TrimSuffix(name, ".pdb")+", OMAP "+a.name, symtest.Bars{Names: 100, Lines: 100})
			})
		}
	}
}

// TestConformanceLinkers rewrites what tells the linkers' PDBs apart: the
// version and the features of the information stream, and with them what
// stream 4 holds. Everything but inlined functions' names must be as in the
// file itself, and those too where the features say that there are ids.
func TestConformanceLinkers(t *testing.T) {
	for _, name := range []string{"dump_syms_regtest64", "dump_syms_regtest", "basic32-min"} {
		b, err := os.ReadFile(symtest.Path(t, "pdb", name+".pdb"))
		if err != nil {
			t.Fatal(err)
		}
		sym := symtest.Load(t, "pdb", name+".sym")
		for _, c := range []struct {
			linker   string
			version  uint32
			features []uint32
			stream4  []byte // nil is the file's own, or no ids
		}{
			{"2005", 20000404, nil, []byte{}},
			{"2008", 20000404, nil, vs2008Stream4()},
			{"2010, version of 2003", 20030901, nil, bytes.Repeat([]byte("other "), 100)},
			{"2012", 20000404, []uint32{featureVC110}, nil},
			{"2013, version of 2012", featureVC110, []uint32{featureVC110}, nil},
			{"2015", 20000404, []uint32{featureVC140}, nil},
			{"2022, version of 2015", featureVC140, []uint32{featureVC140}, nil},
		} {
			t.Run(name+", "+c.linker, func(t *testing.T) {
				f := msftest.Load(t, bytes.NewReader(b), int64(len(b)))
				setLinker(f, c.version, c.features)
				ids := len(f.Streams[streamIPI]) > typeHeaderSize && c.stream4 == nil
				if c.stream4 != nil {
					f.Streams[streamIPI] = c.stream4
				}
				table, err := openBytes(f.Bytes())
				if err != nil {
					t.Fatal(err)
				}
				explain := func(sym *symtest.Table, d *symtest.Difference) string { return explain(t, table, sym, d) }
				score := symtest.Compare(sym, table.Lookup, symtest.Rules{Explain: explain})
				scoreSites(t, table, ids, score)
				score.Report(t, "PDB "+name+" as of Visual Studio "+c.linker, symtest.DefaultBars)
			})
		}
	}
}

// setLinker gives a PDB another version and other features.
func setLinker(f *msftest.File, version uint32, features []uint32) {
	b := f.Streams[testInfo]
	at := 28
	at += 4 + int(le.Uint32(b[at:])) // the names
	count := int(le.Uint32(b[at:]))
	at += 8
	for range 2 {
		at += 4 + 4*int(le.Uint32(b[at:]))
	}
	at += 8*count + 4
	b = append(b[:at:at], bin(features)...)
	le.PutUint32(b, version)
	f.Streams[testInfo] = b
}

// scoreSites counts the inlined calls that have a name; without ids each must
// say that it has none.
func scoreSites(t *testing.T, table *Table, ids bool, score *symtest.Comparison) {
	t.Helper()
	eachDetail(t, table, func(_ *entry, d *detail) {
		for _, s := range d.sites {
			score.Inlines.All++
			if unnamed := strings.HasPrefix(s.name, "(inlined function"); unnamed == ids || s.name == "" {
				score.Differ(&score.Inlines, symtest.Difference{Subject: symtest.InlineCall, Address: uint64(s.id), Got: s.name})
			} else {
				score.Inlines.Same++
			}
		}
	})
}

// eachDetail decodes every entry of every module.
func eachDetail(t *testing.T, table *Table, yield func(e *entry, d *detail)) {
	t.Helper()
	for i := range table.modules {
		x, err := table.module(i)
		if err != nil {
			t.Fatal(err)
		}
		for j := range x.entries {
			d, err := table.detail(x, j)
			if err != nil {
				t.Fatal(err)
			}
			yield(&x.entries[j], d)
		}
	}
}

// TestConformanceProcedures looks up the start of every procedure of two large files and
// wants its own name back, or that name among the aliases.
func TestConformanceProcedures(t *testing.T) {
	for _, c := range []struct {
		file              string
		procedures, folds int
		thunks            int
	}{
		// Procedures and thunks are as many as llvm-pdbutil counts.
		{"conpty.pdb", 1218 + 45, 49, 0},
		{"registry.pdb", 2890 + 167 + 2318, 0, 2318},
	} {
		t.Run(c.file, func(t *testing.T) {
			table := openData(t, c.file)
			procedures, thunks, folds := 0, 0, map[uint64]bool{}
			var score symtest.Comparison
			err := table.Procedures(func(rva uint64, name string) bool {
				procedures++
				s, err := table.Lookup(rva)
				if err != nil {
					t.Errorf("%x %s: %v", rva, name, err)
					return true
				}
				o := s.Outermost().Function
				score.Names.All++
				if o == name || slices.Contains(s.Aliases, name) {
					score.Names.Same++
				} else {
					t.Errorf("%x %s: got %s, aliases %q", rva, name, o, s.Aliases)
				}
				if o != name {
					folds[rva] = true
					score.Names.Alias++
				}
				if s.Start != rva {
					t.Errorf("%x %s: starts at %x", rva, name, s.Start)
				}
				if s.Kind == symbols.ILTThunk {
					thunks++
					// The jump's target, E9 and a distance of four bytes.
					if s.Size != 5 || o == "" {
						t.Errorf("%x: thunk of %d bytes to %q", rva, s.Size, o)
					}
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
			score.Report(t, "PDB "+strings.TrimSuffix(c.file, ".pdb")+", every procedure", symtest.Bars{Names: 100})
			if procedures != c.procedures || thunks != c.thunks || len(folds) != c.folds {
				t.Errorf("%d procedures, %d thunks, %d folded; want %d, %d, %d",
					procedures, thunks, len(folds), c.procedures, c.thunks, c.folds)
			}
		})
	}
}

// TestConformanceThunks reads the jumps of an incrementally linked image and
// wants each thunk named for what it jumps to.
func TestConformanceThunks(t *testing.T) {
	table := openData(t, "registry.pdb")
	image, err := pe.Open(symtest.Path(t, "pdb", "registry.node"))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	var c symtest.Comparison
	err = table.Procedures(func(rva uint64, name string) bool {
		s, err := table.Lookup(rva)
		if err != nil || s.Kind != symbols.ILTThunk {
			return true
		}
		c.Names.All++
		var jump [5]byte
		for _, sec := range image.Sections {
			if off := int64(rva) - int64(sec.VirtualAddress); off >= 0 && off < int64(sec.Size) {
				if _, err := sec.ReadAt(jump[:], off); err != nil {
					t.Fatal(err)
				}
			}
		}
		if jump[0] != 0xE9 {
			t.Errorf("%#x: no jump: % x", rva, jump)
			return true
		}
		to := rva + 5 + uint64(int32(le.Uint32(jump[1:])))
		target, err := table.Lookup(to)
		if err == nil && target.Start == to && s.Outermost().Function == target.Outermost().Function {
			c.Names.Same++
			return true
		}
		d := symtest.Difference{Subject: symtest.Name, Address: rva, Symbol: s, Err: err, Got: s.Outermost().Function}
		if err == nil {
			d.Want = target.Outermost().Function
		}
		c.Differ(&c.Names, d)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	if c.Names.All != 2318 {
		t.Errorf("%d thunks, want 2318", c.Names.All)
	}
	c.Report(t, "PDB registry, thunks by the image's jumps", symtest.Bars{Names: 100})
}

// TestConformanceInlinees reads every inline site of a file whose ids refer to other
// modules, and wants a name, a line and a file for each.
func TestConformanceInlinees(t *testing.T) {
	for _, c := range []struct {
		file         string
		sites, cross int
	}{
		{"conpty.pdb", 4525, 131},
		{"registry.pdb", 6341, 0},
		{"dump_syms_regtest64.pdb", 158, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			table := openData(t, c.file)
			sites, cross, unsure := 0, 0, 0
			var score symtest.Comparison
			eachDetail(t, table, func(e *entry, d *detail) {
				for _, s := range d.sites {
					sites++
					if s.id&crossScope != 0 {
						cross++
					}
					if s.name == "" || strings.HasPrefix(s.name, "(inlined function") {
						t.Errorf("%s: inlined function %#x has no name", d.name, s.id)
					} else {
						score.Inlines.Same++
					}
				}
				for _, sp := range d.spans {
					if sp.end > uint64(e.size) {
						t.Errorf("%s: inlined code up to %#x of %#x bytes", d.name, sp.end, e.size)
					}
					// Each frame but the procedure's has a line; the
					// procedure has none if the compiler made it up.
					for n := sp.owner; n >= 0; n = d.sites[n].parent {
						r := rowAt(d.sites[n].rows, uint32(sp.start))
						if r != nil && r.line == 0 && d.files[r.file] != "" {
							unsure++ // its id has two places in the file
						} else if r == nil || r.line == 0 || d.files[r.file] == "" {
							t.Errorf("%s: no line at %#x in %s", d.name, sp.start, d.sites[n].name)
						}
					}
				}
			})
			if unsure > sites/100 {
				t.Errorf("%d of %d inlined calls have no line", unsure, sites)
			}
			score.Inlines.All = sites
			score.Report(t, "PDB "+strings.TrimSuffix(c.file, ".pdb")+", inlined calls named", symtest.Bars{})
			if sites != c.sites || cross != c.cross {
				t.Errorf("%d sites, %d of them cross-module; want %d, %d", sites, cross, c.sites, c.cross)
			}
		})
	}
}
