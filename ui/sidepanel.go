package ui

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/message"
	"logparser/rows"
	"logparser/ui/control"
	"logparser/ui/editor"
	"logparser/ui/modulespanel"
	"logparser/ui/sidepanel"
)

// The limits of what is read of a source file.
const (
	sourceAround  = 20       // lines before and after the row's
	maxSourceRead = 32 << 20 // bytes
	maxSourceLine = 400      // letters of a line that are shown
)

// A sidePanel is what stands beside the table.
type sidePanel struct {
	w *workspace

	Content   *container.AppTabs
	call      *sidepanel.Call
	bookmarks *sidepanel.Bookmarks
	modules   *modulespanel.Panel

	callTab, bookmarksTab, modulesTab *container.TabItem

	heat  heat
	asked int // numbers the rows that are asked about; answers to another are late
}

func newSidePanel(w *workspace) *sidePanel {
	p := &sidePanel{w: w, call: sidepanel.NewCall(), bookmarks: sidepanel.NewBookmarks(), modules: modulespanel.New()}
	p.call.OnFrame = w.nav.goTo
	p.call.OnSource = func() { w.side.openSource(w.table.grid.Current()) }
	p.bookmarks.OnGo = w.nav.goTo
	p.bookmarks.OnNote = w.bookmarks.askNote
	p.bookmarks.OnRemove = w.bookmarks.remove
	p.bookmarks.Row = w.ctl.Calls.Row
	p.modules.OnCopy = w.app.Clipboard().SetContent
	p.callTab = container.NewTabItem("", p.call.Content)
	p.bookmarksTab = container.NewTabItem("", p.bookmarks.Content)
	p.modulesTab = container.NewTabItem("", p.modules.Content)
	p.Content = container.NewAppTabs(p.callTab, p.bookmarksTab, p.modulesTab)
	p.Content.SelectIndex(min(max(w.pref.panelTab(), 0), 2))
	p.Content.OnSelected = func(*container.TabItem) {
		w.pref.setPanelTab(p.Content.SelectedIndex())
		w.side.showRow()
		w.actions.show()
	}
	return p
}

func (p *sidePanel) relabel() {
	p.callTab.Text = lang.L("Call")
	p.bookmarksTab.Text = lang.L("Bookmarks")
	p.modulesTab.Text = lang.L("Modules")
	p.Content.Refresh()
	p.call.Relabel()
	p.bookmarks.Relabel()
	p.modules.Relabel()
}

// toggleTab shows a tab of the panel, or hides the panel if it is shown
// already.
func (p *sidePanel) toggleTab(tab *container.TabItem) {
	if p.w.pref.panelShown() && p.Content.Selected() == tab {
		p.toggle()
		return
	}
	p.Content.Select(tab)
	if !p.w.pref.panelShown() {
		p.toggle()
	}
}

// tabShown reports whether a tab of the panel can be seen.
func (p *sidePanel) tabShown(tab *container.TabItem) bool {
	return p.w.pref.panelShown() && p.Content.Selected() == tab
}

// besideDelay is how long a row is to stay the current one before its stack is
// asked for: keys that are held down move faster.
const besideDelay = 60 * time.Millisecond

// showRow brings the panel up to date with the current row: a click on a row comes from the grid
// through logTable.showSelection to here. Its call stack is what query.Stack (calls/query/stack.go)
// finds, asked in the background by control.Calls and app.Session, which adds the names; it is
// shown by sidepanel.Call.ShowStack, or by the view that follows it.
func (p *sidePanel) showRow() {
	p.asked++
	number := p.asked
	r, ok := p.w.table.rowAt(p.w.table.grid.Current())
	if !ok {
		p.call.ShowRow(nil, p.w.table.format, "")
		return
	}
	shown := p.tabShown(p.callTab)
	if !shown && p.w.views.current().followStack == nil {
		return
	}
	if shown {
		p.call.ShowRow(&r, p.w.table.format, p.w.table.annotationAt(p.w.table.grid.Current(), &r))
	}
	p.w.later(besideDelay, func() {
		if p.asked != number {
			return
		}
		p.w.ctl.Calls.Stack(r.Index, func(frames []app.Frame, err error) {
			if p.asked != number {
				return
			}
			if follow := p.w.views.current().followStack; follow != nil {
				follow(r.Index, frames)
			}
			if shown {
				p.call.ShowStack(frames, p.w.table.format.Digits)
				p.w.trace("stack " + control.Thousands(int64(len(frames))))
			}
		})
		if !shown {
			return
		}
		p.w.ctl.Calls.CallSite(r.Index, func(site rows.CallSite) {
			if p.asked == number {
				p.call.ShowCallSite(&site)
				p.w.trace("called from " + site.Function)
			}
		})
		p.readSource(&r, number)
	})
}

