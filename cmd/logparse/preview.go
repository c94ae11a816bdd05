package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"logparser/app"
)

// showFirst prints first rows of a large log that was never opened, which are there long before
// it is. It returns their session and how many rows they are: none where no rows are known before, or where nobody
// waits for them because they go into a file.
func (f *inputFlags) showFirst(cmd *cobra.Command, log, format string) (first *app.Session, n int64, err error) {
	out := cmd.OutOrStdout()
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
			return nil, 0, nil
		}
	}
	in, err := f.inputs(cmd, log)
	if err != nil {
		return nil, 0, err
	}
	// What keeps the log from being opened is said when that fails.
	s, err := app.Preview(cmd.Context(), in)
	if s == nil || err != nil {
		return nil, 0, nil
	}
	if err = suits(cmd, s); err == nil {
		n, err = s.WriteFirst(cmd.Context(), out, format)
	}
	if err != nil || n == 0 {
		s.Close()
		return nil, 0, err
	}
	return s, n, nil
}

// contradicted is what stands behind first rows that are not those of the log.
const contradicted = `
The rows above were printed before all of the log was looked at, and are not its first rows, as it turned out:
it has other runs, damage, other times, modules or names. All of its rows follow.

`

// after returns how many rows need not be printed again after first rows of a log were, and says so where
// these were not right.
func after(cmd *cobra.Command, first *app.Session, n int64, s *app.Session) (int64, error) {
	if first == nil {
		return 0, nil
	}
	ok, err := s.BeginsWith(first)
	if ok || err != nil {
		return n, err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), contradicted)
	return 0, err
}
