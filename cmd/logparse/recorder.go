package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

func newRecorder() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recorder",
		Short: "Put the recorder's sources into a project",
		Args:  onlyCommands,
		RunE:  showHelp,
	}
	replace := false
	files := &cobra.Command{
		Use:   "init DIR",
		Short: "Write headers, sources and a CMake project into a folder",
		Long: `init writes the recorder into a folder of a project: the headers that functions
are logged with, the library's sources, a CMakeLists.txt for add_subdirectory or
for installing, and a README with a recipe for each compiler. It needs nothing
else to build. Files of the same content are left; others only with --replace.`,
		Example: `  logparse recorder init third_party/logrec`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("init takes one DIR, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := app.InitRecorder(cmd.Context(), args[0], replace)
			if errors.Is(err, app.ErrOtherFile) {
				return hinted{err, "give an empty folder, or --replace"}
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d files written below %s; README.md there says how to build with them\n", n, rows.Visible(args[0]))
			return err
		},
	}
	files.Flags().BoolVar(&replace, "replace", false, "replace files that differ")
	cmd.AddCommand(files)
	return cmd
}
