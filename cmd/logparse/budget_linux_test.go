package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
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

// spend runs the command on an input.
func spend(t *testing.T, b *bomb, call string, n, seconds int) spent {
	t.Helper()
	dir := t.TempDir()
	path, err := b.write(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	s := spent{input: folderSize(t, dir)}
	args := strings.Fields(strings.NewReplacer("FILE", path, "DIR", dir).Replace(call))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", append([]string{"-c", "ulimit -t " + strconv.Itoa(seconds) + " && exec \"$0\" \"$@\"", exe}, args...)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "TMPDIR="+dir)
	var errs bytes.Buffer
	out := &counter{}
	cmd.Stdout, cmd.Stderr = out, &errs
	err = cmd.Run()
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	s.cpu, s.memory = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), usage.Maxrss<<10
	s.output = out.n + folderSize(t, dir) - s.input
	s.said = strings.TrimSpace(errs.String())
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() || strings.Contains(s.said, "goroutine ") {
		t.Errorf("%s, %d: %v after %v: %.300s", call, n, err, s.cpu, s.said)
	}
	return s
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
				s := spend(t, &b, call, b.n, budgetSeconds)
				t.Logf("%s: %d bytes in, %d out, %v, %d MiB: %.100s", call, s.input, s.output, s.cpu, s.memory>>20, s.said)
				if s.memory > budgetMemory+budgetShare*s.input {
					t.Errorf("%s: %d MiB of memory for %d bytes", call, s.memory>>20, s.input)
				}
			}
		})
	}
}
