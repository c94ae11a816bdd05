package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
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
				if percent > 0 || depth > 0 {
					tree.Roots = pruned(tree.Roots, int64(percent/100*float64(tree.Total)), cmp.Or(depth, -1))
				}
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

// A treeLine is a node and how many lie above it.
type treeLine struct {
	node  *app.TreeNode
	level int
}

// printedLines is how many lines of a tree are made into text at a time.
const printedLines = 2048

// printTree writes a tree, a line a node. A tree may have 200,000 of them, whose texts take as long to make as the tree itself: all
// processors make some, and no more than a few pieces are in memory.
func printTree(w io.Writer, tree *app.Tree, digits int) error {
	if _, err := fmt.Fprintf(w, "%12s %6s %12s %12s  %s\n", "total", "%", "self", "calls", "function"); err != nil {
		return err
	}
	type piece struct {
		text []byte
		done chan struct{}
	}
	ahead := make(chan *piece, 2*runtime.GOMAXPROCS(0))
	free := make(chan []byte, cap(ahead)+2)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		defer close(ahead)
		running := make(chan struct{}, runtime.GOMAXPROCS(0))
		begin := func(lines []treeLine) (ok bool) {
			p := &piece{done: make(chan struct{})}
			select {
			case ahead <- p:
			case <-stop:
				return false
			}
			select {
			case p.text = <-free:
			default:
			}
			running <- struct{}{}
			go func() {
				defer close(p.done)
				for i := range lines {
					p.text = lines[i].append(p.text, tree, digits)
				}
				<-running
			}()
			return true
		}
		var lines []treeLine
		going := true
		tree.Walk(func(n *app.TreeNode, path []*app.TreeNode) bool {
			if lines = append(lines, treeLine{n, len(path)}); going && len(lines) == printedLines {
				going, lines = begin(lines), make([]treeLine, 0, printedLines)
			}
			return going
		})
		if going && len(lines) > 0 {
			begin(lines)
		}
	}()
	for p := range ahead {
		<-p.done
		if _, err := w.Write(p.text); err != nil {
			return err
		}
		free <- p.text[:0]
	}
	return nil
}

// append appends the line's text.
func (l *treeLine) append(line []byte, tree *app.Tree, digits int) []byte {
	n := l.node
	share := 0.0
	if tree.Total > 0 {
		share = 100 * float64(n.Total) / float64(tree.Total)
	}
	var memory [64]byte
	cell := rows.AppendDuration(rows.AppendBound(memory[:0], n.Bound, n.Total), n.Total, digits)
	line = append(appendRight(line, cell, 12), ' ')
	partial := memory[:0]
	if n.Partial {
		partial = rows.AppendBound(partial, rows.AtLeast, n.Calls)
	}
	cell = strconv.AppendFloat(partial, share, 'f', 2, 64)
	line = append(appendRight(line, cell, 6), ' ')
	cell = rows.AppendDuration(rows.AppendBound(memory[:0], n.SelfBound, n.Self), n.Self, digits)
	line = append(appendRight(line, cell, 12), ' ')
	if partial = memory[:0]; n.Partial {
		partial = rows.AppendBound(partial, rows.AtLeast, n.Calls)
	}
	cell = strconv.AppendInt(partial, n.Calls, 10)
	line = append(appendRight(line, cell, 12), "  "...)
	for range l.level {
		line = append(line, "  "...)
	}
	return append(append(append(line, rows.Visible(n.Label())...), stillRunning(n.Running)...), '\n')
}

// appendRight appends a text that is at the right of a column.
func appendRight(line, text []byte, width int) []byte {
	const blanks = "                "
	if n := utf8.RuneCount(text); n < width {
		line = append(line, blanks[:width-n]...)
	}
	return append(line, text...)
}
