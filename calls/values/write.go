package values

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"logparser/modules"
	"logparser/symbols/types"
)

// planBegin begins each plan.
const planBegin = "lpvalues "

// IsPlan reports whether a file that begins so has a plan.
func IsPlan(head []byte) bool { return bytes.HasPrefix(head, []byte(planBegin)) }

// Write writes a plan. It writes each type once, before the values, in the order in which the values refer to them, so that
// equal plans give equal texts.
func Write(w io.Writer, p *Plan) error {
	out := &planWriter{w: bufio.NewWriterSize(w, 64<<10), ids: map[*types.Type]int{}}
	fmt.Fprintf(out.w, planBegin+"1\nmachine %s\nabi %s\n", p.Machine, p.ABI)
	for _, m := range p.Modules {
		for _, f := range m.Functions {
			for _, v := range f.Enter {
				out.number(v.Type)
			}
			for _, v := range f.Leave {
				out.number(v.Type)
			}
		}
	}
	for i, t := range out.order {
		out.typeLines(i+1, t)
	}
	for i := range p.Modules {
		m := &p.Modules[i]
		fmt.Fprintf(out.w, "module %s\nidentity %s\n", oneLine(m.Name), identityText(m.Identity))
		if m.Signatures {
			fmt.Fprintln(out.w, bySignature+" there is no debug information, types are those in the names of functions")
		}
		for k := range m.Functions {
			out.function(&m.Functions[k])
		}
	}
	return out.w.Flush()
}

// bySignature begins the line that says of a module that its types are by signature. The recorder passes over it.
const bySignature = "# by signature:"

// A planWriter assigns a number to each type of a plan.
type planWriter struct {
	w     *bufio.Writer
	ids   map[*types.Type]int
	order []*types.Type
}

// number assigns numbers to a type and to all types that it refers to.
func (out *planWriter) number(t *types.Type) {
	todo := []*types.Type{t}
	for len(todo) > 0 {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if t == nil || out.ids[t] != 0 {
			continue
		}
		out.order = append(out.order, t)
		out.ids[t] = len(out.order)
		for i := len(t.Members) - 1; i >= 0; i-- {
			todo = append(todo, t.Members[i].Type)
		}
		todo = append(todo, t.Target)
	}
}

// kindWords are the words that stand for kinds of types in a plan.
var kindWords = map[types.Kind]string{
	types.Opaque: "opaque", types.Int: "int", types.Uint: "uint", types.Bool: "bool", types.Char: "char", types.Float: "float",
	types.Pointer: "pointer", types.Reference: "reference", types.Enum: "enum", types.Flags: "flags", types.Struct: "struct",
	types.Array: "array", types.Text: "text",
}

func (out *planWriter) typeLines(id int, t *types.Type) {
	fmt.Fprintf(out.w, "type %d %s %d ", id, kindWords[t.Kind], t.Size)
	switch t.Kind {
	case types.Pointer, types.Reference:
		fmt.Fprintf(out.w, "%d ", out.ids[t.Target])
	case types.Array:
		fmt.Fprintf(out.w, "%d %d ", t.Count, out.ids[t.Target])
	}
	fmt.Fprintln(out.w, oneLine(t.Name))
	for _, e := range t.Enumerators {
		fmt.Fprintf(out.w, "enumerator %d %d %s\n", id, e.Value, oneLine(e.Name))
	}
	for _, m := range t.Members {
		fmt.Fprintf(out.w, "member %d %d", id, m.Offset)
		if m.Bits > 0 {
			fmt.Fprintf(out.w, ":%d:%d", m.Bit, m.Bits)
		}
		fmt.Fprintf(out.w, " %d %s\n", out.ids[m.Type], oneLine(m.Name))
	}
}

// opText returns the text of an operation in a plan.
func opText(o Op) string {
	if o.At {
		switch o.Kind {
		case Text:
			return fmt.Sprintf("text-at %d %d", o.Offset, o.Max)
		case String:
			return fmt.Sprintf("string-at %d %s %d", o.Offset, o.Library, o.Max)
		case View:
			return fmt.Sprintf("view-at %d %s %d", o.Offset, o.Library, o.Max)
		}
	}
	switch o.Kind {
	case Direct:
		return fmt.Sprintf("value %d", o.Size)
	case Text:
		return fmt.Sprintf("text %d", o.Max)
	case Memory:
		return fmt.Sprintf("memory %d %d", o.Offset, o.Size)
	case String:
		return fmt.Sprintf("string %s %d", o.Library, o.Max)
	case View:
		return fmt.Sprintf("view %s %d", o.Library, o.Max)
	}
	return "unknown"
}

// function writes the lines of a function. Values that its hooks take are written with the hooks only.
func (out *planWriter) function(f *Function) {
	fmt.Fprintf(out.w, "function %x %x %s\n", f.RVA, f.Size, oneLine(f.Name))
	if !f.hooked(false) {
		out.values("enter", f.Enter)
	}
	if !f.hooked(true) {
		out.values("leave", f.Leave)
	}
	for i := range f.Hooks {
		h := &f.Hooks[i]
		fmt.Fprintf(out.w, "hook %x\n", h.RVA)
		for _, place := range h.Keeps {
			fmt.Fprintf(out.w, "keep %s\n", place)
		}
		end := "enter"
		if h.Leaves {
			end = "leave"
		}
		out.values(end, f.values(h))
	}
}

// hooked reports whether a hook takes the values of Leave or, if leaves is false, those of Enter.
func (f *Function) hooked(leaves bool) bool {
	return slices.ContainsFunc(f.Hooks, func(h Hook) bool { return h.Leaves == leaves })
}

// values writes the lines of the values that are taken at one end of calls: "enter" or "leave".
func (out *planWriter) values(end string, list []Value) {
	for _, v := range list {
		place := v.Place
		if v.Op.Kind == Unknown {
			place = "-"
		}
		fmt.Fprintf(out.w, "%s %s %s %d %s\n", end, place, opText(v.Op), out.ids[v.Type], oneLine(v.Name))
	}
}

// identityText returns the text of an identity in a plan.
func identityText(id modules.Identity) string {
	switch {
	case !id.PDB.IsZero():
		return fmt.Sprintf("pdb %s%X", id.PDB.Key(), id.Age)
	case id.BuildID != "":
		return fmt.Sprintf("build-id %x", id.BuildID)
	case id.Timestamp != 0:
		return fmt.Sprintf("pe %08x%08x", id.Timestamp, id.ImageSize)
	}
	return "none"
}

// oneLine replaces characters in a name that would end its line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}
