package app

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// What recording an event costs where the log does not say: our classic
// recorder makes two system calls for a record, the trace recorder none.
// docs/benchmarks.md has the measurements. The article's recorder, which opens
// and closes the file each time, costs some twenty times the first.
const (
	classicEventCost = 500 * time.Nanosecond
	traceEventCost   = 14 * time.Nanosecond
)

// A FunctionCost is what recording one function cost.
type FunctionCost struct {
	// Function is a name, or where there is none module+0xRVA or an address.
	Function string
	// Named says that it is a name.
	Named          bool
	Module, Source string
	// System says that it belongs to the compiler's library or to a header of the
	// system, and not to the program.
	System bool
	// Events counts its rows, enters and leaves.
	Events int64
	// Overhead is the recorder's time for them, an estimate.
	Overhead time.Duration
	// OfEvents and OfTime are shares of all events and of the time of the
	// runs, 1 for all; OfTime may be more where threads ran side by side.
	OfEvents, OfTime float64
}

// An Advice says where the cost of recording lies.
type Advice struct {
	// Functions are by falling cost.
	Functions []FunctionCost
	// Events counts all rows but damaged ones.
	Events int64
	// EventCost is the cost of an event; Measured says that the recorder
	// measured it and wrote it into the log. Otherwise it is an assumption.
	EventCost time.Duration
	Measured  bool
	// Overhead is the recorder's time for all events, Span the time of the
	// runs, OfTime the share.
	Overhead, Span time.Duration
	OfTime         float64
}

// Advise estimates what recording each function cost. eventCost, if not 0, is
// the cost of an event. The session must be loaded.
func (s *Session) Advise(eventCost time.Duration) Advice {
	runs := s.runs()
	var a Advice
	costs := make([]float64, len(runs)) // of an event in nanoseconds
	for i := range runs {
		a.Span += s.runSpan(&runs[i])
		var measured bool
		if costs[i], measured = s.eventCost(&runs[i], eventCost); i == 0 || measured {
			a.Measured = measured
		}
	}
	s.mu.Lock()
	n := s.names
	s.mu.Unlock()
	type key struct{ module, function string }
	index := make(map[key]int)
	var nanoseconds []float64
	var total float64
	for i := range len(n.places) {
		p := n.places[i].Load()
		if p == nil {
			continue
		}
		address := n.addresses.At(i)
		f := FunctionCost{Function: p.function, Named: p.function != "", Source: p.source, Events: address.Records}
		if p.module >= 0 {
			f.Module = runs[address.Run].names[p.module]
		}
		if !f.Named {
			whole := address.Value
			if p.address != 0 {
				whole = p.address
			}
			f.Function = s.unnamed(int(address.Run), p.module, whole)
		}
		f.System = ofSystem(&f)
		k, ok := index[key{f.Module, f.Function}]
		if !ok {
			k = len(a.Functions)
			index[key{f.Module, f.Function}] = k
			f.Events = 0
			a.Functions, nanoseconds = append(a.Functions, f), append(nanoseconds, 0)
		}
		cost := float64(address.Records) * costs[address.Run]
		a.Functions[k].Events += address.Records
		nanoseconds[k] += cost
		a.Events += address.Records
		total += cost
	}
	share := func(part, whole float64) float64 {
		if whole <= 0 {
			return 0
		}
		return part / whole
	}
	for k := range a.Functions {
		f := &a.Functions[k]
		f.Overhead = time.Duration(nanoseconds[k])
		f.OfEvents = share(float64(f.Events), float64(a.Events))
		f.OfTime = share(nanoseconds[k], float64(a.Span))
	}
	slices.SortFunc(a.Functions, func(x, y FunctionCost) int {
		return cmp.Or(cmp.Compare(y.Overhead, x.Overhead), cmp.Compare(y.Events, x.Events),
			strings.Compare(x.Module, y.Module), strings.Compare(x.Function, y.Function))
	})
	a.Overhead = time.Duration(total)
	a.OfTime = share(total, float64(a.Span))
	a.EventCost = time.Duration(share(total, float64(a.Events)) + 0.5)
	return a
}

