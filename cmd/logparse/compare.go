package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"logparser/app"
	"logparser/rows"
)

// errDiffer ends a comparison of logs that are not the same. It has been told.
var errDiffer = errors.New("the logs differ")

// Bounds of what is printed of a comparison.
const (
	comparedCallers   = 12
	comparedFunctions = 10
)

func newCompare() *cobra.Command {
	var in inputFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Find where the threads of two runs part: the first call that is not the same",
		Long: `compare says of each thread of the run A whether it made the same calls, in the
same order, as that thread of the run B, and where it first did not: the event in
both logs, with its row and the functions that it was called in.

Functions are known by their names, and the program itself by being it: addresses
and builds may differ. Threads are known by their names; of those that share one, or
have none, by the function that they enter first, in the order in which they
began. Times do not count, nor how threads took turns. Without symbols a function
is its place in its module, which is only good for two runs of one build.

Exit status: 0 the same, 4 not the same, 1 an error.`,
		Example: `  logparse compare good.lptrace bad.lptrace
  logparse compare monday/ tuesday/ --symbols build/ --json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("%s takes two logs, not %d", cmd.Name(), len(args))
			}
			if args[0] == standardInput && args[1] == standardInput {
				return errors.New("-, the standard input, is one of two logs at most")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var sessions [2]*app.Session
			for i := range sessions {
				s, err := in.open(cmd, args[i:i+1])
				if err != nil {
					return err
				}
				defer s.Close()
				if err := in.doubtNames(cmd, s); err != nil {
					return err
				}
				sessions[i] = s
			}
			a, b := sessions[0], sessions[1]
			p := newProgress(cmd.ErrOrStderr())
			c, err := app.Compare(cmd.Context(), a, b, p.report)
			p.clear()
			if err != nil {
				return err
			}
			w := bufio.NewWriter(cmd.OutOrStdout())
			write := printComparison
			if asJSON {
				write = printComparisonJSON
			}
			if err := write(w, a, b, c); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
			for _, s := range sessions {
				if err := in.finish(s); err != nil {
					return err
				}
			}
			if !c.Same() {
				return errDiffer
			}
			return nil
		},
	}
	in.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a pair of threads")
	return cmd
}

// comparedThread is what a thread is called.
func comparedThread(t *app.ComparedThread) string {
	text := "thread " + t.Text()
	if t.Stack != 0 {
		text += fmt.Sprintf(", stack %d", t.Stack)
	}
	return rows.Visible(text)
}

func printComparison(w io.Writer, a, b *app.Session, c *app.Comparison) error {
	same := 0
	for i := range c.Threads {
		t := &c.Threads[i]
		switch {
		case t.A == nil:
			fmt.Fprintf(w, "B, %s: %s, and no thread of A to compare it with\n\n", comparedThread(t.B), rowCount(t.B.Events))
			continue
		case t.B == nil:
			fmt.Fprintf(w, "A, %s: %s, and no thread of B to compare it with\n\n", comparedThread(t.A), rowCount(t.A.Events))
			continue
		}
		fmt.Fprintf(w, "A, %s; B, %s (%s):\n", comparedThread(t.A), comparedThread(t.B), t.Reason.String())
		if !t.Differ {
			same++
			fmt.Fprintf(w, "  the same: %s\n\n", rowCount(t.Equal))
			continue
		}
		fmt.Fprintf(w, "  the same: %s of %d and %d; then\n", rowCount(t.Equal), t.A.Events, t.B.Events)
		for _, l := range []struct {
			name string
			s    *app.Session
			t    *app.ComparedThread
		}{{"A", a, t.A}, {"B", b, t.B}} {
			d, err := divergenceOf(l.s, l.t)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "  %s  %s\n", l.name, d.text())
			for k, f := range d.Callers {
				if k == comparedCallers {
					fmt.Fprintf(w, "       ... and %d more\n", len(d.Callers)-k)
					break
				}
				fmt.Fprintf(w, "       in %s%s\n", rows.Visible(f.Function), placeText(f))
			}
		}
		fmt.Fprintln(w)
	}
	printOnly(w, "A", c.OnlyA)
	printOnly(w, "B", c.OnlyB)
	_, err := fmt.Fprintf(w, "%d of %d threads did the same\n", same, len(c.Threads))
	return err
}

func rowCount(n int64) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// printOnly says which functions only one log has.
func printOnly(w io.Writer, name string, list []app.FunctionRef) {
	if len(list) == 0 {
		return
	}
	var names []string
	for _, f := range list[:min(len(list), comparedFunctions)] {
		names = append(names, rows.Visible(f.Function))
	}
	more := ""
	if left := len(list) - len(names); left > 0 {
		more = fmt.Sprintf(" and %d more", left)
	}
	fmt.Fprintf(w, "functions that only %s entered: %s%s\n", name, strings.Join(names, ", "), more)
}

// A divergence is the first event of a thread that the other did not have, as JSON.
type divergence struct {
	// Event is "end" where the thread had no more events; Row and the rest are then those of its
	// last.
	Event    string          `json:"event"`
	Row      *int64          `json:"row,omitempty"`
	Function string          `json:"function,omitempty"`
	Module   string          `json:"module,omitempty"`
	Source   string          `json:"source,omitempty"`
	Line     int             `json:"line,omitempty"`
	Callers  []jsonCalledFor `json:"callers"`
}

// A jsonCalledFor is a call that was open, the innermost first.
type jsonCalledFor struct {
	Function string `json:"function"`
	Source   string `json:"source,omitempty"`
	Line     int    `json:"line,omitempty"`
	Row      *int64 `json:"row,omitempty"`
}

// divergenceOf returns what a thread did that the other did not.
func divergenceOf(s *app.Session, t *app.ComparedThread) (divergence, error) {
	d := divergence{Event: "end", Callers: []jsonCalledFor{}}
	row := t.Row
	if row < 0 {
		row = t.Before
	}
	if row < 0 {
		return d, nil
	}
	r := s.Rows().Row(row)
	stack, err := s.Stack(row)
	if err != nil {
		return d, err
	}
	d.Row = &row
	if t.Row >= 0 {
		d.Event, d.Function, d.Module, d.Source, d.Line = r.Event.String(), r.Function, r.Module, r.Source, r.Line
	}
	// The last is the call that the row itself enters or leaves.
	if n := len(stack); n > 0 && (t.Row >= 0 || r.Event == rows.Leave) {
		stack = stack[:n-1]
	}
	for i := len(stack) - 1; i >= 0; i-- {
		f := &stack[i]
		c := jsonCalledFor{Function: f.Function, Source: f.Source, Line: f.Line}
		if f.Enter >= 0 {
			enter := f.Enter
			c.Row = &enter
		}
		d.Callers = append(d.Callers, c)
	}
	return d, nil
}

func (d *divergence) text() string {
	switch {
	case d.Row == nil:
		return "no events"
	case d.Event == "end":
		return fmt.Sprintf("row %d was the thread's last", *d.Row)
	}
	return fmt.Sprintf("row %d: %s %s%s", *d.Row, d.Event, rows.Visible(d.Function), sourceText(d.Source, d.Line))
}

func placeText(c jsonCalledFor) string {
	text := ""
	if c.Row != nil {
		text = fmt.Sprintf(", row %d", *c.Row)
	}
	return text + sourceText(c.Source, c.Line)
}

func sourceText(source string, line int) string {
	if source == "" {
		return ""
	}
	return fmt.Sprintf("  %s:%d", rows.Visible(source), line)
}

// A jsonComparison is two threads that were compared.
type jsonComparison struct {
	A      *jsonCompared `json:"a,omitempty"`
	B      *jsonCompared `json:"b,omitempty"`
	Reason string        `json:"reason,omitempty"`
	Same   bool          `json:"same"`
	Equal  int64         `json:"equal_events"`
}

type jsonCompared struct {
	Thread  uint32      `json:"thread"`
	Name    string      `json:"name,omitempty"`
	Process uint32      `json:"process,omitempty"`
	Stack   uint32      `json:"stack,omitempty"`
	Events  int64       `json:"events"`
	Differs *divergence `json:"differs,omitempty"`
}

func printComparisonJSON(w io.Writer, a, b *app.Session, c *app.Comparison) error {
	for i := range c.Threads {
		t := &c.Threads[i]
		j := jsonComparison{Reason: t.Reason.String(), Same: !t.Differ, Equal: t.Equal}
		for _, l := range []struct {
			to **jsonCompared
			s  *app.Session
			t  *app.ComparedThread
		}{{&j.A, a, t.A}, {&j.B, b, t.B}} {
			if l.t == nil {
				continue
			}
			compared := &jsonCompared{Thread: l.t.ID, Name: l.t.Name, Stack: l.t.Stack, Events: l.t.Events}
			if l.t.Process != nil {
				compared.Process = l.t.Process.ID
			}
			if t.Differ && t.A != nil && t.B != nil {
				d, err := divergenceOf(l.s, l.t)
				if err != nil {
					return err
				}
				compared.Differs = &d
			}
			*l.to = compared
		}
		if err := printJSON(w, j); err != nil {
			return err
		}
	}
	return nil
}
