package pdb

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"logparser/symbols"
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

// score counts what agrees with an expected table.
type score struct {
	same, all int
	// causes counts the differences that are understood, by their cause.
	causes map[string]int
}

func (s *score) add(ok bool) {
	s.all++
	if ok {
		s.same++
	}
}

func (s *score) explain(cause string) {
	if s.causes == nil {
		s.causes = map[string]int{}
	}
	s.causes[cause]++
}

func (s *score) explained() int {
	n := 0
	for _, c := range s.causes {
		n += c
	}
	return n
}

func (s *score) percent() float64 {
	if s.all == 0 {
		return 100
	}
	return 100 * float64(s.same) / float64(s.all)
}

func (s *score) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d = %.2f %%", s.same, s.all, s.percent())
	var causes []string
	for c, n := range s.causes {
		causes = append(causes, fmt.Sprintf("%d %s", n, c))
	}
	slices.Sort(causes)
	if len(causes) > 0 {
		fmt.Fprintf(&b, "; %s", strings.Join(causes, ", "))
	}
	return b.String()
}

// TestConformance holds look-ups against tables that another tool made, with
// Microsoft's own reader or with a Rust one.
//
// Names are compared at the outermost frame by [symtest.SameAs]. The tables'
// line rows are the procedure's own lines: for inlined code the line of the
// call, so they too are compared at the outermost frame. A row of size 0 is
// the opening line of a function whose first byte already belongs to the next
// row; no address has that line.
//
// The causes of the differences:
//
//   - The tables of Microsoft's reader drop one underscore in front of C names,
//     as if they were decorated. On x64 they are not, so that the name in the
//     table is not that of the source.
//   - They cut the last piece off a procedure that OMAP has rearranged, where
//     that is shorter than what was inserted before it.
//   - They leave the type of a pointer to a function blank.
//   - The undecorator that wrote the publics of basic32-min gives up on
//     functions that return or take pointers to functions, or leaves brackets
//     unbalanced, or calls constructors "ctor" and conversions "operatorcast";
//     and it drops the calling convention of pointers to functions.
//   - That table also has assembler labels that the linker did not mark as
//     code. The marks are all that tells them from strings in the same
//     section, so they are not looked up; where a procedure covers them, it is
//     what is found.
func TestConformance(t *testing.T) {
	for _, c := range []struct {
		name string
		// The least shares in percent, sizes with the explained ones. All
		// differences of publics must be explained.
		names, lines, sizes float64
	}{
		{"dump_syms_regtest64", 100, 100, 100},
		{"basic32-min", 100, 100, 100},
		{"dump_syms_regtest", 100, 100, 100},
		{"omap_reorder_bbs", 100, 100, 99.8},
		{"omap_stretched", 100, 100, 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := openData(t, c.name+".pdb")
			sym := symtest.Load(t, "pdb", c.name+".sym")
			if id := table.Identity(); sym.ID != fmt.Sprintf("%s%x", id.PDB.Key(), id.Age) {
				t.Errorf("identity %v, the table says %s", id, sym.ID)
			}
			var names, params, lines, sizes, publics score
			for i := range sym.Funcs {
				compareFunc(t, table, sym, i, &names, &params, &sizes)
				compareLines(t, table, &sym.Funcs[i], &lines)
			}
			for i := range sym.Publics {
				comparePublic(t, table, &sym.Publics[i], &publics)
			}
			t.Logf("names %v", &names)
			t.Logf("parameters %v", &params)
			t.Logf("lines %v", &lines)
			t.Logf("sizes %v", &sizes)
			t.Logf("publics %v", &publics)
			if names.percent() < c.names {
				t.Errorf("names: %.2f %%, want %.2f", names.percent(), c.names)
			}
			if lines.percent() < c.lines {
				t.Errorf("lines: %.2f %%, want %.2f", lines.percent(), c.lines)
			}
			if got := 100 * float64(sizes.same+sizes.explained()) / float64(sizes.all); got < c.sizes {
				t.Errorf("sizes: %.2f %%, want %.2f", got, c.sizes)
			}
			if n := publics.all - publics.same - publics.explained(); n > 0 {
				t.Errorf("publics: %d differences that are not explained", n)
			}
		})
	}
}

func compareFunc(t *testing.T, table *Table, sym *symtest.Table, i int, names, params, sizes *score) {
	f := &sym.Funcs[i]
	s, err := table.Lookup(f.Address)
	if err != nil {
		t.Errorf("%x %s: %v", f.Address, f.Name, err)
		names.add(false)
		sizes.add(false)
		return
	}
	o := s.Outermost()
	same := symtest.SameAs(f.Name, o.Function, s.Aliases)
	if !same && sym.Arch == "x86_64" && "_"+symtest.Plain(f.Name) == symtest.Plain(o.Function) {
		names.explain("the same but for an underscore dropped by the table")
		same = true
	}
	names.add(same)
	if !same {
		t.Errorf("%x %s: got %s, aliases %q", f.Address, f.Name, o.Function, s.Aliases)
	}
	if want, ok := symtest.Parameters(f.Name); ok {
		if got, ok := symtest.Parameters(o.Signature); ok {
			params.add(got == want)
			switch {
			case got == want:
			case strings.HasPrefix(want, "*") || strings.Contains(want, ",*"):
				params.explain("pointer to function left blank by the table")
			default:
				t.Errorf("%x %s: parameters %s", f.Address, f.Name, o.Signature)
			}
		}
	}
	same = s.Start == f.Address && s.Size == f.Size
	sizes.add(same)
	if !same {
		if joined(sym.Funcs, f, &s) {
			sizes.explain("piece cut in two by the table")
		} else {
			t.Logf("%x %s: %x bytes from %x, want %x", f.Address, f.Name, s.Size, s.Start, f.Size)
		}
	}
}

