// Package probe makes probes for functions of programs that are not rebuilt: where they go, what
// they fetch, and the lines by which perf, the kernel, bpftrace, debuggers and others set them.
//
// Its input is a [Target], the functions that were chosen, and for each the values to be taken, as a
// plan of package values describes them. Its output is a [Plan]. The probe for an enter lies at the first
// byte of a function. A return gets a return probe, if the tool has these, or a probe at each return
// instruction. Tools that want the place in the file get file offsets, which are often not the RVAs.
//
// A value that a tool cannot fetch is left out of its lines, and a note says so: the kernel, for
// example, has no access to the vector registers, which hold floating-point arguments and results.
package probe

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"logparser/calls/values"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/parser/probes"
)

// A Target is the image that gets probes.
type Target struct {
	// Path is the image's file, "" for the kernel.
	Path string
	// PE says that it is an image of Windows. Machine is the processor's name as in package image.
	PE       bool
	Machine  string
	Base     uint64 // lowest mapped address
	Size     uint64 // bytes in memory
	Identity modules.Identity
	// Privileged says that it runs with the rights of another user.
	Privileged bool
}

// IsKernel reports whether the target is the kernel.
func (t *Target) IsKernel() bool { return t.Path == "" }

// A Function is one that gets probes.
type Function struct {
	// Name is the demangled name. Linkage is the symbol's name, "" where there is no symbol, or where
	// several symbols of the image have that name.
	Name, Linkage string
	// Symbols are the names of all symbols at its first byte.
	Symbols []string
	// RVA, Offset (in the file) and Size are in bytes. Size is 0 where it is not known.
	RVA, Offset, Size uint64
	// Go says that it was compiled by Go. A return probe would break its stack, which may move.
	Go bool
	// Code has its first bytes; of a function of Go all of them.
	Code []byte
	// Values are the values to be taken. Where it is nil, the registers of arguments and results are
	// taken as numbers.
	Values *values.Function
}

// Options say which probes are made.
type Options struct {
	// Return asks for probes at returns as well.
	Return bool
	// NoArguments leaves out arguments and results.
	NoArguments bool
	// RawArguments is how many arguments are taken of functions without Values, 0 for those that registers hold.
	RawArguments int
	// AtReturns asks for probes at the return instructions instead of return probes. A return probe
	// replaces the return address on the stack. An exception that passes such an address ends the
	// program, and so does a return probe in code that is jumped to instead of called.
	AtReturns bool
	// Tool is the tool that will set the probes.
	Tool *Tool
}

// A Probe is a place where a tool stops a program.
type Probe struct {
	// Event is the name of the event that a hit is printed as.
	Event    string
	Function *Function
	// RVA and Offset say where it lies. A return probe has those of its function.
	RVA, Offset uint64
	Kind        parser.Kind
	// AtReturn says that it is a probe at a return instruction, not a return probe.
	AtReturn bool
	// AtEnter says that the return instruction is the function's first one: a probe there would lie where that of the enter
	// lies, and no order of the two is promised. It is a return probe instead. The return instruction, which is the next one
	// that is run, takes the address that this replaces, so that nothing else finds that.
	AtEnter bool
	Fetches []Fetch
}

// taken counts the values that can be fetched.
func (b *Probe) taken() (n int) {
	for i := range b.Fetches {
		if b.Fetches[i].Missing.IsZero() {
			n++
		}
	}
	return n
}

// A Plan is the probes for a target.
type Plan struct {
	Target
	Probes []Probe
	// Notes tell the user what cannot be fetched and what the probes cost.
	Notes []message.Text
	// Refused counts the functions that get none, since the kernel takes none there.
	Refused int

	tool *Tool
}

// Limits of a plan. With more than fewProbes a note warns of the cost.
const (
	maxProbes  = 50_000
	maxFetches = 24 // of a probe
	fewProbes  = 20

	// MaxRawArguments is the most arguments that are taken as numbers.
	MaxRawArguments = maxFetches
)

