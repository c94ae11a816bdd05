package app

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
)

// plainMicrodump is the text of a microdump of a program that is not there.
func plainMicrodump() string {
	registers := make([]byte, 1232) // CONTEXT of x64
	binary.LittleEndian.PutUint64(registers[120+4*8:], 0x7ffe0000)
	return strings.Join(microdump(0x7f0000000000, 0x7ffe0000, registers, make([]byte, 16), make([]byte, 16)), "\n") + "\n"
}

// TestOpenCrash opens files as dumps. Of what is none it is told which file that is.
func TestOpenCrash(t *testing.T) {
	dir := t.TempDir()
	dump := plainMicrodump()
	before := strings.Repeat("01-25 09:57:54.139 I/app: nothing yet\n", 200)
	for name, test := range map[string]struct {
		content string
		want    error // nil for a dump
		any     bool  // any error
	}{
		"microdump":          {content: dump},
		"behind a long log":  {content: before + dump},
		"cut off":            {content: before + dump[:len(dump)/2], any: true},
		"a log of text":      {content: before, want: ErrNoDump},
		"empty":              {want: ErrNoDump},
		"zeros":              {content: strings.Repeat("\x00", 8192), want: ErrNoDump},
		"head of a core":     {content: "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x04\x00\x3e\x00", any: true},
		"head of a minidump": {content: "MDMP\x93\xa7", any: true},
	} {
		path := filepath.Join(dir, name)
		writeFile(t, path, []byte(test.content))
		c, err := OpenCrash(t.Context(), path, Inputs{})
		var input *InputError
		switch {
		case err == nil:
			if test.any || test.want != nil {
				t.Errorf("%s is a dump", name)
			} else if c.PID != 0 || len(c.Threads) != 1 || len(c.Modules) != 1 {
				t.Errorf("%s: %d threads, %d modules", name, len(c.Threads), len(c.Modules))
			}
			c.Close()
		case !test.any && !errors.Is(err, test.want):
			t.Errorf("%s: %v, want %v", name, err, test.want)
		case !errors.As(err, &input) || input.Path != path:
			t.Errorf("%s: the error names no file: %v", name, err)
		}
	}
	if _, err := OpenCrash(t.Context(), filepath.Join(dir, "none"), Inputs{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := OpenCrash(t.Context(), dir, Inputs{}); !errors.Is(err, ErrNoDump) {
		t.Errorf("a folder: %v", err)
	}
}

// TestDumpSession: a dump has modules and no rows, is not followed, and one that is damaged is told of.
func TestDumpSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.txt")
	writeFile(t, path, []byte(plainMicrodump()))
	s, err := OpenLogOrDump(t.Context(), Inputs{Log: path}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !s.IsDump() || s.Rows().Len() != 0 || len(s.Modules()) != 1 || s.RowAtTime(1) != 0 || len(s.OpenCalls(10)) != 0 {
		t.Errorf("dump %t, %d rows, modules %v", s.IsDump(), s.Rows().Len(), s.Modules())
	}
	if err := s.Follow(t.Context(), nil); !errors.Is(err, ErrCannotFollow) || WasCut(err) {
		t.Errorf("it is followed: %v", err)
	}
	writeFile(t, path, []byte("MDMP\x93\xa7"))
	var input *InputError
	if _, err := OpenLogOrDump(t.Context(), Inputs{Log: path}, nil); !errors.As(err, &input) || input.Input != LogInput || input.Path != path {
		t.Errorf("damaged: %v", err)
	}
}

// TestStackOmitted leaves out the middle of a long stack: what is shown is what stands at both ends of the whole one.
func TestStackOmitted(t *testing.T) {
	r := tracetest.Smashed()
	// A chain of frame pointers, each with a return address behind it.
	const first, step, depth = 0x7ffe0100, 32, 8
	binary.LittleEndian.PutUint64(r.Registers[6*8:], first)
	clear(r.Stack)
	for i := range depth {
		frame := r.Stack[first-uint64(r.StackAt)+uint64(i*step):]
		binary.LittleEndian.PutUint64(frame, uint64(first+(i+1)*step))
		binary.LittleEndian.PutUint64(frame[8:], 0x401100+uint64(i)*16)
	}
	c, err := open(t, Inputs{Log: crashedTrace(t, r)}).OpenCrash(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	places := func(frames []CrashFrame) (list []uint64) {
		for i := range frames {
			list = append(list, frames[i].PC)
		}
		return list
	}
	whole, _, omitted, err := c.Stack(0, 1000)
	if err != nil || omitted != 0 || len(whole) < depth {
		t.Fatalf("%d frames, %d omitted, %v", len(whole), omitted, err)
	}
	all := places(whole)
	for most := 1; most <= len(all)+1; most++ {
		frames, before, omitted, err := c.Stack(0, most)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(all[:before], all[before+omitted:])
		if got := places(frames); !slices.Equal(got, want) || len(got) != min(most, len(all)) || omitted != len(all)-len(got) {
			t.Errorf("%d at most: %#x, %d omitted behind %d, of %#x", most, got, omitted, before, all)
		}
	}
}
