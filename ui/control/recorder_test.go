package control

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"logparser/app"
	"logparser/ui/language"
)

func TestSplitArguments(t *testing.T) {
	for line, want := range map[string][]string{
		``:                         nil,
		"  a\tb  c ":               {"a", "b", "c"},
		`'a b' "c d"e`:             {"a b", "c de"},
		`'' ""`:                    {"", ""},
		`a\ b \'c\' \\`:            {"a b", "'c'", `\`},
		`"a\"b\$c\d" 'e\f'`:        {`a"b$c\d`, `e\f`},
		"a\\\nb":                   {"ab"},
		`--x="1 2" *.c $HOME ~ #k`: {"--x=1 2", "*.c", "$HOME", "~", "#k"},
	} {
		if got, err := split(line, true); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v, want %q", line, got, err, want)
		}
	}
	for line, want := range map[string]error{`a "b`: ErrQuotes, `a 'b\'c'`: ErrQuotes, `a \`: ErrEscape} {
		if _, err := split(line, true); err != want {
			t.Errorf("%s: %v, want %v", line, err, want)
		}
	}
	if got, err := split(`C:\a\b "C:\c d\"`, false); err != nil || !slices.Equal(got, []string{`C:\a\b`, `C:\c d\`}) {
		t.Errorf("as on Windows: %q, %v", got, err)
	}
}

