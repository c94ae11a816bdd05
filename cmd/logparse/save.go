package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newSave() *cobra.Command {
	var in inputFlags
	var target, format string
	var bom, crlf, raw bool
	cmd := &cobra.Command{
		Use:   "save LOG -o FILE",
		Short: "Save the log as txt, csv or JSON Lines",
		Long: `save writes the log's rows to FILE. The format follows the file's extension;
--format names it where there is none, as for "-", the standard output.
The file is written whole or not at all: an error or an interrupt leaves an
older file of that name as it was.`,
		Example: `  logparse save LogDetails.dat -o calls.csv
  logparse save LogDetails.dat -o calls.csv --bom --crlf
  logparse save LogDetails.dat -o - --format csv | head`,
		Args: oneLog,
		RunE: func(cmd *cobra.Command, args []string) error {
			if target == "" {
				return usageError{fmt.Errorf("save needs -o FILE")}
			}
			if format == "" {
				format = strings.ToLower(strings.TrimPrefix(filepath.Ext(target), "."))
			}
			if !slices.Contains(app.SaveFormats(), format) {
				return usageError{fmt.Errorf("%q: the format must be one of %s, by extension or --format", target, strings.Join(app.SaveFormats(), ", "))}
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			opt := app.SaveOptions{BOM: bom, CRLF: crlf, Raw: raw}
			p := newProgress(cmd.ErrOrStderr())
			defer p.clear()
			if target == "-" {
				err = s.Write(cmd.Context(), cmd.OutOrStdout(), format, opt, p.report)
			} else {
				err = s.Save(cmd.Context(), target, format, opt, p.report)
			}
			if err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&target, "output", "o", "", "the `file` to write; - is the standard output")
	flags.StringVar(&format, "format", "", "the `format`: "+strings.Join(app.SaveFormats(), ", "))
	flags.BoolVar(&bom, "bom", false, "begin with a byte order mark, for spreadsheets")
	flags.BoolVar(&crlf, "crlf", false, "end lines as Windows does")
	flags.BoolVar(&raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
	return cmd
}
