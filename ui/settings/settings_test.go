package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// troubles collects what a store tells.
type troubles struct {
	sync.Mutex
	list []error
}

func (tr *troubles) hear(s *Store) *Store {
	s.OnTrouble(func(err error) {
		tr.Lock()
		defer tr.Unlock()
		tr.list = append(tr.list, err)
	})
	return s
}

func TestAllTypesComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "settings.json")
	s := Open(path, "")
	heard := 0
	s.AddChangeListener(func() { heard++ })
	s.SetBool("bool", true)
	s.SetInt("int", -3)
	s.SetFloat("float", 0.78)
	s.SetFloat("whole", 1240)
	s.SetFloat("infinite", math.Inf(1))
	s.SetString("text", "<日志>\n\"")
	s.SetBoolList("bools", []bool{true, false})
	s.SetIntList("ints", []int{4, 5})
	s.SetFloatList("floats", []float64{1, 2.5})
	s.SetStringList("texts", []string{"a", ""})
	s.SetStringList("none", nil)
	s.SetString("removed", "x")
	s.RemoveValue("removed")
	s.SetInt("int", -3)
	if heard != 12 || len(s.ChangeListeners()) != 1 {
		t.Errorf("heard of %d changes", heard)
	}
	s.Flush()
	for _, s := range []*Store{s, Open(path, "")} {
		if !s.Bool("bool") || s.Int("int") != -3 || s.Float("float") != 0.78 || s.Float("whole") != 1240 || s.String("text") != "<日志>\n\"" ||
			!slices.Equal(s.BoolList("bools"), []bool{true, false}) || !slices.Equal(s.IntList("ints"), []int{4, 5}) ||
			!slices.Equal(s.FloatList("floats"), []float64{1, 2.5}) || !slices.Equal(s.StringList("texts"), []string{"a", ""}) {
			t.Errorf("other values came back: %s", s.values)
		}
		if s.StringWithFallback("removed", "gone") != "gone" || s.IntWithFallback("text", 7) != 7 || s.FloatWithFallback("infinite", 1) != 1 ||
			s.BoolWithFallback("none", true) != true || len(s.StringListWithFallback("none", []string{"x"})) != 0 {
			t.Error("a fallback was not taken, or taken where there was a value")
		}
	}
}

// TestTakesOver reads, once, what Fyne kept for earlier versions.
func TestTakesOver(t *testing.T) {
	dir := t.TempDir()
	path, earlier := filepath.Join(dir, "new", "settings.json"), filepath.Join(dir, "old", "preferences.json")
	const kept = `{"language":"zh","panel.tab":1,"recent.logs":["/a.dat","/b.dat"],"window.width":1240,"fyne:fileDialogViewLayout":2}` + "\n"
	write(t, earlier, kept)
	s := Open(path, earlier)
	if s.String("language") != "zh" || s.Int("panel.tab") != 1 || s.Float("window.width") != 1240 || !slices.Equal(s.StringList("recent.logs"), []string{"/a.dat", "/b.dat"}) {
		t.Errorf("taken over: %s", s.values)
	}
	s.SetString("language", "en")
	s.Flush()
	if raw, err := os.ReadFile(earlier); err != nil || string(raw) != kept {
		t.Errorf("the earlier file is %q, %v", raw, err)
	}
	write(t, earlier, `{"language":"zh","theme":"dark"}`)
	again := Open(path, earlier)
	if again.String("language") != "en" || again.String("theme") != "" || again.Int("fyne:fileDialogViewLayout") != 2 {
		t.Errorf("the second time: %s", again.values)
	}
}

// TestTwoWindows changes settings in two windows; neither undoes what the other did.
func TestTwoWindows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	write(t, path, `{"theme":"light","language":"en","unknown":{"of":["a later version"]}}`)
	a, b := Open(path, ""), Open(path, "")
	a.SetString("theme", "dark")
	a.SetStringList("list", []string{"a"})
	a.Flush()
	b.Refresh()
	b.SetStringList("list", append(b.StringList("list"), "b"))
	b.RemoveValue("language")
	b.Flush()
	a.SetInt("panel.tab", 2)
	a.Flush()
	for name, s := range map[string]*Store{"the first window": a, "the file": Open(path, "")} {
		if s.String("theme") != "dark" || s.String("language") != "" || !slices.Equal(s.StringList("list"), []string{"a", "b"}) || s.Int("panel.tab") != 2 {
			t.Errorf("%s: %s", name, s.values)
		}
		if string(s.values["unknown"]) != `{"of":["a later version"]}` {
			t.Errorf("%s: what is not known became %s", name, s.values["unknown"])
		}
	}
}

