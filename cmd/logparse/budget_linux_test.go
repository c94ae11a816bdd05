package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a command may take for an untrusted input. A bomb of the test takes less than a second where the work is in proportion to
// the input, and more than ten times the limit where it is not. The limit is of the processor's time, so that nothing depends on what
// else the machine does.
const (
	budgetSeconds = 10
	budgetMemory  = 500 << 20 // and budgetShare times the input, in bytes
	budgetShare   = 4
)

// A spent is what a command took.
type spent struct {
	cpu    time.Duration
	memory int64
	// input and output are the bytes that were read and written.
	input, output int64
	said          string
}

// budgeted is a command that is about to read an input, within a limit of the processor's time.
func budgeted(t *testing.T, b *bomb, call string, n, seconds int) (cmd *exec.Cmd, dir string) {
	t.Helper()
	dir = t.TempDir()
	path, err := b.write(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(strings.NewReplacer("FILE", path, "DIR", dir).Replace(call))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command("sh", append([]string{"-c", "ulimit -t " + strconv.Itoa(seconds) + " && exec \"$0\" \"$@\"", exe}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "TMPDIR="+dir)
	return cmd, dir
}

// spend runs the command on an input.
func spend(t *testing.T, b *bomb, call string, n, seconds int) spent {
	t.Helper()
	cmd, dir := budgeted(t, b, call, n, seconds)
	s := spent{input: folderSize(t, dir)}
	var errs bytes.Buffer
	out := &counter{}
	cmd.Stdout, cmd.Stderr = out, &errs
	err := s.run(cmd)
	s.output = out.n + folderSize(t, dir) - s.input
	s.said = strings.TrimSpace(errs.String())
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() || strings.Contains(s.said, "goroutine ") {
		t.Errorf("%s, %d: %v after %v: %.300s", call, n, err, s.cpu, s.said)
	}
	t.Logf("%s, %d: %d bytes in, %d out, %v, %d MiB: %.60q", call, n, s.input, s.output, s.cpu, s.memory>>20, s.said)
	if s.memory > budgetMemory+budgetShare*s.input {
		t.Errorf("%s, %d: %d MiB of memory for %d bytes", call, n, s.memory>>20, s.input)
	}
	return s
}

// run runs a command and notes what it takes.
func (s *spent) run(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	ended, watched := make(chan bool), make(chan bool)
	go func() {
		defer close(watched)
		for {
			s.memory = max(s.memory, peakOf(cmd.Process.Pid))
			select {
			case <-ended:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	err := cmd.Wait()
	close(ended)
	<-watched
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return err
}

// peakOf returns the most memory that a process has had, in bytes. What the system says of one that has ended has that of
// the process that started it, too.
func peakOf(pid int) int64 {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(b, []byte("VmHWM:"))
	f := bytes.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(string(f[0]), 10, 64)
	return n << 10
}

// counter counts what is written.
type counter struct{ n int64 }

func (c *counter) Write(b []byte) (int, error) {
	c.n += int64(len(b))
	return len(b), nil
}

// folderSize returns the bytes of the files in a folder.
func folderSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBudget runs the command over inputs that say how much work they are.
func TestBudget(t *testing.T) {
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			for _, call := range b.calls {
				spend(t, &b, call, b.n, budgetSeconds)
			}
		})
	}
}

// TestGrowth doubles each dimension three times: the processor's time and the memory grow at most in proportion to what is read
// and written. Then it interrupts the command. It takes many minutes, and a machine that does nothing else.
func TestGrowth(t *testing.T) {
	if os.Getenv("LOGPARSER_SOAK") == "" {
		t.Skip("LOGPARSER_SOAK is not set: make soak")
	}
	const (
		most    = 1.25 // of the growth of what is read and written
		atLeast = 300 * time.Millisecond
		least   = 64 << 20
	)
	for _, b := range bombs() {
		t.Run(b.name, func(t *testing.T) {
			for _, call := range b.calls {
				var last spent
				n := max(1, b.n/2)
				if b.most > 0 {
					n = b.most / 8
				}
				for i := range 4 {
					s := spend(t, &b, call, n, 10*budgetSeconds)
					grown := max(2, float64(s.input+s.output)/float64(max(1, last.input+last.output))) * most
					for range 2 {
						if i == 0 || s.cpu <= atLeast || float64(s.cpu) <= grown*float64(max(last.cpu, atLeast/2)) {
							break
						}
						// The processor was shared with others, or the smaller input was lucky.
						s.cpu = min(s.cpu, spend(t, &b, call, n, 10*budgetSeconds).cpu)
						last.cpu = max(last.cpu, spend(t, &b, call, n/2, 10*budgetSeconds).cpu)
					}
					if i > 0 && s.cpu > atLeast && float64(s.cpu) > grown*float64(max(last.cpu, atLeast/2)) {
						t.Errorf("%s, %d: %v after %v for half", call, n, s.cpu, last.cpu)
					}
					if i > 0 && s.memory > least && float64(s.memory) > grown*float64(max(last.memory, least)) {
						t.Errorf("%s, %d: %d MiB after %d for half", call, n, s.memory>>20, last.memory>>20)
					}
					last = s
					n *= 2
				}
				for _, part := range []time.Duration{10, 4, 2} {
					interrupt(t, &b, call, n/2, last.cpu/part)
				}
			}
		})
	}
}

// interrupt sends the command Ctrl+C when it has taken some of the processor's time.
func interrupt(t *testing.T, b *bomb, call string, n int, after time.Duration) {
	t.Helper()
	const soon = 100 * time.Millisecond // of each processor
	cmd, _ := budgeted(t, b, call, n, 10*budgetSeconds)
	cmd.Stdout, cmd.Stderr = &counter{}, &counter{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	used := time.Duration(0)
	for used < after {
		if now := usedBy(cmd.Process.Pid); now < used {
			break // it has ended
		} else {
			used = now
		}
		time.Sleep(5 * time.Millisecond)
	}
	cmd.Process.Signal(os.Interrupt)
	<-ended
	if more := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() - used; more > soon*time.Duration(runtime.NumCPU()) {
		t.Errorf("%s, %d: %v of work after it was interrupted at %v", call, n, more, used)
	}
}

// usedBy returns the processor's time that a process has taken, in steps of 10 ms, -1 where it has ended.
func usedBy(pid int) time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	if err != nil || len(f) < 13 || f[0] == "Z" {
		return -1
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
