package export

import (
	"math"
	"strconv"
	"strings"

	"logparser/rows"
)

// This file stores the values of calls in Parquet files with their types. Each column that has them as text gets a second
// column: a list of structures, which have the same fields for all functions:
//
//	optional group argument_values (LIST) {
//	  repeated group list {
//	    required group element { optional binary name (STRING); …; optional int64 int; optional double double; … }
//	  }
//	}
//
// The types of a file do not change from row to row, but those of arguments change from function to function. So each entry has
// a value in the field for its type, and null in the others. Members of structs and elements of arrays are entries of their
// own, after the entry of the whole value, and have their path as their name.

// Definition levels: 0 is no list, maxLevel-1 an entry without a value in this field, and maxLevel one with a value.
const (
	maxLevel   = 3
	levelWidth = 2 // bits
	// listElements is the number of elements in the schema for a list itself, without its fields.
	listElements = 3
	// entryCost is about how many bytes of memory an entry takes, without its texts.
	entryCost = 64
	// numberCost is how many bytes a number takes in a dictionary.
	numberCost = 8
	// maxListDepth bounds the depth of parts within a value.
	maxListDepth = 64
)

// Fields of an entry.
const (
	leafName = iota
	leafType
	leafKind
	leafText
	leafInt
	leafDouble
	leafString
	leafCount
)

// listLeaves describes the fields of an entry.
var listLeaves = [leafCount]struct {
	name   string
	kind   rows.Kind
	double bool
}{
	{"name", rows.Text, false}, {"type", rows.Text, false}, {"kind", rows.Text, false}, {"text", rows.Text, false},
	{"int", rows.Number, false}, {"double", rows.Number, true}, {"string", rows.Text, false},
}

// listNames has the names of the columns with lists, by the names of the columns with text.
var listNames = map[string]string{"arguments": "argument_values", "result": "result_values"}

// valueKinds are the names of kinds of values in files.
var valueKinds = [...]string{
	rows.UnknownValue: "unknown", rows.SignedValue: "int", rows.UnsignedValue: "int", rows.FloatValue: "double", rows.PointerValue: "pointer",
	rows.TextValue: "string", rows.OtherValue: "other",
}

// A parquetList is a column with lists of values.
type parquetList struct {
	// of is the column that has the same values as text.
	of   *rows.Column
	name string
	// first is the index of the column of its first field, and leaves the number of fields.
	first, leaves int
	// path is the path of the value that is being added.
	path []byte
}

// addLists adds a list for each column that has values of calls.
func (p *parquetFile) addLists(columns []*rows.Column) {
	for _, c := range columns {
		name := listNames[c.Name]
		if !c.HasValues() || name == "" {
			continue
		}
		p.lists = append(p.lists, parquetList{of: c, name: name, first: len(p.columns), leaves: leafCount})
		for _, leaf := range listLeaves {
			p.columns = append(p.columns, parquetColumn{
				Column: &rows.Column{Name: leaf.name, Kind: leaf.kind, Optional: true}, double: leaf.double, path: []string{name, "list", "element", leaf.name},
			})
		}
	}
}

// schema writes the elements of the list in the schema.
func (l *parquetList) schema(m *thrift) {
	const required, optional, repeated, list = 0, 1, 2, 3
	m.open()
	m.i32(3, optional)
	m.text(4, l.name)
	m.i32(5, 1)
	m.i32(6, list) // for readers that do not know the logical type in field 10
	m.field(10, thriftStruct)
	m.open()
	m.empty(3) // LIST
	m.close()
	m.close()
	m.open()
	m.i32(3, repeated)
	m.text(4, "list")
	m.i32(5, 1)
	m.close()
	m.open()
	m.i32(3, required)
	m.text(4, "element")
	m.i32(5, int64(l.leaves))
	m.close()
}

// addValues adds a row's list, or null if the row has no values.
func (p *parquetFile) addValues(l *parquetList, values []rows.Value) {
	if len(values) == 0 {
		for i := range leafCount {
			c := &p.columns[l.first+i]
			c.repeated, c.levels = append(c.repeated, 0), append(c.levels, 0)
		}
		return
	}
	again := uint32(0)
	for i := range values {
		l.path = append(l.path[:0], values[i].Name...)
		p.addValue(l, &values[i], &again, 0)
	}
}

// addValue adds an entry, and then those of its parts. again is the repetition level: 0 for the first entry of a row, then 1.
func (p *parquetFile) addValue(l *parquetList, v *rows.Value, again *uint32, depth int) {
	number := func(leaf int, bits int64) {
		c := &p.columns[l.first+leaf]
		before := c.size
		c.ids = append(c.ids, c.dictionaryNumber(bits))
		p.text += int64(c.size-before) * numberCost
	}
	text := func(leaf int, s string) {
		c := &p.columns[l.first+leaf]
		c.ids = append(c.ids, p.textOf(l.first+leaf, s))
	}
	var has [leafCount]bool
	if has[leafName] = len(l.path) > 0; has[leafName] {
		text(leafName, string(l.path))
	}
	if has[leafType] = v.Type != ""; has[leafType] {
		text(leafType, v.Type)
	}
	has[leafKind], has[leafText] = true, true
	text(leafKind, valueKinds[v.Kind])
	text(leafText, v.Text)
	switch v.Kind {
	case rows.SignedValue:
		has[leafInt] = true
	case rows.UnsignedValue, rows.PointerValue:
		has[leafInt] = v.Bits <= math.MaxInt64
	case rows.FloatValue:
		has[leafDouble] = true
		number(leafDouble, int64(v.Bits))
	case rows.TextValue:
		has[leafString] = true
		text(leafString, v.Characters)
	}
	if has[leafInt] {
		number(leafInt, int64(v.Bits))
	}
	for i, there := range has {
		c := &p.columns[l.first+i]
		level := uint32(maxLevel)
		if !there {
			level--
		}
		c.repeated, c.levels = append(c.repeated, *again), append(c.levels, level)
	}
	*again = 1
	p.text += entryCost
	if depth == maxListDepth {
		return
	}
	n := len(l.path)
	for i := range v.Parts {
		part := &v.Parts[i]
		switch l.path = l.path[:n]; {
		case part.Name == "" && strings.HasPrefix(v.Text, "["):
			l.path = append(strconv.AppendInt(append(l.path, '['), int64(i), 10), ']')
		case part.Name != "" && n > 0:
			l.path = append(append(l.path, '.'), part.Name...)
		default:
			l.path = append(l.path, part.Name...)
		}
		p.addValue(l, part, again, depth+1)
	}
	l.path = l.path[:n]
}
