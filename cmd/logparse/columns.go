package main

import (
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// columnsFlag is the columns of a table of rows.
type columnsFlag struct{ text string }

func (f *columnsFlag) add(cmd *cobra.Command) {
	var names []string
	for i := range rows.Columns() {
		names = append(names, rows.Columns()[i].Name)
	}
	cmd.Flags().StringVar(&f.text, "columns", "", "the `columns` of a table, with commas between: "+strings.Join(names, ", ")+" (default: as docs/formats.md has them)")
	completeWith(cmd, "columns", names)
}

// parse returns the columns, nil where none were chosen.
func (f *columnsFlag) parse(cmd *cobra.Command, format string) ([]*rows.Column, error) {
	if !cmd.Flags().Changed("columns") {
		return nil, nil
	}
	if err := only(cmd, "columns", format, app.TableFormats()...); err != nil {
		return nil, err
	}
	list, err := rows.ParseColumns(f.text)
	if err != nil {
		return nil, usageError{err}
	}
	return list, nil
}
