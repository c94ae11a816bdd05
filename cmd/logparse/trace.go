package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newTrace() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trace",
		Short: "Write a trace as text, or make one of such text",
		Long: `trace shows what lies in a trace file (.lptrace), record by record, and makes
trace files of such text. It is for tests, and for those who write recorders
and readers; docs/formats.md explains the records.`,
		Args: onlyCommands,
		RunE: showHelp,
	}
	dump := &cobra.Command{
		Use:     "dump LOG",
		Short:   "Print a trace as text",
		Example: `  logparse trace dump program.4711.lptrace | less -S`,
		Args:    oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.DumpTrace(cmd.Context(), args[0], cmd.OutOrStdout())
		},
	}
	replace := false
	load := &cobra.Command{
		Use:   "load TEXT LOG",
		Short: "Make a trace of text",
		Long: `load makes the trace LOG of TEXT, which trace dump has printed or somebody has
written. Another file of that name is only replaced with --replace.`,
		Example: `  logparse trace load calls.txt calls.lptrace`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("load takes TEXT and LOG, not %d files", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			err := app.LoadTrace(cmd.Context(), args[0], args[1], replace)
			if errors.Is(err, app.ErrOtherFile) {
				return hinted{err, "save under another name, or with --replace"}
			}
			return err
		},
	}
	load.Flags().BoolVar(&replace, "replace", false, "replace LOG if it exists")
	cmd.AddCommand(dump, load)
	return cmd
}
