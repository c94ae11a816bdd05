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

	"logparser/app"
)

// The exit codes, as the help and docs/formats.md give them.
const (
	exitOK      = 0
	exitError   = 1
	exitUsage   = 2
	exitDamaged = 3
)

// errDamaged ends a --strict run over a damaged log.
var errDamaged = errors.New("the log is damaged, and --strict was given")

// A usageError is a mistake in the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// run runs the command and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		// The reader of our output (head, less) has seen enough.
		return exitOK
	case errors.Is(err, errDamaged):
		fmt.Fprintln(errs, "logparse:", err)
		return exitDamaged
	case errors.As(err, &usage):
		fmt.Fprintf(errs, "logparse: %v; see logparse help or logparse VERB --help\n", err)
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(errs, "logparse: interrupted; nothing was changed")
		return exitError
	}
	fmt.Fprintln(errs, "logparse:", err)
	return exitError
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "logparse",
		Short: "Turn a binary enter/leave log into a table of names, lines and times",
		Long: `logparse reads the binary log that an instrumented C or C++ program wrote
(LogDetails.dat with its modules file LogDetails.bin), finds which function
each address belongs to (PDB, DWARF, symbol tables) and shows or saves what
was called, on which thread, and when.

LOG is the log, its modules file or the folder of both; or a trace (.lptrace),
which needs no modules file.

Exit status: 0 done (a damaged log that could be read gives a warning),
1 error, 2 wrong usage, 3 damaged log with --strict.`,
		Example: `  logparse show LogDetails.dat
  logparse save LogDetails.dat -o calls.csv --symbols C:\build\pdb
  logparse show LogDetails.dat --where 'func:Draw dur:>5ms'
  logparse stats LogDetails.dat --sort self
  logparse symbols .
  logparse resolve --image app.exe 0x1125`,
		Version:       app.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newShow(), newSave(), newStats(), newTree(), newMarks(), newInfo(), newSymbols(), newResolve(), newAdvise(), newTrace(), newRecorder())
	for _, cmd := range append(root.Commands(), root) {
		if check := cmd.Args; check != nil {
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if err := check(cmd, args); err != nil {
					return usageError{err}
				}
				return nil
			}
		}
	}
	return root
}

// inputFlags are the flags of every verb that opens a log.
type inputFlags struct {
	app.Inputs
	startTick string
	strict    bool
}

func (f *inputFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.Modules, "modules", "", "the modules `file` (default: the one beside the log)")
	addSymbolFlags(cmd, &f.Inputs)
	flags.StringVar(&f.Run, "run", "", "the run to take: a `number` from 1, or all (default: the last)")
	flags.IntVar(&f.RecordSize, "record", 0, "the record's size in `bytes`, 16 or 24 (default: found out)")
	flags.StringVar(&f.Encoding, "encoding", "", "the modules file's `encoding`: utf-8, utf-16le, gbk, windows-1252, ... (default: found out)")
	flags.StringVar(&f.StartTime, "start-time", "", "the local `time` at the start tick, such as 2013-05-06T14:03:05.123")
	flags.StringVar(&f.startTick, "start-tick", "", "the `tick` (ms) at the start time")
	flags.StringVar(&f.IndexCache, "index-cache", "", "the `folder` for the indexes of large logs, which make opening them again quick (default: in the user's cache)")
	flags.BoolVar(&f.NoIndexCache, "no-index-cache", false, "keep no index of the log, and take none")
	flags.BoolVar(&f.Corrected, "corrected", false, "take the recorder's own time, as it measured it, off the durations")
	if !slices.Contains([]string{"show", "save", "stats", "tree"}, cmd.Name()) {
		// No other verb has durations that could be corrected.
		cobra.CheckErr(flags.MarkHidden("corrected"))
	}
	flags.BoolVar(&f.strict, "strict", false, "exit with status 3 if the log is damaged")
}

// addSymbolFlags adds the flags that say where symbols are.
func addSymbolFlags(cmd *cobra.Command, in *app.Inputs) {
	flags := cmd.Flags()
	flags.StringArrayVar(&in.Symbols, "symbols", nil, "a `path` to look for symbols in: a folder, a file, or text like _NT_SYMBOL_PATH (repeatable)")
	flags.BoolVar(&in.NoRecordedPaths, "no-recorded-paths", false, "open no path that comes out of a file")
	flags.BoolVar(&in.LoadMismatched, "load-mismatched", false, "take names from a file of another build where there is no better one; each is marked [mismatched]")
	flags.BoolVar(&in.Network, "network", false, "ask the symbol servers that --symbols (srv*...*URL, debuginfod:URL), _NT_SYMBOL_PATH and DEBUGINFOD_URLS name")
	flags.StringVar(&in.SymbolCache, "symbol-cache", "", "the `folder` for what symbol servers give; named, it also keeps compressed symbol files inflated")
}

// oneLog is the check of verbs that take one log.
func oneLog(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one LOG, not %d", cmd.Name(), len(args))
	}
	return nil
}

// open opens the log that args name. The session is loaded: paired and named.
func (f *inputFlags) open(cmd *cobra.Command, args []string) (*app.Session, error) {
	return f.openWith(cmd, args, app.Open)
}

func (f *inputFlags) openWith(cmd *cobra.Command, args []string,
	open func(context.Context, app.Inputs, app.Progress) (*app.Session, error)) (*app.Session, error) {
	in := f.Inputs
	in.Log = args[0]
	if f.RecordSize != 0 && f.RecordSize != 16 && f.RecordSize != 24 {
		return nil, usageError{fmt.Errorf("--record is 16 or 24, not %d", f.RecordSize)}
	}
	if f.startTick != "" {
		tick, err := strconv.ParseUint(f.startTick, 0, 32)
		if err != nil {
			return nil, usageError{fmt.Errorf("--start-tick: %q is not a number below 2^32", f.startTick)}
		}
		tick32 := uint32(tick)
		in.StartTick = &tick32
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.clear()
	s, err := open(cmd.Context(), in, p.report)
	if err != nil {
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
		fmt.Fprintln(cmd.ErrOrStderr(), "logparse: warning:", w)
	}
	return s, nil
}

// finish turns damage into an error if --strict asks for it.
func (f *inputFlags) finish(s *app.Session) error {
	if f.strict && s.Damaged() {
		return errDamaged
	}
	return nil
}
