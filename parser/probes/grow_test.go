package probes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"logparser/parser"
)

// A log grows by whole lines, and says where a pipe has ended.
func TestGrow(t *testing.T) {
	l := write(t, namesOfTwo+"lp E 100 7 7 0x5010 e\n")
	add := func(text string) parser.Growth {
		f, err := os.OpenFile(l.path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(text)
		f.Close()
		g, err := l.Grow(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	for _, step := range []struct {
		text    string
		records int64
		modules bool
		ended   bool
	}{
		{"", 0, false, false},
		{"lp L 200 7", 0, false, false},
		{" 7 - e__return\n", 1, false, false},
		{"lp E 300 8 8 0x6010 e\nlp ", 1, true, false},
		{".\n", 0, false, true},
	} {
		if g := add(step.text); g.Records != step.records || g.Modules != step.modules || g.Ended != step.ended {
			t.Errorf("%q: %+v", step.text, g)
		}
	}
	events := make([]parser.Event, 3)
	if n, err := l.ReadEvents(events, 0); n != 3 || err != nil || events[1].Kind != parser.Leave || events[2].Space != 1 {
		t.Error(n, err, events)
	}
}

// TestLastLine reads texts whose last line has no line feed: it counts when nothing was written for a while, and
// is not shown in two ways.
func TestLastLine(t *testing.T) {
	const text = namesOfTwo + "lp E 100 7 7 0x5010 e\nlp L 200 7 7 - e__return"
	for _, test := range []struct {
		age     time.Duration
		more    string
		records int64 // before, and after more
		after   int64
		fails   bool
	}{
		{0, "", 1, 1, false},
		{0, " r=1\n", 1, 2, false},
		{time.Minute, "", 2, 2, false},
		{time.Minute, "\nlp E 300 7 7 0x5010 e\n", 2, 3, false},
		{time.Minute, "\r\nlp E 300 7 7 0x5010 e\n", 2, 3, false},
		{time.Minute, "2 r=1\n", 2, 2, true},
	} {
		path := filepath.Join(t.TempDir(), "calls.txt")
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		// A slow machine must not make it old.
		when := time.Now().Add(time.Hour - test.age)
		if test.age > 0 {
			when = time.Now().Add(-test.age)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
		l := open(t, path)
		if n := l.Info().Records; n != test.records {
			t.Errorf("%v old: %d records, want %d", test.age, n, test.records)
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(test.more)
		f.Close()
		if test.age == 0 {
			os.Chtimes(path, when, when)
		}
		_, err = l.Grow(context.Background())
		if n := l.Info().Records; n != test.after || errors.Is(err, parser.ErrShrunk) != test.fails {
			t.Errorf("%v old, then %q: %d records, %v", test.age, test.more, n, err)
		}
	}
}

// TestLastLineOfBlock follows a text that is written in blocks, which end in the middle of a line.
func TestLastLineOfBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.txt")
	if err := os.WriteFile(path, []byte(namesOfTwo+"lp E 100 7 7 0x5010 e\nlp L 200 7"), 0o666); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	l, err := Open(t.Context(), path, parser.Options{Live: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, step := range []struct {
		more    string
		records int64
	}{{"", 1}, {" 7 - e__ret", 1}, {"urn\n", 2}} {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(step.more)
		f.Close()
		os.Chtimes(path, old, old)
		if _, err := l.Grow(t.Context()); err != nil || l.Info().Records != step.records {
			t.Errorf("%q: %d records, %v", step.more, l.Info().Records, err)
		}
	}
}
