package control

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/message"
)

// Files are paths that were given of paths, each put to its use.
type Files struct {
	log, modules string
	symbols      []string
	unknown      []*app.InputError
	// texts are those for people that have addresses in them.
	texts []string
	// beside are the further logs that are opened together with log.
	beside []string
	// noLog are the folders among symbols, empty those that are not since there
	// is nothing in them, and more the logs that are not opened.
	noLog, empty, more []string
	// folder is one with several logs, of which others are not opened.
	folder string
	others []string
}

// Logs returns the logs among them, in the order in which they were given.
func (f *Files) Logs() []string {
	if f.log == "" {
		return nil
	}
	return slices.Concat([]string{f.log}, f.beside, f.more)
}

// Together reports whether several logs can be opened as one session.
func (f *Files) Together() bool { return len(f.beside) > 0 }

// Apart returns one log each. What came with several is kept for the first, but
// where symbols lie, which is for all; a modules file belongs to one log only, and
// several look for theirs.
func (f *Files) Apart() []Files {
	logs := f.Logs()
	if len(logs) < 2 {
		return []Files{*f}
	}
	list := make([]Files, len(logs))
	for i, log := range logs {
		list[i] = Files{log: log, symbols: slices.Clone(f.symbols)}
		if i == 0 {
			list[i].texts = f.texts
			list[i].unknown, list[i].noLog, list[i].empty = f.unknown, f.noLog, f.empty
			list[i].folder, list[i].others = f.folder, f.others
		}
	}
	return list
}

// sortPaths tells a log, a modules file and symbol paths from each other by
// what is in them, so that neither order nor place matters. Several traces are
// opened together, of other logs the first is taken.
func sortPaths(paths []string) Files {
	var g Files
	for _, p := range paths {
		p = FromURI(p)
		switch kind, err := kindOf(p); {
		case err != nil:
			g.unknown = append(g.unknown, &app.InputError{Path: p, Err: err})
		case kind == kindFolder:
			// A folder is where a log lies, or else where symbols lie.
			var several *app.SeveralLogs
			switch log, _, err := app.FindPair(p); {
			case err == nil && g.log == "":
				g.log = log
			case errors.As(err, &several) && several.Together && g.log == "":
				g.log, g.more = several.Logs[0], append(g.more, several.Logs[1:]...)
			case errors.As(err, &several) && g.log == "":
				g.log, g.folder, g.others = several.Logs[0], p, several.Logs[1:]
			case isEmpty(p):
				g.empty = append(g.empty, p)
			default:
				g.symbols = append(g.symbols, p)
				if err != nil {
					g.noLog = append(g.noLog, p)
				}
			}
		case kind == kindSymbols:
			g.symbols = append(g.symbols, p)
		case kind == kindModules:
			g.modules = p
		case kind == kindText:
			g.texts = append(g.texts, p)
		case g.log == "":
			g.log = p
		default:
			g.more = append(g.more, p)
		}
	}
	if len(g.more) > 0 && !slices.ContainsFunc(append(g.more, g.log), func(log string) bool { return !app.Mergeable(log) }) {
		g.beside, g.more = g.more, nil
	}
	if g.log == "" && g.modules != "" {
		if log, _, err := app.FindPair(g.modules); err == nil && log != g.modules {
			g.log = log
		}
	}
	return g
}

// isEmpty reports whether a folder has nothing in it.
func isEmpty(dir string) bool {
	f, err := os.Open(dir)
	if err != nil {
		return false
	}
	defer f.Close()
	_, err = f.Readdirnames(1)
	return err == io.EOF
}

