package ui

import (
	"strings"

	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
	"logparser/ui/inputs"
	"logparser/ui/table"
)

// navigation leads to rows of the log, and back.
type navigation struct {
	w *workspace

	history history
	want    int64 // the row of the log to go to once its place is known, -1 for none
	hidden  int64 // the one that a message says is hidden
	placing bool  // the current row is not being set by the user
	// revealed numbers the rows that were to be shown; what was found out for an earlier
	// one is late.
	revealed int
}

// errPlace says that what was typed is no place, in the present language.
type errPlace struct{}

// goTo leads to a row of the log, and remembers where from. A row that is
// folded away is unfolded.
func (n *navigation) goTo(index int64) {
	if index < 0 || !n.w.ctl.State().Opened {
		return
	}
	n.history.jump(n.w.table.currentRow(), index)
	n.reveal(index)
}

// reveal shows a row of the log, as soon as it is known where it stands.
func (n *navigation) reveal(index int64) {
	n.revealed++
	v := n.w.ctl.State().View
	n.want = -1
	if v == nil {
		n.stand(n.w.ctl.Calls.PlaceOf(index))
		return
	}
	done := v.Done() // it may become so before the answer
	at, shown := v.PositionOf(index)
	switch {
	case shown:
		n.stand(at)
	case !done:
		n.want = index
		n.stand(max(at, 0))
	default:
		n.stand(max(at, 0))
		n.unfoldAround(index)
	}
}

// stand makes a shown row the current one, in the middle of the table.
func (n *navigation) stand(at int64) {
	if at < 0 {
		return
	}
	n.placing = true
	n.w.table.grid.SetCurrent(at)
	n.w.table.grid.Centre(at)
	n.placing = false
	if !n.w.dialogs.modal() {
		n.w.focusView()
	}
}

// unfoldAround unfolds the calls that hide a row, or says that it is the filter
// that does.
func (n *navigation) unfoldAround(index int64) {
	number := n.revealed
	n.w.ctl.Calls.Stack(index, func(frames []app.Frame, err error) {
		if n.revealed != number {
			return
		}
		var folded []int64
		for _, f := range frames {
			if f.Enter != index && n.w.ctl.Filter.IsFolded(f.Enter) {
				folded = append(folded, f.Enter)
			}
		}
		if len(folded) > 0 {
			n.want = index
			n.w.ctl.Filter.Unfold(folded...)
			return
		}
		n.hidden = index
		n.w.ctl.Say(&control.Message{Level: control.LevelWarn,
			Text:  lang.L("Row {{.N}} is hidden; the nearest one before it is shown.", data{"N": control.Thousands(index)}),
			Next:  lang.L("Take the filter away to see it."),
			Offer: control.OfferShowAll})
	})
}

// showAllAt takes all that hides rows away and goes to a row.
func (n *navigation) showAllAt(row int64) {
	n.w.ctl.Dismiss()
	n.want = row
	n.w.ctl.Filter.ShowAll()
}

// settle goes to the row that is waited for, if its place is known by now.
func (n *navigation) settle() {
	s := n.w.ctl.State()
	if n.want < 0 || s.View == nil {
		return
	}
	done := s.View.Done() // it may become so before the answer
	if at, shown := s.View.PositionOf(n.want); shown || done {
		index := n.want
		n.want = -1
		n.stand(max(at, 0))
		if !shown {
			n.keepThread(index, max(at, 0))
		}
	}
}

// goToPartner goes from an enter to its leave, or back.
func (n *navigation) goToPartner() {
	if other := n.w.ctl.Calls.Partner(n.w.table.currentRow()); other >= 0 {
		n.goTo(other)
	}
}

func (n *navigation) goToCaller() {
	if row := n.w.table.currentRow(); row >= 0 {
		n.w.ctl.Calls.Caller(row, n.goTo)
	}
}

func (n *navigation) goToNextCall(back bool) {
	if row := n.w.table.currentRow(); row >= 0 {
		n.w.ctl.Calls.NextCall(row, back, n.goTo)
	}
}

func (n *navigation) goToSlowestCall() {
	if r, ok := n.w.table.rowAt(n.w.table.grid.Current()); ok {
		n.w.ctl.Calls.SlowestCall(app.FunctionRef{Function: r.Function, Module: r.Module}, n.goTo)
	}
}

// goBack goes along the trail.
func (n *navigation) goBack(forward bool) {
	if row := n.history.step(n.w.table.currentRow(), forward); row >= 0 {
		n.reveal(row)
	}
}

// askPlace asks for a row or a time to go to.
func (n *navigation) askPlace() {
	if !n.w.ctl.State().Opened {
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
				n.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: errPlace{}.Error(),
					Next: lang.L("A number is a row; 12.5s is the time since the first row, 14:03:22.5 the time of day")})
			default:
				n.goToPlace(p)
			}
		}, n.w.win)
	entry.OnSubmitted = func(string) { d.Submit() }
	entry.OnKey = n.w.actions.key
	n.w.dialogs.open(d, 520, 170)
	n.w.win.Canvas().Focus(entry)
}

func (errPlace) Error() string { return lang.L("This is neither a row nor a time.") }

// goToPlace goes to a row or a time.
func (n *navigation) goToPlace(p table.Place) {
	switch p.Kind {
	case table.ByRow:
		n.goTo(p.N)
	case table.ByElapsed:
		n.w.ctl.Calls.AtTime(p.N, n.goTo)
	case table.ByClock:
		first, ok := n.w.ctl.Calls.Row(0)
		if !ok || !first.HasWall {
			n.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("This log does not say what time of day it was."),
				Next: lang.L("Give the time since the first row, such as 12.5s.")})
			return
		}
		n.w.ctl.Calls.AtTime(table.Elapsed(p.N, first.Wall), n.goTo)
	}
}

// keepPlace goes on to show a row of the log, or the nearest before it, after
// other rows have come into the table.
func (n *navigation) keepPlace(s *control.State, index int64) {
	if index < 0 {
		return
	}
	n.want = -1
	if s.View != nil {
		done := s.View.Done() // it may become so before the answer
		if _, shown := s.View.PositionOf(index); !shown && !done {
			n.want = index
		}
	}
	if at := n.w.ctl.Calls.PlaceOf(index); at >= 0 {
		n.placing = true
		n.w.table.grid.SetCurrent(at)
		n.w.table.grid.Centre(at)
		n.placing = false
		if n.want < 0 {
			n.keepThread(index, at)
		}
	}
}
