package control

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// lookAgain is the time between two looks at the file of the log that is shown. While
// nothing is seen and nobody uses the window it doubles, lookLess times.
const (
	lookAgain = time.Second
	lookLess  = 6
)

// Look has the file of the log looked at often again, as somebody uses the window.
func (c *Controller) Look() {
	select {
	case c.look <- struct{}{}:
	default: // it is to be done already
	}
}

// watch looks at the log's file again and again, and says once what has become
// of it. told is what was said already. A log that is followed is looked at by
// following it.
func (c *Controller) watch(told app.FileChange) {
	s := c.session
	if s == nil || c.state.Follow.On {
		return
	}
	c.run(&c.watching, "", func(ctx context.Context, _ app.Progress) func(bool) {
		now := told
		var seen time.Time
		for looks := 0; now == told; looks++ {
			timer := time.NewTimer(c.lookAgain << min(looks, lookLess))
			select {
			case <-ctx.Done():
				timer.Stop()
				return func(bool) {}
			case <-c.look:
				timer.Stop()
				looks = -1
				if time.Since(seen) < c.lookAgain {
					continue
				}
			case <-timer.C:
			}
			now, seen = s.CheckLog(), time.Now()
		}
		return func(current bool) {
			if current && c.session == s {
				c.fileChanged(now)
				c.watch(now)
			}
		}
	})
}

// fileChanged says that the file of the log is not what it was.
func (c *Controller) fileChanged(what app.FileChange) {
	c.state.File = what
	name := data{"Name": filepath.Base(c.state.Found.Log)}
	m := &Message{Level: LevelBad, Next: lang.L("Reload the log to see what it holds now."), Offer: OfferReload}
	switch what {
	case app.Cut:
		m.Text = lang.L("{{.Name}} was cut or written anew after it was opened; the rows shown are not to be trusted.", name)
	case app.Replaced:
		m.Text = lang.L("Another file stands in the place of {{.Name}} now; the rows shown are those of the old one.", name)
	case app.Removed:
		m.Text, m.Next, m.Offer = lang.L("{{.Name}} was removed; the rows shown are those of the file that was opened.", name), "", OfferNone
	default:
		m = nil // the file is back in its place
	}
	c.say(m)
	c.updateStatus()
	c.changed(ChangeInputs)
	c.trace("file " + decimal(int64(what)))
}

// checkSymbols looks whether what the symbol path names is there. tell says what
// is not, besides the light.
func (c *Controller) checkSymbols(tell bool) {
	path := slices.Clone(c.state.Wanted.Symbols)
	c.run(&c.checking, "", func(context.Context, app.Progress) func(bool) {
		missing := app.MissingSymbols(path)
		return func(current bool) {
			if !current || !slices.Equal(path, c.state.Wanted.Symbols) || slices.Equal(missing, c.state.MissingSymbols) {
				return
			}
			c.state.MissingSymbols = missing
			if tell && len(missing) > 0 {
				c.say(missingSymbols(missing))
			}
			c.updateStatus()
			c.changed(ChangeInputs)
			c.trace("missing " + decimal(int64(len(missing))))
		}
	})
}

// missingSymbols is the message for a symbol path that leads nowhere.
func missingSymbols(missing []string) *Message {
	return &Message{Level: LevelWarn, Text: lang.L("The symbol path names {{.Name}}, which is not there.", data{"Name": missing[0]}),
		Next: lang.L("Correct it, or take it away."), Details: JoinPaths(missing), Offer: OfferPath}
}
