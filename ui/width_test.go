package ui

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/internal/testlog"
	"logparser/ui/language"
)

// The views leave the panel beside them its room, however long the texts in them
// are, in both languages.
func TestLongTextsLeaveThePanelItsRoom(t *testing.T) {
	r := newRig(t, &testlog.Nested{Records: 1400})
	r.open()
	r.win.Resize(fyne.NewSize(1024, 600))
	long := strings.Repeat("app::Container<std::vector<int>>::", 20) + "f"
	tree := &app.Tree{Calls: 1_094_331_222_111, Total: 1e15, Cut: 1_094_331_222_110, Roots: []*app.TreeNode{{FunctionRef: app.FunctionRef{Function: long, Module: long}, Calls: 1}}}
	for _, code := range []string{language.English, language.Chinese} {
		r.setLanguage(code)
		r.setTheme("light")
		r.relabel()
		for _, v := range r.views.list {
			r.views.show(v.name)
			r.wait("the view", func() bool { return r.ctl.State().Work.Title == "" })
			r.views.tree.Show(tree, 9)
			r.views.statistics.Show([]app.FunctionStat{{FunctionRef: app.FunctionRef{Function: long, Module: long}, Calls: 1_094_331_222_111}}, 9)
			r.wait("the list", func() bool { return r.views.statistics.List.Len() == 1 || v.name != viewStatistics })
			r.win.Canvas().Capture()
			if got := r.side.Content.Size().Width; got < 0.2*1024 {
				t.Errorf("%s: beside view %s the panel has a width of %.0f; views want %.0f", code, v.name, got, v.tab.Content.MinSize().Width)
			}
		}
	}
}
