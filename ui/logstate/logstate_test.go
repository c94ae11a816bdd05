package logstate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"logparser/rows"
)

func TestStateSurvivesAMove(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "a.dat")
	if err := os.WriteFile(log, []byte(strings.Repeat("0123456789abcdef", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	id, err := Identity(log)
	if err != nil {
		t.Fatal(err)
	}
	s := Store{filepath.Join(dir, "config", "logs")}
	if _, err := s.Load(id); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before anything is kept: %v", err)
	}
	want := State{Log: log, Where: "thread:1", Folded: []int64{3, 9}, Repeats: true, Row: 7, Tab: "timeline", Lanes: []Lane{{Thread: 5, Folded: true}, {Thread: 6, Lines: 3}}, LaneOrder: []rows.Track{6, 5},
		Bookmarks: []Bookmark{{5, 0x140001000, "here"}, {6, 0x10, ""}}, Highlights: []Highlight{{"function", "func:=main", 2}}}
	if err := s.Save(id, want); err != nil {
		t.Fatal(err)
	}

	// Moved, and grown.
	moved := filepath.Join(dir, "b.dat")
	if err := os.Rename(log, moved); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(moved, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, "more")
	f.Close()
	again, err := Identity(moved)
	if err != nil || again != id {
		t.Fatalf("identity %s, %v; was %s", again, err, id)
	}
	got, err := s.Load(again)
	want.Version = version
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if files, _ := os.ReadDir(dir); len(files) != 2 {
		t.Errorf("%d files beside the log", len(files))
	}

	// Nothing worth keeping leaves nothing.
	if err := s.Save(id, State{Log: moved}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty state is kept: %v", err)
	}
}

func TestNumberOfLogsIsBounded(t *testing.T) {
	s := Store{t.TempDir()}
	for i := range MaxLogs + 5 {
		name := fmt.Sprintf("%032x", i)
		if err := s.Save(name, State{Row: 1}); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(int64(1e9+i), 0)
		if err := os.Chtimes(s.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save("last", State{Row: 1}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(s.Dir)
	if err != nil || len(files) != MaxLogs {
		t.Errorf("%d files, %v", len(files), err)
	}
	if _, err := s.Load(fmt.Sprintf("%032x", 0)); err == nil {
		t.Error("the oldest is still there")
	}
	if _, err := s.Load("last"); err != nil {
		t.Error(err)
	}
}

// A state that was damaged or made up does no harm.
func TestForeignStates(t *testing.T) {
	s := Store{t.TempDir()}
	for name, test := range map[string]struct {
		content string
		check   func(st State, err error) bool
	}{
		"no json":         {"{", func(_ State, err error) bool { return err != nil }},
		"another version": {`{"version":99,"row":5}`, func(_ State, err error) bool { return errors.Is(err, fs.ErrNotExist) }},
		"no sense": {`{"version":1,"folded":[9,-4,3,9],"bookmarks":[{"row":-1},{"row":7},{"row":2},{"row":7,"note":"x"}]}`,
			func(st State, err error) bool {
				return err == nil && reflect.DeepEqual(st.Folded, []int64{3, 9}) && len(st.Bookmarks) == 2 && st.Bookmarks[0].Row == 2
			}},
		"too long": {`{"version":1,"where":"` + strings.Repeat("x", maxNote+1) + `"}`, func(st State, err error) bool { return err == nil && st.Where == "" }},
	} {
		if err := os.WriteFile(s.path("x"), []byte(test.content), 0o666); err != nil {
			t.Fatal(err)
		}
		if st, err := s.Load("x"); !test.check(st, err) {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
}

// TestOneStateForSeveralLogs: logs that are shown together have a state of their own, in their order.
func TestOneStateForSeveralLogs(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a", "b", "c"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	seen := make(map[string]string)
	for _, list := range [][]string{paths[:1], paths[1:2], paths[:2], {paths[1], paths[0]}, paths, {paths[0], paths[2]}} {
		id, err := Identity(list[0], list[1:]...)
		if err != nil || seen[id] != "" {
			t.Errorf("%q has the identity of %s: %v", list, seen[id], err)
		}
		seen[id] = fmt.Sprint(list)
		if again, err := Identity(list[0], list[1:]...); err != nil || again != id {
			t.Errorf("%q has the identity %s, then %s: %v", list, id, again, err)
		}
	}
	for _, list := range [][]string{{filepath.Join(dir, "none")}, {paths[0], filepath.Join(dir, "none")}, {dir}} {
		if id, err := Identity(list[0], list[1:]...); err == nil {
			t.Errorf("%q has the identity %s", list, id)
		}
	}
}

// TestWhatIsKeptIsBounded keeps of a state no more than its limits, and cuts notes between letters.
func TestWhatIsKeptIsBounded(t *testing.T) {
	s := Store{t.TempDir()}
	st := State{Row: 1, Where: strings.Repeat("x", maxNote+1), Lanes: make([]Lane, MaxLanes+1), LaneOrder: make([]rows.Track, MaxLanes+1)}
	st.Lanes[0].Lines, st.Lanes[1].Lines = -1, maxLines+1
	for i := range MaxFolded + 1 {
		st.Folded = append(st.Folded, int64(i))
	}
	st.Bookmarks = append(st.Bookmarks, Bookmark{Row: 0, Note: strings.Repeat("x", maxNote-1) + "汉字"})
	for i := range MaxBookmarks {
		st.Bookmarks = append(st.Bookmarks, Bookmark{Row: int64(i + 1)})
	}
	if err := s.Save("x", st); err != nil {
		t.Fatal(err)
	}
	got, err := s.Load("x")
	if err != nil {
		t.Fatal(err)
	}
	if got.Where != "" || len(got.Folded) != MaxFolded || len(got.Bookmarks) != MaxBookmarks || len(got.Lanes) != MaxLanes || len(got.LaneOrder) != MaxLanes {
		t.Errorf("kept: %d folded, %d bookmarks, %d lanes in %d places, a filter of %d letters", len(got.Folded), len(got.Bookmarks), len(got.Lanes), len(got.LaneOrder), len(got.Where))
	}
	if got.Lanes[0].Lines != 0 || got.Lanes[1].Lines != maxLines {
		t.Errorf("lanes of %d and %d lines", got.Lanes[0].Lines, got.Lanes[1].Lines)
	}
	if note := got.Bookmarks[0].Note; note != strings.Repeat("x", maxNote-1) {
		t.Errorf("a note of %d bytes ends with %q", len(note), note[maxNote-4:])
	}
}

// TestStateThatCannotBeKept says so: its folder is a file, or its file a folder.
func TestStateThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := (Store{file}).Save("x", State{Row: 1}); err == nil {
		t.Error("a state is kept in a file that is no folder")
	}
	s := Store{dir}
	if err := os.MkdirAll(filepath.Join(s.path("x"), "below"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := s.Save("x", State{Row: 1}); err == nil {
		t.Error("a state is kept in the place of a folder")
	}
	if err := s.Save("x", State{}); err == nil {
		t.Error("a folder is taken for a state that was removed")
	}
	if st, err := s.Load("x"); err == nil {
		t.Errorf("a folder is read as %+v", st)
	}
	if d, err := Default(); err == nil && filepath.Base(d.Dir) != "logs" {
		t.Errorf("the user's folder is %s", d.Dir)
	}
}
