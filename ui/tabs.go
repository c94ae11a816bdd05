package ui

import (
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/dialog"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"logparser/ui/control"
	"logparser/ui/tabbar"
)

// tabs are the workspaces of the window, one of which is in front. While there is only
// one, no bar takes room.
type tabs struct {
	w       *Window
	list    []*workspace
	bar     *tabbar.Bar
	body    *fyne.Container // what the tab in front shows
	content fyne.CanvasObject
}

// maxTabs bounds how many logs given at once are opened.
const maxTabs = 50

func newTabs(w *Window) tabs {
	t := tabs{w: w, bar: tabbar.New(), body: container.NewStack()}
	t.bar.Content.Hide()
	t.bar.OnChoose = func(i int) { w.tabs.choose(w.tabs.list[i]) }
	t.bar.OnClose = func(i int) {
		if !w.dialogs.modal() {
			w.tabs.close(w.tabs.list[i])
		}
	}
	t.bar.OnNew = w.actions.actor("new-tab")
	t.content = container.NewBorder(t.bar.Content, nil, nil, nil, t.body)
	return t
}

// add makes a tab, which comes to the front, and lets it use files, if any were given.
func (t *tabs) add(files *control.Files) *workspace {
	ws := newWorkspace(t.w)
	at := len(t.list)
	if t.w.front != nil {
		at = slices.Index(t.list, t.w.front) + 1
	}
	t.list = slices.Insert(t.list, at, ws)
	t.front(ws)
	ws.paint()
	ws.say()
	ws.update(^control.Change(0))
	if files != nil {
		ws.ctl.Inputs.Take(*files)
	}
	return ws
}

func (t *tabs) addEmpty() { t.add(nil) }

// front shows a tab.
func (t *tabs) front(ws *workspace) {
	if t.w.front == ws {
		return
	}
	t.w.win.Canvas().Unfocus()
	t.w.front = ws
	t.body.Objects = []fyne.CanvasObject{ws.content}
	ws.arrange() // the panel and the inputs may have been shown or hidden meanwhile
	t.body.Refresh()
	t.w.actions.renew()
	t.show()
}

// choose shows a tab as the user asks for it, who goes on in its view.
func (t *tabs) choose(ws *workspace) {
	if t.w.dialogs.modal() {
		return
	}
	t.front(ws)
	ws.focusView()
	t.w.trace("tab " + ws.title())
}

// step shows the next tab, or one before.
func (t *tabs) step(by int) {
	n := len(t.list)
	t.choose(t.list[((slices.Index(t.list, t.w.front)+by)%n+n)%n])
}

// show brings the bar and the window's title up to date.
func (t *tabs) show() {
	if t.w.front == nil {
		return
	}
	titles := make([]string, len(t.list))
	for i, ws := range t.list {
		titles[i] = ws.title()
	}
	t.bar.Show(titles, slices.Index(t.list, t.w.front))
	if several := len(t.list) > 1; t.bar.Content.Visible() != several {
		show(t.bar.Content, several)
		t.content.Refresh()
	}
	title := "LogParser"
	if s := t.w.front.ctl.State(); s.Opened {
		title = s.Found.LogNames() + " \u2013 LogParser"
	}
	if t.w.win.Title() != title {
		t.w.win.SetTitle(title)
	}
}

// title is what the tab of a workspace is called.
func (w *workspace) title() string {
	s := w.ctl.State()
	switch {
	case s.Opened:
		return s.Found.LogNames()
	case s.Wanted.Log != "":
		return filepath.Base(s.Wanted.Log)
	}
	return lang.L("New tab")
}

// empty reports whether a workspace has no log, and none is being opened in it.
func (w *workspace) empty() bool {
	s := w.ctl.State()
	return !s.Opened && s.Opening == ""
}

// find returns the tab that shows just these logs, nil for none.
func (t *tabs) find(logs []string) *workspace {
	for _, ws := range t.list {
		if s := ws.ctl.State(); slices.Equal(s.Wanted.Logs(), logs) && !ws.empty() {
			return ws
		}
	}
	return nil
}

// use decides about files that were given to a workspace, and reports whether it has
// used them. A log comes into a tab of its own if the workspace has another already;
// one that is open already comes to the front. Of several logs the user says whether
// they are one session, where they can be.
func (t *tabs) use(ws *workspace, f control.Files) bool {
	logs := f.Logs()
	switch {
	case len(logs) == 0:
		return false
	case len(logs) > 1 && f.Together():
		t.w.dialogs.whenFree(func() { t.askTogether(ws, f) })
		return true
	case len(logs) > 1:
		t.apart(ws, f)
		return true
	}
	return t.place(ws, f)
}

