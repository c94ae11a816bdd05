package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"
	"unicode/utf8"

	"logparser/rows"
)

// visible makes a text from a file safe to print.
func visible(s string) string { return rows.Visible(s) }

func writeText(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%-9s %s\n", name, visible(value))
		}
	}
	line("cause", r.Cause)
	line("code", r.Code)
	line("program", r.Program)
	line("command", r.CommandLine)
	if r.PID != 0 {
		line("process", fmt.Sprint(r.PID))
	}
	line("time", r.Time)
	line("file", fmt.Sprintf("%s (%s, %s)", r.File, r.Format, strings.TrimSpace(r.System+" "+r.Machine)))
	line("log", r.Log)
	for _, n := range r.Notes {
		line("note", n)
	}
	for i := range r.Threads {
		writeThread(out, r, &r.Threads[i])
	}
	if len(r.Modules) > 0 {
		fmt.Fprintf(out, "\nmodules\n")
		for _, m := range r.Modules {
			fmt.Fprintf(out, "  %#0*x-%#0*x  %-12s %s\n", 2*r.Pointers, uint64(m.Base), 2*r.Pointers, uint64(m.End), m.Status, visible(m.Path))
			if m.Reason != "" {
				fmt.Fprintf(out, "      %s\n", visible(m.Reason))
			}
		}
	}
	return out.Flush()
}

// columns returns the cells of the table of frames. joined says that the rows have open calls of a log.
func (t *Thread) columns() (list [][]string, joined bool) {
	for i := range t.Rows {
		row := &t.Rows[i]
		number := ""
		if row.Number >= 0 {
			number = fmt.Sprint(row.Number)
		}
		joined = joined || row.Source != ""
		name, place := "?", ""
		if len(row.Functions) > 0 {
			name, place = row.name(&row.Functions[0]), row.Functions[0].place()
		}
		if row.Signal {
			name = "<signal handler called> " + name
		}
		list = append(list, []string{number, visible(name), visible(place), visible(row.at()), row.foundBy(), row.Source, row.Entered, row.Running})
		for k := 1; k < len(row.Functions); k++ {
			f := &row.Functions[k]
			list = append(list, []string{"", "  inlined into " + visible(row.name(f)), visible(f.place()), "", "", "", "", ""})
		}
	}
	return list, joined
}

// widest bounds the width of a column, in characters, so that a long name does not push the other columns out of sight.
const widest = 60

// unsavedStack is shown after the last frame if there may be more.
const unsavedStack = "… there may be more frames: the rest of the stack was not saved …"

func writeThread(out *bufio.Writer, r *Report, t *Thread) {
	fmt.Fprintf(out, "\n%s\n", visible(t.title()))
	head := []string{"#", "function", "file:line", "address", "found by", "source", "entered", "running"}
	list, joined := t.columns()
	if !joined {
		head = head[:5]
	}
	list = append([][]string{head}, list...)
	width := make([]int, len(head))
	for _, row := range list {
		for i := range head {
			width[i] = max(width[i], min(utf8.RuneCountInString(row[i]), widest))
		}
	}
	frames := 0
	for k, row := range list {
		var b strings.Builder
		for i := range head {
			b.WriteString("  " + row[i])
			if pad := width[i] - utf8.RuneCountInString(row[i]); pad > 0 {
				b.WriteString(strings.Repeat(" ", pad))
			}
		}
		if k > 0 && row[0] != "" {
			if frames == t.First && t.Omitted > 0 {
				fmt.Fprintf(out, "  … %d frames are left out …\n", t.Omitted)
			}
			frames++
		}
		fmt.Fprintln(out, strings.TrimRight(b.String(), " "))
	}
	if t.Unsaved {
		fmt.Fprintf(out, "  %s\n", unsavedStack)
	}
	if !t.Crashed {
		return
	}
	writeSource(out, r)
	fmt.Fprintf(out, "\n  registers\n")
	for i, reg := range t.Registers {
		fmt.Fprintf(out, "  %4s %0*x", reg.Name, 2*r.Pointers, uint64(reg.Value))
		if i%4 == 3 || i == len(t.Registers)-1 {
			fmt.Fprintln(out)
		}
	}
	if c := r.Bytes; c != nil && len(c.Bytes) > 0 {
		fmt.Fprintf(out, "\n  code from %#x:", uint64(c.Address))
		for i, b := range c.Bytes {
			if uint64(c.Address)+uint64(i) == uint64(c.At) {
				fmt.Fprintf(out, " <%02x>", b)
			} else {
				fmt.Fprintf(out, " %02x", b)
			}
		}
		fmt.Fprintln(out)
	}
}

// numbered returns the source lines with their numbers, and a mark at the line at which the process ended.
func (s *Source) numbered() string {
	var b strings.Builder
	for i, line := range s.Lines {
		mark := "  "
		if s.First+i == s.Line {
			mark = "=>"
		}
		fmt.Fprintf(&b, "%s %5d  %s\n", mark, s.First+i, visible(line))
	}
	return b.String()
}

func writeSource(out *bufio.Writer, r *Report) {
	s := r.Source
	if s == nil {
		return
	}
	fmt.Fprintf(out, "\n  %s\n%s", visible(s.File), s.numbered())
}

