package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// The orders of --sort.
var statOrders = map[string]func(f *app.FunctionStat) int64{
	"nonrecursive": func(f *app.FunctionStat) int64 { return f.NonRecursive },
	"total":        func(f *app.FunctionStat) int64 { return f.Total },
	"self":         func(f *app.FunctionStat) int64 { return f.Self },
	"calls":        func(f *app.FunctionStat) int64 { return f.Calls },
	"mean":         func(f *app.FunctionStat) int64 { return f.Mean },
	"min":          func(f *app.FunctionStat) int64 { return f.Min },
	"p50":          func(f *app.FunctionStat) int64 { return f.P50 },
	"p95":          func(f *app.FunctionStat) int64 { return f.P95 },
	"p99":          func(f *app.FunctionStat) int64 { return f.P99 },
	"max":          func(f *app.FunctionStat) int64 { return f.Max },
}

// statOrderNames are the words that --sort takes.
var statOrderNames = []string{"nonrecursive", "total", "self", "calls", "mean", "min", "p50", "p95", "p99", "max", "name"}

// What --by takes, and what sums up by it.
var (
	statGroups = []string{"function", "module", "thread"}
	statistics = map[string]func(*app.Session, context.Context, app.Selection, app.Progress) ([]app.FunctionStat, error){
		"function": (*app.Session).Statistics, "thread": (*app.Session).ThreadStatistics, "module": (*app.Session).ModuleStatistics,
	}
)

func newStats() *cobra.Command {
	var f sumFlags
	var by, order string
	var limit int
	cmd := &cobra.Command{
		Use:   "stats LOG",
		Short: "Sum up the calls of each function: number, total, self, mean, quantiles",
		Long: `stats prints a line for each function, or for each module or function of each
thread. A call counts if its enter is among the rows chosen, and counts whole.
Total is all time in the calls; nonrecursive, the usual order, leaves out calls
that were made while another of the function was open. Self is the time that was
not spent in calls that it made. A call that is still running where the log ends
counts in these up to there, and in nothing else; ≥ says that nothing tells how
long the program ran on. In which calls it was then stands first. Quantiles are
right to within a sixteenth.

` + whereHelp,
		Example: `  logparse stats LogDetails.dat --sort self --limit 20
  logparse stats LogDetails.dat --where 'in:Render -module:ntdll' --by thread
  logparse stats LogDetails.dat --where func:open --by arg.mode
  logparse stats LogDetails.dat -o stats.csv`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(oneOf("--sort", order, statOrderNames), checkStatGroup(by)); err != nil {
				return err
			}
			if limit < 0 {
				return misused("--limit is a number of lines, not %d", limit)
			}
			return f.run(cmd, args, func(ctx context.Context, s *app.Session, chosen app.Selection, p app.Progress) (sum, error) {
				sumUp := statistics[by]
				if sumUp == nil {
					sumUp = func(s *app.Session, ctx context.Context, chosen app.Selection, p app.Progress) ([]app.FunctionStat, error) {
						return s.ValueStatistics(ctx, chosen, by, p)
					}
				}
				list, err := sumUp(s, ctx, chosen, p)
				if err != nil {
					return sum{}, err
				}
				value := statOrders[order]
				slices.SortStableFunc(list, func(a, b app.FunctionStat) int {
					if c := cmp.Compare(a.Track(), b.Track()); c != 0 || value == nil {
						return cmp.Or(c, cmp.Compare(a.Function, b.Function), cmp.Compare(a.Module, b.Module))
					}
					return cmp.Compare(value(&b), value(&a))
				})
				left := 0
				if limit > 0 && len(list) > limit {
					list, left = list[:limit], len(list)-limit
				}
				return sum{
					empty: len(list) == 0,
					text: func(w io.Writer) error {
						digits := s.Rows().TimeDigits()
						printWays(w, s)
						printUnfinished(w, s.Unfinished(unfinishedCalls), digits)
						if err := printStats(w, list, by, digits, left); err != nil {
							return err
						}
						_, err := fmt.Fprintf(w, "the greatest depth is %d\n", s.GreatestDepth())
						return err
					},
					table: func(w io.Writer, format string, opt app.SaveOptions) error {
						return app.WriteStatistics(w, format, list, opt)
					},
				}, nil
			})
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&by, "by", "function", "sum up by `what`: function, module, thread (functions of each thread) or a value (arg.NAME, this, result)")
	flags.StringVar(&order, "sort", "nonrecursive", "the `order`: "+strings.Join(statOrderNames, ", "))
	flags.IntVarP(&limit, "limit", "n", 0, "at most `N` lines (default: all)")
	f.out.add(cmd, []string{"txt", "csv", "jsonl"}, []string{"csv"})
	completeWith(cmd, "by", statGroups)
	completeWith(cmd, "sort", statOrderNames)
	return cmd
}