// tell says what was made of paths where that is not what giving them asks for,
// as a log: nil for nothing. opened says that a log is shown.
func (g *Files) tell(opened bool) *Message {
	name := func(list []string) data { return data{"Name": filepath.Base(list[0])} }
	switch {
	case len(g.others) > 0:
		return &Message{Level: LevelWarn, Offer: OfferLogs, Logs: g.others,
			Text: lang.L("{{.Name}} holds {{.N}} logs; {{.Log}}, which was written last, is opened.",
				data{"Name": filepath.Base(g.folder), "N": Thousands(int64(len(g.others) + 1)), "Log": filepath.Base(g.log)})}
	case len(g.more) > 0:
		return &Message{Level: LevelWarn, Text: lang.L("Several logs were given; only {{.Name}} is opened.", data{"Name": filepath.Base(g.log)}), Details: strings.Join(g.more, "\n")}
	case len(g.empty) > 0:
		return &Message{Level: LevelWarn, Text: lang.L("The folder {{.Name}} is empty; nothing was done with it.", name(g.empty)), Details: strings.Join(g.empty, "\n")}
	case len(g.texts) > 1:
		return &Message{Level: LevelWarn, Text: lang.L("Several texts with addresses were given; only {{.Name}} is shown.", name(g.texts)), Details: strings.Join(g.texts, "\n")}
	case len(g.texts) > 0:
		return &Message{Level: LevelGood, Text: lang.L("{{.Name}} was taken as a text with addresses.", name(g.texts))}
	case g.log != "":
		return nil
	case g.modules != "":
		m := &Message{Level: LevelWarn, Text: lang.L("{{.Name}} is text, not a log; it was taken as the modules file.", data{"Name": filepath.Base(g.modules)})}
		if !opened {
			m.Next, m.Offer = lang.L("Choose the log that was written with it."), OfferLog
		}
		return m
	case len(g.noLog) > 0:
		return &Message{Level: LevelWarn, Text: lang.L("{{.Name}} is not a log and holds none; it was added to the symbol path.", name(g.noLog))}
	case len(g.symbols) > 0 && !opened:
		return &Message{Level: LevelWarn, Text: lang.L("{{.Name}} is not a log and holds none; it was added to the symbol path.", name(g.symbols)),
			Next: lang.L("Choose the log that it belongs to."), Offer: OfferLog}
	}
	return nil
}

type kind int

const (
	kindLog kind = iota
	kindModules
	kindSymbols
	kindFolder
	kindText
)

// kindOf looks at a file's first bytes.
func kindOf(path string) (kind, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return kindFolder, nil
	}
	if !info.Mode().IsRegular() {
		// A pipe would have to be read to its end before any of it is shown.
		return 0, message.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return 0, err
	}
	head = head[:n]
	for _, magic := range []string{"\x7fELF", "MZ", "Microsoft C/C++ MSF", "BSJB"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return kindSymbols, nil
		}
	}
	if strings.EqualFold(filepath.Ext(path), ".pdb") || strings.EqualFold(filepath.Ext(path), ".debug") {
		return kindSymbols, nil
	}
	if app.IsContainer(head) {
		if strings.EqualFold(filepath.Ext(path), ".lpsym") {
			return kindSymbols, nil
		}
		return kindLog, nil
	}
	if !isText(head) {
		return kindLog, nil
	}
	switch app.KindOfText(head) {
	case app.TextLog:
		return kindLog, nil
	case app.TextAddresses:
		return kindText, nil
	}
	return kindModules, nil
}

// isText reports whether the beginning of a file is text in any encoding that
// a modules file may have.
func isText(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return true
	}
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	unlikely := 0
	for _, b := range head {
		switch {
		case b == 0:
			return false
		case b < ' ' && b != '\t' && b != '\n' && b != '\r' && b != '\f':
			unlikely++
		}
	}
	return unlikely == 0 && (utf8.Valid(head[:len(head)-min(len(head)-1, 3)]) || bytes.Contains(head, []byte("\n")))
}

// FromURI turns a file:// URI into a path; anything else is a path already.
func FromURI(s string) string {
	if !strings.HasPrefix(strings.ToLower(s), "file://") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.Path == "" {
		return s
	}
	p := u.Path
	if runtime.GOOS == "windows" {
		// file:///C:/x has the path /C:/x.
		if len(p) > 2 && p[0] == '/' && p[2] == ':' {
			p = p[1:]
		}
		if u.Host != "" && u.Host != "localhost" {
			p = "//" + u.Host + p
		}
	}
	return filepath.FromSlash(p)
}

// A SourceFinder returns the file on this machine that a recorded source path stands for;
// see [app.SourceFile].
type SourceFinder func(recorded string, mappings []app.SourceMapping) (string, error)

// SourceFinder returns the one for the rows that are shown: a packed log has its own files.
func (c *Controller) SourceFinder() SourceFinder {
	if c.session == nil {
		return func(recorded string, mappings []app.SourceMapping) (string, error) {
			return app.SourceFile(recorded, mappings, !c.state.Wanted.NoRecordedPaths)
		}
	}
	return c.session.SourceFile
}
