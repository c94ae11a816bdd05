package indexcache

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"logparser/calls"
	"logparser/message"
	"logparser/wholefile"
)

const (
	// FileSuffix ends the names of files that hold indexes, NoteSuffix those of
	// notes.
	FileSuffix      = ".lpindex"
	NoteSuffix      = ".lpnote"
	partSuffix      = ".part-"
	TemporarySuffix = ".lpindex-tmp"
	// staleAfter is when a file that was not finished counts as abandoned,
	// oldAfter when an index that was not used does.
	staleAfter = time.Hour
	oldAfter   = 90 * 24 * time.Hour
)

// A Store is a folder in which indexes are kept.
type Store struct {
	// Folder is made when it is needed.
	Folder string
	// Limit is how many bytes there may be; the oldest files go first. 0
	// stands for 2 GiB.
	Limit int64
}

// A Key says which log, which of its runs and whatever else an index depends
// on, besides names. The first LogBytes of keys that are of earlier states of the same
// log are equal, so that their notes are found by one of them.
type Key [sha256.Size]byte

// LogBytes is how many first bytes of keys say which log it is, whatever its state.
const LogBytes = 8

// Of returns the key of the index that a namer gives: which of the first n
// addresses have one function, and which have none that is known.
func (k Key) Of(namer calls.Namer, a *calls.Addresses, n int) Key {
	if namer == nil {
		return k
	}
	h := sha256.New()
	h.Write(k[:])
	first := make(map[calls.Function]uint32)
	for i := range n {
		at := a.At(i)
		f := namer(int(at.Run), at.Space, at.Value)
		like := uint32(math.MaxUint32)
		if f != 0 {
			var ok bool
			if like, ok = first[f]; !ok {
				like = uint32(i)
				first[f] = like
			}
		}
		h.Write(binary.LittleEndian.AppendUint32(nil, like))
	}
	return Key(h.Sum(nil))
}

// Path returns the path of the index of a key.
func (s *Store) Path(k Key) string { return s.File(k, FileSuffix) }

// File returns the path of what is kept under a key, an index or a note by the
// suffix.
func (s *Store) File(k Key, suffix string) string {
	return filepath.Join(s.Folder, hex.EncodeToString(k[:16])+suffix)
}

// Write makes a file of the store, whole or not at all.
func (s *Store) Write(ctx context.Context, path string, encode func(io.Writer) error) error {
	if err := os.MkdirAll(s.Folder, 0o700); err != nil {
		return err
	}
	s.prune()
	aead, err := s.seal(true)
	if err != nil {
		return err
	}
	return wholefile.Replace(path, 0o600, func(f io.Writer) error {
		w := newSealWriter(ctx, f, aead)
		if err := encode(w); err != nil {
			return err
		}
		return w.Close()
	})
}

// A note is what else is worth keeping of a log besides its index. Its file has,
// sealed, noteMagic, the key and the note.
const noteMagic = "LPNOTE\x00\x02"

// maxNote bounds the bytes of a note.
const maxNote = 256 << 20

// Note keeps a note; what it was before is replaced.
func (s *Store) Note(k Key, note []byte) error {
	if len(note) > maxNote {
		return message.Errorf("a note of %d bytes is too long to keep", len(note))
	}
	b := append(append([]byte(noteMagic), k[:]...), note...)
	return s.Write(context.Background(), s.File(k, NoteSuffix), func(f io.Writer) error {
		_, err := f.Write(b)
		return err
	})
}

// Noted returns the note that Note kept under a key, nil where there is none or
// what is there is damaged.
func (s *Store) Noted(k Key) []byte {
	path := s.File(k, NoteSuffix)
	of, note, ok := s.readNote(path)
	if !ok || of != k {
		return nil
	}
	Touch(path)
	return note
}

// maxNotesOfLog bounds the notes that are looked at for those of a log.
const maxNotesOfLog = 16

// NotesOfLog returns the notes of earlier states of the log that k is of, by their keys;
// of many those that were used last.
func (s *Store) NotesOfLog(k Key) map[Key][]byte {
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return nil
	}
	type file struct {
		path string
		used time.Time
	}
	var list []file
	begin := hex.EncodeToString(k[:LogBytes])
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, begin) && strings.HasSuffix(name, NoteSuffix) {
			if info, err := e.Info(); err == nil {
				list = append(list, file{filepath.Join(s.Folder, name), info.ModTime()})
			}
		}
	}
	slices.SortFunc(list, func(a, b file) int { return b.used.Compare(a.used) })
	notes := make(map[Key][]byte)
	for _, f := range list[:min(len(list), maxNotesOfLog)] {
		if of, note, ok := s.readNote(f.path); ok {
			notes[of] = note
		}
	}
	return notes
}

// readNote reads the file of a note. It is not ok where that is damaged.
func (s *Store) readNote(path string) (k Key, note []byte, ok bool) {
	kept, err := s.Open(context.Background(), path)
	if err != nil {
		return k, nil, false
	}
	defer kept.Close()
	b := kept.Content
	const around = len(noteMagic) + len(k)
	if len(b) < around || len(b) > maxNote+around || !bytes.HasPrefix(b, []byte(noteMagic)) {
		return k, nil, false
	}
	defer func(before bool) {
		// A fault: the medium fails.
		if recover() != nil {
			note, ok = nil, false
		}
		debug.SetPanicOnFault(before)
	}(debug.SetPanicOnFault(true))
	b = b[len(noteMagic):]
	return Key(b), bytes.Clone(b[len(k):]), true
}

// Touch notes that a file was used.
func Touch(path string) {
	now := time.Now()
	os.Chtimes(path, now, now)
}

// prune removes what killed processes left, what was not used for a long time, and the
// oldest files when there is too much.
func (s *Store) prune() {
	entries, err := os.ReadDir(s.Folder)
	if err != nil {
		return
	}
	type file struct {
		path string
		size int64
		used time.Time
	}
	var list []file
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		path := filepath.Join(s.Folder, e.Name())
		age := time.Since(info.ModTime())
		switch name := e.Name(); {
		case strings.HasSuffix(name, TemporarySuffix), strings.Contains(name, FileSuffix+partSuffix), strings.Contains(name, NoteSuffix+partSuffix), strings.HasPrefix(name, keyName+partSuffix):
			if age > staleAfter {
				os.Remove(path)
			}
		case strings.HasSuffix(name, FileSuffix), strings.HasSuffix(name, NoteSuffix):
			if age > oldAfter {
				os.Remove(path)
				continue
			}
			total += info.Size()
			list = append(list, file{path, info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b file) int { return a.used.Compare(b.used) })
	limit := cmp.Or(s.Limit, 2<<30)
	for _, f := range list {
		if total <= limit {
			break
		}
		if os.Remove(f.path) == nil {
			total -= f.size
		}
	}
}

// ErrOther says that a file is none of this index, or damaged.
var ErrOther = message.New("the file is not of this index, or damaged")
