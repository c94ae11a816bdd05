package export

import (
	"context"
	"strconv"
	"unicode/utf8"

	"logparser/rows"
)

// writeJSONL writes one JSON object a line, without a header. Its keys are the
// columns of a csv file, in their order; what is not known is left out. Byte
// order mark and line ends are not for programs, and are not changed.
func writeJSONL(ctx context.Context, out *output, src rows.Source, opt Options) error {
	digits := src.TimeDigits()
	return writeRows(ctx, out, src, src.Len(), opt, nothing, nothing, func() func([]byte, *rows.Row) []byte {
		j := &jsonLines{digits: digits, duration: `,"` + opt.Header.ColumnName(rows.ColDuration) + `":`}
		return j.append
	})
}

// jsonLines makes objects of rows.
type jsonLines struct {
	digits int
	// duration is the key of durations, with a comma in front.
	duration string
	index    counter
	clock    recentTime
	recent   recent
}

func (j *jsonLines) append(dst []byte, r *rows.Row) []byte {
	dst = append(dst, `{"index":`...)
	j.index.set(r.Index)
	dst = append(dst, j.index.text[j.index.at:maxDigits]...)
	dst = append(dst, `,"time":"`...)
	j.clock.set(r, j.digits)
	dst = append(dst, j.clock.text[:j.clock.n]...)
	dst = append(dst, `","thread":`...)
	dst = strconv.AppendUint(dst, uint64(r.Thread), 10)
	dst = append(dst, `,"event":"`...)
	dst = append(dst, r.Event.String()...)
	dst = append(dst, `","depth":`...)
	dst = strconv.AppendInt(dst, int64(r.Depth), 10)
	if r.Duration >= 0 {
		dst = append(dst, j.duration...)
		dst = rows.AppendMicroseconds(dst, r.Duration)
	}
	dst = j.recent.append(dst, r, j)
	dst = appendJSONText(dst, `,"note":`, r.Note)
	return append(dst, "}\n"...)
}

// names appends the members from function to symbols, each with a comma in
// front.
func (j *jsonLines) names(dst []byte, r *rows.Row) []byte {
	dst = appendJSONString(append(dst, `,"function":`...), r.Function)
	dst = appendJSONText(dst, `,"module":`, r.Module)
	dst = appendJSONText(dst, `,"source":`, r.Source)
	if r.Line != 0 {
		dst = rows.AppendLine(append(dst, `,"line":`...), r.Line)
	}
	dst = append(rows.AppendAddress(append(dst, `,"address":"`...), r.Address), '"')
	return appendJSONText(dst, `,"symbols":`, r.Symbols)
}

// appendJSONText appends a member with a string, nothing for the empty one.
func appendJSONText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendJSONString(append(dst, key...), s)
}

// appendJSONString appends a string by RFC 8259: quotes, backslashes and
// control characters escaped, broken UTF-8 replaced. The two line separators
// that JavaScript once stumbled over are escaped too.
func appendJSONString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= ' ' && b != '"' && b != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, `\n`...)
			case '\r':
				dst = append(dst, `\r`...)
			case '\t':
				dst = append(dst, `\t`...)
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			dst = append(append(dst, s[start:i]...), "\uFFFD"...)
			// As in csv, one stands for all broken bytes in a row.
			for i < len(s) {
				if r, n = utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || n != 1 {
					break
				}
				i++
			}
			start = i
			continue
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), '\\', 'u', '2', '0', '2', hex[r&15])
			start = i + n
		}
		i += n
	}
	return append(append(dst, s[start:]...), '"')
}
