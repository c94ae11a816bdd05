package gosym

import (
	"bytes"
	std "debug/gosym"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"logparser/symbols"
	"logparser/symbols/dwarf"
	"logparser/symbols/store"
	"logparser/symbols/symtab"
)

// A target is a way to build the program.
type target struct {
	name  string
	env   string // GOOS=… GOARCH=…
	flags string
}

var targets = []target{
	{"linux-amd64", "GOOS=linux GOARCH=amd64", ""},
	{"linux-amd64-pie", "GOOS=linux GOARCH=amd64", "-buildmode=pie"},
	{"linux-386", "GOOS=linux GOARCH=386", ""},
	{"linux-arm64", "GOOS=linux GOARCH=arm64", ""},
	{"windows-amd64", "GOOS=windows GOARCH=amd64", ""},
}

// cgoTargets are linked by the C compiler, with its code before Go's.
var cgoTargets = []target{
	{"cgo-shared", "CGO_ENABLED=1", "-buildmode=c-shared"},
}

// The standard library has to be built for each target, which takes long: the
// rest is for long runs.
func init() {
	if os.Getenv("LOGPARSER_SOAK") == "" && os.Getenv("LOGPARSER_GO") == "" {
		return
	}
	targets = append(targets,
		target{"linux-arm64-pie", "GOOS=linux GOARCH=arm64", "-buildmode=pie"},
		target{"linux-s390x", "GOOS=linux GOARCH=s390x", ""}, // big-endian
		target{"windows-386", "GOOS=windows GOARCH=386", ""})
	cgoTargets = append(cgoTargets,
		target{"cgo", "CGO_ENABLED=1", "-ldflags=-linkmode=external"},
		target{"cgo-pie", "CGO_ENABLED=1", "-buildmode=pie"})
}

// built is where programs are kept for all tests.
var built struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build builds the program with a go command and returns its path.
func build(t testing.TB, goCommand string, to target, strip bool) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	key := fmt.Sprint(goCommand, to, strip)
	if path := built.paths[key]; path != "" {
		return path
	}
	dir, err := filepath.Abs("testdata/shapes")
	if err != nil {
		t.Fatal(err)
	}
	if built.dir == "" {
		if built.dir, err = os.MkdirTemp("", "gosym-*"); err != nil {
			t.Fatal(err)
		}
		built.paths = make(map[string]string)
	}
	out := filepath.Join(built.dir, fmt.Sprint(len(built.paths)), "shapes")
	args := []string{"build", "-trimpath", "-o", out}
	if to.flags != "" {
		args = append(args, to.flags)
	}
	if strip {
		flags := "-ldflags=-s -w"
		if mode, ok := strings.CutPrefix(to.flags, "-ldflags="); ok {
			flags += " " + mode
		}
		args = append(args, flags)
	}
	cmd := exec.Command(goCommand, append(args, ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOENV=off", "GOFLAGS=", "GOROOT=", "GOWORK=off", "GOTOOLCHAIN=local")
	cmd.Env = append(cmd.Env, strings.Fields(to.env)...)
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, b)
	}
	built.paths[key] = out
	return out
}

// goCommand returns the installed go command; the test is skipped without one.
func goCommand(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	return path
}

func openFile(t testing.TB, path string) *symbols.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return &symbols.File{Path: filepath.Base(path), ReaderAt: f, Size: info.Size(), Closer: f}
}

func openTable(t testing.TB, path string) *Table {
	t.Helper()
	table, err := Open(openFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table.(*Table)
}

// boundaries returns the RVAs of a function at which its line, file or inlined
// call changes, and its last byte.
func boundaries(table *Table, i int) []uint64 {
	f, err := table.tab.function(i)
	if err != nil {
		return nil
	}
	start := table.text + table.tab.start(i) - table.im.Base
	out := []uint64{start}
	for _, off := range []uint32{table.tab.fieldOf(f, fieldLine), table.tab.pcdata(f, inlineIndex)} {
		for w := table.tab.walk(off); w.next(); {
			if w.from < w.to {
				out = append(out, start+w.from, start+w.to-1)
			}
		}
	}
	return out
}

func lookup(t testing.TB, table symbols.Table, rva uint64) symbols.Symbol {
	t.Helper()
	sym, err := table.Lookup(rva)
	if err != nil {
		t.Fatalf("RVA %#x: %v", rva, err)
	}
	return sym
}

func render(frames []symbols.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&b, "%s %s:%d\n", f.Function, f.File, f.Line)
	}
	return b.String()
}