// New makes the probes for functions. It sorts the functions by their RVAs.
func New(t Target, functions []Function, opt Options) (*Plan, error) {
	p, refused := &Plan{Target: t, tool: opt.Tool}, ""
	slices.SortStableFunc(functions, func(a, b Function) int { return cmp.Or(cmp.Compare(a.RVA, b.RVA), cmp.Compare(a.Name, b.Name)) })
	colds := coldParts(functions)
	for i := range functions {
		f := &functions[i]
		if f.isCold() {
			continue
		}
		if len(p.Probes) > maxProbes {
			return nil, message.Errorf("these are more than %d probes", maxProbes)
		}
		event := fmt.Sprintf("lp_%04d_%s", i+1, eventName(f.Name))
		enter := Probe{Event: event, Function: f, RVA: f.RVA, Offset: f.Offset}
		leave := Probe{Event: event + "__return", Function: f, RVA: f.RVA, Offset: f.Offset, Kind: parser.Leave}
		if !opt.NoArguments {
			enter.Fetches, leave.Fetches = p.fetches(f, opt.RawArguments)
			if taken := enter.taken(); p.tool.Name == "bpftrace" && taken > maxPrinted {
				p.note(message.Textf("%s: %d values are not taken, because bpftrace prints %d at most", f.Name, taken-maxPrinted, maxPrinted))
			}
		}
		if f.Go {
			behind := goEntry(f.Code, t.Machine)
			enter.RVA, enter.Offset = f.RVA+behind, f.Offset+behind
		}
		// Without its enters the ends of calls would be taken for those of others.
		if p.byKernel() && isRefused(f.Code[min(enter.RVA-f.RVA, uint64(len(f.Code))):]) {
			if p.Refused++; refused == "" {
				refused = f.Name
			}
			continue
		}
		p.Probes = append(p.Probes, enter)
		if !opt.Return {
			continue
		}
		// A start that only unwind rules tell of may be no function: it may be the entry point of the
		// program, or the cold part of a function. These are not called, so that a return probe would
		// end the program.
		unnamed := f.Linkage == "" && !t.PE
		if !f.Go && !unnamed && !opt.AtReturns {
			if f.Linkage == "_start" {
				continue // it is jumped to: what a return probe would replace is no return address
			}
			p.Probes = append(p.Probes, leave)
			continue
		}
		number := 0
		for _, part := range append([]*Function{f}, colds[f.symbol()]...) {
			code := part.Code
			if !f.Go && uint64(len(code)) != part.Size {
				code = nil
			}
			returns, err := Returns(code, t.Machine)
			if err != nil {
				p.note(message.Textf("%s gets no probes at its returns: %v", part.Name, err))
				continue
			}
			for _, at := range returns {
				number++
				r := leave
				r.Event = fmt.Sprintf("%s_ret%d", event, number)
				r.RVA, r.Offset, r.AtReturn = part.RVA+at, part.Offset+at, true
				if r.RVA == enter.RVA && !p.tool.inProcess() {
					r.AtReturn, r.AtEnter = false, true
				}
				p.Probes = append(p.Probes, r)
			}
		}
	}
	if p.Refused > 0 {
		p.note(message.Textf("%d of %d functions get no probe, such as %s: their first instruction has a prefix (lock, or a segment) with which the kernel takes none", p.Refused, len(functions), refused))
	}
	if len(p.Probes) == 0 {
		err := errRefused
		if refused == "" {
			refused, err = functions[0].Name, errCold
		}
		return nil, message.Errorf("%s gets no probe: %w", refused, err)
	}
	p.warn(functions, opt)
	return p, nil
}

// symbol returns the name of the function's symbol, or what there is in its place.
func (f *Function) symbol() string { return cmp.Or(f.Linkage, f.Name) }

// coldMark is in the names of parts of functions that compilers put elsewhere, since they hardly ever run. They are jumped to, and may return.
const coldMark = ".cold"

func (f *Function) isCold() bool { return strings.Contains(f.symbol(), coldMark) }

