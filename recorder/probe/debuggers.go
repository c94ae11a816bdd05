package probe

import (
	"bufio"
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"logparser/modules"
	"logparser/parser"
)

// maxDebuggerText is how many characters of a text gdb and frida print. Behind one that has more they print /N, this number.
const maxDebuggerText = 256

// gdbClass is the fixed part of the script for gdb. A probe is a breakpoint that prints a line and goes
// on; gdb reads the time.
//
//go:embed gdb.py.in
var gdbClass string

func (p *Plan) writeGDB(out *bufio.Writer) {
	out.WriteString(strings.ReplaceAll(gdbClass, "MOST", strconv.Itoa(maxDebuggerText)))
	name := modules.BaseName(p.Path)
	fmt.Fprintf(out, `
def logparser_base():
    # the lowest mapping of the image
    for line in gdb.execute("info proc mappings", to_string=True).splitlines():
        words = line.split()
        if words and line.rstrip().endswith("/" + %[1]s): return int(words[0], 16)
    raise gdb.GdbError(%[1]s + " is not loaded; if it is a library, set a breakpoint where it is, and load this script there")
`, strconv.Quote(name))
	if p.PE {
		fmt.Fprintf(out, "def logparser_base(): return int(gdb.parse_and_eval('(char*)&__ImageBase'))\n")
	}
	fmt.Fprint(out, `if gdb.selected_thread() is None: gdb.execute("starti", to_string=True)
b = logparser_base()
`)
	for i := range p.Probes {
		b := &p.Probes[i]
		if b.Kind == parser.Leave && !b.AtReturn {
			continue
		}
		result := "None"
		if i+1 < len(p.Probes) && p.Probes[i+1].Function == b.Function && p.Probes[i+1].Kind == parser.Leave && !p.Probes[i+1].AtReturn {
			r := &p.Probes[i+1]
			result = fmt.Sprintf("(%q, %s)", r.Event, gdbValues(r))
		}
		fmt.Fprintf(out, "LogParserProbe(b + %#x, %q, %q, %s, %s)\n", b.RVA, ownHead(b)[3:], b.Event, gdbValues(b), result)
	}
	fmt.Fprint(out, "end\ncontinue\n")
}

