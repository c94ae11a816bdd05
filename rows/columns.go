package rows

import (
	"slices"
	"strconv"
	"strings"

	"logparser/message"
)

// A Kind says what the values of a column are, and so how they are compared and
// written.
type Kind uint8

const (
	// Number is an integer, not below 0.
	Number Kind = iota
	// Duration is nanoseconds, which files have as microseconds.
	Duration
	// Time is the time of a row: local time, or elapsed time where that is not known.
	Time
	// UTC is its time as UTC, which goes by the run that the row is of.
	UTC
	// Address is a VA.
	Address
	// Text is text.
	Text
)

// A Column is one value of rows: what the window's table, the filter language and
// saved tables have to know of it. All go through the list that [Columns] returns.
type Column struct {
	// Name is what the column is called where columns are chosen.
	Name string
	// Title is what stands above it in the window's table; the zero Text if the window's
	// table does not show the column.
	Title message.Text
	Kind  Kind
	// Optional says that rows may have no value.
	Optional bool
	// Narrow says that its numbers need no more than 32 bits.
	Narrow bool
	// Width is in device-independent pixels of the window's table; Right aligns to the
	// right. Hidden columns are shown when they are asked for.
	Width  float32
	Right  bool
	Hidden bool
	// Terms are its names in the filter language, the one that is written first;
	// none where it has no term of its own.
	Terms []string
	// Needs is what a source has to fill in for it; see [With].
	Needs Fields

	number func(r *Row) int64 // negative for none where the column is optional
	signed bool               // a number may be negative, and NoDelta is none
	text   func(r *Row) string
	bound  func(r *Row) Bound
	values func(r *Row) []Value
}

