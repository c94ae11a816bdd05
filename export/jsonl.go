package export

import (
	"context"
	"strconv"

	"logparser/rows"
)

// writeJSONL writes one JSON object a line, without a header. Its keys are the
// columns of a csv file, in their order; what is not known is left out. Byte
// order mark and line ends are not for programs, and are not changed.
func writeJSONL(ctx context.Context, out *output, src rows.Source, opt Options) error {
	if len(opt.Columns) > 0 {
		return writeChosenJSONL(ctx, out, src, opt)
	}
	digits := src.TimeDigits()
	return writeRows(ctx, out, src, src.Len(), opt, nothing, nothing, func() func([]byte, *rows.Row) []byte {
		j := &jsonLines{digits: digits, duration: `,"` + opt.Header.ColumnName(rows.ColumnOf("duration")) + `":`, zone: opt.zone()}
		return j.append
	})
}

// jsonLines makes objects of rows.
type jsonLines struct {
	digits int
	// duration is the key of durations, with a comma in front.
	duration string
	index    growing
	clock    recentTime
	zone     zone
	utc      recentTime
	recent   recent
}

func (j *jsonLines) append(dst []byte, r *rows.Row) []byte {
	dst = append(dst, `{"index":`...)
	dst = j.index.append(dst, r.Index)
	dst = append(dst, `,"time":"`...)
	dst = j.clock.append(dst, r, j.digits)
	dst = append(dst, `","thread":`...)
	dst = strconv.AppendUint(dst, uint64(r.Thread), 10)
	if r.Stack != 0 {
		dst = strconv.AppendUint(append(dst, `,"stack":`...), uint64(r.Stack), 10)
	}
	dst = append(dst, `,"event":"`...)
	dst = append(dst, r.Event.String()...)
	dst = append(dst, `","depth":`...)
	dst = strconv.AppendInt(dst, int64(r.Depth), 10)
	if r.Duration >= 0 {
		dst = append(dst, j.duration...)
		dst = rows.AppendMicroseconds(dst, r.Duration)
	}
	dst = j.recent.append(dst, r, j)
	dst = appendJSONText(dst, `,"note":`, r.SavedNote())
	if wall, ok := j.zone.utc(r); ok {
		dst = j.utc.appendWall(append(dst, `,"`+utcColumn+`":"`...), wall, j.digits)
		dst = append(dst, `Z"`...)
	}
	dst = appendJSONText(dst, `,"process":`, r.Process.Text())
	return append(dst, "}\n"...)
}

// names appends the members from function to symbols, each with a comma in
// front.
func (j *jsonLines) names(dst []byte, r *rows.Row) []byte {
	dst = rows.AppendJSONString(append(dst, `,"function":`...), r.Function)
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
	return rows.AppendJSONString(append(dst, key...), s)
}
