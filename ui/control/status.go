package control

import (
	"strings"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
)

// updateStatus sets the lights beside the inputs.
func (c *Controller) updateStatus() {
	s := &c.state
	s.Log, s.ModulesFile, s.Symbols = logStatus(s), modulesStatus(s), symbolsStatus(s)
	s.Opening = ""
	switch {
	case c.reading:
		s.Opening = s.Wanted.LogNames()
		s.Log = InputState{LevelBusy, lang.L("Opening")}
	case c.failed != "" && !s.Opened:
		s.Log = InputState{LevelBad, c.failed}
	}
}

func logStatus(s *State) InputState {
	switch {
	case !s.Opened && s.Wanted.Log == "":
		return InputState{LevelNone, lang.L("Choose the log, or drop it here")}
	case !s.Opened:
		return InputState{LevelNone, ""}
	}
	switch s.File {
	case app.Cut:
		return InputState{LevelBad, lang.L("Cut or written anew: reload it")}
	case app.Replaced:
		return InputState{LevelBad, lang.L("Another file stands in its place: reload it")}
	case app.Removed:
		return InputState{LevelBad, lang.L("Removed after it was opened")}
	}
	text := Count("{{.N}} record", "{{.N}} records", s.Facts.Records)
	level := LevelGood
	if s.Facts.RecordSize > 0 {
		text += " · " + lang.L("{{.N}} bytes each", data{"N": s.Facts.RecordSize})
	}
	if s.Facts.DamageBytes > 0 {
		level = LevelWarn
		text += " · " + Count("{{.N}} byte damaged", "{{.N}} bytes damaged", s.Facts.DamageBytes)
	}
	if s.Facts.Records == 0 {
		level = LevelWarn
	}
	return InputState{level, text}
}

func modulesStatus(s *State) InputState {
	switch {
	case !s.Opened && s.Wanted.Modules == "":
		return InputState{LevelNone, lang.L("Looked for beside the log")}
	case !s.Opened:
		return InputState{LevelNone, lang.L("Waits for the log")}
	case s.Facts.OwnModules && len(s.Modules) == 0:
		return InputState{LevelWarn, lang.L("The log tells of none: addresses have no names")}
	case s.Found.Modules == "" && len(s.Modules) == 0:
		return InputState{LevelWarn, lang.L("None beside the log: addresses have no names")}
	case len(s.Modules) == 0:
		return InputState{LevelWarn, lang.L("Does not describe this run")}
	}
	text := Count("{{.N}} module", "{{.N}} modules", int64(len(s.Modules)))
	if s.Facts.OwnModules {
		return InputState{LevelGood, text + " \u00b7 " + lang.L("the log tells them")}
	}
	if s.Wanted.Modules == "" && s.Found.Modules != "" {
		text += " · " + lang.L("found beside the log")
	}
	return InputState{LevelGood, text}
}

// ModuleCounts counts the modules that rows lie in by what is known of them.
type ModuleCounts struct {
	// Used counts modules with rows, Named those of them with names,
	// Mismatched those whose symbol file belongs to another build, OnRequest
	// those of them whose names are shown all the same, Pending those not yet
	// looked for.
	Used, Named, Mismatched, OnRequest, Unverified, Pending int
}

// CountModules counts modules. Where it is not known yet which have rows, all are
// taken.
func CountModules(modules []app.ModuleState) ModuleCounts {
	var t ModuleCounts
	for _, m := range modules {
		if m.Records == 0 {
			continue
		}
		t.Used++
		switch m.Status {
		case "matched", "attached", "embedded", "exports only", "starts only":
			t.Named++
		case "unverified":
			t.Named++
			t.Unverified++
		case "mismatched":
			t.Mismatched++
			if m.OnRequest {
				t.OnRequest++
				t.Named++
			}
		case "pending", "":
			t.Pending++
		}
	}
	return t
}

func symbolsStatus(s *State) InputState {
	if len(s.MissingSymbols) > 0 {
		return InputState{LevelBad, lang.L("Not there: {{.Name}}", data{"Name": s.MissingSymbols[0]})}
	}
	if !s.Opened {
		if len(s.Wanted.Symbols) == 0 {
			return InputState{LevelNone, lang.L("Also looked for beside the log")}
		}
		return InputState{LevelNone, lang.L("Waits for the log")}
	}
	if len(s.Modules) == 0 {
		return InputState{LevelNone, ""}
	}
	t := CountModules(s.Modules)
	if t.Pending > 0 || t.Used == 0 && !s.Loaded {
		return InputState{LevelBusy, lang.L("Finding symbols")}
	}
	parts := []string{lang.L("{{.Named}} of {{.Used}} used modules named", data{"Named": t.Named, "Used": t.Used})}
	level := LevelGood
	if t.Named < t.Used {
		level = LevelWarn
	}
	if t.Unverified > 0 {
		level = LevelWarn
		parts = append(parts, lang.L("{{.N}} unverified", data{"N": t.Unverified}))
	}
	if t.OnRequest > 0 {
		level = LevelBad
		parts = append(parts, lang.L("{{.N}} of another build", data{"N": t.OnRequest}))
	} else if t.Mismatched > 0 {
		level = LevelBad
		parts = append(parts, lang.L("{{.N}} mismatched", data{"N": t.Mismatched}))
	}
	return InputState{level, strings.Join(parts, " · ")}
}

