// Package settings keeps what the user arranged in the window: one JSON file of keys
// and values, which several windows of the program may use at once.
//
// The file is written soon after a change, and whole or not at all ([wholefile.Write]).
// Only what was changed here is put into what the file holds at that time, so that a
// window does not undo what another has kept. A file that cannot be understood is put
// aside, and [Store.OnTrouble] tells where.
//
// A Store is what Fyne calls preferences (fyne.Preferences), without its way of keeping
// them: Fyne empties the file before it writes it, and does so once more while the program
// ends, after which the file may stay empty.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"logparser/wholefile"
)

const (
	// saveAfter is how long further changes are waited for before the file is written.
	saveAfter = 300 * time.Millisecond
	// maxFile is the most bytes that the file of a user may have.
	maxFile = 16 << 20
)

// A Damaged error says that a file could not be understood, and where it was put.
type Damaged struct{ Aside string }

func (d *Damaged) Error() string { return "the settings were damaged; they are in " + d.Aside }

// A Store has the settings. Its methods may be called on any goroutine.
type Store struct {
	path string

	file sync.Mutex // held by whoever writes the file

	mu     sync.Mutex
	values map[string]json.RawMessage
	// changed are the keys that the file does not have yet, and writing those that are
	// being written; nil stands for a key that was removed.
	changed, writing map[string]json.RawMessage
	written          int // how often the file was written
	timer            *time.Timer
	listeners        []func()
	// troubles are what nobody was told yet; failing says that the file could not be
	// written the last time.
	troubles []error
	failing  bool
	tell     func(error)
}

// Default is where the user's settings are, and where Fyne kept those of earlier versions
// under the program's identity id.
func Default(id string) (path, earlier string, err error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", "", err
	}
	fyne := dir
	if home, err := os.UserHomeDir(); err == nil && runtime.GOOS == "darwin" {
		fyne = filepath.Join(home, "Library", "Preferences")
	}
	return filepath.Join(dir, "logparser", "settings.json"), filepath.Join(fyne, "fyne", id, "preferences.json"), nil
}

// Open reads the settings of a file. Where it is not there yet those of another one are
// taken over, if that is there; the other one stays as it is, but for a damaged one, which is put aside.
// With an empty path nothing is kept.
func Open(path, earlier string) *Store {
	s := &Store{path: path, values: map[string]json.RawMessage{}, changed: map[string]json.RawMessage{}}
	if path == "" {
		return s
	}
	values, err := s.read(path)
	if errors.Is(err, fs.ErrNotExist) && len(s.troubles) == 0 && earlier != "" {
		if values, err = s.read(earlier); err == nil {
			s.changed = maps.Clone(values)
		}
	}
	switch {
	case err == nil:
		s.values = values
	case !errors.Is(err, fs.ErrNotExist):
		s.trouble(err)
		s.failing = true
	}
	s.Flush()
	return s
}

// OnTrouble has a function called, on any goroutine, with what went wrong, also before: a
// [Damaged] file, or why the file cannot be read or written. Writing is tried again with
// the next change; that it fails is told once until it succeeds.
func (s *Store) OnTrouble(f func(error)) {
	s.mu.Lock()
	s.tell = f
	before := s.troubles
	s.troubles = nil
	s.mu.Unlock()
	for _, err := range before {
		f(err)
	}
}

func (s *Store) trouble(err error) {
	s.mu.Lock()
	tell := s.tell
	if tell == nil {
		s.troubles = append(s.troubles, err)
	}
	s.mu.Unlock()
	if tell != nil {
		tell(err)
	}
}

// Refresh takes in what other windows have kept meanwhile, for who is about to add
// to a list.
func (s *Store) Refresh() {
	if s.path == "" {
		return
	}
	for again := true; again; {
		s.mu.Lock()
		before := s.written
		s.mu.Unlock()
		values, err := s.read(s.path)
		if err != nil {
			return // writing will meet it, too
		}
		s.mu.Lock()
		// What was read may lack what was written meanwhile.
		if again = s.written != before; !again {
			s.values = merged(merged(values, s.writing), s.changed)
		}
		s.mu.Unlock()
	}
}

// Flush writes what has not been written yet.
func (s *Store) Flush() {
	if s.path == "" {
		return
	}
	s.file.Lock()
	defer s.file.Unlock()
	s.mu.Lock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.writing, s.changed = s.changed, map[string]json.RawMessage{}
	changed, all := s.writing, maps.Clone(s.values)
	s.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	values, err := s.write(changed, all)
	s.mu.Lock()
	s.writing = nil
	if err == nil {
		s.values = merged(values, s.changed)
		s.written++
	} else {
		for key, value := range changed {
			if _, later := s.changed[key]; !later {
				s.changed[key] = value
			}
		}
	}
	told := s.failing
	s.failing = err != nil
	s.mu.Unlock()
	if err != nil && !told {
		s.trouble(err)
	}
}

// merged returns values with changes, in which nil removes a key.
func merged(values, changes map[string]json.RawMessage) map[string]json.RawMessage {
	all := maps.Clone(values)
	for key, value := range changes {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = value
		}
	}
	return all
}

// write puts changes into the file and returns what it then has. All is what is written
// where nothing is left of the file.
func (s *Store) write(changed, all map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, err
	}
	defer lock(s.path + ".lock")()
	values, err := s.read(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		values = all
	case err != nil:
		return nil, err
	}
	now := merged(values, changed)
	if err == nil && maps.EqualFunc(now, values, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }) {
		return now, nil
	}
	content, err := json.MarshalIndent(now, "", "\t")
	if err != nil {
		return nil, err
	}
	return now, wholefile.Write(s.path, append(content, '\n'))
}

// read returns what a file has. One that cannot be understood is put aside, and is then
// one that does not exist.
func (s *Store) read(path string) (map[string]json.RawMessage, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	f.Close()
	if err != nil {
		return nil, err
	}
	var values map[string]json.RawMessage
	if len(content) <= maxFile && json.Unmarshal(content, &values) == nil && values != nil {
		for key, value := range values {
			// Indentation would make equal lists differ.
			var compact bytes.Buffer
			if json.Compact(&compact, value) == nil {
				values[key] = compact.Bytes()
			}
		}
		return values, nil
	}
	aside := path + time.Now().Format(".damaged-20060102-150405")
	if err := os.Rename(path, aside); err != nil {
		return nil, err
	}
	s.trouble(&Damaged{aside})
	return nil, fs.ErrNotExist
}

// set changes a key and has the file written soon; nil removes it. A value that it has
// already is no change.
func (s *Store) set(key string, value any) {
	var raw json.RawMessage
	if value != nil {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return // an infinite number: JSON has none
		}
	}
	s.mu.Lock()
	if bytes.Equal(s.values[key], raw) {
		s.mu.Unlock()
		return
	}
	s.changed[key] = raw
	if raw == nil {
		delete(s.values, key)
	} else {
		s.values[key] = raw
	}
	if s.timer == nil && s.path != "" {
		s.timer = time.AfterFunc(saveAfter, s.Flush)
	}
	listeners := s.listeners
	s.mu.Unlock()
	for _, f := range listeners {
		f()
	}
}

// get returns the value of a key, fallback if there is none of that type.
func get[T any](s *Store, key string, fallback T) T {
	s.mu.Lock()
	raw := s.values[key]
	s.mu.Unlock()
	value := new(T)
	if raw == nil || json.Unmarshal(raw, value) != nil {
		return fallback
	}
	return *value
}
