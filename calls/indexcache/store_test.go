package indexcache

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNotes(t *testing.T) {
	store := Store{Folder: filepath.Join(t.TempDir(), "folder")}
	if store.Noted(Key{1}) != nil {
		t.Error("a note that nobody made")
	}
	for _, note := range []string{"first", "", "second"} {
		if err := store.Note(Key{1}, []byte(note)); err != nil {
			t.Fatal(err)
		}
		if got := store.Noted(Key{1}); string(got) != note {
			t.Errorf("noted %q, want %q", got, note)
		}
	}
	if store.Note(Key{2}, make([]byte, maxNote+1)) == nil {
		t.Error("a note of any length is kept")
	}
	path := store.File(Key{1}, NoteSuffix)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refuses := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := store.Noted(Key{1}); got != nil {
			t.Errorf("%s: %q", what, got)
		}
	}
	for at := range good {
		b := bytes.Clone(good)
		b[at] ^= 1
		refuses("a flipped bit", b)
		// The first eight bytes of the content are the magic, the next thirty-two the key.
		if at < 40 {
			refuses("another magic or key", resealed(t, store, func(b []byte) []byte {
				b[at] ^= 1
				return b
			}, good))
		}
		refuses("cut", good[:at])
	}
	refuses("longer", append(bytes.Clone(good), 0))
	os.Remove(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if store.Noted(Key{1}) != nil || store.Note(Key{1}, nil) == nil {
		t.Error("a folder was read or replaced")
	}
}

func TestPrune(t *testing.T) {
	folder := t.TempDir()
	now := time.Now()
	for name, age := range map[string]time.Duration{
		"a" + FileSuffix: time.Hour, "b" + FileSuffix: 2 * time.Hour, "c" + FileSuffix: 3 * time.Hour, "d" + FileSuffix: 100 * 24 * time.Hour,
		"e" + FileSuffix + partSuffix + "1": 2 * time.Hour, "f" + FileSuffix + partSuffix + "1": 0, "other": 1000 * 24 * time.Hour,
		"g" + NoteSuffix: 150 * time.Minute, "h" + NoteSuffix: 100 * 24 * time.Hour, "i" + NoteSuffix + partSuffix + "1": 2 * time.Hour,
	} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	s := Store{Folder: folder, Limit: 350}
	s.prune()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := []string{"a" + FileSuffix, "b" + FileSuffix, "f" + FileSuffix + partSuffix + "1", "g" + NoteSuffix, "other"}
	if len(names) != len(want) {
		t.Fatalf("left %v, want %v", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Fatalf("left %v, want %v", names, want)
		}
	}
}

// TestSeal cuts, joins and moves blocks of sealed files.
func TestSeal(t *testing.T) {
	store := Store{Folder: t.TempDir()}
	aead, err := store.seal(true)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	seal := func(content []byte) []byte {
		var b bytes.Buffer
		w := newSealWriter(context.Background(), &b, aead)
		for rest := content; len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 200_000))
			w.Write(rest[:n])
			rest = rest[n:]
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for _, n := range []int{0, 1, sealBlock - 1, sealBlock, sealBlock + 1, 3 * sealBlock, 16 * sealBlock, 32*sealBlock + 7} {
		content := make([]byte, n)
		for i := range content {
			content[i] = byte(r.Uint32())
		}
		file := seal(content)
		if got := contentOf(t, store, file); !bytes.Equal(got, content) {
			t.Fatalf("%d bytes are read as others", n)
		}
		refused := func(what string, file []byte) {
			t.Helper()
			if _, err := unseal(context.Background(), file, aead); err == nil {
				t.Errorf("%d bytes, %s: they are taken", n, what)
			}
		}
		const step = sealBlock
		tag := sealHead + n // that of the first block
		for cut := range len(file) {
			if cut%49999 == 0 || (cut-sealHead)%step == 0 || cut >= tag && (cut-tag)%sealTag == 0 {
				refused("cut", file[:cut])
			}
		}
		refused("longer", append(bytes.Clone(file), 0))
		refused("with another's end", append(bytes.Clone(file), seal(nil)[sealHead:]...))
		for at := 0; at < len(file); at += 1 + len(file)/60 {
			b := bytes.Clone(file)
			b[at] ^= 0x40
			refused("a flipped bit", b)
		}
		if n >= 3*sealBlock {
			b := bytes.Clone(file)
			copy(b[sealHead:], file[sealHead+step:sealHead+2*step])
			copy(b[sealHead+step:], file[sealHead:sealHead+step])
			refused("blocks in another order", b)
			copy(b[tag:], file[tag+sealTag:tag+2*sealTag])
			copy(b[tag+sealTag:], file[tag:tag+sealTag])
			refused("blocks in another order with their tags", b)
			copy(b, seal(content))
			copy(b[tag+sealTag:], file[tag+sealTag:tag+2*sealTag])
			refused("a block of another file", b)
		}
	}
}

func TestNotesOfLog(t *testing.T) {
	store := Store{Folder: filepath.Join(t.TempDir(), "folder")}
	if store.NotesOfLog(Key{1}) != nil {
		t.Error("notes of no folder")
	}
	other := Key{1}
	other[LogBytes-1] = 1
	for k, note := range map[Key]string{{1, 31: 1}: "a", {1, LogBytes: 2}: "b", other: "c", {2}: "d"} {
		if err := store.Note(k, []byte(note)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(store.File(Key{1, LogBytes: 3}, NoteSuffix), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	notes := store.NotesOfLog(Key{1, 30: 7})
	if len(notes) != 2 || string(notes[Key{1, 31: 1}]) != "a" || string(notes[Key{1, LogBytes: 2}]) != "b" {
		t.Errorf("%q", notes)
	}
	for i := range 2 * maxNotesOfLog {
		if err := store.Note(Key{1, LogBytes: 9, LogBytes + 1: byte(i)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(store.NotesOfLog(Key{1})); n > maxNotesOfLog {
		t.Errorf("%d notes are looked at", n)
	}
}

// resealed returns a file whose content was changed, sealed with the store's key.
func resealed(t testing.TB, store Store, change func(content []byte) []byte, file []byte) []byte {
	t.Helper()
	aead, err := store.seal(false)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := newSealWriter(context.Background(), &b, aead)
	w.Write(change(contentOf(t, store, file)))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// contentOf returns the content of a file.
func contentOf(t testing.TB, store Store, file []byte) []byte {
	t.Helper()
	aead, err := store.seal(false)
	if err != nil {
		t.Fatal(err)
	}
	content, err := unseal(context.Background(), file, aead)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(content)
}
