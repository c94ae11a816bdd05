package pdb

import (
	"errors"
	"strings"
	"sync"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
	"logparser/symbols/pdb/msf"
)

// Format is the entry of this package in the list of symbol sources.
var Format = symbols.Format{
	Name:   "PDB",
	Detect: func(head []byte) bool { return containerOf(head) != containerUnknown },
	Open: func(f *symbols.File) (symbols.Table, error) {
		t, err := Open(f)
		if err != nil {
			return nil, err
		}
		return t, nil
	},
}

// ErrUnsupported says that a file is what it claims to be, but in a form that
// is not read here. The text around it names the form.
var ErrUnsupported = message.New("form not supported")

// errNoName says that nothing in the file names a piece of code.
var errNoName = message.New("nothing names it")

var errNotFound = message.Errorf("pdb: %w", symbols.ErrNotFound)

// errManaged says that what lies at an address is what managed code is made of
// when it runs, somewhere else. No processor was ever there.
var errManaged = message.Errorf("pdb: managed code (.NET), which does not run where it lies: %w", symbols.ErrNotFound)

// errOnlyManaged says that a file is one of managed code, which runs where
// the runtime puts it and not in the image.
var errOnlyManaged = message.Errorf("pdb: PDB of managed code (.NET), which has no address before it runs: %w", symbols.ErrNoSymbols)

// A Table is an opened PDB. It implements [symbols.Table]; its methods are
// safe for concurrent use.
type Table struct {
	file *symbols.File
	// done removes what was unpacked; it may be nil.
	done     func() error
	msf      *msf.File
	identity modules.Identity
	fastlink bool
	// mixed says that the image has managed code too.
	mixed bool

	dbi           *dbi
	modules       []module
	sections      sections
	contributions contributions
	layout        layout
	names         *names
	typeNames     *typeNames
	publics       *publics

	byNameOnce sync.Once
	byNameErr  error
	byName     map[string]int

	windows sync.Pool
	cache   moduleCache
	found   publicsCache
	icf     icf
	// eager says that aliases are looked for with the first look-up.
	eager bool
}

// Open opens a PDB. The error wraps [symbols.ErrNoSymbols] where the file is
// sound but has no symbols of an image (a compiler's own PDB, a portable PDB
// of .NET), [ErrUnsupported] where its form is not read here, msf.ErrCut or
// [ErrDamaged] where it is neither whole nor sound.
//
// A PDB in a cabinet ("name.pd_") is taken out into a temporary file first.
// On success the table owns the file; on an error the caller still does.
func Open(f *symbols.File) (*Table, error) {
	m, done, err := openContainer(f)
	if err != nil {
		return nil, err
	}
	t, err := open(m, f.Size)
	if err != nil {
		if done != nil {
			done()
		}
		return nil, err
	}
	t.file, t.done = f, done
	return t, nil
}

func open(m *msf.File, size int64) (*Table, error) {
	in, err := readInfo(m)
	if err != nil {
		return nil, err
	}
	d, err := readDBIHeader(m)
	if errors.Is(err, errNoDBI) {
		return nil, message.Errorf("pdb: a compiler's PDB with types only (%w); the linker's PDB has the symbols: %w",
			err, symbols.ErrNoSymbols)
	}
	if err != nil {
		return nil, err
	}
	t := &Table{
		msf:      m,
		identity: modules.Identity{PDB: in.guid, Age: d.age},
		fastlink: in.fastlink,
		dbi:      d,
	}
	if t.names, err = readNames(m, in.names); err != nil {
		return nil, err
	}
	if t.modules, err = d.readModules(); err != nil {
		return nil, err
	}
	if err := t.readLayout(); err != nil {
		return nil, err
	}
	if t.contributions, err = d.readContributions(&t.sections); err != nil {
		return nil, err
	}
	if t.publics, err = openPublics(m, d); err != nil {
		return nil, err
	}
	t.typeNames = &typeNames{seen: map[uint32]string{}}
	if t.typeNames.types, err = openTypes(m, streamTPI); err != nil {
		return nil, err
	}
	if t.typeNames.ids, err = openIDs(m, in); err != nil {
		return nil, err
	}
	if len(t.modules) == 0 && t.publics.count() == 0 {
		return nil, message.Errorf("pdb: neither modules nor publics in the file: %w", symbols.ErrNoSymbols)
	}
	if t.publics.count() == 0 && t.managed() {
		return nil, errOnlyManaged
	}
	t.cache.init(len(t.modules), size)
	t.eager = t.symbolBytes() <= eagerScan
	t.found.seen = map[address]*namedPublic{}
	return t, nil
}

// readLayout reads the section headers that the symbols' addresses refer to,
// and the tables that lead there from the image's.
func (t *Table) readLayout() error {
	var slots [slotOriginal + 1]uint16
	for _, i := range []int64{slotOmapToSource, slotOmapFromSource, slotSections, slotTokens, slotOriginal} {
		n, err := t.dbi.slot(i)
		if err != nil {
			return err
		}
		slots[i] = n
	}
	t.mixed = slots[slotTokens] != noStream
	var err error
	l := &t.layout
	if l.toSource, err = readOmap(t.msf, slots[slotOmapToSource]); err != nil {
		return err
	}
	if l.fromSource, err = readOmap(t.msf, slots[slotOmapFromSource]); err != nil {
		return err
	}
	// Empty tables say that the image was not rearranged. The first one is
	// enough, the second one alone is not.
	switch {
	case len(l.toSource) > 0:
		l.compare()
	case len(l.fromSource) > 0:
		return message.Errorf("pdb: rearranged after linking, without the OMAP table to the original image: %w", ErrUnsupported)
	}
	headers := slots[slotSections]
	if t.layout.present() && slots[slotOriginal] != noStream {
		headers = slots[slotOriginal]
	}
	if headers == noStream {
		if t.managed() {
			return errOnlyManaged
		}
		return message.Errorf("pdb: no section headers, so that no address can be looked up: %w", symbols.ErrNoSymbols)
	}
	t.sections, err = readSections(t.msf, headers)
	return err
}

// managed reports whether the file has procedures, and all of them are of
// managed code.
func (t *Table) managed() bool {
	managed := false
	t.eachProcedure(func(_ int, c *code) bool {
		managed = c.kind == kindManaged
		return managed
	})
	return managed
}

// Identity returns the GUID and the DBI stream's age: those that an image's
// debug directory has.
func (t *Table) Identity() modules.Identity { return t.identity }

// Describe returns the format and what is unusual about the file.
func (t *Table) Describe() string {
	s := []string{"PDB 7.00"}
	if t.done != nil {
		s = append(s, "from a cabinet")
	}
	if t.dbi.flags&dbiStripped != 0 {
		s = append(s, "stripped")
	}
	if t.fastlink {
		s = append(s, "FASTLINK: names of public functions only, the rest is in the object files")
	}
	if t.dbi.flags&dbiIncremental != 0 {
		s = append(s, "incrementally linked")
	}
	if t.mixed {
		s = append(s, "with managed code (.NET), which has no names here")
	}
	if t.layout.present() {
		s = append(s, "rearranged after linking (OMAP)")
	}
	return strings.Join(s, ", ")
}

// Close closes the file.
func (t *Table) Close() error {
	var err error
	if t.done != nil {
		err = t.done()
	}
	return errors.Join(err, t.file.Close())
}

// window returns a window for a short time.
func (t *Table) window() *msf.Window {
	if w, ok := t.windows.Get().(*msf.Window); ok {
		return w
	}
	return new(msf.Window)
}

func (t *Table) release(w *msf.Window) { t.windows.Put(w) }
