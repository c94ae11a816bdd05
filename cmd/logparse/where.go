package main

import (
	"cmp"
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
inside calls of Render. docs/filters.md has all of it. A name that the log does
not have is warned of, and with --strict an error.`

// whereFlag is the flag that chooses rows. Given more than once, all of its
// expressions must hold.
type whereFlag struct {
	texts []string
	// text is all of them as one.
	text string
}

func (f *whereFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.texts, "where", nil, "take only the rows for which `EXPR` holds, such as 'func:Draw dur:>5ms'; of several all must hold")
}

// none reports whether all rows are taken.
func (f *whereFlag) none() bool { return len(f.texts) == 0 }

// check reports a mistake in the expressions, before anything is opened.
func (f *whereFlag) check(cmd *cobra.Command, in *inputFlags) error {
	var parts []*filter.Expr
	for _, text := range f.texts {
		e, err := filter.Parse(text)
		if err != nil {
			return misused("--where %w", err)
		}
		if e.IsAll() {
			if err := in.doubt(cmd, "--where %q is empty, so it leaves out no rows", text); err != nil {
				return err
			}
			continue
		}
		parts = append(parts, e)
	}
	f.text = filter.Join(parts).String()
	if len(parts) == 1 && len(f.texts) == 1 {
		f.text = f.texts[0]
	}
	if _, err := filter.Parse(f.text); err != nil {
		return misused("--where %w", err)
	}
	return nil
}

// doubt tells of names in the expressions that the log does not have.
func (f *whereFlag) doubt(cmd *cobra.Command, in *inputFlags, s *app.Session) error {
	missing, err := s.Unmatched(cmd.Context(), f.text)
	for _, term := range missing {
		if err == nil {
			err = in.doubt(cmd, "--where %s: nothing in the log has that", term)
		}
	}
	return err
}

func (f *whereFlag) selection() app.Selection { return app.Selection{Where: f.text} }

// certainRows returns the chosen rows, unless names that are missing or a doubtful filter are
// errors.
func (f *whereFlag) certainRows(cmd *cobra.Command, in *inputFlags, s *app.Session) (rows.Source, error) {
	if err := cmp.Or(in.doubtNames(cmd, s), f.doubt(cmd, in, s)); err != nil {
		return nil, err
	}
	return f.rows(cmd.Context(), s, cmd.ErrOrStderr())
}

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
