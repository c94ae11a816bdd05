package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"logparser/calls/values"
	"logparser/message"
	"logparser/modules"
	"logparser/recorder/launch"
	"logparser/recorder/probe"
	"logparser/recorder/probe/uprobe"
	"logparser/symbols/types"
	"logparser/symbols/types/dwarf"
)

// ProbingOptions are how programs are recorded by probes of the kernel.
type ProbingOptions struct {
	// Command is the program that is run, with its arguments; nil where Who says whose calls
	// are recorded.
	Command []string
	// Image is the program or library that gets probes, "" for the program of Command or of
	// the first process.
	Image string
	// PIDs are processes that run, All says that all are recorded that run the image.
	PIDs []uint32
	All  bool
	// Functions choose what gets probes, Values what is taken there: nothing where there are
	// none.
	Functions, Values []ValueSpec
	// Prototypes declare functions, nil for none. They count more than debug information.
	Prototypes *Prototypes
	// Raw takes arguments and results of all functions as numbers, without knowing what they are: the first
	// RawArguments, 0 for those that registers hold.
	Raw          bool
	RawArguments int
	// Dir is the folder for the logs, "" for a new one.
	Dir string
}

// ErrNoValues says that nothing is known of what functions take and return.
var ErrNoValues = message.New("nothing is known of the arguments and results of these functions")

// ErrProbeRights is by what callers say what to do next.
var ErrProbeRights = uprobe.ErrRights

// A Probing is programs that are recorded by probes, which are set.
type Probing struct {
	// Plan is the program and the folder; of running processes only the folder.
	Plan *RecordPlan
	// Probes are those that were planned.
	Probes *ProbePlan
	// Values counts the values that are taken, Unknown those that have only a name. NoValues says why none are taken although they
	// were asked for; calls are recorded all the same.
	Values, Unknown int
	NoValues        error

	opt     ProbingOptions
	starts  []string // of the processes, as the kernel counts them
	session *uprobe.Session
	traces  *uprobe.Traces
	done    chan error
	stop    sync.Once
	stopErr error
	lost    uint64
}

// PlanProbing plans the probes, without setting them.
func PlanProbing(ctx context.Context, in Inputs, opt ProbingOptions) (*Probing, error) {
	image := opt.Image
	if image == "" && len(opt.PIDs) > 0 {
		path, err := os.Readlink("/proc/" + strconv.FormatUint(uint64(opt.PIDs[0]), 10) + "/exe")
		if err != nil {
			return nil, &InputError{OtherInput, strconv.FormatUint(uint64(opt.PIDs[0]), 10), unwrapPath(err)}
		}
		image = path
	}
	if image == "" && len(opt.Command) > 0 {
		path, err := launch.Find(opt.Command[0])
		if err != nil {
			return nil, err
		}
		image = path
	}
	plan, err := PlanProbes(ctx, in, image, opt.Functions, opt.probes(true))
	if err != nil {
		return nil, err
	}
	return &Probing{Probes: plan, opt: opt}, nil
}

// probes returns the options of the probes, which take values themselves only where another tool sets them.
func (o *ProbingOptions) probes(bare bool) ProbeOptions {
	p := ProbeOptions{Raw: o.Raw, Prototypes: o.Prototypes, Values: o.Values}
	p.Return, p.AtReturns, p.RawArguments, p.Tool = true, true, o.RawArguments, FindProbeTool("perf")
	p.NoArguments = bare || len(o.Values) == 0 && !o.Raw
	return p
}

// ForAdministrator returns the probes as a script for perf has them that somebody with the rights runs.
func (p *Probing) ForAdministrator(ctx context.Context, in Inputs) (*ProbePlan, error) {
	return PlanProbes(ctx, in, p.Probes.Path, p.opt.Functions, p.opt.probes(false))
}

