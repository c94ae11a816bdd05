package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// replaceFlags say what of what is there may be replaced without asking.
type replaceFlags struct{ force bool }

func (f *replaceFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.force, "force", false, "replace what is there without asking, also a file of another kind")
}

// mayReplace settles, before any work is done, whether the files that are there
// may be replaced by one of a format: the target itself, and the parts of an older
// save. On a terminal it asks as the window does, and says so; wanted says that the
// user wants an older save of this format to be replaced. Elsewhere only a file that
// was saved in that format is replaced without --force.
func (f *replaceFlags) mayReplace(cmd *cobra.Command, there []string, format string, wanted bool) (asked bool, err error) {
	there = slices.DeleteFunc(there, func(path string) bool {
		info, err := os.Stat(path)
		return path == "/dev/stdout" || path == "/dev/stderr" || err == nil && !info.Mode().IsRegular()
	})
	if len(there) == 0 || f.force {
		return false, nil
	}
	other := slices.IndexFunc(there, func(path string) bool { return app.HoldsOther(path, format) })
	if wanted && other < 0 {
		return false, nil
	}
	if !asks(cmd) {
		if other < 0 {
			return false, nil
		}
		return false, fmt.Errorf("%s is no %s file that logparse has saved; save under another name, or replace it with --force", rows.Visible(there[other]), format)
	}
	question := fmt.Sprintf("%s exists. Replace it?", there[0])
	if len(there) > 1 {
		question = fmt.Sprintf("%s exists, and so do others up to %s: %d files of an older save. Replace them?", there[0], filepath.Base(there[len(there)-1]), len(there))
	}
	if other >= 0 {
		question = fmt.Sprintf("%s is no %s file that logparse has saved! %s", there[other], format, question)
	}
	yes, err := ask(cmd, question)
	if err == nil && !yes {
		err = errors.New("nothing was saved, and nothing replaced")
	}
	return true, err
}

// asks reports whether somebody sits at a terminal who can be asked something.
func asks(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	shown := cmd.ErrOrStderr()
	if m, ok := shown.(*messages); ok {
		shown = m.w
	}
	errs, ok2 := shown.(*os.File)
	return ok && ok2 && isTerminal(in) && isTerminal(errs)
}

// ask asks a question that yes or no answers; no is what anything but yes means.
func ask(cmd *cobra.Command, question string) (bool, error) {
	text, err := askLine(cmd, question+" [y/N]")
	text = strings.ToLower(text)
	return text == "y" || text == "yes", err
}

// askLine asks a question and returns the answer, without blanks around it.
func askLine(cmd *cobra.Command, question string) (string, error) {
	fmt.Fprintf(cmd.ErrOrStderr(), "logparse: %s ", rows.Visible(question))
	answer := make(chan string, 1)
	in := cmd.InOrStdin()
	go func() {
		// Byte by byte: what follows the line is not ours.
		var line []byte
		for b := make([]byte, 1); ; {
			n, err := in.Read(b)
			if n == 0 && err != nil || n == 1 && b[0] == '\n' {
				answer <- string(line)
				return
			}
			if line = append(line, b[:n]...); len(line) > 100 {
				answer <- ""
				return
			}
		}
	}()
	select {
	case text := <-answer:
		return strings.TrimSpace(text), nil
	case <-cmd.Context().Done():
		fmt.Fprintln(cmd.ErrOrStderr())
		return "", context.Canceled
	}
}

// manyFiles is how many files a save makes at most without a question; tests have
// fewer.
var manyFiles int64 = 50

// mayWriteMany settles whether so many rows may become more files than somebody
// expects who gave no limits for them.
func (f *replaceFlags) mayWriteMany(cmd *cobra.Command, target, format string, rows int64, split app.SaveLimits) error {
	limits, _ := app.SaveLimitsOf(format)
	info, err := os.Stat(target)
	if f.force || split != (app.SaveLimits{}) || limits.Rows <= 0 || target == "-" || err == nil && !info.Mode().IsRegular() {
		return nil
	}
	files := (rows + limits.Rows - 1) / limits.Rows
	if files <= manyFiles {
		return nil
	}
	what := fmt.Sprintf("%d rows make %d files of %s, of %d rows each", rows, files, format, limits.Rows)
	if asks(cmd) {
		yes, err := ask(cmd, what+". Write them?")
		if err == nil && !yes {
			err = errors.New("nothing was saved")
		}
		return err
	}
	return fmt.Errorf("%s; choose rows with --where, another format, --split-rows N for larger files (-1 for one), or write them with --force", what)
}
