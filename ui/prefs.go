package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"

	"logparser/app"
	"logparser/ui/grid"
	"logparser/ui/settings"
	"logparser/ui/shortname"
)

// maxRecent is how many logs are remembered.
const maxRecent = 10

// preferences are what is remembered from one start to the next.
type preferences struct{ p fyne.Preferences }

// refresh takes in what other windows have remembered meanwhile, so that what is added to a
// list does not take theirs out of it.
func (p preferences) refresh() {
	if s, ok := p.p.(*settings.Store); ok {
		s.Refresh()
	}
}

func (p preferences) language() string       { return p.p.String("language") }
func (p preferences) setLanguage(s string)   { p.p.SetString("language", s) }
func (p preferences) brightness() string     { return p.p.String("theme") }
func (p preferences) setBrightness(s string) { p.p.SetString("theme", s) }

func (p preferences) nativeDialogs() bool       { return p.p.BoolWithFallback("dialogs.native", true) }
func (p preferences) setNativeDialogs(b bool)   { p.p.SetBool("dialogs.native", b) }
func (p preferences) noRecordedPaths() bool     { return p.p.Bool("paths.norecorded") }
func (p preferences) setNoRecordedPaths(b bool) { p.p.SetBool("paths.norecorded", b) }

// parameters is what is shown of functions' parameters.
func (p preferences) parameters() shortname.Parameters {
	return shortname.Parameters(min(max(p.p.Int("parameters"), 0), int(shortname.Hidden)))
}
func (p preferences) setParameters(s shortname.Parameters) { p.p.SetInt("parameters", int(s)) }

func (p preferences) inTabs() bool     { return p.p.BoolWithFallback("tabs", true) }
func (p preferences) setInTabs(b bool) { p.p.SetBool("tabs", b) }

func (p preferences) network() bool           { return p.p.Bool("network") }
func (p preferences) setNetwork(b bool)       { p.p.SetBool("network", b) }
func (p preferences) agreed() []string        { return p.p.StringList("network.servers") }
func (p preferences) setAgreed(s []string)    { p.p.SetStringList("network.servers", s) }
func (p preferences) symbolCache() string     { return p.p.String("symbols.cache") }
func (p preferences) setSymbolCache(s string) { p.p.SetString("symbols.cache", s) }

func (p preferences) editor() string     { return p.p.String("editor") }
func (p preferences) setEditor(s string) { p.p.SetString("editor", s) }

func (p preferences) symbols() []string      { return p.p.StringList("symbols") }
func (p preferences) setSymbols(s []string)  { p.p.SetStringList("symbols", s) }
func (p preferences) saveFormat() string     { return p.p.StringWithFallback("save.format", "csv") }
func (p preferences) setSaveFormat(s string) { p.p.SetString("save.format", s) }

func (p preferences) panelShown() bool          { return p.p.BoolWithFallback("panel.shown", true) }
func (p preferences) setPanelShown(b bool)      { p.p.SetBool("panel.shown", b) }
func (p preferences) inputsShown() bool         { return p.p.Bool("inputs.unfolded") }
func (p preferences) setInputsShown(b bool)     { p.p.SetBool("inputs.unfolded", b) }
func (p preferences) panelOffset() float64      { return p.p.FloatWithFallback("panel.offset", 0.78) }
func (p preferences) setPanelOffset(at float64) { p.p.SetFloat("panel.offset", at) }

// sorted is the order of a view's list, "" where none was chosen.
func (p preferences) sorted(view string) string     { return p.p.String("sorted." + view) }
func (p preferences) setSorted(view, sorted string) { p.p.SetString("sorted."+view, sorted) }

// size is the window's, within what any screen has.
func (p preferences) size() fyne.Size {
	limit := func(key string, fallback, most float64) float32 {
		return float32(min(max(p.p.FloatWithFallback(key, fallback), 480), most))
	}
	return fyne.NewSize(limit("window.width", 1240, 7680), limit("window.height", 800, 4320))
}

func (p preferences) setSize(s fyne.Size) {
	p.p.SetFloat("window.width", float64(s.Width))
	p.p.SetFloat("window.height", float64(s.Height))
}

// mappings are the source folders of other machines and where they are here.
func (p preferences) mappings() []app.SourceMapping {
	from, to := p.p.StringList("sources.from"), p.p.StringList("sources.to")
	var list []app.SourceMapping
	for i := range min(len(from), len(to)) {
		list = append(list, app.SourceMapping{From: from[i], To: to[i]})
	}
	return list
}

