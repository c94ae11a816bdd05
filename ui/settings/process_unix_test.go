//go:build unix

package settings

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The tests start this program again as another window of the same settings.
const (
	childPath = "LOGPARSER_TEST_SETTINGS"
	childName = "LOGPARSER_TEST_WINDOW"
)

func TestMain(m *testing.M) {
	path := os.Getenv(childPath)
	if path == "" {
		os.Exit(m.Run())
	}
	s, name := Open(path, ""), os.Getenv(childName)
	for i := 0; name == "until killed" || i < 20; i++ {
		s.SetInt(fmt.Sprint(name, i), i)
		s.SetString("long", strings.Repeat(fmt.Sprint(i), 20_000))
		s.Flush()
		if i == 0 {
			fmt.Println("begun")
		}
	}
	os.Exit(0)
}

// window starts one, and waits until it has written.
func window(t *testing.T, path, name string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childPath+"="+path, childName+"="+name)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestKilled kills a window again and again while it writes: the settings are there, whole.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	write(t, path, `{"theme":"dark"}`)
	for range 12 {
		cmd := window(t, path, "until killed")
		time.Sleep(time.Duration(rand.IntN(10_000)) * time.Microsecond)
		cmd.Process.Kill()
		cmd.Wait()
		var tr troubles
		if s := tr.hear(Open(path, "")); s.String("theme") != "dark" || len(s.String("long")) < 20_000 || len(tr.list) > 0 {
			t.Fatalf("the theme is %q, a long text has %d characters, told %v", s.String("theme"), len(s.String("long")), tr.list)
		}
	}
}

// TestProcesses has windows of several processes write at once: none takes away what
// another has kept.
func TestProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	var windows []*exec.Cmd
	for _, name := range []string{"a", "b", "c"} {
		windows = append(windows, window(t, path, name))
	}
	for _, cmd := range windows {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	s := Open(path, "")
	for _, name := range []string{"a", "b", "c"} {
		for i := range 20 {
			if key := fmt.Sprint(name, i); s.IntWithFallback(key, -1) != i {
				t.Errorf("%s is %d", key, s.IntWithFallback(key, -1))
			}
		}
	}
}
