//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"logparser/internal/testlog/classictest"
)

// asCommand in the environment makes this program the command, with the arguments
// that it has.
const asCommand = "LOGPARSE_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	code := m.Run()
	removeRecordCache()
	os.Exit(code)
}

// process is the command as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// An endingSignal asks a program to end, with the status that shells expect.
type endingSignal struct {
	signal syscall.Signal
	status int
}

// signals are those that the command heeds: the tests may run under nohup, and then SIGHUP is ignored, as it should be.
var signals = slices.DeleteFunc([]endingSignal{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}},
	func(s endingSignal) bool { return signal.Ignored(s.signal) })

// TestSignalWhileSaving sends signals to a save of one file and of many: nothing
// of it is left, what was there is as it was, and the status tells the signal.
func TestSignalWhileSaving(t *testing.T) {
	log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 1_500_000})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range signals {
		for _, split := range []string{"-1", "4096"} {
			t.Run(s.signal.String()+" "+split, func(t *testing.T) {
				for range 10 {
					dir := t.TempDir()
					target := filepath.Join(dir, "out.html")
					if err := os.WriteFile(target, nil, 0o600); err != nil {
						t.Fatal(err)
					}
					cmd := process(t, "save", log, "-o", target, "--split-rows", split, "--no-index-cache")
					if status, errs, hit := endInSave(t, cmd, dir, s.signal); !hit {
						continue // it was done before the signal came
					} else if status != s.status || !strings.Contains(errs, "interrupted; nothing was changed") {
						t.Errorf("status %d, want %d: %s", status, s.status, errs)
					}
					left, err := os.ReadDir(dir)
					if err != nil || len(left) != 1 || left[0].Name() != "out.html" {
						t.Errorf("left: %v, %v", left, err)
					}
					if b, err := os.ReadFile(target); err != nil || len(b) != 0 {
						t.Errorf("the old file has %d bytes: %v", len(b), err)
					}
					return
				}
				t.Fatal("no save took long enough for a signal")
			})
		}
	}
}

// endInSave sends a signal as soon as a temporary file is in a folder. hit says
// that the command had not ended before.
func endInSave(t *testing.T, cmd *exec.Cmd, dir string, signal syscall.Signal) (status int, errs string, hit bool) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			return 0, "", false
		case <-time.After(time.Millisecond):
		}
		found, err := filepath.Glob(filepath.Join(dir, ".logparser-*.tmp"))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			break
		}
	}
	if err := cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	<-ended
	status = cmd.ProcessState.ExitCode()
	return status, out.String(), status != 0
}

// TestSignalWhileFollowing ends a command that waits for a log: Ctrl+C is the usual
// end of that, other signals have their status.
func TestSignalWhileFollowing(t *testing.T) {
	for _, s := range signals {
		cmd := process(t, "show", "--follow", filepath.Join(t.TempDir(), "none.dat"))
		errs, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// It says that it is waiting.
		if _, err := errs.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		want := s.status
		if s.signal == syscall.SIGINT {
			want = exitOK
		}
		if status := cmd.ProcessState.ExitCode(); status != want {
			t.Errorf("%v: status %d, want %d", s.signal, status, want)
		}
	}
}

// TestSignalBeforeFirstLine ends a command that follows the standard input, on which nothing has come
// yet: as TestSignalWhileFollowing, and at once, not when its patience is over.
func TestSignalBeforeFirstLine(t *testing.T) {
	for _, s := range signals {
		temporary := t.TempDir()
		cmd := process(t, "show", "--follow", "-")
		cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for begun := false; !begun; time.Sleep(time.Millisecond) {
			left, err := os.ReadDir(temporary)
			if err != nil {
				t.Fatal(err)
			}
			begun = len(left) > 0
		}
		sent := time.Now()
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		took := time.Since(sent)
		want := s.status
		if s.signal == syscall.SIGINT {
			want = exitOK
		}
		left, err := os.ReadDir(temporary)
		if status := cmd.ProcessState.ExitCode(); status != want || err != nil || len(left) > 0 || took >= patience {
			t.Errorf("%v: status %d after %v, want %d; left %v, %v", s.signal, status, took, want, left, err)
		}
	}
}

// TestSignalWhileReading ends a command whose log is on the standard input.
func TestSignalWhileReading(t *testing.T) {
	content, err := os.ReadFile(markedTrace(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range signals {
		temporary := t.TempDir()
		cmd := process(t, "show", "-")
		cmd.Env = append(cmd.Env, "TMPDIR="+temporary)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// The rest of the log never comes.
		if _, err := in.Write(content[:len(content)/2]); err != nil {
			t.Fatal(err)
		}
		for begun, start := false, time.Now(); !begun; {
			if time.Since(start) > time.Minute {
				cmd.Process.Kill()
				t.Fatal("the command does not begin")
			}
			left, err := os.ReadDir(temporary)
			if err != nil {
				t.Fatal(err)
			}
			begun = len(left) > 0
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Signal(s.signal); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		left, err := os.ReadDir(temporary)
		if status := cmd.ProcessState.ExitCode(); status != s.status || err != nil || len(left) > 0 {
			t.Errorf("%v: status %d, want %d; left %v, %v", s.signal, status, s.status, left, err)
		}
	}
}
