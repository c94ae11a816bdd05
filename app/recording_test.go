package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordingOf makes a folder as record does, with the traces of a parent and a child.
func recordingOf(t *testing.T, traces ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, trace := range traces {
		data, err := os.ReadFile(trace)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.lptrace", i)), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "recording.txt"), []byte("LogParser recording 1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOpenRecording opens what was recorded together as one session, and one log alone as it is. Another
// folder with the same logs is a question.
func TestOpenRecording(t *testing.T) {
	traces := family(t, 60, 0)
	dir := recordingOf(t, traces...)
	s, err := Open(context.Background(), Inputs{Log: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in := s.Inputs()
	if n := s.Rows().Len(); n != 7 || len(in.Logs()) != 2 || filepath.Dir(in.Log) != dir {
		t.Errorf("%d rows of %v", n, in.Logs())
	}
	s.Close()
	log, _, err := FindPair(recordingOf(t, traces[1]))
	if err != nil || !strings.HasSuffix(log, "0.lptrace") {
		t.Errorf("%s, %v", log, err)
	}
	if err := os.Remove(filepath.Join(dir, "recording.txt")); err != nil {
		t.Fatal(err)
	}
	var several *SeveralLogs
	if _, err := Open(context.Background(), Inputs{Log: dir}, nil); !errors.As(err, &several) || several.Together {
		t.Errorf("a folder that nobody marked: %v", err)
	}
	if _, _, err := FindPair(recordingOf(t)); !errors.Is(err, ErrNoLog) {
		t.Errorf("a folder without logs: %v", err)
	}
}
