package ui

import (
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"logparser/message"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/control"
	"logparser/ui/grid"
	"logparser/ui/hint"
	"logparser/ui/inputs"
)

// Rules colour the rows that expressions fit, in all logs; they are kept in the preferences. What a log's own
// highlights say of a cell goes before them, and the first rule that fits a row before those behind it.

// A rule is one of them.
type colouring struct {
	where  string
	colour int // from 1 on
	expr   *filter.Expr
}

// maxColourings bounds what each row is compared with.
const maxColourings = 50

var (
	errColoursAll   = message.New("it fits all rows")
	errColoursCalls = message.New("in:, call: and self: need more than the row; a rule cannot have them")
)

// newColouring makes a rule, unless its expression needs more than a row, is none or is wrong.
func newColouring(where string, colour int) (colouring, error) {
	e, err := filter.Parse(where)
	switch {
	case err != nil:
		return colouring{}, err
	case e.IsAll():
		return colouring{}, errColoursAll
	case !byRow(e):
		return colouring{}, errColoursCalls
	}
	return colouring{where, min(max(colour, 1), grid.Labels), e}, nil
}

// byRow reports whether a row alone decides about an expression.
func byRow(e *filter.Expr) bool {
	if e.Kind == filter.Leaf {
		return !slices.Contains([]filter.Column{filter.In, filter.Call, filter.Self}, e.Term.Column)
	}
	return !slices.ContainsFunc(e.Args, func(a *filter.Expr) bool { return !byRow(a) })
}

// ruleNeeds returns what an expression needs to be filled in of the rows that it is compared with.
func ruleNeeds(e *filter.Expr) rows.Fields {
	var f rows.Fields
	for _, a := range e.Args {
		f |= ruleNeeds(a)
	}
	if e.Kind != filter.Leaf {
		return f
	}
	switch c := e.Term.Column; {
	case c.IsValue():
		f |= rows.Values
	case c == filter.Thread && e.Term.Op != filter.Between:
		f |= rows.ThreadNames
	case c.Entry() != nil:
		f |= c.Entry().Needs
	}
	return f
}

// colouredRow is what rules know: the rows have been filled in with what they need.
type colouredRow struct{ noEnv }

// ThreadName implements [filter.Env].
func (colouredRow) ThreadName(r *rows.Row) string {
	if r.Filled&rows.ThreadNames == 0 {
		return ""
	}
	return r.ThreadName
}

// colourings are those of the preferences. One that is not understood is left out.
func (p preferences) colourings() []colouring {
	list, _ := p.readColourings()
	return list
}

// readColourings returns the rules, and what else is kept as one: another version may understand it.
func (p preferences) readColourings() (list []colouring, others []string) {
	for _, s := range p.p.StringList("highlights") {
		colour, where, _ := strings.Cut(s, " ")
		n, err := strconv.Atoi(colour)
		var r colouring
		if err == nil {
			r, err = newColouring(where, n)
		}
		if err != nil || len(list) == maxColourings {
			others = append(others, s)
			continue
		}
		list = append(list, r)
	}
	return list, others
}

// setColourings keeps rules, before those that are not understood.
func (p preferences) setColourings(list []colouring) {
	_, others := p.readColourings()
	texts := []string{}
	for _, r := range list {
		texts = append(texts, strconv.Itoa(r.colour)+" "+r.where)
	}
	p.p.SetStringList("highlights", append(texts, others...))
}

// A coloured row is the one whose colour was found last: its cells are drawn one after the other.
type coloured struct {
	row    rows.Row
	colour int
	some   bool
}

// rowColour is the colour that rules give a row, 0 for none.
func (fs *filters) rowColour(r *rows.Row) int {
	if len(fs.colourings) == 0 {
		return 0
	}
	if l := &fs.coloured; l.some && l.row.Index == r.Index && l.row.Function == r.Function && l.row.Duration == r.Duration && l.row.Filled == r.Filled && l.row.ThreadName == r.ThreadName {
		return l.colour
	}
	fs.coloured = coloured{row: *r, some: true}
	for i := range fs.colourings {
		if fs.colourings[i].expr.Matches(r, colouredRow{}) {
			fs.coloured.colour = fs.colourings[i].colour
			break
		}
	}
	return fs.coloured.colour
}

// ruleNeeds returns what the rules need to be filled in of rows.
func (fs *filters) ruleNeeds() rows.Fields {
	var f rows.Fields
	for i := range fs.colourings {
		f |= ruleNeeds(fs.colourings[i].expr)
	}
	return f
}

// setColourings colours the rows of all tabs by other rules.
func (w *Window) setColourings(list []colouring) {
	w.pref.setColourings(list)
	for _, tab := range w.tabs.list {
		tab.filters.colourings, tab.filters.coloured = list, coloured{}
		tab.table.readColumns()
		tab.table.grid.Reload()
	}
	w.trace("rules " + strconv.Itoa(len(list)))
}

// colourNames are the colours of highlights, the first is number 1.
func colourNames() []string {
	return []string{lang.L("Orange"), lang.L("Green"), lang.L("Blue"), lang.L("Violet"), lang.L("Red"), lang.L("Grey")}
}

