package control

import (
	"context"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
)

// A Query is what is searched for.
type Query struct {
	Text string
	// Regexp takes the text as a regular expression, Case tells upper from
	// lower case.
	Regexp, Case bool
}

// A Search is the outcome of the last search.
type Search struct {
	Text string
	// Row is the place in the shown rows, -1 if there is none.
	Row int64
	// Wrapped says that the search went on from the other end.
	Wrapped bool
}

// Matches are the rows that a query finds in what is shown, as far as they are
// counted.
type Matches struct {
	Query Query
	// Count is their number, Done says that all rows were looked at. Number is
	// which of them the last search has found, from 1 on; 0 if that is not
	// known.
	Count, Number int64
	Done          bool
	// Buckets has their number in each of equal parts of the shown rows.
	Buckets []uint32
	// Places are where some of them lie in time, by row: all, or evenly chosen ones where there are
	// more than MaxPlaces. They come last.
	Places []Place
	// Err says why the query cannot be used.
	Err error
}

// A Place is where a match lies in time.
type Place struct {
	Track        rows.Track
	Row, Elapsed int64
}

// MaxPlaces bounds the places of matches.
const MaxPlaces = 4096

// placeOf is the place of a row.
func placeOf(r *rows.Row) Place { return Place{r.Track(), r.Index, r.Elapsed} }

// everySecond leaves the first of each two places.
func everySecond(list []Place) []Place {
	for i := 0; i < len(list); i += 2 {
		list[i/2] = list[i]
	}
	return list[:(len(list)+1)/2]
}

// markBuckets is the number of parts that matches are counted in: more than
// the pixels of a scroll bar.
const markBuckets = 1024

// compile returns what decides whether a row matches. It may be used by one
// goroutine.
func (q Query) compile() (func(*rows.Row) bool, error) {
	if !q.Regexp && !q.Case {
		return rows.NewMatcher(q.Text).Matches, nil
	}
	re, err := regexp.Compile(q.pattern())
	if err != nil {
		return nil, err
	}
	// Rows share their strings: few are distinct.
	known := make(map[string]bool)
	text := func(s string) bool {
		if s == "" {
			return false
		}
		m, ok := known[s]
		if !ok {
			if len(known) > 1<<20 {
				clear(known)
			}
			m = re.MatchString(s)
			known[s] = m
		}
		return m
	}
	var buffer []byte
	return func(r *rows.Row) bool {
		if text(r.Function) || text(r.Module) || text(r.Source) || text(r.Note) {
			return true
		}
		buffer = strconv.AppendUint(buffer[:0], uint64(r.Thread), 10)
		if re.Match(buffer) {
			return true
		}
		buffer = rows.AppendAddress(buffer[:0], r.Address)
		return re.Match(buffer)
	}, nil
}

// where returns the term of a filter that wants the rows that match.
func (q Query) where() (*filter.Expr, error) {
	if !q.Regexp && !q.Case {
		return filter.Is(filter.Text, q.Text), nil
	}
	return filter.Parse(filter.Text.String() + ":~" + quoted(q.pattern()))
}

// pattern is the query as a regular expression.
func (q Query) pattern() string {
	pattern := q.Text
	if !q.Regexp {
		pattern = regexp.QuoteMeta(pattern)
	}
	if !q.Case {
		pattern = "(?i)" + pattern
	}
	return pattern
}

// quoted writes a text as filter expressions have it.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// Marker returns what finds the query in a text: the first place of it, -1
// where it is not.
func (q Query) Marker() func(text []byte) (start, end int) {
	if q.Text == "" {
		return nil
	}
	re, err := regexp.Compile(q.pattern())
	if err != nil {
		return nil
	}
	return func(text []byte) (int, int) {
		if at := re.FindIndex(text); at != nil {
			return at[0], at[1]
		}
		return -1, -1
	}
}

const searchBlock = rows.BlockLen

