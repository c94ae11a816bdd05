package control

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// A Controller holds one log at a time. Its parts have one job each, and share its
// state, its session and the work in the background.
type Controller struct {
	Inputs    InputFiles
	Filter    Filtering
	Finder    Finding
	Following Following
	Calls     Calls
	Views     Views
	Saving    Saving

	// OnChange is called after the state has changed.
	OnChange func(Change)
	// KnownColumns, if not nil, returns what the user once said of the columns of
	// the modules file of a log, "" for nothing. It is called in the background.
	KnownColumns func(in app.Inputs) string
	// OnFiles, if not nil, is asked about files that [InputFiles.Give] was given;
	// true means that it uses them itself.
	OnFiles func(Files) bool
	// OnText, if not nil, is told a text with addresses that was given.
	OnText func(path string)
	// Preview, if not nil, opens the first rows of a log, to be shown until it is open; nil
	// where it has none. It is called in the background.
	Preview func(ctx context.Context, in app.Inputs) (*app.Session, error)
	// Trace, if not nil, is told events for tests that drive the program.
	Trace func(event string)

	openLog   Opener
	post      func(func())
	slowAfter time.Duration
	after     func(d time.Duration, f func()) (stop func() bool) // is [time.AfterFunc]
	lookAgain time.Duration
	look      chan struct{} // somebody uses the window

	state   State
	session *app.Session
	// preview has the first rows of the log that is being opened, nil for none.
	preview *app.Session
	opens   int    // how often a log was to be opened
	live    string // the log that is to be followed once it is open, "" for none

	shown   app.Inputs // what session was opened with
	reading bool       // another session is being opened
	failed  string     // why the wanted log could not be opened

	// opening opens and names, searching finds and filters, sorting looks at
	// files that were given, following takes in what is written.
	// filtering makes the view, counting counts matches.
	// watching looks whether the log's file is still the one that was opened,
	// checking whether the symbol path is there.
	opening, searching, saving, sorting, following, filtering, counting *job
	watching, checking                                                  *job
	choosing                                                            *job // finds calls
	naming                                                              *job // names the addresses in a text
	analysing                                                           analysing
	// waiting is when the user began to wait for the job whose end is being handled. It is zero otherwise.
	waiting time.Time
}

// An Opener opens a log: [app.Open], or the same for other formats.
type Opener func(ctx context.Context, in app.Inputs, p app.Progress) (*app.Session, error)

// New makes a controller. post must run functions one after the other on the
// goroutine that the controller belongs to.
func New(open Opener, post func(func())) *Controller {
	c := &Controller{openLog: open, post: post, slowAfter: slowAfter, lookAgain: lookAgain, look: make(chan struct{}, 1)}
	c.after = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	c.Inputs.c, c.Filter.c, c.Finder.c, c.Following.c, c.Views.c, c.Saving.c = c, c, c, c, c, c
	c.Calls = Calls{c: c, forgetSite: func() {}}
	c.updateStatus()
	return c
}

// State returns the present state, to be read and not kept.
func (c *Controller) State() *State { return &c.state }

func (c *Controller) changed(what Change) {
	if c.OnChange != nil {
		c.OnChange(what)
	}
}

func (c *Controller) trace(event string) {
	if c.Trace != nil {
		c.Trace(event)
	}
}

// Reload reads everything again from the files.
func (c *Controller) Reload() {
	if c.state.Wanted.Log != "" {
		c.open(c.state.Wanted)
	}
}

// apply does what is needed to get from the present inputs to others: nothing,
// resolving again, or opening.
func (c *Controller) apply(in app.Inputs) {
	was := c.state.Wanted
	if in.Network {
		if others := c.Inputs.strangers(in); len(others) > 0 {
			in.Network = false
			defer c.say(&Message{Level: LevelWarn, Text: lang.L("The symbol path names another server, {{.Server}}, so no server is asked now.", data{"Server": others[0]}),
				Next: lang.L("Switch asking symbol servers on again to ask this one too.")})
		}
	}
	symbols := !was.SameSymbols(&in)
	if !slices.Equal(was.Symbols, in.Symbols) {
		defer c.checkSymbols(true)
	}
	files := was.Log != in.Log || !slices.Equal(was.Others, in.Others) || was.Modules != in.Modules || was.Run != in.Run || was.Corrected != in.Corrected
	switch {
	case in.Log == "":
		if c.state.Opened {
			c.Close()
		}
		c.state.Wanted, c.state.Found, c.failed = in, in, ""
		c.updateStatus()
		c.changed(ChangeInputs)
	case files || c.reading || !c.state.Opened:
		c.open(in)
	case symbols:
		c.state.Wanted = in
		c.resolve()
	default:
		c.state.Wanted = in
		c.changed(ChangeInputs)
	}
}

