package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"logparser/calls/values"
	"logparser/export"
	"logparser/message"
	"logparser/parser"
	"logparser/recorder/probe"
	"logparser/symbols"
	"logparser/symbols/gosym"
	"logparser/symbols/image"
	"logparser/symbols/symtab"
	"logparser/symbols/types"
	"logparser/symbols/types/dwarf"
	"logparser/symbols/unwind"
)

// A ProbePlan is probes for functions of an image, and what there is to say of them.
type ProbePlan struct {
	*probe.Plan
	// Functions counts those that get probes.
	Functions int
}

func newProbePlan(plan *probe.Plan) *ProbePlan {
	p := &ProbePlan{Plan: plan}
	for i := range plan.Probes {
		if plan.Probes[i].Kind == parser.Enter {
			p.Functions++
		}
	}
	return p
}

// A ProbeTool is what sets probes.
type ProbeTool = probe.Tool

// ProbeToolNames returns the names of the tools that lines are written for.
func ProbeToolNames() []string { return probe.ToolNames() }

// FindProbeTool returns the tool of a name, nil for none.
func FindProbeTool(name string) *ProbeTool { return probe.FindTool(name) }

// ProbeOptions say what probes do.
type ProbeOptions struct {
	probe.Options
	// Raw takes registers as they are, also where debug information tells of the arguments.
	Raw bool
	// Prototypes declare functions, nil for none. They count more than debug information.
	Prototypes *Prototypes
	// Values choose of which functions values are taken, and which; nil for those that the functions are chosen by.
	Values []ValueSpec
}

// MaxRawArguments is the most arguments that are taken as numbers.
const MaxRawArguments = probe.MaxRawArguments

// KernelImage is the name that stands for the running kernel instead of an image's path.
const KernelImage = "kernel"

// Errors by which callers say what to do next.
var (
	ErrNoFunction = message.New("no function fits")
	ErrNoKernel   = message.New("the names of the kernel's functions cannot be read here")
)

// PlanProbes makes the probes for the functions of an image that the specs choose. Symbols are
// looked for in the image itself, and beside it or where the inputs say.
func PlanProbes(ctx context.Context, in Inputs, path string, specs []ValueSpec, opt ProbeOptions) (*ProbePlan, error) {
	if path == KernelImage {
		return planKernelProbes(specs, opt)
	}
	img, err := OpenImage(ctx, path, in)
	if err != nil {
		return nil, err
	}
	defer img.Close()
	own, err := openImage(path)
	if err != nil {
		return nil, &InputError{OtherInput, path, unwrapPath(err)}
	}
	defer own.Close()
	debug := own
	if file := img.Binding().File; !own.HasDWARF() && file != "" && file != path {
		if other, err := openImage(file); err == nil {
			defer other.Close()
			debug = other
		}
	}
	full, err := filepath.Abs(path)
	if err == nil {
		full, err = filepath.EvalSymlinks(full)
	}
	if err != nil {
		return nil, err
	}
	target := probe.Target{Path: full, PE: own.Kind == image.PE, Machine: own.Machine, Base: own.Base, Size: own.Size, Identity: own.Identity}
	if info, err := os.Stat(full); err == nil {
		target.Privileged = info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0
	}
	list, err := probedFunctions(own, debug, specs, opt.AtReturns)
	if err != nil {
		return nil, &InputError{OtherInput, path, err}
	}
	list, note, err := withoutResolvers(own, list)
	if err == nil && len(list) == 0 {
		if err = ErrNoFunction; !note.IsZero() {
			err = message.Errorf("%w: %v", ErrNoFunction, note)
		}
	}
	if err != nil {
		return nil, &InputError{OtherInput, path, err}
	}
	if opt.Values != nil {
		specs = opt.Values
		for i := range list {
			if _, taken := values.Choose(specs, list[i].Name); !taken {
				list[i].Values = &values.Function{}
			}
		}
	}
	notes, err := typeArguments(ctx, debug, own, specs, list, opt)
	if err != nil {
		return nil, &InputError{OtherInput, path, err}
	}
	if !note.IsZero() {
		notes = append(notes, note)
	}
	plan, err := probe.New(target, list, opt.Options)
	if err != nil {
		return nil, err
	}
	plan.Notes = append(notes, plan.Notes...)
	return newProbePlan(plan), nil
}

// withoutResolvers leaves out the functions that only choose the code of those by whose names they go, and says so.
func withoutResolvers(im *image.Image, list []probe.Function) (rest []probe.Function, note message.Text, err error) {
	resolvers, err := symtab.Resolvers(im)
	if err != nil || len(resolvers) == 0 {
		return list, note, err
	}
	n, first := 0, ""
	rest = slices.DeleteFunc(list, func(f probe.Function) bool {
		if !resolvers[f.RVA] {
			return false
		}
		if n++; first == "" {
			first = f.Name
		}
		return true
	})
	if n > 0 {
		note = message.Textf("%d functions get no probe, such as %s: the loader calls them once, to choose the code that has their name (IFUNC)", n, first)
	}
	return rest, note, nil
}

