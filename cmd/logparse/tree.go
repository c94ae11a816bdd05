package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

func newTree() *cobra.Command {
	var f sumFlags
	var opt app.TreeOptions
	var percent float64
	var depth int
	cmd := &cobra.Command{
		Use:   "tree LOG",
		Short: "Print who calls what, with times: from the top down or from the bottom up",
		Long: `tree prints the functions of the log below those that call them, equal callers
merged, the greatest total first; with --bottom-up each function with its
callers below it. Calls that are not among the rows chosen count in no line.

` + whereHelp,
		Example: `  logparse tree LogDetails.dat --min-percent 1 --depth 8
  logparse tree LogDetails.dat --bottom-up --where 'module:app'
  logparse tree LogDetails.dat --by-thread -o tree.csv`,
		Args: logArguments,
		RunE: func(cmd *cobra.Command, args []string) error {
			if percent < 0 || percent > 100 {
				return misused("--min-percent is 0 to 100, not %g", percent)
			}
			if depth < 0 {
				return misused("--depth is a number of levels, not %d", depth)
			}
			return f.run(cmd, args, func(ctx context.Context, s *app.Session, chosen app.Selection, p app.Progress) (sum, error) {
				tree, err := s.CallTree(ctx, chosen, opt, p)
				if err != nil {
					return sum{}, err
				}
				if tree.Cut > 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "logparse: the tree has too many branches; %d calls are shown as (others)\n", tree.Cut)
				}
				empty := len(tree.Roots) == 0
				tree.Roots = pruned(tree.Roots, int64(percent/100*float64(tree.Total)), cmp.Or(depth, -1))
				if !empty && len(tree.Roots) == 0 {
					fmt.Fprintf(cmd.ErrOrStderr(), "logparse: no function took %g %% of the time\n", percent)
				}
				return sum{
					empty: empty,
					text:  func(w io.Writer) error { return printTree(w, tree, s.Rows().TimeDigits()) },
					table: func(w io.Writer, format string, opt app.SaveOptions) error {
						return app.WriteTree(w, format, tree, opt)
					},
				}, nil
			})
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&opt.BottomUp, "bottom-up", false, "each function with its callers below it")
	flags.BoolVar(&opt.ByThread, "by-thread", false, "a tree for each thread")
	flags.Float64Var(&percent, "min-percent", 0, "leave out what took less than so many `percent` of all time")
	flags.IntVar(&depth, "depth", 0, "at most so many `levels` (default: all)")
	f.out.add(cmd, []string{"txt", "csv", "jsonl"}, []string{"csv"})
	return cmd
}

// pruned leaves out nodes of less time than least, unless there are others below
// them, and those below so many levels; -1 is no limit.
func pruned(list []*app.TreeNode, least int64, levels int) []*app.TreeNode {
	if levels == 0 {
		return nil
	}
	kept := list[:0]
	for _, n := range list {
		n.Children = pruned(n.Children, least, max(levels-1, -1))
		if n.Total >= least || len(n.Children) > 0 {
			kept = append(kept, n)
		}
	}
	return kept
}

// stillRunning is what is said of calls that have not ended.
func stillRunning(calls int64) string {
	if calls == 0 {
		return ""
	}
	return fmt.Sprintf("  (%d running)", calls)
}

// appendBounded writes a duration with the sign of its bound.
func appendBounded(b rows.Bound, ns int64, digits int) []byte {
	return rows.AppendDuration(rows.AppendBound(nil, b, ns), ns, digits)
}

func printTree(w io.Writer, tree *app.Tree, digits int) error {
	out := bufio.NewWriterSize(w, 1<<16)
	fmt.Fprintf(out, "%12s %6s %12s %12s  %s\n", "total", "%", "self", "calls", "function")
	var line, cell []byte
	tree.Walk(func(n *app.TreeNode, path []*app.TreeNode) bool {
		share := 0.0
		if tree.Total > 0 {
			share = 100 * float64(n.Total) / float64(tree.Total)
		}
		line = line[:0]
		column := func(text []byte, width int) {
			for i := utf8.RuneCount(text); i < width; i++ {
				line = append(line, ' ')
			}
			line = append(line, text...)
		}
		cell = rows.AppendDuration(rows.AppendBound(cell[:0], n.Bound, n.Total), n.Total, digits)
		column(cell, 12)
		cell = strconv.AppendFloat(cell[:0], share, 'f', 2, 64)
		line = append(line, ' ')
		column(cell, 6)
		cell = rows.AppendDuration(rows.AppendBound(cell[:0], n.SelfBound, n.Self), n.Self, digits)
		line = append(line, ' ')
		column(cell, 12)
		cell = strconv.AppendInt(cell[:0], n.Calls, 10)
		line = append(line, ' ')
		column(cell, 12)
		line = append(line, "  "...)
		for range path {
			line = append(line, "  "...)
		}
		line = append(append(append(line, rows.Visible(n.Label())...), stillRunning(n.Running)...), '\n')
		out.Write(line)
		return true
	})
	return out.Flush()
}
