package app

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"logparser/internal/testlog/tracetest"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/attached"
)

// TestPack packs a log with sources and opens it where nothing else is: rows, names and the source are the same.
func TestPack(t *testing.T) {
	dir, sources := copyDir(t, linuxFolder), t.TempDir()
	s := open(t, Inputs{Log: dir, NoRecordedPaths: true})
	var recorded string
	for i := range s.Rows().Len() {
		if r := s.Rows().Row(i); r.Source != "" {
			recorded = r.Source
			break
		}
	}
	const text = "int main() {}\n"
	writeFile(t, filepath.Join(sources, filepath.Base(recorded)), []byte(text))
	mappings := []SourceMapping{{From: filepath.Dir(recorded), To: sources}}
	pack := filepath.Join(t.TempDir(), "one.lppack")
	stages := make(map[Stage]bool)
	report, err := s.Pack(t.Context(), pack, PackOptions{Sources: true, Mappings: mappings}, func(stage Stage, _, _ int64) { stages[stage] = true })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(report.NoSources, func(path string) bool { return path != recorded }) || slices.Contains(report.NoSources, recorded) || !slices.IsSorted(report.NoSources) {
		t.Errorf("sources that are not there: %q", report.NoSources)
	}
	if info, err := os.Stat(pack); err != nil || info.Size() != report.Bytes || report.Modules != 2 || !stages[StageEncode] || !stages[StageSave] {
		t.Errorf("%+v, stages %v, %v", report, stages, err)
	}
	want := saved(t, s)
	packed := open(t, Inputs{Log: pack, NoRecordedPaths: true})
	if got := saved(t, packed); got != want {
		t.Error("the packed log has other rows")
	}
	for _, m := range packed.Modules() {
		if (m.Name == "logtest" || m.Name == "liblogtest_shapes.so") && m.Status != symbols.Embedded {
			t.Errorf("%s is %s: %s", m.Name, m.Status, m.Reason)
		}
	}
	path, err := packed.SourceFile(recorded, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("the source is %q, %v", b, err)
	}
	if _, err := packed.SourceFile(report.NoSources[0], nil); err == nil {
		t.Errorf("%s is there", report.NoSources[0])
	}
	if in := packed.Inputs(); in.LogNames() != "LogDetails.dat" {
		t.Errorf("it has the logs %s", in.LogNames())
	}
	// What a program that is ended leaves behind is removed.
	removeUnpacked()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was unpacked is still there: %v", err)
	}
	if head := readFile(t, pack); !IsContainer(head) || IsContainer([]byte(text)) {
		t.Error("a pack is not known by its beginning")
	}
	other := filepath.Join(dir, "LogDetails.dat")
	if !HoldsOther(other, PackFormat) || HoldsOther(pack, PackFormat) || !HoldsOther(pack, KeptFormat) || HoldsOther(filepath.Join(dir, "none"), PackFormat) {
		t.Error("it is not told what a pack would replace")
	}
}

// container writes files into a container.
func container(t *testing.T, files ...attached.File) string {
	t.Helper()
	spool, err := attached.NewSpool()
	if err != nil {
		t.Fatal(err)
	}
	defer spool.Close()
	var parts []attached.Part
	for _, f := range files {
		part, err := spool.Add(t.Context(), bytes.NewReader(tracetest.Crashed(nil)), int64(len(tracetest.Crashed(nil))), f, func(int64) {})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	var out bytes.Buffer
	if err := attached.Write(&out, parts); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hostile.lppack")
	writeFile(t, path, out.Bytes())
	return path
}

// TestPackRefused packs what must not be packed, and opens what is no packed log.
func TestPackRefused(t *testing.T) {
	crashed := crashedTrace(t, tracetest.Smashed())
	s := open(t, Inputs{Log: crashed})
	pack := filepath.Join(t.TempDir(), "one.lppack")
	if _, err := s.Pack(t.Context(), pack, PackOptions{}, nil); !errors.Is(err, ErrCrashRecord) {
		t.Errorf("the memory of a program is packed unasked: %v", err)
	}
	if _, err := s.Pack(t.Context(), crashed, PackOptions{Crash: true}, nil); !errors.Is(err, ErrIsInput) {
		t.Errorf("over the log itself: %v", err)
	}
	if _, err := s.Keep(t.Context(), "", nil); !errors.Is(err, ErrNothingToKeep) {
		t.Errorf("symbols of nothing are kept: %v", err)
	}
	if _, err := s.Pack(cancelledContext(t), pack, PackOptions{Crash: true}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := os.Stat(pack); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
	if _, err := s.Pack(t.Context(), pack, PackOptions{Crash: true}, nil); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(t.TempDir(), "outer.lppack")
	again := container(t, attached.File{Name: "a.lptrace", Role: attached.RoleLog})
	data := readFile(t, again)
	cut := filepath.Join(t.TempDir(), "cut.lppack")
	writeFile(t, cut, data[:len(data)/2])
	kept := copyDir(t, linuxFolder)
	if _, err := open(t, Inputs{Log: kept, NoRecordedPaths: true}).Keep(t.Context(), inner, nil); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		in   Inputs
		want error
	}{
		{Inputs{Log: pack, Modules: filepath.Join(kept, "LogDetails.bin")}, ErrPackAlone},
		{Inputs{Log: pack, Others: []string{crashed}}, ErrPackAlone},
		{Inputs{Log: inner}, ErrNotPack},
		{Inputs{Log: cut}, attached.ErrFormat},
		{Inputs{Log: container(t, attached.File{Name: "x", Role: attached.RoleModules})}, ErrNotPack},
	} {
		s, err := Open(t.Context(), test.in, nil)
		var input *InputError
		if !errors.Is(err, test.want) || !errors.As(err, &input) {
			t.Errorf("%+v: %v, want %v", test.in, err, test.want)
		}
		if s != nil {
			s.Close()
		}
	}
}

// TestPackedNames: whatever names the files of a pack have, they are unpacked into one folder, and those that are not known are left.
func TestPackedNames(t *testing.T) {
	for _, name := range []string{`..\..\evil.lptrace`, "/etc/passwd", "..", "con:<>|?*.lptrace", "a\nb", strings.Repeat("x", 300), "ends. . ."} {
		path := container(t, attached.File{Name: name, Role: attached.RoleLog}, attached.File{Name: name, Role: "later"}, attached.File{Name: name, Role: attached.RoleSource})
		s := open(t, Inputs{Log: path, NoRecordedPaths: true})
		files := s.files()
		if n := s.Rows().Len(); n != 4 || len(files.logs) != 1 {
			t.Errorf("%q: %d rows of %v", name, n, files.logs)
		}
		folder := s.Inputs().packed.folder
		for _, file := range []string{files.logs[0], s.Inputs().packed.sources[name]} {
			base := filepath.Base(file)
			if rel, err := filepath.Rel(folder, file); err != nil || !filepath.IsLocal(rel) || strings.ContainsAny(base, "<>:\"|?*\n\\") || len(base) > 200 || strings.HasSuffix(base, ".") {
				t.Errorf("%q is unpacked to %q", name, file)
			}
		}
		if r := s.Rows().Row(0); r.Event != rows.Enter {
			t.Errorf("%q: %+v", name, r)
		}
	}
}
