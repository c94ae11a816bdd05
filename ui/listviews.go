package ui

import (
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/rows/filter"
	"logparser/ui/annotations"
	"logparser/ui/calltree"
	"logparser/ui/control"
	"logparser/ui/crashview"
	"logparser/ui/grid"
	"logparser/ui/look"
	"logparser/ui/sidepanel"
	"logparser/ui/statistics"
	"logparser/ui/threads"
)

// keyed hands the window's keys on from a list.
func (v *views) keyed(g *grid.Grid) *grid.Grid {
	g.OnKey = func(name fyne.KeyName) { v.w.actions.key(name) }
	g.OnShortcut = v.w.actions.shortcut
	g.OnHover = v.w.tip.hover
	return g
}

// openFunction shows the first call of a function in the table.
func (v *views) openFunction(f app.FunctionRef) {
	v.w.ctl.Calls.FirstCall(f, func(row int64) {
		v.show(viewTable)
		v.w.nav.goTo(row)
	})
}

// openSlowest shows the call of a function that took longest in the table.
func (v *views) openSlowest(f app.FunctionRef) {
	v.w.ctl.Calls.SlowestCall(f, func(row int64) {
		v.show(viewTable)
		v.w.nav.goTo(row)
	})
}

// functionMenu is the menu of a function in a list.
func (v *views) functionMenu(f app.FunctionRef, at fyne.Position) {
	items := append([]*fyne.MenuItem{item(lang.L("Go to its first call"), func() { v.openFunction(f) }),
		item(lang.L("Go to its slowest call"), func() { v.openSlowest(f) })}, v.functionItems(f)...)
	v.w.actions.popUp(items, at)
}

// treeView shows who calls whom, and how long that takes.
func (v *views) treeView() *view {
	w := v.w
	v.tree = calltree.New(look.Fonts(), &grid.Light)
	v.tree.OnOptions = func(app.TreeOptions) { v.again(viewTree) }
	v.tree.OnOpen = func(f *app.FunctionRef) { v.openFunction(*f) }
	v.tree.OnMenu = func(f *app.FunctionRef, at fyne.Position) { v.functionMenu(*f, at) }
	v.tree.OnCopy = w.app.Clipboard().SetContent
	v.tree.OnChosen = v.picks.node
	v.tree.Sort(w.pref.sorted(viewTree))
	v.tree.OnSorted = func(sorted string) { w.pref.setSorted(viewTree, sorted) }
	return &view{
		name: viewTree, title: func() string { return lang.L("Call tree") }, key: fyne.Key3,
		about:   func() string { return lang.L("Who calls whom, how often, and how long that takes") },
		content: v.tree.Content, focus: v.keyed(v.tree.Grid),
		compute: func(_ string, fresh bool) {
			digits := v.digits()
			w.ctl.Views.CallTree(v.tree.Options(), func(tree *app.Tree, err error) {
				if v.computed(viewTree, err) {
					v.tree.Show(tree, digits)
					if fresh {
						v.tree.OpenPaths()
					}
					w.side.showRow() // which asks for the way to the current row
					w.trace("tree " + strconv.Itoa(len(tree.Roots)))
				}
			})
		},
		clear: func() { v.tree.Show(&app.Tree{}, 3) },
		// The tree shows the way to the row, unless that was chosen in the tree.
		followStack: func(row int64, frames []app.Frame) {
			if row != v.picks.row && !v.picks.looking {
				v.tree.Choose(frames)
				w.trace("path " + control.Thousands(int64(len(frames))))
			}
		},
		relabel: v.tree.Relabel,
		paint:   func(p *grid.Palette, _ bool) { v.tree.Grid.SetPalette(p) },
	}
}

