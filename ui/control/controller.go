package control

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
)

// A Controller holds one log at a time.
type Controller struct {
	// OnChange is called after the state has changed.
	OnChange func(Change)
	// KnownColumns, if not nil, returns what the user once said of the columns of
	// the modules file of a log, "" for nothing. It is called in the background.
	KnownColumns func(in app.Inputs) string
	// Trace, if not nil, is told events for tests that drive the program.
	Trace func(event string)

	engine    Engine
	post      func(func())
	slowAfter time.Duration
	lookAgain time.Duration

	state   State
	session Session
	agreed  []string // the servers that the user agreed to have asked

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
	analysing                                                           analysing
	refreshing                                                          bool // a refresh is to come
	contentAt                                                           time.Time

	selecting  int         // numbers the selections
	asked      int         // numbers the questions for stacks
	forgetSite func()      // gives up the question for a call site
	completing int         // numbers those for completions
	matching   View        // the matches of what is counted, nil until they are known
	counted    rows.Source // what matches are counted in
}

// New makes a controller. post must run functions one after the other on the
// goroutine that the controller belongs to.
func New(engine Engine, post func(func())) *Controller {
	c := &Controller{engine: engine, post: post, slowAfter: slowAfter, lookAgain: lookAgain, forgetSite: func() {}}
	c.updateStatus()
	return c
}

// Restore sets the inputs that say where symbols are as they were remembered;
// agreed are the servers that the user agreed to have asked. It is called
// before anything is opened.
func (c *Controller) Restore(in app.Inputs, agreed []string) {
	c.agreed = agreed
	in.Network = in.Network && len(c.strangers(in)) == 0
	c.state.Wanted, c.state.Found = in, in
	c.updateStatus()
	c.checkSymbols(false)
}

// Agreed returns the servers that the user agreed to have asked.
func (c *Controller) Agreed() []string { return c.agreed }

