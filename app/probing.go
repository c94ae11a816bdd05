package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"logparser/calls/values"
	"logparser/recorder/launch"
	"logparser/recorder/probe/uprobe"
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
	// Dir is the folder for the logs, "" for a new one.
	Dir string
}

// ErrProbeRights is by what callers say what to do next.
var ErrProbeRights = uprobe.ErrRights

// A Probing is programs that are recorded by probes, which are set.
type Probing struct {
	// Plan is the program and the folder; of running processes only the folder.
	Plan *RecordPlan
	// Probes are those that were planned.
	Probes *ProbePlan
	// Values and Unknown count the values that are taken, and those of which only the name is.
	Values, Unknown int

	opt     ProbingOptions
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
	probeOptions := ProbeOptions{}
	probeOptions.Return, probeOptions.NoArguments, probeOptions.Tool = true, true, FindProbeTool("perf")
	probeOptions.AtReturns = true
	plan, err := PlanProbes(ctx, in, image, opt.Functions, probeOptions)
	if err != nil {
		return nil, err
	}
	return &Probing{Probes: plan, opt: opt}, nil
}

// Start makes the folder and sets the probes.
func (p *Probing) Start(ctx context.Context, in Inputs) (err error) {
	var take []values.Module
	var text bytes.Buffer
	if len(p.opt.Values) > 0 {
		plan, err := planValues(ctx, in, []string{p.Probes.Path}, p.opt.Values, false)
		if err != nil {
			return err
		}
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
	p.done = make(chan error, 1)
	go func() { p.done <- p.session.Run(p.traces.Add, p.traces.Sync) }()
	return nil
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
			for _, pid := range p.opt.PIDs {
				_, err := os.Stat("/proc/" + strconv.FormatUint(uint64(pid), 10))
				running = running || err == nil
			}
		}
	}
	return p.Stop()
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
