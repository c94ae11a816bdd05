// Randomprograms holds the recorder against programs that it makes itself, out of what is hard on one: fork, threads,
// signals, cancelled threads, dlopen, limits, closed descriptors, exec, functions of the C library that a program has
// itself.
//
//	go run ./scripts/randomprograms -recorder FOLDER -programs 200 -runs 20
//
// The program of a seed is the same everywhere. Each is built without hooks and with, by a compiler and a way in that its seed
// chooses, and runs without the recorder, with a hook that writes lines (recorder/tests/programs/plain_hook.c), and recorded. What it
// says, how it ends and which descriptors it has must be as without; no run may hang; each thread's events must be
// those of the hook, in order. What differs from run to run without the recorder is not compared, and said. The last line
// is "N passed, N failed, N skipped"; a run of a program counts as one.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A setup is where things are.
type setup struct {
	dir      string // scratch
	recorder string // folder of liblogrec.so
	tests    string // recorder/tests
	keep     bool
	timeout  time.Duration
	passed   int
	failed   int
	skipped  int
}

func main() {
	var s setup
	programs := flag.Int("programs", 200, "how many programs")
	runs := flag.Int("runs", 20, "how often each is recorded")
	seed := flag.Uint64("seed", 1, "the first program's seed")
	show := flag.Bool("show", false, "print the program of -seed and end")
	compilers := flag.String("compilers", "gcc", "commands, with commas between")
	flag.StringVar(&s.recorder, "recorder", "", "the `folder` of liblogrec.so")
	flag.StringVar(&s.tests, "tests", "recorder/tests", "the `folder` of the recorder's tests")
	flag.BoolVar(&s.keep, "keep", false, "keep the files of what failed")
	flag.DurationVar(&s.timeout, "timeout", time.Minute, "how long a run may take")
	flag.Func("without", "leave out hazards and own functions of these `names`, with commas between", func(list string) error {
		without = strings.Split(list, ",")
		return nil
	})
	flag.Parse()
	if *show {
		fmt.Print(generate(*seed).text)
		return
	}
	if err := s.run(*seed, *programs, *runs, strings.Split(*compilers, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "randomprograms:", err)
		os.Exit(2)
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", s.passed, s.failed, s.skipped)
	if s.failed > 0 {
		os.Exit(1)
	}
}

func (s *setup) run(seed uint64, programs, runs int, compilers []string) (err error) {
	if s.recorder, err = filepath.Abs(s.recorder); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "randomprograms"); err != nil {
		return err
	}
	if !s.keep {
		defer os.RemoveAll(s.dir)
	}
	plain := filepath.Join(s.dir, "plain")
	if err := os.Mkdir(plain, 0o700); err != nil {
		return err
	}
	hook := filepath.Join(s.tests, "programs", "plain_hook.c")
	// By its own name, to be preloaded, and by the recorder's, in the place of the library that a program is linked with.
	for _, name := range []string{"libplain.so", "liblogrec.so"} {
		if err := compile(compilers[0], "-O1", "-fPIC", "-shared", hook, "-o", filepath.Join(plain, name), "-ldl", "-Wl,-soname,"+name); err != nil {
			return err
		}
	}
	for i := range programs {
		s.program(seed+uint64(i), runs, compilers)
	}
	return nil
}

func compile(command string, arguments ...string) error {
	out, err := exec.Command(command, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", command, strings.Join(arguments, " "), err, out)
	}
	return nil
}

// A build is a program that was built by a compiler and with a way in.
type build struct {
	program
	dir      string
	compiler string
	linked   bool
	levels   string
}

func (b *build) String() string {
	way := "preloaded"
	if b.linked {
		way = "linked"
	}
	return fmt.Sprintf("seed %d, %s %s, %s", b.seed, filepath.Base(b.compiler), b.levels, way)
}

// build builds the program of a seed.
func (s *setup) build(seed uint64, compilers []string) (*build, error) {
	p := generate(seed)
	b := &build{program: p, dir: filepath.Join(s.dir, fmt.Sprint("seed", seed)), compiler: compilers[seed%uint64(len(compilers))], linked: seed%2 == 0, levels: []string{"-O0", "-O1", "-O2"}[seed%3]}
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return nil, err
	}
	in := func(name string) string { return filepath.Join(b.dir, name) }
	if err := errors.Join(os.WriteFile(in("program.c"), []byte(p.text), 0o600), os.WriteFile(in("plugin.c"), []byte(p.plugin), 0o600)); err != nil {
		return nil, err
	}
	flags := []string{b.levels, "-g", "-w", "-pthread", "-rdynamic", "-fno-builtin", "-U_FORTIFY_SOURCE"}
	hooks := append(append([]string{}, flags...), "-finstrument-functions")
	var libraries []string
	if b.linked {
		libraries = []string{"-L" + s.recorder, "-llogrec", "-Wl,-rpath," + s.recorder + ",--enable-new-dtags"}
	}
	return b, errors.Join(
		compile(b.compiler, append(flags, in("program.c"), "-o", in("bare"), "-ldl")...),
		compile(b.compiler, append(flags, "-fPIC", "-shared", in("plugin.c"), "-o", in("bare.so"))...),
		compile(b.compiler, append(append(hooks, in("program.c"), "-o", in("hooked"), "-ldl"), libraries...)...),
		compile(b.compiler, append(hooks, "-fPIC", "-shared", in("plugin.c"), "-o", in("hooked.so"))...))
}

// An outcome is what a run did.
type outcome struct {
	status string
	said   []string // the lines that it and its children wrote, sorted: they run at the same time
	told   []string // the recorder's own lines
	dir    string
}