func gdbValues(b *Probe) string {
	var list []string
	for i := range b.Fetches {
		f := &b.Fetches[i]
		if f.Missing.IsZero() || f.Vector {
			how, what := f.gdb()
			list = append(list, fmt.Sprintf("LogParserText(%q, %q, %q)", f.Printed, how, what))
		}
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// gdb returns the format and the expression by which gdb prints a fetch.
func (f *Fetch) gdb() (how, expression string) {
	x := "$" + f.Place
	if f.Place == "stack" {
		x = "$sp"
	}
	typ := map[int]string{1: "char", 2: "short", 4: "int", 8: "long long"}[f.Size]
	how = "d"
	switch {
	case f.Vector && f.Size == 4:
		return "f", x + ".v4_float[0]"
	case f.Vector:
		return "f", x + ".v2_double[0]"
	case f.Kind == Float:
		if how = "f"; f.Size == 4 {
			typ = "float"
		} else {
			typ = "double"
		}
	case f.Kind == Signed && f.Size == 1:
		typ = "signed char"
	case f.Kind == Unsigned:
		typ = "unsigned " + typ
	case f.Kind == Hex:
		how, typ = "x", "unsigned "+typ
	}
	for i, offset := range f.Memory {
		x = fmt.Sprintf("((char *)%s + %d)", x, offset)
		switch {
		case i+1 < len(f.Memory):
			x = "*(char **)" + x
		case f.Kind == Text:
			return "s", "(char *)" + x
		default:
			return how, "*(" + typ + " *)" + x
		}
	}
	if f.Kind == Text {
		return "s", "(char *)" + x
	}
	if f.Shift > 0 {
		x = fmt.Sprintf("((unsigned long long)%s >> %d)", x, f.Shift)
	}
	return how, "(" + typ + ")" + x
}

func (p *Plan) writeWinDbg(out *bufio.Writer) {
	fmt.Fprintln(out, "$$ in WinDbg or cdb: .logopen calls.txt, then $$>< SCRIPT, then g; logparse show calls.txt")
	module, _, _ := strings.Cut(modules.BaseName(p.Path), ".")
	module = identifier(module, 60)
	for i := range p.Probes {
		b := &p.Probes[i]
		if b.Kind == parser.Leave && !b.AtReturn {
			continue
		}
		after := ""
		if i+1 < len(p.Probes) && p.Probes[i+1].Kind == parser.Leave && !p.Probes[i+1].AtReturn && p.Probes[i+1].Function == b.Function {
			// A breakpoint at the return address of a recursive function may be hit by an inner call.
			after = fmt.Sprintf(`bp /1 @$ra \".printf \\\"%s\\\\n\\\"%s; gc\"; `, "lp L - %d %d - "+p.Probes[i+1].Event+windbgFormat(&p.Probes[i+1]), ", @$tpid, @$tid"+windbgValues(&p.Probes[i+1]))
		}
		fmt.Fprintf(out, `bu %s+%#x ".printf \"%s - %%d %%d %%p %s%s\\n\", @$tpid, @$tid, @$ip%s; %sgc"`+"\n", module, b.RVA, ownHead(b), b.Event, windbgFormat(b), windbgValues(b), after)
	}
}

func windbgFormat(b *Probe) (s string) {
	for i := range b.Fetches {
		if f := &b.Fetches[i]; f.Missing.IsZero() {
			s += " " + f.Printed + "=" + map[FetchKind]string{Signed: "%I64d", Unsigned: "%I64u", Hex: "0x%I64x", Float: "0x%I64x", Text: "'%ma'"}[f.Kind]
		}
	}
	return s
}

func windbgValues(b *Probe) (s string) {
	for i := range b.Fetches {
		if f := &b.Fetches[i]; f.Missing.IsZero() {
			s += ", " + f.windbg()
		}
	}
	return s
}

// windbg returns the expression by which WinDbg has a fetch, as 64 bits.
func (f *Fetch) windbg() string {
	x := "@" + f.Place
	if f.Place == "stack" {
		x = "@rsp"
	}
	for k, offset := range f.Memory {
		x = fmt.Sprintf("(%s+%#x)", x, offset) // WinDbg takes digits for hexadecimal ones
		switch {
		case k+1 < len(f.Memory):
			x = "poi" + x
		case f.Kind != Text:
			x = map[int]string{1: "by", 2: "wo", 4: "dwo", 8: "poi"}[f.Size] + x
		}
	}
	if f.Kind == Text {
		return x
	}
	if f.Memory == nil && f.Shift > 0 {
		x = fmt.Sprintf("(%s>>%#x)", x, f.Shift)
	}
	if f.Size == 8 {
		return x
	}
	if f.Memory == nil {
		x = fmt.Sprintf("(%s&%#x)", x, uint64(1)<<(8*f.Size)-1) // the rest of the register is not of the value
	}
	if f.Kind == Signed {
		sign := uint64(1) << (8*f.Size - 1)
		x = fmt.Sprintf("((%s^%#x)-%#x)", x, sign, sign)
	}
	return x
}

func (p *Plan) writeFrida(out *bufio.Writer) {
	fmt.Fprintf(out, `// frida -q -l SCRIPT -f PROGRAM > calls.txt (or -p PID), then: logparse show calls.txt
// Times are those of the day, with milliseconds: functions that end sooner show none.
const base = Process.getModuleByName(%[1]q).base;
function guarded(f) { try { return f(); } catch (e) { return '(fault)'; } }
function shortened(s) { return '"' + s.slice(0, %[2]d) + (s.length > %[2]d ? '"/%[2]d' : '"'); }
function text(p) { return guarded(() => p.isNull() ? '0x0' : shortened(p.readUtf8String())); }
function line(kind, address, event, values) {
  console.log('lp ' + kind + ' ' + Date.now() + '000000 ' + Process.id + ' ' + Process.getCurrentThreadId() + ' ' + address + ' ' + event + values);
}
`, modules.BaseName(p.Path), maxDebuggerText)
	for i := range p.Probes {
		b := &p.Probes[i]
		switch {
		case b.Kind == parser.Leave && !b.AtReturn:
			continue
		case i+1 < len(p.Probes) && p.Probes[i+1].Function == b.Function && p.Probes[i+1].Kind == parser.Leave && !p.Probes[i+1].AtReturn:
			r := &p.Probes[i+1]
			fmt.Fprintf(out, "Interceptor.attach(base.add(%#x), {\n  onEnter() { line('E', base.add(%#x), '%s', %s); },\n  onLeave(retval) { line('L', base.add(%#x), '%s', %s); }\n});\n",
				b.RVA, b.RVA, b.Event, fridaValues(b), b.RVA, r.Event, fridaValues(r))
		default:
			fmt.Fprintf(out, "Interceptor.attach(base.add(%#x), function () { line('%s', base.add(%#x), '%s', %s); });\n", b.RVA, ownHead(b)[3:], b.RVA, b.Event, fridaValues(b))
		}
	}
}

func fridaValues(b *Probe) string {
	s := "''"
	for i := range b.Fetches {
		f := &b.Fetches[i]
		if !f.Missing.IsZero() {
			continue
		}
		x := "this.context." + f.Place
		if f.Place == "stack" {
			x = "this.context.sp"
		}
		read := map[FetchKind]string{Signed: "readS", Unsigned: "readU", Hex: "readU", Float: "readFloat"}[f.Kind] + strconv.Itoa(8*f.Size)
		if f.Kind == Float {
			if read = "readDouble"; f.Size == 4 {
				read = "readFloat"
			}
		}
		how := ""
		for k, offset := range f.Memory {
			x = fmt.Sprintf("%s.add(%d)", x, offset)
			switch {
			case k+1 < len(f.Memory):
				x += ".readPointer()"
			case f.Kind == Text:
				how = "guarded(() => text(" + x + "))"
			default:
				how = "guarded(() => " + x + "." + read + "())"
			}
		}
		if how == "" {
			bits := strconv.Itoa(8 * f.Size)
			x = "BigInt(" + x + ".toString())"
			if f.Shift > 0 {
				x = "(" + x + " >> " + strconv.Itoa(f.Shift) + "n)"
			}
			switch f.Kind {
			case Signed:
				how = "BigInt.asIntN(" + bits + ", " + x + ")"
			case Unsigned:
				how = "BigInt.asUintN(" + bits + ", " + x + ")"
			default:
				how = "'0x' + BigInt.asUintN(" + bits + ", " + x + ").toString(16)"
			}
			how = "(" + how + ")"
		}
		s += " + ' " + f.Printed + "=' + " + how
	}
	return s
}