// eventCost returns what an event of a run costs on average, in nanoseconds.
func (s *Session) eventCost(r *sessionRun, given time.Duration) (ns float64, measured bool) {
	if given != 0 {
		return float64(given), false
	}
	if o, ok := s.overhead(r); ok {
		return float64(o.EnterBefore+o.EnterAfter+o.LeaveBefore+o.LeaveAfter) / 2e3, true
	}
	if s.ownModules {
		return float64(traceEventCost), false
	}
	return float64(classicEventCost), false
}

// runSpan returns the time from the first to the last row of a run.
func (s *Session) runSpan(r *sessionRun) time.Duration {
	return time.Duration(max(s.lastTime(r)-r.zero, 0))
}

const (
	// leastShare is the share of the events from which on a function is worth
	// leaving out, and leastEvents how many they must be.
	leastShare  = 0.01
	leastEvents = 64
)

// Choose returns the functions to leave out: those of the compiler's library and
// of the system's headers, if they have a share of the events worth it, and of the
// program's own at most so many that have, the costliest first. Never more than half
// of the program's own are chosen, and not main, so that what is left still shows
// what the program did.
func (a *Advice) Choose(most int) (system, own []FunctionCost) {
	var named int
	var ofSystem, ofOwn int64
	for _, f := range a.Functions {
		switch {
		case f.System:
			system = append(system, f)
			ofSystem += f.Events
		case f.Named:
			named++
			ofOwn += f.Events
		}
	}
	if float64(ofSystem) < leastShare*float64(a.Events) || ofSystem < leastEvents {
		system, ofOwn = nil, a.Events
	}
	most = min(most, named/2)
	for _, f := range a.Functions {
		if len(own) < most && f.Named && !f.System && f.Function != "main" && f.Events >= leastEvents && float64(f.Events) >= leastShare*float64(ofOwn) {
			own = append(own, f)
		}
	}
	return system, own
}

// ofSystem reports whether a function belongs to the compiler's library or to a
// header of the system, by its source file, and where that is not known by its name.
func ofSystem(f *FunctionCost) bool {
	if !f.Named {
		return false
	}
	if f.Source != "" {
		return systemFolder(f.Source) != ""
	}
	for _, name := range systemNames {
		if strings.HasPrefix(f.Function, name) {
			return true
		}
	}
	return false
}

// systemNames are how names of the compiler's library begin.
var systemNames = []string{"std::", "__gnu_cxx::", "__cxxabiv1::", "operator new", "operator delete"}

