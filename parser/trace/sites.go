package trace

import (
	"encoding/binary"
	"io"
	"sync"

	"logparser/message"
	"logparser/parser"
	"logparser/parser/trace/wire"
)

// Call sites are read in the order of all events, by cursors of their own. Such a cursor stores the call site of an event in
// Event.Address, and siteKnown in Event.Gap if the event has one.

// siteKnown marks an event that has a call site.
const siteKnown = parser.ThreadBegins

var siteEvents = sync.Pool{New: func() any { return new([512]parser.Event) }}

// HasCallSites implements [parser.CallSiter].
func (l *Log) HasCallSites() bool { return l.view.Load().header.Flags&wire.FlagSites != 0 }

// CallSites implements [parser.CallSiter].
func (l *Log) CallSites(dst []parser.CallSite, from int64) (int, error) {
	v := l.view.Load()
	switch {
	case !l.HasCallSites():
		clear(dst)
		return len(dst), nil
	case from < 0:
		return 0, message.InFile(l.name, message.Errorf("there is no record %d", from))
	case from >= v.index.total:
		return 0, io.EOF
	}
	c := l.cursor(v, from, &l.siteCursors)
	c.sites = true
	events := siteEvents.Get().(*[512]parser.Event)
	defer siteEvents.Put(events)
	done := 0
	for done < len(dst) {
		n, err := readMapped(l.mapped, c, events[:min(len(events), len(dst)-done)], from+int64(done), false)
		for i := range events[:n] {
			e := &events[i]
			dst[done+i] = parser.CallSite{}
			if e.Gap == siteKnown {
				dst[done+i] = parser.CallSite{Address: e.Address, Space: e.Space, Known: true}
			}
		}
		done += n
		if err != nil {
			return done, message.InFile(l.name, err)
		}
		if n == 0 {
			break
		}
	}
	l.release(c, &l.siteCursors)
	if done < len(dst) {
		return done, io.EOF
	}
	return done, nil
}

// readSite reads the record of a call site, which belongs to the stream's next event.
func (d *decoder) readSite(words int, body []byte) {
	if words == 5 {
		d.site = parser.CallSite{Address: binary.LittleEndian.Uint64(body), Known: true}
		return
	}
	i, offset := wire.Windowed(binary.LittleEndian.Uint32(body))
	w := &d.windows[i]
	d.site = parser.CallSite{Address: w.base + offset, Known: w.set}
}

// giveSites stores the call site that was read in the first of the decoded events. The others have none, because only one event
// is decoded after a call site.
func (d *decoder) giveSites(events []parser.Event) {
	for i := range events {
		e := &events[i]
		e.Gap = parser.NoGap
		if d.site.Known && e.Kind == parser.Enter {
			// Only enters have a call site.
			e.Address, e.Space, e.Gap = d.site.Address, d.space(wire.Return), siteKnown
		}
		d.site.Known = false
	}
}