// place puts a session into the workspace that it was given to and reports false, or
// into another and reports true.
func (t *tabs) place(ws *workspace, f control.Files) bool {
	if open := t.find(f.Logs()); open != nil {
		t.front(open)
		if open == ws {
			return false
		}
		open.ctl.Inputs.Take(f)
		return true
	}
	if ws.empty() || !t.w.pref.inTabs() {
		return false
	}
	t.add(&f)
	return true
}

// put is place for files that nothing else uses.
func (t *tabs) put(ws *workspace, f control.Files) {
	if !t.place(ws, f) {
		ws.ctl.Inputs.Take(f)
	}
}

// apart opens each log in a tab; the first comes to the front at last.
func (t *tabs) apart(ws *workspace, f control.Files) {
	list := f.Apart()
	more := list[min(len(list), maxTabs):]
	t.put(ws, list[0])
	first := t.w.front
	for _, one := range list[1 : len(list)-len(more)] {
		if open := t.find(one.Logs()); open == nil {
			t.add(&one)
		}
	}
	t.front(first)
	if len(more) > 0 {
		first.ctl.Say(&control.Message{Level: control.LevelWarn,
			Text: lang.L("{{.N}} logs were given; the first {{.M}} are opened.", data{"N": control.Thousands(int64(len(list))), "M": control.Thousands(maxTabs)})})
	}
	t.w.trace("tabs " + control.Thousands(int64(len(t.list))))
}

// askTogether asks whether several logs are one session.
func (t *tabs) askTogether(ws *workspace, f control.Files) {
	logs := f.Logs()
	names := make([]string, 0, len(logs))
	for _, log := range logs[:min(len(logs), 8)] {
		names = append(names, filepath.Base(log))
	}
	if more := len(logs) - len(names); more > 0 {
		names = append(names, lang.L("and {{.N}} more", data{"N": control.Thousands(int64(more))}))
	}
	text := widget.NewLabel(strings.Join(names, "\n") + "\n\n" +
		lang.L("Together, their rows are one table by time, with a column for the process."))
	text.Wrapping = fyne.TextWrapWord
	var d *dialog.CustomDialog
	answer := func(do func()) func() {
		return func() {
			d.Hide()
			if do != nil {
				do()
			}
		}
	}
	together := widget.NewButton(lang.L("Open together"), answer(func() { t.put(ws, f) }))
	together.Importance = widget.HighImportance
	d = dialog.NewCustomWithoutButtons(control.Count("{{.N}} log", "{{.N}} logs", int64(len(logs))), container.NewVScroll(text), t.w.win)
	d.SetButtons([]fyne.CanvasObject{
		widget.NewButton(lang.L("Cancel"), answer(nil)),
		widget.NewButton(lang.L("Open in tabs"), answer(func() { t.apart(ws, f) })),
		together,
	})
	t.w.dialogs.open(d, 480, 300)
	t.w.trace("together?")
}

// saving reports whether a file is being saved from any tab.
func (t *tabs) saving() bool {
	return slices.ContainsFunc(t.list, func(ws *workspace) bool { return ws.ctl.Saving.Busy() })
}

// close closes a tab, or the log of the only one, after asking while a file is saved
// from it.
func (t *tabs) close(ws *workspace) {
	if len(t.list) > 1 && ws.ctl.Saving.Busy() {
		d := dialog.NewConfirm(lang.L("Close the log"), lang.L("A file is being saved. Stop that, and leave the old file as it is?"), func(ok bool) {
			if ok {
				ws.ctl.Saving.CancelSave()
				t.drop(ws)
			}
		}, t.w.win)
		t.w.dialogs.open(d, 0, 0)
		return
	}
	t.drop(ws)
}

// drop closes a tab without a question. Its session ends when nothing works on it any
// more, and nothing of the workspace is kept.
func (t *tabs) drop(ws *workspace) {
	at := slices.Index(t.list, ws)
	if at < 0 {
		return
	}
	ws.memory.keep()
	ws.ctl.Close()
	if len(t.list) == 1 {
		return
	}
	ws.ctl.OnChange = nil
	t.list = slices.Delete(t.list, at, at+1)
	if t.w.front == ws {
		t.front(t.list[min(at, len(t.list)-1)])
		t.w.front.focusView()
	}
	t.show()
	t.w.actions.show()
	t.w.trace("closed " + control.Thousands(int64(len(t.list))))
}