// columns is the list, in the order of the window's table.
var columns = []Column{
	{Name: "index", Title: message.Textf("#"), Kind: Number, Width: 64, Right: true, Terms: []string{"row", "index"},
		number: func(r *Row) int64 { return r.Index }},
	{Name: "time", Title: message.Textf("Time"), Kind: Time, Optional: true, Width: 108, Terms: []string{"time"},
		number: func(r *Row) int64 { return r.Elapsed }},
	{Name: "elapsed", Kind: Duration, Width: 96, Right: true, number: func(r *Row) int64 { return r.Elapsed }},
	{Name: "delta", Title: message.Textf("\u0394T"), Kind: Duration, Optional: true, signed: true, Width: 96, Right: true, Hidden: true, Needs: Deltas,
		number: func(r *Row) int64 {
			if r.Filled&Deltas == 0 {
				return NoDelta
			}
			return r.Delta
		}},
	{Name: "utc", Kind: UTC, Optional: true, Width: 200},
	{Name: "thread", Title: message.Textf("Thread"), Kind: Number, Width: 64, Right: true, Terms: []string{"thread", "tid"},
		number: func(r *Row) int64 { return int64(r.Thread) }},
	{Name: "thread_name", Title: message.Textf("Thread name"), Kind: Text, Optional: true, Width: 120, Hidden: true,
		Terms: []string{"threadname", "thread_name"}, Needs: ThreadNames, text: func(r *Row) string {
			if r.Filled&ThreadNames == 0 {
				return ""
			}
			return r.ThreadName
		}},
	{Name: "process", Title: message.Textf("Process"), Kind: Text, Optional: true, Width: 120, Hidden: true,
		Terms: []string{"process", "pid"}, text: func(r *Row) string { return r.Process.Text() }},
	{Name: "stack", Kind: Number, Optional: true, Width: 64, Right: true, Terms: []string{"stack"}, number: func(r *Row) int64 {
		if r.Stack == 0 {
			return -1
		}
		return int64(r.Stack)
	}},
	{Name: "event", Kind: Text, Width: 64, Terms: []string{"event"}, text: func(r *Row) string { return r.Event.String() }},
	{Name: "depth", Kind: Number, Narrow: true, Width: 56, Right: true, Terms: []string{"depth"},
		number: func(r *Row) int64 { return int64(r.Depth) }},
	{Name: "function", Title: message.Textf("Function"), Kind: Text, Width: 270, Terms: []string{"func", "function", "fn"},
		text: func(r *Row) string { return r.Function }},
	{Name: "duration", Title: message.Textf("Duration"), Kind: Duration, Optional: true, Width: 96, Right: true, Terms: []string{"dur", "duration"},
		number: func(r *Row) int64 { return r.Duration }, bound: func(r *Row) Bound { return r.Bound }},
	{Name: "self", Title: message.Textf("Self"), Kind: Duration, Optional: true, Width: 96, Right: true, Hidden: true, Terms: []string{"self"},
		Needs: SelfTimes, number: func(r *Row) int64 {
			if r.Filled&SelfTimes == 0 {
				return NoDuration
			}
			return r.Self
		}, bound: (*Row).SelfBound},
	{Name: "module", Title: message.Textf("Module"), Kind: Text, Optional: true, Width: 136, Terms: []string{"module", "mod"},
		text: func(r *Row) string { return r.Module }},
	{Name: "source", Title: message.Textf("Source"), Kind: Text, Optional: true, Width: 136, Terms: []string{"source", "file", "src"},
		text: func(r *Row) string { return r.Source }},
	{Name: "line", Kind: Number, Optional: true, Narrow: true, Width: 56, Right: true, Terms: []string{"line"},
		number: func(r *Row) int64 { return lineNumber(r.Line) }},
	{Name: "address", Title: message.Textf("Address"), Kind: Address, Width: 138, Hidden: true, Terms: []string{"address", "addr"},
		number: func(r *Row) int64 { return int64(r.Address) }},
	{Name: "symbols", Title: message.Textf("Symbols"), Kind: Text, Optional: true, Width: 96, Hidden: true, Terms: []string{"symbols"},
		text: func(r *Row) string { return r.Symbols }},
	{Name: "site", Title: message.Textf("Call site"), Kind: Text, Optional: true, Width: 200, Hidden: true, Terms: []string{"site"},
		Needs: CallSites, text: func(r *Row) string { return r.site().Function }},
	{Name: "site_source", Kind: Text, Optional: true, Width: 136, Terms: []string{"site_source"},
		Needs: CallSites, text: func(r *Row) string { return r.site().Source }},
	{Name: "site_line", Kind: Number, Optional: true, Narrow: true, Width: 56, Right: true, Terms: []string{"site_line"},
		Needs: CallSites, number: func(r *Row) int64 { return lineNumber(r.site().Line) }},
	{Name: "site_address", Kind: Address, Optional: true, Width: 138, Terms: []string{"site_address"},
		Needs: CallSites, number: func(r *Row) int64 { return int64(r.site().Address) }},
	{Name: "arguments", Title: message.Textf("Arguments"), Kind: Text, Optional: true, Width: 260, Hidden: true, Terms: []string{"args", "arguments"},
		Needs: Values, text: func(r *Row) string { return string(AppendArguments(nil, r.values().Arguments)) },
		values: func(r *Row) []Value { return r.values().Arguments }},
	{Name: "result", Title: message.Textf("Result"), Kind: Text, Optional: true, Width: 120, Hidden: true, Terms: []string{"result"},
		Needs: Values, text: func(r *Row) string { return string(AppendResults(nil, r.values().Results)) },
		values: func(r *Row) []Value { return r.values().Results }},
	{Name: "note", Title: message.Textf("Note"), Kind: Text, Optional: true, Width: 76, Terms: []string{"mark", "note"},
		text: func(r *Row) string { return r.SavedNote() }},
}

// noSite is the call site of rows that have none.
var noSite CallSite

// site returns the row's call site, an empty one if there is none.
func (r *Row) site() *CallSite {
	if r.Filled&CallSites == 0 || r.Site == nil {
		return &noSite
	}
	return r.Site
}

// FromSite reports whether the row begins a call of which it is known in which line it was made.
func (r *Row) FromSite() bool {
	site := r.site()
	return r.Event == Enter && site.Line > 0 && site.Source != ""
}

func lineNumber(line int) int64 {
	if line == 0 {
		return -1
	}
	return int64(line)
}

// Columns returns all columns. They are shared: do not change them.
func Columns() []Column { return columns }

// ColumnOf returns the column of a name, which may be that of saved files, and nil for
// none.
func ColumnOf(name string) *Column {
	h := Header{}
	for i := range columns {
		if c := &columns[i]; c.Name == name || h.ColumnName(c) == name {
			return c
		}
	}
	return nil
}

