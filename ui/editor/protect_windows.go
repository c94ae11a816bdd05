package editor

import (
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/windows"
)

// protect has batch files be run by a command line of their own: Windows runs them by cmd.exe, which reads more in it than
// programs do, and an editor may be one (code.cmd).
func protect(cmd *exec.Cmd) error {
	if cmd.Err != nil || !isBatch(cmd.Path) {
		return cmd.Err
	}
	script, err := filepath.Abs(cmd.Path)
	if err != nil {
		return err
	}
	line, err := batchLine(script, cmd.Args[1:])
	if err != nil {
		return err
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return err
	}
	cmd.Path = filepath.Join(system, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: line, HideWindow: true}
	return nil
}