// TestAgainstDWARF holds the stripped program against the DWARF of its twin.
func TestAgainstDWARF(t *testing.T) {
	command := goCommand(t)
	for _, to := range targets {
		t.Run(to.name, func(t *testing.T) {
			compareDWARF(t, build(t, command, to, true), build(t, command, to, false), 0)
		})
	}
}

// compareDWARF permits that many addresses in a thousand to differ.
func compareDWARF(t *testing.T, stripped, full string, permille int) {
	table := openTable(t, stripped)
	if table.inlining == nil {
		t.Error("inlined calls are not found")
	}
	other, err := dwarf.Open(openFile(t, full))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := dwarf.Open(openFile(t, stripped)); !errors.Is(err, symbols.ErrNoSymbols) {
		t.Fatalf("the stripped program's DWARF: %v", err)
	}
	functions, points, differences, inlined, silent := 0, 0, 0, 0, 0
	for i := range table.tab.len() {
		if i == 0 && table.buildID {
			continue
		}
		start := table.text + table.tab.start(i) - table.im.Base
		got := lookup(t, table, start)
		want, err := other.Lookup(start)
		if err != nil || want.Kind != symbols.Procedure {
			continue // assembler code
		}
		functions++
		if want.Start != got.Start || want.Size != got.Size || !sameName(got.Outermost(), want.Outermost().Function) {
			t.Errorf("RVA %#x: %s %#x+%#x, DWARF: %s %#x+%#x", start, got.Outermost().Function, got.Start, got.Size,
				want.Outermost().Function, want.Start, want.Size)
		}
		for _, rva := range boundaries(table, i) {
			got, want := lookup(t, table, rva), lookup(t, other, rva)
			points++
			inlined += len(got.Frames) - 1
			if want.Frames[0].Line == 0 {
				silent++
			}
			if !sameFrames(got.Frames, want.Frames) {
				if differences++; differences < 10 && permille == 0 {
					t.Errorf("RVA %#x:\n%s\nDWARF:\n%s", rva, render(got.Frames), render(want.Frames))
				}
			}
		}
	}
	if differences*1000 > points*permille {
		t.Errorf("%d of %d addresses differ", differences, points)
	}
	if silent > points/100 {
		t.Errorf("DWARF has no line for %d of %d addresses", silent, points)
	}
	t.Logf("%d functions, %d addresses, %d inlined calls; %d differ, %d have no line in DWARF", functions, points, inlined,
		differences, silent)
}

// sameName compares a frame with a name that has its type arguments; between
// 1.18 and 1.20 the pclntab has none.
func sameName(f *symbols.Frame, full string) bool {
	if f.Signature != "" {
		return f.Signature == full
	}
	return f.Function == printed(full)
}

// sameFrames compares chains of frames. Some code has lines in the pclntab only:
// what the compiler made by itself (wrappers, comparisons), and single
// instructions at the start of a function.
func sameFrames(got, dwarf []symbols.Frame) bool {
	if len(got) != len(dwarf) {
		return false
	}
	for i := range got {
		g, d := &got[i], &dwarf[i]
		if !sameName(g, d.Function) || d.Line != 0 && (g.File != d.File || g.Line != d.Line) {
			return false
		}
	}
	return true
}

// TestAgainstDebugGosym holds functions, files and lines against debug/gosym.
func TestAgainstDebugGosym(t *testing.T) {
	command := goCommand(t)
	for _, to := range targets {
		t.Run(to.name, func(t *testing.T) {
			compareDebugGosym(t, build(t, command, to, true))
		})
	}
}

// TestCgo does so where C code is linked in.
func TestCgo(t *testing.T) {
	command := goCommand(t)
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOOS != "linux" {
		t.Skip("no gcc for this system")
	}
	for _, to := range cgoTargets {
		t.Run(to.name, func(t *testing.T) {
			stripped := build(t, command, to, true)
			compareDebugGosym(t, stripped)
			compareDWARF(t, stripped, build(t, command, to, false), 0)
			compareStubs(t, stripped)
		})
	}
}

// compareStubs holds that the stubs of the linkage table, which are no Go
// code, keep their names.
func compareStubs(t *testing.T, path string) {
	t.Helper()
	stubs, err := symtab.Open(openFile(t, path))
	if err != nil {
		t.Fatal(err)
	}
	defer stubs.Close()
	table, n := openTable(t, path), 0
	stubs.Procedures(func(rva uint64, name string) bool {
		if want, err := stubs.Lookup(rva); err != nil || want.Kind != symbols.PLT {
			return true
		}
		n++
		if got, err := table.Lookup(rva + 4); err != nil || got.Kind != symbols.PLT || got.Start != rva || got.Frames[0].Function != name {
			t.Errorf("%#x: %+v, %v, want %s", rva, got, err, name)
		}
		return true
	})
	if n < 5 && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		t.Errorf("%d stubs", n)
	}
}

