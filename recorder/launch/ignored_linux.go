package launch

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Go's runtime sets handlers for nearly all signals before any code of ours runs. Which signals were ignored
// before that, it tells only of SIGHUP and SIGINT (os/signal.Ignored), and the kernel does not remember. But
// the runtime keeps what was set before in an array with a word for each signal: 0 for the default, 1 for
// ignored. os/signal.Ignore followed by Notify writes a 1 there as well. So a pattern is written into the words
// of real-time signals, for which nothing is delivered, and the array is found in the program's own data by
// that pattern. If the pattern is not found exactly once, for example because some of these signals were
// ignored, nothing is known.
const (
	firstMark = 35
	marks     = 30 // signals 35 to 64
	pattern   = 0b10_1101_0111_0011_0100_0110_1011_1001
	// maxData bounds the data that is looked at, bytes.
	maxData = 64 << 20
)

// ignoredByCaller returns the signals that were ignored when this process began and that Go's runtime took over.
var ignoredByCaller = sync.OnceValue(findIgnored)

func findIgnored() []syscall.Signal {
	came := make(chan os.Signal, 1)
	for i := range marks {
		if pattern>>i&1 != 0 {
			s := syscall.Signal(firstMark + i)
			signal.Ignore(s)
			signal.Notify(came, s)
			signal.Stop(came)
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	memory, err := os.Open("/proc/self/mem")
	if err != nil {
		return nil
	}
	defer memory.Close()
	var found [][]byte
	piece := make([]byte, pieceSize)
	for _, r := range dataOf(maps) {
		// Pieces overlap by what may lie across their ends.
		for ; r.end-r.start >= arraySize; r.start += pieceSize - arraySize + wordSize {
			data := piece[:min(r.end-r.start, pieceSize)]
			if n, err := memory.ReadAt(data, r.start); err != nil && err != io.EOF || n < len(data) {
				return nil
			}
			for _, array := range dispositions(data) {
				found = append(found, bytes.Clone(array))
			}
		}
	}
	if len(found) != 1 {
		return nil
	}
	var list []syscall.Signal
	for s := 1; s < firstMark; s++ {
		if number := syscall.Signal(s); word(found[0], s) == 1 && !signal.Ignored(number) {
			list = append(list, number)
		}
	}
	return list
}

// A region is a part of this process's memory.
type region struct{ start, end int64 }

// dataOf returns where the program's own data lies: the mappings of its file that can be written, and the
// mapping without a file that follows them. Other memory is the heap's or the system's.
func dataOf(maps []byte) (list []region) {
	program, last, total := "", region{}, int64(0)
	lines := bufio.NewScanner(bytes.NewReader(maps))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err1 := strconv.ParseInt(from, 16, 64)
		end, err2 := strconv.ParseInt(to, 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		path := strings.Join(fields[5:], " ")
		if program == "" {
			program = path // the lowest; where a library is, nothing is found
		}
		own := path == program || path == "" && start == last.end
		if !own {
			continue
		}
		last = region{start, end}
		if total += end - start; strings.HasPrefix(fields[1], "rw") && total <= maxData {
			list = append(list, last)
		}
	}
	return list
}

const (
	wordSize  = strconv.IntSize / 8
	arraySize = (firstMark + marks) * wordSize
	pieceSize = 256 << 10 // of data that is looked at together
)

// word returns word i of data.
func word(data []byte, i int) uint64 {
	if wordSize == 4 {
		return uint64(binary.NativeEndian.Uint32(data[i*wordSize:]))
	}
	return binary.NativeEndian.Uint64(data[i*wordSize:])
}

// dispositions returns the arrays of dispositions in data, which it knows by the pattern.
func dispositions(data []byte) (found [][]byte) {
search:
	for ; len(data) >= arraySize; data = data[wordSize:] {
		for i := range marks {
			if word(data, firstMark+i) != pattern>>i&1 {
				continue search
			}
		}
		for s := range firstMark {
			if word(data, s) > 1 {
				continue search
			}
		}
		found = append(found, data[:arraySize])
	}
	return found
}

// ignoreAsCaller ignores again the signals that the caller had this process ignore: processes that
// it starts inherit that.
func ignoreAsCaller() {
	for _, s := range ignoredByCaller() {
		if s != syscall.SIGCHLD && s != syscall.SIGURG {
			signal.Ignore(s)
		}
	}
}

// startProcess starts the program. SIGCHLD and SIGURG are ignored only while it is started: this process
// waits for children, and Go's runtime needs the other one. A child that ended while SIGCHLD is ignored would
// leave no status, so it is traced, and stopped before its first instruction until SIGCHLD is as before. A
// program that is traced does not get other rights: such a program (setuid) is started with the defaults
// instead.
func startProcess(file string, command []string, attr *os.ProcAttr) (*os.Process, error) {
	program := file
	file, attr = withTimers(file, attr)
	var here []os.Signal
	for _, s := range ignoredByCaller() {
		if s == syscall.SIGCHLD || s == syscall.SIGURG {
			here = append(here, s)
		}
	}
	if len(here) == 0 || slices.Contains(here, os.Signal(syscall.SIGCHLD)) && privileged(program) {
		return startBlocked(file, command, attr)
	}
	runtime.LockOSThread() // the thread that starts it traces it
	defer runtime.UnlockOSThread()
	stopping := *attr
	stop := slices.Contains(here, os.Signal(syscall.SIGCHLD))
	if stop {
		stopping.Sys = &syscall.SysProcAttr{Ptrace: true}
	}
	signal.Ignore(here...)
	child, err := startBlocked(file, command, &stopping)
	if stop && err == nil {
		for unix.Waitid(unix.P_PID, child.Pid, nil, unix.WSTOPPED, nil) == unix.EINTR {
			continue
		}
	}
	came := make(chan os.Signal, 1)
	signal.Notify(came, here...)
	signal.Stop(came)
	if !stop {
		return child, err
	}
	if err != nil {
		// Where nothing may be traced the program does not ignore SIGCHLD.
		return startBlocked(file, command, attr)
	}
	_ = unix.PtraceDetach(child.Pid)
	return child, nil
}
