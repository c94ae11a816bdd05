package control

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/message"
	"logparser/rows/filter"
)

// data is what a translated text is filled with.
type data = map[string]any

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// Thousands writes a number with its thousands apart, as people read it.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count writes a number and what is counted, in the user's language: one is
// the text for 1, many that for any other number, both with {{.N}}. (Fyne's own
// plurals go by the system's language, which need not be the chosen one.)
func Count(one, many string, n int64) string {
	text := many
	if n == 1 {
		text = one
	}
	return lang.L(text, data{"N": Thousands(n)})
}

func stageTitle(title string, stage app.Stage) string {
	switch stage {
	case app.StageOpen:
		return lang.L("Reading the log")
	case app.StagePair:
		return lang.L("Pairing enters and leaves")
	case app.StageSymbols:
		return lang.L("Finding symbol files")
	case app.StageResolve:
		return lang.L("Naming addresses")
	}
	return title
}

// fetchTitle says what is being fetched from a symbol server, from which one,
// and how much of it has come; title is said where that is not known.
func fetchTitle(title, address string, bytes int64) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return title
	}
	title = lang.L("Fetching {{.Name}} from {{.Host}}", data{"Name": path.Base(u.Path), "Host": u.Host})
	if bytes > 0 {
		title += fmt.Sprintf(" · %.1f MB", float64(bytes)/1e6)
	}
	return title
}

// Hosts returns the hosts of symbol servers, each once.
func Hosts(servers []string) []string {
	var hosts []string
	for _, s := range servers {
		if u, err := url.Parse(strings.TrimPrefix(s, "debuginfod:")); err == nil && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}

// cause puts an error into words for the window.
func cause(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return lang.L("there is no such file")
	case errors.Is(err, fs.ErrPermission):
		return lang.L("permission denied")
	case isFull(err):
		return lang.L("the disk is full")
	case errors.Is(err, context.Canceled):
		return lang.L("stopped")
	}
	var in *app.InputError
	if errors.As(err, &in) {
		// The path is said before it.
		return ErrorText(in.Cause())
	}
	return ErrorText(err)
}

// notSaved is the message for a file that could not be saved.
func notSaved(err error) *Message {
	m := &Message{Level: LevelBad, Text: lang.L("Not saved: {{.Cause}}", data{"Cause": cause(err)}),
		Next: lang.L("The file is as it was before. Choose another place or name."), Details: ErrorText(err), Offer: OfferSave}
	if errors.Is(err, app.ErrRecordedTimes) {
		m.Next = RecordedTimes()
	}
	return m
}

// RecordedTimes says what can be done where a format takes no corrected durations.
func RecordedTimes() string {
	return lang.L("Choose another format, or switch off \"Durations without the recorder's own time\" in the menu View.")
}

// openFailed is the message for a session that could not be opened.
func openFailed(in app.Inputs, err error) *Message {
	m := &Message{
		Level: LevelBad, Details: ErrorText(err), Offer: OfferLog,
		Text: lang.L("Cannot open {{.Name}}: {{.Cause}}", data{"Name": filepath.Base(in.Log), "Cause": cause(err)}),
		Next: lang.L("Choose the log itself: the file that the recorder wrote (LogDetails.dat)."),
	}
	var failed *app.InputError
	if errors.As(err, &failed) && failed.Input == app.ModulesInput {
		m.Text = lang.L("Cannot open {{.Name}}: {{.Cause}}", data{"Name": filepath.Base(failed.Path), "Cause": cause(err)})
		m.Next = lang.L("Choose the modules file that was written with this log (LogDetails.bin).")
		m.Offer = OfferModules
	}
	if choices, lines, ok := app.ModulesColumnsQuestion(err); ok && failed != nil {
		// It may have been found beside the log.
		m.Text = lang.L("Cannot open {{.Name}}: {{.Cause}}", data{"Name": filepath.Base(failed.Path), "Cause": cause(err)})
		m.Next = lang.L("Say what its columns are.")
		m.Offer, m.Columns = OfferColumns, &ColumnsQuestion{choices, lines}
	}
	if errors.Is(err, app.ErrNoOverhead) {
		m.Next = lang.L("Switch off \"Durations without the recorder's own time\" in the menu View.")
	}
	return m
}

// openStopped is the message for a log whose opening the user has stopped; shown
// says that another one is shown.
func openStopped(in app.Inputs, shown bool) *Message {
	m := &Message{Level: LevelWarn, Text: lang.L("Opening {{.Name}} was stopped.", data{"Name": filepath.Base(in.Log)})}
	if !shown {
		m.Offer = OfferReload
	}
	return m
}

// filterError puts what is wrong with a filter expression into words.
func filterError(expr string, err error) *FilterError {
	e := &FilterError{Where: expr, Text: ErrorText(err)}
	var at *filter.Error
	if errors.As(err, &at) {
		e.Offset, e.Text = at.Offset, Translate(at.Text)
	}
	return e
}

// warning puts what must be known of a log into words, with what the window has for
// it.
func warning(w app.Warning) string {
	text := data{"Warning": Translate(w.Text)}
	switch w.Kind {
	case app.RunsLeftOut:
		return lang.L("{{.Warning}} (choose the run above the table)", text)
	case app.BadModulesFile:
		return lang.L("{{.Warning}}; choose another", text)
	case app.ExportsOnly:
		return lang.L("{{.Warning}}; add their folder to the symbol path", text)
	case app.Rebuilt:
		return lang.L("{{.Warning}}; logparse keep, run while the program is as it was recorded, keeps a log's names", text)
	}
	return Translate(w.Text)
}

// Translate says a text of the engine in the present language.
func Translate(t message.Text) string {
	return t.In(func(key string) string { return lang.L(key) })
}

// ErrorText says an error in the present language.
func ErrorText(err error) string { return Translate(message.Of(err)) }
