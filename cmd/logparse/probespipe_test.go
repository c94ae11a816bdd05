package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// Lines that come through a pipe are shown while they come, and following ends with the pipe.
func TestFollowPipe(t *testing.T) {
	dir := filepath.Join("..", "..", "parser", "probes", "testdata")
	names, err := os.ReadFile(filepath.Join(dir, "names.lpnames"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "trace_pipe.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, follow := range []bool{false, true} {
		args := []string{"show", "-", "--format", "csv", "--no-recorded-paths"}
		if follow {
			args = append(args, "--follow")
		}
		var out, errs bytes.Buffer
		in := iotest.HalfReader(io.MultiReader(bytes.NewReader(names), bytes.NewReader(text)))
		if code := run(context.Background(), args, in, &out, &errs); code != exitOK {
			t.Fatal(code, errs.String())
		}
		if n := strings.Count(out.String(), "\n"); n != 37 || !strings.Contains(out.String(), "app::Shape::area(int, int)") || !strings.Contains(out.String(), `""child""`) {
			t.Errorf("follow %v: %d lines\n%s\n%s", follow, n, out.String(), errs.String())
		}
	}
	var out, errs bytes.Buffer
	if code := run(context.Background(), []string{"show", "--follow", "-"}, strings.NewReader("something else\n"), &out, &errs); code != exitUsage || !strings.Contains(errs.String(), "--follow - is for") {
		t.Error(code, errs.String())
	}
}