// search returns the first row from a position on, or back, that matches, or -1.
func search(ctx context.Context, src rows.Source, from int64, q Query, backward bool, p app.Progress) (int64, error) {
	if !q.Regexp && !q.Case {
		plain := app.Query{Text: q.Text, Backward: backward}
		if v, ok := src.(*app.View); ok {
			return v.Search(ctx, from, plain)
		}
		return app.Search(ctx, src, from, plain, p)
	}
	match, err := q.compile()
	if err != nil {
		return -1, err
	}
	total := src.Len()
	buffer := make([]rows.Row, searchBlock)
	for from >= 0 && from < total {
		first, n := from, min(searchBlock, total-from)
		if backward {
			first = max(from-searchBlock+1, 0)
			n = from - first + 1
		}
		got, err := readSome(ctx, src, buffer[:n], first)
		if err != nil {
			return -1, err
		}
		for k := range got {
			i := k
			if backward {
				i = got - 1 - k
			}
			if match(&buffer[i]) {
				return first + int64(i), nil
			}
		}
		if backward {
			from = first - 1
			p(app.StageSearch, total-from, total)
		} else {
			if got == 0 {
				break
			}
			from += int64(got)
			p(app.StageSearch, from, total)
		}
	}
	return -1, nil
}

func readSome(ctx context.Context, src rows.Source, dst []rows.Row, from int64) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, err := src.Read(dst, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Finding looks for a text in the rows, and counts where it is.
type Finding struct {
	c        *Controller
	matching *app.View   // the matches of what is counted, nil until they are known
	counted  rows.Source // what matches are counted in
}

// Find searches the shown rows, from a row on or back, and once round.
func (f *Finding) Find(q Query, from int64, backward bool) {
	c := f.c
	src := c.state.Rows
	if src == nil || q.Text == "" {
		return
	}
	f.Count(q)
	if c.state.Matches.Err != nil {
		return
	}
	matching, shown := f.matching, c.state.View
	if f.counted != src || !c.state.Matches.Done {
		matching = nil
	}
	c.run(&c.searching, lang.L("Searching"), func(ctx context.Context, p app.Progress) func(bool) {
		row, err := int64(-1), error(nil)
		wrapped := false
		if matching != nil {
			row, wrapped = nextMatch(matching, shown, src.Len(), from, backward)
		} else if from >= 0 && from < src.Len() {
			row, err = search(ctx, src, from, q, backward, p)
		}
		if row < 0 && err == nil && matching == nil {
			wrapped = true
			var start int64
			if backward {
				start = src.Len() - 1
			}
			row, err = search(ctx, src, start, q, backward, p)
		}
		return func(current bool) {
			if !current || errors.Is(err, context.Canceled) {
				return
			}
			if err != nil {
				c.say(&Message{Level: LevelBad, Text: lang.L("The search failed: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
				return
			}
			c.state.Search = Search{Text: q.Text, Row: row, Wrapped: wrapped && row >= 0}
			c.state.Matches.Number = 0
			c.changed(ChangeFound)
			c.trace("found " + decimal(row))
			f.number()
		}
	})
}

// nextMatch finds the match after a position, or before it, among all matches.
// shown is what the positions are of, nil for all rows.
func nextMatch(matching, shown *app.View, rows, from int64, backward bool) (pos int64, wrapped bool) {
	n := matching.Len()
	if n == 0 {
		return -1, false
	}
	at := int64(-1) // the match at from or before it
	exact := false
	switch {
	case from >= rows:
		at = n - 1
	case from >= 0:
		row := from
		if shown != nil {
			row = shown.RowOf(from)
		}
		at, exact = matching.PositionOf(row)
	}
	if !backward && !exact {
		at++
	}
	switch {
	case at < 0:
		at, wrapped = n-1, true
	case at >= n:
		at, wrapped = 0, true
	}
	row := matching.RowOf(at)
	if shown == nil {
		return row, wrapped
	}
	pos, _ = shown.PositionOf(row)
	return pos, wrapped
}

// Count counts the rows that match a query, in the background; an empty one
// ends that. What is counted already is not counted again.
func (f *Finding) Count(q Query) {
	c := f.c
	src := c.state.Rows
	if src == nil || q.Text == "" {
		end(&c.counting)
		f.counted, f.matching = nil, nil
		if c.state.Matches.Query.Text != "" {
			c.state.Matches = Matches{}
			c.changed(ChangeMatches)
		}
		return
	}
	if f.counted == src && c.state.Matches.Query == q && (c.counting != nil || c.state.Matches.Done) {
		return
	}
	c.state.Matches = Matches{Query: q}
	match, err := q.compile()
	if err != nil {
		end(&c.counting)
		c.state.Matches.Err = err
		c.changed(ChangeMatches)
		return
	}
	f.counted, f.matching = src, nil
	c.changed(ChangeMatches)
	s, shown, sel := c.session, c.state.View, c.state.Selection
	c.run(&c.counting, lang.L("Counting matches"), func(ctx context.Context, p app.Progress) func(bool) {
		m := Matches{Query: q, Buckets: make([]uint32, markBuckets)}
		tell := func() {
			copied := m
			copied.Buckets = append([]uint32(nil), m.Buckets...)
			copied.Places = slices.Clone(m.Places)
			c.post(func() {
				if f.counted == src && c.state.Matches.Query == q {
					copied.Number = c.state.Matches.Number
					c.state.Matches = copied
					c.changed(ChangeMatches)
				}
			})
		}
		var matching *app.View
		var err error
		if sel.Repeats {
			// Which rows stand for their repeats depends on all rows that are
			// shown, so that they have to be looked at.
			err = countMatches(ctx, src, match, &m, p, tell)
		} else {
			matching, err = countByFilter(ctx, s, shown, sel, &m, p, tell)
		}
		return func(current bool) {
			if current && err == nil && f.counted == src && c.state.Matches.Query == q {
				f.matching = matching
			}
			if current && err != nil && !errors.Is(err, context.Canceled) {
				c.say(&Message{Level: LevelBad, Text: lang.L("The search failed: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
			}
			if current && err == nil && f.counted == src && c.state.Matches.Query == q {
				c.trace("matches " + decimal(c.state.Matches.Count))
				f.number()
			}
		}
	})
}

// countByFilter counts matches as the rows of a filter, and returns them.
func countByFilter(ctx context.Context, s *app.Session, shown *app.View, sel app.Selection, m *Matches, p app.Progress, tell func()) (*app.View, error) {
	e, err := filter.Parse(sel.Where)
	if err != nil {
		return nil, err
	}
	term, err := m.Query.where()
	if err != nil {
		return nil, err
	}
	told := time.Now()
	looked := make(chan struct{}, 1)
	sel.Where = filter.Join([]*filter.Expr{e, term}).String()
	v, err := s.View(ctx, sel, func(_ app.Stage, done, total int64) {
		p(app.StageSearch, done, total)
		select {
		case looked <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- v.Wait(ctx) }()
	for waiting := true; waiting; {
		select {
		case err = <-ended:
			waiting = false
		case <-looked:
			if now := time.Now(); now.Sub(told) > 2*reportEvery {
				told = now
				m.Count = v.Len()
				tell()
			}
		}
	}
	if err != nil {
		return nil, err
	}
	m.Count = v.Len()
	tell()
	total := s.Rows().Len()
	if shown != nil {
		total = shown.Len()
	}
	if err := fillBuckets(ctx, m, v, shown, total); err != nil {
		return nil, err
	}
	m.Done = true
	tell()
	if m.Places, err = placesOf(ctx, v); err != nil {
		return nil, err
	}
	tell()
	return v, nil
}

// placesOf reads where matches lie.
func placesOf(ctx context.Context, matching *app.View) ([]Place, error) {
	n := matching.Len()
	list := make([]Place, 0, min(n, MaxPlaces))
	if n <= MaxPlaces {
		buffer := make([]rows.Row, searchBlock)
		for at := int64(0); at < n; {
			k, err := readSome(ctx, matching, buffer[:min(searchBlock, n-at)], at)
			if err != nil || k == 0 {
				return list, err
			}
			for i := range buffer[:k] {
				list = append(list, placeOf(&buffer[i]))
			}
			at += int64(k)
		}
		return list, nil
	}
	var one [1]rows.Row
	for i := range int64(MaxPlaces) {
		// The quotient before the product: n may be any number.
		k, err := readSome(ctx, matching, one[:], n/MaxPlaces*i+n%MaxPlaces*i/MaxPlaces)
		if err != nil || k == 0 {
			return list, err
		}
		list = append(list, placeOf(&one[0]))
	}
	return list, nil
}

// fillBuckets counts the matches in each part of what is shown.
func fillBuckets(ctx context.Context, m *Matches, matching, shown *app.View, total int64) error {
	size := (total + markBuckets - 1) / markBuckets
	if size == 0 || m.Count == 0 {
		return nil
	}
	before := int64(0)
	for k := range m.Buckets {
		if err := ctx.Err(); err != nil {
			return err
		}
		// upTo counts the matches before the bucket's end.
		upTo := m.Count
		if end := int64(k+1) * size; end < total {
			row := end - 1
			if shown != nil {
				row = shown.RowOf(row)
			}
			at, _ := matching.PositionOf(row)
			upTo = at + 1
		}
		m.Buckets[k] = uint32(upTo - before)
		before = upTo
	}
	return nil
}

// countMatches reads all rows of a source, and tells now and then.
func countMatches(ctx context.Context, src rows.Source, match func(*rows.Row) bool, m *Matches, p app.Progress, tell func()) error {
	total := src.Len()
	buffer := make([]rows.Row, searchBlock)
	told := time.Now()
	every := int64(1) // of how many matches one place is kept
	for at := int64(0); at < total; {
		n, err := readSome(ctx, src, buffer[:min(searchBlock, total-at)], at)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		for i := range buffer[:n] {
			if match(&buffer[i]) {
				if m.Count%every == 0 {
					if len(m.Places) == MaxPlaces {
						m.Places = everySecond(m.Places)
						every *= 2
					}
					if m.Count%every == 0 {
						m.Places = append(m.Places, placeOf(&buffer[i]))
					}
				}
				m.Count++
				m.Buckets[bucketOf(at+int64(i), total)]++
			}
		}
		at += int64(n)
		p(app.StageSearch, at, total)
		if now := time.Now(); now.Sub(told) > 2*reportEvery {
			told = now
			tell()
		}
	}
	m.Done = true
	tell()
	return nil
}

// bucketOf returns the bucket of a position.
func bucketOf(pos, total int64) int64 {
	// The parts are whole numbers of rows, so that their ends are known.
	size := (total + markBuckets - 1) / markBuckets
	return pos / size
}

// number finds out which of the matches the last search has found, in the
// background: by the counts before its bucket, and by looking into that.
func (f *Finding) number() {
	c := f.c
	m, row, src := c.state.Matches, c.state.Search.Row, c.state.Rows
	if !m.Done || src == nil || row < 0 || row >= src.Len() || f.counted != src || m.Query.Text != c.state.Search.Text {
		return
	}
	total := src.Len()
	tell := func(n int64) {
		c.post(func() {
			if c.state.Matches.Query == m.Query && c.state.Search.Row == row && f.counted == src {
				c.state.Matches.Number = n
				c.changed(ChangeMatches)
			}
		})
	}
	if matching, shown := f.matching, c.state.View; matching != nil {
		go func() {
			at := row
			if shown != nil {
				at = shown.RowOf(row)
			}
			at, _ = matching.PositionOf(at)
			tell(at + 1)
		}()
		return
	}
	match, err := m.Query.compile()
	if err != nil {
		return
	}
	go func() {
		size := (total + markBuckets - 1) / markBuckets
		k := row / size
		n := int64(0)
		for _, b := range m.Buckets[:min(k, markBuckets)] {
			n += int64(b)
		}
		buffer := make([]rows.Row, searchBlock)
		for at := k * size; at <= row; {
			got, err := readSome(context.Background(), src, buffer[:min(searchBlock, row+1-at)], at)
			if err != nil || got == 0 {
				return
			}
			for i := range buffer[:got] {
				if match(&buffer[i]) {
					n++
				}
			}
			at += int64(got)
		}
		tell(n)
	}()
}
