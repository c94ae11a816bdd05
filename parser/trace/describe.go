package trace

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// describe fills in a view's Info.
func (g *growth) describe(v *view) {
	info, p, w := &v.info, g.process, g.w
	info.Format, info.Why, info.Size = formatName, message.Textf("the file says so"), w.size
	lost := p.lost
	levels := 0
	var inherited []message.Text
	for _, s := range w.all {
		info.Records += s.count
		info.DamageBytes += s.damageBytes
		info.Damage = append(info.Damage, s.damage...)
		lost += s.lost
		if s.level > 0 && s.count > 0 {
			levels++
		}
		if n := s.inheritedCalls; n > 0 {
			inherited = append(inherited, message.Textf("calls that were open on thread %d when the process was forked: %d; their enters are the parent's", s.thread, n))
		}
	}
	info.DamageBytes += w.damageBytes + p.damageBytes
	info.Damage = append(append(info.Damage, w.damage...), p.damage...)
	slices.SortStableFunc(info.Damage, func(a, b parser.Damage) int { return cmp.Compare(a.Offset, b.Offset) })
	info.Damage = slices.Clip(info.Damage[:min(len(info.Damage), parser.MaxDamage)])
	// A log with nothing but annotations has a run, too.
	if len(w.all)+len(w.process) > 0 {
		info.Runs = []parser.Run{{Count: info.Records, HasModules: v.epochs.modules.Len() > 0}}
	}
	v.program, v.system = p.path, p.system
	v.noteProcess(p)
	v.noteEnd(p)
	v.noteSettings(p)
	if lost > 0 {
		v.note("%d events were lost", lost)
	}
	if w.strands.many {
		v.note("more than %d stacks of coroutines are not told apart; calls of the others may be paired wrongly", maxStrands)
	}
	if levels > 0 {
		v.note("%d signal handlers interrupted the recorder; their events are their thread's", levels)
	}
	if o := p.overhead; o != nil {
		v.note("an enter costs %.1f ns and a leave %.1f ns to record",
			float64(o.EnterBefore)/1e3+float64(o.EnterAfter)/1e3, float64(o.LeaveBefore)/1e3+float64(o.LeaveAfter)/1e3)
	}
	if n := len(v.epochs.times); n > 0 {
		v.note("modules were replaced by others at their addresses %d times", n)
	}
	info.Notes = append(info.Notes, inherited[:min(len(inherited), maxNotes)]...)
	if l := w.unmade; l.n > 0 {
		v.note("chunks that were being made are left out: %d, the first at offset %d, %d bytes in all", l.n, l.first, l.bytes)
	}
	if l := w.unknown; l.n > 0 {
		v.note("chunks that are of a kind that is not known are left out: %d, the first at offset %d, %d bytes in all", l.n, l.first, l.bytes)
	}
	info.Notes = append(info.Notes, v.clock.steps(v.wall)...)
	info.Notes = append(info.Notes, p.notes...)
}

func (v *view) note(pattern string, args ...any) {
	v.info.Notes = append(v.info.Notes, message.Textf(pattern, args...))
}

// noteProcess adds notes about the process that was recorded.
func (v *view) noteProcess(p *process) {
	if p.path != "" {
		v.note("program %s, pid %d", printable(p.path), v.header.PID)
	}
	if len(p.arguments) > 0 {
		v.note("command line %s", printable(commandLine(p.arguments)))
	}
	if p.system != "" {
		v.note("system %s", printable(p.system))
	}
	if p.recorder != "" {
		v.note("recorder %s", printable(p.recorder))
	}
}

// noteEnd adds a note if the recording did not end as intended.
func (v *view) noteEnd(p *process) {
	_, died := p.diedOfCrash()
	switch state := v.header.State; {
	case state == wire.StateRecording && died:
		c := v.crash(&p.crashes[len(p.crashes)-1])
		v.note("the program ended by %s", c.Cause())
	case state == wire.StateRecording && !p.exited:
		v.note("the recording did not end in order: the program still runs or was killed")
	case state != wire.StateDiskFull && state != wire.StateFailed:
	case v.header.Why == wire.WhyQuota:
		v.note("the recording stopped because the disk quota was used up")
	case v.header.Why == wire.WhySize:
		v.note("the recording stopped at the limit on the size of files")
	case v.header.Why == wire.WhyMemory:
		v.note("the recording stopped because there was no address space for more of the log")
	case v.header.Why == wire.WhyTruncated:
		v.note("the recording stopped because somebody truncated the log")
	case v.header.Why == wire.WhyClosed:
		v.note("the recording stopped because the program closed the log's descriptor, and it could not be opened again")
	case state == wire.StateDiskFull:
		v.note("the recording stopped because the disk was full")
	case state == wire.StateFailed:
		v.note("the recording stopped with an error")
	}
}

// noteSettings adds notes about the way in which the process was recorded.
func (v *view) noteSettings(p *process) {
	if v.header.Flags&wire.FlagRing != 0 {
		v.note("a ring: each thread keeps its last %d bytes", v.header.Ring)
	}
	if len(p.ways) > 0 {
		v.note("recorded by %s", strings.Join(p.ways, ", "))
	}
	if v.header.Flags&wire.FlagSnapshot != 0 {
		if v.header.Flags&wire.FlagRing != 0 {
			v.note("a snapshot of a ring")
		} else {
			v.note("a copy that was made while the program ran")
		}
	}
	if v.header.MinDuration > 0 {
		v.note("calls shorter than %v were dropped", time.Duration(min(v.header.MinDuration, math.MaxInt64)))
	}
}

// commandLine returns arguments as a person reads them: with quotation marks around those that would not be seen as one, such as an empty one.
func commandLine(arguments []string) string {
	words := make([]string, len(arguments))
	for i, a := range arguments {
		if words[i] = a; a == "" || strings.ContainsAny(a, " \t\n") {
			words[i] = `"` + strings.ReplaceAll(a, `"`, `\"`) + `"`
		}
	}
	return strings.Join(words, " ")
}
