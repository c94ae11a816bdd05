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
	cmd.AddCommand(files, newRecorderLibrary())
	return cmd
}

func newRecorderLibrary() *cobra.Command {
	replace := false
	cmd := &cobra.Command{
		Use:   "library [FILE|FOLDER]",
		Short: "Write the recorder's library, for programs to be linked with",
		Long: `library writes the recorder's library for this system, liblogrec.so or logrec.dll,
into the working folder, or where FILE or FOLDER says. It is the one that record
preloads: the installed one, or one that is built with the C compiler at hand.

Programs are linked with it where the C library lacks their hook: results of calls
and exact ends with gcc's -minstrument-return=call, and what is linked statically.`,
		Example: `  logparse recorder library
  g++ -g -O2 -pg -mfentry -minstrument-return=call -c app.cpp
  g++ app.o -L. -llogrec -Wl,-rpath,'$ORIGIN' -o app
  logparse record --values '*' ./app`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("library takes one FILE or FOLDER, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			path, err := app.SaveRecorderLibrary(cmd.Context(), path, replace, func(compiler string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: "+buildingText+"\n", rows.Visible(compiler))
			})
			switch {
			case errors.Is(err, app.ErrOtherFile):
				return hinted{err, "give another name, or --replace"}
			case errors.Is(err, app.ErrNoCompiler):
				return hinted{err, "install one (gcc or clang)"}
			case err != nil:
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), rows.Visible(path))
			return err
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace a file that differs")
	return cmd
}

// buildingText says that the library is being built, with which compiler.
const buildingText = "building the recorder's library with %s; this is done once"
