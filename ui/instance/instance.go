// Package instance lets a second start of the program hand what it was given to the
// window that is open already. They talk over a local socket in the user's own folder for
// such things, which nobody else can reach; there is no network in it. Where the system
// gives the user no such folder, each start has a window of its own.
package instance

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const (
	// maxRequest bounds what is read of a request, in bytes.
	maxRequest = 1 << 20
	// patience is how long either side waits for the other.
	patience = 3 * time.Second
	// accepted is the answer to a request that the window has taken.
	accepted = "accepted\n"
)

// A Request is what a start was given.
type Request struct {
	// Paths are absolute, or file:// URIs.
	Paths []string `json:"paths"`
	// Sample asks for the bundled sample.
	Sample bool `json:"sample"`
}

// Socket returns the path of the socket for windows on the display that the environment
// names, in a folder that it makes for the user alone. It is "" where the system has no
// place for it.
func Socket(env func(string) string) string {
	base := env("XDG_RUNTIME_DIR")
	if runtime.GOOS == "windows" {
		base = env("LOCALAPPDATA")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	dir := filepath.Join(base, "logparser")
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return ""
	}
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || !private(info) {
		return ""
	}
	// A window on another display is not the one that is looked at.
	h := fnv.New32a()
	io.WriteString(h, env("DISPLAY")+"\x00"+env("WAYLAND_DISPLAY"))
	return filepath.Join(dir, "window-"+hex.EncodeToString(h.Sum(nil)))
}

// private reports whether only the user can use a folder. Windows gives that of local
// application data to its user.
func private(info os.FileInfo) bool {
	return runtime.GOOS == "windows" || info.Mode().Perm()&0o077 == 0 && owned(info)
}

// Hand hands a request to the window that listens at a socket, and reports whether there
// was one that has accepted it.
func Hand(socket string, r Request) bool {
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return false
	}
	defer c.Close()
	if c.SetDeadline(time.Now().Add(patience)) != nil || json.NewEncoder(c).Encode(r) != nil {
		return false
	}
	answer := make([]byte, len(accepted))
	_, err = io.ReadFull(c, answer)
	return err == nil && string(answer) == accepted
}

// A Listener is the window's side. [Listener.Close] takes the socket away.
type Listener struct {
	l net.Listener
}

// Listen calls take with what other starts hand over, one after the other, on a goroutine
// of its own. A socket that nobody listens at any more is replaced.
func Listen(socket string, take func(Request)) (*Listener, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		c, dialled := net.DialTimeout("unix", socket, patience)
		if dialled == nil {
			c.Close()
			return nil, err
		}
		if os.Remove(socket) != nil {
			return nil, err
		}
		if l, err = net.Listen("unix", socket); err != nil {
			return nil, err
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			serve(c, take)
		}
	}()
	return &Listener{l}, nil
}

// Close stops listening.
func (l *Listener) Close() error { return l.l.Close() }

// serve answers one start.
func serve(c net.Conn, take func(Request)) {
	defer c.Close()
	if c.SetDeadline(time.Now().Add(patience)) != nil {
		return
	}
	var r Request
	if json.NewDecoder(io.LimitReader(c, maxRequest)).Decode(&r) != nil {
		return
	}
	take(r)
	io.WriteString(c, accepted)
}