// TestDamaged begins anew where a file cannot be understood, tells so, and keeps it.
func TestDamaged(t *testing.T) {
	for name, content := range map[string]string{"empty": "", "cut": `{"theme":"da`, "a list": "[1]", "null": "null", "binary": "\x00\xff",
		"too long": `{"a":"` + strings.Repeat("x", maxFile) + `"}`} {
		for _, which := range []string{"settings", "those of an earlier version"} {
			dir := t.TempDir()
			path, earlier := filepath.Join(dir, "settings.json"), filepath.Join(dir, "earlier", "preferences.json")
			damaged := path
			if which != "settings" {
				damaged = earlier
			} else {
				write(t, earlier, `{"theme":"light"}`)
			}
			write(t, damaged, content)
			var tr troubles
			s := tr.hear(Open(path, earlier))
			var d *Damaged
			if len(tr.list) != 1 || !errors.As(tr.list[0], &d) || filepath.Dir(d.Aside) != filepath.Dir(damaged) {
				t.Errorf("%s, %s: told %v", which, name, tr.list)
				continue
			}
			if raw, err := os.ReadFile(d.Aside); err != nil || string(raw) != content {
				t.Errorf("%s, %s: what was put aside has %d bytes, %v", which, name, len(raw), err)
			}
			s.SetString("theme", "dark")
			s.Flush()
			tr.list = nil
			if again := tr.hear(Open(path, earlier)); again.String("theme") != "dark" || len(tr.list) != 0 {
				t.Errorf("%s, %s: afterwards %s, told %v", which, name, again.values, tr.list)
			}
		}
	}
}

// TestDamagedMeanwhile writes all that is known where the file was damaged, or went,
// while the program ran.
func TestDamagedMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	var tr troubles
	s := tr.hear(Open(path, ""))
	s.SetString("theme", "dark")
	s.Flush()
	write(t, path, "")
	s.SetString("language", "zh")
	s.Flush()
	if again := Open(path, ""); again.String("theme") != "dark" || again.String("language") != "zh" || len(tr.list) != 1 {
		t.Errorf("damaged: %s, told %v", again.values, tr.list)
	}
	os.Remove(path)
	s.SetString("language", "en")
	s.Flush()
	if again := Open(path, ""); again.String("theme") != "dark" || again.String("language") != "en" || len(tr.list) != 1 {
		t.Errorf("removed: %s, told %v", again.values, tr.list)
	}
}

// TestCannotWrite tells once that the file cannot be written, and writes it when it can be.
func TestCannotWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "folder", "settings.json")
	write(t, filepath.Join(dir, "folder"), "a file where the folder is to be")
	var tr troubles
	s := tr.hear(Open(path, ""))
	for i := range 3 {
		s.SetInt("number", i)
		s.Flush()
	}
	if len(tr.list) != 1 || s.Int("number") != 2 {
		t.Errorf("told %v, the number is %d", tr.list, s.Int("number"))
	}
	os.Remove(filepath.Join(dir, "folder"))
	s.Flush()
	if again := Open(path, ""); again.Int("number") != 2 {
		t.Errorf("later: %s", again.values)
	}
}

// TestLinkStays replaces what a symbolic link leads to, and leaves permissions as they are.
func TestLinkStays(t *testing.T) {
	dir := t.TempDir()
	path, target := filepath.Join(dir, "settings.json"), filepath.Join(dir, "elsewhere", "mine.json")
	write(t, target, `{"theme":"light"}`)
	if err := errors.Join(os.Chmod(target, 0o644), os.Symlink(target, path)); err != nil {
		t.Skip(err)
	}
	// What lies beside the target is the user's.
	other := filepath.Join(filepath.Dir(target), "new-machine.sh")
	write(t, other, "mine")
	long := time.Now().Add(-24 * time.Hour)
	os.Chtimes(other, long, long)
	s := Open(path, "")
	s.SetString("theme", "dark")
	s.Flush()
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(path); err != nil || to != target {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if raw, _ := os.ReadFile(target); !bytes.Contains(raw, []byte(`"dark"`)) {
		t.Errorf("the target is %q", raw)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm()&0o777 != 0o644 {
		t.Errorf("permissions: %v, %v", info, err)
	}
}

// TestWithoutPath keeps nothing.
func TestWithoutPath(t *testing.T) {
	s := Open("", "")
	s.SetString("theme", "dark")
	s.Refresh()
	s.Flush()
	if s.String("theme") != "dark" {
		t.Error("not even in memory")
	}
}

// TestManyGoroutines changes, refreshes and writes at once, as -race sees it.
func TestManyGoroutines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	s := Open(path, "")
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range 10 {
				key := fmt.Sprint(g)
				s.SetInt(key, i)
				s.Refresh()
				if s.Int(key) != i {
					t.Errorf("%s is %d, not %d", key, s.Int(key), i)
				}
				s.Flush()
			}
		}()
	}
	wg.Wait()
	raw, _ := os.ReadFile(path)
	var values map[string]int
	if err := json.Unmarshal(raw, &values); err != nil || len(values) != 4 || values["3"] != 9 {
		t.Errorf("%s: %v", raw, err)
	}
}
