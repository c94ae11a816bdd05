package filter

import (
	"strconv"
	"strings"

	"logparser/rows"
)

// An Env is what a row's terms need besides the row.
type Env interface {
	// ThreadName returns the name of a row's thread, "" for none.
	ThreadName(r *rows.Row) string
	// Self returns the time in nanoseconds that the call which a row enters or
	// leaves did not spend in calls that it made.
	Self(row int64) (ns int64, ok bool)
	// Enter returns the row of the enter of the call that a row enters or
	// leaves, or the row itself if there is none in the log.
	Enter(row int64) int64
	// Calls returns the calls that a row lies in, with the one that it enters
	// or leaves, by the rows of their enters. Calls whose enter is missing from
	// the log are not among them, and strays lie in none.
	Calls(row int64) []rows.Row
}

// Matches reports whether a row is wanted. It is the definition of the language
// and takes its time: the rows of an index are found otherwise.
//
// Damaged records have no thread and lie in no call, because their thread may be
// the damage.
func (e *Expr) Matches(r *rows.Row, env Env) bool {
	switch e.Kind {
	case And:
		for _, a := range e.Args {
			if !a.Matches(r, env) {
				return false
			}
		}
	case Or:
		for _, a := range e.Args {
			if a.Matches(r, env) {
				return true
			}
		}
		return false
	case Not:
		return !e.Args[0].Matches(r, env)
	case Leaf:
		return e.Term.matches(r, env)
	}
	return true
}

func (t *Term) matches(r *rows.Row, env Env) bool {
	switch t.Column {
	case Text, Func, Module, Source, Line, Address, Symbols, Mark, Event, Row:
		return t.MatchPlace(r)
	case Thread:
		return r.Event != rows.Unknown && t.MatchThread(r.Thread, env.ThreadName(r))
	case Process:
		return r.Event != rows.Unknown && t.MatchProcess(r.Process)
	case ThreadName:
		return r.Event != rows.Unknown && t.MatchFilled(r)
	case Duration:
		return r.Duration != rows.NoDuration && t.Range.Has(r.Duration)
	case Self:
		if r.Filled&rows.SelfTimes != 0 {
			return t.MatchFilled(r)
		}
		ns, ok := env.Self(r.Index)
		return ok && t.Range.Has(ns)
	case Depth:
		return t.Range.Has(int64(r.Depth))
	case Time:
		return t.Range.HasTime(r.Elapsed, r.Wall, r.HasWall)
	case In, Call:
	default:
		return t.MatchFilled(r)
	}
	if r.Event == rows.Unknown {
		return false
	}
	enter := int64(-1)
	if t.Column == Call {
		enter = env.Enter(t.Range.Low)
	}
	for _, call := range env.Calls(r.Index) {
		if t.Column == In && t.MatchFunction(call.Function) || t.Column == Call && call.Index == enter {
			return true
		}
	}
	return false
}

// MatchThread reports whether a thread fits a term of the column [Thread].
func (t *Term) MatchThread(id uint32, name string) bool {
	if t.Op == Between {
		return t.Range.Has(int64(id))
	}
	return name != "" && t.MatchText(name)
}

// MatchFunction reports whether a function fits a term that is about one. The name as a whole is also that of overloads, which
// are shown with their parameters.
//
// A text that ends in :: is a scope: a function's parameters and template arguments are none of its name's.
func (t *Term) MatchFunction(name string) bool {
	if t.Op == Contains && strings.HasSuffix(t.Value, "::") {
		return rows.InScope(name, t.Value)
	}
	return t.MatchText(name) || t.Op == Equals && t.MatchText(rows.PlainFunction(name))
}

// MatchProcess reports whether a process, nil for the only one, fits a term of the column
// [Process]. A number is its id, and never part of one.
func (t *Term) MatchProcess(p *rows.Process) bool {
	if p == nil {
		return false
	}
	id := strconv.FormatUint(uint64(p.ID), 10)
	if t.Op == Contains && strings.Trim(t.Value, "0123456789") == "" {
		return t.Value == id
	}
	return t.MatchText(p.Label) || t.Op == Equals && (t.MatchText(p.Name) || t.MatchText(id))
}

// MatchPlace reports whether a row fits a term of a column whose value depends
// on nothing but the row's address, thread id, event, note and number: Text,
// Func, Module, Source, Line, Address, Symbols, Mark, Event and Row.
func (t *Term) MatchPlace(r *rows.Row) bool {
	switch t.Column {
	case Text:
		return t.matchAny(r)
	case Func:
		return t.MatchFunction(r.Function)
	case Module:
		return t.MatchText(r.Module)
	case Source:
		return t.MatchText(r.Source)
	case Line:
		return r.Line != 0 && t.Range.Has(int64(r.Line))
	case Address:
		return t.MatchFilled(r)
	case Symbols:
		return t.MatchText(r.Symbols)
	case Mark:
		return t.MatchText(r.Note)
	case Event:
		return t.MatchText(r.Event.String())
	case Row:
		return t.Range.Has(r.Index)
	}
	return false
}

// MatchFilled reports whether a row, with what its column needs filled in, fits a term
// of any other column of rows.
func (t *Term) MatchFilled(r *rows.Row) bool {
	if t.Column.IsValue() {
		return t.matchValue(r)
	}
	entry := t.Column.Entry()
	if entry.Kind == rows.Text {
		return t.MatchText(entry.Text(r))
	}
	v, ok := entry.Int(r)
	switch {
	case !ok:
		return false
	case entry.Kind != rows.Address:
		return t.Range.Has(v)
	case t.Op == Between:
		return t.Range.HasAddress(uint64(v))
	}
	var buf [20]byte
	return t.MatchText(string(rows.AppendAddress(buf[:0], uint64(v))))
}

// matchAny looks into the columns that [rows.Matcher] looks into.
func (t *Term) matchAny(r *rows.Row) bool {
	if t.Op == Contains {
		return t.matcher.Matches(r)
	}
	if t.MatchText(r.Function) || t.MatchText(r.Module) || t.MatchText(r.Source) || t.MatchText(r.Note) {
		return true
	}
	var buf [20]byte
	return t.MatchText(strconv.FormatUint(uint64(r.Thread), 10)) ||
		t.MatchText(string(rows.AppendAddress(buf[:0], r.Address)))
}