// statisticsView sums up the calls of each function.
func (v *views) statisticsView() *view {
	w := v.w
	v.statistics = statistics.New(look.Fonts(), &grid.Light, w.post)
	v.statistics.OnChosen = v.picks.function
	v.statistics.List.Sort(w.pref.sorted(viewStatistics))
	v.statistics.List.OnSorted = func(sorted string) {
		if v.statistics.Compared() == "" && !statistics.OfComparing(sorted) {
			w.pref.setSorted(viewStatistics, sorted)
		}
	}
	v.statistics.OnOpen = func(f *app.FunctionStat) { v.openFunction(f.FunctionRef) }
	v.statistics.OnSlowest = func(f *app.FunctionStat) { v.openSlowest(f.FunctionRef) }
	v.statistics.OnMenu = func(f *app.FunctionStat, at fyne.Position) { v.functionMenu(f.FunctionRef, at) }
	v.statistics.OnCompare = func() string {
		if where := w.ctl.Filter.Wanted().Where; where != "" {
			return where
		}
		return lang.L("all rows")
	}
	v.statistics.OnGrouping = func(control.Grouping) { v.again(viewStatistics) }
	v.statistics.OnCopy = w.app.Clipboard().SetContent
	v.statistics.OnRange = v.limitDurations
	v.statistics.OnSave = v.saveStatistics
	return &view{
		name: viewStatistics, title: func() string { return lang.L("Statistics") }, key: fyne.Key4,
		about:   func() string { return lang.L("Calls and times of each function; two selections side by side") },
		content: v.statistics.Content, focus: v.keyed(v.statistics.List.Grid),
		compute: func(string, bool) {
			digits := v.digits()
			w.ctl.Views.Statistics(v.statistics.Grouping(), func(list []app.FunctionStat, err error) {
				if v.computed(viewStatistics, err) {
					v.statistics.Show(list, digits)
					v.choose()
					w.trace("statistics " + strconv.Itoa(len(list)))
				}
			})
		},
		clear: func() {
			v.statistics.StopComparing()
			v.statistics.Show(nil, 3)
		},
		follow:  func(r *rows.Row) { v.statistics.Choose(r.Function, r.Module) },
		relabel: v.statistics.Relabel,
		paint:   func(p *grid.Palette, _ bool) { v.statistics.SetPalette(p) },
	}
}

// limitDurations shows only calls of a function that took so long.
func (v *views) limitDurations(f *app.FunctionStat, from, to int64) {
	took, err := spanTerm(filter.Duration, from, to)
	if err != nil {
		return
	}
	name := filter.Is(filter.Func, f.Function)
	v.w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Replace(name).Replace(took) })
}

func (v *views) saveStatistics(list []app.FunctionStat) {
	w := v.w
	name := strings.TrimSuffix(w.table.log, ".dat") + "-statistics.csv"
	w.dialogs.saveAs(lang.L("Save as csv"), name, func(path string) { w.ctl.Saving.SaveStatistics(path, list) })
}

// threadsView sums up each thread.
func (v *views) threadsView() *view {
	w := v.w
	v.threads = threads.New(look.Fonts(), &grid.Light, w.post)
	v.threads.OnChosen = func(t *control.ThreadSum) { v.picks.thread(&t.Thread) }
	v.threads.OnOpen = func(t *control.ThreadSum) {
		v.picks.count++ // it need not be waited for
		w.ctl.Filter.SetThread(&t.Thread)
	}
	v.threads.OnMenu = func(t *control.ThreadSum, at fyne.Position) {
		r := rows.Row{Thread: t.ID, Process: t.Process}
		term, _ := filter.Of(filter.Thread, &r)
		w.actions.popUp([]*fyne.MenuItem{
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			item(lang.L("Exclude {{.Term}}", data{"Term": term.String()}), func() {
				w.ctl.Filter.Narrow(func(e *filter.Expr) *filter.Expr { return e.Exclude(term) })
			})}, at)
	}
	v.threads.OnCopy = w.app.Clipboard().SetContent
	return &view{
		name: viewThreads, title: func() string { return lang.L("Threads") }, key: fyne.Key5,
		about:   func() string { return lang.L("Each thread with its calls and times") },
		content: v.threads.Content, focus: v.keyed(v.threads.List.Grid),
		depends: control.AboutThreads,
		compute: func(string, bool) {
			digits := v.digits()
			w.ctl.Views.Threads(func(list []control.ThreadSum, err error) {
				if v.computed(viewThreads, err) {
					v.threads.Show(list, digits)
					v.choose()
					w.trace("threads " + strconv.Itoa(len(list)))
				}
			})
		},
		clear:   func() { v.threads.Show(nil, 3) },
		follow:  func(r *rows.Row) { v.threads.Choose(r.Home()) },
		relabel: v.threads.Relabel,
		paint:   func(p *grid.Palette, _ bool) { v.threads.List.Grid.SetPalette(p) },
	}
}