func (p preferences) setMappings(list []app.SourceMapping) {
	from, to := []string{}, []string{}
	for _, m := range list {
		if m.From != "" && m.To != "" {
			from, to = append(from, m.From), append(to, m.To)
		}
	}
	p.p.SetStringList("sources.from", from)
	p.p.SetStringList("sources.to", to)
}

// recent returns the logs opened lately, the latest first, each with the
// modules file that was chosen for it, if any.
func (p preferences) recent() (logs, modules []string) {
	logs, modules = p.p.StringList("recent.logs"), p.p.StringList("recent.modules")
	for len(modules) < len(logs) {
		modules = append(modules, "")
	}
	return slices.Clone(logs), slices.Clone(modules[:len(logs)])
}

func (p preferences) addRecent(log, file string) {
	p.forget(log)
	logs, modules := p.recent()
	logs, modules = slices.Insert(logs, 0, log), slices.Insert(modules, 0, file)
	n := min(len(logs), maxRecent)
	p.p.SetStringList("recent.logs", logs[:n])
	p.p.SetStringList("recent.modules", modules[:n])
}

func (p preferences) forget(log string) {
	p.refresh()
	logs, modules := p.recent()
	if i := slices.Index(logs, log); i >= 0 {
		p.p.SetStringList("recent.logs", slices.Delete(logs, i, i+1))
		p.p.SetStringList("recent.modules", slices.Delete(modules, i, i+1))
	}
}

// maxFilters is how many filters are remembered.
const maxFilters = 50

// filters returns the filters applied lately, the last first.
func (p preferences) filters() []string { return p.p.StringList("filters.lately") }

func (p preferences) addFilter(expr string) {
	p.refresh()
	list := slices.DeleteFunc(slices.Clone(p.filters()), func(e string) bool { return e == expr })
	list = slices.Insert(list, 0, expr)
	p.p.SetStringList("filters.lately", list[:min(len(list), maxFilters)])
}

// namedFilters returns the filters that were saved under a name.
func (p preferences) namedFilters() (names, exprs []string) {
	names, exprs = p.p.StringList("filters.names"), p.p.StringList("filters.named")
	n := min(len(names), len(exprs))
	return slices.Clone(names[:n]), slices.Clone(exprs[:n])
}

func (p preferences) nameFilter(name, expr string) {
	p.forgetFilter(name)
	names, exprs := p.namedFilters()
	i, _ := slices.BinarySearch(names, name)
	if len(names) < maxFilters {
		p.p.SetStringList("filters.names", slices.Insert(names, i, name))
		p.p.SetStringList("filters.named", slices.Insert(exprs, i, expr))
	}
}

func (p preferences) forgetFilter(name string) {
	p.refresh()
	names, exprs := p.namedFilters()
	if i := slices.Index(names, name); i >= 0 {
		p.p.SetStringList("filters.names", slices.Delete(names, i, i+1))
		p.p.SetStringList("filters.named", slices.Delete(exprs, i, i+1))
	}
}

func (p preferences) panelTab() int     { return p.p.Int("panel.tab") }
func (p preferences) setPanelTab(i int) { p.p.SetInt("panel.tab", i) }

// lastLog is the log that was shown when the window was closed; reopen says
// that it is to be opened at the next start.
func (p preferences) lastLog() string     { return p.p.String("last.log") }
func (p preferences) setLastLog(s string) { p.p.SetString("last.log", s) }
func (p preferences) reopen() bool        { return p.p.BoolWithFallback("last.reopen", true) }
func (p preferences) setReopen(b bool)    { p.p.SetBool("last.reopen", b) }

// saveColumns keeps the columns' order and widths, and which are hidden, for logs of a
// kind, "" for none in particular. Logs of a kind for which nothing was kept have the
// columns that were kept last.
func (p preferences) saveColumns(g *grid.Grid, kind string) {
	var list []string
	for _, c := range g.Columns() {
		list = append(list, fmt.Sprintf("%s:%.0f:%t", c.ID, c.Width, c.Hidden))
	}
	p.p.SetStringList("columns", list)
	if kind != "" {
		p.p.SetStringList("columns."+kind, list)
	}
}

func (p preferences) loadColumns(g *grid.Grid, kind string) {
	list := p.p.StringList("columns." + kind)
	if len(list) == 0 {
		list = p.p.StringList("columns")
	}
	var order []string
	for _, s := range list {
		f := strings.Split(s, ":")
		if len(f) != 3 {
			continue
		}
		if width, err := strconv.ParseFloat(f[1], 32); err == nil {
			g.SetColumn(f[0], float32(min(width, 4000)), f[2] == "true")
			order = append(order, f[0])
		}
	}
	g.Order(order)
}
