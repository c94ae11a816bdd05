package ui

import (
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/inputs"
	"logparser/ui/readahead"
	"logparser/ui/table"
)

// currentRow is the log's row of the current one, -1 for none.
func (w *Window) currentRow() int64 { return w.indexOf(w.grid.Current()) }

// goTo leads to a row of the log, and remembers where from. A row that is
// folded away is unfolded.
func (w *Window) goTo(index int64) {
	if index < 0 || !w.ctl.State().Opened {
		return
	}
	w.trail.jump(w.currentRow(), index)
	w.reveal(index)
}

// reveal shows a row of the log, as soon as it is known where it stands.
func (w *Window) reveal(index int64) {
	v := w.ctl.State().View
	w.want = -1
	if v == nil {
		w.stand(w.ctl.PlaceOf(index))
		return
	}
	done := v.Done() // it may become so before the answer
	at, shown := v.PositionOf(index)
	switch {
	case shown:
		w.stand(at)
	case !done:
		w.want = index
		w.stand(max(at, 0))
	default:
		w.stand(max(at, 0))
		w.unfoldAround(index)
	}
}

// stand makes a shown row the current one, in the middle of the table.
func (w *Window) stand(at int64) {
	if at < 0 {
		return
	}
	w.placing = true
	w.grid.SetCurrent(at)
	w.grid.Centre(at)
	w.placing = false
	if !w.modal() {
		w.focusView()
	}
}

// unfoldAround unfolds the calls that hide a row, or says that it is the filter
// that does.
func (w *Window) unfoldAround(index int64) {
	w.ctl.Stack(index, func(frames []app.Frame, err error) {
		var folded []int64
		for _, f := range frames {
			if f.Enter != index && w.ctl.IsFolded(f.Enter) {
				folded = append(folded, f.Enter)
			}
		}
		if len(folded) > 0 {
			w.want = index
			w.ctl.Unfold(folded...)
			return
		}
		w.hiddenRow = index
		w.ctl.Say(&control.Message{Level: control.LevelWarn,
			Text:  lang.L("Row {{.N}} is hidden; the nearest one before it is shown.", data{"N": control.Thousands(index)}),
			Next:  lang.L("Take the filter away to see it."),
			Offer: control.OfferShowAll})
	})
}

// showAllAt takes all that hides rows away and goes to a row.
func (w *Window) showAllAt(row int64) {
	w.ctl.Dismiss()
	w.want = row
	w.ctl.ShowAll()
}

// findDelay is how long a text to find is to stand before it is counted.
const findDelay = 150 * time.Millisecond

// settle goes to the row that is waited for, if its place is known by now.
func (w *Window) settle() {
	s := w.ctl.State()
	if w.want < 0 || s.View == nil {
		return
	}
	done := s.View.Done() // it may become so before the answer
	if at, shown := s.View.PositionOf(w.want); shown || done {
		w.want = -1
		w.stand(max(at, 0))
	}
}

// goToPartner goes from an enter to its leave, or back.
func (w *Window) goToPartner() {
	if other := w.ctl.Partner(w.currentRow()); other >= 0 {
		w.goTo(other)
	}
}

func (w *Window) goToCaller() {
	if row := w.currentRow(); row >= 0 {
		w.ctl.Caller(row, w.goTo)
	}
}

func (w *Window) goToNextCall(back bool) {
	if row := w.currentRow(); row >= 0 {
		w.ctl.NextCall(row, back, w.goTo)
	}
}

// goBack goes along the trail.
func (w *Window) goBack(forward bool) {
	if row := w.trail.step(w.currentRow(), forward); row >= 0 {
		w.reveal(row)
	}
}

// askPlace asks for a row or a time to go to.
func (w *Window) askPlace() {
	if !w.ctl.State().Opened {
		return
	}
	entry := inputs.NewEntry()
	entry.SetPlaceHolder("123456   12.5s   14:03:22.5")
	entry.Validator = func(text string) error {
		if text == "" {
			return nil
		}
		_, err := table.ParsePlace(text)
		if err != nil {
			return errPlace{}
		}
		return nil
	}
	d := dialog.NewForm(lang.L("Go to a row or a time"), lang.L("Go"), lang.L("Cancel"),
		[]*widget.FormItem{{Text: lang.L("Row or time"), Widget: entry,
			HintText: lang.L("A number is a row; 12.5s is the time since the first row, 14:03:22.5 the time of day")}},
		func(ok bool) {
			switch p, err := table.ParsePlace(entry.Text); {
			case !ok || strings.TrimSpace(entry.Text) == "":
			case err != nil:
				w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: errPlace{}.Error(),
					Next: lang.L("A number is a row; 12.5s is the time since the first row, 14:03:22.5 the time of day")})
			default:
				w.goToPlace(p)
			}
		}, w.win)
	entry.OnSubmitted = func(string) { d.Submit() }
	entry.OnKey = w.key
	w.open(d, 520, 170)
	w.win.Canvas().Focus(entry)
}

