package control

import (
	"context"
	"errors"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// A Follow is how a log that is being written is followed.
type Follow struct {
	On bool
	// AtEnd says that the table is to stay at its end as rows come.
	AtEnd bool
	// New counts the rows that came since the table left its end.
	New int64
}

// Following takes in what is written to the log.
type Following struct {
	c          *Controller
	refreshing bool // a refresh is to come
	contentAt  time.Time
	// last is what is to be said when all rows are there, nil for what is said in general.
	last *Message
}

// lastRows is how long the last rows of a program that has ended are waited for.
const lastRows = 3 * time.Second

// SayLast says how the program ended: when its last rows are there, if it is followed, or its log is
// being opened.
func (fl *Following) SayLast(m *Message) {
	c := fl.c
	if !c.state.Follow.On && !c.reading && c.opening == nil && c.sorting == nil {
		c.say(m)
		return
	}
	fl.last = m
	time.AfterFunc(lastRows, func() { c.post(func() { fl.sayLast(m) }) })
}

// sayLast says it, unless that was done.
func (fl *Following) sayLast(m *Message) {
	if fl.last == m {
		fl.last = nil
		fl.c.say(m)
	}
}

// Set begins to follow the log, with the table at its end, or stops it.
func (fl *Following) Set(on bool) {
	c := fl.c
	s := c.session
	if s == nil || on == c.state.Follow.On {
		return
	}
	if !on {
		end(&c.following)
		fl.set(Follow{})
		fl.refreshSoon()
		c.watch(c.state.File)
		return
	}
	end(&c.watching)
	fl.set(Follow{On: true, AtEnd: true})
	c.run(&c.following, "", func(ctx context.Context, _ app.Progress) func(bool) {
		err := s.Follow(ctx, func(u app.Update) {
			c.post(func() { fl.grew(s, u) })
		})
		return func(current bool) {
			if current && c.session == s {
				fl.followed(err)
			}
		}
	})
}

func (fl *Following) set(f Follow) {
	c := fl.c
	if f != c.state.Follow {
		c.state.Follow = f
		c.changed(ChangeFollow)
	}
}

// Moved says whether the table, which the user has moved, is at its end.
func (fl *Following) Moved(atEnd bool) {
	c := fl.c
	if f := c.state.Follow; f.On && f.AtEnd != atEnd {
		fl.set(Follow{On: true, AtEnd: atEnd})
	}
}

// Resume takes the table to its end again.
func (fl *Following) Resume() {
	c := fl.c
	if c.state.Follow.On {
		fl.set(Follow{On: true, AtEnd: true})
	}
}

// grew shows the rows that have come.
func (fl *Following) grew(s *app.Session, u app.Update) {
	c := fl.c
	f := c.state.Follow
	if c.session != s || !f.On {
		return
	}
	if !f.AtEnd {
		f.New += u.New
	}
	c.state.Follow = f
	c.changed(ChangeGrown | ChangeFollow)
	fl.refreshSoon()
	c.Filter.updateView()
	switch {
	case u.Runs > 0:
		c.say(&Message{Level: LevelGood, Text: lang.L("The program was started again; its rows follow.")})
	case u.Replaced:
		c.say(&Message{Level: LevelWarn, Text: lang.L("The log was renamed or replaced; the old file is followed."),
			Next: lang.L("Open the log again to see the new one."), Offer: OfferReload})
	}
	if u.New > 0 {
		c.trace("grew " + decimal(u.Rows))
	}
}

// followed ends following.
func (fl *Following) followed(err error) {
	c := fl.c
	fl.set(Follow{})
	c.refresh()
	c.watch(c.state.File)
	switch {
	case err == nil && fl.last != nil:
		fl.sayLast(fl.last)
	case err == nil:
		c.say(&Message{Level: LevelGood, Text: lang.L("The program has ended; all of its rows are here.")})
	case !errors.Is(err, context.Canceled):
		c.say(&Message{Level: LevelBad, Text: lang.L("The log cannot be followed any more: {{.Cause}}", data{"Cause": cause(err)}),
			Next: lang.L("Reload the log."), Details: ErrorText(err), Offer: OfferReload})
		c.trace("error " + err.Error())
	}
}

// refreshSoon brings what is counted up to date, a little later and only once
// for many rows.
func (fl *Following) refreshSoon() {
	c := fl.c
	if fl.refreshing {
		return
	}
	fl.refreshing = true
	time.AfterFunc(2*reportEvery, func() {
		c.post(func() {
			fl.refreshing = false
			if c.session != nil {
				c.refresh()
			}
		})
	})
}
