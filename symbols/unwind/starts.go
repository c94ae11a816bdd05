package unwind

import (
	"fmt"
	"slices"
	"sort"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/image"
)

// Format takes the first bytes of functions from unwind rules, and names them
// sub_RVA. It is the source for images whose symbols were removed: such a name says
// which function it is, and not what it is called.
var Format = symbols.Format{Name: "function starts", Detect: image.Detect, Open: open}

// Starts are the functions of an image as its unwind rules tell them. It is safe
// for concurrent use.
type Starts struct {
	im   *image.Image
	list []part // sorted by start, without overlaps
	from string
}

// A part is the code of one entry: [start, end), RVAs. function is the start of
// the function that it belongs to.
type part struct{ start, end, function uint32 }

func open(f *symbols.File) (symbols.Table, error) {
	im, err := image.Open(f)
	if err != nil {
		return nil, err
	}
	s := NewStarts(im)
	if s == nil {
		im.FreeScratch()
		return nil, message.Errorf("%s: %w", f.Path, symbols.ErrNoSymbols)
	}
	return s, nil
}

// NewStarts returns the functions of an image, which the result owns; nil where
// the image has no unwind rules, or is no program.
func NewStarts(im *image.Image) *Starts {
	if im.Relocatable || im.ManagedOnly() {
		return nil
	}
	s := &Starts{im: im}
	if d := NewExceptionDirectory(im); d != nil {
		s.from = ".pdata"
		s.readDirectory(d)
	}
	for _, c := range NewCFI(im) {
		if len(s.list) > 0 {
			break
		}
		s.from = ".eh_frame"
		if !c.eh {
			s.from = ".debug_frame"
		}
		_ = c.each(func(f *fde, _ int64) bool {
			start, end := f.start-im.Base, f.end-im.Base
			if f.start >= im.Base && end > start && end <= im.Size {
				if _, _, ok := im.Executable(f.start); ok {
					s.add(start, end, start)
				}
			}
			return len(s.list) < maxFunctions
		})
	}
	if len(s.list) == 0 {
		return nil
	}
	slices.SortStableFunc(s.list, func(a, b part) int { return int(int64(a.start) - int64(b.start)) })
	kept := s.list[:1]
	for _, p := range s.list[1:] {
		last := &kept[len(kept)-1]
		if p.start == last.start {
			last.end = max(last.end, p.end)
			continue
		}
		last.end = min(last.end, p.start)
		kept = append(kept, p)
	}
	s.list = kept
	return s
}

func (s *Starts) add(start, end, function uint64) {
	if end < 1<<32 {
		s.list = append(s.list, part{uint32(start), uint32(end), uint32(function)})
	}
}

// readDirectory takes the entries of a PE's exception directory. A chained entry is a part of
// the function that it is chained to.
func (s *Starts) readDirectory(d *ExceptionDirectory) {
	for i := range d.count {
		f, err := d.at(i)
		if err != nil {
			return
		}
		if d.machine == ARM64 {
			length, err := d.arm64Length(&f)
			if err != nil {
				continue
			}
			f.end = f.begin + length
		}
		if f.end <= f.begin || f.end > s.im.Size {
			continue
		}
		function := f.begin
		if d.machine == X8664 {
			function = d.primary(f)
		}
		s.add(f.begin, f.end, function)
	}
}

// primary returns the start of the function that an entry is a part of.
func (d *ExceptionDirectory) primary(f runtimeFunction) uint64 {
	for range maxChain {
		var b []byte
		var err error
		if f.info&1 != 0 {
			b, err = d.im.ReadRVA(uint64(f.info&^1), 12)
		} else {
			head, err2 := d.im.ReadRVA(uint64(f.info), 4)
			if err2 != nil || head[0]>>3&unwindChained == 0 {
				return f.begin
			}
			b, err = d.im.ReadRVA(uint64(f.info)+4+2*((uint64(head[2])+1)&^1), 12)
		}
		if err != nil {
			return f.begin
		}
		f = d.decode(b)
	}
	return f.begin
}

// StartName returns the name of the function at an RVA.
func StartName(rva uint64) string { return fmt.Sprintf("sub_%x", rva) }

// Lookup implements [symbols.Table].
func (s *Starts) Lookup(rva uint64) (symbols.Symbol, error) {
	i := sort.Search(len(s.list), func(i int) bool { return uint64(s.list[i].start) > rva })
	if i == 0 || rva >= uint64(s.list[i-1].end) {
		return symbols.Symbol{}, message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound)
	}
	p := s.list[i-1]
	name := StartName(uint64(p.function))
	return symbols.Symbol{
		Frames: []symbols.Frame{{Function: name, Signature: name}},
		Start:  uint64(p.start), Size: uint64(p.end - p.start), Kind: symbols.FunctionStart,
	}, nil
}

// Procedures implements [symbols.Table].
func (s *Starts) Procedures(yield func(rva uint64, name string) bool) error {
	for _, p := range s.list {
		if p.start == p.function && !yield(uint64(p.start), StartName(uint64(p.start))) {
			break
		}
	}
	return nil
}

// StartsOnly says that the names are made of addresses.
func (s *Starts) StartsOnly() bool { return true }

// Identity implements [symbols.Table].
func (s *Starts) Identity() modules.Identity { return s.im.Identity }

// Describe implements [symbols.Table].
func (s *Starts) Describe() string { return "function starts of " + s.from }

// Close implements [symbols.Table].
func (s *Starts) Close() error { return s.im.Close() }

// FunctionStart returns the address of the first byte of the code that an address of a module
// lies in, as the module's unwind rules tell it.
func FunctionStart(m *Module, address uint64) (start uint64, ok bool) {
	if m.Code == nil {
		return 0, false
	}
	base := m.Code.LinkBase()
	vaddr := address - m.Base + base
	for _, r := range m.Rules {
		switch r := r.(type) {
		case *CFI:
			if f, err := r.find(vaddr); err == nil {
				return f.start - base + m.Base, true
			}
		case *ExceptionDirectory:
			if f, err := r.find(vaddr - r.im.Base); err == nil {
				if r.machine == X8664 {
					f.begin = r.primary(f)
				}
				return f.begin + m.Base, true
			}
		case *Kept:
			if k, err := r.table.Rule(address - m.Base); err == nil && k.End > k.Start {
				return k.Function + m.Base, true
			}
		}
	}
	return 0, false
}