// checkStatGroup checks what --by has.
func checkStatGroup(by string) error {
	if app.IsValueColumn(by) {
		return nil
	}
	return oneOf("--by", by, append(slices.Clone(statGroups), "arg.NAME", "this", "result"))
}

// threadLabel is what a thread is called.
func threadLabel(f *app.FunctionStat) string { return rows.Visible(f.ThreadText()) }

// unfinishedThreads and unfinishedCalls bound what printUnfinished says.
const (
	unfinishedThreads = 5
	unfinishedCalls   = 6
)

// printWays says by which ways in the log was recorded, if that is known, and whether
// that makes durations wrong.
func printWays(w io.Writer, s *app.Session) {
	ways, late := s.Ways()
	if len(ways) > 0 {
		fmt.Fprintf(w, "recorded by %s\n", rows.Visible(strings.Join(ways, ", ")))
	}
	if late {
		fmt.Fprintln(w, app.LateLeaves().String())
	}
	if len(ways) > 0 || late {
		fmt.Fprintln(w)
	}
}

// printUnfinished says in which calls the threads were when the log ended.
func printUnfinished(w io.Writer, list []app.Unfinished, digits int) {
	for i := range list {
		if i == unfinishedThreads {
			fmt.Fprintf(w, "... and %d more threads were in calls\n", len(list)-i)
			break
		}
		u := &list[i]
		names := make([]string, len(u.Functions))
		for k := range names {
			names[k] = u.Functions[k].Function
		}
		if u.More > 0 {
			names = append(names, fmt.Sprintf("%d more", u.More))
		}
		thread := fmt.Sprintf("thread %d", u.Thread.ID)
		if u.Thread.Name != "" {
			thread += " (" + u.Thread.Name + ")"
		}
		if u.Thread.Process != nil {
			thread += " of process " + u.Thread.Process.Label
		}
		if u.Stack != 0 {
			thread = fmt.Sprintf("stack %d of %s", u.Stack, thread)
		}
		line := fmt.Sprintf("%s was in %s when the log ended, in the first for %s", thread, strings.Join(names, ", "), appendBounded(u.Bound, u.Lasted, digits))
		fmt.Fprintln(w, rows.Visible(line))
	}
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
}

func printStats(w io.Writer, list []app.FunctionStat, by string, digits, left int) error {
	out := bufio.NewWriter(w)
	width := 10
	if by == "thread" {
		for i := range list {
			width = max(width, utf8.RuneCountInString(threadLabel(&list[i])))
		}
	}
	thread := func(text string) {
		if by == "thread" {
			fmt.Fprintf(out, "%*s ", width, text)
		}
	}
	thread("thread")
	fmt.Fprintf(out, "%12s %12s %12s %12s %12s %12s %12s %12s %12s  %s\n", "calls", "total", "nonrecursive", "self", "mean", "p50", "p95", "p99", "max", cmp.Or(map[string]string{"module": "module"}[by], "function"))
	for i := range list {
		f := &list[i]
		thread(threadLabel(f))
		fmt.Fprintf(out, "%12d", f.Calls)
		for _, ns := range []int64{f.Sum(f.Total), f.Sum(f.NonRecursive)} {
			fmt.Fprintf(out, " %12s", appendBounded(f.Bound, ns, digits))
		}
		fmt.Fprintf(out, " %12s", appendBounded(f.SelfBound, f.Sum(f.Self), digits))
		for _, ns := range []int64{f.Single(f.Mean), f.Single(f.P50), f.Single(f.P95), f.Single(f.P99), f.Single(f.Max)} {
			fmt.Fprintf(out, " %12s", appendBounded(f.SingleBound, ns, digits))
		}
		out.WriteString("  ")
		switch {
		case by != "module":
			out.WriteString(rows.Visible(f.Function))
			// Of a function without a name the module is part of what stands for one.
			if f.Module != "" && !strings.HasPrefix(f.Function, f.Module+"+0x") {
				out.WriteString("  [" + rows.Visible(f.Module) + "]")
			}
		case f.Module == "":
			out.WriteString("(no module)")
		default:
			out.WriteString(rows.Visible(f.Module))
		}
		out.WriteString(stillRunning(f.Running) + "\n")
	}
	if left > 0 {
		fmt.Fprintf(out, "... and %d more\n", left)
	}
	return out.Flush()
}
