package app

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"logparser/rows"
	"logparser/symbols"
)

// A function is its symbol. Overloads, static functions of several files, the parts of a coroutine and the several
// destructors of a class may have one short name all the same. Where such functions are in one log, each is shown with what
// tells it from the others: its parameters, its part, its file, or where it begins.

// A linkNamer is a table of symbols that knows what the linker calls what begins at an RVA.
type linkNamer interface {
	LinkNames(rva uint64) []string
}

// A nameKey is what functions have in common that need more than their names.
type nameKey struct{ module, name string }

// A variant is one of the functions of a name.
type variant struct {
	// signature is without the notes of copies, "" if unknown. start is an RVA, 0 of an inlined function.
	signature, source string
	start             uint64
	// part is what the compiler made of one function as it is written: a part of a coroutine, a destructor that frees memory.
	part string
	// link are the names that the linker has for it, nil if unknown.
	link []string
	// label is the name that is shown.
	label string
}

// A namesake is a name, with the functions that have it.
type namesake struct {
	variants []variant
	// places are the numbers of the addresses of the functions, and of the variant of each.
	places, variant []int32
}

// namesakes finds functions that have one name. It goes on where addresses are added.
type namesakes struct {
	named  *names
	byName map[nameKey]*namesake
	// known is how many addresses are in it.
	known int
	// labels are the names of functions that are not called as their short name has it, for who names other addresses.
	labels map[labelKey]string
}

type labelKey struct {
	nameKey
	signature, source string
	start             uint64
}

// distinguish gives functions of one name names that differ, as far as addresses are named. It reports whether the name of
// a function changed that had one before. The caller holds the token.
func (s *Session) distinguish(ctx context.Context, n *names, total int) (renamed bool, err error) {
	k := s.namesakes
	if k == nil {
		k = &namesakes{byName: make(map[nameKey]*namesake), labels: make(map[labelKey]string)}
		s.namesakes = k
	}
	k.named = n
	changed := make(map[nameKey]*namesake)
	before := k.known
	for ; k.known < total; k.known++ {
		if k.known%cancelEvery == 0 && ctx.Err() != nil {
			return renamed, ctx.Err()
		}
		i := k.known
		p := n.places[i].Load()
		if p == nil || p.function == "" || p.module < 0 {
			continue
		}
		a := n.addresses.At(i)
		key := nameKey{s.runs()[a.Run].names[p.module], p.function}
		of := k.byName[key]
		if of == nil {
			of = &namesake{}
			k.byName[key] = of
		}
		if of.add(int32(i), p) || len(of.variants) > 1 {
			changed[key] = of
		}
	}
	for key, of := range changed {
		if len(of.variants) < 2 {
			continue
		}
		s.nameApart(n, of, key.name)
		for j, i := range of.places {
			p, v := n.places[i].Load(), &of.variants[of.variant[j]]
			if p.label == v.label || p.label == "" && v.label == key.name {
				continue
			}
			shown := *p
			shown.label, shown.part = v.label, v.part
			n.places[i].Store(&shown)
			renamed = renamed || int(i) < before
		}
		for _, v := range of.variants {
			k.labels[labelKey{key, v.signature, v.source, v.start}] = v.label
		}
	}
	return renamed, nil
}

// add adds an address and reports whether it is of a function that was not known.
func (of *namesake) add(i int32, p *place) bool {
	v := variant{signature: withoutCopies(p.signature), source: p.source, start: p.start, part: coroutinePart(p.signature)}
	known := slices.IndexFunc(of.variants, func(w variant) bool {
		// Two addresses of a function may lie in several files: in what is included, or made by a macro.
		return w.start == v.start && (v.start != 0 || w.signature == v.signature && w.source == v.source)
	})
	if known < 0 {
		known = len(of.variants)
		of.variants = append(of.variants, v)
	}
	of.places, of.variant = append(of.places, i), append(of.variant, int32(known))
	return known == len(of.variants)-1 && known > 0
}

// nameApart makes the labels of the functions of a name. Copies of one function, and parts of it that lie apart, keep one name.
func (s *Session) nameApart(n *names, of *namesake, name string) {
	list := of.variants
	for i := range list {
		if v := &list[i]; v.link == nil && v.start != 0 {
			at := slices.Index(of.variant, int32(i))
			p, a := n.places[of.places[at]].Load(), n.addresses.At(int(of.places[at]))
			v.link = s.linkNames(int(a.Run), p.module, v.start)
		}
	}
	for i := range list {
		v := &list[i]
		v.label = name
		for _, link := range v.link {
			if v.part == "" {
				v.part = coroutinePart(link)
			}
		}
		for k := range list {
			if part, ok := structorPart(v.link, list[k].link); k != i && ok && v.part == "" {
				v.part = part
			}
		}
	}
	tagged := func(v *variant, tag string) string { return v.label + " " + tag }
	// Each step is for those that have one label still.
	labelApart(list, func(v *variant) string { return v.part }, func(v *variant) string {
		if v.part == "" {
			return v.label
		}
		return tagged(v, "["+v.part+"]")
	})
	labelApart(list, func(v *variant) string { return v.signature }, func(v *variant) string {
		if spelled := parameters(v.signature, name); spelled != "" {
			return spelled + strings.TrimPrefix(v.label, name)
		}
		return v.label
	})
	labelApart(list, func(v *variant) string { return v.source }, func(v *variant) string {
		if v.source == "" {
			return v.label
		}
		return tagged(v, "("+shortestSource(list, v)+")")
	})
	labelApart(list, func(v *variant) string {
		if v.source != "" || v.start == 0 || !elsewhere(list, v) {
			return ""
		}
		return strconv.FormatUint(v.start, 16)
	}, func(v *variant) string {
		if v.source != "" || v.start == 0 {
			return v.label
		}
		return tagged(v, "[+0x"+strconv.FormatUint(v.start, 16)+"]")
	})
}