// advise says the most important thing to do about an opened log, if any. The
// offer of another log of the folder stays: it was made for this one.
func (c *Controller) advise() {
	s := &c.state
	if s.Message != nil && s.Message.Offer == OfferLogs {
		return
	}
	t := CountModules(s.Modules)
	details := strings.Join(s.Facts.Details, "\n")
	runs, records := s.Facts.LeftOut()
	switch {
	case s.Facts.Dump:
		c.say(&Message{Level: LevelBad, Text: lang.L("This is a dump of a dead process: it has no calls."), Next: s.Facts.Crash, Details: details, Offer: OfferCrash})
	case s.Rows.Len() == 0:
		c.say(&Message{Level: LevelWarn, Text: lang.L("The log is empty."),
			Next: lang.L("Was the recorded program run to its end, and is this the right file?"), Details: details, Offer: OfferLog})
	case s.Facts.Crash != "":
		c.say(&Message{Level: LevelBad, Text: lang.L("This log ends in a crash."), Next: s.Facts.Crash, Details: details, Offer: OfferCrash})
	case t.OnRequest > 0:
		c.say(&Message{Level: LevelBad, Text: Count("{{.N}} module shows names of another build; each is marked and may be wrong.", "{{.N}} modules show names of another build; each is marked and may be wrong.", int64(t.OnRequest)),
			Next: lang.L("Add the folder with the symbols of the build that was recorded. The modules panel says which file and why."), Details: mismatches(s.Modules), Offer: OfferSymbols})
	case t.Mismatched > 0:
		c.say(&Message{Level: LevelBad, Text: Count("{{.N}} module has a symbol file of another build; it gives no names.", "{{.N}} modules have symbol files of another build; they give no names.", int64(t.Mismatched)),
			Next: lang.L("Add the folder with the symbols of the build that was recorded. The modules panel says which file and why."), Details: mismatches(s.Modules), Offer: OfferSymbols})
	case len(s.Modules) == 0 && s.Facts.OwnModules:
		c.say(&Message{Level: LevelWarn, Text: lang.L("The log tells of no modules, so addresses have no names."), Details: details})
	case len(s.Modules) == 0:
		c.say(&Message{Level: LevelWarn, Text: lang.L("Without the modules file, addresses have no names."),
			Next: lang.L("Choose the modules file that was written with this log (LogDetails.bin)."), Details: details, Offer: OfferModules})
	case len(s.MissingSymbols) > 0:
		c.say(missingSymbols(s.MissingSymbols))
	case t.Used > 0 && t.Named == 0:
		c.say(&Message{Level: LevelWarn, Text: lang.L("No symbols were found, so functions are shown as module and address."),
			Next: lang.L("Add the folder that holds the program's .pdb or .debug files."), Details: details, Offer: OfferSymbols})
	case s.Facts.DamageBytes > 0:
		c.say(&Message{Level: LevelWarn, Text: Count("{{.N}} byte of the log is damaged and was skipped.", "{{.N}} bytes of the log are damaged and were skipped.", s.Facts.DamageBytes), Details: details})
	case s.Facts.NoTime != "":
		c.say(&Message{Level: LevelWarn, Text: lang.L("Times are those since the first record, not the time of day."), Next: s.Facts.NoTime, Details: details, Offer: OfferModules})
	case runs > 0:
		c.say(&Message{Level: LevelWarn, Text: Count("The file holds more runs: {{.N}} row of another run is left out.", "The file holds more runs: {{.N}} rows of other runs are left out.", records),
			Next: lang.L("Choose the run above the table."), Details: details})
	}
}

func mismatches(modules []app.ModuleState) string {
	var b strings.Builder
	for _, m := range modules {
		if m.Status == "mismatched" && m.Records != 0 {
			b.WriteString(m.Name + ": " + m.SymbolFile + ": " + Translate(m.Reason) + "\n")
		}
	}
	return b.String()
}
