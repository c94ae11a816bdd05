package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"logparser/crash/report"
	"logparser/message"
	"logparser/rows"
	"logparser/symbols"
	"logparser/symbols/unwind"
	"logparser/wholefile"
)

// ReportOptions say what a report of a crash has.
type ReportOptions struct {
	// Frames is how many frames of a thread are shown; the middle ones are left out. 0
	// stands for 256.
	Frames int
	// AllThreads takes the stacks of all threads, not only of the one that crashed.
	AllThreads bool
	// AllModules looks for the symbols of modules that are on no stack, too.
	AllModules bool
	// Sources shows lines of source around the innermost frame, as far as
	// Mappings find the file, or the path itself where paths out of files may be opened.
	// Reports that are passed on have them only if the user asks for it.
	Sources  bool
	Mappings []SourceMapping
	// Log is the base name of the log that OpenCalls are of, "" without one.
	Log       string
	OpenCalls []OpenCall
	// Digits is how many decimals of a second the log's clock is worth.
	Digits int
	// Say puts a text into another language; nil: into English, as reports are saved.
	Say func(message.Text) string
}

// What a report has; see package report.
type (
	CrashReport  = report.Report
	ReportThread = report.Thread
	ReportRow    = report.Row
)

// TakeLog takes the calls that a log has open, which is loaded.
func (opt *ReportOptions) TakeLog(s *Session) {
	const most = 1 << 16
	opt.Log, opt.OpenCalls, opt.Digits = filepath.Base(s.Inputs().Log), s.OpenCalls(most), s.Rows().TimeDigits()
}

// said says a text in the language of the report.
func (opt *ReportOptions) said(t message.Text) string {
	if opt.Say == nil {
		return t.String()
	}
	return opt.Say(t)
}

func writeReport(w io.Writer, r *CrashReport, format string) error { return report.Write(w, r, format) }

// CrashFormats returns the names of the formats that [Crash.WriteReport] writes, the first the
// default.
func CrashFormats() []string { return report.Formats }

// WriteReport writes a report in a format.
func (c *Crash) WriteReport(w io.Writer, format string, opt ReportOptions) error {
	r, err := c.Report(opt)
	if err != nil {
		return err
	}
	return writeReport(w, r, format)
}

// ReportName returns the name of the file that a report is kept in: that of the program, "log" and the local time
// of the crash, as in abc.exelog20030213092312. Where the time is not known it is that at which the dump
// was last written.
func (c *Crash) ReportName() string {
	program := c.Program
	if program == "" {
		program = filepath.Base(c.File)
	}
	when := c.Time
	if info, err := os.Stat(c.File); when.IsZero() && err == nil {
		when = info.ModTime()
	}
	return reportStem(program) + "log" + when.Local().Format("20060102150405")
}

