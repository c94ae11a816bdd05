package export_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"logparser/export"
	"logparser/rows"
)

// filled is a list whose rows get the fields that a caller asks for.
type filled struct {
	list
	fields rows.Fields
}

func (f filled) With(fields rows.Fields) rows.Source { return filled{f.list, f.fields | fields} }

func (f filled) Read(dst []rows.Row, from int64) (int, error) {
	n, err := f.list.Read(dst, from)
	for i := range dst[:n] {
		dst[i].Filled &= f.fields
	}
	return n, err
}

// someColumns returns rows that have values in all columns, and rows that have none.
func someColumns(r *rand.Rand, n int) filled {
	l := program(r, n)
	texts := []string{"", "main", "=1+1", "a,b", "größe \"x\"", "bad\xff", "\x1b[2J"}
	for i := range l {
		row := &l[i]
		row.Filled, row.Self = rows.SelfTimes|rows.CallSites|rows.ThreadNames, rows.NoDuration
		row.Stack = uint32(r.IntN(3))
		row.ThreadName = texts[r.IntN(len(texts))]
		if row.Duration >= 0 && r.IntN(4) > 0 {
			row.Self = r.Int64N(row.Duration + 1)
		}
		if r.IntN(3) > 0 {
			row.Site = &rows.CallSite{Function: texts[1+r.IntN(6)], Source: texts[r.IntN(len(texts))], Line: r.IntN(3), Address: r.Uint64()}
		}
	}
	return filled{list: l}
}

// cellsOf returns the cells of a row in a table for programs.
func cellsOf(columns []*rows.Column, r *rows.Row) (list []string) {
	for _, c := range columns {
		list = append(list, strings.ToValidUTF8(string(c.Append(nil, r, listDigits)), "\uFFFD"))
	}
	return list
}

const listDigits = 9

// TestChosenColumns reads all columns back from all table formats. The fields of the rows were filled in because the table
// needs them.
func TestChosenColumns(t *testing.T) {
	var all []*rows.Column
	for i := range rows.Columns() {
		all = append(all, &rows.Columns()[i])
	}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 21))
		src := someColumns(r, 1+r.IntN(3000))
		columns := append([]*rows.Column(nil), all...)
		r.Shuffle(len(columns), func(i, k int) { columns[i], columns[k] = columns[k], columns[i] })
		columns = columns[:1+r.IntN(len(columns))]
		opt := export.Options{Columns: columns, Raw: true}
		records, err := csv.NewReader(bytes.NewReader(write(t, "csv", src, opt))).ReadAll()
		if err != nil || len(records) != len(src.list)+1 {
			t.Fatalf("%d records, %v", len(records), err)
		}
		objects := strings.Split(strings.TrimSuffix(string(write(t, "jsonl", src, opt)), "\n"), "\n")
		names, stored := readParquet(t, write(t, "parquet", src, opt))
		for k, c := range columns {
			if name := opt.Header.ColumnName(c); records[0][k] != name || names[k] != name {
				t.Fatalf("column %s is called %s and %s", name, records[0][k], names[k])
			}
		}
		for i := range src.list {
			filled := rows.With(src, rows.Deltas).Row(int64(i))
			row := &filled
			want := cellsOf(columns, row)
			if got := strings.ReplaceAll(strings.Join(records[i+1], "|"), "\r\n", "\n"); got != strings.Join(want, "|") {
				t.Fatalf("seed %d, row %d of csv: %s, want %s", seed, i, got, strings.Join(want, "|"))
			}
			d := json.NewDecoder(strings.NewReader(objects[i]))
			d.UseNumber()
			var object map[string]any
			if err := d.Decode(&object); err != nil {
				t.Fatalf("%s: %v", objects[i], err)
			}
			for k, c := range columns {
				value, ok := object[names[k]]
				_, number := value.(json.Number)
				if ok != (want[k] != "") || ok && (fmt.Sprint(value) != want[k] || number != (c.Kind == rows.Number || c.Kind == rows.Duration)) {
					t.Fatalf("row %d of jsonl, %s: %v, want %s", i, names[k], value, want[k])
				}
				cell := want[k]
				switch c.Kind {
				case rows.Time:
					cell = optional(row.HasWall, row.Wall.UnixMicro())
				case rows.Duration:
					ns, ok := c.Int(row)
					cell = optional(ok, ns)
				}
				if got := stored[names[k]][i]; got != cell {
					t.Fatalf("row %d of parquet, %s: %q, want %q", i, names[k], got, cell)
				}
			}
			if len(object) > len(columns) {
				t.Fatalf("%s has more than %d columns", objects[i], len(columns))
			}
		}
	}
}

