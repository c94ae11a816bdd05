package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
)

func newValues() *cobra.Command {
	var in app.Inputs
	var there replaceFlags
	var output string
	var prototypes bool
	cmd := &cobra.Command{
		Use:   "values PROGRAM|LIBRARY... [-- SPEC...]",
		Short: "Plan which arguments and results the recorder takes",
		Long: `values makes a plan of which arguments and results of calls the recorder takes,
out of the debug information of a program and its libraries (-g, or a PDB; the
optimized build is fine). Where there is none, types are by signature: those in the
names of C++ functions, as far as it is proved where arguments are. The program is then recorded with the plan:

  logparse values ./app -o app.lpvalues
  LOGREC_VALUES=app.lpvalues ./app      or:  logparse record --values app.lpvalues ./app

Values are taken at -pg -mfentry -minstrument-return=call of gcc, and, as far as the
code keeps them, at -finstrument-functions of gcc and clang (docs/values.md).
They may be secrets: nothing is taken without a plan, and the log has the plan.

A SPEC is PATTERN or PATTERN@ITEM,ITEM…: PATTERN fits the names of functions, with
or without their parameters, * stands for any characters. An ITEM is the name of
a parameter, "return", "*" for all, or a member that a pointer or reference leads
to, such as p->size; with @leave behind it what it leads to when the call returns,
such as out@leave. !PATTERN leaves functions out; the last that fits decides.
Without any SPEC all functions are in the plan.`,
		Example: `  logparse values ./app -o app.lpvalues
  logparse values ./app libshapes.so -o app.lpvalues -- 'app::*' '!*password*' 'Queue::push@this->size_,v'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			images, texts := args, []string(nil)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				images, texts = args[:n], args[n:]
			}
			if prototypes && len(args) == 0 {
				return app.WritePrototypes(cmd.OutOrStdout())
			}
			if len(images) == 0 {
				return usageError{errors.New("values needs a program or a library")}
			}
			specs, err := app.ParseValueSpecs(texts)
			if err != nil {
				return usageError{err}
			}
			if _, err := there.mayReplace(cmd, app.WouldReplace(output), app.PlanFormat, false); err != nil {
				return err
			}
			plan, err := app.PlanValues(cmd.Context(), in, images, specs)
			if err != nil {
				return err
			}
			for _, note := range slices.Concat(plan.Notes, plan.Warnings) {
				fmt.Fprintf(cmd.ErrOrStderr(), "logparse: note: %s\n", note.String())
			}
			if plan.Functions == 0 {
				return hinted{errors.New("the plan is empty"), "give other patterns, or see the names with: " + toRun("symbols", images[0])}
			}
			if output == "" || output == "-" {
				return plan.Write(cmd.OutOrStdout())
			}
			if err := plan.Save(cmd.Context(), output); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d functions, %d values%s\n", output, plan.Functions, plan.Values, unknownValues(plan.Unknown))
			return nil
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&output, "output", "o", "", "write the plan to `file`; without it, to the standard output")
	there.add(cmd)
	flags.BoolVar(&prototypes, "prototypes", false, "print the declarations of the C library's functions by which record --libcalls takes values")
	addSymbolFlags(cmd, &in)
	return cmd
}

// unknownValues says how many values the plan only names.
func unknownValues(n int) string {
	if n == 0 {
		return ""
	}
	return strings.TrimRight(fmt.Sprintf(", %d whose places are not known", n), " ")
}
