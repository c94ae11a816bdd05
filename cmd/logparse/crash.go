package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/message"
	"logparser/rows"
)

func newCrash() *cobra.Command {
	var in app.Inputs
	var format, log, reports string
	var asJSON, allModules, crashedOnly, sources, noSources, whenTold bool
	var frames int
	cmd := &cobra.Command{
		Use:   "crash FILE",
		Short: "Show where a program crashed, from a trace, a core file or a minidump",
		Long: `crash prints why a program ended, the stack of each thread with function,
file and line of the call, registers, code and modules. FILE is a trace whose
program crashed, or the folder of one that record made, an ELF core file
(x86-64, x86, arm64) or a minidump of Windows, Breakpad or Crashpad.

Each frame says how it was found: by call frame information (cfi), by a PE's
unwind info, by the kernel's signal frame, by frame pointers, or by a scan of the
stack, which may show a call that had ended. Nothing is guessed beyond that.

With a trace, or with --log, the calls that the log has open are laid beside the frames: when each
was entered, how long it had been running, and whether log, stack or both tell
of it. Where the stack is smashed the log still has all calls; where a function
is not instrumented the stack still has its line.

Formats: ` + strings.Join(app.CrashFormats(), ", ") + `.`,
		Example: `  logparse crash app.lptrace
  logparse crash core.4242
  logparse crash app.dmp --symbols C:\build\pdb
  logparse crash core --log app.lptrace --format html > crash.html`,
		Args: func(cmd *cobra.Command, args []string) error {
			if whenTold {
				return cobra.NoArgs(cmd, args)
			}
			if len(args) != 1 {
				return fmt.Errorf("crash takes one FILE, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if whenTold {
				file, err := toldFile(cmd)
				if file == "" || err != nil {
					return err
				}
				args = []string{file}
			}
			if asJSON {
				if cmd.Flags().Changed("format") && format != "json" {
					return misused("--json and --format %s contradict each other", format)
				}
				format = "json"
			}
			if !slices.Contains(app.CrashFormats(), format) {
				return misused("--format is one of %s, not %q", strings.Join(app.CrashFormats(), ", "), format)
			}
			opt := app.ReportOptions{Frames: frames, AllThreads: !crashedOnly, AllModules: allModules, Sources: (sources || !cmd.Flags().Changed("report") && format == app.CrashFormats()[0]) && !noSources}
			if err := makeReportFolder(cmd, reports); err != nil {
				return err
			}
			if cmd.Flags().Changed("report") {
				path, err := saveReport(cmd, args[0], reports, in, opt)
				if err == nil {
					fmt.Fprintln(cmd.OutOrStdout(), rows.Visible(path))
				}
				return err
			}
			c, err := openCrash(cmd, args[0], in, log == "", &opt)
			if err != nil {
				return err
			}
			defer c.Close()
			if log != "" {
				if err := withLog(cmd, &opt, in, log); err != nil {
					return err
				}
			}
			return c.WriteReport(cmd.OutOrStdout(), format, opt)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&format, "format", app.CrashFormats()[0], "the `format`: "+strings.Join(app.CrashFormats(), ", "))
	flags.StringVar(&reports, "report", "", "write a short report into the `folder`, which is made, named by program and time (abc.exelog20030213092312), and print its path; \"\" is the folder of FILE")
	flags.BoolVar(&whenTold, "when-told", false, "take FILE from the standard input when it comes; end without a word if it does not")
	flags.BoolVar(&asJSON, "json", false, "the same as --format json")
	flags.StringVar(&log, "log", "", "the `log` of the same run, whose open calls are laid beside the frames")
	flags.IntVar(&frames, "frames", 0, "show at most so many frames of a thread (default 256); the middle ones are left out")
	flags.BoolVar(&crashedOnly, "crashed", false, "only the thread that crashed")
	flags.BoolVar(&allModules, "all-modules", false, "look for the symbols of modules that are on no stack, too")
	flags.BoolVar(&sources, "sources", false, "show lines of source in reports that are passed on, too: with --report, and in other formats than the default")
	flags.BoolVar(&noSources, "no-sources", false, "show no lines of source")
	addSymbolFlags(cmd, &in)
	// For the recorder, which starts the command before there is a crash.
	if err := flags.MarkHidden("when-told"); err != nil {
		panic(err)
	}
	return cmd
}

// toldFile returns what the standard input says, which may take as long as a program runs; "" where that ends without a word.
func toldFile(cmd *cobra.Command) (string, error) {
	const longest = 1 << 15
	b, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), longest))
	return strings.TrimRight(string(b), "\r\n"), err
}

// makeReportFolder makes the folder for reports, before there is anything to report: a crash that cannot be kept is known too late.
func makeReportFolder(cmd *cobra.Command, dir string) error {
	if !cmd.Flags().Changed("report") || dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("--report: the folder cannot be made: %w", err)
	}
	return nil
}

// saveReport writes the short report. It has the thread that crashed alone, so that the log's calls need not be paired.
func saveReport(cmd *cobra.Command, file, dir string, in app.Inputs, opt app.ReportOptions) (string, error) {
	c, err := openCrash(cmd, file, in, false, &opt)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if dir == "" {
		dir = filepath.Dir(file)
	}
	return c.SaveReport(cmd.Context(), dir, opt)
}

// openCrash opens a dump, or a log that tells of a crash. own: its own open calls are laid beside the frames; else
// they are not looked for.
func openCrash(cmd *cobra.Command, file string, in app.Inputs, own bool, opt *app.ReportOptions) (*app.Crash, error) {
	c, err := app.OpenCrash(cmd.Context(), file, in)
	if !errors.Is(err, app.ErrNoDump) {
		return c, err
	}
	log, noCrash := app.CrashedLog(cmd.Context(), file)
	if noCrash != nil {
		return nil, noCrash
	}
	in.Log = log
	s, openErr := app.Open(cmd.Context(), in, nil)
	if openErr != nil {
		// It is neither.
		return nil, err
	}
	if err = nil; own {
		err = s.Load(cmd.Context(), nil)
	}
	if err == nil {
		if c, err = s.OpenCrash(cmd.Context()); err != nil {
			err = message.InFile(file, err)
		}
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	for _, text := range s.KeptDamage() {
		fmt.Fprintln(cmd.ErrOrStderr(), "logparse: warning:", text.String())
	}
	if own {
		opt.TakeLog(s)
	}
	// A packed log has the symbols.
	c.Closer = s
	return c, nil
}

// withLog takes the calls that another file, a log, has open.
func withLog(cmd *cobra.Command, opt *app.ReportOptions, in app.Inputs, log string) error {
	in.Log = log
	s, err := app.Open(cmd.Context(), in, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Load(cmd.Context(), nil); err != nil {
		return err
	}
	opt.TakeLog(s)
	if len(opt.OpenCalls) == 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %s has no call that was open at its end\n", rows.Visible(filepath.Base(log)))
	}
	return nil
}
