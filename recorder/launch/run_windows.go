package launch

import (
	"os"
	"os/signal"
	"time"
)

// Run runs the program to its end, with the caller's handles and console. Ctrl+C and Ctrl+Break reach the
// program by themselves. started, if not nil, is called once with the program's id.
func (p *Plan) Run(started func(pid int)) (Ending, error) {
	if !p.apart {
		came := make(chan os.Signal, 16)
		signal.Notify(came, os.Interrupt)
		defer signal.Stop(came)
	}
	begin := time.Now()
	child, err := os.StartProcess(p.file, p.command, &os.ProcAttr{Dir: p.workDir, Env: p.env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		p.Discard()
		return Ending{}, err
	}
	p.running.set(child)
	defer p.running.set(nil)
	if started != nil {
		started(child.Pid)
	}
	state, err := child.Wait()
	if err != nil {
		return Ending{}, err
	}
	return Ending{when: now(), Lasted: time.Since(begin), pid: uint32(child.Pid), Status: state.ExitCode()}, nil
}

// Stop ends the program, which has no other way to be asked. It may be called on any goroutine; a program
// that does not run is left alone.
func (p *Plan) Stop(bool) error {
	return p.running.do(func(child *os.Process) error { return child.Kill() })
}

func privileged(string) bool { return false }
