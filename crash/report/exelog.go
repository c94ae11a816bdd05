package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// writeExeLog writes the short report of a crash handler that a patent of 2004 describes: time, thread and place of the crash,
// the exception, and the numbered stack of the thread. Each frame has the module and, if they are known, function, file and
// line. If no thread crashed, because the dump was taken of a running process, the report has all threads.
func writeExeLog(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	crashed := slices.ContainsFunc(r.Threads, func(t Thread) bool { return t.Crashed })
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Crashed || !crashed {
			exeLogHead(out, r, t)
			for k := range t.Rows {
				if row := &t.Rows[k]; row.Number >= 0 {
					exeLogFrame(out, r, row)
				}
			}
		}
	}
	return out.Flush()
}

func exeLogHead(out *bufio.Writer, r *Report, t *Thread) {
	// Windows shows the ids of threads in hexadecimal, other systems in decimal.
	id := strconv.FormatUint(t.ID, 10)
	if r.Exception != nil {
		id = fmt.Sprintf("%08X", t.ID)
	}
	when := r.Local
	if when != "" {
		when += " "
	}
	if t.Crashed {
		fmt.Fprintf(out, "%sCaused an exception in thread %s\n", when, id)
	} else {
		fmt.Fprintf(out, "%sThread %s\n", when, id)
	}
	if len(t.Rows) > 0 && t.Rows[0].Number == 0 {
		row := &t.Rows[0]
		fmt.Fprintf(out, "at %0*X", 2*r.Pointers, uint64(row.Address))
		if row.Section > 0 {
			fmt.Fprintf(out, " %04X:%08X", row.Section, uint64(row.SectionOffset))
		}
		if row.Module != "" {
			fmt.Fprintf(out, " %s", visible(row.Module))
		}
		fmt.Fprintln(out)
	}
	if e := r.Exception; e != nil {
		fmt.Fprintf(out, "Exception Code: 0x%08X\nException Flags: 0x%08X\n", uint64(e.Code), uint64(e.Flags))
	} else {
		fmt.Fprintf(out, "%s\n", visible(r.Cause))
	}
	fmt.Fprintf(out, "Call stack of thread %s:\n", id)
}

// exeLogFrame writes a frame, and the functions that were inlined there, innermost first.
func exeLogFrame(out *bufio.Writer, r *Report, row *Row) {
	line := func(f *Function) {
		fmt.Fprintf(out, "[%d]", row.Number+1)
		if row.Module != "" {
			fmt.Fprintf(out, " %s %08X", visible(baseName(row.Module)), uint64(row.Offset))
		} else {
			fmt.Fprintf(out, " %0*X", 2*r.Pointers, uint64(row.Address))
		}
		if f != nil {
			fmt.Fprintf(out, " %s", visible(f.Name))
			if f.File != "" {
				fmt.Fprintf(out, ", %s", visible(baseName(f.File)))
				if f.Line > 0 {
					fmt.Fprintf(out, ", line %d", f.Line)
				}
			}
		}
		fmt.Fprintln(out)
	}
	if len(row.Functions) == 0 {
		line(nil)
	}
	for i := range row.Functions {
		line(&row.Functions[i])
	}
}