// reportStem makes what a dump calls its program the beginning of a file's name, on any system.
func reportStem(program string) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`:*?"<>|`, r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, program[strings.LastIndexAny(program, `/\`)+1:])
	const most = 100
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	if strings.Trim(name, ". ") == "" {
		return "program"
	}
	return name
}

// SaveReport writes the report in the format "exelog" to a new file of [Crash.ReportName] in a folder, and returns
// its path: where the name is taken, by another crash of the same second, it ends with -2, -3 and so on. Those may read
// it who may read the dump. Whether the folder takes a file shows before any symbols are looked for.
func (c *Crash) SaveReport(ctx context.Context, dir string, opt ReportOptions) (string, error) {
	stem := c.ReportName()
	name := func(n int) string {
		if n == 1 {
			return stem
		}
		return stem + "-" + strconv.Itoa(n)
	}
	made, err := wholefile.MakeNew(dir, readersOf(c.File), name, func(w io.Writer) error {
		r, err := c.Report(opt)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		out := bufio.NewWriter(w)
		if err := writeReport(out, r, "exelog"); err != nil {
			return err
		}
		return out.Flush()
	})
	return filepath.Join(dir, made), err
}

// The code that a report has around the instruction at which the process ended, in bytes.
const (
	codeBefore = 16
	codeBehind = 48
)

// Report fills a report.
func (c *Crash) Report(opt ReportOptions) (*report.Report, error) {
	if opt.Frames <= 0 {
		opt.Frames = 256
	}
	r := &report.Report{
		File: filepath.Base(c.File), Format: c.Format, System: c.System, Machine: c.Machine.String(), Program: c.Program, CommandLine: c.CommandLine,
		PID: c.PID, Cause: opt.said(c.Cause.Text()), Code: c.Cause.CodeText(), Log: opt.Log, Pointers: c.Machine.PointerSize(),
	}
	if c.Cause.HasException {
		r.Exception = &report.Exception{Code: report.Hex(c.Cause.Exception), Flags: report.Hex(c.Cause.Flags)}
	}
	if !c.Time.IsZero() {
		r.Time, r.Local = c.Time.UTC().Format(time.RFC3339), c.Time.Local().Format(time.DateTime)
	}
	for _, n := range c.Notes {
		r.Notes = append(r.Notes, opt.said(n))
	}
	crashed, walk := c.Crashed(), c.walkable()
	for i := range c.Threads {
		t := &c.Threads[i]
		if !opt.AllThreads && crashed != nil && t != crashed {
			continue
		}
		before := walk
		out, err := c.reportThread(i, &walk, &opt)
		if err != nil {
			return nil, err
		}
		if walk <= 0 && before > 0 {
			r.Notes = append(r.Notes, opt.said(message.Textf("the stacks of its threads lie over each other: from thread %d on they are cut", t.ID)))
		}
		if t == crashed || crashed == nil && len(r.Threads) == 0 {
			if code, start := c.Code(i, codeBefore, codeBehind); len(code) > 0 {
				pc, _ := t.Registers.Get(c.Machine.PC())
				r.Bytes = &report.Code{Address: report.Hex(start), At: report.Hex(pc), Bytes: code}
			}
			if opt.Sources {
				r.Source = sourceAround(out.Rows, opt.Mappings, c.finder.RecordedPaths)
			}
		}
		r.Threads = append(r.Threads, out)
	}
	states, err := c.ModuleStates(opt.AllModules)
	if err != nil {
		return nil, err
	}
	for i := range states {
		m := &states[i]
		out := report.Module{Base: report.Hex(m.Base), End: report.Hex(m.Base + m.Size), Path: m.Path, Status: "-"}
		if id := m.Identity.String(); id != "-" {
			out.Identity = id
		}
		if m.Looked {
			out.Status, out.SymbolFile, out.Reason = string(m.Binding.Status), m.Binding.File, opt.said(m.Binding.Reason)
		}
		r.Modules = append(r.Modules, out)
	}
	return r, nil
}

// reportThread reports a thread. It takes its frames off walk, which is how many frames there can still be.
func (c *Crash) reportThread(i int, walk *int, opt *ReportOptions) (out report.Thread, err error) {
	t := &c.Threads[i]
	out = report.Thread{ID: t.ID, Name: t.Name, Crashed: t.Crashed}
	for _, n := range c.Machine.Shown() {
		if v, ok := t.Registers.Get(n); ok {
			out.Registers = append(out.Registers, report.Register{Name: c.Machine.RegisterName(n), Value: report.Hex(v)})
		}
	}
	frames, first, omitted, err := c.stack(i, opt.Frames, *walk)
	if err != nil {
		return out, err
	}
	*walk -= len(frames) + omitted
	out.First, out.Omitted = first, omitted
	out.Unsaved = len(frames) > 0 && c.stackCut(&frames[len(frames)-1].Frame)
	var list []report.Row
	for k := range frames {
		number := k
		if k >= first {
			number += omitted
		}
		list = append(list, c.reportFrame(&frames[k], number))
	}
	if opt.Log == "" {
		out.Rows = list
		return out, nil
	}
	var calls []OpenCall
	for _, o := range opt.OpenCalls {
		if uint64(o.Thread.ID) == t.ID {
			calls = append(calls, o)
		}
	}
	for _, j := range c.Joined(frames, calls) {
		row := report.Row{Number: -1}
		if j.Frame >= 0 {
			row = list[j.Frame]
		}
		row.Source = string(j.Source)
		if j.Call >= 0 {
			o := &calls[j.Call]
			if row.Number < 0 {
				row.Functions = []report.Function{{Name: o.Function, File: o.Source, Line: o.Line}}
			}
			row.LogRow = o.Row + 1
			row.Entered = string(rows.AppendDuration(nil, o.Elapsed, opt.Digits))
			row.Running = string(rows.AppendDuration(rows.AppendBound(nil, o.Bound, o.Lasted), o.Lasted, opt.Digits))
		}
		out.Rows = append(out.Rows, row)
	}
	return out, nil
}

// stackCut reports whether the stack behind a thread's last frame was there and was not saved.
func (c *Crash) stackCut(last *unwind.Frame) bool {
	sp, ok := last.Registers.Get(c.Machine.SP())
	if !ok || last.Outermost {
		return false
	}
	if _, saved, ok := c.Memory.Range(sp); ok {
		sp = saved
	}
	r, ok := c.Memory.Find(sp)
	return ok && sp-r.Start >= r.Saved && (!r.Rights || r.Writable)
}

func (c *Crash) reportFrame(f *CrashFrame, number int) report.Row {
	row := report.Row{Number: number, Address: report.Hex(f.PC), Exact: f.Exact, Found: string(f.Found), Doubtful: f.Doubtful, Signal: f.Signal}
	if f.Module >= 0 {
		if b := &c.module(f.Module).binding; b.Status == symbols.Unverified && len(f.Functions) > 0 {
			row.Symbols = string(b.Status)
		}
		row.Module, row.Offset = c.Modules[f.Module].Path, report.Hex(f.RVA)
		if index, start, ok := c.module(f.Module).section(f.RVA); ok {
			row.Section, row.SectionOffset = index, report.Hex(f.RVA-start)
		}
	}
	if f.Module < 0 {
		row.Unloaded = c.unloaded(f.Lookup(), f.PC)
	}
	for _, fn := range f.Functions {
		out := report.Function{Name: fn.Function, File: fn.File, Line: fn.Line}
		if fn.Signature != fn.Function {
			out.Signature = fn.Signature
		}
		row.Functions = append(row.Functions, out)
	}
	return row
}

// unloaded returns the modules that were unloaded before and had lain at an address, with the offset of another address, which is what
// the frame shows.
func (c *Crash) unloaded(address, shown uint64) (list []string) {
	const most = 8
	for i := range c.Unloaded {
		if m := &c.Unloaded[i]; m.Contains(address) && len(list) < most {
			if text := fmt.Sprintf("%s+%#x", m.Name(), shown-m.Base); !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
	}
	return list
}

// Lines of source that a report has before and behind the line, and the longest file and
// line that are looked at.
const (
	linesAround = 4
	maxLines    = 1 << 20
	maxLine     = 400
)

// sourceAround reads the lines around the innermost place that has a file here.
func sourceAround(list []report.Row, mappings []SourceMapping, own bool) *report.Source {
	for i := range list {
		for _, f := range list[i].Functions {
			if f.Line == 0 || f.File == "" {
				continue
			}
			path, err := SourceFile(f.File, mappings, own)
			if err != nil {
				return nil
			}
			file, err := os.Open(path)
			if err != nil {
				return nil
			}
			defer file.Close()
			return linesOf(file, f.File, f.Line)
		}
	}
	return nil
}

func linesOf(file io.Reader, name string, line int) *report.Source {
	s := &report.Source{File: name, First: max(1, line-linesAround), Line: line}
	in := bufio.NewScanner(file)
	in.Buffer(nil, 1<<20)
	for n := 1; n <= min(line+linesAround, maxLines) && in.Scan(); n++ {
		if n >= s.First {
			text := strings.ToValidUTF8(strings.TrimRight(in.Text(), "\r"), "?")
			s.Lines = append(s.Lines, text[:min(len(text), maxLine)])
		}
	}
	if len(s.Lines) == 0 {
		return nil
	}
	return s
}