// coldParts returns the parts of functions that compilers put elsewhere, by the functions' symbols.
func coldParts(functions []Function) map[string][]*Function {
	parts := make(map[string][]*Function)
	for i := range functions {
		if f := &functions[i]; f.isCold() {
			name, _, _ := strings.Cut(f.symbol(), coldMark)
			name = strings.TrimSuffix(name, " [clone ")
			parts[name] = append(parts[name], f)
		}
	}
	return parts
}

// byKernel reports whether it is the kernel of Linux on x86-64 that sets the probes into programs.
func (p *Plan) byKernel() bool {
	return p.Machine == "x86-64" && !p.PE && !p.IsKernel() && !p.tool.inProcess()
}

// inProcess reports whether the tool's own code runs at a hit, in the order in which it set the probes of a place.
func (t *Tool) inProcess() bool { return t != nil && (t.debugger || t.Name == "frida") }

// warn adds notes on what the probes mean for the program.
func (p *Plan) warn(functions []Function, opt Options) {
	if len(p.Probes) > fewProbes {
		p.note(message.Textf("%d probes: each hit costs a microsecond or more; choose functions that are not called very often (more than 100,000 hits a second are felt)", len(p.Probes)))
	}
	stepped, inGo := 0, false
	for i := range functions {
		f := &functions[i]
		inGo = inGo || f.Go
		if p.Machine == "x86-64" && !p.PE && !p.IsKernel() && len(f.Code) > 0 && !isEmulated(f.Code) && !(p.byKernel() && isRefused(f.Code)) {
			stepped++
		}
	}
	if stepped > 0 {
		p.note(message.Textf("%d of %d functions begin with an instruction that the kernel has to single-step: a hit costs some 10 microseconds there, and not 1", stepped, len(functions)))
	}
	if inGo && opt.Return {
		p.note(message.Textf("functions of Go get a probe at each return instruction: a return probe would break their stacks, which move"))
	}
	if p.Privileged {
		p.note(message.Textf("%s runs with the rights of another user: probes see what it does for all users", filepath.Base(p.Path)))
	}
}

func (p *Plan) note(t message.Text) { p.Notes = append(p.Notes, t) }

// Group is the group of the events in the kernel.
const Group = "lp"

// maxEvent bounds the function's part of an event's name. The kernel accepts 63 characters in all.
const maxEvent = 32

// eventName makes an event's name of a function's: its last part, without scopes and parameters.
func eventName(name string) string {
	short := strings.ReplaceAll(name, "(anonymous namespace)::", "")
	if i := strings.LastIndex(short, ")."); i >= 0 { // a method of Go
		short = short[i+2:]
	}
	if i := strings.IndexAny(short, "(<"); i > 0 {
		short = short[:i]
	}
	if i := strings.LastIndexAny(short, ":./"); i >= 0 && i+1 < len(short) {
		short = short[i+1:]
	}
	return identifier(short, maxEvent)
}

// identifier makes a word of letters, digits and _ of a text.
func identifier(text string, most int) string {
	b := make([]byte, 0, most)
	for i := 0; i < len(text) && len(b) < most; i++ {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
			b = append(b, c)
		case c == '~':
			b = append(b, "destroy_"...)
		case len(b) > 0 && b[len(b)-1] != '_':
			b = append(b, '_')
		}
	}
	if len(b) > most {
		b = b[:most]
	}
	if len(b) == 0 {
		return "f"
	}
	return string(b)
}

// Names returns what each event means, for reading what the tool prints.
func (p *Plan) Names() *probes.Names {
	n := &probes.Names{}
	image := -1
	if !p.IsKernel() {
		n.Images = []probes.Image{{Path: p.Path, Size: p.Size, Identity: p.Identity}}
		image = 0
	}
	for i := range p.Probes {
		b := &p.Probes[i]
		e := probes.Event{Name: b.Event, Kind: b.Kind, Image: image, Start: b.Function.RVA, Probe: b.RVA, Function: b.Function.Name}
		for _, f := range b.Fetches {
			if f.Missing.IsZero() || f.Vector && p.tool.vectors {
				e.Arguments = append(e.Arguments, probes.Argument{Printed: f.Printed, Name: f.Name, Type: f.Type})
			}
		}
		n.Events = append(n.Events, e)
	}
	return n
}
