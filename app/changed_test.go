package app

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// What has become of a log's file is seen without reading it: growing is no
// change, nor is losing what lies behind the last record of a trace.
func TestCheckLog(t *testing.T) {
	classic := func(t *testing.T) string {
		dir := t.TempDir()
		copyFiles(t, "../assets/sample", dir, "LogDetails.dat=LogDetails.dat", "LogDetails.bin=LogDetails.bin")
		return filepath.Join(dir, "LogDetails.dat")
	}
	trace := func(t *testing.T) string {
		text := "file begin=1000\nchunk process\nclock @1000 ns=1000 wall=1700000000000000000\nthread @1000 stream=1 id=7 name=\"worker\"\nchunk events thread=7 base=1000\n"
		for i := range 50 {
			text += fmt.Sprintf("enter @%d entry 0x1000\nleave @%d\n", 1100+20*i, 1110+20*i)
		}
		return traceOf(t, t.TempDir(), text)
	}
	write := func(t *testing.T, path string, data []byte) {
		t.Helper()
		// In place: it stays the same file. Its time is another one, however coarse
		// the clock of the file system is.
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(data); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(3 * time.Second)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
	for name, make := range map[string]func(*testing.T) string{"classic": classic, "trace": trace} {
		for _, test := range []struct {
			name   string
			change func(t *testing.T, path string, data []byte)
			want   FileChange
		}{
			{"nothing", func(*testing.T, string, []byte) {}, Unchanged},
			{"touched", func(t *testing.T, path string, data []byte) { write(t, path, data) }, Unchanged},
			{"grown", func(t *testing.T, path string, data []byte) {
				write(t, path, append(data, bytes.Repeat([]byte{0}, 4096)...))
			}, Unchanged},
			{"cut", func(t *testing.T, path string, data []byte) { write(t, path, data[:len(data)/8]) }, Cut},
			{"emptied", func(t *testing.T, path string, data []byte) { write(t, path, nil) }, Cut},
			{"written anew", func(t *testing.T, path string, data []byte) {
				write(t, path, bytes.Repeat([]byte{0x55}, len(data)+100))
			}, Cut},
			{"replaced", func(t *testing.T, path string, data []byte) {
				writeFile(t, path+".new", data)
				if err := os.Rename(path+".new", path); err != nil {
					t.Fatal(err)
				}
			}, Replaced},
			{"removed", func(t *testing.T, path string, _ []byte) {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}, Removed},
		} {
			t.Run(name+" "+test.name, func(t *testing.T) {
				if runtime.GOOS == "windows" && test.want != Unchanged {
					t.Skip("an open file cannot be cut or replaced here")
				}
				path := make(t)
				s := open(t, Inputs{Log: path})
				if got := s.CheckLog(); got != Unchanged {
					t.Fatalf("at once: %d", got)
				}
				test.change(t, path, readFile(t, path))
				for range 2 {
					if got := s.CheckLog(); got != test.want {
						t.Errorf("%d, want %d", got, test.want)
					}
				}
			})
		}
	}
}
