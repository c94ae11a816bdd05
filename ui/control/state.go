package control

import (
	"logparser/app"
	"logparser/rows"
)

// A Change says what of the state has changed.
type Change uint

const (
	// ChangeSource: Rows is another source.
	ChangeSource Change = 1 << iota
	// ChangeContent: the rows' content has changed, names have come.
	ChangeContent
	// ChangeInputs: the inputs or their states.
	ChangeInputs
	// ChangeModules: modules, threads or runs.
	ChangeModules
	// ChangeProgress: the work under way.
	ChangeProgress
	// ChangeMessage: the message.
	ChangeMessage
	// ChangeFound: a search has ended.
	ChangeFound
	// ChangeGrown: Rows has more rows.
	ChangeGrown
	// ChangeFollow: how the log is followed.
	ChangeFollow
	// ChangeFilter: the selection, an error in its expression, or how many rows
	// it shows.
	ChangeFilter
	// ChangeMatches: the count of matches.
	ChangeMatches
)

// A State is what the window shows.
type State struct {
	// Wanted are the inputs as the user gave them, Found the same with the
	// files that were found for those left empty.
	Wanted, Found app.Inputs
	Log           InputState
	ModulesFile   InputState
	Symbols       InputState

	// Session numbers what was opened: it is another one after each opening and
	// each closing.
	Session int
	// Opening is the name of the log that is being opened, "" for none.
	Opening string
	// Opened: there is a session. Loaded: its names are complete.
	Opened, Loaded bool
	Facts          Facts
	// File is what has become of the log's file since it was opened.
	File app.FileChange
	// MissingSymbols are the elements of the symbol path that are not there.
	MissingSymbols []string
	// Rows is what the table shows, nil without a session.
	Rows rows.Source
	// Preview says that there is no session yet, and Rows are the first of the log that is being
	// opened, of which nothing else is known.
	Preview bool
	// Provisional says that samples of the log speak for these rows, their times and modules: once it is open, they
	// may be others.
	Provisional bool
	Modules     []app.ModuleState
	Threads     []app.Thread

	// Selection is what Rows shows; where it hides rows, or may, Filtered is
	// set and View is Rows. Pending is one whose first rows are not known yet.
	Selection   app.Selection
	Pending     *app.Selection
	Filtered    bool
	View        *app.View
	FilterError *FilterError

	Follow  Follow
	Work    Work
	Message *Message
	Search  Search
	Matches Matches
}

// A Level says how an input or a message is to be taken.
type Level int

const (
	LevelNone Level = iota // nothing given
	LevelBusy
	LevelGood
	LevelWarn
	LevelBad
)

// An InputState is the light beside an input and the words beside that.
type InputState struct {
	Level Level
	Text  string
}

// Work is what is being done in the background.
type Work struct {
	// Title says what, "" for nothing.
	Title       string
	Done, Total int64
	// Slow is set when the work has gone on long enough to be shown.
	Slow bool
}

// Percent says how much is done, to be put behind Title; "" where that is not
// known.
func (w *Work) Percent() string {
	if w.Total <= 0 {
		return ""
	}
	return "  " + decimal(min(max(w.Done, 0), w.Total)*100/w.Total) + " %"
}

// A Message is shown above the table until it is dismissed or replaced.
type Message struct {
	Level Level
	Text  string
	// Next says what the user can do, "" for nothing.
	Next string
	// Details is everything known, for who wants to copy it.
	Details string
	// Offer is a remedy that the window can start.
	Offer Offer
	// Columns goes with OfferColumns.
	Columns *ColumnsQuestion
	// Logs are the paths that go with OfferLogs, the one written last first.
	Logs []string
}

// A ColumnsQuestion is about a modules file that can be read in several ways.
type ColumnsQuestion struct {
	// Choices are the ways, the most likely first, each as
	// [app.Inputs].ModulesColumns has it.
	Choices []string
	// Lines are the first lines of the file.
	Lines []string
}

// An Offer is a remedy that goes with a message.
type Offer int

const (
	OfferNone Offer = iota
	OfferLog
	OfferModules
	OfferSymbols
	OfferPath // to edit the symbol path
	OfferSave
	OfferReload
	OfferColumns // to say what the columns of the modules file are
	OfferShowAll // to take the filter away
	OfferLogs    // to open another log of a folder
	OfferCrash   // to look at how the program crashed
	// OfferProcesses opens the logs of all processes of a recording: the folder that Logs names.
	OfferProcesses
)
