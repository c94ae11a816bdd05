package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/app"
)

// TestTerminal prints every format on a terminal, those for programs, too, and
// saves them to it by its name.
func TestTerminal(t *testing.T) {
	_, trace, _, symbols := hostileFiles(t)
	for _, format := range app.SaveFormats() {
		for _, named := range []bool{false, true} {
			terminal, shown := openTerminal(t)
			args := []string{"save", trace, "--symbols", symbols, "--format", format, "-o", "-"}
			if named {
				args[len(args)-1] = terminal.Name()
			}
			done := make(chan string)
			go func() {
				text, _ := io.ReadAll(shown) // ends with an error where the other end is closed
				done <- string(text)
			}()
			code := run(context.Background(), args, strings.NewReader(""), terminal, terminal)
			terminal.Close()
			text := strings.ReplaceAll(<-done, "\r\n", "\n")
			if code != exitOK || len(text) < 200 {
				t.Errorf("%s: exit status %d: %q", format, code, text)
			}
			// Cells of tables for programs may hold ends of lines.
			if what, bad := unseen(strings.ReplaceAll(text, "\t", "")); bad && format != "csv" && format != "parquet" || strings.ContainsAny(text, "\x1b\x7f\u009b\u202e\a\b\x00") {
				t.Errorf("%s, named %v: the terminal gets %s", format, named, what)
			}
			shown.Close()
		}
	}
	if f, err := os.Open(os.DevNull); err == nil {
		defer f.Close()
		if out, _ := terminalOutput(f); out != f {
			t.Errorf("%s is taken for a terminal", filepath.Base(os.DevNull))
		}
	}
}