// joined reports whether a symbol's extent is that of several rows of one
// function with nothing but inserted code between them.
func joined(funcs []symtest.Func, f *symtest.Func, s *symbols.Symbol) bool {
	end := uint64(0)
	starts := false
	for i := range funcs {
		g := &funcs[i]
		if g.Address < s.Start || g.Address >= s.Start+s.Size {
			continue
		}
		if g.Name != f.Name {
			return false
		}
		starts = starts || g.Address == s.Start
		end = max(end, g.Address+g.Size)
	}
	return starts && end == s.Start+s.Size
}

func compareLines(t *testing.T, table *Table, f *symtest.Func, lines *score) {
	for _, l := range f.Lines {
		if l.Size == 0 {
			continue
		}
		// The first and the last byte of the row. Rows may go on into the
		// padding behind the function.
		last := min(l.Address+l.Size, f.Address+f.Size) - 1
		for _, rva := range []uint64{l.Address, last} {
			s, err := table.Lookup(rva)
			if err != nil {
				t.Errorf("line at %x of %s: %v", rva, f.Name, err)
				lines.add(false)
				continue
			}
			o := s.Outermost()
			same := o.File == l.File && o.Line == l.Line
			lines.add(same)
			if !same {
				t.Logf("line at %x of %s: %s:%d, want %s:%d", rva, f.Name, o.File, o.Line, l.File, l.Line)
			}
		}
	}
}

func comparePublic(t *testing.T, table *Table, p *symtest.Public, publics *score) {
	s, err := table.Lookup(p.Address)
	if err == nil && s.Start == p.Address && symtest.SameAs(p.Name, s.Outermost().Function, s.Aliases) {
		publics.add(true)
		return
	}
	publics.add(false)
	got := ""
	if err == nil {
		got = s.Outermost().Function
	}
	code, marked := publicMark(t, table, p.Address)
	switch {
	case code && !marked && (err != nil || s.Start < p.Address):
		publics.explain("label not marked as code")
	case !code && err != nil:
		publics.explain("no such public in the file")
	case err == nil && s.Start == p.Address && garbled(p.Name):
		publics.explain("name garbled by the table")
	case err == nil && s.Start == p.Address && symtest.Plain(p.Name) == symtest.Plain(withoutConventions(got)):
		publics.explain("calling convention dropped by the table")
	default:
		t.Errorf("public at %x: %q from %x (%v), want %s", p.Address, got, s.Start, err, p.Name)
	}
}

// publicMark reports whether the file has a public at an RVA, and whether one
// of them is marked as code.
func publicMark(t *testing.T, table *Table, rva uint64) (exists, marked bool) {
	source := uint32(rva)
	if table.layout.present() {
		source, _, _ = table.layout.source(source)
	}
	sec, off, ok := table.sections.find(source)
	if !ok {
		return false, false
	}
	list, err := table.publics.last(at(sec, off))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.addr == at(sec, off) {
			exists = true
			marked = marked || p.code
		}
	}
	return exists, marked
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

// TestProcedures looks up the start of every procedure of two large files and
// wants its own name back, or that name among the aliases.
func TestProcedures(t *testing.T) {
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
			err := table.Procedures(func(rva uint64, name string) bool {
				procedures++
				s, err := table.Lookup(rva)
				if err != nil {
					t.Errorf("%x %s: %v", rva, name, err)
					return true
				}
				o := s.Outermost().Function
				if o != name && !slices.Contains(s.Aliases, name) {
					t.Errorf("%x %s: got %s, aliases %q", rva, name, o, s.Aliases)
				}
				if o != name {
					folds[rva] = true
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
			if procedures != c.procedures || thunks != c.thunks || len(folds) != c.folds {
				t.Errorf("%d procedures, %d thunks, %d folded; want %d, %d, %d",
					procedures, thunks, len(folds), c.procedures, c.thunks, c.folds)
			}
		})
	}
}

// TestInlinees reads every inline site of a file whose ids refer to other
// modules, and wants a name, a line and a file for each.
func TestInlinees(t *testing.T) {
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
			sites, cross := 0, 0
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
					for _, s := range d.sites {
						sites++
						if s.id&crossScope != 0 {
							cross++
						}
						if s.name == "" || strings.HasPrefix(s.name, "(inlined function") {
							t.Errorf("%s: inlined function %#x has no name", d.name, s.id)
						}
					}
					for _, sp := range d.spans {
						if sp.end > uint64(x.entries[j].size) {
							t.Errorf("%s: inlined code up to %#x of %#x bytes", d.name, sp.end, x.entries[j].size)
						}
						// Each frame but the procedure's has a line; the
						// procedure has none if the compiler made it up.
						for n := sp.owner; n >= 0; n = d.sites[n].parent {
							r := rowAt(d.sites[n].rows, uint32(sp.start))
							if r == nil || r.line == 0 || d.files[r.file] == "" {
								t.Errorf("%s: no line at %#x in %s", d.name, sp.start, d.sites[n].name)
							}
						}
					}
				}
			}
			if sites != c.sites || cross != c.cross {
				t.Errorf("%d sites, %d of them cross-module; want %d, %d", sites, cross, c.sites, c.cross)
			}
		})
	}
}
