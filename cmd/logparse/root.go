package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"logparser/app"
	"logparser/rows"
)

// The exit codes, as the help and docs/formats.md give them.
const (
	exitOK     = 0
	exitError  = 1
	exitUsage  = 2
	exitStrict = 3
	exitDiffer = 4
)

// A strictError ends a run with --strict over a log that is damaged, or in which
// something may be meant that is not there.
type strictError string

func (e strictError) Error() string { return string(e) + ", and --strict was given" }

// run runs the command and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	defer removeLeftovers()
	out, flush := terminalOutput(out)
	errs = &messages{errs}
	root := newRoot(in, out, errs)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if e := flush(); err == nil {
		err = e
	}
	var usage usageError
	var strict strictError
	var program programEnd
	var notRun recordError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &program):
		endSignal.Store(int32(program.Signal))
		return program.code()
	case errors.As(err, &notRun):
		sayError(errs, notRun.error)
		return notRun.code
	case errors.Is(err, errDiffer):
		return exitDiffer
	case errors.Is(err, syscall.EPIPE):
		// The reader of our output (head, less) has seen enough.
		return exitOK
	case errors.As(err, &strict):
		fmt.Fprintln(errs, "logparse:", err)
		return exitStrict
	case errors.As(err, &usage):
		if cmd.Name() == "help" {
			cmd = root
		}
		fmt.Fprintf(errs, "logparse: %v; see %s --help\n", hint(err), cmd.CommandPath())
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errs, "logparse: interrupted; nothing was changed")
		if s, ok := interruptedBy(ctx); ok {
			return exitSignal + int(s)
		}
		return exitError
	}
	sayError(errs, err)
	return exitError
}

func newRoot(in io.Reader, out, errs io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "logparse",
		Short: "Turn a binary enter/leave log into a table of names, lines and times",
		Long: `logparse reads the binary log that an instrumented C or C++ program wrote
(LogDetails.dat with its modules file LogDetails.bin), finds which function
each address belongs to (PDB, DWARF, symbol tables) and shows or saves what
was called, on which thread, and when.

LOG is the log, its modules file or the folder of both; or a trace (.lptrace),
which needs no modules file. - is a log on the standard input. Several traces,
as of a program and its children, are one session, in order of time; so is the
folder that record made.

Exit status: 0 done (a damaged log that could be read gives a warning),
1 error, 2 wrong usage, 3 with --strict where there would be a warning of damage
or of something that is not there, 4 of compare where the logs differ; 130 after Ctrl+C, 143
after SIGTERM, 129 after SIGHUP.`,
		Example: `  logparse record ./app
  logparse show LogDetails.dat
  logparse save LogDetails.dat -o calls.csv --symbols C:\build\pdb
  logparse show LogDetails.dat --where 'func:Draw dur:>5ms'
  logparse stats LogDetails.dat --sort self
  logparse compare good.lptrace bad.lptrace
  logparse symbols .
  logparse resolve --image app.exe 0x1125`,
		Version:       app.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          onlyCommands,
		RunE:          sayFirstWords,
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(optionMistake)
	root.SetHelpCommand(newHelp())
	root.AddCommand(
		newRecord(), newSample(),
		newShow(), newSave(), newStats(), newTree(), newCompare(), newAnnotations(), newInfo(),
		newSymbols(), newResolve(), newSymbolize(), newValues(), newProbes(), newCrash(),
		newAdvise(), newTrace(), newAttach(), newDetach(), newPack(), newKeep(), newRecorder(),
	)
	// Cobra adds these two when it runs, and the second with the output of now.
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = onlyCommands, showHelp
	}
	tellUsage(root)
	root.SetGlobalNormalizationFunc(sameOption)
	return root
}

// sameOption gives options of one meaning one name: --top and --last are --limit.
func sameOption(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name == "top" || name == "last" {
		name = "limit"
	}
	return pflag.NormalizedName(name)
}

