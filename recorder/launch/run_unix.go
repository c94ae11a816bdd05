//go:build unix

package launch

import (
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passedOn are the signals that are passed on to the program when somebody sends them to the command.
var passedOn = []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2}

// Run runs the program to its end, with the caller's descriptors, terminal and process group.
// Signals that ask the caller to end are passed on to the program, except those of the terminal, which reach it
// anyway.
// started, if not nil, is called once with the program's id. If the plan is Apart, the caller keeps its
// signals.
func (p *Plan) Run(started func(pid int)) (Ending, error) {
	ignoreAsCaller()
	// A program may ask to be traced by who started it: that is this thread, which waits for it, too.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var wanted []os.Signal
	for _, s := range passedOn {
		// What the caller has ignored is ignored by the program, too, as long as nobody
		// asks to be told of it.
		if !p.apart && !signal.Ignored(s) {
			wanted = append(wanted, s)
		}
	}
	came := make(chan os.Signal, 16)
	if len(wanted) > 0 {
		signal.Notify(came, wanted...)
		defer signal.Stop(came)
	}
	begin := time.Now()
	ends := p.watchEnds()
	child, err := startProcess(p.file, p.command, &os.ProcAttr{Dir: p.workDir, Env: p.env, Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		ends.close()
		p.Discard()
		return Ending{}, err
	}
	pid := child.Pid
	ends.run(pid)
	p.running.set(child)
	defer p.running.set(nil)
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			select {
			case s := <-came:
				if number, ok := s.(syscall.Signal); ok && !(ofTerminal(number) && foreground()) {
					unix.Kill(pid, number)
				}
			case <-done:
				return
			}
		}
	}()
	if started != nil {
		started(pid)
	}
	status, err := wait(pid, p.apart)
	if err != nil {
		ends.stop()
		return Ending{}, os.NewSyscallError("wait4", err)
	}
	e := Ending{when: now(), Lasted: time.Since(begin), pid: uint32(pid)}
	ends.stop()
	if status.Signaled() {
		e.Signal, e.Core = int(status.Signal()), status.CoreDump()
	} else {
		e.Status = status.ExitStatus()
	}
	return e, nil
}

// Stop asks the program to end, or with force ends it. It may be called on any goroutine; a program that does not
// run is left alone.
func (p *Plan) Stop(force bool) error {
	s := syscall.SIGTERM
	if force {
		s = syscall.SIGKILL
	}
	return p.running.do(func(child *os.Process) error {
		err := child.Signal(s)
		if err == nil && stopped(child.Pid) {
			err = child.Signal(syscall.SIGCONT) // a stopped program gets the signal only when it is continued
		}
		return err
	})
}

// ofTerminal reports whether a terminal sends a signal to all processes in its foreground.
func ofTerminal(s syscall.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGHUP
}

// foreground reports whether this process is in the foreground of its terminal.
func foreground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// continued is how long a shell may take to continue all processes of a group.
const continued = 20 * time.Millisecond

// wait waits for a child. Where a shell has put both into the foreground and the child stops,
// this process stops, too, so that the shell takes notice; they go on together, unless it goes on apart.
func wait(pid int, apart bool) (unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case status.Stopped() && letGo(pid, status.StopSignal()):
		case status.Stopped() && apart:
		case status.Stopped():
			// This process may have been stopped and continued together with the child, and
			// hears of it only now.
			time.Sleep(continued)
			if stopped(pid) && foreground() {
				unix.Kill(unix.Getpid(), unix.SIGSTOP)
				unix.Kill(pid, unix.SIGCONT)
			}
		default:
			return status, nil
		}
	}
}

// privileged reports whether a program gets other rights than its caller has.
func privileged(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if info.Mode()&fs.ModeSetuid != 0 && int(st.Uid) != os.Getuid() || info.Mode()&fs.ModeSetgid != 0 && int(st.Gid) != os.Getgid() {
			return true
		}
	}
	return os.Getuid() != 0 && hasCapabilities(path)
}