// readSource shows the source lines around a row's, read in the background.
func (p *sidePanel) readSource(r *rows.Row, number int) {
	if r.Source == "" || r.Line <= 0 {
		p.call.ShowSource(sidepanel.Source{Remark: lang.L("No source line is known for this row.")})
		return
	}
	p.w.readPlace(r.Source, r.Line, func(s sidepanel.Source) {
		if p.asked != number {
			return
		}
		p.withHeat(r.Source, s, func(s sidepanel.Source) {
			if p.asked == number {
				p.call.ShowSource(s)
			}
		})
		p.w.trace("source " + control.Thousands(int64(len(s.Lines))))
	})
}

// shortPath leaves the last parts of a long path of any system.
func shortPath(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	if len(parts) > 3 {
		return "\u2026/" + strings.Join(parts[len(parts)-3:], "/")
	}
	return path
}

// readLines reads the lines around one of a file.
func readLines(path string, line int) (sidepanel.Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return sidepanel.Source{}, err
	}
	defer f.Close()
	return linesAround(f, line)
}

var errNoLine = message.New("the file has no such line")

func linesAround(r io.Reader, line int) (sidepanel.Source, error) {
	s := sidepanel.Source{First: max(line-sourceAround, 1), Line: line}
	in := bufio.NewReaderSize(io.LimitReader(r, maxSourceRead), 64<<10)
	for n := 1; n <= line+sourceAround; n++ {
		text, more := []byte(nil), true
		var err error
		for more && err == nil {
			var part []byte
			part, more, err = in.ReadLine()
			if n >= s.First && len(text) < 4*maxSourceLine {
				text = append(text, part...)
			}
		}
		if err != nil {
			break
		}
		if n >= s.First {
			s.Lines = append(s.Lines, cleanLine(text))
		}
	}
	if line < s.First || line >= s.First+len(s.Lines) {
		return sidepanel.Source{}, errNoLine
	}
	return s, nil
}

// cleanLine makes a line fit to be shown: tabs become blanks, what is no text
// is replaced.
func cleanLine(text []byte) string {
	var b strings.Builder
	column := 0
	for len(text) > 0 && column < maxSourceLine {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r == '\t':
			for spaces := 4 - column%4; spaces > 0; spaces-- {
				b.WriteByte(' ')
				column++
			}
		case r < ' ' || r == 0x7f:
			b.WriteRune('\u00b7')
			column++
		default:
			b.WriteRune(r)
			column++
		}
	}
	return b.String()
}

// sourceFile finds the file that a recorded path stands for. Where opening
// paths out of files is forbidden, only the user's own mappings count.
func sourceFile(find control.SourceFinder, recorded string, mappings []app.SourceMapping, none bool) (string, error) {
	recorded = rows.CutSourceTag(recorded)
	file, err := find(recorded, mappings)
	if err != nil {
		return "", err
	}
	if none && file == filepath.Clean(recorded) {
		return "", errForbidden
	}
	return file, nil
}

func (p *sidePanel) toggle() {
	p.w.pref.setPanelShown(!p.w.pref.panelShown())
	p.w.arrange()
	p.w.actions.show()
}

// openSource opens a row's source line in the user's editor.
func (p *sidePanel) openSource(row int64) {
	r, ok := p.w.table.rowAt(row)
	if !ok {
		return
	}
	if r.Source == "" {
		p.w.ctl.Say(&control.Message{Level: control.LevelWarn, Text: lang.L("No source line is known for this row."),
			Next: lang.L("Lines come from .pdb files and DWARF; the modules panel says what was found."), Offer: control.OfferSymbols})
		return
	}
	p.w.openPlace(r.Source, r.Line)
}

// sourceCommand returns the command that opens the file that a recorded path
// stands for.
func sourceCommand(find control.SourceFinder, recorded string, line int, mappings []app.SourceMapping, template string, none bool) ([]string, error) {
	file, err := sourceFile(find, recorded, mappings, none)
	if err != nil {
		return nil, err
	}
	return editor.Command(template, file, line)
}