func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// inputFlags are the flags of every verb that opens a log.
type inputFlags struct {
	app.Inputs
	startTick string
	strict    bool
	newest    bool
	// live: the log is followed, also on the standard input.
	live bool
}

func (f *inputFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.Modules, "modules", "", "the modules `file` of a classic log (default: the one beside the log)")
	addSymbolFlags(cmd, &f.Inputs)
	flags.StringVar(&f.Run, "run", "", "the run to take: a `number` from 1, or all (default: the last)")
	flags.IntVar(&f.RecordSize, "record", 0, "the size of a classic log's records in `bytes`, 16 or 24 (default: found out)")
	flags.StringVar(&f.Encoding, "encoding", "", "the modules file's `encoding`: utf-8, utf-16le, gbk, windows-1252, ... (default: found out)")
	flags.StringVar(&f.ModulesColumns, "modules-columns", "", "the modules file's `columns` in their order: base, size or end, name, - for others; as base,name,size:dec (default: found out)")
	flags.StringVar(&f.StartTime, "start-time", "", "the local `time` at the start tick, such as 2013-05-06T14:03:05.123")
	flags.StringVar(&f.startTick, "start-tick", "", "the `tick` (ms) at the start time")
	flags.StringVar(&f.IndexCache, "index-cache", "", "the `folder` for the indexes of large logs, which make opening them again quick (default: in the user's cache)")
	flags.BoolVar(&f.NoIndexCache, "no-index-cache", false, "keep no index of the log, and take none")
	if slices.Contains([]string{"show", "save", "stats", "tree"}, cmd.Name()) {
		// No other verb has durations that could be corrected.
		flags.BoolVar(&f.Corrected, "corrected", false, "take the recorder's own time, as it measured it, off the durations")
	}
	flags.BoolVar(&f.newest, "newest", false, "of several logs, or of a folder with several, take the one that was written last")
	flags.BoolVar(&f.strict, "strict", false, "end with status 3 where the log is damaged, has no names at all, or lacks what --where names")
}

// addSymbolFlags adds the flags that say where symbols are.
func addSymbolFlags(cmd *cobra.Command, in *app.Inputs) {
	flags := cmd.Flags()
	flags.StringArrayVar(&in.Symbols, "symbols", nil, "a `path` to look for symbols in: a folder, a file, or text like _NT_SYMBOL_PATH (repeatable)")
	flags.BoolVar(&in.NoRecordedPaths, "no-recorded-paths", false, "open no path that comes out of a file")
	flags.BoolVar(&in.LoadMismatched, "load-mismatched", false, "take names from a file of another build where there is no better one; each is marked [mismatched]")
	flags.BoolVar(&in.Network, "network", false, "ask the symbol servers that --symbols (srv*...*URL, debuginfod:URL), _NT_SYMBOL_PATH and DEBUGINFOD_URLS name")
	flags.StringVar(&in.SymbolCache, "symbol-cache", "", "the `folder` to keep what symbol servers give; if it is named, inflated copies of compressed symbol files are kept there too")
}

// oneLog is the check of verbs that take one log.
func oneLog(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one LOG, not %d", cmd.Name(), len(args))
	}
	return nil
}

