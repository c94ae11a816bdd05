package launch

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"logparser/parser/trace/wire"
)

func hasCapabilities(path string) bool {
	n, err := unix.Getxattr(path, "security.capability", nil)
	return err == nil && n > 0
}

const systemLinux = 1

// alive reports whether the process of a log is still there: the one of its id that started
// when it did.
func alive(h *wire.Header) bool {
	if h.System != systemLinux {
		return false
	}
	fields := statFields(int(h.PID))
	const started = 22 - 3
	if len(fields) <= started || fields[0][0] == 'Z' {
		return false
	}
	n, err := strconv.ParseUint(string(fields[started]), 10, 64)
	return err == nil && n == h.Started
}

// stopped reports whether a process is stopped now.
func stopped(pid int) bool {
	fields := statFields(pid)
	return len(fields) > 0 && fields[0][0] == 'T'
}

// statFields returns what the system says of a process, from its state on, field 3.
func statFields(pid int) [][]byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil
	}
	// The fields follow the name, which may contain anything.
	return bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
}
