package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal makes a pseudo-terminal: what a program sees, and the user's side.
func openTerminal(t *testing.T) (program, user *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	program, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { program.Close() })
	return program, user
}

// TestAskOnTerminal answers the questions of a save on a terminal.
func TestAskOnTerminal(t *testing.T) {
	save := func(path string, more ...string) []string {
		return append([]string{"save", sampleDir, "--no-recorded-paths", "-o", path, "--format", "csv"}, more...)
	}
	for _, test := range []struct {
		name, old, answer string
		more              []string
		status            int
		asked             string
		replaced          bool
	}{
		{"nothing there", "", "", nil, exitOK, "", true},
		{"yes", "int x;\n", "y\n", nil, exitOK, "is no csv file that logparse has saved! ", true},
		{"no", "int x;\n", "n\n", nil, exitError, "is no csv file that logparse has saved! ", false},
		{"return", "int x;\n", "\n", nil, exitError, "exists. Replace it? [y/N]", false},
		{"Ctrl+C", "int x;\n", "\x03", nil, 130, "exists. Replace it? [y/N]", false},
		{"its own", "index,time,thread,event,depth\n", "no\n", nil, exitError, "exists. Replace it? [y/N]", false},
		{"its own, wanted", "index,time,thread,event,depth\n", "", []string{"--replace"}, exitOK, "", true},
		{"force", "int x;\n", "", []string{"--force"}, exitOK, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			program, user := openTerminal(t)
			path := filepath.Join(t.TempDir(), "out")
			if test.old != "" {
				if err := os.WriteFile(path, []byte(test.old), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			cmd := process(t, save(path, test.more...)...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			program.Close()
			var said strings.Builder
			answer, buffer := test.answer, make([]byte, 1000)
			for {
				n, err := user.Read(buffer)
				said.Write(buffer[:n])
				if answer != "" && strings.Contains(said.String(), "[y/N]") {
					if _, err := user.WriteString(answer); err != nil {
						t.Fatal(err)
					}
					answer = ""
				}
				if err != nil { // the program has closed its side
					break
				}
			}
			cmd.Wait()
			if status := cmd.ProcessState.ExitCode(); status != test.status {
				t.Errorf("status %d, want %d: %s", status, test.status, said.String())
			}
			if asked := strings.Contains(said.String(), "[y/N]"); asked != (test.asked != "") || !strings.Contains(said.String(), test.asked) {
				t.Errorf("said: %s", said.String())
			}
			now, err := os.ReadFile(path)
			if replaced := string(now) != test.old; err != nil || replaced != test.replaced {
				t.Errorf("replaced: %v, want %v; %v", replaced, test.replaced, err)
			}
		})
	}
}

// TestChooseOnTerminal answers which log of a folder is meant.
func TestChooseOnTerminal(t *testing.T) {
	dir := someLogs(t)
	for answer, want := range map[string]string{"1\n": "Log:      b.lptrace", "3\n": "Log:      LogDetails.dat", "4\n": "no number from 1 to 3", "\n": "no log was read"} {
		program, user := openTerminal(t)
		cmd := process(t, "show", dir, "-n", "1")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		program.Close()
		var said strings.Builder
		buffer, asked := make([]byte, 1000), false
		for {
			n, err := user.Read(buffer)
			said.Write(buffer[:n])
			if !asked && strings.Contains(said.String(), "which one? [1-3]") {
				asked = true
				if _, err := user.WriteString(answer); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				break
			}
		}
		cmd.Wait()
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q: %s", answer, said.String())
		}
	}
}
