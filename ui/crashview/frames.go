package crashview

import (
	"fmt"
	"strconv"
	"strings"

	"fyne.io/fyne/v2/lang"

	"logparser/app"
	"logparser/rows"
	"logparser/ui/grid"
	"logparser/ui/listing"
)

// A Frame is a line of the list: a frame of the stack or an open call of the log, or a function
// that was inlined there.
type Frame struct {
	// LogRow is the row of the call in the log, from 1; 0 without one.
	LogRow int64
	// File and Line are the source line that it stands for, "" and 0 where none is known.
	File string
	Line int

	order                                      int
	number, function, place, at, from, running string
	entered                                    string
	inlined, signal, missing                   bool
	omitted                                    int
}

// framesOf makes the lines of a thread.
func framesOf(t *app.ReportThread) []Frame {
	var list []Frame
	add := func(f Frame) {
		f.order = len(list)
		list = append(list, f)
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		if i == t.First && t.Omitted > 0 {
			add(Frame{omitted: t.Omitted})
		}
		f := Frame{LogRow: r.LogRow, at: place(r), from: r.Source, entered: r.Entered, running: r.Running, signal: r.Signal}
		if r.Number >= 0 {
			f.number = strconv.Itoa(r.Number)
		}
		if f.from == "" {
			f.from = "stack"
		}
		if len(r.Functions) == 0 {
			f.missing = true
			add(f)
			continue
		}
		for k := range r.Functions {
			fn := &r.Functions[k]
			if k > 0 {
				f = Frame{LogRow: r.LogRow, inlined: true}
			}
			if f.function = fn.Name; fn.Signature != "" {
				f.function = fn.Signature
			}
			if r.Symbols != "" {
				f.function = "[" + r.Symbols + "] " + f.function
			}
			if f.File, f.Line = fn.File, fn.Line; fn.File != "" {
				f.place = fn.File[strings.LastIndexAny(fn.File, `/\`)+1:]
				if fn.Line != 0 {
					f.place += ":" + strconv.Itoa(fn.Line)
				}
			}
			add(f)
		}
	}
	return list
}

// place is where a frame is in its module.
func place(r *app.ReportRow) string {
	switch {
	case r.Module != "":
		return fmt.Sprintf("%s+%#x", r.Module[strings.LastIndexAny(r.Module, `/\`)+1:], uint64(r.Offset))
	case r.Number >= 0:
		return fmt.Sprintf("%#x", uint64(r.Address))
	}
	return ""
}

// appendFunction says what a line is about.
func appendFunction(dst []byte, f *Frame) []byte {
	switch {
	case f.omitted > 0:
		return append(dst, lang.L("{{.N}} frames are left out", map[string]any{"N": f.omitted})...)
	case f.missing:
		return append(dst, lang.L("not known")...)
	case f.inlined:
		dst = append(append(append(dst, "  "...), lang.L("inlined into")...), ' ')
	case f.signal:
		dst = append(append(append(dst, '<'), lang.L("signal handler called")...), "> "...)
	}
	return append(dst, rows.Visible(f.function)...)
}

// source is the word for where a line is known from.
func source(word string) string {
	switch word {
	case "stack":
		return lang.L("stack")
	case "log":
		return lang.L("log")
	case "both":
		return lang.L("stack and log")
	}
	return ""
}

// columns are those of the list, in the order of the stack unless another is chosen.
func columns() []listing.Column[Frame] {
	text := func(id string, title func() string, width float32, right bool, key func(f *Frame) string) listing.Column[Frame] {
		return listing.Column[Frame]{ID: id, Title: title, Width: width, Right: right, Cell: func(f *Frame, c *grid.Cell) { c.Text = append(c.Text, rows.Visible(key(f))...) }}
	}
	number := text("frame", func() string { return "#" }, 60, true, func(f *Frame) string { return f.number })
	number.Compare = listing.By(func(f *Frame) int { return f.order })
	return []listing.Column[Frame]{
		number,
		{ID: "function", Title: func() string { return lang.L("Function") }, Width: 320, Grow: true,
			Cell: func(f *Frame, c *grid.Cell) { c.Text = appendFunction(c.Text, f) }},
		text("source", func() string { return lang.L("Source") }, 170, false, func(f *Frame) string { return f.place }),
		text("from", func() string { return lang.L("Known from") }, 120, false, func(f *Frame) string { return source(f.from) }),
		text("entered", func() string { return lang.L("Entered") }, 110, true, func(f *Frame) string { return f.entered }),
		text("running", func() string { return lang.L("Running for") }, 110, true, func(f *Frame) string { return f.running }),
		text("place", func() string { return lang.L("Place") }, 190, false, func(f *Frame) string { return f.at }),
	}
}
