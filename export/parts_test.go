package export_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"logparser/export"
	"logparser/rows"
)

func format(t testing.TB, name string) export.Format {
	t.Helper()
	for _, f := range export.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no format %s", name)
	return export.Format{}
}

// names returns the names of the files in a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParts(t *testing.T) {
	l := program(rand.New(rand.NewPCG(5, 5)), 5000)
	for _, test := range []struct {
		format string
		split  export.Limits
		least  int
	}{
		{"chrome", export.Limits{Rows: 700}, 7},
		{"chrome", export.Limits{Bytes: 100_000}, 4},
		{"perfetto", export.Limits{Rows: 700}, 7},
		{"perfetto", export.Limits{Bytes: 50_000}, 3},
		{"speedscope", export.Limits{Rows: 700}, 7},
		{"speedscope", export.Limits{Bytes: 50_000}, 3},
		{"csv", export.Limits{Rows: 700}, 8},
		{"csv", export.Limits{Bytes: 100_000}, 4},
		{"html", export.Limits{Rows: 700}, 8},
		{"parquet", export.Limits{Rows: 700}, 8},
		{"txt", export.Limits{Rows: 2500}, 2},
		{"jsonl", export.Limits{Rows: 2500}, 2},
		{"folded", export.Limits{Rows: 700}, 1},
		{"callgrind", export.Limits{Rows: 700}, 1},
	} {
		t.Run(fmt.Sprint(test.format, test.split), func(t *testing.T) {
			dir := t.TempDir()
			f := format(t, test.format)
			path := filepath.Join(dir, "out."+f.Extension)
			paths, err := export.Save(context.Background(), path, f, l, export.Options{Split: test.split})
			if err != nil {
				t.Fatal(err)
			}
			if len(paths) < test.least || test.least == 1 && len(paths) > 1 || test.split.Rows > 0 && len(paths) > test.least+2 {
				t.Errorf("%d parts, want %d", len(paths), test.least)
			}
			var want []string
			for i := range paths {
				want = append(want, fmt.Sprintf("out.%03d.%s", i+1, f.Extension))
			}
			if len(paths) == 1 {
				want = []string{"out." + f.Extension}
			}
			if got := names(t, dir); !slices.Equal(got, want) {
				t.Errorf("files %v, want %v", got, want)
			}
			next := 0
			var begun int
			for _, p := range paths {
				text := read(t, p)
				switch test.format {
				case "chrome":
					calls, _ := readChrome(t, text)
					begun += len(calls) - bytes.Count(text, []byte(`"goes on from the part before"`))
				case "perfetto":
					calls, _ := readPerfetto(t, text)
					begun += len(calls) - bytes.Count(text, []byte("goes on from the part before"))
				case "speedscope":
					readSpeedscope(t, text)
				case "csv":
					if most := test.split.Bytes; most > 0 && int64(len(text)) > most {
						t.Errorf("%s has %d bytes, at most %d were asked for", p, len(text), most)
					}
					records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range records[1:] {
						if r[0] != fmt.Sprint(next) {
							t.Fatalf("%s: row %s, want %d", p, r[0], next)
						}
						next++
					}
				case "html":
					for _, m := range regexp.MustCompile(`<tr class="[a-z]+" data-d="\d+"><td>(\d+)</td>`).FindAllSubmatch(text, -1) {
						if string(m[1]) != fmt.Sprint(next) {
							t.Fatalf("%s: row %s, want %d", p, m[1], next)
						}
						next++
					}
				}
			}
			if (test.format == "csv" || test.format == "html") && next != len(l) {
				t.Errorf("%d rows, want %d", next, len(l))
			}
			if n := len(intervals(l)); begun > 0 && begun != n {
				t.Errorf("%d calls begin, want %d", begun, n)
			}
		})
	}
}