// start runs a program in a new folder.
func (s *setup) start(b *build, name, image string, env ...string) (o outcome, err error) {
	o.dir = filepath.Join(b.dir, name)
	if err := os.RemoveAll(o.dir); err != nil {
		return o, err
	}
	if err := errors.Join(os.Mkdir(o.dir, 0o700), os.Mkdir(filepath.Join(o.dir, "logs"), 0o700)); err != nil {
		return o, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout)
	defer cancel()
	// Without it addresses differ from run to run.
	c := exec.CommandContext(ctx, "setarch", "-R", filepath.Join(b.dir, image))
	c.Dir = o.dir
	c.Env = append([]string{"PATH=" + os.Getenv("PATH"), "SAY_FOLDER=" + o.dir, "PLUGIN=" + filepath.Join(b.dir, image+".so"), "LOGREC_CRASH=" + []string{"", "first", "off"}[b.seed%3]}, env...)
	var output bytes.Buffer
	c.Stdout, c.Stderr = &output, &output
	inGroup(c)
	c.WaitDelay = time.Second
	err = c.Run()
	o.status = "status 0"
	if err != nil {
		o.status = err.Error()
	}
	if ctx.Err() != nil {
		o.status = "it hangs"
	}
	said, err := os.ReadFile(filepath.Join(o.dir, "out"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return o, err
	}
	for line := range strings.Lines(string(said) + output.String()) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "logrec: ") {
			o.told = append(o.told, line)
		} else {
			o.said = append(o.said, line)
		}
	}
	slices.Sort(o.said)
	return o, nil
}

// program builds and runs the program of a seed.
func (s *setup) program(seed uint64, runs int, compilers []string) {
	b, err := s.build(seed, compilers)
	if err != nil {
		fmt.Printf("FAIL seed %d: %v\n", seed, err)
		s.failed += runs
		return
	}
	bad := s.compare(b, runs)
	if !bad || !s.keep {
		os.RemoveAll(b.dir)
	}
}

// compare reports whether a recorded run differed.
func (s *setup) compare(b *build, runs int) (bad bool) {
	plainEnv := []string{"LD_PRELOAD=" + filepath.Join(s.dir, "plain", "libplain.so")}
	if b.linked {
		plainEnv = []string{"LD_LIBRARY_PATH=" + filepath.Join(s.dir, "plain")}
	}
	var recordedEnv []string
	if !b.linked {
		recordedEnv = []string{"LD_PRELOAD=" + filepath.Join(s.recorder, "liblogrec.so")}
	}
	var bare [2]outcome
	var events [2][]string
	for i := range 2 {
		var err error
		if bare[i], err = s.start(b, fmt.Sprint("bare", i), "bare"); err == nil {
			var plain outcome
			name := fmt.Sprint("plain", i)
			if plain, err = s.start(b, name, "hooked", append(plainEnv, "PLAIN_LOG="+filepath.Join(b.dir, name, "logs", "plain"))...); err == nil {
				events[i], err = plainEvents(b, plain)
			}
		}
		if err != nil {
			fmt.Printf("FAIL %v: %v\n", b, err)
			s.failed += runs
			return true
		}
	}
	steady := slices.Equal(bare[0].said, bare[1].said) && bare[0].status == bare[1].status
	if !steady || bare[0].status == "it hangs" {
		fmt.Printf("skip %v: without the recorder it is not the same twice, or %s (%s)\n", b, bare[0].status, strings.Join(b.hazards, "; "))
		s.skipped += runs
		return false
	}
	same := strings.Join(events[0], "\n") == strings.Join(events[1], "\n")
	if !same {
		fmt.Printf("skip the events of %v: those of the hook are not the same twice\n", b)
		s.skipped++
	}
	for run := range runs {
		why := ""
		recorded, err := s.start(b, "recorded", "hooked", append(recordedEnv, "LOGREC_FILE="+filepath.Join(b.dir, "recorded", "logs")+"/")...)
		if err != nil {
			why = err.Error()
		}
		switch {
		case recorded.status != bare[0].status:
			why = fmt.Sprintf("%s, without the recorder %s", recorded.status, bare[0].status)
		case !slices.Equal(recorded.said, bare[0].said):
			why = "it says " + difference(recorded.said, bare[0].said)
		}
		stopped := slices.ContainsFunc(recorded.told, func(line string) bool { return strings.Contains(line, "nothing more is recorded") })
		got, err := recordedEvents(b, recorded)
		switch {
		case why != "":
		case errors.Is(err, errNoMemory):
		case err != nil:
			why = err.Error()
		case same && !stopped && strings.Join(got, "\n") != strings.Join(events[0], "\n"):
			why = "events: " + difference(got, events[0])
		}
		if why == "" {
			s.passed++
			continue
		}
		fmt.Printf("FAIL %v, run %d: %s (%s)\n", b, run, why, strings.Join(b.hazards, "; "))
		s.failed++
		bad = true
		if s.keep {
			os.RemoveAll(filepath.Join(b.dir, "failed"))
			os.Rename(filepath.Join(b.dir, "recorded"), filepath.Join(b.dir, "failed"))
		}
	}
	return bad
}

// difference says where two lists begin to differ.
func difference(got, want []string) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	a, b := "", ""
	if i < len(got) {
		a = got[i]
	}
	if i < len(want) {
		b = want[i]
	}
	same := 0
	for same < len(a) && same < len(b) && a[same] == b[same] {
		same++
	}
	const before, most = 20, 150
	from := max(0, same-before)
	return fmt.Sprintf("in line %d of %d, byte %d: %q, not %q of %d", i+1, len(got), same, a[from:min(len(a), from+most)], b[from:min(len(b), from+most)], len(want))
}
