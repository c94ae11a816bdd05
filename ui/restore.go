package ui

import (
	"errors"
	"io/fs"
	"slices"
	"sync"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/logstate"
	"logparser/ui/timeline"
)

// A memory keeps the state of the log that is shown.
type memory struct {
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
// opened.
func (w *Window) recall(log string) {
	w.memory.identity, w.memory.restored, w.memory.row = "", nil, 0
	w.marks, w.highlights, w.trail, w.want, w.setAside = nil, nil, trail{}, -1, app.Selection{}
	w.views.timeline.Arrange(nil)
	if log == "" || !w.memory.enabled() {
		w.showBookmarks()
		return
	}
	all := w.ctl.All()
	go func() {
		identity, err := logstate.Identity(log)
		var st logstate.State
		if err == nil {
			st, err = w.memory.store.Load(identity)
			st.Bookmarks = stillThere(st.Bookmarks, all)
		}
		w.post(func() {
			if w.shown != log || identity == "" {
				return
			}
			w.memory.identity = identity
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				w.trace("state " + err.Error())
			}
			w.restore(&st, err == nil)
		})
	}()
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
func (w *Window) restore(st *logstate.State, found bool) {
	// Bookmarks may have been set in the meantime.
	for _, m := range w.marks {
		st.Bookmarks = slices.DeleteFunc(st.Bookmarks, func(b logstate.Bookmark) bool { return b.Row == m.Row })
	}
	w.marks = append(st.Bookmarks, w.marks...)
	slices.SortFunc(w.marks, func(a, b logstate.Bookmark) int { return int(min(max(a.Row-b.Row, -1), 1)) })
	for _, h := range st.Highlights {
		w.addHighlight(h)
	}
	w.showBookmarks()
	w.memory.last = w.state()
	if !found {
		return
	}
	if w.grid.Current() < 0 && st.Row > 0 && st.Row < w.ctl.State().Rows.Len() {
		w.reveal(st.Row)
	}
	w.views.show(st.Tab)
	lanes := make([]timeline.Arrangement, len(st.Lanes))
	for i, l := range st.Lanes {
		lanes[i] = timeline.Arrangement(l)
	}
	w.views.timeline.Arrange(lanes)
	w.memory.restored = st
	w.memory.last = w.state()
	w.restoreSelection()
	w.trace("restored")
}

// restoreSelection hides what was hidden, once the names are there.
func (w *Window) restoreSelection() {
	s, st := w.ctl.State(), w.memory.restored
	if st == nil || !s.Loaded {
		return
	}
	w.memory.restored = nil
	sel := app.Selection{Where: st.Where, Folded: st.Folded, Repeats: st.Repeats}
	if s.Filtered || s.Pending != nil || sameSelection(sel, app.Selection{}) {
		return
	}
	w.want = w.currentRow()
	w.ctl.Select(sel)
}

// state is what is to be kept of the log that is shown.
func (w *Window) state() logstate.State {
	s := w.ctl.State()
	sel := w.ctl.Wanted()
	if r := w.memory.restored; r != nil {
		// It has not been shown yet.
		sel = app.Selection{Where: r.Where, Folded: r.Folded, Repeats: r.Repeats}
	}
	st := logstate.State{Log: s.Found.Log, Where: sel.Where, Repeats: sel.Repeats,
		Row: max(w.currentRow(), 0), Bookmarks: slices.Clone(w.marks)}
	w.noteViews(&st)
	if len(sel.Folded) <= logstate.MaxFolded {
		st.Folded = slices.Clone(sel.Folded)
	}
	for _, h := range w.highlights {
		st.Highlights = append(st.Highlights, h.Highlight)
	}
	return st
}

// noteViews puts into a state how the views are arranged.
func (w *Window) noteViews(st *logstate.State) {
	st.Tab, st.Lanes = "", nil
	if name := w.views.shown(); name != viewTable {
		st.Tab = name
	}
	for _, a := range w.views.timeline.Arrangement() {
		st.Lanes = append(st.Lanes, logstate.Lane(a))
	}
}

// keep writes the state of the log in the background. The last state of a log
// is the one that stays.
func (w *Window) keep() {
	m := &w.memory
	if m.identity == "" || !w.ctl.State().Opened || !m.enabled() {
		return
	}
	m.last = w.state()
	m.put(w.trace)
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
func (w *Window) keepNow() {
	w.keep()
	w.memory.write(w.trace)
}

// reopen opens the log that was shown when the window was closed last, if the
// user wants that.
func (w *Window) reopen() {
	if log := w.pref.lastLog(); log != "" && w.pref.reopen() {
		w.openRecent(log)
	}
}

// matchesChanged shows the count of matches and where they are.
func (w *Window) matchesChanged(m control.Matches) {
	w.bar.showMatches(m)
	w.grid.SetMarks(m.Buckets)
}
