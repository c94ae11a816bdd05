// Package modules tells which module of a program owned an address, and when.
//
// It is the ModuleParser of LogParser. Its input is the modules file that the
// classic recorder writes beside its log (LogDetails.bin: text, one line a
// module; see docs/formats.md) or, for logs that carry their own modules, the
// load and unload events of the log. Its output is a [Map], which answers for
// an address and a moment, and the [Identity] of each module, by which symbol
// files are checked.
//
// The package knows nothing of symbols; it never opens the modules it names.
package modules

import (
	"math"
	"sort"
	"sync"
)

// Always is the unload time of a module that was still loaded when the log
// ended.
const Always = int64(1<<63 - 1)

// A Module is one image as it lay in the recorded program's memory.
type Module struct {
	// Base is the address of the module's first byte in memory. For ELF it is
	// the lowest mapped address (load bias + first PT_LOAD), so that RVAs
	// mean the same on every system.
	Base uint64
	// Size is the number of bytes the module occupies from Base on.
	Size uint64
	// Unsized says that the size was not recorded: Size reaches to the next module.
	Unsized bool
	// Path is the recorded path, as written. It comes from another machine:
	// it may be opened only by the rule of docs/architecture.md.
	Path string
	// PointerSize is 4 or 8 bytes, or 0 where it was not recorded.
	PointerSize int
	// Identity is what was recorded to tell one build from another; it is
	// zero where nothing was.
	Identity Identity
	// Loaded and Unloaded bound the module's life, in nanoseconds of the
	// log's clock: it owned its addresses from Loaded up to, not including,
	// Unloaded. A modules file written at start gives the smallest int64 and
	// [Always].
	Loaded, Unloaded int64
}

// Contains reports whether the address (a VA) lies within the module.
func (m *Module) Contains(address uint64) bool {
	return address >= m.Base && address-m.Base < m.Size
}

// Name returns the last element of the module's path; both kinds of slash
// separate, because the path may come from another system.
func (m *Module) Name() string { return BaseName(m.Path) }

// BaseName returns the last element of a path of any system.
func BaseName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' || path[i] == '\\' {
			return path[i+1:]
		}
	}
	return path
}

// A Map is an immutable set of modules over time. It is safe for concurrent
// use.
type Map struct {
	modules []Module
	// byBase holds indexes into modules sorted by Base; whole has the modules by
	// their numbers there.
	byBase []int32
	whole  *ranges
	// low is the same modulo 2^32, made when it is first asked for.
	low     *ranges
	makeLow sync.Once
}

// NewMap makes a map of the given modules, which it copies. Their order is
// kept: the index that [Map.Find] answers is an index into it.
func NewMap(list []Module) *Map {
	m := &Map{modules: append([]Module(nil), list...)}
	m.byBase = make([]int32, len(list))
	for i := range m.byBase {
		m.byBase[i] = int32(i)
	}
	sort.SliceStable(m.byBase, func(a, b int) bool {
		return m.modules[m.byBase[a]].Base < m.modules[m.byBase[b]].Base
	})
	// A module that is listed twice is one; the later one counts.
	last := make(map[Module]int32, len(list))
	for i := range list {
		last[list[i]] = int32(i)
	}
	spans := make([]span, 0, len(list))
	for number, k := range m.byBase {
		if mod := &m.modules[k]; mod.Size > 0 && last[*mod] == k {
			end := mod.Base + (mod.Size - 1)
			if end < mod.Base {
				end = math.MaxUint64
			}
			spans = append(spans, span{mod.Base, end, mod.Loaded, mod.Unloaded, int32(number)})
		}
	}
	m.whole = newRanges(spans)
	return m
}

// Len returns the number of modules.
func (m *Map) Len() int { return len(m.modules) }

// At returns module i in the order given to [NewMap]. The module is shared:
// do not change it.
func (m *Map) At(i int) *Module { return &m.modules[i] }

// Find returns how many modules owned the address (a VA) at the time (nanoseconds of the
// log's clock), 2 for more than one, and the index of the one with the highest base. A modules
// file without times lists what lay at one address at different times: of two owners
// neither may be known to be the right one.
func (m *Map) Find(address uint64, at int64) (index, owners int) {
	number, owners := m.whole.find(address, at)
	if owners == 0 {
		return 0, 0
	}
	return int(m.byBase[number]), owners
}

// FindTruncated is [Map.Find] for an address of which only the low 32 bits
// were recorded (a 64-bit program with the 16-byte record). It returns the
// whole address too. Where more than one module matches modulo 2^32 there is
// no answer and ambiguous is true.
func (m *Map) FindTruncated(low uint32, at int64) (index int, address uint64, ok, ambiguous bool) {
	m.makeLow.Do(func() {
		var spans []span
		for k := range m.modules {
			mod := &m.modules[k]
			first, last := uint64(uint32(mod.Base)), uint64(uint32(mod.Base+mod.Size-1))
			switch {
			case mod.Size == 0:
			case mod.Size > math.MaxUint32:
				spans = append(spans, span{0, math.MaxUint32, mod.Loaded, mod.Unloaded, int32(k)})
			case last < first: // it goes on at 0
				spans = append(spans, span{first, math.MaxUint32, mod.Loaded, mod.Unloaded, int32(k)}, span{0, last, mod.Loaded, mod.Unloaded, int32(k)})
			default:
				spans = append(spans, span{first, last, mod.Loaded, mod.Unloaded, int32(k)})
			}
		}
		m.low = newRanges(spans)
	})
	number, count := m.low.find(uint64(low), at)
	if count != 1 {
		return 0, 0, false, count > 1
	}
	// The distance from the base modulo 2^32 is below Size exactly when some
	// address of the module ends in these 32 bits.
	base := m.modules[number].Base
	return int(number), base + uint64(low-uint32(base)), true, false
}