func compareDebugGosym(t *testing.T, path string) {
	// Behind the image there is neither Go code nor a symbol of another language.
	if sym, err := openTable(t, path).Lookup(1 << 40); !errors.Is(err, symbols.ErrNotFound) {
		t.Errorf("behind the image there is %+v: %v", sym, err)
	}
	table := openTable(t, path)
	_, addr, err := findPclntab(table.im)
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for _, s := range table.im.Sections {
		if addr >= s.Addr && addr < s.Addr+s.MemSize {
			c, err := s.Content()
			if err != nil {
				t.Fatal(err)
			}
			if data, err = c.Bytes(int64(addr-s.Addr), c.Size()-int64(addr-s.Addr)); err != nil {
				t.Fatal(err)
			}
		}
	}
	oracle, err := std.NewTable(nil, std.NewLineTable(data, table.text))
	if err != nil {
		t.Fatal(err)
	}
	if len(oracle.Funcs) != table.tab.len() {
		t.Fatalf("%d functions, debug/gosym has %d", table.tab.len(), len(oracle.Funcs))
	}
	for i, want := range oracle.Funcs {
		rva := want.Entry - table.im.Base
		if table.tab.start(i) == table.tab.start(i+1) {
			continue
		}
		if i == 0 && table.buildID {
			if _, err := table.Lookup(rva); !errors.Is(err, symbols.ErrNotFound) || want.Name != "go:buildid" && want.Name != "go.buildid" {
				t.Errorf("%s: %v", want.Name, err)
			}
			continue
		}
		got := lookup(t, table, rva)
		if !sameName(got.Outermost(), want.Name) || got.Start != rva || got.Size > want.End-want.Entry {
			t.Fatalf("RVA %#x: %s %#x+%#x, debug/gosym: %s %#x+%#x", rva, got.Outermost().Function, got.Start, got.Size,
				want.Name, rva, want.End-want.Entry)
		}
		for _, rva := range boundaries(table, i) {
			got := lookup(t, table, rva).Frames[0]
			file, line, _ := oracle.PCToLine(rva + table.im.Base)
			if line <= 0 {
				file, line = "", 0
			}
			if got.File != file || got.Line != line {
				t.Fatalf("RVA %#x: %s:%d, debug/gosym: %s:%d", rva, got.File, got.Line, file, line)
			}
		}
	}
}

// TestAgainstRuntime holds the innermost frame of every address against what
// the program says of itself. (runtime.CallersFrames leaves it to
// runtime.Callers to find the others.)
func TestAgainstRuntime(t *testing.T) {
	command := goCommand(t)
	path := build(t, command, targets[0], true)
	if err := exec.Command(path).Run(); err != nil {
		t.Skip("the program does not run here: ", err)
	}
	compareRuntime(t, path)
}

func compareRuntime(t *testing.T, path string) {
	table := openTable(t, path)
	var in, said bytes.Buffer
	var all []uint64
	for i := range table.tab.len() {
		if table.tab.start(i) == table.tab.start(i+1) {
			continue
		}
		for _, rva := range boundaries(table, i) {
			if rva+1 == table.text+table.tab.start(i+1)-table.im.Base {
				continue // the runtime takes such a return address for the next function's
			}
			all = append(all, rva)
			fmt.Fprintf(&in, "%x\n", rva+table.im.Base)
		}
	}
	cmd := exec.Command(path)
	cmd.Stdin, cmd.Stdout = &in, &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	frames := strings.Split(strings.TrimSuffix(said.String(), "\n"), "\n")
	if len(frames) != len(all) {
		t.Fatalf("%d frames for %d addresses", len(frames), len(all))
	}
	differences := 0
	for i, rva := range all {
		f := lookup(t, table, rva).Frames[0]
		function, position, _ := strings.Cut(frames[i], "\t")
		if position == "?:0" {
			position = ":0"
		}
		if function == "" {
			// The runtime takes the first name of the table for none.
			function = f.Function
		}
		if f.Function != printed(function) || fmt.Sprintf("%s:%d", f.File, f.Line) != position {
			if differences++; differences < 10 {
				t.Errorf("RVA %#x: %s %s:%d, the runtime: %s", rva, f.Function, f.File, f.Line, frames[i])
			}
		}
	}
	t.Logf("%d addresses; %d differ", len(all), differences)
}

