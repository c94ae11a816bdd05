package main

import (
	"bufio"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"logparser/parser"
	"logparser/parser/trace"
)

// errNoMemory says that a thread's events are missing under a limit, and that the log says so.
var errNoMemory = errors.New("a limit on memory left no room for a thread")

// programBase is where a program is loaded whose addresses do not change from run to run.
const programBase = 0x555555554000

// names returns the names of a program's functions, by their addresses when it runs.
func names(path string) (map[uint64]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	list := map[uint64]string{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && s.Value != 0 {
			list[programBase+s.Value] = s.Name
		}
	}
	return list, nil
}

// An eventWriter writes events as words: e or l and the function. Functions that are called as often as time wants are left
// out.
type eventWriter struct {
	functions map[uint64]string
	lines     map[string]*strings.Builder
}

func newEventWriter(b *build) (*eventWriter, error) {
	functions, err := names(filepath.Join(b.dir, "hooked"))
	return &eventWriter{functions, map[string]*strings.Builder{}}, err
}

// add adds an event of a thread.
func (w *eventWriter) add(thread, kind string, address uint64) {
	name := w.functions[address]
	if strings.HasPrefix(name, "async") || name == "malloc" || name == "free" {
		// How often the C library allocates depends on how many libraries there are.
		return
	}
	if name == "" {
		// In a library: that is loaded at another place.
		name = fmt.Sprintf("%03x", address&0xfff)
	}
	if w.lines[thread] == nil {
		w.lines[thread] = &strings.Builder{}
	}
	fmt.Fprintf(w.lines[thread], "%s %s ", kind, name)
}

// result returns a line for each thread, sorted, since ids differ.
func (w *eventWriter) result() []string {
	var list []string
	for _, l := range w.lines {
		list = append(list, l.String())
	}
	slices.Sort(list)
	return list
}

// plainEvents reads what the hook has written.
func plainEvents(b *build, o outcome) ([]string, error) {
	w, err := newEventWriter(b)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(o.dir, "logs", "plain.*"))
	if err != nil {
		return nil, err
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			kind, text, _ := strings.Cut(lines.Text(), " ")
			address, err := strconv.ParseUint(text, 16, 64)
			if err != nil {
				f.Close()
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			w.add(path, kind, address)
		}
		f.Close()
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return w.result(), nil
}

// recordedEvents reads the logs of a run. A process that becomes another program has several.
func recordedEvents(b *build, o outcome) ([]string, error) {
	w, err := newEventWriter(b)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(o.dir, "logs", "*.lptrace"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no log")
	}
	slices.SortFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	for _, path := range files {
		if err := w.readLog(path); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
	}
	return w.result(), nil
}

func (w *eventWriter) readLog(path string) error {
	l, err := trace.Format.Open(context.Background(), path, parser.Options{}, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	info := l.Info()
	if len(info.Damage) > 0 {
		return fmt.Errorf("damage: %v", info.Damage)
	}
	process := strings.Split(filepath.Base(path), ".")[1]
	// A forked child's log begins with the calls that were open: their enters are the parent's.
	inherited := map[uint64]int{}
	lost, named := "", false
	for _, note := range info.Notes {
		var thread uint64
		var calls int
		if n, _ := fmt.Sscanf(note.String(), "calls that were open on thread %d when the process was forked: %d", &thread, &calls); n == 2 {
			inherited[thread] = calls
		}
		switch text := note.String(); {
		case strings.Contains(text, "events were lost: there was no memory"):
			return errNoMemory
		case strings.Contains(text, "events were lost: they came while the program was being loaded"):
			named = true // of functions that the loader calls, which are not compared
		case strings.Contains(text, " were lost"):
			lost = text
		}
	}
	if lost != "" && !named {
		return errors.New(lost)
	}
	events := make([]parser.Event, 4096)
	for from := int64(0); ; {
		n, err := l.ReadEvents(events, from)
		for _, e := range events[:n] {
			thread := uint64(l.Thread(e.Thread).ID)
			kind := "l"
			if e.Kind == parser.Enter {
				kind = "e"
			}
			if inherited[thread] > 0 {
				inherited[thread]--
				continue
			}
			w.add(fmt.Sprintf("%s.%d", process, thread), kind, e.Address)
		}
		from += int64(n)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
