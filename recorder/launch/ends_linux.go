package launch

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"logparser/parser/trace/wire"
)

// An endWatcher writes into the logs of processes how they ended that somebody else waits for: those
// that the program started. It sees their logs appear in the folder, and has a descriptor of each such
// process (pidfd_open), which tells of its end without having any part in it. What a process made and
// died of before that is not known, as on kernels that have no such descriptors.
type endWatcher struct {
	dir                   string
	own                   int // the program's id, whose end its parent writes
	folder, events, stops int // inotify, epoll, eventfd
	processes             map[process]*watched
	byDescriptor          map[int32]*watched
	done                  chan struct{}
}

// A process is one of its id.
type process struct {
	pid     int
	started uint64 // field 22 of /proc/PID/stat
}

// A watched process runs, or has ended in a way that is not known yet.
type watched struct {
	process
	fd   int
	log  string  // the last one that it began
	when instant // of its end, if ended
	// ended: it is gone, but perhaps nobody has waited for it.
	ended bool
}

// lateEnds is how long ends are waited for after the program's own: a signal from a terminal ends all
// processes, but not at once.
const lateEnds = 50 * time.Millisecond

// watchEnds begins to look at the folder of the logs, nil where that is not possible. It must be followed by run.
func (p *Plan) watchEnds() *endWatcher {
	if !p.watched {
		return nil
	}
	w := &endWatcher{dir: p.Dir, folder: -1, events: -1, stops: -1, processes: map[process]*watched{}, byDescriptor: map[int32]*watched{}, done: make(chan struct{})}
	var err error
	if w.folder, err = unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK); err == nil {
		if _, err = unix.InotifyAddWatch(w.folder, w.dir, unix.IN_CREATE|unix.IN_MOVED_TO); err == nil {
			w.events, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		}
	}
	if err == nil {
		w.stops, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	}
	for _, fd := range []int{w.folder, w.stops} {
		if err == nil {
			err = w.await(fd, unix.EPOLLIN)
		}
	}
	if err != nil {
		w.close()
		return nil
	}
	return w
}

func (w *endWatcher) await(fd int, what uint32) error {
	return unix.EpollCtl(w.events, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: what, Fd: int32(fd)})
}

func (w *endWatcher) close() {
	if w == nil {
		return
	}
	for _, fd := range []int{w.folder, w.events, w.stops} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	for fd := range w.byDescriptor {
		unix.Close(int(fd))
	}
}

// run watches until stop. own is the program's id.
func (w *endWatcher) run(own int) {
	if w == nil {
		return
	}
	w.own = own
	go func() {
		defer close(w.done)
		defer w.close()
		w.loop()
	}()
}

// stop ends it when all ends that came until now are written.
func (w *endWatcher) stop() {
	if w == nil {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(w.stops, one[:])
	<-w.done
}

func (w *endWatcher) loop() {
	var last time.Time // 0 until it is to stop
	events := make([]unix.EpollEvent, 64)
	for {
		wait := -1
		if !last.IsZero() {
			if wait = int(time.Until(last).Milliseconds()); wait < 0 || len(w.processes) == 0 {
				wait = 0
			}
		}
		n, err := unix.EpollWait(w.events, events, wait)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return
		}
		for _, e := range events[:n] {
			switch int(e.Fd) {
			case w.folder:
				w.look()
			case w.stops:
				last = time.Now().Add(lateEnds)
				unix.EpollCtl(w.events, unix.EPOLL_CTL_DEL, w.stops, nil)
			default:
				if p := w.byDescriptor[e.Fd]; p != nil {
					w.end(p, e.Events&unix.EPOLLHUP != 0)
				}
			}
		}
		if !last.IsZero() && time.Now().After(last) {
			return // a process that goes on starting others has no say in when the command ends
		}
	}
}

// look takes in the names of new files.
func (w *endWatcher) look() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := unix.Read(w.folder, buffer)
		if err != nil || n <= 0 {
			return
		}
		for b := buffer[:n]; len(b) >= unix.SizeofInotifyEvent; {
			mask, length := binary.NativeEndian.Uint32(b[4:]), int(binary.NativeEndian.Uint32(b[12:]))
			b = b[unix.SizeofInotifyEvent:]
			if length > len(b) {
				return
			}
			name := b[:length]
			b = b[length:]
			if mask&unix.IN_Q_OVERFLOW != 0 {
				paths, _ := logsIn(w.dir)
				for _, path := range paths {
					w.add(filepath.Base(path))
				}
				continue
			}
			if i := bytes.IndexByte(name, 0); i >= 0 {
				name = name[:i]
			}
			w.add(string(name))
		}
	}
}

