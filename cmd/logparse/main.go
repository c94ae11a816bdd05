// Command logparse reads binary enter/leave logs without a window: it shows and
// saves them, sums them up, says what symbols there are, names addresses and texts
// with addresses, and hands out the recorder.
//
// It needs neither a C compiler nor a display. Run "logparse help" for its
// verbs.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := limitMemory(); err != nil {
		fmt.Fprintln(os.Stderr, "logparse:", err)
		os.Exit(exitError)
	}
	collectLate()
	calledAs = os.Args[0]
	ctx := interruptible(context.Background())
	code := run(ctx, arguments(os.Args), os.Stdin, os.Stdout, os.Stderr)
	if s := endSignal.Load(); s != 0 {
		endBy(int(s))
	}
	os.Exit(code)
}

// calledAs is by which path the command was called, for lines that people are told to run.
var calledAs = "logparse"

// toRun is a line of the command that can be run as it stands, by the path that it was called by.
func toRun(verb string, args ...string) string {
	line := quoted(calledAs) + " " + verb
	for _, a := range args {
		line += " " + quoted(a)
	}
	return line
}

// arguments returns the command's arguments. A copy of the program, or a link to it, that is
// called appendmap or deletemap is that command.
func arguments(args []string) []string {
	name := strings.ToLower(filepath.Base(args[0]))
	if name = strings.TrimSuffix(name, ".exe"); name == "appendmap" || name == "deletemap" {
		return append([]string{name}, args[1:]...)
	}
	return args[1:]
}
