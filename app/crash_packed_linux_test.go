package app

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// crashOf opens a log, a pack or a dump's log, and returns the threads of its crash as a report has them, and how many
// frames each way has found.
func crashOf(t *testing.T, in Inputs) (threads string, found map[string]int) {
	t.Helper()
	in.NoIndexCache = true
	s, err := Open(t.Context(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c, err := s.OpenCrash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	opt := ReportOptions{AllThreads: true}
	opt.TakeLog(s)
	r, err := c.Report(opt)
	if err != nil {
		t.Fatal(err)
	}
	found = make(map[string]int)
	for _, thread := range r.Threads {
		for _, row := range thread.Rows {
			found[row.Found]++
		}
	}
	b, err := json.MarshalIndent([]any{r.Threads, r.Bytes, r.Cause}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b), found
}

// crashProgram builds the recorder. It returns the folder of its objects, these, and the source of the program that crashes.
func crashProgram(t *testing.T) (built string, objects []string, source string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the recorder")
	}
	built, objects = recorderObjects(t)
	source, err := filepath.Abs("testdata/crash/crash.c")
	if err != nil {
		t.Fatal(err)
	}
	return built, objects, source
}

// TestPackedCrash: opened where neither the program nor its libraries are, a packed log tells the same of a crash as
// with them: its stacks are unwound by the rules in the pack. So is a log beside which its symbols were kept, and a pack of the pack.
func TestPackedCrash(t *testing.T) {
	built, objects, source := crashProgram(t)
	for _, c := range []struct {
		name, flags string
		way         int
		strip       bool
		want        string // a function that must be on a stack
	}{
		{"qsort's callback", "-O2 -fomit-frame-pointer", 3, false, "qsort"},
		{"stripped", "-O2 -fomit-frame-pointer", 3, true, "sub_"},
		{"signal handler", "-O2 -fomit-frame-pointer", 4, false, "interrupted"},
		{"own size and alignment, only .debug_frame", "-O1 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables", 8, false, "roomy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "crash")
			args := append([]string{"-g", "-w", "-finstrument-functions", fmt.Sprintf("-DWAY=%d", c.way), source, "-o", program, "-lpthread", "-ldl"}, objects...)
			args = append(args, strings.Fields(c.flags)...)
			cmd := exec.Command(tool(t, "gcc"), args...)
			cmd.Dir = built
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			if c.strip {
				if out, err := exec.Command(tool(t, "strip"), program).CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			log := filepath.Join(dir, "crash.lptrace")
			cmd = exec.Command(program)
			cmd.Env = append(os.Environ(), "LOGREC_FILE="+log, "LOGREC_CRASH=last")
			_ = cmd.Run() // it crashes
			want, found := crashOf(t, Inputs{Log: log})
			if !strings.Contains(want, c.want) || found["cfi"] < 2 || found["scan"] > 0 {
				t.Errorf("found %v:\n%s", found, want)
			}
			s, err := Open(t.Context(), Inputs{Log: log, NoIndexCache: true}, nil)
			if err != nil {
				t.Fatal(err)
			}
			pack := filepath.Join(t.TempDir(), "one.lppack")
			if _, err := s.Pack(t.Context(), pack, PackOptions{Crash: true}, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Keep(t.Context(), "", nil); err != nil {
				t.Fatal(err)
			}
			s.Close()
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			without := func(path string) Inputs { return Inputs{Log: path, NoRecordedPaths: true} }
			if got, _ := crashOf(t, without(log)); got != want {
				t.Errorf("with what was kept:\n%s\nwant\n%s", got, want)
			}
			if err := os.Remove(keptBeside(log)); err != nil {
				t.Fatal(err)
			}
			if _, found := crashOf(t, without(log)); found["cfi"] > 0 {
				t.Errorf("without anything there are rules: %v", found)
			}
			got, _ := crashOf(t, without(pack))
			if got != want {
				t.Errorf("from the pack:\n%s\nwant\n%s", got, want)
			}
			if !c.strip {
				return
			}
			again := repack(t, pack)
			if got, _ := crashOf(t, without(again)); got != want {
				t.Errorf("from a pack of the pack:\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// TestPackedCarrier: where a program is that carries the symbols and unwind rules of a library that is not there, a crash
// is packed and kept with those rules.
func TestPackedCarrier(t *testing.T) {
	built, objects, source := crashProgram(t)
	dir := t.TempDir()
	program, library := filepath.Join(dir, "app"), filepath.Join(dir, "libengine.so")
	outer := filepath.Join(dir, "app.c")
	if err := os.WriteFile(outer, []byte("int engine(void);\nint main(void) { return engine() + 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"-g", "-w", "-O2", "-fomit-frame-pointer", "-finstrument-functions"}
	for _, args := range [][]string{
		append(slices.Clone(common), "-shared", "-fPIC", "-DWAY=3", "-Dmain=engine", source, "-o", library),
		append(append(slices.Clone(common), "-rdynamic", outer, "-o", program), append(objects, library, "-lpthread", "-ldl")...),
	} {
		cmd := exec.Command(tool(t, "gcc"), args...)
		cmd.Dir = built
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	if _, _, err := Attach(t.Context(), program, []string{library}, "", Inputs{}, nil); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "crash.lptrace")
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "LOGREC_FILE="+log, "LOGREC_CRASH=last")
	_ = cmd.Run() // it crashes
	want, found := crashOf(t, Inputs{Log: log})
	if !strings.Contains(want, "compare") || found["cfi"] < 2 || found["scan"] > 0 {
		t.Errorf("found %v:\n%s", found, want)
	}
	if err := os.Remove(library); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Inputs{Log: log, NoIndexCache: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pack := filepath.Join(t.TempDir(), "one.lppack")
	if _, err := s.Pack(t.Context(), pack, PackOptions{Crash: true}, nil); err != nil {
		t.Errorf("packing: %v", err)
	} else if got, _ := crashOf(t, Inputs{Log: pack, NoRecordedPaths: true}); got != want {
		t.Errorf("from the pack:\n%s\nwant\n%s", got, want)
	}
	_, err = s.Keep(t.Context(), "", nil)
	s.Close()
	if err != nil {
		t.Fatalf("keeping: %v", err)
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if got, _ := crashOf(t, Inputs{Log: log}); got != want {
		t.Errorf("with what was kept:\n%s\nwant\n%s", got, want)
	}
}