// add watches the process whose log has this name.
func (w *endWatcher) add(name string) {
	id, ok := processOf(name)
	if !ok || id.pid == w.own {
		return
	}
	log := filepath.Join(w.dir, name)
	if p := w.processes[id]; p != nil {
		p.log = log // it has become another program
		return
	}
	fd, err := unix.PidfdOpen(id.pid, 0)
	if err != nil {
		return
	}
	p := &watched{process: id, fd: fd, log: log}
	// In another namespace the number may be another process's.
	if started, ok := startOf(statFields(id.pid)); !ok || started != id.started || w.await(fd, unix.EPOLLIN|unix.EPOLLET) != nil {
		unix.Close(fd)
		return
	}
	w.processes[id], w.byDescriptor[int32(fd)] = p, p
}

// processOf returns the process that wrote a log of this name: PROGRAM.PID.START.lptrace, or with a
// number before the extension.
func processOf(name string) (id process, ok bool) {
	rest, ok := strings.CutSuffix(name, ".lptrace")
	if !ok {
		return id, false
	}
	parts := strings.Split(rest, ".")
	// The number of a later log is small, and what stands before it is then a time, not an id: both are tried by what the
	// system says of the process.
	for _, last := range []int{len(parts) - 1, len(parts) - 2} {
		if last < 2 {
			break
		}
		pid, err1 := strconv.Atoi(parts[last-1])
		started, err2 := strconv.ParseUint(parts[last], 10, 64)
		if err1 != nil || err2 != nil || pid <= 0 {
			continue
		}
		id = process{pid, started}
		if now, ok := startOf(statFields(pid)); ok && now == started {
			return id, true
		}
	}
	return id, false
}

// startOf returns when a process started, by what the system says of it.
func startOf(fields [][]byte) (uint64, bool) {
	const started = 22 - 3
	if len(fields) <= started {
		return 0, false
	}
	n, err := strconv.ParseUint(string(fields[started]), 10, 64)
	return n, err == nil
}

// end takes in that a process is gone. reaped says that it was waited for.
func (w *endWatcher) end(p *watched, reaped bool) {
	if !p.ended {
		p.when, p.ended = now(), true
	}
	e := Ending{when: p.when, pid: uint32(p.pid)}
	status, ok := exitOf(p.fd)
	if !ok && !reaped {
		var gone bool
		if status, gone, ok = exitOfZombie(p.process); !ok {
			if !gone {
				return // until it is waited for
			}
			status, ok = exitOf(p.fd)
		}
	}
	switch {
	case !ok:
		e.unknown = true
	case status.Signaled():
		e.Signal, e.Core = int(status.Signal()), status.CoreDump()
	default:
		e.Status = status.ExitStatus()
	}
	delete(w.processes, p.process)
	delete(w.byDescriptor, int32(p.fd))
	unix.Close(p.fd)
	if e.unknown {
		// A log that ended in order needs no such word.
		if l, err := readLog(p.log); err != nil || l.header.State != wire.StateRecording {
			return
		}
	}
	// What cannot be written is missing: the log is complete without it.
	AppendExit(p.log, e)
}

// exitOf asks the system how the process of a descriptor ended that was waited for (Linux 6.15).
func exitOf(fd int) (unix.WaitStatus, bool) {
	const (
		getInfo = 0xc040ff0b // PIDFD_GET_INFO: _IOWR(0xff, 11, 64 bytes)
		exit    = 1 << 3     // PIDFD_INFO_EXIT
	)
	var info struct {
		mask, cgroup uint64
		ids          [11]uint32
		exitCode     int32
	}
	info.mask = exit
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getInfo, uintptr(unsafe.Pointer(&info))); errno != 0 || info.mask&exit == 0 {
		return 0, false
	}
	return unix.WaitStatus(info.exitCode), true
}

// exitOfZombie reads how a process ended that nobody has waited for yet. gone says that somebody has.
func exitOfZombie(p process) (status unix.WaitStatus, gone, ok bool) {
	const code = 52 - 3
	fields := statFields(p.pid)
	if started, ok := startOf(fields); !ok || started != p.started {
		return 0, true, false
	}
	if len(fields) <= code || fields[0][0] != 'Z' {
		return 0, false, false
	}
	// The system tells 0 to those who may not know.
	if _, err := os.Readlink("/proc/" + strconv.Itoa(p.pid) + "/ns/user"); err != nil {
		return 0, false, false
	}
	n, err := strconv.ParseUint(string(fields[code]), 10, 32)
	return unix.WaitStatus(n), false, err == nil
}
