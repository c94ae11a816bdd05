package app

import (
	"bytes"
	"context"
	"debug/dwarf"
	"debug/elf"
	"debug/pe"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"logparser/calls/values"
	"logparser/parser/probes"
	"logparser/recorder/probe"
	"logparser/symbols"
	"logparser/symbols/image"
)

// formalParameters returns, by the first bytes of functions of an ELF image, the names of their parameters,
// as debug/dwarf has them.
func formalParameters(t *testing.T, path string) map[uint64][]string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	byAddress := make(map[uint64][]string)
	var of []uint64 // where the parts of the last function begin
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		switch e.Tag {
		case dwarf.TagSubprogram:
			parts, err := data.Ranges(e)
			if err != nil {
				t.Fatal(err)
			}
			of = nil
			for _, part := range parts {
				byAddress[part[0]] = nil
				of = append(of, part[0])
			}
		case dwarf.TagFormalParameter:
			name, _ := e.Val(dwarf.AttrName).(string)
			if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok && name == "" {
				at := data.Reader()
				at.Seek(origin)
				if from, err := at.Next(); err == nil {
					name, _ = from.Val(dwarf.AttrName).(string)
				}
			}
			for _, low := range of {
				byAddress[low] = append(byAddress[low], name)
			}
		case dwarf.TagInlinedSubroutine, dwarf.TagLexDwarfBlock, dwarf.TagSubroutineType, dwarf.TagStructType, dwarf.TagClassType, 0x48, 0x4109: // and call sites
			r.SkipChildren()
		}
	}
	return byAddress
}

