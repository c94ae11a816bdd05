package attached

import (
	"encoding/binary"
	"sync"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols"
)

// Format opens containers that are files of their own, as `logparse keep`
// writes them, where they have one module's symbols. Those of several modules
// are chosen from by their identities: see [Container.Modules].
var Format = symbols.Format{Name: "Kept symbols", Detect: Detect, Open: open}

func open(f *symbols.File) (symbols.Table, error) {
	c, err := OpenContainer(f, f.Size)
	if err != nil {
		return nil, err
	}
	var one *Module
	for _, m := range c.modules {
		if !m.HasSymbols() {
			continue
		}
		if one != nil {
			return nil, message.Wrap(symbols.ErrNoSymbols, "symbols of several modules")
		}
		one = m
	}
	if one == nil {
		return nil, symbols.ErrNoSymbols
	}
	t, err := one.Open()
	if err != nil {
		return nil, err
	}
	t.file = f
	return t, nil
}

// A Table is a module's symbols in a container. It is safe for concurrent use.
type Table struct {
	module *Module
	// file is closed with the table, nil where it is not the table's.
	file               closer
	runs               *blocks
	functions, strings *recordTable
	cache              cache
}

type closer interface{ Close() error }

// Open makes a table of the module's symbols. The error wraps
// symbols.ErrNoSymbols where the container has none of it. The table reads from
// what the container was opened on; it does not close that.
func (m *Module) Open() (*Table, error) {
	c := m.container
	runs, ok := c.part(KindRuns, m.owner)
	functions, ok2 := c.part(KindFunctions, m.owner)
	strings, ok3 := c.part(KindStrings, m.owner)
	if !ok || !ok2 || !ok3 {
		return nil, symbols.ErrNoSymbols
	}
	t := &Table{module: m}
	var err error
	if t.runs, err = openBlocks(c.r, runs.offset, runs.length); err != nil {
		return nil, err
	}
	if t.functions, err = c.openRecords(functions); err != nil {
		return nil, err
	}
	if t.strings, err = c.openRecords(strings); err != nil {
		return nil, err
	}
	return t, nil
}

// Identity implements [symbols.Table].
func (t *Table) Identity() modules.Identity { return t.module.Identity }

// Module returns what the container says of the module.
func (t *Table) Module() *Module { return t.module }

// Describe implements [symbols.Table]: what the symbols were read from.
func (t *Table) Describe() string {
	if t.module.Source == "" {
		return "kept symbols"
	}
	return t.module.Source + " (kept)"
}

// Close implements [symbols.Table].
func (t *Table) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

// Lookup implements [symbols.Table].
func (t *Table) Lookup(rva uint64) (symbols.Symbol, error) {
	i := t.runs.find(rva)
	if i < 0 {
		return symbols.Symbol{}, notFound(rva)
	}
	b, err := t.block(i)
	if err != nil {
		return symbols.Symbol{}, err
	}
	r := b.find(rva)
	if r < 0 || b.nodes[r] < 0 {
		return symbols.Symbol{}, notFound(rva)
	}
	return t.symbol(b, r)
}

func notFound(rva uint64) error { return message.Errorf("RVA %#x: %w", rva, symbols.ErrNotFound) }

// symbol makes the answer of a run.
func (t *Table) symbol(b *runBlock, run int) (symbols.Symbol, error) {
	p := &b.parts[b.part[run]]
	s := symbols.Symbol{Start: p.start, Size: p.size, Kind: kinds[p.kind]}
	depth := 0
	for n := b.nodes[run]; n >= 0; n = b.frames[n].caller {
		depth++
	}
	s.Frames = make([]symbols.Frame, 0, depth)
	for n := b.nodes[run]; n >= 0; n = b.frames[n].caller {
		f := &b.frames[n]
		out := symbols.Frame{Line: int(f.line)}
		var err error
		if out.Function, out.Signature, err = t.functions.text(&t.cache, f.function); err != nil {
			return symbols.Symbol{}, err
		}
		if f.file != noID {
			if out.File, _, err = t.strings.text(&t.cache, f.file); err != nil {
				return symbols.Symbol{}, err
			}
		}
		s.Frames = append(s.Frames, out)
	}
	for _, a := range p.aliases {
		name, _, err := t.strings.text(&t.cache, a)
		if err != nil {
			return symbols.Symbol{}, err
		}
		s.Aliases = append(s.Aliases, name)
	}
	return s, nil
}

// Procedures implements [symbols.Table]. Of functions at one address it gives
// the one that look-ups name.
func (t *Table) Procedures(yield func(rva uint64, name string) bool) error {
	seen := make(map[uint64]bool)
	for i := range t.runs.list {
		b, err := t.block(i)
		if err != nil {
			return err
		}
		for r := range b.starts {
			if b.nodes[r] < 0 || r > 0 && b.part[r] == b.part[r-1] && b.nodes[r-1] >= 0 {
				continue
			}
			start := b.parts[b.part[r]].start
			if seen[start] {
				continue
			}
			seen[start] = true
			n := b.nodes[r]
			for b.frames[n].caller >= 0 {
				n = b.frames[n].caller
			}
			name, _, err := t.functions.text(&t.cache, b.frames[n].function)
			if err != nil {
				return err
			}
			if !yield(start, name) {
				return nil
			}
		}
	}
	return nil
}