// open replaces the session.
func (c *Controller) open(in app.Inputs) {
	c.state.Wanted, c.reading, c.failed = in, true, ""
	change := ChangeInputs | c.endPreview()
	c.opens++
	number, empty := c.opens, c.session == nil
	c.updateStatus()
	c.say(nil)
	c.changed(change)
	c.run(&c.opening, lang.L("Opening"), func(ctx context.Context, p app.Progress) func(bool) {
		asked := in
		in := c.withKnownColumns(in)
		if c.Preview != nil && empty {
			// What is wrong with the log opening it says.
			if s, err := c.Preview(ctx, in); err == nil && s != nil {
				c.post(func() { c.previewed(number, s) })
			}
		}
		s, err := c.openLog(ctx, in, p)
		if err != nil && in.ModulesColumns != asked.ModulesColumns && ctx.Err() == nil {
			// They need not fit the file as it is now.
			in = asked
			s, err = c.openLog(ctx, in, p)
		}
		return func(current bool) {
			if !current {
				if err == nil {
					go s.Close()
				}
				return
			}
			c.reading = false
			switch {
			case err == nil:
				c.opened(in, s)
			case errors.Is(err, context.Canceled):
				c.notOpened(nil)
				c.say(openStopped(in, c.state.Opened))
			default:
				c.notOpened(err)
			}
		}
	})
}

// previewed shows the first rows of the log that is being opened.
func (c *Controller) previewed(number int, s *app.Session) {
	if number != c.opens || !c.reading || c.session != nil {
		go s.Close()
		return
	}
	c.preview = s
	c.state.Preview, c.state.Provisional, c.state.Rows = true, !s.OwnModules(), s.Rows()
	c.changed(ChangeSource)
	c.trace("preview " + decimal(c.state.Rows.Len()))
}

// endPreview forgets the first rows of a log, and returns what has changed.
func (c *Controller) endPreview() Change {
	if c.preview == nil {
		return 0
	}
	go c.preview.Close()
	c.preview, c.state.Preview, c.state.Provisional, c.state.Rows = nil, false, false, nil
	return ChangeSource
}

// withKnownColumns puts into inputs what is known of the modules file's columns,
// unless the user has said it.
func (c *Controller) withKnownColumns(in app.Inputs) app.Inputs {
	if in.ModulesColumns == "" && c.KnownColumns != nil {
		if columns := c.KnownColumns(in); app.CheckModulesColumns(columns) == nil {
			in.ModulesColumns = columns
		}
	}
	return in
}

// opened shows a new session's rows and goes on to their names.
func (c *Controller) opened(in app.Inputs, s *app.Session) {
	old, users := c.session, append(c.analysing.end(), end(&c.following), end(&c.watching))
	follow := c.state.Follow.On && c.shown.Log == s.Inputs().Log || c.live != "" && c.live == s.Inputs().Log
	c.live = ""
	c.state.Follow = Follow{}
	c.endPreview()
	c.session = s
	c.state.Session++
	c.state.Opened, c.state.Loaded = true, false
	c.state.Found = s.Inputs()
	if in.Log != c.state.Found.Log {
		// The modules file or the folder was given instead of the log.
		in.Log = c.state.Found.Log
	}
	c.state.Wanted, c.shown = in, in
	c.state.Facts = factsOf(s)
	c.state.Rows, c.state.View = s.Rows(), nil
	c.state.Filtered, c.state.Selection, c.state.Pending, c.state.FilterError = false, app.Selection{}, nil, nil
	c.state.Search, c.state.Matches, c.Finder.counted = Search{Row: -1}, Matches{}, nil
	c.Finder.matching = nil
	c.Filter.selecting++
	c.state.Modules, c.state.Threads, c.state.File = s.Modules(), s.Threads(), app.Unchanged
	c.updateStatus()
	c.changed(ChangeSource | ChangeInputs | ChangeModules | ChangeFollow | ChangeFilter | ChangeMatches)
	c.retire(old, users...)
	c.trace("rows " + decimal(c.state.Rows.Len()))
	c.load((*app.Session).Load)
	c.watch(app.Unchanged)
	c.Following.Set(follow)
}

// retire closes a session that is no longer shown once nothing works on it.
// A file that is being saved is finished.
func (c *Controller) retire(s *app.Session, users ...<-chan struct{}) {
	users = append(users, end(&c.searching), end(&c.filtering), end(&c.counting), end(&c.choosing))
	if c.saving != nil {
		users = append(users, c.saving.done)
	}
	if s == nil {
		return
	}
	go func() {
		for _, done := range users {
			<-done
		}
		s.Close()
	}()
}

// notOpened goes back to what is still shown, and says why.
func (c *Controller) notOpened(err error) {
	failed, change := c.state.Wanted, c.endPreview()
	c.live = ""
	if c.state.Opened {
		c.state.Wanted = c.shown
		c.updateStatus()
		if !c.state.Loaded {
			// Opening had cancelled this.
			c.load((*app.Session).Load)
		}
	} else {
		if err != nil {
			c.failed = cause(err)
		}
		c.updateStatus()
	}
	if err != nil {
		c.say(openFailed(failed, err))
		c.trace("error " + err.Error())
	}
	c.changed(ChangeInputs | change)
}

