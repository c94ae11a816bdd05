package modules

import (
	"slices"
)

// What a file leaves open is completed from its other lines: to which modules a time belongs, and where a module ends.

// timesLast gives the last time back the modules that stand before it, if each run of the file has its time last.
func (p *scanner) timesLast() {
	if !p.timeless || p.namesModules() {
		return
	}
	p.sections--
	// What is left is the tick, which stands beside the time.
	p.lines = append(p.before, p.lines...)
}

// fillSizes has modules whose sizes are not known end where the next begins.
func (p *scanner) fillSizes() {
	list := p.file.Modules
	if !slices.ContainsFunc(list, func(m Module) bool { return m.Unsized }) {
		return
	}
	p.notes.addf("the modules file has no sizes: each module is taken to end where the next begins")
	bases := make([]uint64, len(list))
	for i := range list {
		bases[i] = list[i].Base
	}
	slices.Sort(bases)
	for i := range list {
		list[i].Size = usualSize
		if next, _ := slices.BinarySearch(bases, list[i].Base+1); next < len(bases) {
			list[i].Size = min(list[i].Size, bases[next]-list[i].Base)
		}
	}
}