// annotationsView lists what the program wrote into the log itself.
func (v *views) annotationsView() *view {
	w := v.w
	v.annotations = annotations.New(look.Fonts(), &grid.Light, w.post)
	v.annotations.OnNarrow = func() { v.again(viewAnnotations) }
	goToAnnotation := func(m *rows.Annotation) {
		w.ctl.Calls.RowOfAnnotation(m, func(row int64) {
			v.show(viewTable)
			w.nav.goTo(row)
		})
	}
	copied := w.app.Clipboard().SetContent
	v.annotations.OnOpen = goToAnnotation
	v.annotations.OnMenu = func(m *rows.Annotation, at fyne.Position) {
		r := rows.Row{Thread: m.Thread, Process: m.Process}
		timelineItem := item(lang.L("Show in the timeline"), func() { v.showInTimeline(m) })
		timelineItem.Disabled = v.runs() != nil
		w.actions.popUp([]*fyne.MenuItem{
			item(lang.L("Show in the table"), func() { goToAnnotation(m) }),
			timelineItem,
			v.narrow(lang.L("Only this thread"), filter.Thread, &r),
			item(lang.L("Copy the text"), func() { copied(m.Text) })}, at)
	}
	v.annotations.OnCopy = copied
	return &view{
		name: viewAnnotations, title: func() string { return lang.L("Annotations") }, key: fyne.Key7,
		about:   func() string { return lang.L("What the program itself wrote into its log") },
		content: v.annotations.Content, focus: v.keyed(v.annotations.List.Grid),
		offered: func(s *control.State) bool { return s.Opened && s.Facts.Marked },
		depends: func(where string) string { return control.AboutAnnotations(where).String() },
		compute: func(where string, _ bool) {
			digits := v.digits()
			w.ctl.Views.Annotations(v.annotations.Text(), func(list control.AnnotationList, err error) {
				if v.computed(viewAnnotations, err) {
					v.annotations.Show(list.Annotations, list.More, digits)
					v.annotations.ShowLimit(where)
					w.trace("annotations " + strconv.Itoa(len(list.Annotations)))
				}
			})
		},
		clear:   func() { v.annotations.Show(nil, false, 3) },
		relabel: v.annotations.Relabel,
		paint:   func(p *grid.Palette, _ bool) { v.annotations.List.Grid.SetPalette(p) },
	}
}

// crashView shows how the program crashed: the stacks of its threads joined with the calls that
// the log has open.
func (v *views) crashView() *view {
	w := v.w
	v.crash = crashview.New(look.Fonts(), &grid.Light, w.post)
	v.crash.OnOpen = func(row int64) {
		v.show(viewTable)
		w.nav.goTo(row)
	}
	v.crash.OnCopy = w.app.Clipboard().SetContent
	v.crash.OnEdit = w.openPlace
	asked := 0 // numbers the places that are asked for; answers to another are late
	v.crash.OnSource = func(file string, line int) {
		asked++
		number := asked
		w.readPlace(file, line, func(s sidepanel.Source) {
			if asked == number {
				v.crash.ShowSource(s.Head+":"+strconv.Itoa(line), s.Remark, s.First, s.Line, s.Lines)
			}
		})
	}
	return &view{
		name: viewCrash, title: func() string { return lang.L("Crash") }, key: fyne.Key8,
		about: func() string {
			return lang.L("How the program crashed: its stacks, joined with the calls that were open")
		},
		content: v.crash.Content, focus: v.keyed(v.crash.Frames.Grid),
		offered: func(s *control.State) bool { return s.Opened && s.Facts.Crash != "" },
		// What crashed does not depend on the filter.
		depends: func(string) string { return "" },
		compute: func(string, bool) {
			w.ctl.Views.Crash(w.pref.mappings(), func(c *control.Crash, err error) {
				if v.computed(viewCrash, err) {
					v.crash.Show(c)
					w.trace("crash " + strconv.Itoa(len(c.Threads)))
				}
			})
		},
		clear:   func() { v.crash.Show(nil) },
		relabel: v.crash.Relabel,
		paint:   func(p *grid.Palette, _ bool) { v.crash.Frames.Grid.SetPalette(p) },
	}
}
