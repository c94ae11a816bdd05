package dwarf

import (
	"bytes"
	std "debug/dwarf"
	"debug/elf"
	"io"
	"path/filepath"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/line"
	"github.com/go-delve/delve/pkg/dwarf/reader"
)

// wholeFiles are those that debug/dwarf can read; big-endian DWARF 5 with
// indexed strings it cannot.
var wholeFiles = []string{"gcc4.so", "gcc5.so", "clang4.so", "clang5.so", "gc.so", "gcc5-zlib.so", "armv7.so", "aarch64.so", "i386.so"}

// TestAgainstDebugDwarf holds every function's pieces and every line row
// against debug/dwarf, and every chain of inlined calls against delve.
func TestAgainstDebugDwarf(t *testing.T) {
	for _, name := range wholeFiles {
		t.Run(name, func(t *testing.T) {
			table := openPair(t, name)
			table.indexOnce.Do(table.buildIndex)
			f, err := elf.Open(filepath.Join("testdata", name))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			data, err := f.DWARF()
			if err != nil {
				t.Fatal(err)
			}
			functions, calls, rows := 0, 0, 0
			r := data.Reader()
			var u *unit
			for {
				e, err := r.Next()
				if err != nil {
					t.Fatal(err)
				}
				if e == nil {
					break
				}
				switch e.Tag {
				case std.TagCompileUnit:
					u = table.src.unitAt(int64(e.Offset))
					if u == nil {
						t.Fatalf("no unit at %#x", e.Offset)
					}
					rows += checkRows(t, table, u, data, e)
				case std.TagSubprogram:
					n, m := checkFunction(t, table, u, data, e)
					functions += n
					calls += m
				}
			}
			t.Logf("%d pieces of functions, %d addresses in inlined calls, %d rows", functions, calls, rows)
			if functions < 10 || calls < 10 || rows < 50 {
				t.Error("too few were compared")
			}
		})
	}
}

// checkRows compares a unit's line rows.
func checkRows(t *testing.T, table *Table, u *unit, data *std.Data, e *std.Entry) (n int) {
	t.Helper()
	lr, err := data.LineReader(e)
	if err != nil || lr == nil {
		t.Fatal(err)
	}
	lines, err := table.lines(u)
	if err != nil {
		t.Fatal(err)
	}
	var rows []std.LineEntry
	for {
		var row std.LineEntry
		if err := lr.Next(&row); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	for i, row := range rows {
		// Of several rows at one address the last counts.
		if row.EndSequence || i+1 < len(rows) && rows[i+1].Address == row.Address && !rows[i+1].EndSequence {
			continue
		}
		if i+1 < len(rows) && rows[i+1].Address == row.Address || !table.isCode(span{row.Address, row.Address + 1}) {
			continue
		}
		n++
		file, line, ok := lines.find(row.Address)
		// debug/dwarf leaves the folder of directories that begin with "." out.
		if !ok || int(line) != row.Line || filepath.Base(lines.path(file)) != filepath.Base(row.File.Name) {
			t.Errorf("%#x: %s:%d, %v, want %s:%d", row.Address, lines.path(file), line, ok, row.File.Name, row.Line)
		}
	}
	return n
}

// checkFunction compares a function's pieces and the inlined calls in it.
func checkFunction(t *testing.T, table *Table, u *unit, data *std.Data, e *std.Entry) (pieces, inlined int) {
	t.Helper()
	ranges, err := data.Ranges(e)
	if err != nil {
		// Older ones do not find the range lists of DWARF 5 in every file.
		t.Skipf("the debug/dwarf of this Go cannot read the file: %v", err)
	}
	tree, err := table.tree(u)
	if err != nil {
		t.Fatal(err)
	}
	var calls *godwarf.Tree
	for _, r := range ranges {
		if r[0] >= r[1] || !table.isCode(span{r[0], r[1]}) {
			continue
		}
		pieces++
		p, ok := tree.find(r[0])
		if !ok || tree.parts[p].lo != r[0] || tree.parts[p].hi != r[1] {
			t.Errorf("%#x: want the piece of %#x from there to %#x", r[0], e.Offset, r[1])
			continue
		}
		if tree.functions[tree.parts[p].fn].die != int64(e.Offset) {
			continue // folded with another
		}
		if calls == nil {
			if calls, err = godwarf.LoadTree(e.Offset, data, 0); err != nil {
				t.Fatal(err)
			}
		}
		for addr := r[0]; addr < r[1]; addr++ {
			stack := reader.InlineStack(calls, addr)
			at := tree.innermost(p, addr)
			for i := range stack {
				if at == none {
					t.Errorf("%#x: inlined call %d of %d is missing", addr, i, len(stack))
					break
				}
				inlined++
				n := tree.nodes[at]
				line, _ := stack[i].Val(std.AttrCallLine).(int64)
				file, _ := stack[i].Val(std.AttrCallFile).(int64)
				if int64(n.callLine) != line || int64(n.callFile) != file {
					t.Errorf("%#x: called at %d:%d, want %d:%d", addr, n.callFile, n.callLine, file, line)
				}
				at = n.parent
			}
			if at != none {
				t.Errorf("%#x: more than the %d inlined calls", addr, len(stack))
			}
		}
	}
	return pieces, inlined
}

// TestAgainstDelveLines holds line tables against delve's reader, which knows
// little-endian ones with 32-bit offsets.
func TestAgainstDelveLines(t *testing.T) {
	for _, name := range []string{"gcc4.so", "gcc5.so", "clang4.so", "clang5.so", "i386.so", "armv7.so", "aarch64.so"} {
		t.Run(name, func(t *testing.T) {
			table := openPair(t, name)
			table.indexOnce.Do(table.buildIndex)
			section := func(name string) []byte {
				c, err := table.src.section(name)
				if err != nil {
					return nil
				}
				b, err := c.Bytes(0, c.Size())
				if err != nil {
					t.Fatal(err)
				}
				return b
			}
			data, lineStr := section("line"), section("line_str")
			n := 0
			for _, u := range table.src.units {
				lines, err := table.lines(u)
				if err != nil {
					t.Fatal(err)
				}
				buf := bytes.NewBuffer(data[u.root.stmtList.u:])
				want := line.Parse(u.compDir(), buf, lineStr, nil, 0, false, int(u.addrSize))
				for _, s := range lines.seqs {
					starts := map[uint64]bool{}
					for _, r := range lines.rows[s.first:s.last] {
						starts[s.lo+uint64(r.off)] = true
					}
					for addr := s.lo; addr < s.hi; addr++ {
						// Where several rows have one address, delve takes
						// the first, which covers nothing.
						if starts[addr] {
							continue
						}
						n++
						f, l, ok := lines.find(addr)
						file, line := want.PCToLine(s.lo, addr)
						// delve leaves the folder of DWARF 4's relative
						// directories out.
						if !ok || int(l) != line || filepath.Base(lines.path(f)) != filepath.Base(file) {
							t.Errorf("%#x: %s:%d, %v, want %s:%d", addr, lines.path(f), l, ok, file, line)
						}
					}
				}
			}
			if n < 500 {
				t.Errorf("only %d addresses", n)
			}
		})
	}
}