func writeJSON(w io.Writer, r *Report) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return err
	}
	_, err := w.Write(rows.VisibleJSON(b.Bytes()))
	return err
}

// writeGDB writes the stacks as gdb does: inlined functions are frames of their own. gdb leaves an address out if it is the
// first of a line. That is not known here, so all frames have an address except the inlined ones and the first.
func writeGDB(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	if r.Cause != "" {
		fmt.Fprintf(out, "Program terminated: %s.\n", visible(r.Cause))
	}
	for i := range r.Threads {
		t := &r.Threads[i]
		fmt.Fprintf(out, "\nThread %d (%s):\n", i+1, visible(t.title()))
		n := 0
		for k := range t.Rows {
			row := &t.Rows[k]
			if row.Number < 0 {
				continue // gdb has no calls of a log
			}
			if row.Number == t.First && t.Omitted > 0 {
				fmt.Fprintf(out, "(%d frames are left out)\n", t.Omitted)
				n += t.Omitted
			}
			if row.Signal {
				fmt.Fprintf(out, "#%-3d<signal handler called>\n", n)
				n++
				continue
			}
			list := row.Functions
			if len(list) == 0 {
				list = []Function{{Name: "??"}}
			}
			for f := range list {
				fmt.Fprintf(out, "#%-3d", n)
				if f == len(list)-1 && !(n == 0 && row.Exact && list[f].Line > 0) {
					fmt.Fprintf(out, "%#0*x in ", 2*r.Pointers, uint64(row.Address))
				}
				fmt.Fprintf(out, "%s ()", visible(row.mark()+list[f].Name))
				switch place := list[f].place(); {
				case place != "":
					fmt.Fprintf(out, " at %s", visible(place))
				case row.Module != "":
					fmt.Fprintf(out, " from %s", visible(row.Module))
				}
				fmt.Fprintln(out)
				n++
			}
		}
		if t.Unsaved {
			fmt.Fprintln(out, "Backtrace stopped: the rest of the stack was not saved.")
		}
	}
	return out.Flush()
}

var page = template.Must(template.New("crash").Funcs(template.FuncMap{
	"hex":     func(h Hex) string { return fmt.Sprintf("%#x", uint64(h)) },
	"title":   func(t Thread) string { return t.title() },
	"cells":   func(t Thread) [][]string { list, _ := t.columns(); return list },
	"bytes":   func(b HexBytes) string { return fmt.Sprintf("% x", []byte(b)) },
	"show":    visible,
	"lines":   func(s *Source) string { return s.numbered() },
	"unsaved": func() string { return unsavedStack },
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{show .File}}</title><style>
body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;margin:.5em 0}
td,th{padding:.15em .8em .15em 0;text-align:left;vertical-align:top;font-family:monospace;white-space:pre}
th{border-bottom:1px solid #999}h1{font-size:1.3em}.crashed{color:#a00}
</style></head><body>
<h1>{{show .Cause}}</h1>
<table>
<tr><td>file</td><td>{{show .File}} ({{.Format}}, {{.System}} {{.Machine}})</td></tr>
{{with .Code}}<tr><td>code</td><td>{{show .}}</td></tr>
{{end}}{{with .Program}}<tr><td>program</td><td>{{show .}}</td></tr>
{{end}}{{with .CommandLine}}<tr><td>command</td><td>{{show .}}</td></tr>
{{end}}{{with .PID}}<tr><td>process</td><td>{{.}}</td></tr>
{{end}}{{with .Time}}<tr><td>time</td><td>{{.}}</td></tr>
{{end}}{{with .Log}}<tr><td>log</td><td>{{show .}}</td></tr>
{{end}}{{range .Notes}}<tr><td>note</td><td>{{show .}}</td></tr>
{{end}}</table>
{{range .Threads}}<h2{{if .Crashed}} class="crashed"{{end}}>{{show (title .)}}</h2>
<table><tr><th>#</th><th>function</th><th>file:line</th><th>address</th><th>found by</th><th>source</th><th>entered</th><th>running</th></tr>
{{range cells .}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</table>
{{if .Omitted}}<p>{{.Omitted}} frames are left out after the first {{.First}}.</p>
{{end}}{{if .Unsaved}}<p>{{unsaved}}</p>
{{end}}{{if .Crashed}}<table>{{range .Registers}}<tr><td>{{.Name}}</td><td>{{hex .Value}}</td></tr>
{{end}}</table>
{{end}}{{end}}{{with .Source}}<p>{{show .File}}</p><pre>{{lines .}}</pre>
{{end}}{{with .Bytes}}<p>code from {{hex .Address}}, the process ended at {{hex .At}}</p><pre>{{bytes .Bytes}}</pre>
{{end}}<h2>modules</h2>
<table><tr><th>base</th><th>end</th><th>symbols</th><th>path</th></tr>
{{range .Modules}}<tr><td>{{hex .Base}}</td><td>{{hex .End}}</td><td>{{.Status}}</td><td>{{show .Path}}</td></tr>
{{end}}</table>
</body></html>
`))

func writeHTML(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	if err := page.Execute(out, r); err != nil {
		return err
	}
	return out.Flush()
}
