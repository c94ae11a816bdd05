package app

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"logparser/modules"
	"logparser/rows"
)

// Which functions of two runs are the same: those of one module and name, and of what else is known of both.

// A comparedFunction is a function as it is compared.
type comparedFunction struct {
	// module and name are what another run, of another build perhaps, has as well; the program itself may have another name.
	module, name string
	// part is what the compiler made of the function, signature and source are "" if unknown; source is a base name.
	part, signature, source string
	// start is where it begins, as far as only that tells it from another one; "" for nowhere.
	start string
	// build is the identity of the module, "" if unknown, and format the one of its symbols.
	build, format string
}

// comparedFunctions returns the functions of groups.
func (s *Session) comparedFunctions(g *groups, program string) []comparedFunction {
	s.mu.Lock()
	n, bindings := s.names, s.bindings
	s.mu.Unlock()
	list := make([]comparedFunction, len(g.list))
	for i := range g.list {
		f := &g.list[i]
		c := comparedFunction{module: f.Module, name: f.Function, source: modules.BaseName(f.Source)}
		if p := n.at(int(g.first[i])); p != nil && p.function != "" {
			c.name, c.part, c.signature = p.function, p.part, withoutCopies(p.signature)
			if strings.HasSuffix(p.label, "]") && strings.Contains(p.label, " [+0x") {
				c.start = strconv.FormatUint(p.start, 16)
			}
			run := int(n.addresses.At(int(g.first[i])).Run)
			if p.module >= 0 && run < len(bindings) && p.module < len(bindings[run]) {
				if id := s.runs()[run].modules.At(p.module).Identity; id != (modules.Identity{}) {
					c.build = id.String()
				}
				if table := bindings[run][p.module].Table; table != nil {
					c.format = table.Describe()
				}
			}
		}
		c.module, c.name = comparedName(f.Module, c.name, program)
		list[i] = c
	}
	return list
}

// Parts of names that another build may have, or not, of the same function and module.
var (
	clonedFunction  = regexp.MustCompile(`(\.(constprop|isra|part|cold|lto_priv|llvm)(\.[0-9]+)*)+( \[clone [^\]]*\])*$|( \[clone [^\]]*\])+$`)
	versionOfModule = regexp.MustCompile(`\.so(\.[0-9]+)+$`)
)

// comparedName returns by which names a module and a function of it are compared.
func comparedName(module, function, program string) (string, string) {
	if offset, ok := strings.CutPrefix(function, module+"+0x"); ok && module != "" {
		function = "+0x" + offset // it has no name
	}
	if module == program {
		module = ""
	}
	return versionOfModule.ReplaceAllString(module, ".so"), clonedFunction.ReplaceAllString(function, "")
}

// numberFunctions gives the functions of two runs numbers, from 1: functions that are the same have one. What only one of the runs
// knows of the functions of a name tells nothing.
func numberFunctions(a, b []comparedFunction) (numbersA, numbersB []uint32) {
	type key struct{ module, name, part, signature, source, start string }
	keys := [2][]key{make([]key, len(a)), make([]key, len(b))}
	lists := [2][]comparedFunction{a, b}
	// refine adds to the keys what tells functions of one key apart, where tell says of all functions of the key that it does.
	refine := func(tell func(a, b []*comparedFunction) bool, add func(k *key, f *comparedFunction)) {
		of := make(map[key]*[2][]*comparedFunction)
		for run := range keys {
			for i, k := range keys[run] {
				if of[k] == nil {
					of[k] = &[2][]*comparedFunction{}
				}
				of[k][run] = append(of[k][run], &lists[run][i])
			}
		}
		for run := range keys {
			for i := range keys[run] {
				k := &keys[run][i]
				if both := of[*k]; tell(both[0], both[1]) {
					add(k, &lists[run][i])
				}
			}
		}
	}
	always := func(a, b []*comparedFunction) bool { return true }
	refine(always, func(k *key, f *comparedFunction) { k.module, k.name, k.part = f.module, f.name, f.part })
	// Each reader of symbols writes types in its own way.
	refine(func(a, b []*comparedFunction) bool {
		return known(a, b, func(f *comparedFunction) string { return f.signature }) && same(a, b, func(f *comparedFunction) string { return f.format })
	}, func(k *key, f *comparedFunction) { k.signature = f.signature })
	// Another build may have moved a function to another file: only where a run has two of them the file is the function's.
	source := func(f *comparedFunction) string { return f.source }
	refine(func(a, b []*comparedFunction) bool {
		return known(a, b, source) && (sameBuild(a, b) || !same(a, nil, source) || !same(nil, b, source))
	}, func(k *key, f *comparedFunction) { k.source = f.source })
	refine(func(a, b []*comparedFunction) bool {
		return sameBuild(a, b) && slices.ContainsFunc(slices.Concat(a, b), func(f *comparedFunction) bool { return f.start != "" })
	}, func(k *key, f *comparedFunction) { k.start = f.start })
	numbers := make(map[key]uint32)
	number := func(list []key) []uint32 {
		of := make([]uint32, len(list))
		for i, k := range list {
			if numbers[k] == 0 {
				numbers[k] = uint32(len(numbers)) + 1
			}
			of[i] = numbers[k]
		}
		return of
	}
	return number(keys[0]), number(keys[1])
}

// spellOut gives functions, whose numbers in own are their keys, names that those of the other run do not have.
func spellOut(list []FunctionRef, own, other []comparedFunction) {
	for i := range list {
		ref := &list[i]
		f := &own[ref.Key]
		has := func(differs func(o *comparedFunction) bool) bool {
			return slices.ContainsFunc(other, func(o comparedFunction) bool { return o.module == f.module && o.name == f.name && differs(&o) })
		}
		switch {
		case rows.PlainFunction(ref.Function) != ref.Function:
		case f.signature != "" && has(func(o *comparedFunction) bool { return o.signature != f.signature }):
			ref.Function = parameters(f.signature, ref.Function)
		case f.source != "" && has(func(o *comparedFunction) bool { return o.source != f.source }):
			ref.Function += " (" + f.source + ")"
		}
	}
}

// known reports whether something is known of all functions.
func known(a, b []*comparedFunction, what func(*comparedFunction) string) bool {
	missing := func(f *comparedFunction) bool { return what(f) == "" }
	return !slices.ContainsFunc(a, missing) && !slices.ContainsFunc(b, missing)
}

// same reports whether something is the same of all functions.
func same(a, b []*comparedFunction, what func(*comparedFunction) string) bool {
	all := slices.Concat(a, b)
	return !slices.ContainsFunc(all, func(f *comparedFunction) bool { return what(f) != what(all[0]) })
}

// sameBuild reports whether all functions are of one build of their module.
func sameBuild(a, b []*comparedFunction) bool {
	build := func(f *comparedFunction) string { return f.build }
	return known(a, b, build) && same(a, b, build)
}
