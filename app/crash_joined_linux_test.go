package app

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"logparser/crash/report"
)

// recordedProgram builds a program with the recorder's sources and returns its path.
func recordedProgram(t *testing.T, dir string, way int, objects []string) string {
	t.Helper()
	source, err := filepath.Abs("testdata/crash/joined.c")
	if err != nil {
		t.Fatal(err)
	}
	build := func(args ...string) {
		t.Helper()
		cmd := exec.Command(tool(t, "gcc"), args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	program := filepath.Join(dir, fmt.Sprintf("joined%d", way))
	build("-g", "-O1", "-w", "-fno-stack-protector", "-finstrument-functions", fmt.Sprintf("-DWAY=%d", way), "-c", source, "-o", program+".o")
	build(append([]string{program + ".o", "-o", program, "-lpthread", "-ldl"}, objects...)...)
	return program
}

// builtRecorder is the recorder that all tests link with: the folder of its objects, and these.
var builtRecorder struct {
	once    sync.Once
	folder  string
	objects []string
}

// TestMain removes what the tests have built for all of them.
func TestMain(m *testing.M) {
	code := m.Run()
	if builtRecorder.folder != "" {
		os.RemoveAll(builtRecorder.folder)
	}
	os.Exit(code)
}

// recorderObjects compiles the recorder, once, and returns the folder of its objects, and these.
func recorderObjects(t *testing.T) (folder string, objects []string) {
	t.Helper()
	builtRecorder.once.Do(func() {
		var err error
		if builtRecorder.folder, err = os.MkdirTemp("", "logparser-recorder-*"); err == nil {
			builtRecorder.objects = compileRecorder(t, builtRecorder.folder)
		}
	})
	if len(builtRecorder.objects) == 0 {
		t.Skip("the recorder was not compiled")
	}
	return builtRecorder.folder, builtRecorder.objects
}

func compileRecorder(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob("../recorder/src/*.[cS]")
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	args := []string{"-O1", "-w", "-std=gnu99", "-c"}
	var objects []string
	for _, source := range list {
		if strings.Contains(source, "windows") || strings.Contains(source, "penter") {
			continue
		}
		path, err := filepath.Abs(source)
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
		objects = append(objects, filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), filepath.Ext(source))+".o"))
	}
	include, err := filepath.Abs("../recorder/include")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(tool(t, "gcc"), append(args, "-I"+include)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return objects
}

// TestJoinedTable joins the calls of a recorded program that crashes with its stack, from the core
// file and from the recorder's own record: a function that is not recorded has its line, and
// where the stack is smashed all calls are there.
func TestJoinedTable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the recorder")
	}
	dir := t.TempDir()
	_, objects := recorderObjects(t)
	for _, c := range []struct {
		way  int
		want []string // function, source
	}{
		{1, []string{"hidden stack", "third both", "second both", "first both", "main both"}},
		{2, []string{"hidden stack", "third log", "second log", "first log", "main log"}},
	} {
		program := recordedProgram(t, dir, c.way, objects)
		run := t.TempDir()
		log := filepath.Join(run, "joined.lptrace")
		t.Setenv("LOGREC_FILE", log)
		t.Setenv("LOGREC_CRASH", "last")
		core := runToCore(t, run, program)
		s, err := Open(t.Context(), Inputs{Log: log, NoIndexCache: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		recorded, err := s.OpenCrash(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer recorded.Close()
		fromCore, err := OpenCrash(t.Context(), core, Inputs{})
		if err != nil {
			t.Fatal(err)
		}
		defer fromCore.Close()
		for name, crash := range map[string]*Crash{"record": recorded, "core": fromCore} {
			if got := crash.Cause.Text().String(); !strings.HasPrefix(got, "SIGSEGV: read of address") {
				t.Errorf("%d, %s: the cause is %q", c.way, name, got)
			}
			opt := ReportOptions{Log: "joined.lptrace", OpenCalls: s.OpenCalls(100), Digits: s.Rows().TimeDigits(), Sources: true}
			r, err := crash.Report(opt)
			if err != nil {
				t.Fatal(err)
			}
			checkJoined(t, fmt.Sprintf("%d, %s", c.way, name), r, c.want)
			var text bytes.Buffer
			if err := crash.WriteReport(&text, "txt", opt); err != nil || !strings.Contains(text.String(), "long v = *p;") {
				t.Errorf("%d, %s: %v, no source in\n%s", c.way, name, err, text.String())
			}
		}
	}
}

func checkJoined(t *testing.T, name string, r *report.Report, want []string) {
	t.Helper()
	if len(r.Threads) != 1 {
		t.Fatalf("%s: %d threads", name, len(r.Threads))
	}
	for _, row := range r.Threads[0].Rows {
		if len(want) == 0 || len(row.Functions) == 0 {
			continue
		}
		if text := row.Functions[0].Name + " " + row.Source; text != want[0] {
			continue
		}
		want = want[1:]
		if row.Source != "stack" && (row.Entered == "" || row.Running == "" || row.LogRow < 1) {
			t.Errorf("%s: nothing of when %s was entered: %+v", name, row.Functions[0].Name, row)
		}
		if row.Functions[0].Line == 0 || !strings.HasSuffix(row.Functions[0].File, "joined.c") {
			t.Errorf("%s: %s is at %s:%d", name, row.Functions[0].Name, row.Functions[0].File, row.Functions[0].Line)
		}
	}
	if len(want) > 0 {
		t.Errorf("%s: rows %+v lack %v", name, r.Threads[0].Rows, want)
	}
}
