package app

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/calls/values"
	"logparser/recorder/launch"
	"logparser/recorder/probe"
)

// specsOf reads choices of functions.
func specsOf(t *testing.T, texts ...string) []ValueSpec {
	t.Helper()
	specs, err := ParseValueSpecs(texts)
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

// prototypesOf reads declarations.
func prototypesOf(t *testing.T, text string) *Prototypes {
	t.Helper()
	file := filepath.Join(t.TempDir(), "own.h")
	writeFile(t, file, []byte(text+"\n"))
	own, err := ReadPrototypes(file)
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// enterNames are the names of the arguments that are taken of a function.
func enterNames(f *values.Function) string {
	var names []string
	if f != nil {
		for _, v := range f.Enter {
			names = append(names, v.Name)
		}
	}
	return strings.Join(names, " ")
}

// strippedLibrary copies a library without debug information to where there is none of it.
func strippedLibrary(t *testing.T) string {
	dir := t.TempDir()
	copyFiles(t, dwarfFolder, dir, "gcc5-stripped.so")
	return filepath.Join(dir, "gcc5-stripped.so")
}

// TestProbedArguments says what probes take of functions: what the user declares, what debug information tells, or nothing.
func TestProbedArguments(t *testing.T) {
	in := Inputs{NoRecordedPaths: true}
	program, stripped := filepath.Join(linuxFolder, "logtest"), strippedLibrary(t)
	own := prototypesOf(t, "int _ZN3app9factorialEi(int number);")
	perf := probe.Options{Tool: FindProbeTool("perf"), Return: true}
	for name, test := range map[string]struct {
		path string
		opt  ProbeOptions
		want string // the arguments of factorial, or of run
		note string
	}{
		"debug information": {program, ProbeOptions{Options: perf}, "n", ""},
		"declared":          {program, ProbeOptions{Options: perf, Prototypes: own}, "number", ""},
		"none of this":      {program, ProbeOptions{Options: perf, Values: specsOf(t, "main")}, "", ""},
		"not wanted":        {program, ProbeOptions{Options: probe.Options{Tool: perf.Tool, NoArguments: true}}, "", ""},
		"in another file":   {filepath.Join(dwarfFolder, "gcc5-stripped.so"), ProbeOptions{Options: perf}, "n", ""},
		"nothing known":     {stripped, ProbeOptions{Options: perf}, "", "there is no debug information: arguments are the registers that may hold some"},
	} {
		p, err := PlanProbes(t.Context(), in, test.path, specsOf(t, "app::factorial", "run"), test.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := p.Probes[0].Function
		if got := enterNames(f.Values); got != test.want {
			t.Errorf("%s: %s has %q, want %q", name, f.Name, got, test.want)
		}
		var notes []string
		for _, n := range p.Notes {
			notes = append(notes, n.String())
		}
		if got := strings.Join(notes, "; "); !strings.Contains(got, test.note) {
			t.Errorf("%s: the notes are %q, want %q", name, got, test.note)
		}
	}
}

// TestProbesOfResolvers sets no probes where the loader calls a function to choose the code that has its name.
func TestProbesOfResolvers(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the C library of another system")
	}
	libraries, err := launch.Libraries(filepath.Join(linuxFolder, "logtest"))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(libraries, func(path string) bool { return strings.HasPrefix(filepath.Base(path), "libc.so") })
	if i < 0 {
		t.Skip("no C library of GNU")
	}
	opt := ProbeOptions{Options: probe.Options{Tool: FindProbeTool("perf")}}
	p, err := PlanProbes(t.Context(), Inputs{NoRecordedPaths: true}, libraries[i], specsOf(t, "strlen", "getpid"), opt)
	if err != nil || p.Functions != 1 || !strings.Contains(p.Probes[0].Function.Name, "getpid") || len(p.Notes) == 0 || !strings.Contains(fmt.Sprint(p.Notes), "strlen: the loader calls them once") {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := PlanProbes(t.Context(), Inputs{NoRecordedPaths: true}, libraries[i], specsOf(t, "strlen"), opt); !errors.Is(err, ErrNoFunction) || !strings.Contains(err.Error(), "the loader calls them once") {
		t.Errorf("of nothing but those: %v", err)
	}
}

// TestKernelProbes sets probes in the kernel, where its functions have names.
func TestKernelProbes(t *testing.T) {
	names, err := os.ReadFile("/proc/kallsyms")
	if err != nil || !strings.Contains(string(names), " T vfs_read\n") {
		t.Skip("the kernel's functions have no names here")
	}
	opt := ProbeOptions{Options: probe.Options{Tool: FindProbeTool("perf"), Return: true}}
	p, err := PlanProbes(t.Context(), Inputs{}, KernelImage, specsOf(t, "vfs_read", "vfs_write"), opt)
	if err != nil || p.Functions != 2 || len(p.Probes) != 4 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := PlanProbes(t.Context(), Inputs{}, KernelImage, specsOf(t, "no_such_function"), opt); !errors.Is(err, ErrNoFunction) {
		t.Errorf("no function fits: %v", err)
	}
}

// TestPlannedProbing plans what is taken where the kernel's probes record a program.
func TestPlannedProbing(t *testing.T) {
	in := Inputs{NoRecordedPaths: true}
	program, stripped := filepath.Join(linuxFolder, "logtest"), strippedLibrary(t)
	chosen := specsOf(t, "app::factorial", "run")
	for name, test := range map[string]struct {
		opt  ProbingOptions
		want string
	}{
		"raw":               {ProbingOptions{Image: program, Functions: chosen, Raw: true}, "arg1 arg2 arg3 arg4 arg5 arg6"},
		"raw, two":          {ProbingOptions{Image: stripped, Functions: chosen, Raw: true, RawArguments: 2}, "arg1 arg2"},
		"debug information": {ProbingOptions{Image: program, Functions: chosen, Values: chosen}, "n"},
		"declared": {ProbingOptions{Image: program, Functions: chosen, Values: chosen,
			Prototypes: prototypesOf(t, "int _ZN3app9factorialEi(int number);")}, "number"},
		"by the command": {ProbingOptions{Command: []string{program}, Functions: chosen, Values: chosen}, "n"},
		"by signature":   {ProbingOptions{Image: stripped, Functions: chosen, Values: chosen}, "?"},
	} {
		p, err := PlanProbing(t.Context(), in, test.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := ""
		if plan, err := p.planValues(t.Context(), in); err != nil {
			got = err.Error()
		} else {
			got = enterNames(&plan.Modules[0].Functions[0])
			if test.opt.Raw && plan.Modules[0].Functions[0].Leave[0].Name != values.Result {
				t.Errorf("%s: the result is %+v", name, plan.Modules[0].Functions[0].Leave)
			}
		}
		if !strings.HasSuffix(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
		if script, err := p.ForAdministrator(t.Context(), in); err != nil || len(script.Probes) != len(p.Probes.Probes) {
			t.Errorf("%s: another script, %v", name, err)
		}
	}
	if _, err := PlanProbing(t.Context(), in, ProbingOptions{PIDs: []uint32{1 << 30}, Functions: chosen}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is not there: %v", err)
	}
	if _, err := PlanProbing(t.Context(), in, ProbingOptions{Command: []string{filepath.Join(linuxFolder, "none")}, Functions: chosen}); !errors.Is(err, ErrNoProgram) {
		t.Errorf("a program that is not there: %v", err)
	}
}

// TestRunningSince: a process that has ended is not taken for one that runs, also while nobody has asked how it ended.
func TestRunningSince(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no /proc")
	}
	start, runs := runningSince(uint32(os.Getpid()))
	if again, _ := runningSince(uint32(os.Getpid())); !runs || start == "" || again != start {
		t.Errorf("this process runs since %q: %t", start, runs)
	}
	if _, runs := runningSince(1 << 30); runs {
		t.Error("a process that never was runs")
	}
	cmd := exec.Command("cat")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	pid := uint32(cmd.Process.Pid)
	if _, runs = runningSince(pid); !runs {
		t.Fatal("cat does not run")
	}
	stdin.Close()
	for tries := 0; runs; tries++ {
		if _, runs = runningSince(pid); runs && tries == 20_000 {
			t.Fatal("cat does not end")
		}
		time.Sleep(time.Millisecond)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestPlansOfOtherSystems makes plans for programs of other systems and processors: they take the same arguments of the functions that all
// have, wherever those lie.
func TestPlansOfOtherSystems(t *testing.T) {
	in := Inputs{NoRecordedPaths: true}
	specs := specsOf(t, "app::*", "shapes::*")
	names := func(file string) (*ValuePlan, map[string]string) {
		p, err := PlanValues(t.Context(), in, []string{file}, specs)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list := make(map[string]string)
		for i := range p.Modules[0].Functions {
			f := &p.Modules[0].Functions[i]
			name, _, _ := strings.Cut(f.Name, "(")
			list[name] = enterNames(f)
		}
		return p, list
	}
	_, linux := names(filepath.Join(linuxFolder, "logtest"))
	for file, want := range map[string]values.ABI{filepath.Join(clangFolder, "logtest.exe"): values.Win64, filepath.Join(mingwFolder, "logtest.exe"): values.Win64} {
		p, list := names(file)
		same := 0
		for name, arguments := range list {
			other, ok := linux[name]
			if unnamed := strings.Contains(arguments+other, "?"); !ok || unnamed {
				continue
			}
			if same++; arguments != other {
				t.Errorf("%s: %s has %q, of Linux %q", file, name, arguments, other)
			}
		}
		if p.ABI != want || same < 5 {
			t.Errorf("%s: %s, %d functions as of Linux", file, p.ABI, same)
		}
	}
	for file, want := range map[string]values.Machine{"aarch64.so": values.ARM64, "i386.so": values.X86} {
		if p, list := names(filepath.Join(dwarfFolder, file)); p.Machine != want || len(list) == 0 {
			t.Errorf("%s: %s, %v", file, p.Machine, list)
		}
	}
	for file, want := range map[string]error{"s390x.so": ErrNoConvention, "../../../testdata/logtest/windows-x86-clang/logtest.exe": ErrNoConvention} {
		if _, err := PlanValues(t.Context(), in, []string{filepath.Join(dwarfFolder, file)}, specs); !errors.Is(err, want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	bare := t.TempDir()
	copyFiles(t, clangFolder, bare, "logtest.exe")
	program := filepath.Join(bare, "logtest.exe")
	if _, err := PlanValues(t.Context(), in, []string{program}, specs); !errors.Is(err, ErrNoPDB) {
		t.Errorf("without its PDB: %v", err)
	}
	copyFiles(t, logtest(t, "windows-x86-clang"), bare, "logtest.pdb")
	if _, err := PlanValues(t.Context(), Inputs{NoRecordedPaths: true, LoadMismatched: true}, []string{program}, specs); err == nil || !strings.Contains(err.Error(), "its symbols are of another build: logtest.pdb") {
		t.Errorf("with the PDB of another build: %v", err)
	}
	both, err := PlanValues(t.Context(), in, []string{filepath.Join(linuxFolder, "logtest")}, specs)
	if err != nil {
		t.Fatal(err)
	}
	more, err := PlanValues(t.Context(), in, []string{filepath.Join(linuxFolder, "liblogtest_shapes.so")}, specs)
	if err != nil {
		t.Fatal(err)
	}
	functions, taken := both.Functions+more.Functions, both.Values+more.Values
	if both.Add(more); both.Functions != functions || both.Values != taken || len(both.Modules) != 2 {
		t.Errorf("two plans in one: %d functions, %d values, %d modules", both.Functions, both.Values, len(both.Modules))
	}
}
