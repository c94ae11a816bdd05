//go:build unix && !linux

package launch

import (
	"os"
	"syscall"
)

// ignoreAsCaller does nothing: what the caller had this process ignore is known of SIGHUP and SIGINT alone,
// which Go's runtime leaves as they were.
func ignoreAsCaller() {}

func startProcess(file string, command []string, attr *os.ProcAttr) (*os.Process, error) {
	return os.StartProcess(file, command, attr)
}

// letGo is for Linux: elsewhere nobody is traced by who started it.
func letGo(int, syscall.Signal) bool { return false }