// errPlace says that what was typed is no place, in the present language.
type errPlace struct{}

func (errPlace) Error() string { return lang.L("This is neither a row nor a time.") }

// goToPlace goes to a row or a time.
func (w *Window) goToPlace(p table.Place) {
	switch p.Kind {
	case table.ByRow:
		w.goTo(p.N)
	case table.ByElapsed:
		w.ctl.AtTime(p.N, w.goTo)
	case table.ByClock:
		first, ok := w.ctl.Row(0)
		if !ok || !first.HasWall {
			w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("This log does not say what time of day it was."),
				Next: lang.L("Give the time since the first row, such as 12.5s.")})
			return
		}
		w.ctl.AtTime(table.Elapsed(p.N, first.Wall), w.goTo)
	}
}

// tree is the Left and the Right key: they fold and unfold, and lead to the
// caller and to the first call that was made, as in trees.
func (w *Window) tree(at int64, right bool) {
	r, ok := w.rowAt(at)
	if !ok {
		return
	}
	folded := r.Event == rows.Enter && w.ctl.IsFolded(r.Index)
	switch {
	case right && folded:
		w.fold(at)
	case right:
		w.grid.SetCurrent(at + 1)
	case r.Event == rows.Leave:
		w.goToPartner()
	case r.Event == rows.Enter && !folded && w.foldOf(at) == grid.FoldOpen:
		w.fold(at)
	default:
		w.goToCaller()
	}
}

// fold folds the call that is entered in a shown row, or unfolds it. The row of
// a leave stands for its call.
func (w *Window) fold(at int64) {
	r, ok := w.rowAt(at)
	if !ok {
		return
	}
	enter := w.enterOf(&r)
	if enter < 0 {
		return
	}
	w.want = enter
	if w.ctl.IsFolded(enter) {
		w.ctl.Unfold(enter)
	} else {
		w.ctl.Fold(enter)
	}
}

// enterOf returns the row of the enter of a row's call, -1 for none.
func (w *Window) enterOf(r *rows.Row) int64 {
	switch r.Event {
	case rows.Enter:
		return r.Index
	case rows.Leave:
		return w.ctl.Partner(r.Index)
	}
	return -1
}

// foldFunction folds all calls of a row's function, foldDepth all of its depth.
func (w *Window) foldFunction(r *rows.Row) { w.foldBy(filter.Func, r) }
func (w *Window) foldDepth(r *rows.Row)    { w.foldBy(filter.Depth, r) }

func (w *Window) foldBy(c filter.Column, r *rows.Row) {
	what, ok := filter.Of(c, r)
	enter, _ := filter.Of(filter.Event, &rows.Row{Event: rows.Enter})
	if ok {
		w.want = r.Index
		w.ctl.FoldWhere(filter.Join([]*filter.Expr{what, enter}).String())
	}
}

// foldOf returns the fold mark of a shown row, from the rows after it.
func (w *Window) foldOf(at int64) grid.Fold {
	list := make([]rows.Row, 0, 16)
	for len(list) < cap(list) {
		r, ok := w.rowAt(at + int64(len(list)))
		if !ok {
			break
		}
		list = append(list, r)
		if next := &list[len(list)-1]; len(list) > 1 && next.Thread == list[0].Thread && next.Event != rows.Unknown {
			break
		}
	}
	if len(list) == 0 {
		return grid.NoFold
	}
	// What is behind those is not looked at.
	fold, _ := foldMark(list, 0, func(int64) (rows.Row, bool) { return rows.Row{}, false }, 1)
	return fold
}

// maxAhead is how many rows below the last one that is seen are looked at for
// what is inside a call.
const maxAhead = 256

