package export

import (
	"context"
	"strconv"
	"strings"

	"logparser/rows"
)

// writeTracer writes a line for each row as the tracers did that print from the hooks of -finstrument-functions: the thread, the address, the
// function with its arguments, and where it was called from; and what it returned.
func writeTracer(ctx context.Context, out *output, src rows.Source, opt Options) error {
	end := opt.lineEnd()
	head := func() []byte {
		if opt.BOM {
			return []byte(byteOrderMark)
		}
		return nil
	}
	return writeRows(ctx, out, src, src.Len(), opt, head, nothing, func() func([]byte, *rows.Row) []byte {
		return func(dst []byte, r *rows.Row) []byte { return append(appendTracer(dst, r), end...) }
	})
}

// appendTracer appends the line of a row. Threads have the numbers that the system gives them, after the process where there are several.
func appendTracer(dst []byte, r *rows.Row) []byte {
	if r.Process != nil {
		dst = append(append(dst, rows.Visible(r.Process.Text())...), ' ')
	}
	dst = strconv.AppendUint(append(dst, "T0x"...), uint64(r.Thread), 16)
	dst = append(rows.AppendAddress(append(dst, ": "...), r.Address), ' ')
	call := *r
	if v := r.Values; v != nil && r.Filled&rows.Values != 0 {
		call.Values = &rows.CallValues{Arguments: v.Arguments}
	}
	dst = append(dst, rows.Visible(string(rows.AppendCall(nil, &call)))...)
	switch r.Event {
	case rows.Enter:
		if site := r.Site; site != nil && r.Filled&rows.CallSites != 0 {
			from := rows.Visible(site.Function)
			if r.FromSite() {
				from = rows.Visible(site.Source[strings.LastIndexAny(site.Source, `/\`)+1:]) + ":" + strconv.Itoa(site.Line)
			}
			dst = append(append(append(dst, " [from "...), from...), ']')
		}
	case rows.Leave:
		dst = append(dst, " =>"...)
		if v := r.Values; v != nil && r.Filled&rows.Values != 0 && len(v.Results) > 0 {
			dst = append(append(dst, ' '), rows.Visible(string(rows.AppendResults(nil, v.Results)))...)
		}
	}
	if r.Note != "" {
		dst = append(append(append(dst, "  ("...), rows.Visible(r.Note)...), ')')
	}
	return dst
}