// maxStart is how many bytes of a function's code are looked at.
const (
	maxStart  = 16
	maxGoCode = 1 << 20
)

// probedFunctions returns the functions that specs choose: those of symbol tables, those of Go's
// own table, and, where neither has a name, the starts that unwind rules tell.
func probedFunctions(own, debug *image.Image, specs []values.Spec, atReturns bool) ([]probe.Function, error) {
	found := make(map[uint64]*probe.Function)
	linkages := make(map[string]int)
	var order []uint64
	covered := make(map[uint64]bool)
	add := func(rva, size uint64, names, symbols []string, isGo bool) {
		covered[rva] = true
		linkage := ""
		if len(symbols) > 0 {
			linkage = symbols[0]
		}
		if linkage != "" {
			linkages[linkage]++
		}
		i := slices.IndexFunc(names, func(name string) bool {
			_, taken := values.Choose(specs, name)
			return taken
		})
		if i < 0 || found[rva] != nil {
			return
		}
		name := names[i]
		offset, ok := own.Offset(own.Base + rva)
		if !ok {
			return
		}
		if _, _, ok := own.Executable(own.Base + rva); !ok {
			return
		}
		f := &probe.Function{Name: name, Linkage: linkage, Symbols: symbols, RVA: rva, Offset: offset, Size: size, Go: isGo}
		n := uint64(maxStart)
		if isGo || atReturns || linkage == "" {
			n = min(size, maxGoCode)
		}
		f.Code = codeAt(own, offset, n)
		found[rva] = f
		order = append(order, rva)
	}
	if t, err := gosym.New(own); err == nil {
		if err := sized(t, func(rva, size uint64, name string) { add(rva, size, []string{name}, nil, true) }); err != nil {
			return nil, err
		}
	}
	goes := len(covered) > 0
	for _, im := range []*image.Image{own, debug} {
		t, err := symtab.New(im)
		if err != nil {
			continue
		}
		err = t.Procedures(func(rva uint64, name string) bool {
			if goes && covered[rva] {
				return true
			}
			sym, err := t.Lookup(rva)
			if err != nil || sym.Start != rva || sym.Kind == symbols.PLT || sym.Kind == symbols.Thunk {
				return true
			}
			raw := t.LinkNames(rva)
			for i := range raw {
				raw[i], _, _ = strings.Cut(raw[i], "@") // the version
			}
			names := append([]string{withoutResult(cmp.Or(sym.Outermost().Signature, name), name)}, sym.Aliases...)
			add(rva, sym.Size, names, raw, false)
			return true
		})
		if err != nil {
			return nil, err
		}
		if im == debug {
			break
		}
	}
	if s := unwind.NewStarts(own); s != nil {
		_ = sized(s, func(rva, size uint64, name string) {
			if !covered[rva] {
				add(rva, size, []string{name}, nil, false)
			}
		})
	}
	list := make([]probe.Function, 0, len(order))
	for _, rva := range order {
		f := *found[rva]
		if linkages[f.Linkage] > 1 && debug == own {
			f.Linkage = ""
		}
		list = append(list, f)
	}
	return list, nil
}

// sized calls visit with the functions of a table, and the size of each, 0 where that is not known.
func sized(t symbols.Table, visit func(rva, size uint64, name string)) error {
	return t.Procedures(func(rva uint64, name string) bool {
		size := uint64(0)
		if sym, err := t.Lookup(rva); err == nil {
			size = sym.Size
		}
		visit(rva, size, name)
		return true
	})
}

// withoutResult returns a signature without the type of the result, which stands before the name of functions of templates.
func withoutResult(signature, name string) string {
	if i := strings.LastIndex(signature, name+"("); i > 0 && signature[i-1] == ' ' {
		return signature[i:]
	}
	return signature
}

// codeAt returns up to n bytes of an image's file.
func codeAt(im *image.Image, offset, n uint64) []byte {
	b := make([]byte, n)
	m, err := im.File().ReadAt(b, int64(offset))
	if err != nil && err != io.EOF {
		return nil
	}
	return b[:m]
}

// typeArguments finds out what functions take and return: by declarations of the user's, by debug information, and by the
// declarations that come with the program. Functions of which there is none keep their registers as they are.
func typeArguments(ctx context.Context, debug, own *image.Image, specs []values.Spec, list []probe.Function, opt ProbeOptions) (notes []message.Text, err error) {
	if opt.Raw || opt.NoArguments || own.Machine != "x86-64" {
		switch {
		case opt.Prototypes == nil:
		case opt.Raw || opt.NoArguments:
			notes = append(notes, message.Textf("the declarations of functions are not used: registers were asked for as they are, or nothing"))
		default:
			notes = append(notes, message.Textf("the declarations of functions are not used: where arguments are is known of programs for x86-64 only, and this one is for %s", own.Machine))
		}
		return notes, nil
	}
	maker := values.NewMaker(values.SysV)
	if own.Kind == image.PE {
		maker = values.NewMaker(values.Win64)
	}
	library := filepath.Base(own.File().Path)
	declareArguments(maker, library, specs, list, opt.Prototypes)
	if err := describeArguments(ctx, maker, debug, specs, list); err != nil {
		return nil, err
	}
	builtin, _ := values.BuiltinPrototypes()
	declareArguments(maker, library, specs, list, builtin)
	unknown := 0
	for i := range list {
		if f := &list[i]; !f.Go && f.Values == nil {
			unknown++
		}
	}
	switch {
	case unknown == 0:
	case debug.HasDWARF() || unknown < len(list):
		notes = append(notes, message.Textf("%d of %d functions have no debug information: their arguments are the registers that may hold some", unknown, len(list)))
	default:
		notes = append(notes, message.Textf("there is no debug information: arguments are the registers that may hold some"))
	}
	return notes, nil
}

