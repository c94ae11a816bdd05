package app

import (
	"errors"
	"slices"

	"logparser/message"
	"logparser/modules"
	"logparser/rows"
	"logparser/symbols"
	"logparser/timeparse"
)

// Inputs are what a session is made from. Only Log is needed.
type Inputs struct {
	// Log is the log file. [Open] also takes the modules file or a folder
	// here and finds the pair; see [FindPair].
	Log string
	// Others are further logs, to be one session with Log; see [Mergeable].
	Others []string
	// Modules is the modules file; "" looks for it beside the log.
	Modules string
	// Symbols is the symbol search path, in order: folders, files, and text in
	// the syntax of _NT_SYMBOL_PATH. What the environment's _NT_SYMBOL_PATH
	// and DEBUGINFOD_URLS name comes after it.
	Symbols []string
	// NoRecordedPaths forbids opening any path that comes out of a file.
	NoRecordedPaths bool
	// LoadMismatched takes names from a file of another build where nothing
	// better is found. Each such name is marked; see [rows.TagFunction].
	LoadMismatched bool
	// Network permits asking the symbol servers of the search path.
	Network bool
	// SymbolCache is the folder for what symbol servers give; "" is a folder
	// of the user's cache. Where it is named, what is inflated of compressed
	// symbol files is kept there too.
	SymbolCache string
	// IndexCache is the folder for the indexes of large logs, which make
	// opening them again quick; "" is a folder of the user's cache.
	// NoIndexCache keeps none, and takes none.
	IndexCache   string
	NoIndexCache bool
	// Corrected takes the recorder's own time off the durations, as far as the
	// log says what it was; see [parser.OverheadTeller].
	Corrected bool
	// Run is "" for the last run, "all", or a run's number counted from 1.
	Run string
	// RecordSize forces a classic record's size, 16 or 24 bytes; 0 detects.
	RecordSize int
	// Encoding forces the modules file's encoding; "" detects.
	Encoding string
	// ModulesColumns says what the columns of the modules file are, such as
	// "base,name,size"; "" finds it out. See [CheckModulesColumns].
	ModulesColumns string
	// StartTime and StartTick replace those of the modules file.
	StartTime string
	StartTick *uint32

	// packed are the files of Log where that is a packed log, nil before it is
	// opened.
	packed *packed
	// live: the log is being written, and is to be followed.
	live bool
}

// CheckStartTime says what is wrong with a text for [Inputs].StartTime.
func CheckStartTime(text string) error {
	_, err := timeparse.ParseStart(text)
	return err
}

// CheckEncoding says what is wrong with a name for [Inputs].Encoding.
func CheckEncoding(name string) error { return modules.CheckEncoding(name) }

// CheckModulesColumns says what is wrong with a text for [Inputs].ModulesColumns.
func CheckModulesColumns(text string) error {
	_, err := modules.ParseColumns(text)
	return err
}

// ModulesColumnsQuestion returns what a modules file's columns may be, as texts
// for [Inputs].ModulesColumns with the most likely first, and its first lines. ok
// is false for errors of [Open] that are about something else.
func ModulesColumnsQuestion(err error) (choices, lines []string, ok bool) {
	var ambiguous *modules.AmbiguousError
	if !errors.As(err, &ambiguous) {
		return nil, nil, false
	}
	for _, c := range ambiguous.Columns {
		choices = append(choices, c.String())
	}
	return choices, ambiguous.Lines, true
}

// takeSymbols takes over what another session's inputs say of symbols.
func (in *Inputs) takeSymbols(other Inputs) {
	in.Symbols, in.NoRecordedPaths, in.LoadMismatched = other.Symbols, other.NoRecordedPaths, other.LoadMismatched
	in.Network, in.SymbolCache = other.Network, other.SymbolCache
}

// SameSymbols reports whether two inputs lead to the same symbols.
func (in *Inputs) SameSymbols(other *Inputs) bool {
	return slices.Equal(in.Symbols, other.Symbols) && in.NoRecordedPaths == other.NoRecordedPaths &&
		in.LoadMismatched == other.LoadMismatched && in.Network == other.Network && in.SymbolCache == other.SymbolCache
}

// A Stage is a part of the work that has its own progress.
type Stage string

const (
	StageOpen    Stage = "open"    // finding the runs; in bytes
	StagePair    Stage = "pair"    // pairing enters and leaves; in records
	StageSymbols Stage = "symbols" // finding symbol files; in modules
	StageResolve Stage = "resolve" // naming addresses; in addresses
	StageFetch   Stage = "fetch"   // asking a symbol server; in bytes
	StageEncode  Stage = "encode"  // keeping symbols; in bytes of code
	StageSave    Stage = "save"    // writing; in rows
	StageSearch  Stage = "search"  // searching; in rows
	StageFilter  Stage = "filter"  // filtering and counting; in rows
)

// A Progress is told how far a stage has come. It is called from the working
// goroutine, at most some twenty times a second, and must not block. It may
// be nil.
type Progress func(stage Stage, done, total int64)

// A ModuleState is a module and its symbols, for the modules panel and
// `logparse symbols`.
type ModuleState struct {
	// Process is the one that loaded it, nil where there is only one.
	Process    *rows.Process
	Name, Path string
	Base, Size uint64
	// Identity is the recorded one in the modules file's form, "-" for none.
	Identity string
	Status   symbols.Status
	// OnRequest says that the status is mismatched, and that names are shown
	// all the same because [Inputs].LoadMismatched asked for them.
	OnRequest bool
	// SymbolFile is the path of the file taken or rejected, Reason a
	// sentence, Attempts every place looked at.
	SymbolFile string
	Reason     message.Text
	Attempts   []symbols.Attempt
	// About is what the module's image says of itself.
	About symbols.About
	// Records counts the rows whose address lies in the module; -1 while
	// that is not known.
	Records int64
}

// A SourceMapping replaces the beginning of recorded source paths.
type SourceMapping struct{ From, To string }
