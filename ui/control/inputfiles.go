package control

import (
	"context"
	"path/filepath"
	"slices"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// InputFiles are the log, its modules file and the symbol path, as the user gives
// them.
type InputFiles struct {
	c      *Controller
	agreed []string // the servers that the user agreed to have asked
}

// Restore sets the inputs that say where symbols are as they were remembered;
// agreed are the servers that the user agreed to have asked. It is called
// before anything is opened.
func (i *InputFiles) Restore(in app.Inputs, agreed []string) {
	c := i.c
	i.agreed = agreed
	in.Network = in.Network && len(i.strangers(in)) == 0
	c.state.Wanted, c.state.Found = in, in
	c.updateStatus()
	c.checkSymbols(false)
}

// Agreed returns the servers that the user agreed to have asked.
func (i *InputFiles) Agreed() []string { return i.agreed }

// strangers returns the servers of a search path that the user has not agreed
// to have asked.
func (i *InputFiles) strangers(in app.Inputs) []string {
	return slices.DeleteFunc(app.Servers(in.Symbols), func(s string) bool { return slices.Contains(i.agreed, s) })
}

// Give takes files and folders in any order, as they are dropped on the
// window or given as arguments, and uses each for what it is.
func (i *InputFiles) Give(paths []string) {
	if len(paths) == 0 {
		return
	}
	i.give(paths, func(f Files) {
		if i.c.OnFiles == nil || !i.c.OnFiles(f) {
			i.Take(f)
		}
	})
}

func (i *InputFiles) give(paths []string, use func(Files)) {
	c := i.c
	c.run(&c.sorting, lang.L("Looking at the files"), func(ctx context.Context, p app.Progress) func(bool) {
		files := sortPaths(paths)
		return func(current bool) {
			if current {
				use(files)
			}
		}
	})
}

// Take uses files that were put to their use already, whatever OnFiles says.
func (i *InputFiles) Take(g Files) {
	c := i.c
	in := c.state.Wanted
	in.Symbols = slices.Clone(in.Symbols)
	for _, s := range g.symbols {
		if !slices.Contains(in.Symbols, s) {
			in.Symbols = append(in.Symbols, s)
		}
	}
	if g.log != "" {
		// What another log's recorder cost need not be known.
		in.Log, in.Modules, in.ModulesColumns, in.Run, in.Corrected = g.log, "", "", "", in.Corrected && g.log == in.Log && len(g.beside) == 0
		in.Others = g.beside
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
	if len(g.texts) > 0 {
		c.trace("text")
		if c.OnText != nil {
			c.OnText(g.texts[0])
		}
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
func (i *InputFiles) SetLog(path string) {
	c := i.c
	path = cleanPath(path)
	in := c.state.Wanted
	if len(in.Others) > 0 && path == JoinPaths(in.Logs()) {
		// The line shows several.
		i.give(in.Logs(), i.Take)
		return
	}
	if path != "" {
		i.give([]string{path}, i.Take)
		return
	}
	in.Log, in.Others, in.Run, in.Corrected = "", nil, "", false
	if c.state.Opened {
		in.Modules = ""
	}
	c.apply(in)
}

// SetLive chooses a log that is being written, which is followed from its beginning.
func (i *InputFiles) SetLive(path string) {
	i.SetLog(path)
	i.c.live = cleanPath(path)
}

// SetModules chooses the modules file; "" looks beside the log.
func (i *InputFiles) SetModules(path string) {
	c := i.c
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
				i.Take(Files{log: path})
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
func (i *InputFiles) SetModulesColumns(columns string) {
	c := i.c
	in := c.state.Wanted
	in.ModulesColumns = columns
	c.apply(in)
}

// SetSymbols chooses the symbol search path.
func (i *InputFiles) SetSymbols(paths []string) {
	c := i.c
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
func (i *InputFiles) SetRun(run string) {
	c := i.c
	in := c.state.Wanted
	in.Run = run
	c.apply(in)
}

// SetCorrected takes the recorder's own time off the durations, or leaves it in.
func (i *InputFiles) SetCorrected(corrected bool) {
	c := i.c
	in := c.state.Wanted
	in.Corrected = corrected
	c.apply(in)
}

// SetNoRecordedPaths forbids or permits opening paths that come out of files.
func (i *InputFiles) SetNoRecordedPaths(no bool) {
	c := i.c
	in := c.state.Wanted
	in.NoRecordedPaths = no
	c.apply(in)
}

// SetNetwork permits asking the servers that the search path names now, or
// forbids asking any. A server that is named later is asked only after this
// is called again.
func (i *InputFiles) SetNetwork(on bool) {
	c := i.c
	in := c.state.Wanted
	in.Network = on
	if on {
		i.agreed = app.Servers(in.Symbols)
	}
	c.apply(in)
}

// SetLoadMismatched permits or forbids names of files of another build.
func (i *InputFiles) SetLoadMismatched(load bool) {
	c := i.c
	if in := c.state.Wanted; in.LoadMismatched != load {
		in.LoadMismatched = load
		c.apply(in)
	}
}

// SetSymbolCache chooses the folder for what servers give, "" for the user's.
func (i *InputFiles) SetSymbolCache(dir string) {
	c := i.c
	in := c.state.Wanted
	in.SymbolCache = cleanPath(dir)
	c.apply(in)
}

// AskAgain forgets what servers did not have, and asks them again.
func (i *InputFiles) AskAgain() {
	c := i.c
	if err := app.ForgetMisses(c.state.Wanted); err != nil {
		c.say(&Message{Level: LevelBad, Text: lang.L("What servers did not have could not be forgotten: {{.Cause}}", data{"Cause": cause(err)}), Details: ErrorText(err)})
		return
	}
	if c.state.Opened && !c.reading {
		c.resolve()
	}
}
