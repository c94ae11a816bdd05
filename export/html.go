package export

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"logparser/rows"
)

// The page around the rows. It loads nothing from elsewhere, and its content security policy forbids network access, even if a
// name in the log injected code.
var (
	//go:embed page/style.css
	pageStyle string
	//go:embed page/script.js
	pageScript string
)

// maxPageIndent is the largest depth that is indented, as in a text file.
const maxPageIndent = maxIndent

// writeHTML writes a page with the rows as a table, which can be searched and folded in a browser.
func writeHTML(ctx context.Context, out *output, src rows.Source, opt Options) error {
	n := src.Len()
	digits, base := src.TimeDigits(), shallowest(src, n, &opt)
	besides := besidePage(opt.Columns)
	if process := rows.ColumnOf("process"); len(opt.Header.Processes) > 0 && !slices.Contains(besides, process) {
		besides = append(besides, process)
	}
	if opt.Header.Values {
		for _, c := range valueColumns() {
			if !slices.Contains(besides, c) && len(opt.Columns) == 0 {
				besides = append(besides, c)
			}
		}
	}
	head := func() []byte { return appendPageHead(nil, &opt.Header, n, out.part, besides) }
	tail := func() []byte {
		return []byte("</tbody></table>\n<script>" + pageScript + "</script>\n</body></html>\n")
	}
	return writeRows(ctx, out, src, n, opt, head, tail, func() func([]byte, *rows.Row) []byte {
		h := &pageRows{digits: digits, base: base}
		if len(besides) > 0 {
			h.besides = newCells(src, &opt)
			h.besides.columns = besides
		}
		h.clock.Separator = ' '
		return h.append
	})
}

// pageBegin is the beginning of a page, by which it is recognised.
const pageBegin = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n" +
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src '"

// scriptHash names the page's own script, the only one that a browser runs.
var scriptHash = func() string {
	sum := sha256.Sum256([]byte(pageScript))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}()

func appendPageHead(dst []byte, h *rows.Header, n int64, part int, besides []*rows.Column) []byte {
	title := logName(h)
	if part > 0 {
		title += ", part " + strconv.Itoa(part+1)
	}
	dst = append(append(append(dst, pageBegin...), scriptHash...), "'\">\n<title>"...)
	dst = appendPageText(dst, title)
	dst = append(append(append(dst, "</title>\n<style>"...), pageStyle...), "</style></head><body>\n<header><h1>"...)
	dst = append(appendPageText(dst, title), "</h1><dl>\n"...)
	line := func(name, value string) {
		if value != "" {
			dst = append(append(append(dst, "<dt>"...), name...), "</dt><dd>"...)
			dst = append(appendPageText(dst, value), "</dd>\n"...)
		}
	}
	line("Log", h.Log)
	line("Format", h.Format)
	line("Modules", h.Modules)
	for _, s := range h.Lines {
		line("Note", s)
	}
	if part > 0 {
		line("Note", "the table goes on from the part before, where calls that are open here began")
	}
	line("Rows in all", strconv.FormatInt(n, 10))
	dst = append(dst, "</dl>\n"...)
	if len(h.Images) > 0 {
		dst = append(dst, "<details><summary>Modules</summary><table class=\"modules\"><thead><tr><th>base</th><th>size</th><th>symbols</th><th>module</th><th>symbol file</th><th>identity</th>"...)
		if len(h.Processes) > 0 {
			dst = append(dst, "<th>process</th>"...)
		}
		dst = append(dst, "</tr></thead><tbody>\n"...)
		for _, m := range h.Images {
			dst = append(dst, "<tr>"...)
			cells := []string{
				string(rows.AppendAddress(nil, m.Base)), string(rows.AppendAddress(nil, m.Size)), m.Status, m.Name, m.SymbolFile, m.Identity,
			}
			if len(h.Processes) > 0 {
				cells = append(cells, m.Process.Text())
			}
			for _, s := range cells {
				dst = append(appendPageText(append(dst, "<td>"...), s), "</td>"...)
			}
			dst = append(dst, "</tr>\n"...)
		}
		dst = append(dst, "</tbody></table></details>\n"...)
	}
	dst = append(dst, "<form id=\"tools\" hidden><input id=\"find\" type=\"search\" placeholder=\"Show rows with (/)\" autocomplete=\"off\">"+
		" <button type=\"button\" id=\"fold\">Fold all</button> <button type=\"button\" id=\"unfold\">Unfold all</button> <output id=\"count\"></output></form></header>\n"+
		"<table id=\"rows\"><thead><tr><th>row</th><th>time</th><th>thread</th><th>duration</th><th>call</th><th>source</th><th>module</th><th>note</th>"...)
	for _, c := range besides {
		dst = append(append(append(dst, "<th>"...), c.Name...), "</th>"...)
	}
	return append(dst, "</tr></thead><tbody>\n"...)
}

