package modules

import (
	"strings"

	"logparser/message"
)

// A Role is what a column of a modules file holds.
type Role uint8

const (
	// Skip is a column that tells nothing about a module's place: an entry
	// point, a number in the list.
	Skip Role = iota
	// Base is the load address (VA).
	Base
	// Size is the size in memory, in bytes.
	Size
	// End is the address behind the last byte (VA), in place of a size.
	End
	// Name is the path of the module, or its name alone.
	Name
)

var roleNames = [...]string{Skip: "-", Base: "base", Size: "size", End: "end", Name: "name"}

func (r Role) String() string { return roleNames[r] }

// A Column is one column of a modules file.
type Column struct {
	Role Role
	// Radix is 10 or 16 for numbers without a prefix, 0 where the file itself
	// decides.
	Radix int
}

// Columns are the columns of a modules file in their order. There is one Name,
// one Base, and at most one Size or End; the others are Skip.
type Columns []Column

// maxColumns bounds the columns of a modules file.
const maxColumns = 6

// ErrColumns is wrapped by the errors of [ParseColumns].
var ErrColumns = message.New(`want a list such as "base,name,size" of base, size or end (neither where the file has none), name and - for others, numbers with :hex or :dec where they do not show it`)

// ParseColumns reads the form that [Columns.String] writes: "base,name,size:dec".
func ParseColumns(s string) (Columns, error) {
	var c Columns
	for _, word := range strings.Split(s, ",") {
		name, radix, marked := strings.Cut(strings.ToLower(strings.TrimSpace(word)), ":")
		column := Column{}
		switch name {
		case "base":
			column.Role = Base
		case "size":
			column.Role = Size
		case "end":
			column.Role = End
		case "name", "path":
			column.Role = Name
		case "-", "skip":
		default:
			return nil, message.Errorf("%q is no column: %w", clip(word), ErrColumns)
		}
		switch {
		case radix == "hex" && column.Role != Name:
			column.Radix = 16
		case radix == "dec" && column.Role != Name:
			column.Radix = 10
		case marked:
			return nil, message.Errorf("%q: %w", clip(word), ErrColumns)
		}
		c = append(c, column)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c Columns) check() error {
	var count [Name + 1]int
	for _, column := range c {
		count[column.Role]++
	}
	switch {
	case len(c) > maxColumns:
		return message.Errorf("%d columns: %w", len(c), ErrColumns)
	case count[Base] != 1, count[Name] != 1, count[Size]+count[End] > 1:
		return message.Errorf("%q: %w", c.String(), ErrColumns)
	}
	return nil
}

// String returns the form that [ParseColumns] reads.
func (c Columns) String() string {
	words := make([]string, len(c))
	for i, column := range c {
		words[i] = column.Role.String()
		switch column.Radix {
		case 10:
			words[i] += ":dec"
		case 16:
			words[i] += ":hex"
		}
	}
	return strings.Join(words, ",")
}

// name returns the place of the Name column.
func (c Columns) name() int {
	for i := range c {
		if c[i].Role == Name {
			return i
		}
	}
	return -1
}

// labelWords lead from the words of a label to its role. The first that occurs
// in the label decides: "image size" is a size, "module base" a base.
var labelWords = []struct {
	role  Role
	words []string
}{
	{Skip, []string{"entry", "index", "version", "timestamp", "checksum", "count", "入口"}},
	{Size, []string{"size", "length", "len", "bytes", "大小", "长度", "尺寸"}},
	{End, []string{"end", "limit", "结束"}},
	{Base, []string{"base", "address", "addr", "load", "start", "handle", "基址", "地址", "基地址", "加载"}},
	{Name, []string{"name", "path", "file", "module", "image", "dll", "模块", "名", "路径", "文件"}},
}

// roleOfLabel returns what the value behind a label is; ok is false for a label
// that says nothing known.
func roleOfLabel(label string) (role Role, ok bool) {
	label = strings.ToLower(label)
	for _, l := range labelWords {
		for _, w := range l.words {
			if strings.Contains(label, w) {
				return l.role, true
			}
		}
	}
	return Skip, false
}
