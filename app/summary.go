package app

import (
	"fmt"
	"strings"
	"time"

	"logparser/calls"
	"logparser/parser"
	"logparser/symbols"
	"logparser/symbols/store"
)

// A Span is the time from the first to the last row of the chosen runs.
type Span struct {
	// First and Last are in nanoseconds of the log's clock.
	First, Last int64
	// WallFirst and WallLast are local times of the recorded program, if
	// HasWall.
	WallFirst, WallLast time.Time
	HasWall             bool
}

// Span returns the time that the chosen runs cover.
func (s *Session) Span() Span {
	var span Span
	if len(s.runs) == 0 {
		return span
	}
	first, last := &s.runs[0], &s.runs[len(s.runs)-1]
	span.First, span.Last = first.zero, last.zero
	var event [1]parser.Event
	if n, _ := s.log.ReadEvents(event[:], last.First+last.Count-1); n == 1 {
		span.Last = event[0].Time
	}
	var a, b bool
	span.WallFirst, a = first.clock.Wall(span.First)
	span.WallLast, b = last.clock.Wall(span.Last)
	span.HasWall = a && b
	return span
}

// maxWarnings bounds the places of damage that Warnings names.
const maxWarnings = 5

// Warnings says in a line each what the user must know of the log besides its
// rows: runs left out, damage, records that pair badly. They name no paths.
func (s *Session) Warnings() []string {
	info := s.Info()
	var list []string
	if n := len(info.Runs); n > len(s.runs) {
		var left int64
		for i, r := range info.Runs {
			if i != s.chosen {
				left += r.Count
			}
		}
		list = append(list, fmt.Sprintf("the file holds %d runs; run %d is shown, %s of other runs left out (--run N or all takes them)",
			n, s.chosen+1, count(left, "row")))
	}
	for i, d := range info.Damage {
		if i == maxWarnings {
			list = append(list, fmt.Sprintf("%d more places are damaged, %d bytes in all", len(info.Damage)-i, info.DamageBytes))
			break
		}
		list = append(list, fmt.Sprintf("damage at offset %d, %d bytes: %s", d.Offset, d.Bytes, d.Reason))
	}
	if n := s.table.Count(calls.Damaged); n > 0 && len(info.Damage) == 0 {
		list = append(list, count(n, "record")+" cannot be right (marked damaged)")
	}
	unknown := 0
	for i := range s.runs {
		if s.runs[i].modules.Len() == 0 {
			unknown++
		}
	}
	switch {
	case unknown == 0:
	case len(s.runs) == 1:
		list = append(list, "no modules are known for this run, so addresses have no names")
	default:
		list = append(list, fmt.Sprintf("no modules are known for %d of the %d runs, so their addresses have no names", unknown, len(s.runs)))
	}
	return append(list, s.symbolWarnings()...)
}

// symbolWarnings names the modules that rows lie in and whose names are
// missing or not to be relied on.
func (s *Session) symbolWarnings() []string {
	words := []struct {
		status symbols.Status
		what   string
	}{
		{symbols.Mismatched, "only symbols of another build were found, which give no names"},
		{symbols.Unverified, "nothing was recorded to check the symbols by, so names are wrong if they are of another build"},
		{symbols.NotFound, "no symbols were found"},
	}
	modules := s.Modules()
	var list []string
	for _, w := range words {
		var names []string
		for _, m := range modules {
			if m.Status == w.status && m.Records > 0 {
				names = append(names, m.Name)
			}
		}
		if len(names) > 3 {
			names = append(names[:3], fmt.Sprintf("%d more", len(names)-3))
		}
		if len(names) > 0 {
			list = append(list, strings.Join(names, ", ")+": "+w.what)
		}
	}
	return list
}

// MissingSymbolPaths returns the elements of the symbol search path that name
// a folder or file that is not there.
func (s *Session) MissingSymbolPaths() []string { return store.Missing(s.Inputs().Symbols) }

// count writes a number and its unit.
func count(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
