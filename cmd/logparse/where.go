package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// whereHelp is what the help of verbs with --where says of it.
const whereHelp = `EXPR chooses rows by terms column:value, which all must hold: func:Draw holds
for names that contain it, func:=Draw for the name itself, func:~^Draw for a
regular expression; dur:>5ms, time:1.5s..2s, depth:<10 compare. "or", "not" or
a - before a term, and parentheses join them; in:Render is all that happens
inside calls of Render. docs/filters.md has all of it.`

// whereFlag is the flag that chooses rows.
type whereFlag struct{ text string }

func (f *whereFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.text, "where", "", "take only the rows for which `EXPR` holds, such as 'func:Draw dur:>5ms'")
}

// check reports a mistake in the expression, before anything is opened.
func (f *whereFlag) check() error {
	if _, err := filter.Parse(f.text); err != nil {
		return misused("--where %w", err)
	}
	return nil
}

func (f *whereFlag) selection() app.Selection { return app.Selection{Where: f.text} }

// rows returns the chosen rows, and says how many they are.
func (f *whereFlag) rows(ctx context.Context, s *app.Session, errs io.Writer) (rows.Source, error) {
	if f.text == "" {
		return s.Rows(), nil
	}
	p := newProgress(errs)
	defer p.clear()
	v, err := s.View(ctx, f.selection(), p.report)
	if err == nil {
		err = v.Wait(ctx)
	}
	if err != nil {
		return nil, err
	}
	p.clear()
	nothing := ""
	if v.Len() == 0 {
		nothing = ": nothing passes the filter"
	}
	fmt.Fprintf(errs, "logparse: %d of %d rows%s\n", v.Len(), v.Total(), nothing)
	return v, nil
}
