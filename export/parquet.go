package export

import (
	"context"
	"encoding/binary"
	"math/bits"
	"runtime"
	"strings"
	"sync"

	"logparser/message"
	"logparser/rows"
)

// This file writes Apache Parquet (parquet.thrift and Encodings.md of apache/parquet-format). Columns of integers that grow are
// stored as DELTA_BINARY_PACKED, the others with dictionaries. There is no further compression, because it would gain little.
// Only types that every reader supports are used: no unsigned ones, and no timestamps in nanoseconds. The values of calls are
// also stored with their types, as lists of structures (parquetvalues.go).

const (
	// groupRows is the number of rows of a row group: what the writer holds in memory, and the unit of readers.
	groupRows = 1 << 18
	// groupText is how many bytes of distinct texts end a row group early.
	groupText = 32 << 20
)

// decimals and decimalDigits are scale and precision of the DECIMAL type of durations: nanoseconds as microseconds with three
// decimals.
const (
	decimals      = 3
	decimalDigits = 18
)

// Numbers of parquet.thrift.
const (
	typeInt32     = 1
	typeInt64     = 2
	typeDouble    = 5
	typeByteArray = 6

	encodingPlain      = 0
	encodingRLE        = 3
	encodingDelta      = 5
	encodingDictionary = 8

	pageData       = 0
	pageDictionary = 2
)

// The columns, in order.
const (
	pqIndex = iota
	pqTime
	pqElapsed
	pqThread
	pqEvent
	pqDepth
	pqDuration
	pqFunction
	pqModule
	pqSource
	pqLine
	pqAddress
	pqSymbols
	pqNote
	pqUTC
	pqStack // only if the log has stacks of coroutines
)

// parquetNames are the default columns. Logs with coroutines also have the stack.
var parquetNames = []string{"index", "time", "elapsed", "thread", "event", "depth", "duration", "function", "module", "source", "line",
	"address", "symbols", "note", "utc"}

func (c *parquetColumn) storedType() int {
	switch {
	case c.double:
		return typeDouble
	case c.Kind == rows.Text || c.Kind == rows.Address:
		return typeByteArray
	case c.Narrow:
		return typeInt32
	}
	return typeInt64
}

// storesDeltas reports whether a column is stored as DELTA_BINARY_PACKED, which suits integers that grow from row to row.
func storesDeltas(c *rows.Column) bool {
	return c.Kind == rows.Duration || c.Kind == rows.Time || c.Kind == rows.UTC || c.Name == "index"
}