// pageRows makes the rows of a page's table.
type pageRows struct {
	digits int
	// base is the depth of the shallowest row, which is not indented.
	base   int
	clock  rows.Clock
	recent recent
	// besides makes the cells of the chosen columns after the page's own ones. It is nil if there are none.
	besides *cells
}

var pageArrows = [...]string{rows.Enter: "&rarr; ", rows.Leave: "&larr; ", rows.Unknown: "?? "}

func (h *pageRows) append(dst []byte, r *rows.Row) []byte {
	dst = append(dst, `<tr class="`...)
	dst = append(dst, r.Event.String()...)
	dst = append(dst, `" data-d="`...)
	dst = strconv.AppendInt(dst, int64(r.Depth), 10)
	dst = append(dst, `"><td>`...)
	dst = strconv.AppendInt(dst, r.Index, 10)
	dst = append(dst, "</td><td>"...)
	dst = h.clock.Append(dst, r, h.digits)
	dst = append(dst, "</td><td>"...)
	dst = rows.AppendThread(dst, r)
	dst = append(dst, `</td><td data-us="`...)
	dst = rows.AppendMicroseconds(dst, r.Duration)
	dst = append(dst, `">`...)
	dst = rows.AppendDuration(rows.AppendBound(dst, r.Bound, r.Duration), r.Duration, h.digits)
	dst = append(dst, `</td><td style="--d:`...)
	dst = strconv.AppendInt(dst, int64(min(max(r.Depth-h.base, 0), maxPageIndent)), 10)
	dst = append(dst, `">`...)
	if r.Depth-h.base > maxPageIndent {
		dst = append(dst, '[')
		dst = strconv.AppendInt(dst, int64(r.Depth), 10)
		dst = append(dst, "] "...)
	}
	dst = append(dst, pageArrows[r.Event]...)
	dst = h.recent.append(dst, r, h)
	dst = appendPageText(dst, r.Note)
	dst = append(dst, "</td>"...)
	if h.besides != nil {
		dst = h.besides.appendPageCells(dst, r)
	}
	return append(dst, "</tr>\n"...)
}

// names appends the cells that depend on the address, from the function's name to the beginning of the note.
func (h *pageRows) names(dst []byte, r *rows.Row) []byte {
	dst = appendPageText(dst, r.Function)
	dst = append(dst, `</td><td title="`...)
	dst = appendPageText(dst, r.Source)
	dst = append(dst, `">`...)
	dst = appendPageText(dst, r.Source[strings.LastIndexAny(r.Source, `/\`)+1:])
	if r.Source != "" && r.Line != 0 {
		dst = rows.AppendLine(append(dst, ':'), r.Line)
	}
	dst = append(dst, `</td><td title="`...)
	dst = rows.AppendAddress(dst, r.Address)
	dst = appendPageText(append(dst, ' '), r.Symbols)
	dst = append(dst, `">`...)
	dst = appendPageText(dst, r.Module)
	return append(dst, "</td><td>"...)
}

// appendPageText appends text for the content of an element or for a quoted attribute.
func appendPageText(dst []byte, s string) []byte {
	s = rows.Visible(s)
	for i := range len(s) {
		switch s[i] {
		case '&':
			dst = append(dst, "&amp;"...)
		case '<':
			dst = append(dst, "&lt;"...)
		case '>':
			dst = append(dst, "&gt;"...)
		case '"':
			dst = append(dst, "&quot;"...)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst
}
