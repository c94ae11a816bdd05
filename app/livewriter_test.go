package app

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestLiveWriter writes rows with the annotations among them: each is a line at its time, and none comes again.
func TestLiveWriter(t *testing.T) {
	s := open(t, Inputs{Log: traceOf(t, t.TempDir(), markedTrace), NoRecordedPaths: true})
	v := viewOf(t, s, Selection{})
	var rowsOnly, both bytes.Buffer
	if _, err := v.WriteLive(t.Context(), &rowsOnly, "txt", SaveOptions{}, 0, true); err != nil {
		t.Fatal(err)
	}
	live := v.LiveWriter()
	next, err := live.Write(t.Context(), &both, SaveOptions{}, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	if next != 6 {
		t.Errorf("the next row is %d", next)
	}
	lines, rowLines := strings.Split(strings.TrimSpace(both.String()), "\n"), strings.Split(strings.TrimSpace(rowsOnly.String()), "\n")
	var told, rest []string
	at := make(map[string]int) // how many rows come before
	for _, l := range lines {
		if slices.Contains(rowLines, l) {
			rest = append(rest, l)
			continue
		}
		for _, text := range []string{"before", "queue", "=frame 2", "alone", "frame, 1", "bytes", "load", "behind"} {
			if strings.Contains(l, text) {
				told = append(told, text)
				at[text] = len(rest)
				break
			}
		}
	}
	if !slices.Equal(rest, rowLines) {
		t.Errorf("the rows are\n%s\nwant\n%s", strings.Join(rest, "\n"), strings.Join(rowLines, "\n"))
	}
	if want := []string{"before", "queue", "=frame 2", "alone", "frame, 1", "bytes", "load", "load", "behind"}; !slices.Equal(told, want) {
		t.Errorf("the annotations come as %q, want %q", told, want)
	}
	head := len(rowLines) - 6
	if at["before"] != head || at["queue"] != head+1 || at["frame, 1"] != head+2 || at["behind"] != len(rowLines) {
		t.Errorf("of %d lines before the rows, annotations stand after so many: %v", head, at)
	}
	both.Reset()
	if again, err := live.Write(t.Context(), &both, SaveOptions{}, next, false); err != nil || again != next || both.Len() != 0 {
		t.Errorf("written again: %q, next %d, %v", both.String(), again, err)
	}
}