// block returns a block of runs.
func (t *Table) block(i int) (*runBlock, error) {
	b, err := t.cache.get(cacheKey{t.runs, i}, func() (any, int, error) {
		list, err := t.runs.read(i, columns)
		if err != nil {
			return nil, 0, err
		}
		b, err := decodeRuns(list, t.runs.list[i].key, t.functions.n, t.strings.n)
		if err != nil {
			return nil, 0, message.Errorf("%w: the runs at %#x", ErrFormat, t.runs.list[i].offset)
		}
		return b, 16*len(b.starts) + 24*len(b.frames) + 64*len(b.parts), nil
	})
	if err != nil {
		return nil, err
	}
	return b.(*runBlock), nil
}

// recordTable are the records of a part.
type recordTable struct {
	*blocks
	n uint32
}

func (c *Container) openRecords(e entry) (*recordTable, error) {
	var head [8]byte
	if e.length < 8 {
		return nil, message.Errorf("%w: names at %#x", ErrFormat, e.offset)
	}
	if err := readAt(c.r, head[:], e.offset); err != nil {
		return nil, err
	}
	b, err := openBlocks(c.r, e.offset+8, e.length-8)
	if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n >= noID || n > 0 && len(b.list) == 0 {
		return nil, message.Errorf("%w: names at %#x", ErrFormat, e.offset)
	}
	return &recordTable{b, uint32(n)}, nil
}

// recordBlock is a block of records: text holds them, ends where each text ends;
// there are two of each record.
type recordBlock struct {
	text string
	ends []uint32
}

// text returns the texts of a record.
func (r *recordTable) text(c *cache, number uint32) (a, b string, err error) {
	i := r.find(uint64(number))
	if i < 0 {
		return "", "", message.Errorf("%w: there is no name %d", ErrFormat, number)
	}
	v, err := c.get(cacheKey{r.blocks, i}, func() (any, int, error) {
		list, err := r.read(i, recordColumns)
		if err != nil {
			return nil, 0, err
		}
		block, ok := decodeRecords(list)
		if !ok {
			return nil, 0, message.Errorf("%w: the names at %#x", ErrFormat, r.list[i].offset)
		}
		return block, len(block.text) + 4*len(block.ends), nil
	})
	if err != nil {
		return "", "", err
	}
	block := v.(*recordBlock)
	at := 2 * (uint64(number) - r.list[i].key)
	if at+1 >= uint64(len(block.ends)) {
		return "", "", message.Errorf("%w: there is no name %d", ErrFormat, number)
	}
	start := uint32(0)
	if at > 0 {
		start = block.ends[at-1]
	}
	return block.text[start:block.ends[at]], block.text[block.ends[at]:block.ends[at+1]], nil
}

// maxTexts bounds the texts of a block, which may share most of their bytes.
const maxTexts = 64 << 20

func decodeRecords(column [][]byte) (*recordBlock, bool) {
	texts := column[columnTexts]
	text := make([]byte, 0, 2*len(texts))
	b := &recordBlock{}
	// take appends a text that shares bytes with another, which is text[from:to].
	take := func(c int, from, to int) bool {
		shared, ok := uvarint(&column[c], uint64(to-from))
		rest, ok2 := uvarint(&column[c+1], uint64(len(texts)))
		if !ok || !ok2 || len(text)+int(shared+rest) > maxTexts {
			return false
		}
		text = append(text, text[from:from+int(shared)]...)
		text = append(text, texts[:rest]...)
		texts = texts[rest:]
		b.ends = append(b.ends, uint32(len(text)))
		return true
	}
	from, to := 0, 0
	for len(column[columnShared]) > 0 {
		begin := len(text)
		if !take(columnShared, from, to) {
			return nil, false
		}
		from, to = begin, len(text)
		if !take(columnSharedByName, from, to) {
			return nil, false
		}
	}
	b.text = string(text)
	return b, true
}

// A cache keeps decoded blocks of a table.
type cache struct {
	mu     sync.Mutex
	blocks map[cacheKey]cached
	size   int
}

type cacheKey struct {
	of *blocks
	i  int
}

// A cached block has its error instead, if it is damaged: one look-up finds that, and not each.
type cached struct {
	value any
	err   error
	size  int
}

// maxCache bounds what a table keeps decoded, in bytes.
const maxCache = 64 << 20

// get returns a decoded block: the one that is kept, or what make decodes.
func (c *cache) get(key cacheKey, make func() (any, int, error)) (any, error) {
	c.mu.Lock()
	v, ok := c.blocks[key]
	c.mu.Unlock()
	if ok {
		return v.value, v.err
	}
	value, size, err := make()
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok := c.blocks[key]; ok {
		return v.value, v.err
	}
	for k, v := range c.blocks {
		if c.size+size <= maxCache {
			break
		}
		delete(c.blocks, k)
		c.size -= v.size
	}
	if c.blocks == nil {
		c.blocks = map[cacheKey]cached{}
	}
	c.blocks[key] = cached{value, err, size}
	c.size += size
	return value, err
}
