package table

import (
	"strconv"
	"strings"

	"logparser/rows"
)

// lineFields are the fields of a row that is copied, each with its name; nothing of them is translated.
var lineFields = []struct {
	name string
	text func(dst []byte, r *rows.Row, f Format) []byte
}{
	{"#", func(dst []byte, r *rows.Row, _ Format) []byte { return strconv.AppendInt(dst, r.Index, 10) }},
	{"Time", AppendTime},
	{"Thread", func(dst []byte, r *rows.Row, _ Format) []byte { return rows.AppendThread(dst, r) }},
	{"Function", func(dst []byte, r *rows.Row, _ Format) []byte { return appendCall(dst, r) }},
	{"Duration", func(dst []byte, r *rows.Row, f Format) []byte {
		return AppendDuration(rows.AppendBound(dst, r.Bound, r.Duration), r.Duration, f.Digits)
	}},
	{"Module", func(dst []byte, r *rows.Row, _ Format) []byte { return append(dst, r.Module...) }},
	{"Source", func(dst []byte, r *rows.Row, _ Format) []byte { return appendSource(dst, r.Source, r.Line) }},
	{"Address", func(dst []byte, r *rows.Row, _ Format) []byte { return appendAddress(dst, r) }},
	{"Symbols", func(dst []byte, r *rows.Row, _ Format) []byte { return append(dst, r.Symbols...) }},
	{"Note", func(dst []byte, r *rows.Row, _ Format) []byte { return append(dst, r.Note...) }},
}

// appendCall writes the function, indented and with an arrow.
func appendCall(dst []byte, r *rows.Row) []byte {
	for range min(r.Depth, 100) {
		dst = append(dst, "  "...)
	}
	switch r.Event {
	case rows.Enter:
		dst = append(dst, "\u2192 "...)
	case rows.Leave:
		dst = append(dst, "\u2190 "...)
	default:
		dst = append(dst, "? "...)
	}
	return append(dst, r.Function...)
}

// A Markup is a way to write rows for a place that they are pasted to. What stands
// between Head and Foot are the lines.
type Markup struct {
	Head, Foot string
	// Line writes a row, without the end of the line.
	Line func(dst []byte, r *rows.Row, f Format) []byte
}

// Tabs writes rows as text, their fields with tabs between.
var Tabs = Markup{Line: AppendLine}

// Markdown writes rows as a table of Markdown.
var Markdown = Markup{
	Head: "| " + strings.Join(names(), " | ") + " |\n" + strings.Repeat("| --- ", len(lineFields)) + "|\n",
	Line: func(dst []byte, r *rows.Row, f Format) []byte {
		return append(appendMarked(dst, r, f, "| ", " ", markdownEscapes), '|')
	},
}

// HTML writes rows as a table of HTML.
var HTML = Markup{
	Head: "<table>\n<tr><th>" + strings.Join(names(), "</th><th>") + "</th></tr>\n",
	Foot: "</table>\n",
	Line: func(dst []byte, r *rows.Row, f Format) []byte {
		return append(appendMarked(append(dst, "<tr>"...), r, f, "<td>", "</td>", htmlEscapes), "</tr>"...)
	},
}

// Two blanks are an indent, which both would drop. A line must stay one line.
var (
	htmlEscapes     = strings.NewReplacer("  ", "\u00a0\u00a0", "&", "&amp;", "<", "&lt;", ">", "&gt;", "\"", "&quot;", "\n", " ", "\r", " ")
	markdownEscapes = strings.NewReplacer("  ", "\u00a0\u00a0", "\\", "\\\\", "|", "\\|", "`", "\\`", "*", "\\*", "_", "\\_", "~", "\\~",
		"[", "\\[", "]", "\\]", "&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ", "\r", " ")
)

func names() []string {
	var list []string
	for i := range lineFields {
		list = append(list, lineFields[i].name)
	}
	return list
}

// appendMarked writes each field of a row between before and after.
func appendMarked(dst []byte, r *rows.Row, f Format, before, after string, escapes *strings.Replacer) []byte {
	var text []byte
	for i := range lineFields {
		text = lineFields[i].text(text[:0], r, f)
		dst = append(append(append(dst, before...), escapes.Replace(string(text))...), after...)
	}
	return dst
}

// AppendLine writes a row as text: its fields with tabs between, nothing translated.
func AppendLine(dst []byte, r *rows.Row, f Format) []byte {
	for i := range lineFields {
		if i > 0 {
			dst = append(dst, '\t')
		}
		dst = lineFields[i].text(dst, r, f)
	}
	return dst
}
