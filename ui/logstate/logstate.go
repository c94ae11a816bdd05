// Package logstate remembers how the user left each log: the filter, folded
// calls, bookmarks, the place. It keeps a small JSON file a log in a folder of
// the user's configuration, never beside the log, and only for the logs used
// last.
//
// A log is known by its content, so that what belongs to it is found again
// where it was moved or renamed.
package logstate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"logparser/rows"
	"logparser/wholefile"
)

// The limits of what is kept.
const (
	// MaxLogs is the number of logs.
	MaxLogs = 200
	// MaxFolded and MaxBookmarks are numbers for each log.
	MaxFolded    = 20_000
	MaxBookmarks = 10_000
	// MaxLanes is a number for each log, too, and maxLines one for each lane.
	MaxLanes = 1000
	maxLines = 10_000
	maxNote  = 4096    // bytes of a note or a filter
	maxFile  = 4 << 20 // bytes of a file
)

// version is that of the files; others are not read.
const version = 1

// A State is what is kept of a log. Rows are rows of the log.
type State struct {
	Version int `json:"version"`
	// Log is the path that the log was opened by, for people.
	Log string `json:"log"`
	// Run is the chosen run; all that follows is of that run.
	Run        string      `json:"run,omitempty"`
	Where      string      `json:"where,omitempty"`
	Folded     []int64     `json:"folded,omitempty"`
	Repeats    bool        `json:"repeats,omitempty"`
	Row        int64       `json:"row"`
	Bookmarks  []Bookmark  `json:"bookmarks,omitempty"`
	Highlights []Highlight `json:"highlights,omitempty"`
	// ModulesColumns is what the user said of the columns of the modules file of
	// the name ModulesFile, as [logparser/app.Inputs] has it.
	ModulesFile    string `json:"modules_file,omitempty"`
	ModulesColumns string `json:"modules_columns,omitempty"`
	// Tab is the view that was shown, "" for the table.
	Tab string `json:"tab,omitempty"`
	// Lanes is how the timeline's lanes are arranged, where that was changed.
	Lanes []Lane `json:"lanes,omitempty"`
	// LaneOrder are the threads in the order of the timeline's lanes, where that was changed.
	LaneOrder []rows.Track `json:"lane_order,omitempty"`
}

// A Lane is a thread in the timeline.
type Lane struct {
	Thread rows.Track `json:"thread"`
	Folded bool       `json:"folded,omitempty"`
	// Lines is how many lines are shown, 0 for as many as there are.
	Lines int `json:"lines,omitempty"`
}

// A Bookmark is a row that the user wants to find again. The address tells
// whether the row is still the same one.
type Bookmark struct {
	Row     int64  `json:"row"`
	Address uint64 `json:"address"`
	Note    string `json:"note,omitempty"`
}

// A Highlight labels the cells of a column that a filter's term wants.
type Highlight struct {
	Column string `json:"column"`
	Term   string `json:"term"`
	// Colour is from 1 on.
	Colour int `json:"colour"`
}

// A Store is a folder of states. Its methods may be called from several
// goroutines, but not for the same log.
type Store struct{ Dir string }

// Default is the store of the user.
func Default() (Store, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return Store{}, err
	}
	return Store{filepath.Join(dir, "logparser", "logs")}, nil
}

// headSize is how much of a log's beginning makes its identity. A log that is
// being written grows at its end, and little at first: a larger part would give
// it another identity for too long.
const headSize = 4096

// Identity returns what a log is known by, or several logs that are shown together.
func Identity(path string, others ...string) (string, error) {
	identity, err := identityOf(path)
	for _, other := range others {
		one, e := identityOf(other)
		if err = cmp.Or(err, e); err != nil {
			return "", err
		}
		sum := sha256.Sum256([]byte(identity + one))
		identity = hex.EncodeToString(sum[:16])
	}
	return identity, err
}

func identityOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	sum := sha256.Sum256(head[:n])
	return hex.EncodeToString(sum[:16]), nil
}

func (s Store) path(identity string) string { return filepath.Join(s.Dir, identity+".json") }

// Load returns the state of a log, or an error that is fs.ErrNotExist where
// nothing is kept. What does not make sense is left out.
func (s Store) Load(identity string) (State, error) {
	f, err := os.Open(s.path(identity))
	if err != nil {
		return State{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return State{}, err
	}
	var st State
	if err := json.Unmarshal(raw, &st); err != nil {
		return State{}, err
	}
	if st.Version != version {
		return State{}, fs.ErrNotExist
	}
	st.limit()
	return st, nil
}

// limit brings a state within the limits.
func (st *State) limit() {
	st.Folded = slices.DeleteFunc(st.Folded, func(r int64) bool { return r < 0 })
	slices.Sort(st.Folded)
	st.Folded = slices.Compact(st.Folded)
	st.Folded = st.Folded[:min(len(st.Folded), MaxFolded)]
	st.Bookmarks = slices.DeleteFunc(st.Bookmarks, func(b Bookmark) bool { return b.Row < 0 })
	slices.SortStableFunc(st.Bookmarks, func(a, b Bookmark) int { return cmp.Compare(a.Row, b.Row) })
	st.Bookmarks = slices.CompactFunc(st.Bookmarks, func(a, b Bookmark) bool { return a.Row == b.Row })
	st.Bookmarks = st.Bookmarks[:min(len(st.Bookmarks), MaxBookmarks)]
	for i := range st.Bookmarks {
		st.Bookmarks[i].Note = cut(st.Bookmarks[i].Note)
	}
	if len(st.Where) > maxNote {
		st.Where = ""
	}
	st.Lanes = st.Lanes[:min(len(st.Lanes), MaxLanes)]
	st.LaneOrder = st.LaneOrder[:min(len(st.LaneOrder), MaxLanes)]
	for i := range st.Lanes {
		st.Lanes[i].Lines = min(max(st.Lanes[i].Lines, 0), maxLines)
	}
}

func cut(s string) string {
	if len(s) > maxNote {
		return strings.ToValidUTF8(s[:maxNote], "")
	}
	return s
}

// empty reports whether there is nothing worth keeping.
func (st *State) empty() bool {
	return st.Where == "" && len(st.Folded) == 0 && !st.Repeats && st.Row <= 0 &&
		len(st.Bookmarks) == 0 && len(st.Highlights) == 0 && len(st.Lanes) == 0 && len(st.LaneOrder) == 0 && st.Tab == "" && st.Run == "" && st.ModulesColumns == ""
}

// Save keeps the state of a log, whole or not at all, and forgets logs that
// were not used for long.
func (s Store) Save(identity string, st State) error {
	st.Version = version
	st.limit()
	if st.empty() {
		if err := os.Remove(s.path(identity)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	raw, err := json.Marshal(st)
	if err != nil {
		return err
	}
	if err := wholefile.Write(s.path(identity), raw); err != nil {
		return err
	}
	return s.prune()
}

// prune removes the files that were written longest ago.
func (s Store) prune() error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	type kept struct {
		name string
		at   time.Time
	}
	var list []kept
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), ".json") {
			list = append(list, kept{e.Name(), info.ModTime()})
		}
	}
	if len(list) <= MaxLogs {
		return nil
	}
	slices.SortFunc(list, func(a, b kept) int { return a.at.Compare(b.at) })
	for _, k := range list[:len(list)-MaxLogs] {
		os.Remove(filepath.Join(s.Dir, k.name))
	}
	return nil
}
