package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// liveRecord makes record number n of a program that calls and returns.
func liveRecord(n int) []byte {
	b := make([]byte, 24)
	binary.LittleEndian.PutUint64(b, 0x401000+uint64(n/2%50)*16)
	binary.LittleEndian.PutUint32(b[8:], 7)
	binary.LittleEndian.PutUint32(b[12:], 1000+uint32(n))
	b[16] = byte(1 - n%2)
	return b
}

// A liveLog is a log that is written while the command runs.
type liveLog struct {
	t    testing.TB
	path string
	n    int
}

func (l *liveLog) write(records int) {
	l.t.Helper()
	var data []byte
	for range records {
		data = append(data, liveRecord(l.n)...)
		l.n++
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		l.t.Fatal(err)
	}
}

// A running is the command at work; lines brings its output.
type running struct {
	lines     chan string
	interrupt context.CancelFunc
	code      chan int
	output    *os.File

	mu   sync.Mutex
	errs bytes.Buffer
}

func (r *running) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.errs.Write(b)
}

// said waits until the command has said something on standard error.
func (r *running) said(t testing.TB, text string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		r.mu.Lock()
		errs := r.errs.String()
		r.mu.Unlock()
		if strings.Contains(errs, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("standard error is %q, not %q", errs, text)
		}
	}
}

func start(t testing.TB, args ...string) *running {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{lines: make(chan string, 10_000), interrupt: cancel, code: make(chan int, 1), output: read}
	go func() {
		r.code <- run(ctx, args, strings.NewReader(""), write, r)
		write.Close()
	}()
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(read); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { cancel(); read.Close() })
	return r
}

// next returns the next lines; it waits for them.
func (r *running) next(t testing.TB, n int) []string {
	t.Helper()
	var list []string
	for len(list) < n {
		select {
		case l, ok := <-r.lines:
			if !ok {
				t.Fatalf("the output ended after %q", list)
			}
			list = append(list, l)
		case <-time.After(time.Minute):
			t.Fatalf("nothing comes after %q", list)
		}
	}
	return list
}

func (r *running) end(t testing.TB) int {
	t.Helper()
	select {
	case code := <-r.code:
		return code
	case <-time.After(time.Minute):
		t.Fatal("the command does not end")
	}
	return 0
}

// TestFollowWhere prints the rows that an expression chooses.
func TestFollowWhere(t *testing.T) {
	log := &liveLog{t: t, path: filepath.Join(t.TempDir(), "LogDetails.dat")}
	log.write(7)
	r := start(t, "show", "--follow", "--record", "24", "--format", "csv", "-n", "2", "--where", "event:leave address:0x401", log.path)
	lines := r.next(t, 3)
	log.write(100)
	lines = append(lines, r.next(t, 50)...)
	for i, l := range lines[1:] {
		if want := strconv.Itoa(2*i+3) + ","; !strings.HasPrefix(l, want) || !strings.Contains(l, ",leave,") {
			t.Errorf("line %d is %q, want row %s", i, l, want)
		}
	}
	r.interrupt()
	if code := r.end(t); code != exitOK {
		t.Errorf("exit status %d", code)
	}
}

func TestFollow(t *testing.T) {
	log := &liveLog{t: t, path: filepath.Join(t.TempDir(), "LogDetails.dat")}
	r := start(t, "show", "--follow", "--record", "24", "--format", "jsonl", log.path)
	r.said(t, "waiting for ")
	log.write(5)
	lines := r.next(t, 5)
	for _, n := range []int{1, 1, 4, 1000, 1} {
		log.write(n)
		lines = append(lines, r.next(t, n)...)
	}
	var row struct {
		Index, Depth int
		Event, Note  string
		Duration     *float64 `json:"duration_us"`
	}
	for i, l := range lines {
		row.Duration, row.Note = nil, ""
		if err := json.Unmarshal([]byte(l), &row); err != nil {
			t.Fatalf("row %d: %v in %s", i, err, l)
		}
		leave := i%2 == 1
		if row.Index != i || row.Depth != 0 || (row.Event == "leave") != leave || row.Note != "" || leave && (row.Duration == nil || *row.Duration != 1000) {
			t.Errorf("row %d: %s", i, l)
		}
	}
	r.interrupt()
	if code := r.end(t); code != exitOK {
		t.Errorf("interrupted, status %d", code)
	}
	if rest := r.lines; len(rest) > 0 {
		t.Errorf("%d lines more", len(rest))
	}
}

