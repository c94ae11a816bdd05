package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"logparser/internal/testlog/classictest"
	"logparser/internal/testlog/tracetest"
	"logparser/rows"
)

// previewAll has all logs previewed.
func previewAll(t *testing.T) {
	old := leastPreviewed
	leastPreviewed = 1
	t.Cleanup(func() { leastPreviewed = old })
}

// holdPreview holds that the rows of a preview are those of the log, and returns how many there
// are and of how many the end is not known; none for no preview.
func holdPreview(t *testing.T, in Inputs, same func(got, want *rows.Row) bool) (n, certain, pending int64) {
	t.Helper()
	in.NoIndexCache, in.NoRecordedPaths = true, true
	p, err := Preview(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		return 0, 0, 0
	}
	defer p.Close()
	if err := p.Load(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	s, err := Open(context.Background(), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Load(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if p.Certain() > 0 && p.OwnModules() {
		holdWritten(t, p, s)
	}
	n = p.Rows().Len()
	got, want := make([]rows.Row, n), make([]rows.Row, n)
	if _, err := p.Rows().Read(got, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Rows().Read(want, 0); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if got[i].Pending {
			pending++
			if int64(i) < p.Certain() {
				t.Fatalf("row %d of %d certain ones: its end is not known", i, p.Certain())
			}
			// All else is known.
			w := &want[i]
			w.Duration, w.Note, w.Bound, w.Unclosed, w.Pending = got[i].Duration, got[i].Note, got[i].Bound, got[i].Unclosed, true
		}
		if !same(&got[i], &want[i]) {
			t.Fatalf("row %d of %d:\n%+v\nof the whole log\n%+v", i, n, got[i], want[i])
		}
	}
	return n, p.Certain(), pending
}

// holdWritten holds that the certain rows of a preview and the others of the log are written as
// all rows of the log.
func holdWritten(t *testing.T, p, s *Session) {
	t.Helper()
	for _, format := range LiveFormats() {
		var parts, whole bytes.Buffer
		if n, err := p.WriteFirst(context.Background(), &parts, format); n != p.Certain() || err != nil {
			t.Fatalf("%d rows of %d, %v", n, p.Certain(), err)
		}
		if err := s.Write(context.Background(), &parts, format, SaveOptions{From: p.Certain(), NoHead: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(context.Background(), &whole, format, SaveOptions{}, nil); err != nil {
			t.Fatal(err)
		}
		got, want := parts.String(), whole.String()
		if format == "txt" {
			// How many rows there are is not known yet, nor all that is noted.
			if !strings.Contains(got, "\nRows:     \u2026\n") {
				t.Fatalf("the head is %q", got[:min(len(got), 300)])
			}
			_, got, _ = strings.Cut(got, "\n----")
			_, want, _ = strings.Cut(want, "\n----")
		}
		if got != want {
			t.Fatalf("as %s first rows and the others are not those of the log", format)
		}
	}
}

// TestPreviewTrace previews runs of random programs, some of which were killed or lost events.
func TestPreviewTrace(t *testing.T) {
	previewAll(t)
	log := filepath.Join(t.TempDir(), "a.lptrace")
	logs, previews, found := uint64(24), uint64(0), int64(0)
	if testing.Short() {
		logs = 2
	}
	for seed := range logs {
		f, err := os.Create(log)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(seed, 1))
		p := tracetest.Random(r)
		p.Events = 30_000 + r.IntN(60_000)
		w := tracetest.NewWriter(f)
		w.ChunkSize = 4096 << r.IntN(4)
		p.Write(r, w)
		end := w.Close
		if seed%4 == 0 {
			end = w.Sync
		}
		if err := errors.Join(end(), f.Close()); err != nil {
			t.Fatal(err)
		}
		n, certain, pending := holdPreview(t, Inputs{Log: log}, func(got, want *rows.Row) bool { return reflect.DeepEqual(got, want) })
		if n > 0 && certain > 0 {
			previews++
		}
		found += certain
		if testing.Verbose() {
			fmt.Println(seed, p.Threads, n, certain, pending)
		}
	}
	if previews < logs/6 || found == 0 {
		t.Errorf("%d logs have previews, of %d certain rows", previews, found)
	}
}

// TestPreviewClassic previews classic logs: their rows are those of the log, names, modules and times of day
// included.
func TestPreviewClassic(t *testing.T) {
	previewAll(t)
	for _, size := range []int{16, 24} {
		log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 60_000, RecordSize: size})
		if err != nil {
			t.Fatal(err)
		}
		n, _, pending := holdPreview(t, Inputs{Log: log}, func(got, want *rows.Row) bool {
			return want.Module != "" && want.HasWall && reflect.DeepEqual(got, want)
		})
		if n < 1000 || pending == 0 {
			t.Errorf("%d bytes a record: %d rows, %d of an unknown end", size, n, pending)
		}
	}
}

// TestPreviewTold previews a classic log of which the user tells when it began, and what the columns of its modules
// file are: the file itself says something else, and leaves the columns open.
func TestPreviewTold(t *testing.T) {
	previewAll(t)
	spec := classictest.Spec{Records: 60_000, RecordSize: 16, StartTick: 100_000_000}
	log, modulesFile, err := classictest.WriteFiles(t.TempDir(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(modulesFile, []byte("2026-11-21T11:22:33.456\n100000000\n0x10000000 0x00400000 a.exe\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	tick := spec.StartTick - 1000
	in := Inputs{Log: log, StartTime: "2020-01-01T00:00:00", StartTick: &tick, ModulesColumns: "size:hex,base:hex,name"}
	n, _, _ := holdPreview(t, in, func(got, want *rows.Row) bool {
		began := want.Wall.Add(-time.Duration(want.Elapsed)).Format("2006-01-02T15:04:05.000")
		return want.Module == "a.exe" && began == "2020-01-01T00:00:01.000" && reflect.DeepEqual(got, want)
	})
	if n < 1000 {
		t.Errorf("%d rows", n)
	}
	in.ModulesColumns = "x"
	var input *InputError
	if p, err := Preview(t.Context(), in); p != nil || !errors.As(err, &input) || input.Input != ModulesInput {
		t.Errorf("unknown columns: %v", err)
	}
}

// TestPreviewClassicWritten holds what is written of first rows of a classic log against all of them: lines differ
// where the end of a call is not known, and there is nothing for programs.
func TestPreviewClassicWritten(t *testing.T) {
	previewAll(t)
	log, _, err := classictest.WriteFiles(t.TempDir(), classictest.Spec{Records: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	p, s := previewOf(t, log), open(t, Inputs{Log: log, NoIndexCache: true})
	for _, format := range []string{"csv", "jsonl"} {
		var text bytes.Buffer
		if n, err := p.WriteFirst(t.Context(), &text, format); n > 0 || text.Len() > 0 || err != nil {
			t.Errorf("%s: %d rows, %d bytes, %v", format, n, text.Len(), err)
		}
	}
	var first, whole bytes.Buffer
	n, err := p.WriteFirst(t.Context(), &first, "txt")
	if err != nil || n == 0 {
		t.Fatalf("%d rows, %v", n, err)
	}
	if err := s.Write(t.Context(), &whole, "txt", SaveOptions{}, nil); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(first.String(), "\n----")
	_, want, _ := strings.Cut(whole.String(), "\n----")
	unknown, lines := int64(0), strings.Split(want, "\n")
	for i, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n") {
		if before, behind, found := strings.Cut(line, "\u2026"); found {
			unknown++
			if !strings.HasPrefix(lines[i], before[:40]) || !strings.Contains(lines[i], strings.Fields(behind)[1]) {
				t.Fatalf("line %d:\n%s\nof the whole log\n%s", i, line, lines[i])
			}
		} else if line != lines[i] {
			t.Fatalf("line %d:\n%s\nof the whole log\n%s", i, line, lines[i])
		}
	}
	if unknown == 0 || unknown > 200 {
		t.Errorf("of %d rows the end is not known", unknown)
	}
	if ok, err := s.BeginsWith(p); !ok || err != nil {
		t.Errorf("the log is said to begin with other rows, %v", err)
	}
}

// TestPreviewContradicted has a second run that no sample shows: the first rows are not those of the log.
func TestPreviewContradicted(t *testing.T) {
	previewAll(t)
	var data bytes.Buffer
	for _, s := range []classictest.Spec{
		{Records: 100_000, StartTick: 1_000_000},
		{Records: 100, StartTick: 900_000, Seed: 2},
		{Records: 2_000, StartTick: 1_020_000, Seed: 3},
	} {
		if err := classictest.Generate(&data, s); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(t.TempDir(), "LogDetails.dat")
	if err := os.WriteFile(log, data.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p, s := previewOf(t, log), open(t, Inputs{Log: log, NoIndexCache: true})
	if s.Rows().Len() != 2_100 {
		t.Fatalf("the last run has %d rows", s.Rows().Len())
	}
	if n, err := p.WriteFirst(t.Context(), io.Discard, "txt"); n == 0 || err != nil {
		t.Fatalf("%d rows, %v", n, err)
	}
	if ok, err := s.BeginsWith(p); ok || err != nil {
		t.Errorf("the log is said to begin with the rows of another run, %v", err)
	}
}

// previewOf returns the session of a log's first rows.
func previewOf(t *testing.T, log string) *Session {
	t.Helper()
	p, err := Preview(t.Context(), Inputs{Log: log, NoIndexCache: true})
	if err != nil || p == nil {
		t.Fatalf("no preview, %v", err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}
