//go:build unix

package export

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The tests start this program again as a child that saves a file to the path
// in childPath, in the way that childTask says.
const (
	childTask = "LOGPARSER_TEST_SAVE"
	childPath = "LOGPARSER_TEST_PATH"
)

func TestMain(m *testing.M) {
	task := os.Getenv(childTask)
	if task == "" {
		os.Exit(m.Run())
	}
	src := many(20 * blockRows)
	write := func(w io.Writer) error { return writeCSV(context.Background(), &output{w: w}, src, Options{}) }
	switch task {
	case "limit":
		limit := syscall.Rlimit{Cur: 1 << 20, Max: 1 << 20}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			fmt.Fprintln(os.Stderr, "no limit:", err)
			os.Exit(3)
		}
	case "give up":
		whole := write
		write = func(w io.Writer) error {
			if err := whole(w); err != nil {
				return err
			}
			RemoveUnfinished()
			os.Exit(0)
			return nil
		}
	case "hang":
		whole := write
		write = func(w io.Writer) error {
			if err := whole(w); err != nil {
				return err
			}
			fmt.Println("written")
			select {}
		}
	}
	if err := WriteFile(context.Background(), os.Getenv(childPath), 0, write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(t *testing.T, task, path string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childTask+"="+task, childPath+"="+path)
	return cmd
}

// TestSizeLimit saves past the process's file size limit.
func TestSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "limit", path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if got := stderr.String(); !strings.HasPrefix(got, "saving "+path+": writing rows ") || !strings.Contains(got, syscall.EFBIG.Error()) {
		t.Errorf("error %s", got)
	}
	expect(t, path, "old")
}

// TestRemoveUnfinished ends a process in the midst of a save.
func TestRemoveUnfinished(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := child(t, "give up", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	expect(t, path, "old")
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestKill kills a process that has written everything and not yet renamed.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "hang", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("written"))); err != nil {
		t.Error(err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
		t.Errorf("after a kill the file holds %.40q, %v", got, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".logparser-*.tmp"))
	if err != nil || len(left) != 1 {
		t.Errorf("temporary files %v, %v", left, err)
	}
}

func TestStandardOutput(t *testing.T) {
	want := save(t, "csv", many(20*blockRows), Options{})
	for _, path := range []string{"-", "/dev/stdout", "/dev/fd/1"} {
		if _, err := os.Stat(path); path != "-" && err != nil {
			continue
		}
		cmd := child(t, "plain", path)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil {
			t.Errorf("%s: %v: %s", path, err, stderr.String())
		}
		if !bytes.Equal(stdout.Bytes(), want) {
			t.Errorf("%s: %d bytes, want %d", path, stdout.Len(), len(want))
		}
	}
}

func TestDevices(t *testing.T) {
	if err := WriteFile(context.Background(), os.DevNull, 0, content("x")); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("%s is gone", os.DevNull)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		err := WriteFile(context.Background(), "/dev/full", 0, content("x"))
		if !errors.Is(err, syscall.ENOSPC) || err.Error() != "saving /dev/full: "+syscall.ENOSPC.Error() {
			t.Errorf("error %v", err)
		}
	}
}

func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Skip(err)
	}
	got := make(chan string)
	go func() {
		b, err := os.ReadFile(path)
		got <- fmt.Sprint(string(b), err)
	}()
	if err := WriteFile(context.Background(), path, 0, content("through")); err != nil {
		t.Error(err)
	}
	if s := <-got; s != "through<nil>" {
		t.Errorf("read %s", s)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Error("the pipe is gone")
	}
}
