package control

import (
	"context"
	"errors"
	"image"
	"image/png"
	"io"
	"strings"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
)

// Saving writes files and copies rows.
type Saving struct{ c *Controller }

// Busy reports whether a file is being saved.
func (sv *Saving) Busy() bool { return sv.c.saving != nil }

// Save writes all rows to a file, after the names have come.
func (sv *Saving) Save(path, format string, opt app.SaveOptions) {
	sv.saveBy(path, func(ctx context.Context, s *app.Session, p app.Progress) ([]string, error) {
		return s.SaveRows(ctx, path, format, s.Rows(), opt, p)
	})
}

// SaveShown writes the rows that are shown, all of them: one that still counts
// them is waited for.
func (sv *Saving) SaveShown(path, format string, opt app.SaveOptions) {
	c := sv.c
	src, v := c.state.Rows, c.state.View
	sv.saveBy(path, func(ctx context.Context, s *app.Session, p app.Progress) ([]string, error) {
		if v != nil {
			if err := v.Wait(ctx); err != nil {
				return nil, err
			}
		}
		return s.SaveRows(ctx, path, format, src, opt, p)
	})
}

// MaySave reports whether a file can be saved now of the log that had the number
// [State.Session] when it was asked for, and says why not.
func (sv *Saving) MaySave(session int, path string) bool {
	c := sv.c
	m := &Message{Level: LevelWarn, Next: lang.L("Save once more.")}
	switch {
	case c.session == nil || c.state.Session != session:
		m.Text = lang.L("Not saved: the log was closed or opened anew meanwhile.")
	case path == "":
		m.Text = lang.L("Not saved: no file was named.")
	case c.saving != nil:
		m.Text, m.Next = lang.L("Not saved: another file is still being saved."), lang.L("Wait for its end, or stop it.")
	default:
		return true
	}
	c.say(m)
	return false
}

func (sv *Saving) saveBy(path string, write func(ctx context.Context, s *app.Session, p app.Progress) ([]string, error)) {
	c := sv.c
	s := c.session
	if !sv.MaySave(c.state.Session, path) {
		return
	}
	c.run(&c.saving, lang.L("Saving"), func(ctx context.Context, p app.Progress) func(bool) {
		files, err := write(ctx, s, p)
		return func(bool) {
			switch {
			case err == nil && len(files) > 1:
				c.say(&Message{Level: LevelGood, Text: lang.L("Saved as {{.N}} files, from {{.Path}} on", data{"N": len(files), "Path": files[0]}), Details: strings.Join(files, "\n")})
				c.trace("saved " + path)
			case err == nil:
				c.say(&Message{Level: LevelGood, Text: lang.L("Saved as {{.Path}}", data{"Path": path})})
				c.trace("saved " + path)
			case errors.Is(err, context.Canceled):
				c.say(&Message{Level: LevelWarn, Text: lang.L("Saving was stopped; nothing was changed.")})
			default:
				c.say(notSaved(err))
				c.trace("error " + err.Error())
			}
		}
	})
}

// Copy hands the rows from first to last, as text with tabs, to done. Of a
// longer range only the first MaxCopy rows are copied, and that is said.
func (sv *Saving) Copy(first, last int64, line func(dst []byte, r *rows.Row) []byte, done func(text string)) {
	c := sv.c
	src := c.state.Rows
	if src == nil || first < 0 || last < first {
		return
	}
	asked := last - first + 1
	n := min(asked, MaxCopy)
	c.run(&c.searching, lang.L("Copying"), func(ctx context.Context, p app.Progress) func(bool) {
		var text []byte
		buffer := make([]rows.Row, 1024)
		for at := first; at < first+n && ctx.Err() == nil; {
			got, err := src.Read(buffer[:min(int64(len(buffer)), first+n-at)], at)
			for i := range got {
				text = append(line(text, &buffer[i]), '\n')
			}
			at += int64(got)
			p(app.StageSearch, at-first, n)
			if err != nil || got == 0 {
				break
			}
		}
		if ctx.Err() != nil {
			return func(bool) {}
		}
		return func(current bool) {
			if !current {
				return
			}
			done(string(text))
			if asked > n {
				c.say(&Message{Level: LevelWarn, Text: lang.L("Copied the first {{.N}} rows only.", data{"N": Thousands(n)}),
					Next: lang.L("Save the log to get all of them."), Offer: OfferSave})
			}
			c.trace("copied " + decimal(n))
		}
	})
}

// CancelSave stops the saving of a file; Busy says when that is done.
func (sv *Saving) CancelSave() {
	c := sv.c
	if c.saving != nil {
		c.saving.cancel()
	}
}

// SaveStatistics writes statistics to a file as csv.
func (sv *Saving) SaveStatistics(path string, list []app.FunctionStat) {
	s := sv.c.session
	sv.save(path, func(ctx context.Context) error { return s.SaveStatistics(ctx, path, list, app.SaveOptions{}) })
}

// SavePicture writes a picture to a file as PNG. It is not to be changed any more.
func (sv *Saving) SavePicture(path string, img image.Image) {
	s := sv.c.session
	sv.save(path, func(ctx context.Context) error {
		return s.SaveTable(ctx, path, func(w io.Writer) error { return png.Encode(w, img) })
	})
}

// SaveDrawing writes what is a file of vector graphics already.
func (sv *Saving) SaveDrawing(path string, svg []byte) {
	s := sv.c.session
	sv.save(path, func(ctx context.Context) error {
		return s.SaveTable(ctx, path, func(w io.Writer) error {
			_, err := w.Write(svg)
			return err
		})
	})
}

// save writes what a view shows to a file, and says how that went.
func (sv *Saving) save(path string, write func(ctx context.Context) error) {
	c := sv.c
	if !sv.MaySave(c.state.Session, path) {
		return
	}
	c.run(&c.saving, lang.L("Saving"), func(ctx context.Context, p app.Progress) func(bool) {
		err := write(ctx)
		return func(bool) {
			switch {
			case err == nil:
				c.say(&Message{Level: LevelGood, Text: lang.L("Saved as {{.Path}}", data{"Path": path})})
				c.trace("saved " + path)
			case errors.Is(err, context.Canceled):
				c.say(&Message{Level: LevelWarn, Text: lang.L("Saving was stopped; nothing was changed.")})
			default:
				m := notSaved(err)
				m.Offer = OfferNone // it is about the log
				c.say(m)
			}
		}
	})
}
