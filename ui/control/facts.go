package control

import "logparser/app"

// Facts are what is known of an opened log as a whole.
type Facts struct {
	Format     string
	RecordSize int // bytes, 0 where records vary
	Records    int64
	Runs       []Run
	// Chosen is an index into Runs; All says that all are shown. More counts
	// the runs behind the chosen one that are shown, too.
	Chosen      int
	More        int
	All         bool
	DamageBytes int64
	// Marked: the log can have annotations, and has so many of them so far.
	Marked      bool
	Annotations int64
	// CanCorrect: the log says what recording cost.
	CanCorrect bool
	// OwnModules: the log tells its modules, and a modules file is not read.
	OwnModules bool
	// Details are lines for whoever wants to know more: why the format was
	// chosen, damage, what was not understood of the modules file.
	Details []string
	// Crash says how the program crashed, "" where it did not.
	Crash string
	// NoTime says why the time of day is not known, "" where it is or nothing tells of it.
	NoTime string
	// Dump: there is no log, only a dump of a dead process.
	Dump bool
	// Warnings are the lines that a saved file has in its head, translated.
	Warnings []string
}

// A Run is a run of the log; see [parser.Run].
type Run struct {
	Records    int64
	HasModules bool
}

// LeftOut returns how many runs and records are not shown.
func (f *Facts) LeftOut() (runs int, records int64) {
	if f.All {
		return 0, 0
	}
	for i, r := range f.Runs {
		if i < f.Chosen || i > f.Chosen+f.More {
			runs++
			records += r.Records
		}
	}
	return runs, records
}

// Shown returns how many records are shown while no filter hides any.
func (f *Facts) Shown() int64 {
	_, left := f.LeftOut()
	return f.Records - left
}

// factsOf asks a session for them.
func factsOf(s *app.Session) Facts {
	info := s.Info()
	f := Facts{
		Format: info.Format, RecordSize: info.RecordSize, Records: info.Records,
		DamageBytes: info.DamageBytes, OwnModules: s.OwnModules(),
		CanCorrect: s.CanCorrect(), Dump: s.IsDump(),
	}
	texts, counters, marked := s.AnnotationCount()
	f.Marked, f.Annotations = marked, texts+counters
	for _, w := range s.Warnings() {
		f.Warnings = append(f.Warnings, warning(w))
		switch {
		case w.Kind == app.Crashed && f.Crash == "":
			f.Crash = Translate(w.Text)
		case w.Kind == app.NoTime:
			f.NoTime = Translate(w.Text)
		}
	}
	f.Chosen, f.All = s.Run()
	f.More = max(s.ShownRuns()-1, 0)
	for _, r := range info.Runs {
		f.Runs = append(f.Runs, Run{r.Count, r.HasModules})
	}
	if !info.Why.IsZero() {
		f.Details = append(f.Details, info.Format+": "+Translate(info.Why))
	}
	f.Details = append(f.Details, f.Warnings...)
	for _, n := range info.Notes {
		f.Details = append(f.Details, Translate(n))
	}
	return f
}