// TestFollowFormats begins with the last rows in each format.
func TestFollowFormats(t *testing.T) {
	for format, head := range map[string]string{"txt": "Log:", "csv": "index,", "jsonl": ""} {
		t.Run(format, func(t *testing.T) {
			log := &liveLog{t: t, path: filepath.Join(t.TempDir(), "LogDetails.dat")}
			log.write(100)
			r := start(t, "show", "-f", "-n", "2", "--record", "24", "--format", format, log.path)
			var before, rows []string
			for len(rows) < 2 {
				if l := r.next(t, 1)[0]; strings.Contains(l, "98") || strings.Contains(l, "99") {
					rows = append(rows, l)
				} else {
					before = append(before, l)
				}
			}
			if head == "" && len(before) > 0 || head != "" && (len(before) == 0 || !strings.HasPrefix(before[0], head)) {
				t.Errorf("before the rows is %q", before)
			}
			log.write(2)
			if more := r.next(t, 2); !strings.Contains(more[0], "100") || !strings.Contains(more[1], "101") {
				t.Errorf("then come %q", more)
			}
		})
	}
}

func TestFollowEnds(t *testing.T) {
	t.Run("its output is closed", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("a closed pipe is another error here")
		}
		log := &liveLog{t: t, path: filepath.Join(t.TempDir(), "LogDetails.dat")}
		log.write(2)
		r := start(t, "show", "-f", "--record", "24", "--json", log.path)
		r.next(t, 2)
		r.output.Close()
		for len(r.code) == 0 {
			log.write(1)
			time.Sleep(10 * time.Millisecond)
		}
		if code := r.end(t); code != exitOK || r.errs.Len() > 0 && strings.Contains(r.errs.String(), "pipe") {
			t.Errorf("status %d, %s", code, r.errs.String())
		}
	})
	t.Run("the log is cut", func(t *testing.T) {
		log := &liveLog{t: t, path: filepath.Join(t.TempDir(), "LogDetails.dat")}
		log.write(4)
		r := start(t, "show", "-f", "--record", "24", "--json", log.path)
		r.next(t, 4)
		if err := os.Truncate(log.path, 24); err != nil {
			t.Skip(err)
		}
		r.said(t, "the log was cut or written anew; it is shown from its beginning")
		if again := r.next(t, 1); !strings.HasPrefix(again[0], `{"index":0,`) {
			t.Errorf("then comes %q", again)
		}
		r.interrupt()
		if code := r.end(t); code != exitOK {
			t.Errorf("status %d", code)
		}
	})
	t.Run("interrupted while it waits", func(t *testing.T) {
		r := start(t, "show", "-f", filepath.Join(t.TempDir(), "LogDetails.dat"))
		r.said(t, "waiting")
		r.interrupt()
		if code := r.end(t); code != exitOK {
			t.Errorf("status %d", code)
		}
	})
	for _, args := range [][]string{{"--format", "xml"}, {"-n", "-2"}} {
		if code := run(context.Background(), append([]string{"show", "x.dat"}, args...), nil, io.Discard, io.Discard); code != exitUsage {
			t.Errorf("%v: status %d", args, code)
		}
	}
}

// TestFollowRestart goes on with the log of a program that is started again, as our
// recorder has it: it renames the pair that is there and begins another.
func TestFollowRestart(t *testing.T) {
	for _, format := range []string{"txt", "csv", "jsonl"} {
		t.Run(format, func(t *testing.T) {
			dir := t.TempDir()
			log := &liveLog{t: t, path: filepath.Join(dir, "LogDetails.dat")}
			log.write(10)
			r := start(t, "show", "--follow", "--record", "24", "--format", format, "-n", "2", dir)
			// The rows, without what stands before them.
			rows := func(n int) (list []string) {
				for len(list) < n {
					if l := r.next(t, 1)[0]; strings.Contains(l, "0x401") {
						list = append(list, l)
					}
				}
				return list
			}
			number := func(l string) string {
				return strings.TrimLeft(strings.FieldsFunc(strings.TrimPrefix(strings.TrimSpace(l), `{"index":`), func(r rune) bool { return r == ' ' || r == ',' })[0], " ")
			}
			rows(2)
			for run := range 3 {
				if err := os.Rename(log.path, filepath.Join(dir, "LogDetails."+strconv.Itoa(run)+".dat")); err != nil {
					t.Skip(err)
				}
				if run == 1 {
					// The next run is late.
					r.said(t, "the log was renamed or replaced")
				}
				log.n = 0
				log.write(3)
				list := rows(3)
				r.said(t, "going on with the new "+log.path)
				log.write(4)
				list = append(list, rows(4)...)
				for i, l := range list {
					if number(l) != strconv.Itoa(i) {
						t.Errorf("run %d, row %d: %s", run, i, l)
					}
				}
			}
			r.interrupt()
			if code := r.end(t); code != exitOK {
				t.Errorf("interrupted, status %d", code)
			}
		})
	}
}

// BenchmarkFollow is the time from a write to its row in the output.
func BenchmarkFollow(b *testing.B) {
	log := &liveLog{t: b, path: filepath.Join(b.TempDir(), "LogDetails.dat")}
	log.write(2)
	r := start(b, "show", "-f", "--record", "24", "--json", log.path)
	defer r.interrupt()
	r.next(b, 2)
	for b.Loop() {
		b.StopTimer()
		time.Sleep(150 * time.Millisecond) // it has come to rest
		b.StartTimer()
		log.write(1)
		r.next(b, 1)
	}
}