// labelApart gives functions that have one label others, where what tells them apart is not the same of all.
func labelApart(list []variant, by, label func(v *variant) string) {
	apart := make(map[string]string) // what tells the first of a label, "\x00" once others differ
	for i := range list {
		v := &list[i]
		first, ok := apart[v.label]
		if what := by(v); !ok {
			apart[v.label] = what
		} else if first != what {
			apart[v.label] = "\x00"
		}
	}
	labels := make([]string, len(list))
	for i := range list {
		if labels[i] = list[i].label; apart[list[i].label] == "\x00" {
			labels[i] = label(&list[i])
		}
	}
	for i := range list {
		list[i].label = labels[i]
	}
}

// elsewhere reports whether another function with the label of v is one of its own and no copy: it begins elsewhere, and the linker
// gives both the same name, as it does for static functions of two files, or none that is known.
func elsewhere(list []variant, v *variant) bool {
	return slices.ContainsFunc(list, func(w variant) bool {
		if w.label != v.label || w.start == v.start || w.start == 0 || w.source != "" {
			return false
		}
		return len(v.link) == 0 && len(w.link) == 0 || slices.ContainsFunc(v.link, func(link string) bool { return slices.Contains(w.link, link) })
	})
}

// shortestSource returns so many of the last elements of a function's file that no other function of its label has the same.
func shortestSource(list []variant, v *variant) string {
	whole := strings.ReplaceAll(rows.CutSourceTag(v.source), `\`, "/")
	for end := len(whole); ; {
		end = strings.LastIndexByte(whole[:end], '/')
		tail := whole[end+1:]
		shared := slices.ContainsFunc(list, func(w variant) bool {
			other := strings.ReplaceAll(rows.CutSourceTag(w.source), `\`, "/")
			return w.label == v.label && other != whole && (other == tail || strings.HasSuffix(other, "/"+tail))
		})
		if !shared || end <= 0 {
			return tail
		}
	}
}

// linkNames returns what the linker calls what begins at an RVA, nil where that is not known.
func (s *Session) linkNames(run, module int, rva uint64) []string {
	if run >= len(s.bindings) || module >= len(s.bindings[run]) {
		return nil
	}
	if table, ok := symbols.As[linkNamer](s.bindings[run][module].Table); ok {
		return table.LinkNames(rva)
	}
	return nil
}

// label returns the name that an address is shown with which is not one of the log's, but may be of a function that is.
func (k *namesakes) label(module string, p *place) string {
	if k == nil || p.function == "" || len(k.labels) == 0 {
		return ""
	}
	return k.labels[labelKey{nameKey{module, p.function}, withoutCopies(p.signature), p.source, p.start}]
}

// withoutCopies returns a signature without what is noted of compilers' copies of functions, and without the mark of another
// build.
func withoutCopies(signature string) string {
	i := strings.Index(signature, " [clone ")
	if i < 0 {
		return signature
	}
	return signature[:i]
}

// coroutinePart returns which part of a coroutine a linkage name or a signature is of, "" for none: gcc and clang make several
// functions of one, and call them by what is behind the last dots.
func coroutinePart(name string) string {
	for rest := name; ; {
		i := strings.LastIndexByte(rest, '.')
		if i < 0 {
			return ""
		}
		switch word := strings.TrimRight(rest[i+1:], "]"); word {
		case "actor", "resume":
			return "resume"
		case "destroy", "cleanup":
			return word
		case "cold":
		default:
			if strings.Trim(word, "0123456789") != "" && word != "llvm" {
				return ""
			}
		}
		rest = strings.TrimSuffix(rest[:i], " [clone ")
		rest = strings.TrimSuffix(rest, "]")
	}
}

// structorPart returns what a constructor or destructor is for that differs from another one by its number alone, as the C++ ABI
// of Itanium has it: classes with virtual bases and virtual destructors have several. Of the complete object it is "".
func structorPart(link, other []string) (part string, ok bool) {
	for _, a := range link {
		for _, b := range other {
			if len(a) != len(b) {
				continue
			}
			i := 0
			for i < len(a) && a[i] == b[i] {
				i++
			}
			if i == 0 || i == len(a) || a[i+1:] != b[i+1:] || !strings.HasPrefix(a, "_Z") {
				continue
			}
			switch kind, number := a[i-1], a[i]; {
			case kind == 'D' && number == '0' && (b[i] == '1' || b[i] == '2'):
				return "deleting", true
			case (kind == 'C' || kind == 'D') && number == '2' && b[i] == '1':
				return "base object", true
			}
		}
	}
	return "", false
}

// parameters returns a function's name with what follows it in its signature, "" where that does not have it.
func parameters(signature, name string) string {
	if rest, ok := strings.CutPrefix(signature, name); ok {
		return name + rest
	}
	// In front there may be a result, or a storage class and a calling convention.
	if i := strings.LastIndex(signature, name+"("); i > 0 && signature[i-1] == ' ' {
		return signature[i:]
	}
	return signature
}