// systemFolder returns the folder of headers that a source file lies in, if it is
// one of the compiler or the system, up to which their paths are alike; "" for none.
func systemFolder(source string) string {
	path := strings.ReplaceAll(source, `\`, "/")
	lower := strings.ToLower(path)
	if strings.HasPrefix(lower, "/usr/include/") {
		return "/usr/include"
	}
	for _, part := range []string{"/lib/gcc/", "/include/c++/", "/vc/tools/msvc/", "/windows kits/", "/microsoft visual studio/"} {
		if i := strings.Index(lower, part); i >= 0 {
			return path[:i+len(part)-1]
		}
	}
	return ""
}

// ExcludeSystem makes the texts that exclude what lies in the system's headers.
func ExcludeSystem(functions []FunctionCost) Exclusion {
	folders := []string{"/usr/include", "/usr/lib/gcc"}
	var patterns []string
	for _, f := range functions {
		if folder := systemFolder(f.Source); folder != "" && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		for _, name := range systemNames {
			if strings.HasPrefix(f.Function, name) && !slices.Contains(patterns, name+"*") {
				patterns = append(patterns, name+"*")
			}
		}
	}
	slices.Sort(patterns)
	e := Exclusion{Files: gccList("-finstrument-functions-exclude-file-list=", folders)}
	if len(patterns) > 0 {
		e.Recorder = "LOGREC_EXCLUDE=" + shellQuote(strings.Join(patterns, ","))
	}
	return e
}

// An Exclusion is ready-made text that keeps functions from being recorded.
type Exclusion struct {
	// Functions and Files are options of gcc, quoted for a POSIX shell. Files
	// excludes the source files of which no other function is in the log. Both are
	// "" where there is nothing to name.
	Functions, Files string
	// Recorder is a setting of our recorder's environment, "" where it can
	// name none of them.
	Recorder string
	// Unlisted are those which Recorder cannot name.
	Unlisted []string
	// Also are other functions of the log that gcc's option hits, because it
	// looks for its names anywhere within a function's.
	Also []string
	// Left are those which gcc's option cannot name, or not without main or most of
	// what is to stay.
	Left []string
}

// Exclude makes the texts that exclude functions; all are those of the log. Of
// system the recorder's setting leaves out all, too.
func Exclude(functions, system, all []FunctionCost) Exclusion {
	var e Exclusion
	var names, files, patterns []string
	add := func(list *[]string, s string) {
		if s != "" && !slices.Contains(*list, s) {
			*list = append(*list, s)
		}
	}
	chosen := make(map[string]bool)
	for _, f := range functions {
		if !f.Named {
			continue
		}
		chosen[f.Function] = true
		if pattern, ok := recorderPattern(f.Function); ok {
			add(&patterns, pattern)
		} else {
			add(&e.Unlisted, f.Function)
		}
	}
	// What stays, and its files.
	var stay []string
	kept := make(map[string]bool)
	for _, f := range all {
		if f.Named && !f.System && !chosen[f.Function] {
			stay = append(stay, gccPrinted(f.Function))
			kept[baseName(f.Source)] = true
		}
	}
	for _, f := range functions {
		if !f.Named {
			continue
		}
		name, ok := gccName(f.Function)
		hit := 0
		for _, s := range stay {
			if strings.Contains(s, name) {
				hit++
				ok = ok && s != "main"
			}
		}
		if ok && 2*hit <= len(stay) {
			add(&names, name)
		} else {
			add(&e.Left, f.Function)
		}
		if file := baseName(f.Source); !kept[file] {
			add(&files, file)
		}
	}
	for _, f := range all {
		if !f.Named || f.System || chosen[f.Function] {
			continue
		}
		seen := gccPrinted(f.Function)
		if slices.ContainsFunc(names, func(n string) bool { return strings.Contains(seen, n) }) {
			add(&e.Also, f.Function)
		}
	}
	e.Functions = gccList("-finstrument-functions-exclude-function-list=", names)
	e.Files = gccList("-finstrument-functions-exclude-file-list=", files)
	if len(patterns) > 0 {
		before, _ := strings.CutPrefix(ExcludeSystem(system).Recorder, "LOGREC_EXCLUDE=")
		if before = strings.Trim(before, "'"); before != "" {
			before += ","
		}
		e.Recorder = "LOGREC_EXCLUDE=" + shellQuote(before+strings.Join(patterns, ","))
	}
	return e
}

// baseName is the name of a source file of any system, without its folder.
func baseName(source string) string {
	return source[strings.LastIndexAny(source, `/\`)+1:]
}

// recorderPattern returns a function's name as the recorder's lists have it,
// without template arguments. What has a character in its name that means
// something else in a list, such as operator*, has none, nor has what the
// recorder does not spell out of a decorated name.
func recorderPattern(function string) (pattern string, ok bool) {
	var b strings.Builder
	depth := 0
	for i := 0; i < len(function); {
		if n := operatorAt(function, i); n > 0 {
			if depth == 0 {
				b.WriteString(function[i : i+n])
			}
			i += n
			// A space parts the operator from template arguments.
			if strings.HasPrefix(function[i:], " <") {
				i++
			}
			continue
		}
		switch c := function[i]; {
		case c == '<':
			depth++
		case c == '>':
			depth--
		case depth == 0:
			b.WriteByte(c)
		}
		i++
	}
	pattern = lambdaName.ReplaceAllString(b.String(), "<lambda>")
	if depth != 0 || pattern == "" || strings.ContainsAny(pattern, "{}`'*?,") {
		return "", false
	}
	pattern = strings.ReplaceAll(pattern, "<lambda>", "{lambda}")
	if strings.Contains(pattern, "!") {
		// Only the first one ends the module's name.
		pattern = "*!" + pattern
	}
	return pattern, true
}

