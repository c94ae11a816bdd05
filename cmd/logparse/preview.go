package main

import (
	"os"

	"github.com/spf13/cobra"

	"logparser/app"
)

// showFirst prints first rows of a large trace that was never opened, which are there long before
// it is, and returns how many: 0 where none are known before, or where nobody waits for them
// because they go into a file.
func (f *inputFlags) showFirst(cmd *cobra.Command, log, format string) (n int64, err error) {
	out := cmd.OutOrStdout()
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err != nil || info.Mode().IsRegular() {
			return 0, nil
		}
	}
	in, err := f.inputs(cmd, log)
	if err != nil {
		return 0, err
	}
	// What keeps the log from being opened is said when that fails.
	s, err := app.Preview(cmd.Context(), in)
	if s == nil || err != nil {
		return 0, nil
	}
	defer s.Close()
	if !s.OwnModules() || s.Certain() == 0 {
		return 0, nil
	}
	if err := suits(cmd, s); err != nil {
		return 0, err
	}
	return s.Certain(), s.WriteFirst(cmd.Context(), out, format)
}
