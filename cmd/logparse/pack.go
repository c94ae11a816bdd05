package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

func newPack() *cobra.Command {
	var in inputFlags
	var there replaceFlags
	var target string
	var opt app.PackOptions
	var mappings []string
	cmd := &cobra.Command{
		Use:   "pack LOG -o FILE",
		Short: "Pack a log with its modules, names and lines into one file",
		Long: `pack writes a log, its modules file and the symbols of the modules that it has
records of into one compressed file (.lppack). Every command and the window open
it as a log, on any machine, without the program and its symbol files, and show
the same table. With --sources the source files that the table names go along. A log
with the record of a crash, which has pieces of the program's memory, is packed only
with --crash.`,
		Example: `  logparse pack LogDetails.dat -o one.lppack --symbols C:\build\pdb
  logparse show one.lppack`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if target == "" {
				return misused("pack needs -o FILE")
			}
			var err error
			if opt.Mappings, err = sourceMappings(mappings); err != nil {
				return err
			}
			if _, err := there.mayReplace(cmd, app.WouldReplace(target), app.PackFormat, false); err != nil {
				return err
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			p := newProgress(cmd.ErrOrStderr())
			r, err := s.Pack(cmd.Context(), target, opt, p.report)
			p.clear()
			if err != nil {
				return err
			}
			printPacked(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
			return in.finish(s)
		},
	}
	cmd.Flags().StringVarP(&target, "output", "o", "", "the `file` to write")
	cmd.Flags().BoolVar(&opt.Sources, "sources", false, "pack the source files that the table names too")
	cmd.Flags().BoolVar(&opt.Crash, "crash", false, "pack a log that has the record of a crash, with pieces of the program's memory")
	cmd.Flags().StringArrayVar(&mappings, "map", nil, "where recorded source folders are here: `FROM=TO` (repeatable)")
	there.add(cmd)
	in.add(cmd)
	return cmd
}

// sourceMappings reads FROM=TO.
func sourceMappings(texts []string) ([]app.SourceMapping, error) {
	var list []app.SourceMapping
	for _, text := range texts {
		from, to, ok := strings.Cut(text, "=")
		if !ok || from == "" || to == "" {
			return nil, misused("--map is FROM=TO, not %q", text)
		}
		list = append(list, app.SourceMapping{From: from, To: to})
	}
	return list, nil
}

func newKeep() *cobra.Command {
	var in inputFlags
	var there replaceFlags
	var target string
	cmd := &cobra.Command{
		Use:   "keep LOG",
		Short: "Keep the symbols of a log beside it, for when the program is rebuilt",
		Long: `keep writes the symbols of the modules that a log has records of into a file
beside it, with its name and the extension .lpsym. When the program was built anew
and its symbols are no longer those of the log, the names come from there.`,
		Example: "  logparse keep LogDetails.dat",
		Args:    logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			if _, err := there.mayReplace(cmd, app.WouldReplace(cmp.Or(target, s.KeptPath())), app.KeptFormat, false); err != nil {
				return err
			}
			p := newProgress(cmd.ErrOrStderr())
			r, err := s.Keep(cmd.Context(), target, p.report)
			p.clear()
			if err != nil {
				return err
			}
			printPacked(cmd.OutOrStdout(), cmd.ErrOrStderr(), r)
			return in.finish(s)
		},
	}
	cmd.Flags().StringVarP(&target, "output", "o", "", "the `file` to write (default: beside the log)")
	there.add(cmd)
	in.add(cmd)
	return cmd
}

func printPacked(out, errs io.Writer, r *app.PackReport) {
	fmt.Fprintf(out, "%s: %d bytes; symbols of %d modules %d bytes", rows.Visible(r.Path), r.Bytes, r.Modules, r.Symbols)
	if r.Files > 0 {
		fmt.Fprintf(out, ", files %d bytes", r.Files)
	}
	fmt.Fprintln(out)
	for _, name := range r.Left {
		fmt.Fprintf(errs, "logparse: warning: %s: it has no symbols to take along\n", rows.Visible(name))
	}
	for _, name := range r.NoSources {
		fmt.Fprintf(errs, "logparse: warning: %s: the source file was not found, or is too large\n", rows.Visible(name))
	}
}
