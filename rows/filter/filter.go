// Package filter is the language in which one says which rows are wanted:
//
//	func:~Draw.* thread:12 dur:>5ms -module:ntdll (mark:open or mark:stray)
//
// Its input is a text, its output an [Expr]: a tree of [Term]s. An expression
// is written out again by [Expr.String], and changed by [Expr.Include] and its
// like, so that a filter line, chips and a cell's menu can share one. What it
// means is defined by [Expr.Matches], one row at a time; package app makes
// queries of an index from it that give the same rows and are quicker.
//
// docs/filters.md describes the language for its users.
package filter

import (
	"regexp"
	"slices"

	"logparser/message"
	"logparser/rows"
)

// The limits of an expression.
const (
	// MaxLength is in bytes.
	MaxLength = 1 << 16
	// MaxNesting bounds parentheses and negations within each other.
	MaxNesting = 100
)

// A Kind says what an [Expr] is.
type Kind uint8

const (
	// All matches every row: the empty expression.
	All Kind = iota
	// And and Or join two or more Args, Not negates one.
	And
	Or
	Not
	// Leaf is a Term.
	Leaf
)

// An Expr is an expression. It is immutable.
type Expr struct {
	Kind Kind
	Args []*Expr
	Term *Term
}

// A Column is what a term looks at, by the name that is written: a column of rows, as
// its entry in [rows.Columns] has it, or one of those that only filters have.
type Column string

const (
	// Text is any of function, module, source, note, thread id and address, as
	// [rows.Matcher] has it: what a term looks at that names no column.
	Text Column = "text"
	// In is the functions of the calls that a row lies in, with the one that it
	// enters or leaves; Call is one of them, by the row of its enter or leave.
	In   Column = "in"
	Call Column = "call"

	Func   Column = "func"
	Module Column = "module"
	Source Column = "source"
	Line   Column = "line"
	Thread Column = "thread"
	Event  Column = "event"
	// Duration: its range is read by parsePoint (range.go) and means what Term.matches (match.go)
	// says; app/where.go makes a predicate of calls/query/duration.go of it, which finds the rows.
	Duration Column = "dur"
	// Self is the part of the duration that was not spent in calls that the
	// call made.
	Self    Column = "self"
	Depth   Column = "depth"
	Time    Column = "time"
	Address Column = "address"
	Symbols Column = "symbols"
	Mark    Column = "mark"
	Row     Column = "row"
	// Process is the process that a row is of, where there are several: its id, the name of
	// its program, or both.
	Process Column = "process"
	// ThreadName is the thread's name alone.
	ThreadName Column = "threadname"
)

// entries has the columns of rows that have terms, by the name that is written.
var entries = make(map[Column]*rows.Column)

// named has the columns by all their names, written those that are written, in order.
var named, written = make(map[string]Column), []string(nil)

func init() {
	add := func(names ...string) Column {
		c := Column(names[0])
		for _, name := range names {
			named[name] = c
		}
		written = append(written, names[0])
		return c
	}
	add(string(Text), "any")
	for i := range rows.Columns() {
		if c := &rows.Columns()[i]; len(c.Terms) > 0 {
			entries[add(c.Terms...)] = c
		}
	}
	add(string(In), "inside")
	add(string(Call))
}

// String returns the name by which the column is written.
func (c Column) String() string { return string(c) }

// ColumnOf returns the filter's column for a column of rows; it is not ok where that has no
// term.
func ColumnOf(c *rows.Column) (Column, bool) {
	if len(c.Terms) == 0 {
		return "", false
	}
	return Column(c.Terms[0]), true
}

// Entry returns the column of rows that the column is, nil for those that only filters
// have.
func (c Column) Entry() *rows.Column { return entries[c] }

// Columns returns the names of the columns, as they are written.
func Columns() []string { return slices.Clone(written) }

// ColumnNamed returns the column of a name, in any case.
func ColumnNamed(name string) (Column, bool) {
	if c, ok := named[lower(name)]; ok {
		return c, true
	}
	return valueColumn(name)
}

// An Op is how a term compares.
type Op uint8

const (
	// Contains looks for a text without regard to case.
	Contains Op = iota
	// Equals compares the whole text.
	Equals
	// Matches looks for a regular expression.
	Matches
	// Between compares with a [Range].
	Between
)

// A Term is a condition on one column.
type Term struct {
	Column Column
	Op     Op
	// Value is the text to look for, or the regular expression, or the range as
	// it was written.
	Value string
	// Range is that of [Between].
	Range Range

	matcher rows.Matcher
	regexp  *regexp.Regexp
	quoted  bool         // a number that is a text
	numbers *numberRange // that of Between of values of calls
}

// MatchText reports whether a column's text fits a term that compares texts.
func (t *Term) MatchText(text string) bool {
	switch t.Op {
	case Contains:
		return t.matcher.MatchesText(text)
	case Equals:
		return text == t.Value
	case Matches:
		return t.regexp.MatchString(text)
	}
	return false
}

// An Error says where an expression is wrong, and what was expected there.
type Error struct {
	// Offset is where, in bytes from the beginning.
	Offset int
	// Text says what is wrong.
	Text message.Text
}

func errorAt(offset int, pattern string, args ...any) *Error {
	return &Error{offset, message.Textf(pattern, args...)}
}

func (e *Error) Error() string { return e.Message().String() }

// Message returns where and what is wrong.
func (e *Error) Message() message.Text { return message.Textf("at byte %d: %s", e.Offset, e.Text) }

// IsAll reports whether the expression is the empty one.
func (e *Expr) IsAll() bool { return e.Kind == All }
