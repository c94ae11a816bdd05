//go:build unix && !linux

package launch

import "os"

// ignoreAsCaller does nothing: what the caller had this process ignore is known of SIGHUP and SIGINT alone,
// which Go's runtime leaves as they were.
func ignoreAsCaller() {}

func startProcess(file string, command []string, attr *os.ProcAttr) (*os.Process, error) {
	return os.StartProcess(file, command, attr)
}