// Start makes the folder and sets the probes.
func (p *Probing) Start(ctx context.Context, in Inputs) (err error) {
	var take []values.Module
	var text bytes.Buffer
	var plan *ValuePlan
	if len(p.opt.Values) > 0 || p.opt.Raw {
		if plan, err = p.planValues(ctx, in); errors.Is(err, ErrNoValues) {
			p.NoValues = err
		} else if err != nil {
			return err
		}
	}
	if plan != nil {
		kernel := ValuePlan{Plan: *uprobe.Kernel(&plan.Plan)}
		for i := range kernel.Modules {
			kernel.count(&kernel.Modules[i])
		}
		p.Values, p.Unknown, take = kernel.Values, kernel.Unknown, kernel.Modules
		if err := kernel.Write(&text); err != nil {
			return err
		}
	}
	if len(p.opt.Command) > 0 {
		p.Plan, err = launch.Prepare(p.opt.Command, launch.Options{Dir: p.opt.Dir, Bare: true})
	} else {
		p.Plan, err = launch.Folder(p.Probes.Path, p.opt.Dir)
	}
	if err != nil {
		return err
	}
	p.traces = &uprobe.Traces{Dir: p.Plan.Dir, Name: filepath.Base(p.Probes.Path), Target: p.Probes.Target, Plan: text.Bytes()}
	p.session, err = uprobe.Start(p.Probes.Plan, take, uprobe.Who{All: p.opt.All, PIDs: p.opt.PIDs, Children: len(p.opt.Command) > 0})
	if err != nil {
		p.Plan.Discard()
		return err
	}
	for _, pid := range p.opt.PIDs {
		start, _ := runningSince(pid)
		p.starts = append(p.starts, start)
	}
	p.done = make(chan error, 1)
	go func() { p.done <- p.session.Run(p.traces.Add, p.traces.Sync) }()
	return nil
}

// planValues makes the plan of what is taken: by the user's declarations, by debug information, and by the declarations that come with
// the program; or as numbers.
func (p *Probing) planValues(ctx context.Context, in Inputs) (*ValuePlan, error) {
	machine, abi, err := conventionOf([]string{p.Probes.Path})
	if err != nil {
		return nil, err
	}
	plan := &ValuePlan{Plan: values.Plan{Machine: machine, ABI: abi}}
	m := values.Module{Name: filepath.Base(p.Probes.Path), Identity: modules.Identity{BuildID: p.Probes.Identity.BuildID}}
	var described []values.Function
	if !p.opt.Raw {
		switch debug, err := planValues(ctx, in, []string{p.Probes.Path}, p.opt.Values, false); {
		case err == nil:
			described, plan.Notes = debug.Modules[0].Functions, debug.Notes
		case !errors.Is(err, dwarf.ErrNone):
			return nil, err
		}
	}
	known := make(map[uint64]bool, len(described))
	for i := range described {
		known[described[i].RVA] = true
	}
	builtin, _ := values.BuiltinPrototypes()
	maker := values.NewMaker(abi)
	var refused error
	m.Functions = p.functionsOf(func(f *probe.Function) *values.Function {
		if p.opt.Raw {
			return p.rawValues(f)
		}
		v, err := p.declared(maker, f, m.Name, p.opt.Prototypes)
		if err != nil {
			refused = err
		}
		if v != nil || known[f.RVA] {
			return v
		}
		v, _ = p.declared(maker, f, m.Name, builtin)
		return v
	})
	if refused != nil {
		return nil, refused
	}
	m.Functions = withoutOverlap(append(m.Functions, described...))
	if len(m.Functions) == 0 {
		return nil, message.InFile(p.Probes.Path, ErrNoValues)
	}
	plan.Modules = []values.Module{m}
	plan.count(&m)
	return plan, nil
}

// functionsOf returns what make makes of the functions that have probes, where it is not nil.
func (p *Probing) functionsOf(make func(f *probe.Function) *values.Function) (list []values.Function) {
	var last *probe.Function
	for i := range p.Probes.Probes {
		f := p.Probes.Probes[i].Function
		if f == last {
			continue
		}
		last = f
		if v := make(f); v != nil && len(v.Enter)+len(v.Leave) > 0 {
			list = append(list, *v)
		}
	}
	return list
}

