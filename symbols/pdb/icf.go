package pdb

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

// eagerScan is the size of all modules' symbols, in bytes, up to which folded
// functions are looked for with the first look-up. For larger files somebody
// has to ask.
const eagerScan = 32 << 20

// procedure is a reference to a procedure's record.
type procedure struct {
	addr   address
	size   uint32
	record uint32
	module uint32
}

// icf knows the procedures that the linker has put at one address, and
// those that lie where another module's contribution is. Only a scan of all
// modules finds them.
type icf struct {
	once sync.Once
	err  error
	// asked says that aliases are wanted whatever they cost.
	asked atomic.Bool
	// shared are the procedures that start where others do.
	shared []procedure
	// strays are the procedures whose module does not own their start.
	strays []procedure
	// strayReach says how far back a stray may begin that covers an address.
	strayReach address

	mu      sync.RWMutex
	aliases map[address][]string
	kept    int
}

// maxKeptAliases bounds the aliases that are kept at a time, in bytes.
const maxKeptAliases = 4 << 20

// ReadAliases reads all modules, after which every look-up gives all aliases
// of folded functions. Without it only those of small files are given: up to
// 32 MB of symbols. It may take a second a gigabyte.
func (t *Table) ReadAliases() error {
	err := t.readFolded()
	t.icf.asked.Store(true)
	return err
}

// readFolded reads all modules, once.
func (t *Table) readFolded() error {
	f := &t.icf
	f.once.Do(func() { f.err = t.scanAll() })
	return f.err
}

// symbolBytes is the size of all modules' symbols.
func (t *Table) symbolBytes() int64 {
	n := int64(0)
	for i := range t.modules {
		n += int64(t.modules[i].symbols)
	}
	return n
}

// eachProcedure calls yield with the code records of all modules, until it
// returns false. A module that is damaged is left out; its error is returned
// at the end.
func (t *Table) eachProcedure(yield func(module int, c *code) bool) error {
	var w msf.Window
	var damage error
	for i := range t.modules {
		more, err := t.moduleProcedures(&w, i, yield)
		if err != nil && damage == nil {
			damage = message.Errorf("pdb: module %d: %w", i, err)
		}
		if !more {
			break
		}
	}
	return damage
}

func (t *Table) moduleProcedures(w *msf.Window, i int, yield func(int, *code) bool) (more bool, err error) {
	if err := t.resetSymbols(w, &t.modules[i]); err != nil {
		return true, err
	}
	var c code // one for all, as it escapes
	for pos := w.Start(); pos < w.End(); {
		b, next, err := record(w, pos)
		if err != nil {
			return true, err
		}
		if c = parseCode(b, uint32(pos)); c.kind != kindNone && !yield(i, &c) {
			return false, nil
		}
		pos = next
	}
	return true, nil
}

// scanAll finds the folded and the stray procedures.
func (t *Table) scanAll() error {
	var all []procedure
	err := t.eachProcedure(func(module int, c *code) bool {
		if c.kind != kindIncremental && c.kind != kindIsland && c.kind != kindSeparated {
			all = append(all, procedure{c.addr, c.size, c.record, uint32(module)})
		}
		return true
	})
	slices.SortStableFunc(all, func(a, b procedure) int { return cmp.Compare(a.addr, b.addr) })
	f := &t.icf
	for i, p := range all {
		if i > 0 && all[i-1].addr == p.addr || i+1 < len(all) && all[i+1].addr == p.addr {
			f.shared = append(f.shared, p)
		}
		if c := t.contributions.find(p.addr); c == nil || uint32(c.module) != p.module {
			f.strays = append(f.strays, p)
			f.strayReach = max(f.strayReach, address(p.size))
		}
	}
	f.aliases = map[address][]string{}
	return err
}

// aliasesReady reports whether look-ups give aliases, and finds them where that
// is cheap. That a look-up had to read all modules for its own sake does not
// count: every look-up of a file gives the same answer, unless somebody has
// called ReadAliases between them.
func (t *Table) aliasesReady() bool {
	if t.icf.asked.Load() {
		return true
	}
	if t.eager {
		// Damage in another module is not this look-up's concern.
		t.readFolded()
	}
	return t.eager
}

// aliases returns the names of the procedures that start at an address, but
// the one that is shown.
func (t *Table) aliases(start address, shown string) []string {
	f := &t.icf
	i := sort.Search(len(f.shared), func(i int) bool { return f.shared[i].addr >= start })
	if i == len(f.shared) || f.shared[i].addr != start {
		return nil
	}
	f.mu.RLock()
	names, ok := f.aliases[start]
	f.mu.RUnlock()
	if ok {
		return names
	}
	w := t.window()
	defer t.release(w)
	size := 64
	for ; i < len(f.shared) && f.shared[i].addr == start && len(names) < maxAliases; i++ {
		c, err := t.codeAt(w, int(f.shared[i].module), f.shared[i].record)
		if err != nil {
			continue
		}
		name, _, err := t.name(w, nil, c)
		if err != nil || name == shown || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		size += len(name) + 16
	}
	names = slices.Clip(names)
	f.mu.Lock()
	if f.kept += size; f.kept > maxKeptAliases {
		clear(f.aliases)
		f.kept = size
	}
	f.aliases[start] = names
	f.mu.Unlock()
	return names
}

// maxStrays bounds how many strays are tried for one address.
const maxStrays = 64

// stray returns a procedure that covers an address though another module owns
// it, or nil.
func (t *Table) stray(a address) *procedure {
	f := &t.icf
	i := sort.Search(len(f.strays), func(i int) bool { return f.strays[i].addr > a }) - 1
	for n := 0; i >= 0 && n < maxStrays; i, n = i-1, n+1 {
		p := &f.strays[i]
		if a-p.addr < address(max(p.size, 1)) {
			return p
		}
		if a-p.addr >= f.strayReach {
			break
		}
	}
	return nil
}

// endBefore returns the end of the last stray that starts at or before an
// address.
func (f *icf) endBefore(a address) address {
	i := sort.Search(len(f.strays), func(i int) bool { return f.strays[i].addr > a })
	if i == 0 {
		return 0
	}
	p := &f.strays[i-1]
	return p.addr + address(max(p.size, 1))
}