// foldMark says whether the call that is entered in a row has something inside,
// by the next row of its thread: below hands out those behind the list, of which
// there are more, as far as they are at hand. Where that is not known it may have.
func foldMark(list []rows.Row, i int, below func(k int64) (rows.Row, bool), more int64) (fold grid.Fold, known bool) {
	r := &list[i]
	if r.Event != rows.Enter {
		return grid.NoFold, true
	}
	inside := func(next *rows.Row) (fold grid.Fold, known bool) {
		switch {
		case next.Thread != r.Thread || next.Event == rows.Unknown:
			return grid.NoFold, false
		case next.Depth > r.Depth:
			return grid.FoldOpen, true
		}
		return grid.NoFold, true
	}
	for k := i + 1; k < len(list); k++ {
		if fold, known := inside(&list[k]); known {
			return fold, true
		}
	}
	for k := range min(more, maxAhead) {
		next, ok := below(k)
		if !ok {
			return grid.FoldOpen, false
		}
		if fold, known := inside(&next); known {
			return fold, true
		}
	}
	if more <= maxAhead {
		return grid.NoFold, true // the log ends
	}
	return grid.FoldOpen, true
}

// decoration finds what is shown of a view's rows besides their content, as far
// as that has to be looked for.
func decoration(v control.View) func(at int64, r *readahead.Row) {
	if v == nil {
		return nil
	}
	sel := v.Selection()
	if len(sel.Folded) == 0 && !sel.Repeats {
		return nil
	}
	return func(at int64, r *readahead.Row) {
		if _, folded := slices.BinarySearch(sel.Folded, r.Index); folded && r.Event == rows.Enter {
			if hidden, ok := v.Folded(at); ok {
				r.Decor.Fold, r.Decor.Hidden = grid.FoldClosed, hidden
			}
		}
		if sel.Repeats {
			r.Decor.Repeat = v.Repeat(at)
		}
	}
}

// decorate says what is shown of rows besides their content.
func (w *Window) decorate(dst []grid.Decor, list []rows.Row, first int64) {
	end, all := first+int64(len(list)), true
	last := w.rows.Len() - end
	below := func(k int64) (rows.Row, bool) { return w.reader.At(end + k) }
	for i := range dst {
		r := &list[i]
		dst[i] = w.reader.Decor(first + int64(i))
		dst[i].Bookmark = w.isBookmarked(r.Index)
		if dst[i].Fold == grid.NoFold {
			fold, known := foldMark(list, i, below, last)
			dst[i].Fold = fold
			all = all && known
		}
	}
	if !all && w.lookedBelow != first {
		// The rows below are being read.
		w.lookedBelow = first
		w.later(besideDelay, w.grid.Refresh)
	}
	w.decorateMarks(dst, list, first)
}

// queryChanged marks what is typed into the find field, and counts it a little
// later.
func (w *Window) queryChanged() {
	q := w.bar.query()
	w.grid.SetFind(q.Marker())
	w.typed++
	number := w.typed
	if q.Text == "" {
		w.ctl.Count(q)
		return
	}
	w.later(findDelay, func() {
		if w.typed == number {
			w.ctl.Count(w.bar.query())
		}
	})
}

func (w *Window) focusFind() {
	if !w.ctl.State().Opened {
		return
	}
	if w.bar.finding.Hidden {
		w.bar.finding.Show()
		w.win.Content().Refresh()
	}
	w.win.Canvas().Focus(w.bar.entry)
	w.bar.entry.TypedShortcut(&fyne.ShortcutSelectAll{})
}

// endFind takes the find line away.
func (w *Window) endFind() {
	w.bar.entry.Replace("")
	w.focusView()
	if !w.bar.finding.Hidden {
		w.bar.finding.Hide()
		w.win.Content().Refresh()
	}
}

// find goes to the next row that holds the text, or the one before.
func (w *Window) find(backward bool) {
	if w.bar.entry.Text == "" {
		w.focusFind()
		return
	}
	from := w.grid.Current() + 1
	if backward {
		from = w.grid.Current() - 1
		if w.grid.Current() < 0 {
			from = -1
		}
	}
	w.ctl.Find(w.bar.query(), from, backward)
}

// showFound leads to what was found.
func (w *Window) showFound(f control.Search) {
	switch {
	case f.Row < 0:
		w.bar.outcome.SetText(lang.L("Not found"))
		return
	case f.Wrapped:
		w.bar.outcome.SetText(lang.L("Found from the other end"))
	}
	w.trail.jump(w.currentRow(), w.indexOf(f.Row))
	w.placing = true
	w.grid.SetCurrent(f.Row)
	w.grid.Centre(f.Row)
	w.placing = false
}