// TestFinder looks symbols up as programs do: by DWARF where there is any, else
// by the pclntab, which comes before the symbol tables.
func TestFinder(t *testing.T) {
	command := goCommand(t)
	finder := store.NewFinder([]symbols.Format{dwarf.Format, Format, symtab.Format}, nil, "", false)
	noDWARF := target{"no DWARF", targets[0].env, "-ldflags=-w"}
	for _, c := range []struct {
		path, describe string
	}{
		{build(t, command, targets[0], false), "DWARF 5"},
		{build(t, command, targets[0], true), "Go pclntab, Go 1.20 or later"},
		{build(t, command, noDWARF, false), "Go pclntab, Go 1.20 or later"},
	} {
		b, im, err := finder.FindFor(t.Context(), c.path)
		if err != nil {
			t.Fatal(err)
		}
		if b.Table == nil || b.Status != symbols.Embedded || b.Table.Describe() != c.describe {
			t.Fatalf("%s: %+v, want %s", c.path, b, c.describe)
		}
		defer b.Table.Close()
		if id := b.Table.Identity(); id.BuildID == "" || id != im.Identity {
			t.Errorf("identity %v, the image's %v", id, im.Identity)
		}
		var start uint64
		err = b.Table.Procedures(func(rva uint64, name string) bool {
			if name == "example.com/shapes/geometry.(*Square).Grow" {
				start = rva
			}
			return start == 0
		})
		if err != nil {
			t.Fatal(err)
		}
		sym := lookup(t, b.Table, start)
		if f := sym.Outermost(); !strings.HasSuffix(f.File, "geometry/geometry.go") || f.Line != 16 {
			t.Errorf("%s: %+v", c.describe, sym)
		}
	}
}

// TestNames has a function of each kind that Go makes, by the name that a
// stack trace gives it.
func TestNames(t *testing.T) {
	table := openTable(t, build(t, goCommand(t), targets[0], true))
	have := make(map[string]bool)
	err := table.Procedures(func(_ uint64, name string) bool {
		have[name] = true
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	const geometry = "example.com/shapes/geometry."
	for what, name := range map[string]string{
		"function":                      "main.total",
		"closure":                       "main.run.func2",
		"deferred closure":              "main.total.func1",
		"method value":                  geometry + "(*Square).Grow-fm",
		"method":                        geometry + "(*Square).Grow",
		"method made for a pointer":     geometry + "(*Square).Area",
		"generic function":              geometry + "Map[...]",
		"method of a generic type":      geometry + "(*Stack[...]).Push",
		"initialisation of a package":   "os.init",
		"comparison made by compiler":   "type:.eq.internal/abi.UncommonType",
		"code of the runtime, assembly": "runtime.rt0_go",
	} {
		if !have[name] {
			t.Errorf("%s: no %s", what, name)
		}
	}
}

// BenchmarkLookup looks up addresses all over the program.
func BenchmarkLookup(b *testing.B) {
	table := openTable(b, build(b, goCommand(b), targets[0], true))
	var all []uint64
	for i := range table.tab.len() {
		all = append(all, boundaries(table, i)...)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n += 7919 {
		if _, err := table.Lookup(all[n%len(all)]); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOlderReleases builds the program with other releases of Go, whose
// pclntabs have other forms: LOGPARSER_GO names their go commands, separated
// as PATH is.
func TestOlderReleases(t *testing.T) {
	list := filepath.SplitList(os.Getenv("LOGPARSER_GO"))
	if len(list) == 0 {
		t.Skip("LOGPARSER_GO names no go commands")
	}
	for _, command := range list {
		cmd := exec.Command(command, "version")
		cmd.Env = append(os.Environ(), "GOENV=off", "GOFLAGS=", "GOROOT=", "GOTOOLCHAIN=local")
		version, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range append(cgoTargets, targets...) {
			t.Run(strings.Fields(string(version))[2]+"/"+to.name, func(t *testing.T) {
				stripped := build(t, command, to, true)
				t.Log(openTable(t, stripped).Describe())
				compareDebugGosym(t, stripped)
				// Compilers before 1.20 contradict themselves here and there.
				compareDWARF(t, stripped, build(t, command, to, false), 5)
				if to == targets[0] {
					compareRuntime(t, stripped)
				}
			})
		}
	}
}