const recordedProgram = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int left_out(int x) { return x; }
int step(int x) { return left_out(x) + 1; }
int main(int argc, char **argv) {
	FILE *f = fopen("here", "w");
	fprintf(f, "%s", argv[argc - 1]);
	fclose(f);
	step(1);
	if (argc > 2 && argv[2][0] == '&') { return system(argv[1]); }
	for (int i = 0; i < 6000 && access("end", F_OK) != 0; i++) { usleep(10000); }
	return argc;
}
`

// A booth is a recorder with a program to be recorded.
type booth struct {
	*Recorder
	t     *testing.T
	queue chan func()
	dir   string
	logs  []string
	lives []bool
	ends  []*Message
}

func newBooth(t *testing.T, flags ...string) *booth {
	t.Helper()
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("a program is built and run")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc")
	}
	if err := language.Set(language.English); err != nil {
		t.Fatal(err)
	}
	b := &booth{t: t, queue: make(chan func(), 1000), dir: t.TempDir()}
	source := filepath.Join(b.dir, "p.c")
	if err := os.WriteFile(source, []byte(recordedProgram), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, append(flags, "-g", source, "-o", filepath.Join(b.dir, "p"))...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.Recorder = NewRecorder(func(f func()) { b.queue <- f })
	b.OnLog = func(path, _ string, live bool) { b.logs, b.lives = append(b.logs, path), append(b.lives, live) }
	b.OnEnd = func(m *Message) { b.ends = append(b.ends, m) }
	t.Cleanup(func() {
		b.touch("end")
		b.wait("the end", func() bool { return !b.State().Busy })
	})
	return b
}

func (b *booth) touch(name string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o666); err != nil {
		b.t.Fatal(err)
	}
}

func (b *booth) wait(what string, cond func() bool) {
	b.t.Helper()
	deadline := time.After(90 * time.Second) // the library may have to be built first
	for !cond() {
		select {
		case f := <-b.queue:
			f()
		case <-time.After(2 * time.Millisecond):
		case <-deadline:
			b.t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (b *booth) there(name string) func() bool {
	return func() bool { _, err := os.Stat(filepath.Join(b.dir, name)); return err == nil }
}

func (b *booth) look(q RecordRequest) (w WayIn) {
	b.t.Helper()
	looked := false
	b.Look(q, func(way WayIn) { w, looked = way, true })
	b.wait("a look", func() bool { return looked })
	return w
}

// TestRecorderRuns holds that a program is looked at without a trace of that, runs in its folder with its
// arguments, that its log is told while it runs, without what is left out, and how it ended.
func TestRecorderRuns(t *testing.T) {
	b := newBooth(t, "-finstrument-functions")
	q := RecordRequest{Program: "./p", Arguments: `one 'two three'`, WorkDir: b.dir, Exclude: " left_*, "}
	before, _ := os.ReadDir(b.dir)
	if w := b.look(q); !w.Ready || w.Level != LevelGood || !strings.Contains(w.Text, "calls the hooks of -finstrument-functions: the recorder is preloaded") {
		t.Errorf("way in: %+v", w)
	}
	if after, _ := os.ReadDir(b.dir); len(after) != len(before) {
		t.Errorf("a look has made something: %v", after)
	}
	if err := b.Start(q); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(q); err != ErrRecording {
		t.Errorf("started twice: %v", err)
	}
	b.wait("the log", func() bool { return len(b.logs) > 0 })
	if s := b.State(); !s.Running || s.Name != "p" || !b.lives[0] || filepath.Dir(b.logs[0]) != filepath.Join(b.dir, "p.rec") {
		t.Errorf("running: %+v, %v %v", s, b.logs, b.lives)
	}
	b.wait("the file", b.there("here"))
	b.touch("end")
	b.wait("the end", func() bool { return len(b.ends) > 0 })
	if m := b.ends[0]; m.Level != LevelWarn || !strings.HasPrefix(m.Text, "p ended with status 3 after ") || m.Next != "" || m.Offer != OfferNone {
		t.Errorf("told: %+v", m)
	}
	if b.State() != (RecorderState{}) || len(b.logs) != 1 || len(b.ends) != 1 {
		t.Errorf("at the end: %+v, %v", b.State(), b.logs)
	}
	if said, err := os.ReadFile(filepath.Join(b.dir, "here")); err != nil || string(said) != "two three" {
		t.Errorf("its last argument: %q, %v", said, err)
	}
	s, err := app.Open(context.Background(), app.Inputs{Log: b.logs[0]}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if n := s.Rows().Len(); n != 4 { // main and step
		t.Errorf("%d rows", n)
	}
}

// TestRecorderStops holds that the program is asked to end, that its log says so, and that it is followed to its end
// with what is said of it.
func TestRecorderStops(t *testing.T) {
	b := newBooth(t, "-finstrument-functions")
	if err := b.Start(RecordRequest{Program: filepath.Join(b.dir, "p"), WorkDir: b.dir, Dir: "logs"}); err != nil {
		t.Fatal(err)
	}
	b.wait("the log", func() bool { return len(b.logs) > 0 })
	c := New(app.Open, func(f func()) { b.queue <- f })
	defer c.Close()
	c.Inputs.SetLive(b.logs[0])
	b.wait("following", func() bool { return c.State().Follow.On && c.State().Rows.Len() >= 5 })
	b.OnEnd = func(m *Message) { b.ends = append(b.ends, m); c.Following.SayLast(m) }
	b.Stop()
	if s := b.State(); !s.Asked || !s.Busy {
		t.Errorf("stopping: %+v", s)
	}
	b.wait("the end", func() bool { return len(b.ends) > 0 && !c.State().Follow.On && c.State().Message == b.ends[0] })
	if m := b.ends[0]; m.Level != LevelGood || !strings.HasPrefix(m.Text, "p was stopped (signal 15) after ") {
		t.Errorf("told: %+v", m)
	}
	if dir := filepath.Dir(b.logs[0]); dir != filepath.Join(b.dir, "logs") {
		t.Errorf("the log is in %s", dir)
	}
	b.Stop() // nothing runs
}

// TestRecorderChildren holds that all logs are offered where children wrote some, and shown where the program
// itself wrote none, with how it ended.
func TestRecorderChildren(t *testing.T) {
	b := newBooth(t, "-finstrument-functions")
	b.touch("end")
	run := func(q RecordRequest) *Message {
		t.Helper()
		n := len(b.ends)
		q.WorkDir = b.dir
		if err := b.Start(q); err != nil {
			t.Fatal(err)
		}
		b.wait("the end", func() bool { return len(b.ends) > n })
		return b.ends[n]
	}
	if m := run(RecordRequest{Program: "./p", Arguments: "./p '&'"}); m.Offer != OfferProcesses || m.Next != "2 processes were recorded." ||
		!slices.Equal(m.Logs, []string{filepath.Join(b.dir, "p.rec")}) || filepath.Dir(b.logs[0]) != m.Logs[0] {
		t.Errorf("a child: %+v, %v", m, b.logs)
	}
	c := New(app.Open, func(f func()) { b.queue <- f })
	defer c.Close()
	b.OnLog = func(path, _ string, live bool) { b.logs = append(b.logs, path); c.Inputs.SetLog(path) }
	b.OnEnd = func(m *Message) { b.ends = append(b.ends, m); c.Following.SayLast(m) }
	m := run(RecordRequest{Program: "sh", Arguments: `-c "./p; ./p; exit 0"`})
	if m.Offer != OfferNone || m.Level != LevelGood || m.Next != "2 processes were recorded." || b.logs[len(b.logs)-1] != filepath.Join(b.dir, "sh.rec") {
		t.Errorf("children alone: %+v, %v", m, b.logs)
	}
	b.wait("what is said", func() bool { return c.State().Loaded && c.State().Message == m })
}

// TestRecorderTrouble holds that what keeps a program from being recorded is said.
func TestRecorderTrouble(t *testing.T) {
	b := newBooth(t)
	q := RecordRequest{Program: "p", WorkDir: b.dir}
	if w := b.look(q); w.Ready || w.Level != LevelBad || !strings.Contains(w.Text, "there is no such program") {
		t.Errorf("a name that is not in PATH: %+v", w)
	}
	if w := b.look(RecordRequest{Program: "./p", WorkDir: b.dir, Arguments: "'"}); w.Ready || !strings.Contains(w.Text, "quotation mark") {
		t.Errorf("wrong arguments: %+v", w)
	}
	if w := b.look(RecordRequest{}); w.Ready || w.Level != LevelNone {
		t.Errorf("no program: %+v", w)
	}
	q.Program = "./p"
	if w := b.look(q); !w.Ready || w.Level != LevelWarn || !strings.Contains(w.Text, "calls no hooks") || len(w.Advice) == 0 {
		t.Errorf("no hooks: %+v", w)
	}
	b.touch("end")
	if err := b.Start(q); err != nil {
		t.Fatal(err)
	}
	b.wait("the end", func() bool { return len(b.ends) > 0 })
	if m := b.ends[0]; m.Level != LevelBad || !strings.HasPrefix(m.Text, "p ended with status 1") || !strings.HasPrefix(m.Next, "Nothing was recorded. ") || len(b.logs) != 0 {
		t.Errorf("told: %+v", m)
	}
	if b.there("p.rec")() {
		t.Error("an empty folder was left")
	}
	q.Dir = "."
	if err := b.Start(q); err != nil {
		t.Fatal(err)
	}
	b.wait("the end", func() bool { return len(b.ends) > 1 })
	if m := b.ends[1]; !strings.Contains(m.Text, "p cannot be recorded: ") || m.Next != "Give another folder for the log." || b.State().Busy {
		t.Errorf("told: %+v", m)
	}
}
