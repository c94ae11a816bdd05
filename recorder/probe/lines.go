package probe

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"logparser/message"
	"logparser/parser"
)

// A Tool is a program, or a file of the kernel, that sets probes.
type Tool struct {
	// Name is the name that users give, Title its description, Extension the extension of its scripts.
	Name, Title, Extension string
	// comment is how its comments begin.
	comment string
	// debugger says that it stops the program at each probe, vectors that it can read vector registers.
	debugger, vectors bool
	write             func(p *Plan, out *bufio.Writer)
}

// Tools are those that lines are written for.
var Tools = []Tool{
	{"perf", "a shell script that records with perf", ".sh", "# ", false, false, (*Plan).writePerf},
	{"uprobe", "lines for uprobe_events and kprobe_events of the kernel", ".probes", "# ", false, false, (*Plan).writeKernel},
	{"bpftrace", "a script for bpftrace", ".bt", "// ", false, false, (*Plan).writeBpftrace},
	{"gdb", "a script for gdb", ".gdb", "# ", true, true, (*Plan).writeGDB},
	{"windbg", "a script for WinDbg and cdb", ".wds", "$$ ", true, false, (*Plan).writeWinDbg},
	{"frida", "a script for frida", ".js", "// ", false, false, (*Plan).writeFrida},
	{"stap", "a script for SystemTap", ".stp", "// ", false, false, (*Plan).writeStap},
}

// ToolNames returns the names of all tools.
func ToolNames() (names []string) {
	for i := range Tools {
		names = append(names, Tools[i].Name)
	}
	return names
}

// ErrTool says that a tool cannot set probes in an image, because of its format or its processor.
var ErrTool = message.New("the tool sets no probes in images of this kind")

// FindTool returns the tool of a name, nil for none.
func FindTool(name string) *Tool {
	for i := range Tools {
		if Tools[i].Name == name {
			return &Tools[i]
		}
	}
	return nil
}

// Write writes the lines for the tool. With names, those of [Plan.Names] come first, as comments.
func (p *Plan) Write(w io.Writer, names bool) error {
	tool := p.tool
	if p.PE && (tool.comment == "# " && tool.Name != "gdb" || tool.Name == "bpftrace" || tool.Name == "stap") ||
		!p.PE && tool.Name == "windbg" || p.IsKernel() && (tool.debugger || tool.Name == "frida") {
		return ErrTool
	}
	if !tool.takesPath(p.Path) {
		return message.Errorf("%q: %s cannot be given this path: take a copy of the file with a plain name, in a folder with one", p.Path, tool.Name)
	}
	out := bufio.NewWriter(w)
	if tool.Name == "perf" {
		fmt.Fprintln(out, "#!/bin/sh")
	}
	if names {
		if err := p.Names().Write(out, tool.comment); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(out, tool.comment+madeBy)
	}
	tool.write(p, out)
	return out.Flush()
}

// madeBy is in the first lines of a file of probes, without what a comment begins with.
const madeBy = "made by logparse probes"

// IsFile reports whether a file that begins so has probes of this package, which may be replaced by others.
func IsFile(head []byte) bool {
	for range 2 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if bytes.HasSuffix(line, []byte(madeBy)) {
			return true
		}
		head = rest
	}
	return false
}

// takesPath reports whether a path means a file, and only that, in the lines of the tool.
func (t *Tool) takesPath(path string) bool {
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false // a line of its own could come of it
	}
	switch t.Name {
	case "perf", "uprobe":
		// The kernel divides a definition at blanks, of which the byte A0 is one, and takes what is behind # for a comment.
		return !strings.ContainsAny(path, " #") && strings.IndexByte(path, 0xa0) < 0
	case "bpftrace":
		return !strings.ContainsAny(path, `"\*?[$`) // it is quoted, but fits patterns
	}
	return true
}

// symbol returns the name by which a tool finds the function, "" where its lines cannot have it.
func (b *Probe) symbol() string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$@"
	if strings.Trim(b.Function.Linkage, plain) != "" {
		return ""
	}
	return b.Function.Linkage
}

// kernelRegister returns the name of a register in the kernel's definitions of probes.
func kernelRegister(place string) string {
	switch {
	case place == "stack":
		return "%sp"
	case len(place) == 3 && place[0] == 'r' && place[1] >= 'a':
		return "%" + place[1:] // rdi: %di
	}
	return "%" + place
}

// kernelType returns the type by which the kernel prints a fetch.
func (f *Fetch) kernelType() string {
	if f.Kind == Text {
		return "string"
	}
	bits := strconv.Itoa(8 * f.Size)
	if f.Shift > 0 {
		return "b" + bits + "@" + strconv.Itoa(f.Shift) + "/64"
	}
	return map[FetchKind]string{Signed: "s", Unsigned: "u", Hex: "x", Float: "x"}[f.Kind] + bits
}

