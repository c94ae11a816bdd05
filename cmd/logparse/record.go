package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// Exit codes of record itself, those of env, nice and timeout; all others are the program's.
const (
	exitRecord      = 125
	exitNotRunnable = 126
	exitNoProgram   = 127
)

// A programEnd is the end of a recorded program, which the command passes on.
type programEnd struct{ app.Ending }

func (e programEnd) Error() string {
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d", e.Signal)
	}
	return fmt.Sprintf("status %d", e.Status)
}

func (e programEnd) code() int {
	if e.Signal != 0 {
		return exitSignal + e.Signal
	}
	return e.Status
}

// A recordError is why a program was not run, with the exit code for that.
type recordError struct {
	error
	code int
}

func (e recordError) Unwrap() error { return e.error }

// recording is set while a program is recorded: signals are for it.
var recording atomic.Bool

// recordFlags are the flags of record.
type recordFlags struct {
	app.RecordOptions
	ring              int
	show, open, quiet bool
	reports           string
	head              int
	values            []string
	taken             string // says what the plan of values has
	elsewhere         bool   // the plan has values of libraries
	prototypes        string
	probe             probeFlags
}

func newRecord() *cobra.Command {
	var f recordFlags
	cmd := &cobra.Command{
		Use:   "record [OPTIONS] [--] PROGRAM [ARGUMENTS]",
		Short: "Run a program and record its calls",
		Long: `record runs a program with the recorder and says where the log is. It looks at
the program first, and says by which way in it is recorded and why. What was
built with -finstrument-functions or -pg -mfentry needs no other preparation:
on Linux the recorder's library is preloaded, for which it is built once with the
C compiler at hand, if it is not installed. On Windows the recorder must be linked
in; its DLL is supplied where it is missing.

Each process writes a log of its own into one folder, NAME.rec; also children, and
what they start. The folder is opened as one session: logparse show NAME.rec

The program has its input, output and terminal as without the command, which
writes to the standard error only, and nothing with --quiet. Its exit status is
the command's; a command whose program was ended by a signal ends by that signal.
125: the command itself failed; 126: the program cannot be run; 127: there is none.`,
		Example: `  logparse record ./app --its-own options
  logparse record --exclude 'std::*' --min 10us -o run1 ./server
  logparse record --show ./app 2> calls.txt
  logparse record --libcalls git status
  logparse record --inside 'handle_request' --depth 4 ./server
  logparse record make test
  sudo logparse record --probe 'parse*' --values 'parse*' ./not-rebuilt`,
		Args: func(cmd *cobra.Command, args []string) error {
			return f.probe.check(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return f.record(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	// What stands behind the program is the program's.
	flags.SetInterspersed(false)
	flags.StringVarP(&f.Dir, "output", "o", "", "the `folder` for the logs, which is made or must be empty (default: NAME.rec, NAME-2.rec ...)")
	flags.StringArrayVar(&f.Include, "include", nil, "record only functions like this `pattern`, [MODULE!]FUNCTION with * and ? (repeatable)")
	flags.StringArrayVar(&f.Exclude, "exclude", nil, "leave out functions like this `pattern` (repeatable)")
	flags.StringVar(&f.Minimum, "min", "", "drop calls that are shorter than this `time`, such as 500ns, 10us or 1ms")
	flags.StringArrayVar(&f.LibraryCalls, "libcalls", nil, "record the program's calls into libraries, too, of functions like this `[LIBRARY!]FUNCTION` (Linux, x86-64; all without =; repeatable)")
	flags.Lookup("libcalls").NoOptDefVal = "*"
	addTriggers(flags, &f.Triggers)
	flags.StringVar(&f.SwitchSignal, "switch-signal", "", "the `signal` that switches recording off, and on again, such as USR2")
	flags.BoolVar(&f.Paused, "paused", false, "begin switched off, until the signal of --switch-signal comes")
	flags.IntVar(&f.ring, "ring", 0, "keep only the last `MB` of each thread, from 1 to 4096")
	flags.BoolVar(&f.Sites, "sites", false, "record where each call came from, too")
	flags.StringArrayVar(&f.values, "values", nil, "take arguments and results: of functions like this `pattern`, as logparse values has it ('*' for all; repeatable), by a plan FILE.lpvalues, or raw")
	flags.StringVar(&f.prototypes, "prototypes", "", "with --libcalls or --probe, and --values: a `file` that declares functions, in C (those of the C library are known)")
	f.probe.add(cmd)
	flags.BoolVar(&f.NoChildren, "no-children", false, "leave out programs that are started with an environment of their own")
	flags.BoolVar(&f.NoCommandLine, "no-command-line", false, "leave the command line, which may hold secrets, out of the log")
	flags.StringVar(&f.SnapshotSignal, "snapshot-signal", "", "the `signal` that has a copy of the log written, such as USR1")
	flags.StringVar(&f.Crash, "crash", "", "how a crash is recorded: off, `first` (before the program's own handlers) or last, and no-stack")
	flags.StringVar(&f.reports, "report", "", "write a short report of each process that crashed into the `folder`, as logparse crash --report does")
	flags.StringVar(&f.Library, "library", "", "the recorder's library, a `file` (default: installed, or built once and kept)")
	flags.BoolVar(&f.Lines, "lines", false, "take the lines that the program prints into the log, too, as annotations (Linux; with --show unless --lines=false)")
	flags.BoolVar(&f.show, "show", false, "print the program's own calls while they happen, on the standard error")
	flags.BoolVar(&f.open, "open", false, "open the window on the log when the program has ended")
	flags.IntVar(&f.head, "head", 10, "the `number` of rows to print at the end")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "say nothing but errors")
	completeWith(cmd, "crash", crashWords)
	return cmd
}

var crashWords = []string{"off", "first", "last", "no-stack"}

var minimumTime = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(ns|us|ms|s)?$`)

// check looks at the flags.
func (f *recordFlags) check(cmd *cobra.Command) error {
	if f.Minimum != "" && !minimumTime.MatchString(f.Minimum) {
		return misused("--min is a time, such as 500ns, 10us, 1.5ms or 1s, not %q", f.Minimum)
	}
	if err := checkTriggers(cmd, &f.RecordOptions); err != nil {
		return err
	}
	if cmd.Flags().Changed("ring") {
		if f.ring < 1 || f.ring > 4096 {
			return misused("--ring is a number of megabytes from 1 to 4096, not %d", f.ring)
		}
		if f.show {
			return misused("--show is not for --ring, which cannot be followed")
		}
		f.Ring = "ring:" + strconv.Itoa(f.ring)
	}
	for _, word := range strings.Split(f.Crash, ",") {
		if f.Crash != "" && !slices.Contains(crashWords, word) {
			return misused("--crash is off, first or last, and no-stack, with commas between, not %q", f.Crash)
		}
	}
	if f.show && !cmd.Flags().Changed("lines") {
		f.Lines = true
	}
	if f.prototypes != "" && (len(f.values) == 0 || len(f.LibraryCalls) == 0 && !f.probe.used()) {
		return misused("--prototypes is for --libcalls or --probe with --values, such as: --libcalls --values '*'")
	}
	if f.head < 0 {
		return misused("--head is a number of rows, such as 20, not %d", f.head)
	}
	return nil
}

// record runs the program. Its error is how that ended.
func (f *recordFlags) record(cmd *cobra.Command, command []string) error {
	say := func(format string, args ...any) {
		if !f.quiet {
			fmt.Fprintln(cmd.ErrOrStderr(), "logparse:", rows.Visible(fmt.Sprintf(format, args...)))
		}
	}
	if err := makeReportFolder(cmd, f.reports); err != nil {
		return recordError{err, exitRecord}
	}
	if f.probe.used() {
		return f.recordProbed(cmd, command, say)
	}
	if err := f.planValues(cmd, command[0]); err != nil {
		return recordError{hint(err), exitRecord}
	}
	f.Building = func(compiler string) { say(buildingText, compiler) }
	plan, err := app.PrepareRecording(command, f.RecordOptions)
	if err != nil {
		return recordFailure(command[0], err)
	}
	say("%s", plan.Way.Reason)
	switch none := plan.Program.WithoutValues(f.Values == "raw"); {
	case len(f.values) > 0 && len(f.LibraryCalls) == 0 && !f.elsewhere && !none.IsZero():
		say("warning: %s", none)
	case f.taken != "":
		say("%s", f.taken)
	}
	recording.Store(true)
	defer recording.Store(false)
	watching, stop := context.WithCancel(cmd.Context())
	defer stop()
	watched, over := make(chan struct{}), make(chan struct{})
	program := 0
	end, err := plan.Run(func(pid int) {
		program = pid
		if !f.show {
			close(watched)
			return
		}
		go func() {
			defer close(watched)
			watch(watching, cmd, plan, pid, over)
		}()
	})
	close(over)
	recording.Store(false) // from here on a signal is for the command
	if err != nil {
		return recordFailure(command[0], err)
	}
	result, err := plan.Finish(end)
	if err == nil {
		own := plan.OwnLog(result.Logs, program) != ""
		if !own || result.Trouble != nil {
			stop()
		}
		if f.show && !own && len(result.Logs) > 0 {
			say("--show: %s made no calls that are recorded, what it started did", filepath.Base(plan.Program.Path))
		}
		<-watched
		f.tell(cmd, plan, end, result, say)
		if log := plan.OwnLog(result.Logs, program); log != "" && crashed(end) && f.Crash != "off" && !cmd.Flags().Changed("report") {
			say("how it crashed: %s", toRun("crash", shortPath(log)))
		}
		if cmd.Flags().Changed("report") {
			f.report(cmd, result, say)
		}
	} else {
		fmt.Fprintln(cmd.ErrOrStderr(), "logparse:", err)
	}
	return programEnd{end}
}

// processCount says how many processes were recorded.
func processCount(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// crashed reports whether a program ended as one does that crashes: by a signal that the processor causes or abort sends, or with the code of
// an exception as its status.
func crashed(end app.Ending) bool {
	switch end.Signal {
	case 4, 5, 6, 7, 8, 11, 31: // SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV and SIGSYS of Linux
		return true
	}
	return uint32(end.Status)>>28 == 0xc
}

// report writes the reports of what crashed.
func (f *recordFlags) report(cmd *cobra.Command, result app.RecordResult, say func(format string, args ...any)) {
	for _, l := range result.Logs {
		path, err := saveReport(cmd, l.Path, f.reports, app.Inputs{}, app.ReportOptions{})
		switch {
		case err == nil:
			say("report of a crash: %s", path)
		case !errors.Is(err, app.ErrNoCrash):
			fmt.Fprintln(cmd.ErrOrStderr(), "logparse:", rows.Visible(hint(err).Error()))
		}
	}
}

// planValues finds out which arguments and results are to be taken.
func (f *recordFlags) planValues(cmd *cobra.Command, program string) error {
	if len(f.values) == 0 {
		return nil
	}
	if one := f.values[0]; len(f.values) == 1 && (one == "raw" || strings.HasSuffix(one, ".lpvalues")) {
		if f.Values = one; one == "raw" {
			return nil
		}
		path, err := filepath.Abs(one)
		if err == nil {
			f.Values = path
			_, err = os.Stat(path)
		}
		return err
	}
	specs, err := app.ParseValueSpecs(f.values)
	if err != nil {
		return usageError{err}
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil // said where the program is to be run
	}
	plan, err := f.makePlan(cmd.Context(), path, specs)
	if err != nil {
		return fmt.Errorf("--values: %w", err)
	}
	if plan.Functions == 0 && len(f.LibraryCalls) > 0 {
		return hinted{errors.New("--values: no function fits that is declared"), "declare those of other libraries than the C library in a file, and give it with --prototypes (docs/values.md)"}
	}
	if plan.Functions == 0 {
		return hinted{errors.New("--values: no function fits"), "'*' takes all; the names are what `logparse symbols` lists"}
	}
	var text bytes.Buffer
	if err := plan.Write(&text); err != nil {
		return err
	}
	f.ValuePlan = text.Bytes()
	f.taken = fmt.Sprintf("%d values of %d functions are taken%s", plan.Values, plan.Functions, unknownValues(plan.Unknown))
	for _, warning := range plan.Warnings {
		f.taken += "; " + warning.String()
	}
	for _, m := range plan.Modules {
		f.elsewhere = f.elsewhere || len(m.Functions) > 0 && m.Name != filepath.Base(path)
		if m.Signatures {
			f.taken += fmt.Sprintf("; of %s, which has no debug information, by signature", m.Name)
		}
	}
	return nil
}

// makePlan makes the plan for a program, and for the libraries whose functions it calls.
func (f *recordFlags) makePlan(ctx context.Context, program string, specs []app.ValueSpec) (*app.ValuePlan, error) {
	plan, err := app.PlanProgramValues(ctx, app.Inputs{}, program, specs)
	if len(f.LibraryCalls) == 0 {
		return plan, err
	}
	if err != nil {
		plan = &app.ValuePlan{} // a program without debug information has nothing of its own to take
	}
	var own *app.Prototypes
	if f.prototypes != "" {
		if own, err = app.ReadPrototypes(f.prototypes); err != nil {
			return nil, err
		}
	}
	libraries, err := app.PlanLibraryValues(ctx, app.Inputs{}, program, specs, own)
	if err != nil {
		return nil, err
	}
	if plan.ABI == "" || plan.ABI == libraries.ABI {
		libraries.Add(plan)
	}
	return libraries, nil
}

// recordFailure gives an error that kept a program from running its exit code, and what to do
// about it.
func recordFailure(program string, err error) error {
	e := recordError{hint(err), exitRecord}
	switch {
	case errors.Is(err, app.ErrNoProgram):
		e.code = exitNoProgram
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
			e.error = hinted{e.error, "for the one in this folder write ." + string(filepath.Separator) + program}
		}
	case errors.Is(err, app.ErrNotEmpty), errors.Is(err, app.ErrNoFolder):
		e.error = hinted{err, "give another folder with --output"}
	case errors.Is(err, app.ErrNoCompiler):
		e.error = hinted{err, "install one (gcc or clang), or name a library that was built elsewhere with --library"}
	case errors.Is(err, app.ErrNoLibrary):
		e.error = hinted{err, "set XDG_CACHE_HOME to a folder that can be written, or name a library that was built elsewhere with --library"}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		e.code = exitNotRunnable
	}
	return e
}

// headSize bounds the logs of which the first rows are shown, bytes: larger ones take long
// to be read.
const headSize = 256 << 20

// tell says what was recorded.
func (f *recordFlags) tell(cmd *cobra.Command, plan *app.RecordPlan, end app.Ending, result app.RecordResult, say func(format string, args ...any)) {
	name := filepath.Base(plan.Program.Path)
	how := fmt.Sprintf("ended with status %d", end.Status)
	if end.Signal != 0 {
		how = fmt.Sprintf("was ended by signal %d", end.Signal)
	}
	took := end.Lasted.Round(time.Millisecond)
	if result.Trouble != nil {
		say("warning: %v", result.Trouble)
	}
	if len(result.Logs) == 0 {
		say("%s %s after %v, and nothing was recorded", name, how, took)
		if f.Paused {
			say("recording was switched off, and %s did not come", f.SwitchSignal)
			return
		}
		for _, line := range plan.Way.Advice {
			say("%s", line)
		}
		if runtime.GOOS == "linux" && plan.Symbols() == "" && !app.Recordable(plan.Way) && !f.probe.used() {
			say("without compiling it: --probe '*' as root%s (logparse record --help)", withoutHooks(plan.Program.Static || plan.Program.Privileged))
		}
		return
	}
	running, size := 0, int64(0)
	for _, l := range result.Logs {
		size += l.Size
		if l.Running {
			running++
		}
	}
	shown := shortPath(plan.Dir)
	say("%s %s after %v; recorded: %s, %s", name, how, took, processCount(len(result.Logs)), bytesText(size))
	switch {
	case running == 1:
		say("one of them still runs, and goes on recording")
	case running > 1:
		say("%d of them still run, and go on recording", running)
	}
	if !f.quiet && f.head > 0 {
		if size > headSize {
			say("the log is large; its beginning is not shown here")
		} else if err := f.printHead(cmd, plan); err != nil {
			say("warning: %v", err)
		}
	}
	args := []string{shown}
	if dir := plan.Symbols(); dir != "" {
		args = append(args, "--symbols", dir)
	}
	if first, ok := earlierRun(shown); ok && f.Dir == "" {
		say("%s is of an earlier run", first)
	}
	say("to read all of it: %s", toRun("show", args...))
	if f.open {
		if err := openWindow(plan.Dir); err != nil {
			fmt.Fprintln(cmd.ErrOrStderr(), "logparse: --open:", err)
		}
	}
}

// earlierRun returns the folder of the first run of a program, of which a later one has a folder with a number.
func earlierRun(dir string) (first string, ok bool) {
	m := numberedRun.FindStringSubmatch(dir)
	if m == nil {
		return "", false
	}
	_, err := os.Stat(m[1] + ".rec")
	return m[1] + ".rec", err == nil
}

var numberedRun = regexp.MustCompile(`^(.+)-[0-9]+\.rec$`)

// withoutHooks is the other way to something of a program that calls no hooks.
func withoutHooks(unloadable bool) string {
	if unloadable || runtime.GOARCH != "amd64" {
		return ""
	}
	return ", or --libcalls for its calls into libraries"
}

// bytesText is a size for people.
func bytesText(n int64) string {
	if n < 1e6 {
		return fmt.Sprintf("%d KB", (n+999)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// shortPath is a path as it is said from the working folder.
func shortPath(path string) string {
	if here, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

var bare = regexp.MustCompile(`^[A-Za-z0-9_./\\:%+@,-]+$`)

// quoted is a path as a shell takes it.
func quoted(path string) string {
	switch {
	case bare.MatchString(path) && !strings.HasPrefix(path, "-"):
		return path
	case runtime.GOOS == "windows":
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// rowsOut is where rows go that are no output of the program: the standard error.
func rowsOut(cmd *cobra.Command) (io.Writer, func() error) {
	out := cmd.ErrOrStderr()
	// A message is one line.
	if m, ok := out.(*messages); ok {
		out = m.w
	}
	return terminalOutput(out)
}

// printHead prints the first rows of what was recorded.
func (f *recordFlags) printHead(cmd *cobra.Command, plan *app.RecordPlan) error {
	ctx := cmd.Context()
	in := app.Inputs{Log: plan.Dir, NoIndexCache: true}
	if dir := plan.Symbols(); dir != "" {
		in.Symbols = []string{dir}
	}
	s, err := app.Open(ctx, in, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Load(ctx, nil); err != nil {
		return err
	}
	out, flush := rowsOut(cmd)
	var table strings.Builder
	if err := s.WriteRows(ctx, &table, "txt", rows.Before(rows.With(s.Rows(), rows.Values|rows.CallSites), int64(f.head)), app.SaveOptions{}, nil); err != nil {
		return err
	}
	// What stands before the table is for files.
	text := table.String()
	if at := strings.Index(text, "\nindex "); at >= 0 {
		text = text[at+1:]
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if more := s.Rows().Len() - int64(f.head); more > 0 {
		fmt.Fprintf(out, "... and %d more\n", more)
	}
	return flush()
}

// watch prints the calls of a process while they happen, and the lines that it prints. over is closed when it has ended.
func watch(ctx context.Context, cmd *cobra.Command, plan *app.RecordPlan, pid int, over <-chan struct{}) {
	out, flush := rowsOut(cmd)
	defer flush()
	follow := &cobra.Command{Use: "show"}
	follow.SetOut(out)
	follow.SetErr(cmd.ErrOrStderr())
	follow.SetContext(ctx)
	log := ""
	for log == "" {
		logs, err := app.RecordedLogs(plan.Dir)
		if err != nil {
			return
		}
		log = plan.OwnLog(logs, pid)
		select {
		case <-ctx.Done():
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	w := &follower{inputFlags: &inputFlags{Inputs: app.Inputs{NoIndexCache: true}}, cmd: follow, where: &whereFlag{}, format: "txt", annotations: true, over: over}
	if _, err := w.one(log, -1, true); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(cmd.ErrOrStderr(), "logparse: --show:", hint(err))
	}
}

// windowNames are what the desktop program is called.
var windowNames = []string{"logparser", "LogParser", "LogParser.exe"}

// openWindow starts the desktop program, which lies beside the command, or in PATH.
func openWindow(dir string) error {
	var candidates []string
	if exe, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(exe); err == nil {
			exe = real
		}
		for _, name := range windowNames {
			candidates = append(candidates, filepath.Join(filepath.Dir(exe), name))
		}
	}
	candidates = append(candidates, windowNames[0])
	for _, c := range candidates {
		if path, err := exec.LookPath(c); err == nil {
			return exec.Command(path, dir).Start()
		}
	}
	return errors.New("the desktop program is neither beside the command nor in PATH")
}
