package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// probesFlags are the flags of probes.
type probesFlags struct {
	in                 app.Inputs
	tool, args, output string
	prototypes         string
	returns, atReturns bool
	there              replaceFlags
}

func newProbes() *cobra.Command {
	var f probesFlags
	cmd := &cobra.Command{
		Use:   "probes IMAGE PATTERN...",
		Short: "Write probes for perf, the kernel, bpftrace or a debugger",
		Long: `probes writes the lines by which other tools stop at functions of a program or
library that is not rebuilt, and print their arguments and results. What they
print is read as a log: logparse show calls.txt (docs/probes.md).

IMAGE is an executable or library, also one without symbols, whose functions are
called sub_RVA; or "kernel", for functions of the running kernel. PATTERN fits
the names of functions, with or without their parameters, as in logparse values:
* stands for any characters, !PATTERN leaves functions out, and PATTERN@a,p->x
takes only these values.

Arguments are typed by the debug information of the image (or of its separate
debug file), or by a file that declares functions (--prototypes); without these
they are the registers that may hold some, or, with --args raw:8, the first eight
as the calling convention passes them. The kernel has no access to floating-point
registers: that a value cannot be had is said.

With --output the lines go into a file, and the names that make reading exact into
another beside it (.lpnames); without it both go to the standard output.`,
		Example: `  logparse probes ./app 'app::f' 'app::Shape::*' --return -o app.sh && sudo sh app.sh ./app
  logparse probes ./app 'Queue::push@this->size_,v' --for bpftrace
  logparse probes /usr/lib/x86_64-linux-gnu/libz.so.1 'deflate*' --for uprobe
  logparse probes ./stripped sub_1380 --args raw:8 --return
  logparse probes app.exe 'Parser::*' --for windbg --args raw -o app.wds`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return errors.New("probes needs an IMAGE and a PATTERN, such as: logparse probes ./app 'app::f'")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0], args[1:]) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.tool, "for", "perf", "the `tool`: "+strings.Join(app.ProbeToolNames(), ", "))
	flags.StringVar(&f.args, "args", "auto", "which `arguments` are taken: auto (by debug information, else registers), raw (registers), raw:N (the first N), none")
	flags.StringVar(&f.prototypes, "prototypes", "", "a `file` that declares functions, in C (docs/probes.md)")
	flags.BoolVar(&f.returns, "return", false, "probe the ends of calls, too, with their results")
	flags.BoolVar(&f.atReturns, "at-returns", false, "as --return, by probes at the return instructions, which exceptions may pass")
	flags.StringVarP(&f.output, "output", "o", "", "write the lines to `file`, and the names to a file beside it")
	f.there.add(cmd)
	addSymbolFlags(cmd, &f.in)
	completeWith(cmd, "for", app.ProbeToolNames())
	completeWith(cmd, "args", probeArguments)
	return cmd
}

var probeArguments = []string{"auto", "raw", "none"}

// rawArguments reads raw or raw:N, where N is how many arguments are taken as numbers, 0 for those that registers hold.
func rawArguments(text string) (raw bool, n int, err error) {
	if text == "raw" {
		return true, 0, nil
	}
	number, raw := strings.CutPrefix(text, "raw:")
	if !raw {
		return false, 0, nil
	}
	if n, err = strconv.Atoi(number); err != nil || n < 1 || n > app.MaxRawArguments {
		return true, 0, misused("raw:N takes the first N arguments, from 1 to %d, not %q", app.MaxRawArguments, number)
	}
	return true, n, nil
}

func (f *probesFlags) run(cmd *cobra.Command, path string, patterns []string) error {
	if err := oneOf("--for", f.tool, app.ProbeToolNames()); err != nil {
		return err
	}
	raw, arguments, err := rawArguments(f.args)
	if err != nil {
		return err
	}
	if !raw {
		if err := oneOf("--args", f.args, probeArguments); err != nil {
			return err
		}
	}
	specs, err := app.ParseValueSpecs(patterns)
	if err != nil {
		return usageError{err}
	}
	opt := app.ProbeOptions{Raw: raw}
	opt.Return, opt.AtReturns = f.returns || f.atReturns, f.atReturns
	opt.NoArguments, opt.RawArguments, opt.Tool = f.args == "none", arguments, app.FindProbeTool(f.tool)
	if f.prototypes != "" {
		if opt.Prototypes, err = app.ReadPrototypes(f.prototypes); err != nil {
			return err
		}
	}
	if f.output != "" && f.output != "-" {
		if _, err := f.there.mayReplace(cmd, app.WouldReplace(f.output), app.ProbesFormat, false); err != nil {
			return err
		}
		if _, err := f.there.mayReplace(cmd, app.WouldReplace(app.NamesBeside(f.output)), app.NamesFormat, false); err != nil {
			return err
		}
	}
	plan, err := app.PlanProbes(cmd.Context(), f.in, path, specs, opt)
	if errors.Is(err, app.ErrNoFunction) {
		return hinted{err, "give other patterns; '*' fits all"}
	}
	if err != nil {
		return err
	}
	said := make(map[string]bool)
	for _, note := range plan.Notes {
		if text := rows.Visible(note.String()); !said[text] {
			said[text] = true
			fmt.Fprintf(cmd.ErrOrStderr(), "logparse: note: %s\n", text)
		}
	}
	if f.output == "" || f.output == "-" {
		return plan.Write(cmd.OutOrStdout(), true)
	}
	names, err := plan.SaveProbes(cmd.Context(), f.output)
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d probes in %d functions; their names are in %s\n", rows.Visible(f.output), len(plan.Probes), plan.Functions, rows.Visible(names))
	return nil
}