// declareArguments finds out of prototypes, which may be nil, what functions take and return of which that is not known yet.
func declareArguments(maker *values.Maker, library string, specs []values.Spec, list []probe.Function, by *Prototypes) {
	if by == nil {
		return
	}
	for i := range list {
		f := &list[i]
		if f.Go || f.Values != nil {
			continue
		}
		declared := declarationOf(f, library, by)
		if declared == nil {
			continue
		}
		there := *declared
		there.RVA, there.Size = f.RVA, f.Size
		items, _ := values.Choose(specs, f.Name)
		v := maker.Function(&there, items)
		f.Values = &v
	}
}

// declarationOf returns the declaration of a function, by the name of any symbol that it has, or by its own; nil for none.
func declarationOf(f *probe.Function, library string, by *Prototypes) *types.Function {
	for _, name := range append(slices.Clone(f.Symbols), f.Name) {
		if declared := by.Function(library, name); declared != nil {
			return declared
		}
	}
	return nil
}

// describeArguments finds out of debug information what functions take and return of which that is not known yet.
func describeArguments(ctx context.Context, maker *values.Maker, debug *image.Image, specs []values.Spec, list []probe.Function) error {
	at := make(map[uint64]*probe.Function, len(list))
	for i := range list {
		if f := &list[i]; !f.Go && f.Values == nil {
			at[f.RVA] = f
		}
	}
	if !debug.HasDWARF() || len(at) == 0 {
		return nil
	}
	typed, err := dwarf.Functions(ctx, debug, func(name string) bool {
		_, taken := values.Choose(specs, name)
		return taken
	})
	if err != nil {
		return err
	}
	clones, err := symtab.Clones(debug)
	if err != nil {
		return err
	}
	for i := range typed {
		t := &typed[i]
		f := at[t.RVA]
		if f == nil || f.Values != nil {
			continue
		}
		t.Altered = t.Altered || clones[t.RVA]
		items, _ := values.Choose(specs, t.Name)
		v := maker.Function(t, items)
		f.Name, f.Values = t.Name, &v
		if f.Size == 0 {
			f.Size = t.Size
		}
	}
	return nil
}

// goMachines are the processors' names by those of Go.
var goMachines = map[string]string{"amd64": "x86-64", "arm64": "arm64"}

// maxKernelNames bounds what is read of the kernel's list of names, bytes.
const maxKernelNames = 256 << 20

// planKernelProbes makes probes for functions of the running kernel.
func planKernelProbes(specs []values.Spec, opt ProbeOptions) (*ProbePlan, error) {
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, message.Errorf("%w: %w", ErrNoKernel, unwrapPath(err))
	}
	defer f.Close()
	var list []probe.Function
	seen := make(map[string]bool)
	lines := bufio.NewScanner(io.LimitReader(f, maxKernelNames))
	for lines.Scan() {
		words := bytes.Fields(lines.Bytes())
		if len(words) != 3 || !bytes.ContainsAny(words[1], "tT") { // modules have a fourth
			continue
		}
		name := string(words[2])
		if _, taken := values.Choose(specs, name); taken && !seen[name] {
			seen[name] = true
			list = append(list, probe.Function{Name: name, Linkage: name})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, message.Errorf("%w: %w", ErrNoKernel, err)
	}
	if len(list) == 0 {
		return nil, &InputError{OtherInput, KernelImage, ErrNoFunction}
	}
	plan, err := probe.New(probe.Target{Machine: goMachines[runtime.GOARCH]}, list, opt.Options)
	if err != nil {
		return nil, err
	}
	return newProbePlan(plan), nil
}

// NamesBeside returns where the names of probes are saved that are in a file.
func NamesBeside(path string) string {
	if stem := strings.TrimSuffix(path, filepath.Ext(path)); stem+namesExtension != path {
		return stem + namesExtension
	}
	return path + namesExtension
}

// SaveProbes writes the lines to a file, and the names beside it, from where they are
// read with what the probes print.
func (p *ProbePlan) SaveProbes(ctx context.Context, path string) (names string, err error) {
	names = NamesBeside(path)
	if err := export.WriteFile(ctx, names, 0, func(w io.Writer) error { return p.Names().Write(w, "") }); err != nil {
		return "", err
	}
	return names, export.WriteFile(ctx, path, 0, func(w io.Writer) error { return p.Write(w, false) })
}

// namesExtension is that of the files of probes' names.
const namesExtension = ".lpnames"
