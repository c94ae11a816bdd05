package export_test

import (
	"encoding/binary"
	"fmt"
	"html"
	"math"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"logparser/export"
	"logparser/rows"
)

// A value of Thrift's compact protocol is an int64, a bool, []byte, []any or
// map[int]any.
type compact struct {
	t testing.TB
	b []byte
}

func (c *compact) uvarint() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.t.Fatal("a broken varint")
	}
	c.b = c.b[n:]
	return v
}

func (c *compact) next() byte {
	v := c.b[0]
	c.b = c.b[1:]
	return v
}

func (c *compact) value(kind byte) any {
	switch kind {
	case 1, 2:
		return kind == 1
	case 5, 6:
		v := c.uvarint()
		return int64(v>>1) ^ -int64(v&1)
	case 8:
		n := c.uvarint()
		v := c.b[:n]
		c.b = c.b[n:]
		return v
	case 9:
		h := c.next()
		n := uint64(h >> 4)
		if n == 15 {
			n = c.uvarint()
		}
		list := make([]any, n)
		for i := range list {
			list[i] = c.value(h & 15)
		}
		return list
	case 12:
		m, id := make(map[int]any), 0
		for {
			h := c.next()
			if h == 0 {
				return m
			}
			if h>>4 == 0 {
				c.t.Fatal("a field without a delta")
			}
			id += int(h >> 4)
			m[id] = c.value(h & 15)
		}
	}
	c.t.Fatalf("type %d", kind)
	return nil
}

// hybrid decodes n values in the RLE/bit-packing hybrid encoding.
func hybrid(t testing.TB, b []byte, width, n int) []uint64 {
	var values []uint64
	bit := func(i int) uint64 { return uint64(b[i/8]>>(i%8)) & 1 }
	for len(values) < n {
		h, k := binary.Uvarint(b)
		if k <= 0 {
			t.Fatalf("%d values of %d", len(values), n)
		}
		b = b[k:]
		if h&1 == 0 {
			var v uint64
			for i := range (width + 7) / 8 {
				v |= uint64(b[i]) << (8 * i)
			}
			for range h >> 1 {
				values = append(values, v)
			}
			b = b[(width+7)/8:]
			continue
		}
		for i := range int(h>>1) * 8 {
			var v uint64
			for k := range width {
				v |= bit(i*width+k) << k
			}
			values = append(values, v)
		}
		b = b[int(h>>1)*width:]
	}
	return values[:n]
}

// deltas decodes DELTA_BINARY_PACKED.
func deltas(t testing.TB, b []byte) []int64 {
	c := &compact{t, b}
	block, minis, n := c.uvarint(), c.uvarint(), c.uvarint()
	v := c.value(6).(int64)
	if n == 0 {
		return nil
	}
	values := []int64{v}
	size := int(block / minis)
	for uint64(len(values)) < n {
		low := c.value(6).(int64)
		widths := c.b[:minis]
		c.b = c.b[minis:]
		for _, width := range widths {
			if uint64(len(values)) >= n {
				break
			}
			for i := range size {
				var d uint64
				for k := range int(width) {
					at := i*int(width) + k
					d |= uint64(c.b[at/8]>>(at%8)&1) << k
				}
				if uint64(len(values)) < n {
					v += int64(d) + low
					values = append(values, v)
				}
			}
			c.b = c.b[size*int(width)/8:]
		}
	}
	return values
}

// A parquetLeaf is a column of a Parquet file: its path, joined with dots, and its highest repetition and definition levels.
type parquetLeaf struct {
	path                 string
	repeated, definition int
}

// parquetLeaves returns the leaves of a schema, in which each group has the number of its children.
func parquetLeaves(t testing.TB, schema []any) (list []parquetLeaf) {
	var walk func(in parquetLeaf, children int)
	walk = func(in parquetLeaf, children int) {
		for range children {
			e := schema[0].(map[int]any)
			schema = schema[1:]
			leaf := in
			leaf.path = strings.TrimPrefix(in.path+"."+string(e[4].([]byte)), ".")
			switch e[3].(int64) {
			case 1:
				leaf.definition++
			case 2:
				leaf.definition++
				leaf.repeated++
			}
			if n, ok := e[5].(int64); ok {
				walk(leaf, int(n))
			} else {
				list = append(list, leaf)
			}
		}
	}
	root := schema[0].(map[int]any)
	schema = schema[1:]
	walk(parquetLeaf{}, int(root[5].(int64)))
	if len(schema) > 0 {
		t.Errorf("%d elements of the schema are in no group", len(schema))
	}
	return list
}

// listEnd and listNull stand in the lists of readParquet after each entry, and for null.
const (
	listEnd  = "\x01"
	listNull = "\x02"
)

