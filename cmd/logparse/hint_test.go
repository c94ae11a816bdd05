package main

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"logparser/app"
	"logparser/message"
	"logparser/modules"
)

// TestHint asks what to do next about errors as the packages below make them.
func TestHint(t *testing.T) {
	columns, err := modules.ParseColumns("base,size,name")
	if err != nil {
		t.Fatal(err)
	}
	wrong := func(input app.Input, path string, err error) error {
		return &app.InputError{Input: input, Path: path, Err: err}
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{wrong(app.LogInput, "a.bin", app.ErrModulesFile), "a.bin: this is a modules file, and its log is not beside it; give the log as well, with --modules for this file"},
		{wrong(app.LogInput, "x", message.InFile("x", message.Errorf("%w: all of its %d bytes are zero", app.ErrNotLog, 48))),
			"x: this does not look like an enter/leave log: all of its 48 bytes are zero; if it is one, say its record size with --record 16 or --record 24"},
		{wrong(app.OtherInput, "run 7", message.Wrap(app.ErrNoRun, "there is no such run; the log has %d", 3)), "run 7: there is no such run; the log has 3; give a number from 1 or all"},
		{wrong(app.LogInput, "dir", &app.SeveralLogs{Logs: []string{"a.dat", "b.dat"}}), "dir: 2 logs in this folder (a.dat, b.dat, ...); give one of them"},
		{wrong(app.LogInput, "x.dat", fs.ErrNotExist), "x.dat: file does not exist; give the path of a log, of its modules file or of their folder"},
		{wrong(app.OtherInput, "x.dat", fs.ErrNotExist), "x.dat: file does not exist"},
		{wrong(app.ModulesInput, "x.bin", modules.ErrNoModules), "x.bin: it is not a modules file; give the right modules file with --modules"},
		{wrong(app.ModulesInput, "x.bin", modules.ErrEncoding), "x.bin: unknown encoding"},
		{wrong(app.ModulesInput, "x.bin", &modules.AmbiguousError{Columns: []modules.Columns{columns}}),
			"x.bin: its columns can be read in several ways: base,size,name; say which with --modules-columns, such as --modules-columns base,size,name"},
		{app.CheckCorrected("chrome"), "chrome: this format has the times that were recorded, no corrected durations; leave out --corrected, or take one of txt, csv, jsonl, html, parquet"},
		{usageError{app.CheckCorrected("speedscope")}, "speedscope: this format has the times that were recorded, no corrected durations; leave out --corrected, or take one of txt, csv, jsonl, html, parquet"},
		{hinted{app.ErrNoLog, "look elsewhere"}, app.ErrNoLog.Error() + "; look elsewhere"},
		{fmt.Errorf("saving: %w", app.ErrIsInput), "saving: it is one of the files that are being read; save under another name"},
		{errors.New("something else"), "something else"},
	} {
		got := hint(tt.err)
		if got.Error() != tt.want {
			t.Errorf("%q\nwant %q", got, tt.want)
		}
		if !errors.Is(got, tt.err) {
			t.Errorf("%q does not wrap %q", got, tt.err)
		}
		if again := hint(got); again.Error() != got.Error() {
			t.Errorf("a second time %q", again)
		}
	}
	if hint(nil) != nil {
		t.Error("no error became one")
	}
}

// TestSayErrorOnce: an error that wraps two in a sentence of its own is one message.
func TestSayErrorOnce(t *testing.T) {
	var b lineWriter
	sayError(&b, errors.Join(message.Errorf("%w, and cannot be removed: %w", fs.ErrInvalid, fs.ErrPermission), errors.New("another")))
	want := []string{"logparse: invalid argument, and cannot be removed: permission denied\n", "logparse: another\n"}
	if fmt.Sprint(b) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", b, want)
	}
}

// A lineWriter keeps what is written, each time by itself.
type lineWriter []string

func (w *lineWriter) Write(p []byte) (int, error) {
	*w = append(*w, string(p))
	return len(p), nil
}
