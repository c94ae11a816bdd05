package app

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"logparser/modules"
	"logparser/rows"
)

// TestPointersNamed shows pointers among the values of calls: what leads to a function or to data that a symbol table names has
// that name, but only where the symbols are of the build that was recorded.
func TestPointersNamed(t *testing.T) {
	const plan = `lpvalues 1
machine x86-64
abi sysv
type 1 pointer 8 0 void*
module app
identity build-id 0102030405060708090a0b0c0d0e0f1011121314
function 100 10 use(void*)
enter rdi value 8 1 p
`
	program := filepath.Join(linuxFolder, "logtest")
	main, table := elfSymbol(t, program, "main").Value, elfSymbol(t, program, "_ZTVN6shapes6SquareE").Value
	result := elfSymbol(t, program, "_ZN3appL6resultE").Value
	other := identityOf(t, linuxFolder, "logtest")
	other.BuildID = strings.Repeat("x", len(other.BuildID))
	const linux, windows, msvc, rebuilt = 0x7f0000000000, 0x170000000, 0x180000000, 0x7e0000000000
	// The tables of shapes::Named by llvm-pdbutil.
	const windowsTable, msvcTable = 0x19000 + 1456, 0x6000 + 192
	pointers := []struct {
		to   uint64
		want string
	}{
		{0, "null"},
		{linux + main, "main"},
		{linux + main + 7, ""}, // in the midst of a function
		{linux + table, "vtable for shapes::Square"},
		{linux + table + 16, "vtable for shapes::Square+0x10"},
		{linux + result + 1, "app::result+0x1"},
		{linux + table, "vtable for shapes::Square"}, // once more
		{rebuilt + table, ""},
		{windows + procedureAt(t, filepath.Join(clangFolder, "logtest_shapes.dll"), "shapes::Square::area"), "shapes::Square::area"},
		{windows + windowsTable, "vtable for shapes::Named"},
		{windows + windowsTable + 0x10, "vtable for shapes::Named+0x10"},
		{windows + windowsTable + 8, ""}, // publics have no sizes
		{msvc + msvcTable, "vtable for shapes::Named"},
		{0x10, ""},
	}
	var b strings.Builder
	b.WriteString("file begin=1000\nchunk process\nclock @1000 ns=1000 wall=1700000000000000000\nsetting name=\"values\" value=\"plan 0 /app.lpvalues\"\n")
	b.WriteString(valuedModule(plan))
	for i, m := range []struct {
		base uint64
		name string
		id   modules.Identity
	}{
		{linux, "logtest", identityOf(t, linuxFolder, "logtest")}, {rebuilt, "logtest", other},
		{windows, "logtest_shapes.dll", identityOf(t, clangFolder, "logtest_shapes.dll")},
		{msvc, "logtest_shapes.dll", identityOf(t, logtest(t, "windows-x64-clangcl"), "logtest_shapes.dll")},
	} {
		fmt.Fprintf(&b, "load @1000 module=%d base=%#x size=0x26000 path=\"/nowhere/%s\" identity=\"%s\"\n", i+2, m.base, m.name, m.id)
	}
	b.WriteString("chunk events stream=1 thread=7 base=1000\nwindow w0 entry 0x400000\n")
	for _, p := range pointers {
		fmt.Fprintf(&b, "enter +1 w0 0x100\narguments 1 %x\nleave +1\n", binary.LittleEndian.AppendUint64(nil, p.to))
	}
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), b.String()), Symbols: []string{linuxFolder, clangFolder, logtest(t, "windows-x64-clangcl")}, NoRecordedPaths: true})
	shown := rows.With(s.Rows(), rows.Values)
	for i, p := range pointers {
		want := fmt.Sprintf("%#x", p.to)
		if p.to == 0 {
			want = p.want
		} else if p.want != "" {
			want += " <" + p.want + ">"
		}
		v := shown.Row(int64(2 * i)).Values
		if v == nil || len(v.Arguments) != 1 || v.Arguments[0].Text != want {
			t.Errorf("%#x is shown as %+v, want %s", p.to, v, want)
		}
	}
}