// parquetDictionary decodes the n values of a dictionary.
func parquetDictionary(t testing.TB, name string, kind, n int64, b []byte) (dictionary []string) {
	for range n {
		switch kind {
		case 1:
			dictionary = append(dictionary, fmt.Sprint(int32(binary.LittleEndian.Uint32(b))))
			b = b[4:]
		case 5:
			dictionary = append(dictionary, fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(b))))
			b = b[8:]
		case 2:
			dictionary = append(dictionary, fmt.Sprint(int64(binary.LittleEndian.Uint64(b))))
			b = b[8:]
		case 6:
			n := binary.LittleEndian.Uint32(b)
			dictionary = append(dictionary, string(b[4:4+n]))
			b = b[4+n:]
		}
	}
	if len(b) > 0 {
		t.Fatalf("%s: %d bytes behind the dictionary", name, len(b))
	}
	return dictionary
}

// appendRows appends the texts of a column's rows to a list.
func (l *parquetLeaf) appendRows(list, values []string, repeated, defined []uint64) []string {
	for k, d := range defined {
		v := ""
		switch {
		case int(d) == l.definition:
			v, values = values[0], values[1:]
		case l.repeated > 0 && d > 0:
			v = listNull
		}
		if l.repeated > 0 && d > 0 {
			v += listEnd
		}
		if repeated[k] == 0 {
			list = append(list, v)
		} else {
			list[len(list)-1] += v
		}
	}
	return list
}

// readParquet reads a file into columns of texts, with "" for null. It checks that all columns of a row group have the same
// number of rows. A row's list becomes one text.
func readParquet(t testing.TB, file []byte) (names []string, columns map[string][]string) {
	t.Helper()
	if string(file[:4]) != "PAR1" || string(file[len(file)-4:]) != "PAR1" {
		t.Fatal("not a Parquet file")
	}
	n := binary.LittleEndian.Uint32(file[len(file)-8:])
	meta := (&compact{t, file[len(file)-8-int(n):]}).value(12).(map[int]any)
	columns = make(map[string][]string)
	leaves := parquetLeaves(t, meta[2].([]any))
	for _, l := range leaves {
		names = append(names, l.path)
	}
	if n := len(meta[7].([]any)); n != len(leaves) {
		t.Errorf("%d orders of %d columns", n, len(leaves))
	}
	total := int64(0)
	for _, g := range meta[4].([]any) {
		group := g.(map[int]any)
		rows := int(group[3].(int64))
		total += int64(rows)
		for i, ch := range group[1].([]any) {
			chunk := ch.(map[int]any)[3].(map[int]any)
			kind, leaf, entries := chunk[1].(int64), leaves[i], int(chunk[5].(int64))
			var path []string
			for _, p := range chunk[3].([]any) {
				path = append(path, string(p.([]byte)))
			}
			name := strings.Join(path, ".")
			if name != leaf.path || leaf.repeated == 0 && entries != rows {
				t.Fatalf("column %s of %d values", name, chunk[5])
			}
			page := func(at int64) (map[int]any, []byte) {
				c := &compact{t, file[at:]}
				h := c.value(12).(map[int]any)
				return h, c.b[:h[3].(int64)]
			}
			var dictionary []string
			if at, ok := chunk[11].(int64); ok {
				h, b := page(at)
				dictionary = parquetDictionary(t, name, kind, h[7].(map[int]any)[1].(int64), b)
			}
			h, b := page(chunk[9].(int64))
			levels := func(most int) []uint64 {
				if most == 0 {
					return make([]uint64, entries)
				}
				n := binary.LittleEndian.Uint32(b)
				list := hybrid(t, b[4:4+n], bits.Len(uint(most)), entries)
				b = b[4+n:]
				return list
			}
			if n := h[5].(map[int]any)[1].(int64); int(n) != entries {
				t.Errorf("%s: %d values in the page, %d in the chunk", name, n, entries)
			}
			repeated := levels(leaf.repeated)
			defined := levels(leaf.definition)
			present := 0
			for _, l := range defined {
				if int(l) == leaf.definition {
					present++
				}
			}
			if nulls := chunk[12].(map[int]any)[3].(int64); nulls != int64(entries-present) {
				t.Errorf("%s: %d nulls, %d in the statistics", name, entries-present, nulls)
			}
			var values []string
			if h[5].(map[int]any)[2].(int64) == 5 {
				for _, v := range deltas(t, b) {
					values = append(values, fmt.Sprint(v))
				}
			} else {
				for _, id := range hybrid(t, b[1:], int(b[0]), present) {
					values = append(values, dictionary[id])
				}
			}
			if len(values) != present {
				t.Fatalf("%s: %d values of %d", name, len(values), present)
			}
			before := len(columns[name])
			columns[name] = leaf.appendRows(columns[name], values, repeated, defined)
			if n := len(columns[name]) - before; n != rows {
				t.Errorf("%s: %d rows of %d", name, n, rows)
			}
		}
	}
	if meta[3].(int64) != total {
		t.Errorf("%d rows, %d in the groups", meta[3], total)
	}
	return names, columns
}