// load names the rows of the session: by Load, or by something that includes it.
func (c *Controller) load(work func(s *app.Session, ctx context.Context, p app.Progress) error) {
	s := c.session
	c.run(&c.opening, lang.L("Finding symbols"), func(ctx context.Context, p app.Progress) func(bool) {
		err := work(s, ctx, p)
		return func(current bool) {
			if current {
				c.loaded(s, err)
			}
		}
	})
	c.updateStatus()
	c.changed(ChangeInputs)
}

func (c *Controller) loaded(s *app.Session, err error) {
	c.state.Loaded = err == nil
	c.state.Found = s.Inputs()
	c.refresh()
	if err != nil && !errors.Is(err, context.Canceled) {
		c.say(&Message{Level: LevelBad, Text: lang.L("Names could not be found: {{.Cause}}", data{"Cause": cause(err)}),
			Next: lang.L("The rows are shown with addresses. Try another symbol path."), Details: ErrorText(err), Offer: OfferSymbols})
		c.trace("error " + err.Error())
	} else if err != nil {
		c.say(&Message{Level: LevelWarn, Text: lang.L("Stopped: names are not complete."),
			Next: lang.L("Reload the log to go on.")})
	} else {
		c.advise()
		c.trace("loaded")
		if m := c.Following.last; m != nil && !c.state.Follow.On {
			c.Following.sayLast(m)
		}
		c.Filter.renewView()
	}
}

// resolve names everything again by the present symbol path.
func (c *Controller) resolve() {
	if c.session == nil {
		return
	}
	in := c.state.Wanted
	c.shown = in
	c.state.Loaded = false
	c.load(func(s *app.Session, ctx context.Context, p app.Progress) error {
		return s.SetSymbols(ctx, in, p)
	})
}

// contentGrew shows what the work under way has brought so far.
func (c *Controller) contentGrew() {
	if c.session == nil || time.Since(c.Following.contentAt) < 2*reportEvery {
		return
	}
	c.refresh()
}

func (c *Controller) refresh() {
	c.Following.contentAt = time.Now()
	c.state.Facts = factsOf(c.session)
	c.state.Modules, c.state.Threads = c.session.Modules(), c.session.Threads()
	c.updateStatus()
	c.changed(ChangeContent | ChangeInputs | ChangeModules)
}

// Close shows no log.
func (c *Controller) Close() {
	users, s := append(c.analysing.end(), end(&c.opening), end(&c.following), end(&c.watching)), c.session
	c.reading = false
	c.opens++
	c.endPreview()
	end(&c.sorting)
	end(&c.naming)
	c.session, c.shown, c.failed, c.live = nil, app.Inputs{}, "", ""
	in := c.state.Wanted
	in.Log, in.Others, in.Modules, in.Run, in.Corrected = "", nil, "", "", false
	c.state = State{Wanted: in, Found: in, Session: c.state.Session + 1, MissingSymbols: c.state.MissingSymbols}
	c.Finder.counted, c.Finder.matching = nil, nil
	c.Filter.selecting++
	c.updateStatus()
	c.changed(ChangeSource | ChangeInputs | ChangeModules | ChangeMessage | ChangeFollow | ChangeFilter | ChangeMatches)
	c.retire(s, users...)
	c.showWork()
}

// MaxCopy is the most rows that are copied at once.
const MaxCopy = 100_000

// Say shows a message of the window itself.
func (c *Controller) Say(m *Message) { c.say(m) }

func (c *Controller) say(m *Message) {
	if m == nil && c.state.Message == nil {
		return
	}
	c.state.Message = m
	c.changed(ChangeMessage)
}

// Dismiss takes the message away.
func (c *Controller) Dismiss() { c.say(nil) }

// Relabel says everything again, in another language.
func (c *Controller) Relabel() {
	c.updateStatus()
	c.say(nil)
	c.showWork()
	c.changed(ChangeInputs | ChangeModules | ChangeProgress)
}

// cleanPath strips what pasting a path brings along.
func cleanPath(p string) string {
	p = strings.TrimSpace(p)
	if len(p) > 1 && p[0] == '"' && p[len(p)-1] == '"' {
		p = p[1 : len(p)-1]
	}
	return p
}

// SplitPaths splits a symbol search path as the system writes lists.
func SplitPaths(s string) []string {
	var out []string
	for _, p := range strings.Split(s, string(os.PathListSeparator)) {
		if p = cleanPath(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// JoinPaths is the inverse of SplitPaths.
func JoinPaths(paths []string) string { return strings.Join(paths, string(os.PathListSeparator)) }
