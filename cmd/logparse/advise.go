package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// jsonCost is the object of `advise --json`; its keys are documented in
// docs/formats.md and stable.
type jsonCost struct {
	Function string  `json:"function"`
	Module   string  `json:"module,omitempty"`
	Source   string  `json:"source,omitempty"`
	Events   int64   `json:"events"`
	Overhead int64   `json:"overhead_ns"`
	OfEvents float64 `json:"share_of_events"`
	OfTime   float64 `json:"share_of_time"`
	System   bool    `json:"system,omitempty"`
}

func newAdvise() *cobra.Command {
	var in inputFlags
	var asJSON bool
	var top int
	var cost time.Duration
	cmd := &cobra.Command{
		Use:   "advise LOG",
		Short: "Name the functions that cost most to record, and how to leave them out",
		Long: `advise lists the functions by what recording them cost: their events times the
cost of an event, which the recorder of a trace measures and writes down. For
other logs it is assumed, or given with --event-cost. Where threads ran side by
side the share of the run's time may be more than all of it.

It then prints options and settings that leave out what is worth it: first the
compiler's library (std::) and the system's headers, then functions of the
program's own with at least 1 % of the events, -n at most and never more than
half of them.`,
		Example: `  logparse advise program.lptrace
  logparse advise LogDetails.dat -n 5 --event-cost 11us`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return misused("--limit is a number from 1, not %d", top)
			}
			if cmd.Flags().Changed("event-cost") && cost <= 0 {
				return misused("--event-cost is a time such as 14ns, not %v", cost)
			}
			if asJSON {
				if err := notFor(cmd, "--json, which has all functions", "limit"); err != nil {
					return err
				}
			}
			s, err := in.open(cmd, args)
			if err != nil {
				return err
			}
			defer s.Close()
			if err := in.doubtNames(cmd, s); err != nil {
				return err
			}
			a := s.Advise(cost)
			out := bufio.NewWriter(cmd.OutOrStdout())
			if asJSON {
				for _, f := range a.Functions {
					err := printJSON(out, jsonCost{f.Function, f.Module, f.Source, f.Events, f.Overhead.Nanoseconds(), f.OfEvents, f.OfTime, f.System})
					if err != nil {
						return err
					}
				}
			} else {
				printAdvice(out, a, top, cost != 0)
			}
			if err := out.Flush(); err != nil {
				return err
			}
			return in.finish(s)
		},
	}
	in.add(cmd)
	flags := cmd.Flags()
	flags.IntVarP(&top, "limit", "n", 20, "at most `N` functions to list and to leave out")
	flags.DurationVar(&cost, "event-cost", 0, "what recording an event costs: a `time` such as 14ns (default: the log says, or it is assumed)")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object a function, all of them")
	return cmd
}

func printAdvice(w io.Writer, a app.Advice, top int, given bool) {
	source := "assumed: this log does not say"
	switch {
	case given:
		source = "as given"
	case a.Measured:
		source = "measured by the recorder"
	}
	fmt.Fprintf(w, "events    %d, %s each (%s)\n", a.Events, period(a.EventCost), source)
	fmt.Fprintf(w, "run       %s\n", period(a.Span))
	fmt.Fprintf(w, "overhead  %s, %.1f %% of the run's time\n\n", period(a.Overhead), 100*a.OfTime)
	fmt.Fprintf(w, "%12s  %7s  %12s  %7s  %s\n", "events", "share", "overhead", "of run", "function")
	for i, f := range a.Functions {
		if i == top {
			fmt.Fprintf(w, "... and %d more\n", len(a.Functions)-i)
			break
		}
		fmt.Fprintf(w, "%12d  %5.1f %%  %12s  %5.1f %%  %s%s\n", f.Events, 100*f.OfEvents, period(f.Overhead), 100*f.OfTime, rows.Visible(f.Function), rows.Visible(inModule(f)))
	}
	part := func(title string, lines ...string) {
		fmt.Fprintf(w, "\n%s\n", title)
		for _, l := range lines {
			fmt.Fprintf(w, "  %s\n", rows.Visible(l))
		}
	}
	system, own := a.Choose(top)
	if len(system)+len(own) == 0 {
		fmt.Fprintf(w, "\nNothing is to be left out: no function that could be costs much.\n")
		return
	}
	if len(system) > 0 {
		e := app.ExcludeSystem(system)
		fmt.Fprintf(w, "\nFirst leave out the compiler's library and the system's headers, %d functions with %.1f %% of the events:\n", len(system), 100*shareOf(system))
		part("gcc, for a shell:", e.Files)
		part("clang, which has no such list, records no function that it inlines with", "-O1 -finstrument-functions-after-inlining")
		if e.Recorder != "" {
			part("Without building again, for the trace recorder:", e.Recorder)
		}
	}
	if len(own) == 0 {
		return
	}
	e := app.Exclude(own, system, a.Functions)
	fmt.Fprintf(w, "\nTo leave out %d functions of the program's own with %.1f %% of the events:\n", len(own), 100*shareOf(own))
	part("Where a function has a LogEnterLeave object: take it out of the function. The following is for the compiler's hooks.")
	if e.Functions != "" {
		part("gcc, for a shell:", e.Functions)
	}
	if len(e.Also) > 0 {
		fmt.Fprintf(w, "  This hits others too, because gcc looks for the names within longer ones:\n  %s\n", rows.Visible(strings.Join(clip(e.Also, 5), ", ")))
	}
	if len(e.Left) > 0 {
		if e.Functions == "" {
			part("gcc:")
		}
		fmt.Fprintf(w, "  Its option cannot name %s: use the attribute below.\n", rows.Visible(strings.Join(clip(e.Left, 5), ", ")))
	}
	if e.Files != "" {
		part("gcc, source files of which nothing else was recorded:", e.Files)
	}
	part("clang has no such list. In the source, at each function or around several (gcc knows the first, too):",
		"__attribute__((no_instrument_function))",
		"#pragma clang attribute push(__attribute__((no_instrument_function)), apply_to = function)",
		"#pragma clang attribute pop")
	part("MSVC has neither a list nor a pragma for /Gh and /GH: compile the source files without them, in CMake",
		`set_source_files_properties(FILE.cpp PROPERTIES COMPILE_OPTIONS "")`,
		"with /Gh /GH set on the other files only, or make the functions __forceinline.")
	if e.Recorder != "" {
		part("Without building again, for the trace recorder:", e.Recorder)
	}
	if len(e.Unlisted) > 0 {
		if e.Recorder == "" {
			part("The trace recorder, without building again:")
		}
		fmt.Fprintf(w, "  Its list cannot name %s.\n", rows.Visible(strings.Join(clip(e.Unlisted, 5), ", ")))
	}
}

// shareOf adds up shares of the events.
func shareOf(functions []app.FunctionCost) (share float64) {
	for _, f := range functions {
		share += f.OfEvents
	}
	return share
}

// inModule writes a function's module and source behind its name.
func inModule(f app.FunctionCost) string {
	if !f.Named || f.Module == "" {
		return ""
	}
	return "  (" + f.Module + ")"
}

// period writes a time for people.
func period(d time.Duration) string {
	return string(rows.AppendDuration(nil, d.Nanoseconds(), 9))
}

func clip(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], fmt.Sprintf("%d more", len(list)-n))
}