// strangers returns the servers of a search path that the user has not agreed
// to have asked.
func (c *Controller) strangers(in app.Inputs) []string {
	return slices.DeleteFunc(app.Servers(in.Symbols), func(s string) bool { return slices.Contains(c.agreed, s) })
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

// Give takes files and folders in any order, as they are dropped on the
// window or given as arguments, and uses each for what it is.
func (c *Controller) Give(paths []string) {
	if len(paths) > 0 {
		c.give(paths, c.take)
	}
}

func (c *Controller) give(paths []string, use func(inputFiles)) {
	c.run(&c.sorting, lang.L("Looking at the files"), func(ctx context.Context, p app.Progress) func(bool) {
		files := sortPaths(paths)
		return func(current bool) {
			if current {
				use(files)
			}
		}
	})
}

// take applies sorted paths.
func (c *Controller) take(g inputFiles) {
	in := c.state.Wanted
	in.Symbols = slices.Clone(in.Symbols)
	for _, s := range g.symbols {
		if !slices.Contains(in.Symbols, s) {
			in.Symbols = append(in.Symbols, s)
		}
	}
	if g.log != "" {
		// What another log's recorder cost need not be known.
		in.Log, in.Modules, in.ModulesColumns, in.Run, in.Corrected = g.log, "", "", "", in.Corrected && g.log == in.Log
		if !c.state.Opened {
			in.Modules = c.state.Wanted.Modules
		}
	}
	if g.modules != "" {
		in.Modules, in.ModulesColumns = g.modules, ""
	}
	useful := g.log != "" || g.modules != "" || len(g.symbols) > 0
	if useful {
		c.apply(in)
	}
	if m := g.tell(c.state.Opened); m != nil {
		c.say(m)
	}
	if len(g.unknown) > 0 {
		if !useful && !c.state.Opened {
			// The path stays, so that it can be mended.
			c.state.Wanted.Log, c.failed = g.unknown[0].Path, cause(g.unknown[0])
			c.updateStatus()
			c.changed(ChangeInputs)
		}
		c.say(&Message{Level: LevelBad, Text: lang.L("Cannot open {{.Name}}", data{"Name": g.unknown[0].Path}),
			Next: lang.L("Check that the file is there and can be read."), Details: ErrorText(g.unknown[0])})
	}
}

// SetLog chooses the log; "" chooses none. What was said of the log before
// goes with it: its modules file and its run.
func (c *Controller) SetLog(path string) {
	path = cleanPath(path)
	if path != "" {
		c.give([]string{path}, c.take)
		return
	}
	in := c.state.Wanted
	in.Log, in.Run, in.Corrected = "", "", false
	if c.state.Opened {
		in.Modules = ""
	}
	c.apply(in)
}

// SetModules chooses the modules file; "" looks beside the log.
func (c *Controller) SetModules(path string) {
	path = cleanPath(path)
	c.run(&c.sorting, lang.L("Looking at the files"), func(ctx context.Context, p app.Progress) func(bool) {
		kind, err := kindModules, error(nil)
		if path != "" {
			kind, err = kindOf(path)
		}
		return func(current bool) {
			switch {
			case !current:
			case err == nil && kind == kindLog:
				c.take(inputFiles{log: path})
				c.say(&Message{Level: LevelWarn, Text: lang.L("{{.Name}} is a log, not a modules file; it was taken as the log.", data{"Name": filepath.Base(path)})})
			default:
				in := c.state.Wanted
				in.Modules, in.ModulesColumns = path, ""
				c.apply(in)
			}
		}
	})
}

// SetModulesColumns says what the columns of the modules file are, as
// [app.Inputs].ModulesColumns has it.
func (c *Controller) SetModulesColumns(columns string) {
	in := c.state.Wanted
	in.ModulesColumns = columns
	c.apply(in)
}

// SetSymbols chooses the symbol search path.
func (c *Controller) SetSymbols(paths []string) {
	in := c.state.Wanted
	in.Symbols = nil
	for _, p := range paths {
		if p = cleanPath(p); p != "" && !slices.Contains(in.Symbols, p) {
			in.Symbols = append(in.Symbols, p)
		}
	}
	c.apply(in)
}

// SetRun chooses a run: "" for the last, "all", or a number from 1.
func (c *Controller) SetRun(run string) {
	in := c.state.Wanted
	in.Run = run
	c.apply(in)
}

// SetCorrected takes the recorder's own time off the durations, or leaves it in.
func (c *Controller) SetCorrected(corrected bool) {
	in := c.state.Wanted
	in.Corrected = corrected
	c.apply(in)
}

// SetNoRecordedPaths forbids or permits opening paths that come out of files.
func (c *Controller) SetNoRecordedPaths(no bool) {
	in := c.state.Wanted
	in.NoRecordedPaths = no
	c.apply(in)
}

// SetNetwork permits asking the servers that the search path names now, or
// forbids asking any. A server that is named later is asked only after this
// is called again.
func (c *Controller) SetNetwork(on bool) {
	in := c.state.Wanted
	in.Network = on
	if on {
		c.agreed = app.Servers(in.Symbols)
	}
	c.apply(in)
}

// SetLoadMismatched permits or forbids names of files of another build.
func (c *Controller) SetLoadMismatched(load bool) {
	if in := c.state.Wanted; in.LoadMismatched != load {
		in.LoadMismatched = load
		c.apply(in)
	}
}

// SetSymbolCache chooses the folder for what servers give, "" for the user's.
func (c *Controller) SetSymbolCache(dir string) {
	in := c.state.Wanted
	in.SymbolCache = cleanPath(dir)
	c.apply(in)
}

// AskAgain forgets what servers did not have, and asks them again.
func (c *Controller) AskAgain() {
	if err := app.ForgetMisses(c.state.Wanted); err != nil {
		c.say(&Message{Level: LevelBad, Text: lang.L("What servers did not have could not be forgotten: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
		return
	}
	if c.state.Opened && !c.reading {
		c.resolve()
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
		if others := c.strangers(in); len(others) > 0 {
			in.Network = false
			defer c.say(&Message{Level: LevelWarn, Text: lang.L("The symbol path names another server, {{.Server}}, so no server is asked now.", data{"Server": others[0]}),
				Next: lang.L("Switch asking symbol servers on again to ask this one too.")})
		}
	}
	symbols := !was.SameSymbols(&in)
	if !slices.Equal(was.Symbols, in.Symbols) {
		defer c.checkSymbols(true)
	}
	files := was.Log != in.Log || was.Modules != in.Modules || was.Run != in.Run || was.Corrected != in.Corrected
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
	c.updateStatus()
	c.say(nil)
	c.changed(ChangeInputs)
	c.run(&c.opening, lang.L("Opening"), func(ctx context.Context, p app.Progress) func(bool) {
		asked := in
		in := c.withKnownColumns(in)
		s, err := c.engine.Open(ctx, in, p)
		if err != nil && in.ModulesColumns != asked.ModulesColumns && ctx.Err() == nil {
			// They need not fit the file as it is now.
			in = asked
			s, err = c.engine.Open(ctx, in, p)
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
func (c *Controller) opened(in app.Inputs, s Session) {
	old, users := c.session, append(c.analysing.end(), end(&c.following), end(&c.watching))
	follow := c.state.Follow.On && c.shown.Log == s.Inputs().Log
	c.state.Follow = Follow{}
	c.session = s
	c.state.Session++
	c.state.Opened, c.state.Loaded = true, false
	c.state.Found = s.Inputs()
	if in.Log != c.state.Found.Log {
		// The modules file or the folder was given instead of the log.
		in.Log = c.state.Found.Log
	}
	c.state.Wanted, c.shown = in, in
	c.state.Facts = s.Facts()
	c.state.Rows, c.state.View = s.Rows(), nil
	c.state.Filtered, c.state.Selection, c.state.Pending, c.state.FilterError = false, app.Selection{}, nil, nil
	c.state.Search, c.state.Matches, c.counted = Search{Row: -1}, Matches{}, nil
	c.matching = nil
	c.selecting++
	c.state.Modules, c.state.Threads, c.state.File = s.Modules(), s.Threads(), app.Unchanged
	c.updateStatus()
	c.changed(ChangeSource | ChangeInputs | ChangeModules | ChangeFollow | ChangeFilter | ChangeMatches)
	c.retire(old, users...)
	c.trace("rows " + decimal(c.state.Rows.Len()))
	c.load(Session.Load)
	c.watch(app.Unchanged)
	c.SetFollow(follow)
}

// retire closes a session that is no longer shown once nothing works on it.
// A file that is being saved is finished.
func (c *Controller) retire(s Session, users ...<-chan struct{}) {
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
	failed := c.state.Wanted
	if c.state.Opened {
		c.state.Wanted = c.shown
		c.updateStatus()
		if !c.state.Loaded {
			// Opening had cancelled this.
			c.load(Session.Load)
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
	c.changed(ChangeInputs)
}

// load names the rows of the session: by Load, or by something that includes it.
func (c *Controller) load(work func(s Session, ctx context.Context, p app.Progress) error) {
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

func (c *Controller) loaded(s Session, err error) {
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
		c.renewView()
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
	c.load(func(s Session, ctx context.Context, p app.Progress) error {
		return s.SetSymbols(ctx, in, p)
	})
}

// contentGrew shows what the work under way has brought so far.
func (c *Controller) contentGrew() {
	if c.session == nil || time.Since(c.contentAt) < 2*reportEvery {
		return
	}
	c.refresh()
}

func (c *Controller) refresh() {
	c.contentAt = time.Now()
	c.state.Facts = c.session.Facts()
	c.state.Modules, c.state.Threads = c.session.Modules(), c.session.Threads()
	c.updateStatus()
	c.changed(ChangeContent | ChangeInputs | ChangeModules)
}

// Close shows no log.
func (c *Controller) Close() {
	users, s := append(c.analysing.end(), end(&c.opening), end(&c.following), end(&c.watching)), c.session
	c.reading = false
	end(&c.sorting)
	c.session, c.shown, c.failed = nil, app.Inputs{}, ""
	in := c.state.Wanted
	in.Log, in.Modules, in.Run, in.Corrected = "", "", "", false
	c.state = State{Wanted: in, Found: in, Session: c.state.Session + 1, MissingSymbols: c.state.MissingSymbols}
	c.counted, c.matching = nil, nil
	c.selecting++
	c.updateStatus()
	c.changed(ChangeSource | ChangeInputs | ChangeModules | ChangeMessage | ChangeFollow | ChangeFilter | ChangeMatches)
	c.retire(s, users...)
	c.showWork()
}

// Busy reports whether a file is being saved.
func (c *Controller) Busy() bool { return c.saving != nil }

// Partner returns the Index of the other half of the pair that the row with
// this Index belongs to, -1 if it has none.
func (c *Controller) Partner(index int64) int64 {
	if c.session == nil || index < 0 {
		return -1
	}
	if other, ok := c.session.Partner(index); ok {
		return other
	}
	return -1
}

// Row reads a row of the log, also one that is hidden.
func (c *Controller) Row(index int64) (rows.Row, bool) {
	if c.session == nil {
		return rows.Row{}, false
	}
	src := c.session.Rows()
	if index < 0 || index >= src.Len() {
		return rows.Row{}, false
	}
	return src.Row(index), true
}

// All returns all rows of the log, nil without one.
func (c *Controller) All() rows.Source {
	if c.session == nil {
		return nil
	}
	return c.session.Rows()
}

// PlaceOf returns where the row with an Index stands in the shown rows; if it
// is hidden, the nearest before it that is not, or the first.
func (c *Controller) PlaceOf(index int64) int64 {
	switch {
	case c.state.Rows == nil || c.state.Rows.Len() == 0:
		return -1
	case c.state.View == nil:
		return min(index, c.state.Rows.Len()-1)
	}
	at, _ := c.state.View.PositionOf(index)
	return max(at, 0)
}

// Save writes all rows to a file, after the names have come.
func (c *Controller) Save(path, format string, opt app.SaveOptions) {
	c.saveBy(path, func(ctx context.Context, s Session, p app.Progress) ([]string, error) {
		return s.SaveRows(ctx, path, format, s.Rows(), opt, p)
	})
}

// SaveShown writes the rows that are shown, all of them: one that still counts
// them is waited for.
func (c *Controller) SaveShown(path, format string, opt app.SaveOptions) {
	src, v := c.state.Rows, c.state.View
	c.saveBy(path, func(ctx context.Context, s Session, p app.Progress) ([]string, error) {
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
func (c *Controller) MaySave(session int, path string) bool {
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

func (c *Controller) saveBy(path string, write func(ctx context.Context, s Session, p app.Progress) ([]string, error)) {
	s := c.session
	if !c.MaySave(c.state.Session, path) {
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

// MaxCopy is the most rows that are copied at once.
const MaxCopy = 100_000

// Copy hands the rows from first to last, as text with tabs, to done. Of a
// longer range only the first MaxCopy rows are copied, and that is said.
func (c *Controller) Copy(first, last int64, line func(dst []byte, r *rows.Row) []byte, done func(text string)) {
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