// TestPlanValues makes a plan of a program, and holds its functions and what is taken of each against debug/dwarf.
func TestPlanValues(t *testing.T) {
	path := filepath.Join(linuxFolder, "logtest")
	specs, err := ParseValueSpecs([]string{"*", "!main"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := PlanValues(t.Context(), Inputs{NoRecordedPaths: true}, []string{path}, specs)
	if err != nil {
		t.Fatal(err)
	}
	parameters := formalParameters(t, path)
	if len(p.Modules) != 1 || p.Machine != values.X8664 || p.ABI != values.SysV || p.Functions != len(p.Modules[0].Functions) || p.Functions < 20 {
		t.Fatalf("%d modules, %s %s, %d functions", len(p.Modules), p.Machine, p.ABI, p.Functions)
	}
	taken := 0
	for _, f := range p.Modules[0].Functions {
		names, ok := parameters[f.RVA]
		if !ok || strings.HasPrefix(f.Name, "main(") {
			t.Errorf("%s at %#x is in the plan", f.Name, f.RVA)
			continue
		}
		for _, v := range f.Enter {
			if v.Name == "?" || v.Name == "this" { // it has no name
				continue
			}
			if taken++; !slices.Contains(names, v.Name) {
				t.Errorf("%s at %#x has no parameter %s, but %v", f.Name, f.RVA, v.Name, names)
			}
		}
	}
	if taken < 10 {
		t.Errorf("%d arguments are taken", taken)
	}
	file := filepath.Join(t.TempDir(), "a.lpvalues")
	if err := p.Save(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	again, err := values.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := values.Write(&written, again); err != nil || !bytes.Equal(written.Bytes(), text) {
		t.Errorf("what was read is written in another way, %v", err)
	}
}

// TestPlanValuesRefused asks for plans that cannot be.
func TestPlanValuesRefused(t *testing.T) {
	in := Inputs{NoRecordedPaths: true}
	linux, windows := filepath.Join(linuxFolder, "logtest"), filepath.Join(clangFolder, "logtest.exe")
	if _, err := PlanValues(t.Context(), in, []string{filepath.Join(linuxFolder, "none")}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	if _, err := PlanValues(t.Context(), in, []string{linux, windows}, nil); err == nil || !strings.Contains(err.Error(), "one kind of processor and system") {
		t.Errorf("of two systems: %v", err)
	}
	if _, err := PlanValues(t.Context(), in, []string{filepath.Join(linuxFolder, "LogDetails.dat")}, nil); err == nil {
		t.Error("of a file that is no image there is a plan")
	}
	if _, err := ParseValueSpecs([]string{"f@"}); err == nil {
		t.Error("a choice without anything chosen is taken")
	}
	specs, err := ParseValueSpecs([]string{"no_such_function"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := PlanValues(t.Context(), in, []string{linux}, specs)
	if err != nil || p.Functions != 0 || len(p.Notes) != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPlanProbes makes probes for functions of a program by each tool, and reads the names that are written beside
// them as the reader of what tools print does.
func TestPlanProbes(t *testing.T) {
	path := filepath.Join(linuxFolder, "logtest")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	starts := make(map[uint64]bool)
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 {
			starts[s.Value] = true
		}
	}
	specs, err := ParseValueSpecs([]string{"app::*", "shapes::*"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ProbeToolNames() {
		tool := FindProbeTool(name)
		p, err := PlanProbes(t.Context(), Inputs{NoRecordedPaths: true}, path, specs, ProbeOptions{Options: probe.Options{Tool: tool, Return: true}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.Functions < 10 || len(p.Probes) <= p.Functions {
			t.Errorf("%s: %d functions, %d probes", name, p.Functions, len(p.Probes))
		}
		for _, b := range p.Probes {
			if !starts[b.Function.RVA] {
				t.Errorf("%s: %s is said to begin at %#x", name, b.Function.Name, b.Function.RVA)
			}
			if !strings.Contains(b.Function.Name, "app::") && !strings.Contains(b.Function.Name, "shapes::") {
				t.Errorf("%s: %s was not asked for", name, b.Function.Name)
			}
		}
		script := filepath.Join(t.TempDir(), "p"+tool.Extension)
		names, err := p.SaveProbes(t.Context(), script)
		if name == "windbg" {
			if !errors.Is(err, probe.ErrTool) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		read, err := os.Open(names)
		if err != nil {
			t.Fatal(err)
		}
		n, err := probes.ReadNames(read)
		read.Close()
		if err != nil || len(n.Events) != len(p.Probes) {
			t.Errorf("%s: %d names of %d probes, %v", name, len(n.Events), len(p.Probes), err)
		}
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range n.Events {
			if !bytes.Contains(text, []byte(e.Name)) {
				t.Errorf("%s: the script has no %s", name, e.Name)
				break
			}
		}
	}
}

// TestPlanProbesRefused asks for probes that cannot be.
func TestPlanProbesRefused(t *testing.T) {
	in, opt := Inputs{NoRecordedPaths: true}, ProbeOptions{Options: probe.Options{Tool: FindProbeTool("perf")}}
	specs, err := ParseValueSpecs([]string{"no_such_function"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := PlanProbes(t.Context(), in, filepath.Join(linuxFolder, "logtest"), specs, opt); !errors.Is(err, ErrNoFunction) {
		t.Errorf("no function fits: %v", err)
	}
	if _, err := PlanProbes(t.Context(), in, filepath.Join(linuxFolder, "none"), specs, opt); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	if _, err := PlanProbes(t.Context(), in, filepath.Join(linuxFolder, "LogDetails.dat"), specs, opt); err == nil {
		t.Error("a log has probes")
	}
	if FindProbeTool("none") != nil {
		t.Error("there is a tool none")
	}
}

// TestPlanProbingARM64 takes what declarations say from where the program's own processor has it, and refuses registers of another.
func TestPlanProbingARM64(t *testing.T) {
	path := filepath.Join("..", "symbols", "dwarf", "testdata", "aarch64.so")
	specs, err := ParseValueSpecs([]string{"folded_a"})
	if err != nil {
		t.Fatal(err)
	}
	for declaration, want := range map[string]string{
		"int _Z8folded_ai(int a, const char *s);": "a:x0 s:x1", "int _Z8folded_ai(const char *s asm(\"r8\"));": "the declaration of folded_a(int) names registers of x86-64, which aarch64.so is not for",
	} {
		file := filepath.Join(t.TempDir(), "own.h")
		if err := os.WriteFile(file, []byte(declaration+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		own, err := ReadPrototypes(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := PlanProbing(t.Context(), Inputs{NoRecordedPaths: true}, ProbingOptions{Image: path, Functions: specs, Values: specs, Prototypes: own})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if plan, err := p.planValues(t.Context(), Inputs{NoRecordedPaths: true}); err != nil {
			got = err.Error()
		} else {
			for _, v := range plan.Modules[0].Functions[0].Enter {
				got = strings.TrimSpace(got + " " + v.Name + ":" + v.Place)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", declaration, got, want)
		}
	}
}

// TestPlanLibraryValues makes the plan of calls into the libraries of a program: what the library's own debug
// information tells, and what prototypes do.
func TestPlanLibraryValues(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("libraries of this system are not for the program")
	}
	dir := copyDir(t, linuxFolder)
	prototypes := filepath.Join(dir, "own.h")
	if err := os.WriteFile(prototypes, []byte("int logtest_sum(int first, int second);\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	own, err := ReadPrototypes(prototypes)
	if err != nil {
		t.Fatal(err)
	}
	specs, err := ParseValueSpecs([]string{"logtest_sum", "memcpy", "strlen"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := PlanLibraryValues(t.Context(), Inputs{NoRecordedPaths: true}, filepath.Join(dir, "logtest"), specs, own)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]string)
	for _, m := range p.Modules {
		end := uint64(0)
		for _, f := range m.Functions {
			if f.RVA < end {
				t.Errorf("%s of %s lies in the one before", f.Name, m.Name)
			}
			end = f.RVA + f.Size
			for _, v := range f.Enter {
				found[f.Name] = append(found[f.Name], v.Name)
			}
		}
	}
	sum := ""
	for name := range found {
		if strings.HasPrefix(name, "logtest_sum") {
			sum = name
		}
	}
	if !slices.Equal(found[sum], []string{"first", "second"}) {
		t.Errorf("the library's function takes %v", found)
	}
	var builtin bytes.Buffer
	if err := WritePrototypes(&builtin); err != nil {
		t.Fatal(err)
	}
	if _, err := values.ReadPrototypes(&builtin); err != nil {
		t.Errorf("the prototypes that come along: %v", err)
	}
	if _, err := ReadPrototypes(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	if _, err := PlanLibraryValues(t.Context(), Inputs{}, filepath.Join(dir, "LogDetails.dat"), specs, nil); err == nil {
		t.Error("a log has libraries")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := PlanValues(cancelled, Inputs{NoRecordedPaths: true}, []string{filepath.Join(dir, "logtest")}, specs); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestBeginsWithCall: functions of x86 with a hook begin with a call, behind what patches may have replaced.
func TestBeginsWithCall(t *testing.T) {
	path := filepath.Join(logtest(t, "windows-x86-clang"), "logtest.exe")
	data := readFile(t, path)
	f, err := pe.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	text := f.Section(".text")
	for _, test := range []struct {
		code string
		want bool
	}{
		{"\xe8\x01\x02\x03\x04", true},         // call
		{"\xff\x15\x01\x02\x03\x04", true},     // call of what an address holds
		{"\x8b\xff\xe8\x01\x02\x03\x04", true}, // mov edi, edi; call
		{"\x55\x8b\xec\xe8\x01", false},        // push ebp; mov ebp, esp
		{"\xff\x25\x01\x02\x03\x04", false},    // jmp
		{"\x8b\xff\x55\x8b\xec", false},
	} {
		changed := bytes.Clone(data)
		copy(changed[text.Offset:], test.code)
		im, err := image.Open(&symbols.File{Path: "logtest.exe", ReaderAt: bytes.NewReader(changed), Size: int64(len(changed))})
		if err != nil {
			t.Fatal(err)
		}
		if got := beginsWithCall(im, uint64(text.VirtualAddress)); got != test.want {
			t.Errorf("% x: %t", test.code, got)
		}
		if beginsWithCall(im, 1<<40) {
			t.Error("outside of the image")
		}
	}
}
