package app

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path"
	"strconv"
	"strings"

	"logparser/rows"
)

// A NamedLine is a line of a text with the addresses in it.
type NamedLine struct {
	Text       string
	References []TextReference
}

// A NamedText is a text of which all lines are in memory.
type NamedText struct {
	Lines []NamedLine
	// Unresolved are the modules that the text names and that have no symbols.
	Unresolved []TextModule
	// Cut says that the text is longer and was not read to its end.
	Cut bool
}

// NameText names the addresses in the first most bytes of a text. Of the inputs only those count that say
// where symbols are.
func NameText(ctx context.Context, in Inputs, images []NamedImage, text io.Reader, most int64) (*NamedText, error) {
	b, err := io.ReadAll(io.LimitReader(text, most+1))
	if err != nil {
		return nil, err
	}
	out := new(NamedText)
	if out.Cut = int64(len(b)) > most; out.Cut {
		b = b[:most]
	}
	s, err := NewSymbolizer(ctx, in, images)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if first, _, _ := bytes.Cut(b, []byte("\n")); IsWholeReport(first) {
		s.TakeReport(b)
	}
	const longest = 1 << 20 // bytes; addresses are looked for in no longer lines
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, len(b)+1)
	for lines.Scan() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line := NamedLine{Text: string(bytes.TrimRight(lines.Bytes(), "\r"))}
		if len(line.Text) <= longest {
			if line.References, err = s.Line(ctx, []byte(line.Text)); err != nil {
				return nil, err
			}
		}
		out.Lines = append(out.Lines, line)
	}
	out.Unresolved = s.Unresolved()
	return out, lines.Err()
}

// AppendNames appends what is added to a line of a text for its addresses: function, file and line of each, and
// what it was inlined into. A place that the line names already is not repeated.
func (l *NamedLine) AppendNames(b []byte) []byte {
	other := ""
	for i := range l.References {
		f := &l.References[i]
		switch {
		case f.Symbol != nil && !f.Symbol.saidBy(l.around(f)):
			b = f.Symbol.appendTo(b)
		case f.Symbol == nil && f.OtherBuild != "" && f.OtherBuild != other:
			other = f.OtherBuild
			b = append(append(append(b, "  => [mismatched] "...), rows.Visible(other)...), " is of another build"...)
		}
	}
	return b
}

// around returns the part of the line in which a place is looked for that it may name already.
func (l *NamedLine) around(f *TextReference) string {
	const far = 4 << 10 // bytes; a line may have as many addresses as it is long
	return l.Text[max(0, f.Start-far):min(len(l.Text), f.End+far)]
}

// unverifiedMark stands before names of a file that was found by its name alone.
const unverifiedMark = "[unverified] "

// appendTo appends what is added to a line for a symbol.
func (t *TextSymbol) appendTo(b []byte) []byte {
	for i := range t.Symbol.Frames {
		f := &t.Symbol.Frames[i]
		before := ", inlined into "
		if i == 0 {
			before = "  => "
			if t.Guessed {
				before += unverifiedMark
			}
		}
		b = append(append(b, before...), rows.Visible(f.Function)...)
		if f.File != "" {
			b = append(append(b, " at "...), rows.Visible(f.File)...)
			if f.Line != 0 {
				b = strconv.AppendInt(append(b, ':'), int64(f.Line), 10)
			}
		}
	}
	return b
}

// saidBy reports whether a line names the place of a symbol already.
func (t *TextSymbol) saidBy(line string) bool {
	f := &t.Symbol.Frames[0]
	if f.File == "" || f.Line == 0 {
		return strings.Contains(line, f.Function)
	}
	return strings.Contains(line, path.Base(strings.ReplaceAll(f.File, `\`, "/"))+":"+strconv.Itoa(f.Line))
}
