package app

import (
	"encoding/binary"
	"strconv"
	"strings"

	"logparser/crash"
	"logparser/message"
	"logparser/modules"
	"logparser/parser"
	"logparser/rows"
	"logparser/symbols"
)

// A RecordedCrash is a crash that the log tells of, with the name of what was executed.
type RecordedCrash struct {
	parser.Crash
	// Function is the innermost one at the instruction pointer, with Source and Line where known, or
	// module and RVA, or the address. Module is "" outside all modules.
	Function, Source, Module string
	Line                     int
	// Caller: the instruction pointer lies in no module, and the names are those of the place that the
	// return address on top of the stack leads to.
	Caller bool
	// Process is nil where the log is of one.
	Process *rows.Process

	cause crash.Cause
}

// A crashPlace is where a crash is looked up. back is subtracted from the address before, as in symbols.Query.
type crashPlace struct {
	address, back uint64
	module        int
	caller        bool
}

// Crashes returns the crashes that the log tells of, in order of time. Functions are known when the
// session was loaded. What it returns is shared.
func (s *Session) Crashes() []RecordedCrash {
	if list := s.crashes.Load(); list != nil {
		return *list
	}
	if s.can.CrashTeller == nil || len(s.runs()) != 1 {
		return nil
	}
	var list []RecordedCrash
	for _, c := range s.can.CrashTeller.Crashes(s.runs()[0].number) {
		r := RecordedCrash{Crash: c, Process: s.process(c.Process)}
		r.cause = s.deadProcess(&r).Cause
		list = append(list, r)
	}
	return list
}

// crashPlace says where to look up a crash.
func (s *Session) crashPlace(c *RecordedCrash) crashPlace {
	p := crashPlace{address: c.IP, module: s.locate(0, c.Space, c.IP).Module}
	if c.ReturnIP {
		p.back = 1
	}
	if p.module >= 0 || len(c.Registers) == 0 {
		return p
	}
	// A call of an address where nothing is: the caller's address was pushed last.
	stack := c.Stack[0]
	at := c.SP - stack.Address
	if c.Machine == parser.ARM64 || at > uint64(len(stack.Bytes)) || uint64(len(stack.Bytes))-at < uint64(c.PointerSize) {
		return p
	}
	returned := crashPlace{back: 1, caller: true}
	if b := stack.Bytes[at:]; c.PointerSize == 4 {
		returned.address = uint64(binary.LittleEndian.Uint32(b))
	} else {
		returned.address = binary.LittleEndian.Uint64(b)
	}
	if returned.module = s.locate(0, c.Space, returned.address-returned.back).Module; returned.module < 0 {
		return p
	}
	return returned
}

// crashModules returns the modules in which crashes are looked up.
func (s *Session) crashModules() map[moduleKey]bool {
	found := make(map[moduleKey]bool)
	s.crashes.Store(nil)
	list := s.Crashes()
	for i := range list {
		if p := s.crashPlace(&list[i]); p.module >= 0 {
			found[moduleKey{0, p.module}] = true
		}
	}
	return found
}

// nameCrashes names what was executed when the program crashed. The caller holds the token.
func (s *Session) nameCrashes() {
	s.crashes.Store(nil)
	list := s.Crashes()
	for i := range list {
		c := &list[i]
		p := s.crashPlace(c)
		c.Caller = p.caller
		c.Function = s.unnamed(0, p.module, p.address)
		if p.module < 0 {
			continue
		}
		r := &s.runs()[0]
		c.Module = r.names[p.module]
		named := symbols.NewResolver(r.modules, s.bindings[0], s.log.Truncated())
		loc := named.Resolve(p.address, r.spaces[c.Space].Time, p.back)
		if len(loc.Symbol.Frames) == 0 {
			continue
		}
		f := &loc.Symbol.Frames[0]
		c.Function, c.Source, c.Line = f.Function, f.File, f.Line
		if s.bindings[0][p.module].Status == symbols.Mismatched {
			c.Function, c.Source = rows.TagFunction(c.Function), rows.TagSource(c.Source)
		}
	}
	s.crashes.Store(&list)
}

// Text says in a line what happened, where, and in which thread.
func (c *RecordedCrash) Text() message.Text {
	what := c.cause.Text()
	var place message.Text
	switch {
	case c.Function == "":
		place = message.Textf("at instruction %#x", c.IP)
	case c.Caller:
		place = message.Textf("in a call from %s", c.place())
	default:
		place = message.Textf("in %s", c.place())
	}
	text := message.Textf("the program crashed: %s, %s, thread %d", what, place, c.Thread)
	if c.Process != nil {
		text = message.Textf("process %s: %s", c.Process.Label, text)
	}
	if c.Message != "" {
		text = message.Textf("%s: %s", text, rows.Visible(strings.TrimSpace(c.Message)))
	}
	return text
}

// dumpText says in a line why the process of a dump ended.
func (s *Session) dumpText() message.Text {
	what := s.dump.Cause.Text()
	if t := s.dump.Crashed(); t != nil {
		return message.Textf("the program crashed: %s, thread %d", what, t.ID)
	}
	return message.Textf("the program ended: %s", what)
}

// place is the function with its source.
func (c *RecordedCrash) place() string {
	place := rows.Visible(c.Function)
	switch {
	case c.Source != "" && c.Line > 0:
		return place + " (" + modules.BaseName(c.Source) + ":" + strconv.Itoa(c.Line) + ")"
	case c.Module != "":
		return place + " (" + c.Module + ")"
	}
	return place
}
