//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inGroup has a program that takes too long end with all that it started.
func inGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
