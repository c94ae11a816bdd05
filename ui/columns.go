package ui

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/app"
	"logparser/ui/control"
)

// columnKinds are what a column of a modules file may be, in the words of
// [app.Inputs].ModulesColumns.
var columnKinds = []string{"base:hex", "base:dec", "size:hex", "size:dec", "end:hex", "end:dec", "name", "-"}

// columnKindNames are the same for a person, in the window's language.
func columnKindNames() []string {
	return []string{
		lang.L("load address, hexadecimal"), lang.L("load address, decimal"),
		lang.L("size, hexadecimal"), lang.L("size, decimal"),
		lang.L("address behind the end, hexadecimal"), lang.L("address behind the end, decimal"),
		lang.L("name or path"), lang.L("something else"),
	}
}

// A columnsForm asks what the columns of a modules file are: above the file's
// first lines, then the ways in which they can be read, and a choice for
// each column.
type columnsForm struct {
	content fyne.CanvasObject
	ways    *widget.RadioGroup
	row     *fyne.Container
	columns []*widget.Select
	trouble *widget.Label
	choices []string
	// onChange is told whether the choice can be taken.
	onChange func(ok bool)
}

func newColumnsForm(q *control.ColumnsQuestion) *columnsForm {
	f := &columnsForm{choices: q.Choices, row: container.NewStack(), trouble: widget.NewLabel("")}
	lines := widget.NewLabel(strings.Join(q.Lines, "\n"))
	lines.TextStyle.Monospace = true
	names := make([]string, len(q.Choices))
	for i, c := range q.Choices {
		names[i] = columnsInWords(c)
	}
	f.ways = widget.NewRadioGroup(names, func(chosen string) {
		if i := slices.Index(names, chosen); i >= 0 {
			f.show(q.Choices[i])
		}
	})
	f.trouble.Importance = widget.DangerImportance
	f.trouble.Wrapping = fyne.TextWrapWord
	f.content = container.NewBorder(
		container.NewVBox(widget.NewLabel(lang.L("The first lines of the file:")), container.NewHScroll(lines)), nil, nil, nil,
		container.NewVScroll(container.NewVBox(f.ways, f.row, f.trouble)))
	f.ways.SetSelected(names[0])
	return f
}

// columnsInWords says columns such as "base:hex,size:hex,name" in words.
func columnsInWords(columns string) string {
	words := strings.Split(columns, ",")
	names := columnKindNames()
	for i, w := range words {
		if k := slices.Index(columnKinds, w); k >= 0 {
			words[i] = names[k]
		}
	}
	return strings.Join(words, " | ")
}

// show lets the choices of the single columns be those of one way.
func (f *columnsForm) show(columns string) {
	names := columnKindNames()
	f.columns = nil
	line := container.NewGridWithColumns(strings.Count(columns, ",") + 1)
	for _, w := range strings.Split(columns, ",") {
		s := widget.NewSelect(names, nil)
		s.SetSelectedIndex(max(slices.Index(columnKinds, w), 0))
		s.OnChanged = func(string) { f.check() }
		f.columns = append(f.columns, s)
		line.Add(s)
	}
	f.row.Objects = []fyne.CanvasObject{line}
	f.row.Refresh()
	f.check()
}

// value returns what is chosen, as [app.Inputs].ModulesColumns has it.
func (f *columnsForm) value() string {
	words := make([]string, len(f.columns))
	for i, s := range f.columns {
		words[i] = columnKinds[max(s.SelectedIndex(), 0)]
	}
	return strings.Join(words, ",")
}

func (f *columnsForm) check() {
	ok := app.CheckModulesColumns(f.value()) == nil
	f.trouble.SetText("")
	if !ok {
		f.trouble.SetText(lang.L("There must be one load address, one name, and one size or one address behind the end."))
	}
	if f.onChange != nil {
		f.onChange(ok)
	}
}

// askColumns asks what the columns of the modules file are, and opens the log with
// the answer.
func (ds *dialogs) askColumns(q *control.ColumnsQuestion) {
	f := newColumnsForm(q)
	var d *dialog.CustomDialog
	ok := widget.NewButton(lang.L("OK"), func() {
		d.Hide()
		ds.w.front.ctl.Inputs.SetModulesColumns(f.value())
	})
	ok.Importance = widget.HighImportance
	f.onChange = func(right bool) {
		if right {
			ok.Enable()
		} else {
			ok.Disable()
		}
	}
	d = dialog.NewCustomWithoutButtons(lang.L("Columns of the modules file"), f.content, ds.w.win)
	d.SetButtons([]fyne.CanvasObject{widget.NewButton(lang.L("Cancel"), func() { d.Hide() }), ok})
	ds.open(d, 820, 460)
}
