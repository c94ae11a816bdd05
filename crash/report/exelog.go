package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// writeExeLog writes the report of a crash handler as the figure of a patent of 2004 has it: a line with time, thread, place and
// module of the crash, the exception in brackets, and from the fifth line on the numbered stack of the thread. Each frame has the
// module, its address and its offset in the module, and function, file and line if they are known. Behind it stand what
// the figure leaves out: registers, the other threads, and the modules. If no thread crashed, because the dump was
// taken of a running process, the report begins with the first thread.
func writeExeLog(w io.Writer, r *Report) error {
	out := bufio.NewWriter(w)
	first := max(slices.IndexFunc(r.Threads, func(t Thread) bool { return t.Crashed }), 0)
	for i := range r.Threads {
		// The thread that crashed comes first, then the others in their order.
		k := i
		if i <= first {
			k = (i + first) % (first + 1)
		}
		t := &r.Threads[k]
		if i == 0 {
			exeLogHead(out, r, t)
		} else {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "Call stack of thread %s:\n", r.threadID(t))
		// Of a thread without frames, the calls are told that its log has open.
		isFrame := func(row Row) bool { return row.Number >= 0 }
		frames := slices.ContainsFunc(t.Rows, isFrame)
		for j := range t.Rows {
			row := &t.Rows[j]
			if frames && !isFrame(*row) {
				continue
			}
			exeLogFrame(out, r, row)
			if row.Number+1 == t.First && t.Omitted > 0 {
				fmt.Fprintf(out, "(%d frames are left out)\n", t.Omitted)
			}
		}
		if len(t.Registers) > 0 {
			fmt.Fprintf(out, "Registers of thread %s:\n", r.threadID(t))
			for j, register := range t.Registers {
				end := " "
				if j%4 == 3 || j == len(t.Registers)-1 {
					end = "\n"
				}
				fmt.Fprintf(out, "%s=%0*X%s", register.Name, 2*r.Pointers, uint64(register.Value), end)
			}
		}
	}
	if len(r.Modules) > 0 {
		fmt.Fprintf(out, "\nModules:\n")
	}
	for _, m := range r.Modules {
		fmt.Fprintf(out, "%0*X-%0*X %s\n", 2*r.Pointers, uint64(m.Base), 2*r.Pointers, uint64(m.End), visible(m.Path))
	}
	return out.Flush()
}

// threadID returns the id of a thread as its system shows it: Windows in hexadecimal, others in decimal.
func (r *Report) threadID(t *Thread) string {
	if r.Exception != nil {
		return fmt.Sprintf("%08X", t.ID)
	}
	return strconv.FormatUint(t.ID, 10)
}

func exeLogHead(out *bufio.Writer, r *Report, t *Thread) {
	if r.Local != "" {
		fmt.Fprintf(out, "%s ", r.Local)
	}
	what := "Thread"
	if t.Crashed {
		what = "Caused an exception in thread"
	}
	fmt.Fprintf(out, "%s %s", what, r.threadID(t))
	if len(t.Rows) > 0 && t.Rows[0].Number == 0 {
		row := &t.Rows[0]
		fmt.Fprintf(out, " at %0*X", 2*r.Pointers, uint64(row.Address))
		if row.Section > 0 {
			fmt.Fprintf(out, " %04X:%08X", row.Section, uint64(row.SectionOffset))
		}
		if row.Module != "" {
			fmt.Fprintf(out, " %s", visible(row.Module))
		}
	}
	fmt.Fprintln(out)
	if e := r.Exception; e != nil {
		fmt.Fprintf(out, "[Exception Code: 0x%08X]\n[Exception Flags: 0x%08X]\n", uint64(e.Code), uint64(e.Flags))
	} else {
		fmt.Fprintf(out, "[%s]\n[%s]\n", visible(r.Cause), visible(cmp.Or(r.Code, "no code")))
	}
}

// exeLogFrame writes a frame, and the functions that were inlined there, innermost first; or a call that only the log knows.
func exeLogFrame(out *bufio.Writer, r *Report, row *Row) {
	line := func(f *Function) {
		if row.Number >= 0 {
			fmt.Fprintf(out, "[%d]", row.Number+1)
			if row.Module != "" {
				fmt.Fprintf(out, " %s", visible(baseName(row.Module)))
			}
			fmt.Fprintf(out, " %0*X", 2*r.Pointers, uint64(row.Address))
			if row.Module != "" {
				fmt.Fprintf(out, " %08X", uint64(row.Offset))
			}
		} else {
			fmt.Fprint(out, "[open call]")
		}
		if f != nil {
			fmt.Fprintf(out, " %s", visible(row.mark()+f.Name))
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
