package ui

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/logstate"
	"logparser/ui/timeline"
)

// A memory keeps the state of the log that is shown.
type memory struct {
	w     *workspace
	store logstate.Store
	// identity is that of the log, "" while it is not known: nothing is kept
	// then.
	identity string
	// restored is what is still to be shown of a state: it waits for names.
	restored *logstate.State

	// last is the state as it was composed last, row the current row since.
	last logstate.State
	row  int64

	writing sync.Mutex // held by whoever writes
	mu      sync.Mutex
	pending map[string]logstate.State // what is to be written, by identity
}

// enabled reports whether states are kept at all.
func (m *memory) enabled() bool { return m.store.Dir != "" }

// recall looks, in the background, for the state of the log that has been
// opened, and of others together with it.
func (m *memory) recall(log string, others ...string) {
	m.identity, m.restored, m.row = "", nil, 0
	m.w.bookmarks.list = nil
	m.w.filters.highlights, m.w.filters.setAside = nil, app.Selection{}
	m.w.nav.history, m.w.nav.want = history{}, -1
	m.w.views.timeline.Arrange(nil)
	m.w.views.timeline.SetOrder(nil)
	if log == "" || !m.enabled() {
		m.w.bookmarks.show()
		return
	}
	all := m.w.ctl.Calls.All()
	go func() {
		identity, err := logstate.Identity(log, others...)
		var st logstate.State
		if err == nil {
			st, err = m.store.Load(identity)
			st.Bookmarks = stillThere(st.Bookmarks, all)
		}
		m.w.post(func() {
			if m.w.table.log != log || identity == "" {
				return
			}
			m.identity = identity
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				m.w.trace("state " + err.Error())
			}
			m.restore(&st, err == nil)
		})
	}()
}

// knownColumns returns what the user said of the columns of a log's modules file
// when it was open before. It may be called on any goroutine.
func (m *memory) knownColumns(in app.Inputs) string {
	if in.Log == "" || !m.enabled() {
		return ""
	}
	identity, err := logstate.Identity(in.Log)
	if err != nil {
		return ""
	}
	st, err := m.store.Load(identity)
	if err != nil || in.Modules != "" && filepath.Base(in.Modules) != st.ModulesFile {
		return ""
	}
	return st.ModulesColumns
}

// stillThere returns the bookmarks whose rows are what they were.
func stillThere(list []logstate.Bookmark, all rows.Source) []logstate.Bookmark {
	if all == nil {
		return nil
	}
	return slices.DeleteFunc(list, func(b logstate.Bookmark) bool {
		var r [1]rows.Row
		n, _ := all.Read(r[:], b.Row)
		return n == 0 || r[0].Address != b.Address
	})
}

// restore shows a state as far as that can be done without names.
func (m *memory) restore(st *logstate.State, found bool) {
	// Bookmarks may have been set in the meantime.
	list := m.w.bookmarks.list
	for _, set := range list {
		st.Bookmarks = slices.DeleteFunc(st.Bookmarks, func(b logstate.Bookmark) bool { return b.Row == set.Row })
	}
	m.w.bookmarks.list = append(st.Bookmarks, list...)
	slices.SortFunc(m.w.bookmarks.list, func(a, b logstate.Bookmark) int { return int(min(max(a.Row-b.Row, -1), 1)) })
	for _, h := range st.Highlights {
		m.w.filters.addHighlight(h)
	}
	m.w.bookmarks.show()
	m.last = m.state()
	if !found {
		return
	}
	if m.w.table.grid.Current() < 0 && st.Row > 0 && st.Row < m.w.ctl.State().Rows.Len() {
		m.w.nav.reveal(st.Row)
	}
	m.w.views.show(st.Tab)
	lanes := make([]timeline.Arrangement, len(st.Lanes))
	for i, l := range st.Lanes {
		lanes[i] = timeline.Arrangement(l)
	}
	m.w.views.timeline.Arrange(lanes)
	if len(st.LaneOrder) > 0 {
		m.w.views.timeline.SetOrder(st.LaneOrder)
	}
	m.restored = st
	m.last = m.state()
	m.restoreSelection()
	m.w.trace("restored")
}

// restoreSelection hides what was hidden, once the names are there.
func (m *memory) restoreSelection() {
	s, st := m.w.ctl.State(), m.restored
	if st == nil || !s.Loaded {
		return
	}
	m.restored = nil
	sel := app.Selection{Where: st.Where, Folded: st.Folded, Repeats: st.Repeats}
	if s.Filtered || s.Pending != nil || sameSelection(sel, app.Selection{}) {
		return
	}
	m.w.nav.want = m.w.table.currentRow()
	m.w.ctl.Filter.Select(sel)
}

// state is what is to be kept of the log that is shown.
func (m *memory) state() logstate.State {
	s := m.w.ctl.State()
	sel := m.w.ctl.Filter.Wanted()
	if r := m.restored; r != nil {
		// It has not been shown yet.
		sel = app.Selection{Where: r.Where, Folded: r.Folded, Repeats: r.Repeats}
	}
	st := logstate.State{Log: s.Found.Log, Where: sel.Where, Repeats: sel.Repeats,
		Row: max(m.w.table.currentRow(), 0), Bookmarks: slices.Clone(m.w.bookmarks.list)}
	if columns := s.Wanted.ModulesColumns; columns != "" {
		st.ModulesFile, st.ModulesColumns = filepath.Base(s.Found.Modules), columns
	}
	m.noteViews(&st)
	if len(sel.Folded) <= logstate.MaxFolded {
		st.Folded = slices.Clone(sel.Folded)
	}
	for _, h := range m.w.filters.highlights {
		st.Highlights = append(st.Highlights, h.Highlight)
	}
	return st
}

// noteViews puts into a state how the views are arranged.
func (m *memory) noteViews(st *logstate.State) {
	st.Tab, st.Lanes, st.LaneOrder = "", nil, slices.Clone(m.w.views.timeline.Order())
	if name := m.w.views.shown(); name != viewTable {
		st.Tab = name
	}
	for _, a := range m.w.views.timeline.Arrangement() {
		st.Lanes = append(st.Lanes, logstate.Lane(a))
	}
}

// keep writes the state of the log in the background. The last state of a log
// is the one that stays.
func (m *memory) keep() {
	if m.identity == "" || !m.w.ctl.State().Opened || !m.enabled() {
		return
	}
	m.last = m.state()
	m.put(m.w.trace)
}

// put writes the last state in the background.
func (m *memory) put(trace func(string)) {
	m.mu.Lock()
	if m.pending == nil {
		m.pending = make(map[string]logstate.State)
	}
	m.pending[m.identity] = m.last
	m.mu.Unlock()
	go m.write(trace)
}

// write writes what is to be written, if another has not done so.
func (m *memory) write(trace func(string)) {
	m.writing.Lock()
	defer m.writing.Unlock()
	m.mu.Lock()
	pending := m.pending
	m.pending = nil
	m.mu.Unlock()
	for identity, st := range pending {
		if err := m.store.Save(identity, st); err != nil {
			trace("state " + err.Error())
			continue
		}
		trace("kept")
	}
}

// leave keeps where the user was in the log that was shown until now. The
// controller has another one, or none, already.
func (m *memory) leave(trace func(string)) {
	if m.identity == "" || !m.enabled() {
		return
	}
	m.last.Row = m.row
	m.put(trace)
	m.identity = ""
}

// keepNow writes the state before the window closes.
func (m *memory) keepNow() {
	m.keep()
	m.write(m.w.trace)
}
