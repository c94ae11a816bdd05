package app

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"logparser/calls/values"
	"logparser/export"
	"logparser/message"
	"logparser/modules"
	"logparser/recorder/launch"
	"logparser/symbols"
	"logparser/symbols/hooks"
	"logparser/symbols/image"
	"logparser/symbols/pdb"
	"logparser/symbols/store"
	"logparser/symbols/symtab"
	"logparser/symbols/types"
	"logparser/symbols/types/dwarf"
	typespdb "logparser/symbols/types/pdb"
	"logparser/symbols/types/signature"
)

// A ValuePlan is a plan of values with what there is to say of it.
type ValuePlan struct {
	values.Plan
	// Functions and Values count what is taken; Unknown are the values of which only the name
	// is known.
	Functions, Values, Unknown int
	// Notes are about single images. Warnings are told by record as well: images without anything in the plan, compilers that
	// are not known.
	Notes, Warnings []message.Text
	// compilers are those of which Warnings say that they are not known, at most maxCompilers.
	compilers []string
}

const maxCompilers = 8

// A ValueSpec chooses functions and, of each, which values are taken.
type ValueSpec = values.Spec

// ParseValueSpecs reads texts of the form [!]PATTERN[@ITEM,ITEM…].
func ParseValueSpecs(texts []string) ([]ValueSpec, error) {
	specs := make([]ValueSpec, len(texts))
	for i, text := range texts {
		var err error
		if specs[i], err = values.ParseSpec(text); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// Write writes the plan as the recorder reads it.
func (p *ValuePlan) Write(w io.Writer) error { return values.Write(w, &p.Plan) }

// Save writes the plan to a file, whole or not at all.
func (p *ValuePlan) Save(ctx context.Context, path string) error {
	return export.WriteFile(ctx, path, 0, p.Write)
}

// PlanValues makes the plan of which arguments and results a recorder takes in programs and
// libraries. It needs their debug information, beside them or where the inputs say.
func PlanValues(ctx context.Context, in Inputs, images []string, specs []ValueSpec) (*ValuePlan, error) {
	return planValues(ctx, in, images, specs, true)
}

// PlanProgramValues makes the plan for a program and for those of its libraries whose calls are recorded, too. A library of which
// no plan can be made is said in Warnings; so is the program, if there is one of its libraries.
func PlanProgramValues(ctx context.Context, in Inputs, program string, specs []ValueSpec) (*ValuePlan, error) {
	libraries, err := launch.HookedLibraries(program)
	if err != nil {
		libraries = nil // it is none for Linux, or a script
	}
	p, failed := PlanValues(ctx, in, []string{program}, specs)
	if failed != nil {
		p = &ValuePlan{}
		p.Warnings = append(p.Warnings, message.Textf("no values are taken in %v", failed))
	}
	for _, path := range libraries {
		one, err := PlanValues(ctx, in, []string{path}, specs)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			p.Warnings = append(p.Warnings, message.Textf("no values are taken in %v", err))
		case p.ABI != "" && p.ABI != one.ABI:
		case one.Functions > 0:
			p.Machine, p.ABI = one.Machine, one.ABI
			p.Add(one)
		}
	}
	if failed != nil && p.Functions == 0 {
		return nil, failed
	}
	return p, nil
}

// planValues makes a plan: for the hooks that a program's code calls, or for where functions begin and return.
func planValues(ctx context.Context, in Inputs, images []string, specs []ValueSpec, atHooks bool) (*ValuePlan, error) {
	machine, abi, err := conventionOf(images)
	if err != nil {
		return nil, err
	}
	p := &ValuePlan{Plan: values.Plan{Machine: machine, ABI: abi}}
	maker := values.NewMaker(abi)
	maker.Texts = true
	for _, path := range images {
		m, err := p.module(ctx, in, path, specs, maker, atHooks)
		if err != nil {
			return nil, message.InFile(path, err)
		}
		if len(m.Functions) == 0 {
			p.Notes = append(p.Notes, message.Textf("%s: no function with debug information fits", filepath.Base(path)))
		}
		if atHooks && len(m.Functions) > 0 {
			if program, err := launch.Inspect(path); err == nil {
				if why := program.WithoutValues(false); !why.IsZero() {
					p.Notes = append(p.Notes, why)
				}
			}
		}
		p.Modules = append(p.Modules, m)
		p.count(&m)
	}
	return p, nil
}

// ErrNoConvention says that values cannot be taken in images of a kind.
var ErrNoConvention = message.New("values are taken in programs of Linux for x86-64, x86 and arm64, and of Windows for x86-64 and x86, only so far")

// conventionOf returns the machine and the calling convention of images, of which all have the same.
func conventionOf(images []string) (machine values.Machine, abi values.ABI, err error) {
	for _, path := range images {
		im, err := openImage(path)
		if err != nil {
			return "", "", message.InFile(path, err)
		}
		of, by := values.X8664, values.SysV
		switch {
		case im.Kind == image.PE && im.Machine == string(values.X86):
			of, by = values.X86, values.Win32
		case im.Kind == image.PE:
			by = values.Win64
		case im.Machine == string(values.X86):
			of, by = values.X86, values.Cdecl
		case im.Machine == string(values.ARM64):
			of, by = values.ARM64, values.AAPCS64
		}
		unknown := im.Machine != string(of) || im.PointerSize != 8 && of != values.X86
		im.Close()
		switch {
		case unknown:
			return "", "", message.InFile(path, ErrNoConvention)
		case abi != "" && abi != by:
			return "", "", message.InFile(path, message.New("a plan is for programs of one kind of processor and system"))
		}
		machine, abi = of, by
	}
	return machine, abi, nil
}

// module makes the part of a plan for an image.
func (p *ValuePlan) module(ctx context.Context, in Inputs, path string, specs []ValueSpec, maker *values.Maker, atHooks bool) (values.Module, error) {
	img, err := OpenImage(ctx, path, in)
	if err != nil {
		return values.Module{}, err
	}
	defer img.Close()
	own, err := openImage(path)
	if err != nil {
		return values.Module{}, err
	}
	defer own.Close()
	m := values.Module{Name: filepath.Base(path), Identity: modules.Identity{BuildID: own.Identity.BuildID}}
	if own.Kind == image.PE {
		m.Identity = own.Identity
		if m.Identity.IsZero() {
			p.Notes = append(p.Notes, message.Textf("%s has neither a build-id nor a time stamp, so that it cannot be told from other builds; have the linker give it a build-id", m.Name))
		}
	} else if m.Identity.IsZero() {
		p.Notes = append(p.Notes, message.Textf("%s has no build-id, so that it cannot be told from other builds; have the linker give it one", m.Name))
	}
	chosen := func(name string) bool {
		_, taken := values.Choose(specs, name)
		return taken
	}
	functions, err := typedFunctions(ctx, &img.binding, own, chosen)
	if errors.Is(err, dwarf.ErrNone) || errors.Is(err, ErrNoPDB) {
		signed, failed := signature.Functions(ctx, own, chosen)
		if failed != nil {
			return m, failed
		}
		signed = slices.DeleteFunc(signed, func(f types.Function) bool {
			items, _ := values.Choose(specs, f.Name)
			made := maker.Function(&f, items)
			return !slices.ContainsFunc(slices.Concat(made.Enter, made.Leave), func(v values.Value) bool { return v.Op.Kind != values.Unknown })
		})
		if len(signed) > 0 {
			functions, err, m.Signatures = signed, nil, true
			p.Notes = append(p.Notes, message.Textf("%s has no debug information: types are by signature, out of the names of its functions, which have no names of parameters and few results; what they do not tell is not taken", m.Name))
		}
	}
	if err != nil {
		return m, err
	}
	var code *hooks.Code
	if atHooks {
		if code, err = hooks.Open(own); err != nil {
			return m, err
		}
	}
	read, err := newCodeReader(own)
	if err != nil {
		return m, err
	}
	read.results(functions)
	for i := range functions {
		f := &functions[i]
		items, _ := values.Choose(specs, f.Name)
		if f.Compiler != "" && !slices.Contains(p.compilers, f.Compiler) && len(p.compilers) < maxCompilers {
			p.compilers = append(p.compilers, f.Compiler)
			p.Warnings = append(p.Warnings, message.Textf("functions of %s were compiled by %q, of which it is not known how it changes functions; values that depend on that are ?", m.Name, f.Compiler))
		}
		if f.Omits == types.OmitArguments {
			f.Reads = read.reads(f)
		}
		if made := maker.Function(f, items); len(made.Enter)+len(made.Leave) > 0 {
			if f.Omits != types.OmitNothing {
				made.ForgetUnread(f, read.taken(f))
			}
			made.AtHooks(code)
			if atHooks && maker.ABI == values.Win32 && !beginsWithCall(own, f.RVA) {
				made.Forget()
			}
			m.Functions = append(m.Functions, made)
		}
	}
	// Linkers fold functions of the same code into one: whose values those are is not known.
	m.Functions = withoutOverlap(m.Functions)
	return m, nil
}

// beginsWithCall reports whether the first instruction of a function for x86 calls something, which is a hook then. It may stand
// behind one that does nothing, for patches.
func beginsWithCall(im *image.Image, rva uint64) bool {
	code, err := im.ReadRVA(rva, 4)
	if err != nil {
		return false
	}
	const movEDI, call, callMemory = "\x8b\xff", "\xe8", "\xff\x15"
	rest := strings.TrimPrefix(string(code), movEDI)
	return strings.HasPrefix(rest, call) || strings.HasPrefix(rest, callMemory)
}

// ErrNoPDB says that nothing tells the types of a program for Windows.
var ErrNoPDB = message.New("it has no debug information: neither DWARF (-g) nor a PDB that is found (/Z7 and /debug) beside it or in the folders of symbols")

// typedFunctions returns the functions of an image of which debug information tells parameters and results: a PDB, DWARF
// in the image or in a file of its own, or both.
func typedFunctions(ctx context.Context, found *symbols.Binding, own *image.Image, chosen func(name string) bool) ([]types.Function, error) {
	var list []types.Function
	if own.Kind == image.PE && own.Machine == string(values.X86) && !own.HasDWARF() {
		return nil, ErrNoConvention // where arguments are its PDB says in another way
	}
	if found.Status == symbols.Mismatched && !own.HasDWARF() {
		return nil, message.Errorf("its symbols are of another build: %s", filepath.Base(found.File))
	}
	if table, has := symbols.As[*pdb.Table](found.Table); has && found.Status != symbols.Mismatched {
		var err error
		if list, err = typespdb.Functions(ctx, table, own, chosen); err != nil {
			return nil, err
		}
		if !own.HasDWARF() {
			return list, nil
		}
	}
	debug := own
	if file := found.File; !own.HasDWARF() && file != "" {
		var err error
		if debug, err = openImage(file); err != nil {
			return nil, err
		}
		defer debug.Close()
	}
	more, err := dwarf.Functions(ctx, debug, chosen)
	if errors.Is(err, dwarf.ErrNone) && own.Kind == image.PE {
		return nil, ErrNoPDB
	}
	if err != nil {
		return nil, err
	}
	clones, err := symtab.Clones(debug)
	if err != nil {
		return nil, err
	}
	known := make(map[uint64]bool, len(list))
	for i := range list {
		known[list[i].RVA] = true
	}
	for i := range more {
		f := &more[i]
		if f.Altered = f.Altered || clones[f.RVA]; !known[f.RVA] {
			list = append(list, *f)
		}
	}
	return list, nil
}

// openImage opens an image.
func openImage(path string) (*image.Image, error) {
	f, err := store.OpenFile(path)
	if err != nil {
		return nil, err
	}
	im, err := image.Open(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return im, nil
}

// count adds what a module takes.
func (p *ValuePlan) count(m *values.Module) {
	p.Functions += len(m.Functions)
	for i := range m.Functions {
		f := &m.Functions[i]
		for _, v := range slices.Concat(f.Enter, f.Leave) {
			if v.Op.Kind == values.Unknown {
				p.Unknown++
			} else {
				p.Values++
			}
		}
	}
}
