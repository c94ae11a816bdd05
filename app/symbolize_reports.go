package app

import (
	"context"
	"strings"

	"logparser/crash/minidump"
	"logparser/crash/texts"
	"logparser/symbols/unwind"
)

// MaxWholeReport is how long a report may be, in bytes, of which all must be there before its first line
// can be named.
const MaxWholeReport = 256 << 20

// IsWholeReport reports whether a text that begins with this line must be there as a whole before its lines
// can be named, by [Symbolizer.TakeReport].
func IsWholeReport(first []byte) bool { return texts.IsAppleReport(first) }

// TakeReport takes what stands behind the addresses in a report whose lines will come. It reports
// whether that was found.
func (s *Symbolizer) TakeReport(report []byte) bool { return s.reader.TakeAppleReport(report) }

// microdumpLine takes a line of a microdump. At its end it returns the frames of the stack, the innermost
// first, of which the text has no addresses: they stand at the end of the line.
func (s *Symbolizer) microdumpLine(ctx context.Context, line []byte) ([]TextReference, error) {
	text := string(line)
	switch {
	case strings.Contains(text, minidump.MicrodumpBegin):
		s.microdump = minidump.NewMicrodump()
	case s.microdump == nil:
		return nil, nil
	case strings.Contains(text, minidump.MicrodumpEnd):
		d := s.microdump
		s.microdump = nil
		return s.microdumpFrames(ctx, d, len(text))
	}
	s.microdump.Line(text)
	return nil, nil
}

func (s *Symbolizer) microdumpFrames(ctx context.Context, d *minidump.Microdump, end int) (list []TextReference, err error) {
	p, err := d.Process()
	if err != nil {
		return nil, nil // what is no whole microdump is a text like any other
	}
	c := newCrash(ctx, p, "", s.in, nil)
	defer c.Close()
	const most = 128
	frames, _, _, err := c.Stack(0, most)
	if err != nil {
		return nil, err
	}
	for i := range frames {
		f := &frames[i]
		r := TextReference{Reference: texts.Reference{Start: end, End: end, Address: f.PC, Kind: texts.Return, Space: texts.Process, Offset: f.PC}}
		if f.Exact {
			r.Kind = texts.Exact
		}
		if f.Found == unwind.ByScan {
			break // what follows may be left over from calls that ended
		}
		if f.Module >= 0 {
			m := c.module(f.Module)
			r.Module, r.Identity, r.Space, r.Offset = c.Modules[f.Module].Path, c.Modules[f.Module].Identity, texts.Linked, f.RVA
			if len(f.Functions) > 0 {
				r.Symbol = &TextSymbol{File: m.binding.File, Status: m.binding.Status, RVA: r.Kind.Lookup(f.RVA)}
				r.Symbol.Symbol.Frames = f.Functions
				r.Symbol.Symbol.Start = f.Start - c.Modules[f.Module].Base
			}
		}
		list = append(list, r)
	}
	return list, nil
}
