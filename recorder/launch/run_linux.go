package launch

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

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

// letGo ends the tracing of a program that has asked to be traced (PTRACE_TRACEME) and waits for its tracer, with the
// signal that it was about to get. Nobody here traces it, and it would wait for ever. It reports whether that was so.
func letGo(pid int, s syscall.Signal) bool {
	fields := statFields(pid)
	if len(fields) == 0 || fields[0][0] != 't' {
		return false
	}
	if s == syscall.SIGTRAP || s == syscall.SIGSTOP {
		s = 0 // they are for the tracer
	}
	_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(pid), 0, uintptr(s), 0, 0)
	return errno == 0
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