// inputs returns what the flags say, or what is wrong in them.
func (f *inputFlags) inputs(cmd *cobra.Command, log string) (app.Inputs, error) {
	in := f.Inputs
	in.Log = log
	if cmd.Flags().Changed("record") && f.RecordSize != 16 && f.RecordSize != 24 {
		return in, misused("--record is 16 or 24, not %d", f.RecordSize)
	}
	if n, err := strconv.Atoi(f.Run); cmd.Flags().Changed("run") && f.Run != "all" && (err != nil || n < 1) {
		return in, misused("--run is the number of a run from 1, or all, not %q", f.Run)
	}
	if cmd.Flags().Changed("start-tick") {
		tick, err := strconv.ParseUint(f.startTick, 0, 32)
		if err != nil {
			return in, misused("--start-tick is a number below 2^32, such as 123456789, not %q", f.startTick)
		}
		tick32 := uint32(tick)
		in.StartTick = &tick32
	}
	if cmd.Flags().Changed("start-time") {
		if err := app.CheckStartTime(f.StartTime); err != nil {
			return in, misused("--start-time: %w; an example: --start-time 2013-05-06T14:03:05.123", err)
		}
	}
	if cmd.Flags().Changed("encoding") {
		if err := app.CheckEncoding(f.Encoding); err != nil {
			return in, misused("--encoding: %w; an example: --encoding gbk", err)
		}
	}
	if cmd.Flags().Changed("modules-columns") {
		if err := app.CheckModulesColumns(f.ModulesColumns); err != nil {
			return in, misused("--modules-columns: %w", err)
		}
	}
	if f.NoIndexCache && f.IndexCache != "" {
		return in, misused("--index-cache and --no-index-cache exclude each other")
	}
	return in, nil
}

// open opens the log that args name. The session is loaded: paired and named.
func (f *inputFlags) open(cmd *cobra.Command, args []string) (*app.Session, error) {
	return f.openWith(cmd, args, app.Open)
}

func (f *inputFlags) openWith(cmd *cobra.Command, args []string,
	open func(context.Context, app.Inputs, app.Progress) (*app.Session, error)) (*app.Session, error) {
	logs, err := f.logs(cmd, args)
	if err != nil {
		return nil, err
	}
	return f.openLogs(cmd, logs, open)
}

// openLogs opens logs that logs has returned as one session.
func (f *inputFlags) openLogs(cmd *cobra.Command, logs []string,
	open func(context.Context, app.Inputs, app.Progress) (*app.Session, error)) (*app.Session, error) {
	in, err := f.inputs(cmd, logs[0])
	if err != nil {
		return nil, err
	}
	in.Others = logs[1:]
	p := newProgress(cmd.ErrOrStderr())
	defer p.clear()
	s, err := open(cmd.Context(), in, p.report)
	if err != nil {
		return nil, err
	}
	if err := suits(cmd, s); err != nil {
		s.Close()
		return nil, err
	}
	if err := s.Load(cmd.Context(), p.report); err != nil {
		s.Close()
		return nil, err
	}
	p.clear()
	for _, path := range s.MissingSymbolPaths() {
		fmt.Fprintf(cmd.ErrOrStderr(), "logparse: warning: --symbols %s: there is no such file or folder\n", path)
	}
	for _, w := range s.Warnings() {
		fmt.Fprintln(cmd.ErrOrStderr(), "logparse: warning:", warningText(w))
	}
	return s, nil
}

// suits refuses options that say nothing of the log that was opened.
func suits(cmd *cobra.Command, s *app.Session) error {
	if s.OwnModules() {
		return notFor(cmd, "a trace, which has its own modules and clock; it is for classic logs", "modules", "record", "encoding", "start-time", "start-tick")
	}
	if s.Inputs().Modules == "" {
		return notFor(cmd, "a log without a modules file, whose text it would say how to read", "encoding")
	}
	return nil
}

// finish turns damage into an error if --strict asks for it.
func (f *inputFlags) finish(s *app.Session) error {
	if f.strict && s.Damaged() {
		return strictError("the log is damaged")
	}
	return nil
}

// doubt tells of something by which a check may pass by accident: a warning, or
// with --strict an error.
func (f *inputFlags) doubt(cmd *cobra.Command, format string, args ...any) error {
	text := rows.Visible(fmt.Sprintf(format, args...))
	if f.strict {
		return strictError(text)
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "logparse: warning:", text)
	return nil
}

// doubtNames tells of a log in which no function has a name.
func (f *inputFlags) doubtNames(cmd *cobra.Command, s *app.Session) error {
	if s.HasNames() {
		return nil
	}
	return f.doubt(cmd, "no function of the log has a name; logparse symbols -v says where symbols were looked for")
}
