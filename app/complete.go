package app

import (
	"cmp"
	"slices"
	"strings"

	"logparser/calls"
	"logparser/rows"
	"logparser/rows/filter"
)

// A Completion is what could be written at a place of a filter expression.
type Completion struct {
	filter.Completion
	// Choices are columns with a colon, or values of a column; see
	// [filter.Completion.Insert].
	Choices []string
}

// Complete offers what could be written at a byte of an expression, at most
// limit choices: those that begin with what was written, then those that contain
// it, functions and modules with more records first.
func (s *Session) Complete(text string, at, limit int) Completion {
	c := Completion{Completion: filter.Complete(text, at)}
	records := make(map[string]int64)
	if !c.InValue {
		for i, name := range filter.Columns() {
			records[name+":"] = int64(-i)
		}
	} else {
		s.values(c.Column, records)
	}
	prefix := strings.ToLower(c.Prefix)
	type choice struct {
		text  string
		where int
	}
	var list []choice
	for value := range records {
		where := strings.Index(strings.ToLower(value), prefix)
		if value != "" && where >= 0 && (c.InValue || where == 0 && c.Prefix != "") {
			list = append(list, choice{value, min(where, 1)})
		}
	}
	slices.SortFunc(list, func(a, b choice) int {
		return cmp.Or(cmp.Compare(a.where, b.where), cmp.Compare(records[b.text], records[a.text]), cmp.Compare(a.text, b.text))
	})
	for _, l := range list[:min(len(list), max(limit, 0))] {
		c.Choices = append(c.Choices, l.text)
	}
	return c
}

// values counts the records of each value of a column that has few.
func (s *Session) values(c filter.Column, records map[string]int64) {
	var of func(r *rows.Row) string
	switch c {
	case filter.Event:
		records[rows.Enter.String()], records[rows.Leave.String()], records[rows.Unknown.String()] = 3, 2, 1
	case filter.Mark:
		for m := calls.Open; m <= calls.NoEnter; m++ {
			records[m.String()] = s.table.Count(m)
		}
	case filter.Thread:
		for _, t := range s.Threads() {
			records[decimal(t.ID)] = t.Rows
			records[t.Name] += t.Rows
		}
	case filter.Process:
		for _, t := range s.Threads() {
			records[t.Process.Text()] += t.Rows
		}
	case filter.ThreadName:
		for _, t := range s.Threads() {
			records[t.Name] += t.Rows
		}
	case filter.Func, filter.In, filter.Text:
		of = func(r *rows.Row) string { return r.Function }
	case filter.Module:
		of = func(r *rows.Row) string { return r.Module }
	case filter.Source:
		of = func(r *rows.Row) string { return r.Source }
	case filter.Symbols:
		of = func(r *rows.Row) string { return r.Symbols }
	}
	src := s.table
	if of == nil {
		return
	}
	s.mu.Lock()
	n := s.names
	s.mu.Unlock()
	table := src.AddressTable()
	for i := range table.Len() {
		a := table.At(i)
		row := s.placeRow(n, &a, i)
		records[of(&row)] += a.Records
	}
}
