package app

import (
	"path/filepath"
	"strings"
	"time"

	"logparser/calls"
	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/store"
)

// A TimeRange is the time from the first to the last row of the chosen runs that is not
// damaged.
type TimeRange struct {
	// First and Last are in nanoseconds of the log's clock.
	First, Last int64
	// WallFirst and WallLast are local times of the recorded program, if
	// HasWall.
	WallFirst, WallLast time.Time
	HasWall             bool
}

// TimeRange returns the time that the chosen runs cover.
func (s *Session) TimeRange() TimeRange {
	var span TimeRange
	if len(s.runs()) == 0 {
		return span
	}
	first, last := &s.runs()[0], &s.runs()[len(s.runs())-1]
	span.First, span.Last = first.zero, max(s.lastTime(last), last.zero)
	var a, b bool
	span.WallFirst, a = first.clock.Wall(span.First)
	span.WallLast, b = last.clock.Wall(span.Last)
	span.HasWall = a && b
	return span
}

// GreatestDepth returns the greatest depth of the rows of the chosen runs. Outermost calls have the depth 0, and so has a log without rows.
func (s *Session) GreatestDepth() int {
	const all = 31 // a level above the highest
	if whole := s.table.Summary(all, 0); whole.Rows > 0 {
		return max(0, int(whole.MaxDepth))
	}
	return 0
}

// maxWarnings bounds the places of damage that Warnings names.
const maxWarnings = 5

// A Warning is what the user must know of a log besides its rows.
type Warning struct {
	Kind WarningKind
	Text message.Text
}

// A WarningKind is what a warning is about where something can be done about it.
type WarningKind int

// The kinds of warnings.
const (
	PlainWarning   WarningKind = iota
	RunsLeftOut                // the log has runs that are not shown
	BadModulesFile             // the file beside the log is no modules file
	ExportsOnly                // of modules only exported names, or where functions start, are known
	Crashed                    // the program crashed
	Rebuilt                    // modules were built anew since the log was written
	NoTime                     // the time of day is not known
)

// Warnings says in a line each what the user must know of the log besides its
// rows: runs left out, damage, records that pair badly. They name no paths.
func (s *Session) Warnings() []Warning {
	info := s.Info()
	var list []Warning
	warn := func(kind WarningKind, pattern string, args ...any) {
		list = append(list, Warning{kind, message.Textf(pattern, args...)})
	}
	if s.dump != nil {
		list = append(list, Warning{Crashed, s.dumpText()})
	}
	crashes := s.Crashes()
	for i := range crashes {
		list = append(list, Warning{Crashed, crashes[i].Text()})
	}
	shown := s.runs()
	if n := len(info.Runs); n > len(shown) && len(shown) > 0 {
		first, last := shown[0].number, shown[len(shown)-1].number
		var left int64
		for i, r := range info.Runs {
			if i < first || i > last {
				left += r.Count
			}
		}
		if first == last {
			warn(RunsLeftOut, "the file holds %d runs; run %d is shown, the rows of other runs are left out: %d", n, first+1, left)
		} else {
			warn(RunsLeftOut, "the file holds %d runs; runs %d to %d are shown, the rows of other runs are left out: %d", n, first+1, last+1, left)
		}
	}
	if !info.NoTime.IsZero() {
		list = append(list, Warning{NoTime, info.NoTime})
	}
	for i, d := range info.Damage {
		if i == maxWarnings {
			warn(PlainWarning, "%d more places are damaged, %d bytes in all", len(info.Damage)-i, info.DamageBytes)
			break
		}
		warn(PlainWarning, "damage at offset %d, %d bytes: %s", d.Offset, d.Bytes, d.Reason)
	}
	for _, text := range s.KeptDamage() {
		list = append(list, Warning{Text: text})
	}
	if n := s.table.Count(calls.Damaged); n > 0 && len(info.Damage) == 0 {
		warn(PlainWarning, "records that cannot be right, marked damaged: %d", n)
	}
	if _, late := s.Ways(); late {
		list = append(list, Warning{Text: LateLeaves()})
	}
	if !s.order.IsZero() {
		list = append(list, Warning{Text: s.order})
	}
	if err := s.IndexError(); err != nil {
		warn(PlainWarning, "the index of the log could not be kept, so the next opening takes as long: %v", err)
	}
	if s.beside != nil {
		warn(BadModulesFile, "%s beside the log cannot be taken for its modules file: %v", filepath.Base(s.beside.Path), s.beside.Err)
	}
	unknown := 0
	for i := range s.runs() {
		if s.runs()[i].modules.Len() == 0 {
			unknown++
		}
	}
	switch {
	case unknown == 0:
	case len(s.runs()) == 1:
		warn(PlainWarning, "no modules are known for this run, so addresses have no names")
	default:
		warn(PlainWarning, "no modules are known for %d of the %d runs, so their addresses have no names", unknown, len(s.runs()))
	}
	return append(list, s.symbolWarnings()...)
}

// symbolWarnings names the modules that rows lie in and whose names are
// missing or not to be relied on.
func (s *Session) symbolWarnings() []Warning {
	words := []struct {
		status    symbols.Status
		onRequest bool
		what      message.Text
	}{
		{symbols.Mismatched, true, message.Textf("names are those of another build, because that was asked for; each is marked and may be wrong")},
		{symbols.Mismatched, false, message.Textf("only symbols of another build were found, which give no names")},
		{symbols.Unverified, false, message.Textf("nothing was recorded to check the symbols by, so names are wrong if they are of another build")},
		{symbols.ExportsOnly, false, message.Textf("no symbols of its own functions were found, only exported names")},
		{symbols.StartsOnly, false, message.Textf("no symbols were found, only where functions start: names are made of addresses")},
		{symbols.NotFound, false, message.Textf("no symbols were found")},
	}
	modules := s.Modules()
	var list []Warning
	for _, w := range words {
		var names []string
		for _, m := range modules {
			if m.Status == w.status && m.OnRequest == w.onRequest && m.Records > 0 {
				names = append(names, m.Name)
			}
		}
		kind := PlainWarning
		switch {
		case w.status == symbols.ExportsOnly || w.status == symbols.StartsOnly:
			kind = ExportsOnly
		case w.status == symbols.Mismatched:
			kind = Rebuilt
		}
		switch {
		case len(names) > 3:
			list = append(list, Warning{kind, message.Textf("%s, %d more: %s", strings.Join(names[:3], ", "), len(names)-3, w.what)})
		case len(names) > 0:
			list = append(list, Warning{kind, message.Textf("%s: %s", strings.Join(names, ", "), w.what)})
		}
	}
	return list
}

// MissingSymbolPaths returns the elements of the symbol search path that name
// a folder or file that is not there.
func (s *Session) MissingSymbolPaths() []string { return MissingSymbols(s.Inputs().Symbols) }

// MissingSymbols returns the elements of a symbol search path that name a folder
// or file that is not there.
func MissingSymbols(symbols []string) []string { return store.Missing(symbols) }