// A colouringLine is a rule in the dialog.
type colouringLine struct {
	where   *inputs.Entry
	colour  *widget.Select
	content fyne.CanvasObject
}

// A colouringsForm edits the rules.
type colouringsForm struct {
	lines   []*colouringLine
	list    *fyne.Container
	trouble *widget.Label
	more    *widget.Button
	full    *widget.Label // says why there can be no more
	content fyne.CanvasObject
	entry   func() *inputs.Entry
}

func newColouringsForm(colourings []colouring, entry func() *inputs.Entry) *colouringsForm {
	f := &colouringsForm{list: container.NewVBox(), trouble: widget.NewLabel(""), entry: entry}
	f.trouble.Importance, f.trouble.Wrapping = widget.DangerImportance, fyne.TextWrapWord
	about := widget.NewLabel(lang.L("Rows that an expression fits have its colour, in all logs; the first that fits counts. As in the filter: func:Draw dur:>5ms"))
	about.Wrapping, about.Importance = fyne.TextWrapWord, widget.LowImportance
	f.more = widget.NewButtonWithIcon(lang.L("Add a rule"), theme.ContentAddIcon(), func() { f.add("", len(f.lines)%grid.Labels+1) })
	f.full = widget.NewLabel(lang.L("There can be no more than {{.N}} rules.", data{"N": maxColourings}))
	f.content = container.NewBorder(about, container.NewVBox(f.trouble, container.NewHBox(f.more, f.full)), nil, nil, container.NewVScroll(f.list))
	for _, r := range colourings {
		f.add(r.where, r.colour)
	}
	f.show()
	return f
}

// add adds a line, unless there are too many.
func (f *colouringsForm) add(where string, colour int) {
	if len(f.lines) >= maxColourings {
		return
	}
	l := &colouringLine{where: f.entry(), colour: widget.NewSelect(colourNames(), nil)}
	l.where.SetText(where)
	l.where.SetPlaceHolder(lang.L("Filter: func:Draw thread:12 dur:>5ms -module:ntdll"))
	l.colour.SetSelectedIndex(colour - 1)
	up := hint.NewButton("", theme.MoveUpIcon(), func() { f.up(l) })
	up.Hint = func() string { return lang.L("Before the rule above it") }
	remove := hint.NewButton("", theme.DeleteIcon(), func() { f.remove(l) })
	remove.Hint = func() string { return lang.L("Takes the rule away") }
	up.Importance, remove.Importance = widget.LowImportance, widget.LowImportance
	l.content = container.NewBorder(nil, nil, l.colour, container.NewHBox(up, remove), l.where)
	f.lines = append(f.lines, l)
	f.show()
}

func (f *colouringsForm) show() {
	f.list.Objects = nil
	for _, l := range f.lines {
		f.list.Objects = append(f.list.Objects, l.content)
	}
	f.list.Refresh()
	full := len(f.lines) >= maxColourings
	show(f.full, full)
	if full {
		f.more.Disable()
	} else {
		f.more.Enable()
	}
}

func (f *colouringsForm) remove(l *colouringLine) {
	f.lines = slices.DeleteFunc(f.lines, func(o *colouringLine) bool { return o == l })
	f.show()
}

// up moves a rule before the one above it.
func (f *colouringsForm) up(l *colouringLine) {
	if i := slices.Index(f.lines, l); i > 0 {
		f.lines[i-1], f.lines[i] = f.lines[i], f.lines[i-1]
		f.show()
	}
}

// colourings returns what the lines say; of a wrong one it says why, and reports false. Empty lines are none.
func (f *colouringsForm) colourings() ([]colouring, bool) {
	list := []colouring{}
	f.trouble.SetText("")
	for _, l := range f.lines {
		where := strings.TrimSpace(l.where.Text)
		if where == "" {
			continue
		}
		r, err := newColouring(where, l.colour.SelectedIndex()+1)
		if err != nil {
			f.trouble.SetText(where + ": " + control.Cause(err))
			return nil, false
		}
		list = append(list, r)
	}
	return list, true
}

// editColourings edits the rules; one for where is added, if that is not "".
func (ds *dialogs) editColourings(where string) {
	f := newColouringsForm(ds.w.pref.colourings(), ds.newEntry)
	if where != "" || len(f.lines) == 0 {
		f.add(where, len(f.lines)%grid.Labels+1)
	}
	ds.colourings = f
	var d *dialog.CustomDialog
	ok := widget.NewButton(lang.L("OK"), func() {
		if list, right := f.colourings(); right {
			d.Hide()
			ds.w.setColourings(list)
		}
	})
	ok.Importance = widget.HighImportance
	d = dialog.NewCustomWithoutButtons(lang.L("Highlight rules"), ds.over(f.content), ds.w.win)
	d.SetButtons([]fyne.CanvasObject{widget.NewButton(lang.L("Cancel"), func() { d.Hide() }), ok})
	ds.open(d, 720, 460)
	ds.w.win.Canvas().Focus(f.lines[len(f.lines)-1].where)
}
