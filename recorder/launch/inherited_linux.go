package launch

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a process inherits of its caller and Go's programs do not hand on: signals that are blocked, of which Go's runtime lets
// some through in every thread and so in every child, and timers (alarm, setitimer), which exec keeps and fork does not.

// notBlocked are the signals that Go's runtime never leaves blocked.
var notBlocked = maskOf(syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE,
	syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGTERM, syscall.SIGSTKFLT, syscall.SIGCHLD, syscall.SIGSTOP, syscall.SIGURG, syscall.SIGPROF, syscall.SIGSYS, 32, 33, 34)

func maskOf(list ...syscall.Signal) (m uint64) {
	for _, s := range list {
		m |= 1 << (s - 1)
	}
	return m
}

// maskWords is how much of Go's data of a thread is looked at, bytes.
const maskWords = 512

// blockedByCaller returns the signals that were blocked when this process began, as far as they can be known. Go's runtime keeps
// them in its data of each thread (m.sigmask), until the thread starts a process: behind the system's id of the thread,
// a pointer and five words for its signal stack. If what is there cannot be the mask the thread's own is taken.
var blockedByCaller = sync.OnceValue(func() uint64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const (
		threadOfGoroutine = 6 // word of g with the pointer to m
		behindID          = 1 + 1 + 5
	)
	own := threadMask(nil)
	g := goroutine()
	if g == 0 || wordSize != 8 {
		return own
	}
	var m [threadOfGoroutine + 1]uint64
	var words [maskWords / 8]uint64
	if !peek(g, unsafe.Slice((*byte)(unsafe.Pointer(&m)), unsafe.Sizeof(m))) ||
		!peek(uintptr(m[threadOfGoroutine]), unsafe.Slice((*byte)(unsafe.Pointer(&words)), unsafe.Sizeof(words))) {
		return own
	}
	id := uint64(unix.Gettid())
	for i := 0; i+behindID < len(words); i++ {
		if words[i] != id {
			continue
		}
		if mask := words[i+behindID]; mask&own == own && mask&^own&^notBlocked == 0 {
			return mask
		}
		break
	}
	return own
})

// peek copies memory of this process, and reports whether it is there.
func peek(at uintptr, to []byte) bool {
	if at == 0 {
		return false
	}
	local := []unix.Iovec{{Base: &to[0]}}
	local[0].SetLen(len(to))
	n, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: at, Len: len(to)}}, 0)
	return err == nil && n == len(to)
}

// threadMask returns the mask of this thread, and sets it if there is one to set.
func threadMask(to *uint64) (was uint64) {
	var set *unix.Sigset_t
	var now, old unix.Sigset_t
	if to != nil {
		*(*uint64)(unsafe.Pointer(&now)) = *to
		set = &now
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, set, &old)
	return *(*uint64)(unsafe.Pointer(&old))
}

// startBlocked starts a process with the signals blocked that were blocked when this one began.
func startBlocked(file string, command []string, attr *os.ProcAttr) (*os.Process, error) {
	mask := blockedByCaller()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// What is started gets the mask that the thread has just now.
	was := threadMask(&mask)
	defer threadMask(&was)
	return os.StartProcess(file, command, attr)
}

// ---- timers ----

// timers are those that ran when this process began.
var timers = readTimers()

type timer struct {
	which          unix.ItimerWhich
	left, interval time.Duration
	began          time.Time // when left was read
	countsOwnTime  bool      // it stands while the process does not run
}

func readTimers() (list []timer) {
	for _, which := range []unix.ItimerWhich{unix.ItimerReal, unix.ItimerVirtual, unix.ItimerProf} {
		v, err := unix.Getitimer(which)
		if left := duration(v.Value); err == nil && left > 0 {
			list = append(list, timer{which, left, duration(v.Interval), time.Now(), which != unix.ItimerReal})
		}
	}
	return list
}

func duration(t unix.Timeval) time.Duration { return time.Duration(t.Nano()) }

// expired is what is left of a timer that has run out meanwhile: the process must be the program by then.
const expired = 10 * time.Millisecond

// startVariable has the timers for a program, and its path: a process with this variable is only there to become that
// program.
const startVariable = "LOGPARSER_START"

// withTimers returns what is started, so that a program has the timers that ran when this process began: nobody but a process
// itself can set its timers.
func withTimers(file string, attr *os.ProcAttr) (string, *os.ProcAttr) {
	if len(timers) == 0 {
		return file, attr
	}
	text := ""
	for _, t := range timers {
		left := t.left
		if !t.countsOwnTime {
			left -= time.Since(t.began)
		}
		text += fmt.Sprintf("%d,%d,%d:", t.which, max(left, expired), t.interval)
	}
	env := attr.Env
	if env == nil {
		env = os.Environ()
	}
	changed := *attr
	changed.Env = append(env[:len(env):len(env)], startVariable+"="+text+file)
	return "/proc/self/exe", &changed
}

func init() {
	if text, ok := os.LookupEnv(startVariable); ok {
		become(text)
	}
}

// become makes this process the program that startVariable names. It does not return.
func become(text string) {
	const notRunnable = 126
	var file string
	for {
		var which unix.ItimerWhich
		var left, interval time.Duration
		one, rest, _ := strings.Cut(text, ":")
		if n, _ := fmt.Sscanf(one, "%d,%d,%d", &which, &left, &interval); n != 3 {
			file = text
			break
		}
		text = rest
		_, _ = unix.Setitimer(which, unix.Itimerval{Interval: unix.NsecToTimeval(int64(interval)), Value: unix.NsecToTimeval(int64(left))})
	}
	for _, s := range ignoredByCaller() {
		signal.Ignore(s)
	}
	mask := blockedByCaller()
	os.Unsetenv(startVariable)
	runtime.LockOSThread()
	threadMask(&mask)
	err := syscall.Exec(file, os.Args, os.Environ())
	if errors.Is(err, syscall.ENOENT) {
		err = ErrNoProgram
	}
	fmt.Fprintf(os.Stderr, "logparse: %s: %v\n", file, err)
	os.Exit(notRunnable)
}