// ParseColumns reads names of columns with commas between.
func ParseColumns(text string) ([]*Column, error) {
	var list []*Column
	for name := range strings.SplitSeq(text, ",") {
		c := ColumnOf(strings.ToLower(strings.TrimSpace(name)))
		if c == nil {
			var names []string
			for i := range columns {
				names = append(names, columns[i].Name)
			}
			return nil, message.Errorf("there is no column %q; there are %s", name, strings.Join(names, ", "))
		}
		if slices.Contains(list, c) {
			return nil, message.Errorf("the column %s is there twice", c.Name)
		}
		list = append(list, c)
	}
	return list, nil
}

// ColumnName returns the name of a column in files for programs. Durations that
// are not those recorded have a name of their own, because such a file has no
// other place to say so; self times always go by those recorded.
func (h *Header) ColumnName(c *Column) string {
	switch {
	case c.Kind == UTC:
		return "time_utc"
	case c.Kind != Duration:
		return c.Name
	case h.Corrected && c.Name == "duration":
		return "duration_corrected_us"
	case h.Corrected && c.Name == "self":
		return "self_recorded_us"
	}
	return c.Name + "_us"
}

// Int returns the value of a column of numbers, durations (in nanoseconds) or
// addresses. It is not ok for rows without one.
func (c *Column) Int(r *Row) (n int64, ok bool) {
	n = c.number(r)
	if c.Kind == Address {
		return n, n != 0 || !c.Optional
	}
	if c.signed {
		return n, n != NoDelta
	}
	return n, n >= 0 || !c.Optional
}

// Text returns the value of a column of text, "" for none.
func (c *Column) Text(r *Row) string { return c.text(r) }

// HasValues reports whether the column's text is made of values, which [Column.Values] has.
func (c *Column) HasValues() bool { return c.values != nil }

// Values returns the values of such a column.
func (c *Column) Values(r *Row) []Value { return c.values(r) }

// Bound says how far the duration of a column of durations can be relied on.
func (c *Column) Bound(r *Row) Bound {
	if c.bound == nil {
		return Exact
	}
	return c.bound(r)
}

// Append appends a row's value as saved files for programs have it, nothing where it
// has none. Digits is the source's TimeDigits. Of a column of the kind [UTC] it appends nothing: that takes
// the time at which the row's run began, which the caller has.
func (c *Column) Append(dst []byte, r *Row, digits int) []byte {
	switch c.Kind {
	case Time:
		return AppendTime(dst, r, digits)
	case UTC:
		return dst
	case Text:
		return append(dst, c.text(r)...)
	}
	n, ok := c.Int(r)
	switch {
	case !ok:
		return dst
	case c.Kind == Address:
		return AppendAddress(dst, uint64(n))
	case c.Kind == Duration && n < 0: // of an elapsed time
		return AppendMicroseconds(append(dst, '-'), -n)
	case c.Kind == Duration:
		return AppendMicroseconds(dst, n)
	}
	return strconv.AppendInt(dst, n, 10)
}

// Fields are parts of a row that take work which most rows are not looked at for.
type Fields uint8

const (
	// SelfTimes is Row.Self, CallSites Row.Site, ThreadNames Row.ThreadName.
	SelfTimes Fields = 1 << iota
	CallSites
	ThreadNames
	// Deltas is Row.Delta, which any source can have.
	Deltas
	// Values is Row.Values.
	Values
)

// A Filler is a source that can fill in more of its rows.
type Filler interface {
	Source
	// With returns the same rows with more filled in.
	With(f Fields) Source
}

// Needs returns what columns need to be filled in.
func Needs(list []*Column) Fields {
	var f Fields
	for _, c := range list {
		f |= c.Needs
	}
	return f
}

// With returns a source with more of its rows filled in, as far as it can do that.
func With(src Source, f Fields) Source {
	if d, ok := src.(deltas); ok {
		return With(d.Source, f|Deltas)
	}
	if filler, ok := src.(Filler); ok && f&^Deltas != 0 {
		src = filler.With(f &^ Deltas)
	}
	if f&Deltas != 0 && src != nil {
		src = deltas{src}
	}
	return src
}