// TestPartsTogether checks that all parts together have the calls of the whole.
func TestPartsTogether(t *testing.T) {
	l := program(rand.New(rand.NewPCG(9, 9)), 3000)
	dir := t.TempDir()
	var total int64
	paths, err := export.Save(context.Background(), filepath.Join(dir, "a.json"), format(t, "chrome"), l, export.Options{Split: export.Limits{Rows: 500}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		calls, _ := readChrome(t, read(t, p))
		for _, c := range calls {
			total += c.end - c.start
		}
	}
	var want int64
	for _, c := range intervals(l) {
		want += c.end - c.start
	}
	if total != want || len(paths) < 6 {
		t.Errorf("%d ns in %d parts, want %d", total, len(paths), want)
	}
}

func TestPartsReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	l := program(rand.New(rand.NewPCG(5, 5)), 3000)
	save := func(rows int64) {
		t.Helper()
		if _, err := export.Save(context.Background(), path, format(t, "chrome"), l, export.Options{Split: export.Limits{Rows: rows}}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("out.json")
	save(1000)
	if got, want := names(t, dir), []string{"out.001.json", "out.002.json", "out.003.json"}; !slices.Equal(got[:3], want) || len(got) > 4 {
		t.Errorf("instead of one file there are %v", got)
	}
	save(400)
	more := len(names(t, dir))
	save(1000)
	if got := names(t, dir); more < 7 || len(got) > 4 {
		t.Errorf("of %d parts %v are left", more, got)
	}
	put("out.007.json")
	put("out.x.json")
	save(0)
	if got := names(t, dir); !slices.Contains(got, "out.json") || !slices.Contains(got, "out.007.json") || !slices.Contains(got, "out.x.json") {
		t.Errorf("a single file leaves %v", got)
	}
}

// TestPartsFail has a source that fails, a cancelled context, and a file that has the name of a part. Everything must stay as
// it was.
func TestPartsFail(t *testing.T) {
	l := program(rand.New(rand.NewPCG(5, 5)), 5000)
	for _, name := range []string{"chrome", "speedscope", "html", "parquet", "folded"} {
		f := format(t, name)
		for _, test := range []string{"source", "cancel", "in the way"} {
			dir := t.TempDir()
			path := filepath.Join(dir, "out."+f.Extension)
			if err := os.WriteFile(path, []byte("old"), 0o666); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var src rows.Source = l
			opt := export.Options{Split: export.Limits{Rows: 500}}
			kept := []string{filepath.Base(path)}
			switch test {
			case "source":
				src = broken{l}
			case "cancel":
				opt.Progress = func(int64, int64) { cancel() }
			case "in the way":
				kept = append([]string{"out.003." + f.Extension}, kept...)
				if name == "folded" { // it is never split
					continue
				}
				if err := os.Mkdir(filepath.Join(dir, kept[0]), 0o777); err != nil {
					t.Fatal(err)
				}
			}
			_, err := export.Save(ctx, path, f, src, opt)
			if err == nil || test == "cancel" != errors.Is(err, context.Canceled) || strings.Contains(err.Error(), ".tmp") {
				t.Errorf("%s, %s: %v", name, test, err)
			}
			if got := names(t, dir); !slices.Equal(got, kept) {
				t.Errorf("%s, %s: files %v, want %v", name, test, got, kept)
			}
			if string(read(t, path)) != "old" {
				t.Errorf("%s, %s: the old file has changed", name, test)
			}
		}
	}
}

var errBroken = errors.New("bad sector")

// The broken source fails at its last row.
type broken struct{ list }

func (b broken) Read(dst []rows.Row, from int64) (int, error) {
	n := copy(dst, b.list[from:len(b.list)-1])
	if n < len(dst) {
		return n, errBroken
	}
	return n, nil
}

// TestWriters has a writer that fails, and a source that fails.
func TestWriters(t *testing.T) {
	l := program(rand.New(rand.NewPCG(5, 5)), rows.BlockLen+1000)
	full := errors.New("no space left on device")
	for _, f := range export.Formats() {
		err := f.Write(context.Background(), writerFunc(func(p []byte) (int, error) { return 0, full }), l, export.Options{})
		if !errors.Is(err, full) {
			t.Errorf("%s: a full disk: %v", f.Name, err)
		}
		err = f.Write(context.Background(), io.Discard, broken{l}, export.Options{})
		if !errors.Is(err, errBroken) || err.Error() != fmt.Sprintf("reading row %d: bad sector", len(l)-1) {
			t.Errorf("%s: a broken source: %v", f.Name, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		err = f.Write(ctx, io.Discard, l, export.Options{Progress: func(done, total int64) { cancel() }})
		if done := len(l) <= rows.BlockLen; err == nil != done && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: cancelled: %v", f.Name, err)
		}
		if err := f.Write(context.Background(), io.Discard, list(nil), export.Options{}); err != nil {
			t.Errorf("%s: no rows: %v", f.Name, err)
		}
	}
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestFormatOf(t *testing.T) {
	for path, want := range map[string]string{
		"a.csv": "csv", "dir.csv/a.JSON": "chrome", "a.speedscope.json": "speedscope", "a.b.html": "html", "a.pftrace": "perfetto",
		"csv": "", "a.json5": "", "": "", ".folded": "folded", "a.parquet": "parquet", "a.callgrind": "callgrind",
	} {
		if f, ok := export.FormatOf(path); f.Name != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", path, f.Name, want)
		}
	}
}

// A save may replace the file itself, and the consecutive parts that an earlier save may have left.
func TestExisting(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.json", "a.001.json", "a.002.json", "a.004.json", "b.001.folded"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		path, format string
		want         []string
	}{
		{"a.json", "chrome", []string{"a.json", "a.001.json", "a.002.json"}},
		{"b.folded", "folded", nil},
		{"c.json", "chrome", nil},
	} {
		var got []string
		for _, path := range export.Existing(filepath.Join(dir, test.path), format(t, test.format)) {
			got = append(got, filepath.Base(path))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.path, got, test.want)
		}
	}
}

// TestPartsKept saves next to the parts of an earlier save, and next to a file that only has the name of a part.
func TestPartsKept(t *testing.T) {
	l := program(rand.New(rand.NewPCG(5, 5)), 3000)
	for _, test := range []struct {
		name  string
		there []string
		rows  int64
		keep  bool
		want  string // the files afterwards
		fails string
	}{
		{"parts over more parts", []string{"001", "002", "003", "004", "005"}, 1000, false, "out.001.csv out.002.csv out.003.csv", ""},
		{"parts over fewer", []string{"001"}, 1000, false, "out.001.csv out.002.csv out.003.csv", ""},
		{"one file over parts", []string{"001", "002"}, 5000, false, "out.csv", ""},
		{"an undivided file over parts", []string{"001", "002"}, export.NoLimit, false, "out.csv", ""},
		{"behind a gap", []string{"001", "005"}, 1000, false, "out.001.csv out.002.csv out.003.csv out.005.csv", ""},
		{"in a gap", []string{"002"}, 1000, false, "out.002.csv", "out.002.csv is in the way"},
		{"kept", []string{"001", "002"}, 1000, true, "out.001.csv out.002.csv", "parts of an earlier save are there, 2 of them from out.001.csv on"},
		{"kept by one file", []string{"001", "002"}, 5000, true, "out.001.csv out.002.csv", "parts of an earlier save are there"},
		{"kept by an undivided file", []string{"001", "002"}, export.NoLimit, true, "out.001.csv out.002.csv out.csv", ""},
		{"nothing to keep", nil, 1000, true, "out.001.csv out.002.csv out.003.csv", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, n := range test.there {
				if err := os.WriteFile(filepath.Join(dir, "out."+n+".csv"), []byte("old"), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			path := filepath.Join(dir, "out.csv")
			files, err := export.Save(context.Background(), path, format(t, "csv"), l, export.Options{Split: export.Limits{Rows: test.rows}, KeepParts: test.keep})
			if got := strings.Join(names(t, dir), " "); got != test.want {
				t.Errorf("there are %s, want %s", got, test.want)
			}
			if test.fails == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), test.fails) || (test.keep && err != nil) != errors.Is(err, export.ErrParts) {
				t.Errorf("%v, want %q", err, test.fails)
			}
			for _, f := range files {
				if string(read(t, f)) == "old" {
					t.Errorf("%s is the old one", f)
				}
			}
			if test.fails != "" {
				for _, n := range test.there {
					if string(read(t, filepath.Join(dir, "out."+n+".csv"))) != "old" {
						t.Errorf("part %s has changed", n)
					}
				}
			}
		})
	}
}
