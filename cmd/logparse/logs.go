package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// standardInput stands for a log that is read from the standard input, and is the
// name of the file in which it is kept meanwhile.
const (
	standardInput = "-"
	spooledName   = "standard input"
)

// logs returns the logs that the arguments of a command name: files and folders as
// they are, but a folder with several logs becomes the one that was asked for, or all of
// them where they were recorded together, and the standard input a file. With --newest it is one.
func (f *inputFlags) logs(cmd *cobra.Command, args []string) ([]string, error) {
	var list []string
	for _, arg := range args {
		log := arg
		var several *app.SeveralLogs
		if arg == standardInput {
			if len(args) > 1 {
				return nil, misused("-, the standard input, is the only log where it is given")
			}
			keep := spool
			if f.live {
				keep = spoolLive
			}
			path, err := keep(cmd.Context(), cmd.InOrStdin())
			if err != nil {
				return nil, err
			}
			f.NoIndexCache = true
			return []string{path}, nil
		}
		if info, err := os.Stat(arg); err == nil && info.IsDir() {
			_, _, err := app.FindPair(arg)
			if errors.As(err, &several) && several.Together && !f.newest {
				list = append(list, several.Logs...)
				continue
			}
			if errors.As(err, &several) {
				if log, err = f.choose(cmd, arg, several.Logs, err); err != nil {
					return nil, err
				}
			}
		}
		list = append(list, log)
	}
	if f.newest {
		list = app.LatestFirst(list)[:1]
	}
	return list, nil
}

// choose returns the one of several logs of a folder that the user wants. Where
// nobody can be asked that is an error.
func (f *inputFlags) choose(cmd *cobra.Command, dir string, logs []string, several error) (string, error) {
	if f.newest {
		return logs[0], nil
	}
	if !asks(cmd) {
		return "", hinted{several, "give one of them, or take the one that was written last with --newest"}
	}
	errs := cmd.ErrOrStderr()
	fmt.Fprintf(errs, "logparse: %d logs in %s, the latest first:\n", len(logs), rows.Visible(dir))
	for i, log := range logs {
		when := ""
		if info, err := os.Stat(log); err == nil {
			when = info.ModTime().Format("2006-01-02 15:04:05")
		}
		fmt.Fprintf(errs, "%4d  %-19s  %s\n", i+1, when, rows.Visible(filepath.Base(log)))
	}
	answer, err := askLine(cmd, fmt.Sprintf("which one? [1-%d]", len(logs)))
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(answer)
	if err != nil || n < 1 || n > len(logs) {
		return "", fmt.Errorf("%q is no number from 1 to %d; no log was read", answer, len(logs))
	}
	return logs[n-1], nil
}

// spooled is the path of the file that the standard input is kept in, nil for none. Messages name
// what the user gave instead.
var spooled atomic.Pointer[string]

// createSpooled creates the file that the standard input is kept in, in a folder of its own, which
// is removed when the command ends.
func createSpooled() (*os.File, error) {
	dir, err := app.TemporaryFolder("logparse-input")
	if err != nil {
		return nil, fmt.Errorf("the standard input cannot be kept: %w", err)
	}
	removeAtEnd(dir)
	path := filepath.Join(dir, spooledName)
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("the standard input cannot be kept: %w", err)
	}
	spooled.Store(&path)
	return file, nil
}