// kernel returns a fetch as a definition of a probe has it.
func (f *Fetch) kernel(leave bool) string {
	text := kernelRegister(f.Place)
	if leave && (f.Place == "rax" || f.Place == "x0") {
		text = "$retval"
	}
	for _, offset := range f.Memory {
		text = fmt.Sprintf("%+d(%s)", offset, text)
	}
	return f.Printed + "=" + text + ":" + f.kernelType()
}

// definition returns the line that defines a probe in the kernel.
func (p *Plan) definition(b *Probe) string {
	kind := "p"
	if b.Kind == parser.Leave && !b.AtReturn {
		kind = "r"
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s:%s/%s ", kind, Group, b.Event)
	if p.IsKernel() {
		s.WriteString(b.Function.Name)
	} else {
		fmt.Fprintf(&s, "%s:%#x", p.Path, b.Offset)
	}
	for i := range b.Fetches {
		if f := &b.Fetches[i]; f.Missing.IsZero() {
			s.WriteString(" " + f.kernel(kind == "r"))
		}
	}
	return s.String()
}

// eventsFile is the file of tracefs to which definitions are written.
func (p *Plan) eventsFile() string {
	if p.IsKernel() {
		return "kprobe_events"
	}
	return "uprobe_events"
}

func (p *Plan) writeKernel(out *bufio.Writer) {
	fmt.Fprintf(out, "# append these lines to /sys/kernel/tracing/%s, then write 1 to /sys/kernel/tracing/events/%s/enable\n", p.eventsFile(), Group)
	for i := range p.Probes {
		fmt.Fprintln(out, p.definition(&p.Probes[i]))
	}
}

// perfScript is the script for perf; PROBES stands where its probes are defined.
//
//go:embed perf.sh.in
var perfScript string

func (p *Plan) writePerf(out *bufio.Writer) {
	head, tail, _ := strings.Cut(perfScript, "PROBES\n")
	put := strings.NewReplacer("GROUP", Group, "EVENTS_FILE", p.eventsFile())
	out.WriteString(put.Replace(head))
	for i := range p.Probes {
		fmt.Fprintln(out, p.definition(&p.Probes[i]))
	}
	out.WriteString(put.Replace(tail))
}

// ownHead is the beginning of the lines that our own scripts print, which parser/probes reads.
func ownHead(b *Probe) string {
	if b.Kind == parser.Leave {
		return "lp L"
	}
	return "lp E"
}

// bpftraceRegister returns what bpftrace calls a register.
func bpftraceRegister(place string, leave bool) string {
	for i, r := range rawRegisters["x86-64"].arguments {
		if r == place && !leave {
			return "arg" + strconv.Itoa(i)
		}
	}
	if leave && (place == "rax" || place == "x0") {
		return "retval"
	}
	return `reg("` + kernelRegister(place)[1:] + `")`
}

// bpftraceText returns the format and the expression of the text at an address. bpftrace does not say whether there is more than it takes,
// so that the number is printed, which one byte less than the size is, since the 0 is part of that.
func bpftraceText(x string) (format, expression string) {
	return `\"%s\"/` + strconv.Itoa(bpftraceTextSize-1), "str(" + x + ", " + strconv.Itoa(bpftraceTextSize) + ")"
}

// bpftraceTextSize is how much of a text bpftrace takes at most, if its variable BPFTRACE_STRLEN is not set.
const bpftraceTextSize = 64

// bpftrace returns the format and the expression of a fetch.
func (f *Fetch) bpftrace(leave bool) (format, expression string) {
	x := bpftraceRegister(f.Place, leave)
	typ := "int" + strconv.Itoa(8*f.Size)
	if f.Kind != Signed {
		typ = "u" + typ
	}
	for i, offset := range f.Memory {
		if offset != 0 {
			x = fmt.Sprintf("(%s + %d)", x, offset)
		}
		switch {
		case i+1 < len(f.Memory):
			x = "*(uint64 *)" + x
		case f.Kind == Text:
			return bpftraceText(x)
		default:
			x = "*(" + typ + " *)" + x
		}
	}
	if f.Kind == Text {
		return bpftraceText(x)
	}
	if f.Memory == nil {
		if f.Shift > 0 {
			x = fmt.Sprintf("(%s >> %d)", x, f.Shift)
		}
		x = "(" + typ + ")" + x
	}
	switch f.Kind {
	case Signed:
		return "%lld", "(int64)" + x
	case Unsigned:
		return "%llu", "(uint64)" + x
	}
	return "0x%llx", "(uint64)" + x
}

// atAddresses reports whether some probes are not at functions that have a symbol.
func (p *Plan) atAddresses() bool {
	return slices.ContainsFunc(p.Probes, func(b Probe) bool { return !p.IsKernel() && (b.AtReturn || b.symbol() == "") })
}

// maxPrinted is the most values of one printf of bpftrace.
const maxPrinted = 12

func (p *Plan) writeBpftrace(out *bufio.Writer) {
	fmt.Fprintln(out, "// bpftrace SCRIPT > calls.txt as root (with -c PROGRAM or -p PID for one), then: logparse show calls.txt")
	if p.atAddresses() {
		fmt.Fprintln(out, "// Some probes are at addresses without a symbol: bpftrace takes these by its option unsafe.")
	}
	for i := range p.Probes {
		b := &p.Probes[i]
		kind := "uprobe"
		leave := b.Kind == parser.Leave && !b.AtReturn
		if leave {
			kind = "uretprobe"
		}
		where := fmt.Sprintf(`%s:"%s":`, kind, p.Path)
		switch {
		case p.IsKernel():
			where = strings.Replace(kind, "u", "k", 1) + ":" + b.Function.Name
		case b.symbol() != "" && !b.AtReturn:
			where += `"` + b.symbol() + `"`
		default:
			where += fmt.Sprintf("%#x", p.Base+b.RVA)
		}
		format := ownHead(b) + " %llu %d %d "
		arguments := "nsecs, pid, tid"
		if leave {
			format += "-"
		} else {
			format += "0x%llx"
			arguments += `, reg("ip")`
		}
		format += " " + b.Event
		printed := 0
		for k := range b.Fetches {
			if f := &b.Fetches[k]; f.Missing.IsZero() && printed < maxPrinted {
				printed++
				how, what := f.bpftrace(leave)
				format += " " + f.Printed + "=" + how
				arguments += ", " + what
			}
		}
		fmt.Fprintf(out, "%s { printf(\"%s\\n\", %s); }\n", where, format, arguments)
	}
}

func (p *Plan) writeStap(out *bufio.Writer) {
	fmt.Fprintln(out, "// stap SCRIPT > calls.txt as root (with -c PROGRAM or -x PID for one), then: logparse show calls.txt")
	if p.atAddresses() {
		fmt.Fprintln(out, "// Some probes are at addresses, which SystemTap takes only in programs with debug information.")
	}
	for i := range p.Probes {
		b := &p.Probes[i]
		where := fmt.Sprintf("process(%q)", p.Path)
		if p.IsKernel() {
			where = "kernel"
		}
		switch {
		case b.symbol() != "" && !b.AtReturn:
			where += fmt.Sprintf(".function(%q)", b.symbol())
		default:
			where += fmt.Sprintf(".statement(%#x)", p.Base+b.RVA)
		}
		if b.Kind == parser.Leave && !b.AtReturn {
			where += ".return"
		}
		address := "uaddr()"
		if p.IsKernel() {
			address = "addr()"
		}
		format, arguments := ownHead(b)+" %d %d %d 0x%x "+b.Event, "gettimeofday_ns(), pid(), tid(), "+address
		if b.Kind == parser.Leave && !b.AtReturn {
			format, arguments = ownHead(b)+" %d %d %d - "+b.Event, "gettimeofday_ns(), pid(), tid()"
		}
		for k := range b.Fetches {
			f := &b.Fetches[k]
			if !f.Missing.IsZero() {
				continue
			}
			how, what := f.stap()
			format += " " + f.Printed + "=" + how
			arguments += ", " + what
		}
		fmt.Fprintf(out, "probe %s { printf(\"%s\\n\", %s) }\n", where, format, arguments)
	}
}

// stap returns the format and the expression of a fetch.
func (f *Fetch) stap() (format, expression string) {
	x := fmt.Sprintf("register(%q)", f.Place)
	if f.Place == "stack" {
		x = `register("rsp")`
	}
	read := fmt.Sprintf("user_int%d", 8*f.Size)
	if f.Kind != Signed {
		read = fmt.Sprintf("user_uint%d", 8*f.Size)
	}
	for i, offset := range f.Memory {
		x = fmt.Sprintf("%s + %d", x, offset)
		switch {
		case i+1 < len(f.Memory):
			x = "user_uint64(" + x + ")"
		case f.Kind == Text:
			return `\"%s\"`, "user_string_warn(" + x + ")"
		default:
			x = read + "(" + x + ")"
		}
	}
	if f.Memory == nil {
		x = fmt.Sprintf("(%s >> %d)", x, f.Shift)
		if f.Size < 8 {
			x = fmt.Sprintf("(%s & %#x)", x, uint64(1)<<(8*f.Size)-1)
			if f.Kind == Signed {
				x = fmt.Sprintf("(%s ^ %#x) - %#x", x, uint64(1)<<(8*f.Size-1), uint64(1)<<(8*f.Size-1))
			}
		}
	}
	if f.Kind == Hex || f.Kind == Float {
		return "0x%x", x
	}
	return "%d", x
}
