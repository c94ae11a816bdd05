package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"logparser/app"
)

// firstWords are what the command says without arguments.
const firstWords = `logparse: in what order did my program really call its functions, and where did it go wrong?
  look at a sample       logparse sample
  record your program    g++ -g -finstrument-functions app.cpp -o app && logparse record ./app
  read a log             logparse show app.rec          (or: stats, tree, save; or in the window: logparser app.rec)
  all commands           logparse help
  documents              README.md, docs/record.md; of a command: logparse help COMMAND
`

// sayFirstWords is what the command does without arguments.
func sayFirstWords(cmd *cobra.Command, _ []string) error {
	_, err := fmt.Fprint(cmd.OutOrStdout(), firstWords)
	return err
}

func newSample() *cobra.Command {
	return &cobra.Command{
		Use:   "sample",
		Short: "Print the sample log that comes with the command",
		Long: `sample prints a log that comes with the command: that of a small program with several
threads, exceptions and recursion. It says where the log lies, to try other commands on.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("sample takes no arguments, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := app.SampleLog()
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "logparse: the log is", log)
			show := newShow()
			show.SetOut(cmd.OutOrStdout())
			show.SetErr(cmd.ErrOrStderr())
			show.SetArgs([]string{log})
			show.SilenceErrors, show.SilenceUsage = true, true
			return show.ExecuteContext(cmd.Context())
		},
	}
}