// spool copies the standard input into a file, which is removed when the command
// ends.
func spool(ctx context.Context, in io.Reader) (path string, err error) {
	if file, ok := in.(*os.File); ok && isTerminal(file) {
		return "", errors.New("the standard input is a terminal: give it a log, such as: logparse show - < LOG")
	}
	file, err := createSpooled()
	if err != nil {
		return "", err
	}
	path = file.Name()
	copied := make(chan error, 1)
	go func() {
		out := bufio.NewWriterSize(file, 1<<20)
		_, err := io.Copy(out, in)
		copied <- errors.Join(err, out.Flush(), file.Close())
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		// Who waits in vain for the input is not waited for. Not every system
		// removes a file that is open.
		file.Close()
		return "", ctx.Err()
	}
	if err != nil {
		return "", fmt.Errorf("the standard input cannot be kept in %s: %w; TMPDIR names another folder", filepath.Dir(filepath.Dir(path)), err)
	}
	// All of it is there: who asks whether a last line without a line feed may still grow sees that
	// nothing was written for long.
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, long, long); err != nil {
		return "", err
	}
	return path, nil
}

// spoolLive is spool for a text that is shown while it comes: it returns when its first lines are
// there, and goes on copying.
func spoolLive(ctx context.Context, in io.Reader) (path string, err error) {
	file, err := createSpooled()
	if err != nil {
		return "", err
	}
	begun := make(chan error, 1)
	go copyLive(file, in, begun)
	select {
	case err = <-begun:
		return file.Name(), err
	case <-ctx.Done():
		// As in spool. The copying ends with what comes next.
		file.Close()
		return "", ctx.Err()
	}
}

// copyLive copies a text that is shown while it comes into a file. begun is told when its first
// lines are there, or why they will not be.
func copyLive(file *os.File, in io.Reader, begun chan<- error) {
	defer file.Close()
	buf := make([]byte, 64<<10)
	n := 0
	for !app.IsLiveText(buf[:n]) {
		m, err := in.Read(buf[n:])
		if n += m; err != nil || n == len(buf) && !app.IsLiveText(buf) {
			begun <- misused("--follow - is for what perf script, trace_pipe and bpftrace print of probes, and this is something else")
			return
		}
	}
	if _, err := file.Write(buf[:n]); err != nil {
		begun <- fmt.Errorf("the standard input cannot be kept: %w", err)
		return
	}
	begun <- nil
	for {
		n, err := in.Read(buf)
		if _, failed := file.Write(buf[:n]); failed != nil {
			return
		}
		if err != nil {
			// Nothing more will come.
			_, _ = file.WriteString("\n" + app.EndOfLiveText + "\n")
			return
		}
	}
}

// together reports whether several logs are one session: those of processes that ran beside
// each other.
func together(logs []string) bool {
	return len(logs) > 1 && !slices.ContainsFunc(logs, func(log string) bool { return !app.Mergeable(log) })
}

// logArguments is the check of verbs that take one log, several traces as one session,
// or with --newest the latest of several.
func logArguments(cmd *cobra.Command, args []string) error {
	newest, err := cmd.Flags().GetBool("newest")
	if len(args) == 1 || len(args) > 1 && err == nil && newest || together(args) {
		return nil
	}
	if len(args) > 1 {
		return fmt.Errorf("%s takes one LOG or several traces, not %d logs; of several --newest takes the one that was written last, and show prints all", cmd.Name(), len(args))
	}
	return oneLog(cmd, args)
}

// severalLogs is the check of verbs that take one log after another.
func severalLogs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("%s takes one LOG or more, not 0", cmd.Name())
	}
	return nil
}

// each calls show for logs, of several with a title each, and goes on after one
// that cannot be read.
func each(cmd *cobra.Command, logs []string, show func(log string) error) error {
	if len(logs) == 1 {
		return show(logs[0])
	}
	failed := 0
	for i, log := range logs {
		blank := "\n"
		if i == 0 {
			blank = ""
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s==> %s <==\n", blank, rows.Visible(log)); err != nil {
			return err
		}
		err := show(log)
		var known *app.InputError
		if err == nil {
			continue
		}
		if !errors.As(err, &known) {
			return err
		}
		failed++
		fmt.Fprintln(cmd.ErrOrStderr(), "logparse:", strings.TrimSpace(rows.Visible(hint(err).Error())))
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d logs could not be read", failed, len(logs))
	}
	return nil
}
