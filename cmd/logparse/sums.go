package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

// tableFlags are the flags of verbs that print a table of their own or save it.
type tableFlags struct {
	target, format string
	asJSON         bool
	opt            app.SaveOptions
	there          replaceFlags
	// formats are those that there are, and crlf those in which lines may end
	// as Windows has it.
	formats, crlf []string
}

func (f *tableFlags) add(cmd *cobra.Command, formats, crlf []string) {
	f.formats, f.crlf = formats, crlf
	flags := cmd.Flags()
	flags.StringVarP(&f.target, "output", "o", "-", "the `file` to write; - is the standard output")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object a line, as --format jsonl does")
	flags.StringVar(&f.format, "format", "", "the `format`: "+strings.Join(formats, ", ")+" (default: by the file's extension, else txt)")
	flags.BoolVar(&f.opt.BOM, "bom", false, "begin csv with a byte order mark, for spreadsheets")
	flags.BoolVar(&f.opt.CRLF, "crlf", false, "end lines of "+strings.Join(crlf, " and ")+" as Windows does")
	f.there.add(cmd)
	flags.BoolVar(&f.opt.Raw, "raw-csv", false, "leave csv cells as they are that a spreadsheet would run as a formula")
	completeWith(cmd, "format", formats)
}

func (f *tableFlags) check(cmd *cobra.Command) error {
	if f.asJSON {
		if cmd.Flags().Changed("format") && f.format != "jsonl" {
			return misused("--json stands for --format jsonl, and %s was given, too", f.format)
		}
		f.format = "jsonl"
	}
	if f.format == "" {
		if f.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(f.target), ".")); f.target == "-" || f.format == "" {
			f.format = "txt"
		}
	}
	if err := oneOf("the format, by extension or --format,", f.format, f.formats); err != nil {
		return err
	}
	if err := cmp.Or(only(cmd, "bom", f.format, "csv"), only(cmd, "crlf", f.format, f.crlf...), only(cmd, "raw-csv", f.format, "csv")); err != nil {
		return err
	}
	if f.target == "-" {
		return nil
	}
	var older []string
	if _, err := os.Stat(f.target); err == nil {
		older = []string{f.target}
	}
	_, err := f.there.mayReplace(cmd, older, f.format, false)
	return err
}

// write has write make the table, on the standard output or in a file.
func (f *tableFlags) write(cmd *cobra.Command, s *app.Session, write func(w io.Writer) error) error {
	if f.target == "-" {
		return write(cmd.OutOrStdout())
	}
	return s.SaveTable(cmd.Context(), f.target, write)
}

// sumFlags are the flags of verbs that sum up the rows chosen.
type sumFlags struct {
	inputFlags
	where whereFlag
	out   tableFlags
}

func (f *sumFlags) add(cmd *cobra.Command) {
	f.inputFlags.add(cmd)
	f.where.add(cmd)
}

// A sum is what such a verb made of the rows.
type sum struct {
	// empty says that there is nothing in it.
	empty bool
	text  func(w io.Writer) error
	// table writes it as csv or jsonl.
	table func(w io.Writer, format string, opt app.SaveOptions) error
}

// run opens the log, has sumUp sum up the rows chosen and writes what that made.
func (f *sumFlags) run(cmd *cobra.Command, args []string, sumUp func(ctx context.Context, s *app.Session, chosen app.Selection, p app.Progress) (sum, error)) error {
	if err := cmp.Or(f.where.check(cmd, &f.inputFlags), f.out.check(cmd)); err != nil {
		return err
	}
	s, err := f.open(cmd, args)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := cmp.Or(f.doubtNames(cmd, s), f.where.doubt(cmd, &f.inputFlags, s)); err != nil {
		return err
	}
	p := newProgress(cmd.ErrOrStderr())
	defer p.clear()
	made, err := sumUp(cmd.Context(), s, f.where.selection(), p.report)
	if err = cmp.Or(err, cmd.Context().Err()); err != nil {
		return err
	}
	p.clear()
	if made.empty && f.where.text != "" {
		chosen, err := f.where.rows(cmd.Context(), s, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		if chosen.Len() > 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "logparse: none of them enters a call")
		}
	}
	corrected := s.Inputs().Corrected
	f.out.opt.Header.Corrected = corrected
	err = f.out.write(cmd, s, func(w io.Writer) error {
		if f.out.format != "txt" {
			return made.table(w, f.out.format, f.out.opt)
		}
		w = &stopping{cmd.Context(), w}
		if corrected {
			fmt.Fprintf(w, "%s\n\n", app.CorrectedNote)
		}
		return made.text(w)
	})
	if err != nil {
		return err
	}
	return f.finish(s)
}

// stopping fails when its context is cancelled: what is printed may take long.
type stopping struct {
	ctx context.Context
	w   io.Writer
}

func (s *stopping) Write(b []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(b)
}

// completeWith has a shell complete the value of an option.
func completeWith(cmd *cobra.Command, option string, words []string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(option, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)))
}
