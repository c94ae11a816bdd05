package app

import (
	"cmp"
	"slices"
	"strings"

	"logparser/modules"
	"logparser/rows"
)

// A Thread is a thread of the chosen runs.
type Thread struct {
	// ID is the system's id of the thread, in Process where there are several.
	ID      uint32
	Process *rows.Process
	Rows    int64
	// Name is "" where the log gives none.
	Name string
}

// Track returns what tells the thread from all others.
func (t *Thread) Track() rows.Track { return rows.TrackOf(t.Process, t.ID, 0) }

// Text is what the thread is called: its id, its name, and of several processes its own.
func (t *Thread) Text() string { return threadText(t.ID, t.Name, t.Process) }

func threadText(id uint32, name string, p *rows.Process) string {
	text := strings.TrimSuffix(decimal(id)+" "+name, " ")
	if p != nil {
		text += ", process " + p.Label
	}
	return text
}

// threadOf returns the thread of events, and the number of the stack that they are on.
func (s *Session) threadOf(key uint32) (t Thread, stack uint32) {
	of := s.log.Thread(key)
	return Thread{ID: of.ID, Process: s.process(of.Process), Name: of.Name}, of.Stack
}

// threadAt returns the thread of a slot of the index: the one that was first on its stack.
func (s *Session) threadAt(slot uint32) Thread {
	t, _ := s.threadOf(s.table.ThreadID(slot))
	return t
}

func compareThreads(a, b *Thread) int { return cmp.Compare(a.Track(), b.Track()) }

// Threads returns the threads of the chosen runs, process by process and by rising id, as
// far as they are known: all of them after Load.
func (s *Session) Threads() []Thread {
	var list []Thread
	for _, known := range s.table.Threads() {
		t, _ := s.threadOf(known.ID)
		t.Rows = known.Records
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Thread) int { return compareThreads(&a, &b) })
	return list
}

// AllThreads returns the threads that Threads does, and those that have a name but no rows.
func (s *Session) AllThreads() []Thread {
	list := s.Threads()
	known := make(map[rows.Track]bool, len(list))
	for i := range list {
		known[list[i].Track()] = true
	}
	for _, t := range s.namedThreads() {
		if !known[t.Track()] {
			known[t.Track()] = true
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b Thread) int { return compareThreads(&a, &b) })
	return list
}

// namedThreads returns the threads whose names the log tells, also those without rows.
func (s *Session) namedThreads() []Thread {
	if s.can.ThreadLister == nil {
		return nil
	}
	var list []Thread
	for i := range s.runs() {
		for _, key := range s.can.ThreadLister.NamedThreads(s.runs()[i].number) {
			t, _ := s.threadOf(key)
			list = append(list, t)
		}
	}
	return list
}

// threadNames returns the names that the log tells.
func (s *Session) threadNames() map[rows.Track]string {
	names := make(map[rows.Track]string)
	for _, t := range s.namedThreads() {
		names[t.Track()] = t.Name
	}
	return names
}

// hasStacks reports whether threads have other stacks of calls than their own.
func (s *Session) hasStacks() bool { return s.can.Stacker != nil && s.can.Stacker.HasStacks() }

// Processes returns the processes that the rows are of, nil where they are of one.
func (s *Session) Processes() []*rows.Process { return s.processes }

// process returns one of several processes by its place in the log, nil where there is only one.
func (s *Session) process(i int) *rows.Process {
	if i >= len(s.processes) {
		return nil
	}
	return s.processes[i]
}

// processOfModule returns the process that loaded a module of the one run that is of several,
// nil where there is only one.
func (s *Session) processOfModule(module int) *rows.Process {
	for i := range s.processes {
		if module -= s.moduleCounts[i]; module < 0 {
			return s.processes[i]
		}
	}
	return nil
}

// findProcesses finds out of which processes the chosen runs are. Several runs of which
// each is one process are not told apart: they do not mix.
func (s *Session) findProcesses() {
	s.processes, s.moduleCounts = nil, nil
	if s.can.ProcessTeller == nil || len(s.runs()) != 1 {
		return
	}
	list := s.can.ProcessTeller.Processes(s.runs()[0].number)
	if len(list) < 2 {
		return
	}
	for _, p := range list {
		s.processes = append(s.processes, &rows.Process{ID: p.ID, Name: rows.Visible(modules.BaseName(p.Path))})
		s.moduleCounts = append(s.moduleCounts, p.Modules)
	}
	rows.LabelProcesses(s.processes)
}

// program returns the id of the process that wrote the rows and the base name of
// its executable, 0 and "" where they are not known, or not one. Of a log that does
// not say it, the executable is the first of the modules that has an executable's name.
func (s *Session) program(images []rows.Image) (id uint32, name string) {
	runs := s.runs()
	if len(s.processes) > 1 {
		return 0, ""
	}
	if s.can.ProcessTeller != nil && len(runs) > 0 {
		p := s.can.ProcessTeller.Processes(runs[0].number)[0]
		return p.ID, modules.BaseName(p.Path)
	}
	for _, m := range images {
		if lower := strings.ToLower(m.Name); strings.HasSuffix(lower, ".exe") {
			return 0, m.Name
		}
	}
	for _, m := range images {
		if lower := strings.ToLower(m.Name); !strings.HasSuffix(lower, ".dll") && !strings.HasSuffix(lower, ".so") && !strings.Contains(lower, ".so.") && !strings.HasPrefix(lower, "[") {
			return 0, m.Name
		}
	}
	return 0, ""
}
