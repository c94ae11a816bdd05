package classic

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"logparser/internal/testlog/classictest"
	"logparser/parser"
)

// TestOpenHead opens the beginnings of logs of both widths: events, modules and times are those of the whole log.
func TestOpenHead(t *testing.T) {
	for _, size := range []int{Size32, Size64} {
		path, modulesFile, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 20_000, RecordSize: size})
		if err != nil {
			t.Fatal(err)
		}
		for _, modules := range []string{"", modulesFile} {
			whole, err := Open(t.Context(), path, parser.Options{ModulesFile: modules}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Close()
			head, err := Format.OpenHead(t.Context(), path, parser.Options{ModulesFile: modules}, 1000)
			if err != nil || head == nil {
				t.Fatalf("%v, %v", head, err)
			}
			defer head.Close()
			n := head.Info().Records
			if n < 1000 || n > 4000 || head.Info().RecordSize != size {
				t.Fatalf("%d records of %d bytes", n, head.Info().RecordSize)
			}
			got, want := make([]parser.Event, n), make([]parser.Event, n)
			if _, err := head.ReadEvents(got, 0); err != nil {
				t.Fatal(err)
			}
			if _, err := whole.ReadEvents(want, 0); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d bytes a record: the events are not the first of the log", size)
			}
			if n := head.Modules(0).Len(); n != whole.Modules(0).Len() || (n > 0) != (modules != "") {
				t.Errorf("the head has %d modules", n)
			}
			if clock := head.Clock(0); clock != whole.Clock(0) || clock.HasWall != (modules != "") {
				t.Errorf("the head's clock is %+v, that of the log %+v", clock, whole.Clock(0))
			}
		}
	}
}

// TestOpenHeadNot has beginnings that are not shown: those of two runs, of damage, and of what is no log, whether these
// few records tell or only those behind them.
func TestOpenHeadNot(t *testing.T) {
	dir := t.TempDir()
	path, modulesFile, err := classictest.WriteFiles(dir, classictest.Spec{Records: 20_000, StartTick: 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	generate := func(s classictest.Spec) []byte {
		t.Helper()
		var b bytes.Buffer
		if err := classictest.Generate(&b, s); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	damaged := slices.Clone(data)
	damaged[len(data)/2/24*24+16] = 9 // neither an enter nor a leave
	later := generate(classictest.Spec{Records: 20_000, StartTick: 2_000_000, Seed: 2})
	var description bytes.Buffer
	if err := classictest.WriteModules(&description, classictest.Spec{StartTick: 2_000_000, Seed: 2}); err != nil {
		t.Fatal(err)
	}
	ofLater := write("later.bin", description.Bytes())
	for _, test := range []struct {
		name    string
		data    []byte
		modules string
		records int64
	}{
		{"two runs", append(slices.Clone(data), generate(classictest.Spec{Records: 20_000, StartTick: 1000, Seed: 2})...), "", 100_000},
		{"damage", damaged, "", 100_000},
		{"the second run behind what is opened", append(slices.Clone(data), generate(classictest.Spec{Records: 20_000, StartTick: 1000, Seed: 2})...), "", 1000},
		{"records of another size behind it", append(slices.Clone(data), generate(classictest.Spec{Records: 20_000, RecordSize: 16})...), "", 1000},
		{"zeros behind it", append(slices.Clone(data), make([]byte, len(data))...), "", 1000},
		{"a second run that rises, which the modules file describes", append(slices.Clone(data), later...), ofLater, 1000},
	} {
		p := write("log", test.data)
		if log, err := Format.OpenHead(t.Context(), p, parser.Options{ModulesFile: test.modules}, test.records); log != nil || err != nil {
			t.Errorf("%s: opened %t, %v", test.name, log != nil, err)
		}
	}
	if log, err := Format.OpenHead(t.Context(), path, parser.Options{ModulesFile: modulesFile}, 100_000); log == nil || err != nil {
		t.Errorf("a log that is shorter than what may be opened: %v", err)
	}
	if log, err := Format.OpenHead(t.Context(), filepath.Join(dir, "none"), parser.Options{}, 100); log != nil || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v, %v", log, err)
	}
	if log, err := Format.OpenHead(t.Context(), dir, parser.Options{}, 100); log != nil || !errors.Is(err, ErrFolder) {
		t.Errorf("a folder: %v, %v", log, err)
	}
}