func writeParquet(ctx context.Context, out *output, src rows.Source, opt Options) error {
	p := &parquetFile{out: out, header: &opt.Header, zone: opt.zone()}
	p.add = p.addChosen
	columns := opt.Columns
	if len(columns) == 0 {
		p.add, columns = p.addDefault, defaultColumns(&opt.Header, parquetNames)
	}
	p.plain = len(columns)
	for _, c := range columns {
		p.columns = append(p.columns, parquetColumn{Column: c, path: []string{p.header.ColumnName(c)}})
	}
	p.addLists(columns)
	for i := range p.columns {
		p.columns[i].clear()
	}
	if err := p.begin(); err != nil {
		return err
	}
	err := readRows(ctx, src, opt.From, src.Len(), opt.Progress, func(list []rows.Row) error {
		for i := range list {
			if l := out.limits; out.rows > 0 && (l.Rows > 0 && out.rows >= l.Rows || l.Bytes > 0 && i == 0 && out.bytes+p.pending() > l.Bytes) {
				if err := p.next(); err != nil {
					return err
				}
			}
			p.add(&list[i])
			out.rows++
			if p.n >= groupRows || p.text >= groupText {
				if err := p.group(); err != nil {
					return err
				}
			}
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	return p.end()
}

type parquetFile struct {
	out    *output
	header *rows.Header
	zone   zone
	// columns are first the columns with one value for each row, whose number is plain, then the columns of the fields of
	// lists.
	columns []parquetColumn
	plain   int
	lists   []parquetList
	// add adds a row. It is addDefault or addChosen.
	add func(r *rows.Row)
	// n is the number of rows in the current row group, and text about the number of bytes of its distinct texts. total is the
	// number of rows in the groups before, and groups has their metadata.
	n, text, total int64
	groups         []byte
	numGroups      int
	recent         [1 << recentBits]parquetPlace
	// serial is the number of the current row group. It shows which elements of recent belong to it.
	serial int
	// depths and events have the dictionary numbers of depths and events plus 1.
	depths [256]uint32
	events [3]uint32
}

// A parquetPlace has the dictionary numbers of the names at an address.
type parquetPlace struct {
	names                                            rowNames
	serial                                           int
	function, module, source, line, address, symbols uint32
}

// null is the dictionary number of a missing value.
const null = ^uint32(0)

func (p *parquetFile) begin() error {
	p.groups, p.numGroups, p.total = p.groups[:0], 0, 0
	return p.out.write([]byte("PAR1"))
}

// pending returns about how many bytes the rows of the current row group will take.
func (p *parquetFile) pending() int64 { return p.n*12 + p.text }

// addChosen adds the values of a row in the chosen columns.
func (p *parquetFile) addChosen(r *rows.Row) {
	p.n++
	for i := range p.lists {
		l := &p.lists[i]
		p.addValues(l, l.of.Values(r))
	}
	for i := range p.columns[:p.plain] {
		c := &p.columns[i]
		switch c.Kind {
		case rows.Time:
			c.optional(r.HasWall, r.Wall.UnixMicro())
		case rows.UTC:
			wall, ok := p.zone.utc(r)
			c.optional(ok, wall.UnixMicro())
		case rows.Text:
			if s := c.Text(r); s != "" || !c.Optional {
				c.ids = append(c.ids, p.textOf(i, s))
			} else {
				c.ids = append(c.ids, null)
			}
		default:
			p.addNumber(i, r)
		}
	}
}

// addNumber adds a row's value in a column of numbers, durations or addresses.
func (p *parquetFile) addNumber(i int, r *rows.Row) {
	c := &p.columns[i]
	v, ok := c.Int(r)
	switch {
	case storesDeltas(c.Column) && c.Optional:
		c.optional(ok, v)
	case storesDeltas(c.Column):
		c.values = append(c.values, v)
	case !ok:
		c.ids = append(c.ids, null)
	case c.Kind == rows.Address:
		c.ids = append(c.ids, p.textOf(i, string(rows.AppendAddress(nil, uint64(v)))))
	case c.Narrow:
		c.ids = append(c.ids, c.dictionaryNumber(int64(int32(v))))
	default:
		c.ids = append(c.ids, c.dictionaryNumber(v))
	}
}

// addDefault adds the values of a row in the default columns.
func (p *parquetFile) addDefault(r *rows.Row) {
	c := p.columns
	if p.n == 0 {
		p.serial++
		clear(p.depths[:])
		clear(p.events[:])
	}
	p.n++
	k := &p.recent[recentIndex(r.Address)]
	if k.serial != p.serial || !k.names.are(r) {
		*k = parquetPlace{
			serial:   p.serial,
			function: p.textOf(pqFunction, r.Function), module: p.optionalText(pqModule, r.Module), source: p.optionalText(pqSource, r.Source),
			line: null, address: p.textOf(pqAddress, string(rows.AppendAddress(nil, r.Address))), symbols: p.optionalText(pqSymbols, r.Symbols),
		}
		k.names.set(r)
		if r.Line != 0 {
			k.line = c[pqLine].dictionaryNumber(int64(int32(r.Line)))
		}
	}
	c[pqIndex].values = append(c[pqIndex].values, r.Index)
	c[pqTime].optional(r.HasWall, r.Wall.UnixMicro())
	c[pqElapsed].values = append(c[pqElapsed].values, r.Elapsed)
	c[pqThread].ids = append(c[pqThread].ids, c[pqThread].dictionaryNumber(int64(r.Thread)))
	if p.events[r.Event] == 0 {
		p.events[r.Event] = p.textOf(pqEvent, r.Event.String()) + 1
	}
	c[pqEvent].ids = append(c[pqEvent].ids, p.events[r.Event]-1)
	c[pqDepth].ids = append(c[pqDepth].ids, p.depth(r.Depth))
	c[pqDuration].optional(r.Duration >= 0, r.Duration)
	c[pqFunction].ids = append(c[pqFunction].ids, k.function)
	c[pqModule].ids = append(c[pqModule].ids, k.module)
	c[pqSource].ids = append(c[pqSource].ids, k.source)
	c[pqLine].ids = append(c[pqLine].ids, k.line)
	c[pqAddress].ids = append(c[pqAddress].ids, k.address)
	c[pqSymbols].ids = append(c[pqSymbols].ids, k.symbols)
	c[pqNote].ids = append(c[pqNote].ids, p.optionalText(pqNote, r.SavedNote()))
	utc, ok := p.zone.utc(r)
	c[pqUTC].optional(ok, utc.UnixMicro())
	if p.header.Stacks {
		id := null
		if r.Stack != 0 {
			id = c[pqStack].dictionaryNumber(int64(r.Stack))
		}
		c[pqStack].ids = append(c[pqStack].ids, id)
	}
	if len(p.header.Processes) > 0 {
		last := len(c) - 1
		c[last].ids = append(c[last].ids, p.optionalText(last, r.Process.Text()))
	}
}

func (p *parquetFile) depth(depth int) uint32 {
	if depth < 0 || depth >= len(p.depths) {
		return p.columns[pqDepth].dictionaryNumber(int64(int32(depth)))
	}
	if p.depths[depth] == 0 {
		p.depths[depth] = p.columns[pqDepth].dictionaryNumber(int64(depth)) + 1
	}
	return p.depths[depth] - 1
}

// textOf returns the dictionary number of a text in a column. It adds the text if it is new.
func (p *parquetFile) textOf(column int, s string) uint32 {
	c := &p.columns[column]
	// Most texts are the same as in the row before. Comparing equal strings with the same pointer is cheap.
	if c.last.ok && c.last.text == s {
		return c.last.id
	}
	id, ok := c.texts[s]
	if !ok {
		id = uint32(c.size)
		c.size++
		c.texts[s] = id
		valid := strings.ToValidUTF8(s, "\uFFFD")
		c.dictionary = binary.LittleEndian.AppendUint32(c.dictionary, uint32(len(valid)))
		c.dictionary = append(c.dictionary, valid...)
		p.text += int64(len(valid)) + 4
	}
	c.last.ok, c.last.text, c.last.id = true, s, id
	return id
}

func (p *parquetFile) optionalText(column int, s string) uint32 {
	if s == "" {
		return null
	}
	return p.textOf(column, s)
}

// group writes the rows of the current row group.
func (p *parquetFile) group() error {
	if p.n == 0 {
		return nil
	}
	var wg sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range p.columns {
		wg.Add(1)
		limit <- struct{}{}
		go func() {
			defer wg.Done()
			p.columns[i].encode(p.columns[i].count(p.n))
			<-limit
		}()
	}
	wg.Wait()
	m := thrift{b: p.groups}
	m.open()
	m.list(1, thriftStruct, len(p.columns))
	var size int64
	for i := range p.columns {
		c := &p.columns[i]
		from := p.out.bytes
		for _, text := range [][]byte{c.head, c.dictionary, c.page} {
			if _, err := p.out.Write(text); err != nil {
				return message.Errorf("writing rows %d to %d of the table: %w", p.total, p.total+p.n-1, err)
			}
		}
		n := p.out.bytes - from
		size += n
		c.describe(&m, c.count(p.n), from, n)
		c.clear()
	}
	m.i64(2, size)
	m.i64(3, p.n)
	m.close()
	p.groups = m.b
	p.numGroups++
	p.total += p.n
	p.n, p.text = 0, 0
	return nil
}

// end writes the current row group and the metadata of the file.
func (p *parquetFile) end() error {
	if err := p.group(); err != nil {
		return err
	}
	var m thrift
	m.open()
	m.i32(1, 2)
	p.schema(&m)
	m.i64(3, p.total)
	m.list(4, thriftStruct, p.numGroups)
	m.b = append(m.b, p.groups...)
	type pair struct{ key, value string }
	pairs := []pair{{"log", p.header.Log}, {"notes", noteLines(p.header)}}
	m.list(5, thriftStruct, len(pairs))
	for _, kv := range pairs {
		m.open()
		m.text(1, kv.key)
		m.text(2, rows.Visible(kv.value))
		m.close()
	}
	m.text(6, "LogParser")
	m.list(7, thriftStruct, len(p.columns))
	for range p.columns {
		m.open()
		m.empty(1) // TypeDefinedOrder
		m.close()
	}
	m.close()
	m.b = binary.LittleEndian.AppendUint32(m.b, uint32(len(m.b)))
	return p.out.write(append(m.b, "PAR1"...))
}

// schema writes the schema: the names and types of the columns, as a tree in depth-first order.
func (p *parquetFile) schema(m *thrift) {
	m.list(2, thriftStruct, 1+len(p.columns)+len(p.lists)*listElements)
	m.open()
	m.text(4, "rows")
	m.i32(5, int64(p.plain+len(p.lists)))
	m.close()
	for i := range p.columns[:p.plain] {
		p.columns[i].schema(m)
	}
	for i := range p.lists {
		l := &p.lists[i]
		l.schema(m)
		for k := range l.leaves {
			p.columns[l.first+k].schema(m)
		}
	}
}

// schema writes the element of the column in the schema.
func (c *parquetColumn) schema(m *thrift) {
	m.open()
	m.i32(1, int64(c.storedType()))
	if c.Optional {
		m.i32(3, 1)
	} else {
		m.i32(3, 0)
	}
	m.text(4, c.path[len(c.path)-1])
	switch {
	case c.storedType() == typeByteArray:
		m.i32(6, 0) // UTF8, for readers that do not know the logical type in field 10
		m.field(10, thriftStruct)
		m.open()
		m.empty(1) // STRING
		m.close()
	case c.Kind == rows.Duration:
		// Nanoseconds, stored as microseconds with three decimals, which is exact.
		m.i32(6, 5) // DECIMAL, for readers that do not know the logical type in field 10
		m.i32(7, decimals)
		m.i32(8, decimalDigits)
		m.field(10, thriftStruct)
		m.open()
		m.field(5, thriftStruct) // DECIMAL
		m.open()
		m.i32(1, decimals)
		m.i32(2, decimalDigits)
		m.close()
		m.close()
	case c.Kind == rows.Time || c.Kind == rows.UTC:
		m.field(10, thriftStruct)
		m.open()
		m.field(8, thriftStruct) // TIMESTAMP
		m.open()
		m.flag(1, c.Kind == rows.UTC) // isAdjustedToUTC
		m.field(2, thriftStruct)
		m.open()
		m.empty(2) // MICROS
		m.close()
		m.close()
		m.close()
	}
	m.close()
}

func (p *parquetFile) next() error {
	if err := p.end(); err != nil {
		return err
	}
	if err := p.out.next(nil, nothing); err != nil {
		return err
	}
	return p.begin()
}

// A parquetColumn has the values of a column in the current row group.
type parquetColumn struct {
	*rows.Column
	// path is the path of the column in the schema: its name, below the names of the groups that contain it.
	path []string
	// double says that the values are floating-point numbers of 8 bytes, of which the dictionary has the bits.
	double bool
	// repeated has, for a column in a list, the repetition levels: 0 for the first entry of a row, and 1 for the others. Its
	// definition levels go from 0 to maxLevel.
	repeated []uint32
	// values are the values, without nulls, of a column that stores deltas. levels are the definition levels of an optional
	// column: 1 for a value, and 0 for null.
	values []int64
	levels []uint32
	// ids are the dictionary numbers, or null, of a column with a dictionary. dictionary has the encoded entries, and size is
	// their number.
	ids        []uint32
	texts      map[string]uint32
	numbers    map[int64]uint32
	dictionary []byte
	size       int
	last       struct {
		ok   bool
		text string
		n    int64
		id   uint32
	}
	// head is the header of the dictionary page. page is the data page with its header. dataAt is the offset of the data page
	// in the column chunk.
	head, page []byte
	dataAt     int64
	nulls      int64
	low, high  int64
	work       []byte
}

func (c *parquetColumn) clear() {
	c.values, c.levels, c.ids, c.repeated = c.values[:0], c.levels[:0], c.ids[:0], c.repeated[:0]
	c.texts, c.numbers = make(map[string]uint32), make(map[int64]uint32)
	c.dictionary, c.size, c.last.ok = c.dictionary[:0], 0, false
}

// optional adds a value, or null if ok is false, to a column that stores deltas.
func (c *parquetColumn) optional(ok bool, v int64) {
	if !ok {
		c.levels = append(c.levels, 0)
		return
	}
	c.levels = append(c.levels, 1)
	c.values = append(c.values, v)
}

// dictionaryNumber returns the dictionary number of an integer. It adds the integer if it is new.
func (c *parquetColumn) dictionaryNumber(v int64) uint32 {
	if c.last.ok && c.last.n == v {
		return c.last.id
	}
	id, ok := c.numbers[v]
	if !ok {
		id = uint32(c.size)
		c.size++
		c.numbers[v] = id
		if c.Narrow {
			c.dictionary = binary.LittleEndian.AppendUint32(c.dictionary, uint32(v))
		} else {
			c.dictionary = binary.LittleEndian.AppendUint64(c.dictionary, uint64(v))
		}
	}
	c.last.ok, c.last.n, c.last.id = true, v, id
	return id
}

// listed reports whether the column is a field of a list.
func (c *parquetColumn) listed() bool { return len(c.path) > 1 }

// count returns the number of values and nulls that the column has for n rows.
func (c *parquetColumn) count(n int64) int64 {
	if c.listed() {
		return int64(len(c.repeated))
	}
	return n
}

// encode makes the column's pages. n is the number of values and nulls.
func (c *parquetColumn) encode(n int64) {
	c.head, c.page, c.work, c.nulls, c.dataAt = c.head[:0], c.page[:0], c.work[:0], 0, 0
	levels := func(list []uint32, width int) {
		// Levels have a prefix of four bytes with their length.
		at := len(c.work)
		c.work = appendHybrid(append(c.work, 0, 0, 0, 0), list, width)
		binary.LittleEndian.PutUint32(c.work[at:], uint32(len(c.work)-at-4))
	}
	encoding := encodingDelta
	if storesDeltas(c.Column) {
		if c.Optional {
			c.nulls = n - int64(len(c.values))
			levels(c.levels, 1)
		}
		c.work = appendDeltas(c.work, c.values)
		if len(c.values) > 0 {
			c.low, c.high = c.values[0], c.values[0]
			for _, v := range c.values {
				c.low, c.high = min(c.low, v), max(c.high, v)
			}
		}
	} else {
		encoding = encodingDictionary
		ids := c.ids
		switch {
		case c.listed():
			c.nulls = n - int64(len(ids))
			levels(c.repeated, 1)
			levels(c.levels, levelWidth)
		case c.Optional:
			c.levels = c.levels[:0]
			kept := ids[:0]
			for _, id := range ids {
				if id == null {
					c.levels = append(c.levels, 0)
				} else {
					c.levels = append(c.levels, 1)
					kept = append(kept, id)
				}
			}
			ids = kept
			c.nulls = n - int64(len(kept))
			levels(c.levels, 1)
		}
		width := bits.Len(uint(max(c.size-1, 1)))
		c.work = append(c.work, byte(width))
		c.work = appendHybrid(c.work, ids, width)
		h := thrift{b: c.head}
		h.open()
		h.i32(1, pageDictionary)
		h.i32(2, int64(len(c.dictionary)))
		h.i32(3, int64(len(c.dictionary)))
		h.field(7, thriftStruct)
		h.open()
		h.i32(1, int64(c.size))
		h.i32(2, encodingPlain)
		h.close()
		h.close()
		c.head = h.b
		c.dataAt = int64(len(c.head) + len(c.dictionary))
	}
	h := thrift{b: c.page}
	h.open()
	h.i32(1, pageData)
	h.i32(2, int64(len(c.work)))
	h.i32(3, int64(len(c.work)))
	h.field(5, thriftStruct)
	h.open()
	h.i32(1, n)
	h.i32(2, int64(encoding))
	h.i32(3, encodingRLE)
	h.i32(4, encodingRLE)
	h.close()
	h.close()
	c.page = append(h.b, c.work...)
}

// describe appends the metadata of the column chunk.
func (c *parquetColumn) describe(m *thrift, n, at, size int64) {
	deltas := storesDeltas(c.Column)
	m.open()
	m.i64(2, at)
	m.field(3, thriftStruct)
	m.open()
	m.i32(1, int64(c.storedType()))
	encodings := []int64{encodingDelta, encodingRLE}
	if !deltas {
		encodings = []int64{encodingPlain, encodingRLE, encodingDictionary}
	}
	m.list(2, thriftI32, len(encodings))
	for _, e := range encodings {
		m.varint(e)
	}
	m.list(3, thriftBinary, len(c.path))
	for _, name := range c.path {
		m.bytes(name)
	}
	m.i32(4, 0) // not compressed
	m.i64(5, n)
	m.i64(6, size)
	m.i64(7, size)
	m.i64(9, at+c.dataAt)
	if !deltas {
		m.i64(11, at)
	}
	m.field(12, thriftStruct)
	m.open()
	m.i64(3, c.nulls)
	if deltas && len(c.values) > 0 {
		m.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(c.high))))
		m.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(c.low))))
	}
	m.close()
	m.close()
	m.close()
}
