package launch

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestWatchingEnds stops the watcher of ends while something always happens, as where a process in the background goes on
// starting others.
func TestWatchingEnds(t *testing.T) {
	w := (&Plan{Dir: t.TempDir(), watched: true}).watchEnds()
	if w == nil {
		t.Skip("the system has no inotify or epoll")
	}
	always, err := unix.Eventfd(1, unix.EFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(always)
	if err := w.await(always, unix.EPOLLIN); err != nil {
		t.Fatal(err)
	}
	w.run(0)
	stopped := make(chan struct{})
	go func() {
		w.stop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second):
		t.Error("it goes on")
	}
}