// declared returns what is taken of a function by its declaration, nil if it has none. by may be nil.
func (p *Probing) declared(maker *values.Maker, f *probe.Function, library string, by *Prototypes) (*values.Function, error) {
	items, wanted := values.Choose(p.opt.Values, f.Name)
	if by == nil || !wanted || f.Go {
		return nil, nil
	}
	declared := declarationOf(f, library, by)
	if declared == nil {
		return nil, nil
	}
	if maker.ABI == values.AAPCS64 && slices.ContainsFunc(declared.Parameters, func(a types.Parameter) bool { return a.Register != "" }) {
		return nil, message.Errorf("the declaration of %s names registers of x86-64, which %s is not for", f.Name, library)
	}
	there := *declared
	there.RVA, there.Size = f.RVA, max(f.Size, 1)
	v := maker.Function(&there, items)
	return &v, nil
}

// rawValues returns the arguments and results of a function as numbers.
func (p *Probing) rawValues(f *probe.Function) *values.Function {
	v := &values.Function{RVA: f.RVA, Size: max(f.Size, 1), Name: f.Name}
	arguments, results := p.Probes.RawPlaces(f, p.opt.RawArguments)
	take := func(places []string, name func(i int) string) (list []values.Value) {
		for i, place := range places {
			list = append(list, values.Value{Name: name(i), Place: place, Op: values.Op{Kind: values.Direct, Size: 8}, Type: values.Number})
		}
		return list
	}
	v.Enter = take(arguments, func(i int) string { return "arg" + strconv.Itoa(i+1) })
	v.Leave = take(results, func(i int) string {
		if i == 0 {
			return values.Result
		}
		return values.Result + strconv.Itoa(i+1)
	})
	return v
}

// Run runs the program to its end, and takes the probes away.
func (p *Probing) Run(started func(pid int)) (Ending, error) {
	end, err := p.Plan.Run(started)
	return end, errors.Join(err, p.Stop())
}

// Wait waits until the context is cancelled or the processes have ended, and takes the probes
// away.
func (p *Probing) Wait(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case <-ctx.Done():
			running = false
		case <-tick.C:
			if p.opt.All {
				break
			}
			running = false
			for i, pid := range p.opt.PIDs {
				start, runs := runningSince(pid)
				running = running || runs && start == p.starts[i]
			}
		}
	}
	return p.Stop()
}

// runningSince returns when a process was started, by which it is told from a later one of its id, and whether it runs. One that has
// ended is listed until its parent asks for it: it is a zombie, as is also one whose first thread has ended and others run on.
func runningSince(pid uint32) (start string, runs bool) {
	stat, err := os.ReadFile("/proc/" + strconv.FormatUint(uint64(pid), 10) + "/stat")
	if err != nil {
		return "", false
	}
	// Behind the name, which may hold anything: the state, 18th the number of threads, and 20th the start.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return "", false
	}
	ended := fields[0] == "X" || fields[0] == "Z" && (fields[17] == "0" || fields[17] == "1")
	return fields[19], !ended
}

// Stop takes the probes away, and writes what they have left.
func (p *Probing) Stop() error {
	p.stop.Do(func() {
		err := p.session.Stop()
		if err == nil {
			err = <-p.done
		}
		p.lost = p.session.Lost()
		p.stopErr = errors.Join(err, p.traces.Close(p.lost))
		p.session.Close()
	})
	return p.stopErr
}

// Hits returns how many hits were recorded, how many were lost since they came too fast, and how many
// were ends of calls that began before the probes were set in processes that have ended. It is for after Stop.
func (p *Probing) Hits() (recorded, lost, nowhere int64) {
	return p.traces.Hits, int64(p.lost), p.traces.Nowhere
}
