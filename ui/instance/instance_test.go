package instance

import (
	"net"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// environment is one with a folder of the user's own. Paths of sockets are short.
func environment(t *testing.T) map[string]string {
	dir, err := os.MkdirTemp("", "lp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return map[string]string{"XDG_RUNTIME_DIR": dir, "LOCALAPPDATA": dir, "DISPLAY": ":7"}
}

func get(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

// What a second start was given comes to the first, whole and once; without a first there
// is nobody to take it.
func TestHand(t *testing.T) {
	socket := Socket(get(environment(t)))
	request := Request{Paths: []string{"/a b/log.dat", "file:///c", "中.dat", strings.Repeat("x", 10_000)}, Sample: true}
	if Hand(socket, request) {
		t.Fatal("handed over to nobody")
	}
	taken := make(chan Request, 10)
	l, err := Listen(socket, func(r Request) { taken <- r })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(socket, nil); err == nil {
		t.Error("two windows listen at one socket")
	}
	for range 3 {
		if !Hand(socket, request) {
			t.Fatal("not accepted")
		}
		if got := <-taken; !reflect.DeepEqual(got, request) {
			t.Errorf("taken %+v", got)
		}
	}
	// Who talks nonsense, too much or nothing gets no answer, and harms nobody.
	for _, nonsense := range []string{"", "nonsense\n", `{"paths":["` + strings.Repeat("x", maxRequest) + `"]}`} {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(nonsense)) // it may be closed meanwhile
		c.(*net.UnixConn).CloseWrite()
		if n, _ := c.Read(make([]byte, 1)); n != 0 {
			t.Errorf("%.20q is answered", nonsense)
		}
		c.Close()
	}
	if !Hand(socket, Request{}) || len((<-taken).Paths) != 0 {
		t.Error("a start without files is not accepted")
	}
	l.Close()
	if Hand(socket, request) {
		t.Error("a window that is closed has taken it")
	}
}

// The socket of a window that was killed is replaced.
func TestStaleSocket(t *testing.T) {
	socket := Socket(get(environment(t)))
	dead, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	dead.Close()
	if _, err := os.Lstat(socket); err != nil {
		t.Skip("the system takes sockets away by itself")
	}
	l, err := Listen(socket, func(Request) {})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !Hand(socket, Request{}) {
		t.Error("not accepted")
	}
}

// Only a folder that is the user's alone is used, and windows on other displays have
// other sockets.
func TestSocket(t *testing.T) {
	env := environment(t)
	socket := Socket(get(env))
	env["DISPLAY"] = ":8"
	if other := Socket(get(env)); socket == "" || other == socket || filepath.Dir(other) != filepath.Dir(socket) {
		t.Errorf("%q and %q", socket, other)
	}
	for _, base := range []string{"", "relative", filepath.Join(t.TempDir(), "missing")} {
		if got := Socket(get(map[string]string{"XDG_RUNTIME_DIR": base, "LOCALAPPDATA": base})); got != "" {
			t.Errorf("%q: %q", base, got)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	dir := filepath.Dir(socket)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder is %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := Socket(get(env)); got != "" {
		t.Error("a folder that others can look into is used")
	}
	os.Remove(dir)
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if got := Socket(get(env)); got != "" {
		t.Error("a link to another folder is used")
	}
}