func checkParquet(t *testing.T, l list) {
	t.Helper()
	names, columns := readParquet(t, write(t, "parquet", l, export.Options{}))
	if got, want := strings.Join(names, ","), "index,time,elapsed_us,thread,event,depth,duration_us,function,module,source,line,address,symbols,note,time_utc"; got != want {
		t.Errorf("columns %s", got)
	}
	for i, r := range l {
		for _, cell := range []struct{ column, want string }{
			{"index", fmt.Sprint(r.Index)}, {"elapsed_us", fmt.Sprint(r.Elapsed)}, {"thread", fmt.Sprint(r.Thread)}, {"event", r.Event.String()},
			{"depth", fmt.Sprint(r.Depth)}, {"function", strings.ToValidUTF8(r.Function, "\uFFFD")}, {"module", r.Module}, {"source", r.Source},
			{"address", fmt.Sprintf("%#x", r.Address)}, {"symbols", r.Symbols}, {"note", r.Note},
			{"time", optional(r.HasWall, r.Wall.UnixMicro())}, {"duration_us", optional(r.Duration >= 0, r.Duration)}, {"line", optional(r.Line != 0, int64(r.Line))},
		} {
			if got := columns[cell.column][i]; got != cell.want {
				t.Fatalf("row %d, %s: %q, want %q", i, cell.column, got, cell.want)
			}
		}
	}
}

func optional(ok bool, v int64) string {
	if !ok {
		return ""
	}
	return fmt.Sprint(v)
}

func TestParquetReadBack(t *testing.T) {
	for dir, l := range realLogs(t) {
		t.Run(dir, func(t *testing.T) { checkParquet(t, l) })
	}
	t.Run("program", func(t *testing.T) { checkParquet(t, program(rand.New(rand.NewPCG(1, 1)), 5000)) })
	t.Run("no rows", func(t *testing.T) { checkParquet(t, nil) })
	t.Run("row groups", func(t *testing.T) {
		// Long names end a row group before it has all its rows.
		var l list
		for i := range 3000 {
			l = append(l, rows.Row{Index: int64(i), Duration: rows.NoDuration, Address: uint64(i), Function: fmt.Sprint(strings.Repeat("long ", 5000), i)})
		}
		checkParquet(t, l)
	})
}

// TestParquetAnything has numbers of all sizes, and nulls at any place.
func TestParquetAnything(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := make(list, r.IntN(500))
		same := rows.Row{}
		any := func() int64 { return int64(r.Uint64()) >> r.IntN(64) }
		for i := range l {
			if r.IntN(1+int(seed%20)) == 0 {
				same = rows.Row{
					Thread: r.Uint32(), Event: rows.Event(r.IntN(3)), Depth: int(int32(any())), Duration: any(), Function: fmt.Sprint(any()), Address: r.Uint64(),
					Line: int(int32(any())), HasWall: r.IntN(2) == 0, Wall: time.UnixMicro(any() >> 8), Note: []string{"", "open"}[r.IntN(2)], Module: []string{"", "m"}[r.IntN(2)],
				}
			}
			l[i] = same
			l[i].Index, l[i].Elapsed = int64(i), any()
		}
		checkParquet(t, l)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

var pageRow = regexp.MustCompile(`(?m)^<tr class="(\w+)" data-d="(\d+)"><td>(\d+)</td><td>([^<]*)</td><td>(\d+)</td><td data-us="([\d.]*)">[^<]*</td><td style="--d:\d+">(?:\[\d+\] )?(?:&rarr;|&larr;|\?\?) ([^<]*)</td><td title="([^<"]*)">[^<]*</td><td title="(0x[0-9a-f]+) ([^<"]*)">([^<]*)</td><td>([^<]*)</td></tr>$`)

func TestHTMLReadBack(t *testing.T) {
	if testing.Short() {
		t.Skip("reads large pages")
	}
	logs := realLogs(t)
	logs["names"] = list{{Function: "<script>alert(\"1\")</script>&amp;", Module: "</td>", Source: `C:\a"onclick=".cpp`, Note: "<!--", Duration: math.MaxInt64, Depth: 1000}}
	for dir, l := range logs {
		text := string(write(t, "html", l, export.Options{Header: rows.Header{Log: "</title><script>", Lines: []string{"<b>"}}}))
		cells := pageRow.FindAllStringSubmatch(text, -1)
		if len(cells) != len(l) {
			t.Fatalf("%s: %d rows, want %d", dir, len(cells), len(l))
		}
		for i, c := range cells {
			r := &l[i]
			want := []string{
				r.Event.String(), fmt.Sprint(r.Depth), fmt.Sprint(r.Index), strings.Replace(string(rows.AppendTime(nil, r, 9)), "T", " ", 1), fmt.Sprint(r.Thread),
				string(rows.AppendMicroseconds(nil, r.Duration)), r.Function, r.Source, fmt.Sprintf("%#x", r.Address), r.Symbols, r.Module, r.Note,
			}
			for k := range want {
				if got := html.UnescapeString(c[k+1]); got != want[k] {
					t.Fatalf("%s: row %d, cell %d: %q, want %q", dir, i, k, got, want[k])
				}
			}
		}
		if n := strings.Count(text, "<script"); n != 1 {
			t.Errorf("%s: %d scripts", dir, n)
		}
		if regexp.MustCompile(`(?i)(src|href|url|import)\s*[=(]|https?:`).MatchString(text) {
			t.Errorf("%s: the page names something outside", dir)
		}
	}
}
