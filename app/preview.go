package app

import (
	"context"
	"io"
	"math"
	"os"

	"logparser/calls"
	"logparser/parser"
	"logparser/rows"
)

// The first rows of a large log that was never opened before, which are there long before
// the log is: opening it means to go through all of it.

const (
	// previewRecords is about how many records are looked at for first rows.
	previewRecords = 1 << 14
	// previewEdge is how many rows of a log without exact ends are left out at the end of
	// these, so that whatever could be judged by the records behind them is not shown.
	previewEdge = 1 << 12
)

// leastPreviewed is the least size in bytes of a log that is previewed: what is smaller is
// opened at once. A variable for tests.
var leastPreviewed = int64(64 << 20)

// Preview returns a session of the first rows of the inputs' log, nil where opening the log
// takes no longer, or its first rows cannot be known before. Its rows are those of the log,
// except that of a call that ends behind them all the end may not be known ([rows.Row.Pending]),
// and names are only there after Load. What is left of a classic log may contradict them all the same:
// see [Session.BeginsWith]. Nothing else that it says is said of the whole log.
func Preview(ctx context.Context, in Inputs) (*Session, error) { return logFormats.Preview(ctx, in) }

// Preview is the function Preview for these formats.
func (formats Formats) Preview(ctx context.Context, in Inputs) (*Session, error) {
	log, found, err := FindPair(in.Log)
	if err != nil {
		return nil, err
	}
	if in.Log = log; in.Modules == "" {
		in.Modules = found
	}
	info, err := os.Stat(in.Log)
	if err != nil || info.Size() < leastPreviewed || len(in.Others) > 0 || in.Corrected || in.Run != "" && in.Run != "all" && in.Run != "1" {
		return nil, err
	}
	if note := in.found(); note != nil && note.data != nil {
		return nil, nil
	}
	head, size, err := readHead(in.Log)
	if err != nil {
		return nil, err
	}
	format := formats.of(head, size)
	if format.OpenHead == nil || IsDump(head) {
		return nil, nil
	}
	opt, err := in.options(&format)
	if err != nil {
		return nil, err
	}
	opened, err := format.OpenHead(ctx, in.Log, opt, previewRecords)
	if opened == nil || err != nil {
		return nil, err
	}
	in.Run, in.NoIndexCache = "", true
	var wrong *InputError
	if !format.NeedsModulesFile {
		in.Modules = ""
	} else if in.Modules == "" {
		wrong = besideTrouble(in.Log)
	}
	s := &Session{log: opened, can: opened.Capabilities(), ownModules: !format.NeedsModulesFile, beside: wrong, in: in, work: make(chan struct{}, 1),
		preview: &preview{size: info.Size()}}
	if err = s.choose(""); err == nil {
		err = s.table.Build(ctx, nil, nil)
	}
	if err == nil {
		err = s.findEnds(ctx)
	}
	if err != nil || s.preview.rows == 0 {
		s.Close()
		return nil, err
	}
	return s, nil
}

// A preview is what the session of a log's beginning knows besides the index of that.
type preview struct {
	// ends are the times of the leaves of calls that are open behind the last row, by the
	// rows of their enters; those of which it is not known have math.MinInt64.
	ends map[int64]int64
	// rows is how many rows are shown, and certain how many come before the first that is
	// not known wholly. written is how many WriteFirst has written.
	rows, certain, written int64
	// size is that of the whole log, in bytes.
	size int64
}

// findEnds finds how the calls end that are open at the end of the beginning of a log.
func (s *Session) findEnds(ctx context.Context) error {
	p := s.preview
	p.ends = make(map[int64]int64)
	p.rows = s.table.Total()
	if s.can.CallEnder == nil {
		p.rows = max(0, p.rows-previewEdge)
	}
	p.certain = p.rows
	var records []int64
	for _, o := range s.table.OpenCalls(nil).List {
		if o.Enter < p.rows {
			p.ends[o.Enter] = math.MinInt64
			_, record := s.table.Position(o.Enter)
			records = append(records, record)
		}
	}
	if s.can.CallEnder != nil {
		ends, err := s.can.CallEnder.CallEnds(ctx, records)
		if err != nil {
			return err
		}
		for _, record := range records {
			if at, ok := ends[record]; ok {
				p.ends[record-s.runs()[0].First] = at
			}
		}
	}
	for row, at := range p.ends {
		if at == math.MinInt64 {
			p.certain = min(p.certain, row)
		}
	}
	return nil
}

