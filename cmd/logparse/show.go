package main

import (
	"github.com/spf13/cobra"

	"logparser/app"
)

func newShow() *cobra.Command {
	var in inputFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show LOG",
		Short: "Print the log as a readable table",
		Example: `  logparse show LogDetails.dat | less -S
  logparse show . --symbols build --json | head`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			format := "txt"
			if asJSON {
				format = "jsonl"
			}
			if err := s.Write(cmd.Context(), cmd.OutOrStdout(), format, app.SaveOptions{}, nil); err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a row")
	return cmd
}