// lambdaName is a lambda's class, with its parameters and its number or without.
var lambdaName = regexp.MustCompile(`\{lambda[^{}]*\}`)

// operators are longest first, so that none is taken for another.
var operators = []string{" delete[]", " co_await", " delete", " new[]", " new", "<=>", "->*", "<<=", ">>=", "()", "[]", "->", "++", "--",
	"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "+", "-", "*", "/", "%", "^", "&", "|", "~",
	"!", "=", "<", ">", ","}

// conversion is the end of a conversion operator's name that the recorder
// spells out.
var conversion = regexp.MustCompile(`^ (?:(?:un)?signed |long )*\w+`)

// operatorAt returns the length of the operator's name that begins at function[i],
// 0 where none does.
func operatorAt(function string, i int) int {
	rest, ok := strings.CutPrefix(function[i:], "operator")
	if !ok || i > 0 && function[i-1] != ':' && function[i-1] != '&' && function[i-1] != '<' {
		return 0
	}
	for _, o := range operators {
		after, ok := strings.CutPrefix(rest, o)
		if ok && (o[0] != ' ' || after == "" || after[0] == ' ' || after[0] == '<' || after[0] == ':') {
			return len("operator") + len(o)
		}
	}
	return len("operator") + len(conversion.FindString(rest))
}

// gccList makes an option of a list of names, between which commas stand;
// commas within them get a backslash.
func gccList(option string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	var escaped []string
	for _, n := range names {
		escaped = append(escaped, strings.ReplaceAll(n, ",", `\,`))
	}
	return shellQuote(option + strings.Join(escaped, ","))
}

// shellQuote quotes a word for a POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// gccPrinted writes a function's name as gcc prints it, which is what it
// compares with: with scopes and template arguments, without parameters.
func gccPrinted(function string) string {
	return strings.ReplaceAll(function, "(anonymous namespace)", "{anonymous}")
}

// gccName returns the text by which gcc's option finds a function. gcc leaves
// out template arguments that are the default, which a name from debug
// information has, so that only simple ones can be named; of a function
// template all instances are.
func gccName(function string) (name string, ok bool) {
	name = gccPrinted(function)
	if strings.ContainsAny(name, "`'\"\n") || strings.Contains(name, "lambda") {
		return "", false
	}
	from := 0
	if i := strings.Index(name, "operator"); i >= 0 {
		from = i + len("operator")
		for from < len(name) && strings.IndexByte("<>=-", name[from]) >= 0 {
			from++
		}
		if strings.Contains(name[:i], "<") {
			from = 0
		}
	}
	open := strings.IndexByte(name[from:], '<')
	if open < 0 {
		return name, true
	}
	open += from
	depth, end := 0, -1
	for i := open; i < len(name) && end < 0; i++ {
		switch name[i] {
		case '<':
			depth++
		case '>':
			if depth--; depth == 0 {
				end = i
			}
		}
	}
	switch arguments := name[open:]; {
	case end < 0:
		return "", false
	case end == len(name)-1:
		return name[:open], true
	case strings.ContainsAny(arguments[1:], "<,"):
		return "", false
	}
	return name, true
}