// TestReadColumns checks the cells in the forms for people, text and page.
func TestReadColumns(t *testing.T) {
	columns, err := rows.ParseColumns("index,self,thread_name,site,site_source,site_address")
	if err != nil {
		t.Fatal(err)
	}
	row := rows.Row{Index: 7, Duration: 2500, Bound: rows.AtMost, Function: "f", Filled: rows.SelfTimes | rows.CallSites | rows.ThreadNames,
		Self: 1500, SelfAbout: true, ThreadName: "render\x1b", Site: &rows.CallSite{Function: "a<b>", Source: "/src/a.c", Address: 0x401000}}
	none := rows.Row{Index: 8, Duration: rows.NoDuration, Function: "f", Filled: row.Filled, Self: rows.NoDuration}
	src := filled{list: list{row, none}}
	lines := strings.Split(string(write(t, "txt", src, export.Options{Columns: columns})), "\n")
	var table []string
	for _, line := range lines[len(lines)-5:] {
		table = append(table, strings.Join(strings.Fields(line), " "))
	}
	if got, want := strings.Join(table, "\n"), "index self thread_name site site_source site_address\n"+table[1]+"\n7 ~ 1.500 us render\uFFFD a<b> /src/a.c 0x401000\n8\n"; got != want {
		t.Errorf("text\n%s\nwant\n%s", got, want)
	}
	page := string(write(t, "html", src, export.Options{Columns: columns}))
	for _, want := range []string{
		"<th>note</th><th>self</th><th>thread_name</th><th>site</th><th>site_source</th><th>site_address</th></tr>",
		"</td><td>~ 1.500 us</td><td>render\uFFFD</td><td>" + html.EscapeString("a<b>") + "</td><td>/src/a.c</td><td>0x401000</td></tr>\n",
		"</td><td></td><td></td><td></td><td></td><td></td></tr>\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

// TestChosenDefault chooses the default columns. The file must have the same bytes as without a choice.
func TestChosenDefault(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 22))
	for format, names := range map[string]string{
		"csv":     "index,time,thread,event,depth,duration,function,module,source,line,address,symbols,note,utc",
		"jsonl":   "index,time,thread,event,depth,duration,function,module,source,line,address,symbols,note,utc",
		"parquet": "index,time,elapsed,thread,event,depth,duration,function,module,source,line,address,symbols,note,utc",
	} {
		for _, corrected := range []bool{false, true} {
			src := program(r, 3000)
			columns, err := rows.ParseColumns(names)
			if err != nil {
				t.Fatal(err)
			}
			opt := export.Options{Header: rows.Header{Corrected: corrected}}
			want := write(t, format, src, opt)
			opt.Columns = columns
			if !bytes.Equal(write(t, format, src, opt), want) {
				t.Errorf("%s differs", format)
			}
			if format == "parquet" {
				continue
			}
			opt.Header.Stacks = true
			for i := range src {
				src[i].Stack = uint32(i % 3)
			}
			if opt.Columns, err = rows.ParseColumns(names + ",stack"); err != nil {
				t.Fatal(err)
			}
			chosen := write(t, format, src, opt)
			opt.Columns = nil
			if want := write(t, format, src, opt); format == "csv" && !bytes.Equal(chosen, want) {
				t.Errorf("%s with stacks differs", format)
			}
		}
	}
}

// TestChosenIsRecognised checks that files with chosen columns are recognised, and other files are not.
func TestChosenIsRecognised(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	recognised := func(text []byte) string {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		format, _, err := export.Recognise(path)
		if err != nil {
			t.Fatal(err)
		}
		return format
	}
	columns, err := rows.ParseColumns("function,duration,self")
	if err != nil {
		t.Fatal(err)
	}
	src := someColumns(rand.New(rand.NewPCG(1, 23)), 100)
	for _, f := range export.Formats() {
		if !f.Table {
			continue
		}
		for _, corrected := range []bool{false, true} {
			opt := export.Options{Columns: columns, Header: rows.Header{Log: "a.dat", Corrected: corrected}}
			if got := recognised(write(t, f.Name, src, opt)); got != f.Name {
				t.Errorf("%s is recognised as %q", f.Name, got)
			}
		}
	}
	for _, text := range []string{"function,duration,self\n", "function,module\n", "function,module,price\n", "name,function,module\n",
		`{"function":"f","module":"m"}` + "\n", `{"function":"f","module":"m","price":1}` + "\n"} {
		if got := recognised([]byte(text)); got != "" {
			t.Errorf("%s is recognised as %s", text, got)
		}
	}
}
