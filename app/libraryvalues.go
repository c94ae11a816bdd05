package app

import (
	"cmp"
	"context"
	"debug/elf"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"logparser/calls/values"
	"logparser/message"
	"logparser/modules"
	"logparser/recorder/launch"
)

// Prototypes are declarations of functions of libraries, in C.
type Prototypes = values.Prototypes

// ReadPrototypes reads a file of prototypes.
func ReadPrototypes(path string) (*Prototypes, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := values.ReadPrototypes(f)
	if err != nil {
		return nil, message.InFile(path, err)
	}
	return p, nil
}

// WritePrototypes writes those that come with the program, as they are read.
func WritePrototypes(w io.Writer) error {
	_, text := values.BuiltinPrototypes()
	_, err := io.WriteString(w, text)
	return err
}

// PlanLibraryValues makes the plan of which arguments and results a recorder takes of calls into the libraries of a program:
// by prototypes, own before those that come with the program, and by debug information that a library carries itself. own may be nil.
func PlanLibraryValues(ctx context.Context, in Inputs, program string, specs []ValueSpec, own *Prototypes) (*ValuePlan, error) {
	libraries, err := launch.Libraries(program)
	if err != nil {
		return nil, message.InFile(program, err)
	}
	builtin, _ := values.BuiltinPrototypes()
	p := &ValuePlan{Plan: values.Plan{Machine: values.X8664, ABI: values.SysV}}
	maker := values.NewMaker(values.SysV)
	maker.Texts = true
	for _, path := range libraries {
		m, described, err := declaredValues(path, specs, maker, own, builtin)
		if err != nil {
			continue // the loader will say what is wrong with it
		}
		if described {
			if debug, err := p.module(ctx, in, path, specs, maker, false); err == nil {
				m.Functions = append(m.Functions, debug.Functions...)
			} else if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		if len(m.Functions) == 0 {
			continue
		}
		m.Functions = withoutOverlap(m.Functions)
		p.Modules = append(p.Modules, m)
		p.count(&m)
	}
	return p, nil
}

// withoutOverlap sorts functions, and leaves the first of those that lie at one place.
func withoutOverlap(list []values.Function) []values.Function {
	slices.SortStableFunc(list, func(a, b values.Function) int { return cmp.Compare(a.RVA, b.RVA) })
	end := uint64(0)
	return slices.DeleteFunc(list, func(f values.Function) bool {
		if f.RVA < end {
			return true
		}
		end = f.RVA + f.Size
		return false
	})
}

// declaredValues makes the part of a plan for the functions of a library that prototypes declare. described says that the library
// carries debug information.
func declaredValues(path string, specs []ValueSpec, maker *values.Maker, prototypes ...*Prototypes) (m values.Module, described bool, err error) {
	f, err := elf.Open(path)
	if err != nil {
		return m, false, err
	}
	defer f.Close()
	if f.Machine != elf.EM_X86_64 || f.Class != elf.ELFCLASS64 {
		return m, false, ErrNoConvention
	}
	own, err := openImage(path)
	if err != nil {
		return m, false, err
	}
	defer own.Close()
	m = values.Module{Name: filepath.Base(path), Identity: modules.Identity{BuildID: own.Identity.BuildID}}
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return m, false, err
	}
	const gnuIndirect = 10 // STT_GNU_IFUNC
	for _, s := range symbols {
		if kind := elf.ST_TYPE(s.Info); s.Section == elf.SHN_UNDEF || kind != elf.STT_FUNC && kind != gnuIndirect {
			continue
		}
		items, wanted := values.Choose(specs, s.Name)
		if !wanted {
			continue
		}
		for _, list := range prototypes {
			if list == nil {
				continue
			}
			declared := list.Function(m.Name, s.Name)
			if declared == nil {
				continue
			}
			function := *declared
			function.RVA, function.Size = s.Value-lowest(f), max(s.Size, 1)
			if made := atHooks(maker.Function(&function, items)); len(made.Enter)+len(made.Leave) > 0 {
				m.Functions = append(m.Functions, made)
			}
			break
		}
	}
	return m, own.HasDWARF(), nil
}

// atHooks leaves out the values in registers that declarations name and the recorder's hooks do not keep.
func atHooks(f values.Function) values.Function {
	for i := range f.Enter {
		v := &f.Enter[i]
		for place := range strings.SplitSeq(v.Place, "+") {
			if slices.Contains([]string{"rbx", "rbp", "r10", "r11", "r12", "r13", "r14", "r15"}, place) {
				v.Place, v.Op = "-", values.Op{}
			}
		}
	}
	return f
}

// lowest is the address from which the RVAs of an image count.
func lowest(f *elf.File) uint64 {
	const page = 4096
	low := ^uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			low = min(low, p.Vaddr&^uint64(page-1))
		}
	}
	return low
}

// Add adds another plan, of other modules.
func (p *ValuePlan) Add(other *ValuePlan) {
	p.Modules = append(p.Modules, other.Modules...)
	p.Functions += other.Functions
	p.Values += other.Values
	p.Unknown += other.Unknown
	p.Notes = append(p.Notes, other.Notes...)
	p.Warnings = append(p.Warnings, other.Warnings...)
}
