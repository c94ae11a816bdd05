package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"logparser/app"
)

// probeFlags are the flags of record that are about probes of the kernel.
type probeFlags struct {
	functions []string
	image     string
	pids      []uint
	all       bool
}

func (f *probeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.functions, "probe", nil, "record a program that is not rebuilt, by probes of the kernel in functions like this `pattern` (Linux, root; repeatable)")
	flags.StringVar(&f.image, "image", "", "with --probe: the program or library `file` that gets the probes (default: the program)")
	flags.UintSliceVar(&f.pids, "pid", nil, "with --probe: record the running process of this `id` (repeatable)")
	flags.BoolVar(&f.all, "all-processes", false, "with --probe and --image: record all processes that run the file, until Ctrl+C")
}

// used reports whether a program is recorded by probes.
func (f *probeFlags) used() bool { return len(f.functions) > 0 }

// check looks at the flags.
func (f *probeFlags) check(cmd *cobra.Command, args []string) error {
	running := len(f.pids) > 0 || f.all
	switch {
	case !f.used():
		if running || f.image != "" {
			return misused("--pid, --image and --all-processes are for --probe")
		}
		if len(args) == 0 {
			return errors.New("record needs a PROGRAM, such as: logparse record ./app")
		}
		return nil
	case running && len(args) > 0:
		return misused("record runs a PROGRAM, or takes processes that run by --pid or --all-processes, not both")
	case !running && len(args) == 0:
		return errors.New("record --probe needs a PROGRAM, --pid or --all-processes, such as: logparse record --probe 'parse*' ./app")
	case slices.ContainsFunc(f.pids, func(pid uint) bool { return pid == 0 || pid > math.MaxInt32 }):
		return misused("--pid: no process has such an id")
	case f.all && f.image == "":
		return misused("--all-processes needs the file whose processes are meant: --image FILE")
	}
	for _, name := range []string{"include", "exclude", "min", "ring", "sites", "lines", "snapshot-signal", "switch-signal", "paused", "crash", "library", "show", "no-children", "no-command-line", "libcalls", "from", "until", "inside", "depth", "after", "for"} {
		if cmd.Flags().Changed(name) {
			return misused("--%s is for programs with hooks, not for --probe", name)
		}
	}
	return nil
}

// recordProbed records by probes of the kernel. Its error is how the program ended.
func (f *recordFlags) recordProbed(cmd *cobra.Command, command []string, say func(format string, args ...any)) error {
	opt := app.ProbingOptions{Command: command, Image: f.probe.image, All: f.probe.all, Dir: f.Dir}
	for _, pid := range f.probe.pids {
		opt.PIDs = append(opt.PIDs, uint32(pid))
	}
	var err error
	if opt.Functions, err = app.ParseValueSpecs(f.probe.functions); err != nil {
		return usageError{err}
	}
	if len(f.values) == 1 {
		if opt.Raw, opt.RawArguments, err = rawArguments(f.values[0]); err != nil {
			return err
		}
	}
	if len(f.values) > 0 && !opt.Raw {
		if opt.Values, err = app.ParseValueSpecs(f.values); err != nil {
			return usageError{err}
		}
	}
	if f.prototypes != "" {
		if opt.Prototypes, err = app.ReadPrototypes(f.prototypes); err != nil {
			return recordError{hint(err), exitRecord}
		}
	}
	program := f.probe.image
	if len(command) > 0 {
		program = command[0]
	}
	p, err := app.PlanProbing(cmd.Context(), app.Inputs{}, opt)
	if errors.Is(err, app.ErrNoFunction) {
		err = hinted{err, "give --probe another pattern; '*' fits all"}
	}
	if err != nil {
		return recordFailure(program, err)
	}
	for _, note := range p.Probes.Notes {
		say("note: %s", note.String())
	}
	if err := p.Start(cmd.Context(), app.Inputs{}); err != nil {
		if errors.Is(err, app.ErrProbeRights) {
			err = f.forAdministrator(cmd, p, command, err)
		}
		return recordFailure(program, err)
	}
	name := filepath.Base(p.Probes.Path)
	switch {
	case p.NoValues != nil:
		say("warning: %v", hinted{p.NoValues, "--values raw or raw:N takes numbers, and --prototypes FILE declares them (docs/probes.md)"})
	case len(f.values) > 0:
		say("%d values are taken%s", p.Values, unknownValues(p.Unknown))
	}
	say("%s is recorded by probes of the kernel in %d functions", name, p.Probes.Functions)
	var end app.Ending
	if len(command) > 0 {
		recording.Store(true)
		end, err = p.Run(nil)
		recording.Store(false)
	} else {
		say("Ctrl+C ends the recording")
		err = waitProbed(cmd.Context(), p)
	}
	if err != nil {
		return recordFailure(program, err)
	}
	_, lost, nowhere := p.Hits()
	if lost > 0 {
		say("warning: %d hits came faster than they were read, and are lost: probe fewer functions", lost)
	}
	if nowhere > 0 {
		say("warning: %d ends of calls that began before cannot be told a place, and are left out", nowhere)
	}
	result, err := p.Plan.Finish(end)
	if err != nil {
		return recordFailure(program, err)
	}
	if len(command) > 0 {
		f.tell(cmd, p.Plan, end, result, say)
		return programEnd{end}
	}
	if len(result.Logs) == 0 {
		say("nothing was recorded: no function with a probe was called")
	} else {
		say("recorded: %s; to read it: %s", processCount(len(result.Logs)), toRun("show", shortPath(p.Plan.Dir)))
	}
	return nil
}

// waitProbed records until a signal asks for the end, or the processes have ended. What was recorded
// is then written, whatever comes meanwhile.
func waitProbed(ctx context.Context, p *app.Probing) error {
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	came := make(chan os.Signal, 16)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(came)
	recording.Store(true)
	defer recording.Store(false)
	go func() {
		select {
		case <-came:
			stop()
		case <-waiting.Done():
		}
	}()
	return p.Wait(waiting)
}

// forAdministrator writes the lines by which somebody with the rights records, and says where they are.
func (f *recordFlags) forAdministrator(cmd *cobra.Command, p *app.Probing, command []string, err error) error {
	script := strings.TrimSuffix(filepath.Base(p.Probes.Path), filepath.Ext(p.Probes.Path)) + ".probes.sh"
	if app.HoldsOther(script, app.ProbesFormat) || app.HoldsOther(app.NamesBeside(script), app.NamesFormat) {
		return hinted{err, "run it as root"}
	}
	plan, failed := p.ForAdministrator(cmd.Context(), app.Inputs{})
	if failed == nil {
		_, failed = plan.SaveProbes(cmd.Context(), script)
	}
	if failed != nil {
		return hinted{err, "run it as root"}
	}
	run := "sh " + quoted(script)
	switch {
	case f.probe.all:
		run += " -a"
	case len(f.probe.pids) > 0:
		var list []string
		for _, pid := range f.probe.pids {
			list = append(list, strconv.FormatUint(uint64(pid), 10))
		}
		run += " -p " + strings.Join(list, ",")
	default:
		for _, word := range command {
			run += " " + quoted(word)
		}
	}
	return hinted{err, fmt.Sprintf("run it as root; or have an administrator run `%s`, which records by perf, and read calls.txt", run)}
}