// complete gives records of the rows from first on the ends of their calls.
func (p *preview) complete(records []calls.Record, events []parser.Event, first int64) {
	for k := range records {
		at, open := p.ends[first+int64(k)]
		if !open {
			continue
		}
		r := &records[k]
		r.Partner, r.Duration, r.Anomaly = calls.NoPartner, calls.NoDuration, calls.None
		if at != math.MinInt64 {
			// Which row it is only the whole log tells.
			r.Partner, r.Duration = math.MaxInt64, calls.Elapsed(events[k].Time, at)
		}
	}
}

// mark marks the rows of calls of which it is not known how they end.
func (p *preview) mark(list []rows.Row) {
	for i := range list {
		if at, open := p.ends[list[i].Index]; open && at == math.MinInt64 {
			list[i].Pending = true
		}
	}
}

// Certain returns how many first rows of a preview are just as the whole log has them, once
// names are known.
func (s *Session) Certain() int64 { return s.preview.certain }

// WriteFirst writes rows of a preview in a format of [LiveFormats], with a head that says what is known of the log, and
// returns how many: the certain ones of a trace. Of a classic log, which has none before it is indexed, it writes as text
// what there is, with … for the durations that are not known, and nothing in formats for programs.
func (s *Session) WriteFirst(ctx context.Context, w io.Writer, format string) (int64, error) {
	p := s.preview
	n := p.certain
	if !s.ownModules {
		if n = p.rows; format != "txt" {
			n = 0
		}
	}
	if n == 0 {
		return 0, nil
	}
	opt := SaveOptions{}
	f, err := s.prepare(ctx, format, &opt, nil)
	if err != nil {
		return 0, err
	}
	p.written = n
	opt.Header.Counting = true
	return n, f.Write(ctx, w, &certainRows{s.rows, n}, opt)
}

// BeginsWith reports whether the rows that a preview has written are the session's first rows, but for what
// was said not to be known. Those of a trace always are.
func (s *Session) BeginsWith(first *Session) (bool, error) {
	p := first.preview
	if first.ownModules {
		return true, nil
	}
	if s.rows.Len() < p.written {
		return false, nil
	}
	got, want := make([]rows.Row, blockRows), make([]rows.Row, blockRows)
	for from := int64(0); from < p.written; from += blockRows {
		n := min(p.written-from, blockRows)
		if _, err := first.rows.Read(got[:n], from); err != nil {
			return false, err
		}
		if _, err := s.rows.Read(want[:n], from); err != nil {
			return false, err
		}
		for i := range n {
			g, w := &got[i], &want[i]
			g.Place, w.Place = nil, nil
			if g.Pending {
				g.Duration, g.Note, g.Bound, g.Unclosed, g.Pending = w.Duration, w.Note, w.Bound, w.Unclosed, w.Pending
			}
			if *g != *w {
				return false, nil
			}
		}
	}
	return true, nil
}

// certainRows are the first rows of a source.
type certainRows struct {
	*source
	n int64
}

func (f *certainRows) Len() int64 { return f.n }

// mostRows returns how many rows the log of a trace of its size may have, 0 for a small one: text
// tables of large ones are begun before they are counted. So are those of a large classic log, as long as it is previewed.
func (s *Session) mostRows() int64 {
	size := s.Info().Size
	if s.preview != nil && !s.ownModules {
		return s.preview.size / int64(s.Info().RecordSize)
	}
	if !s.ownModules || len(s.in.Others) > 0 || size < leastPreviewed {
		return 0
	}
	return size / leastEvent
}
