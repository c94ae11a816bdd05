package export

import (
	"context"
	"strconv"
	"time"

	"logparser/rows"
)

// writeJSONL writes one JSON object a line, without a header. The keys are the columns of a csv file, in the same order;
// unknown values are left out. The options for byte order mark and line ends do not apply, because the file is for programs.
func writeJSONL(ctx context.Context, out *output, src rows.Source, opt Options) error {
	if len(opt.Columns) > 0 {
		return writeChosenJSONL(ctx, out, src, opt)
	}
	digits := src.TimeDigits()
	return writeLines(ctx, out, src, src.Len(), opt, nothing, nothing, func() lines {
		j := &jsonLines{digits: digits, duration: `,"` + opt.Header.ColumnName(rows.ColumnOf("duration")) + `":`, zone: opt.zone(),
			stacks: opt.Header.Stacks, processes: len(opt.Header.Processes) > 0}
		if j.stacks || j.processes {
			return lines{row: j.append} // brief rows do not support these columns
		}
		return lines{j.append, newColumnsBrief(j, digits).append}
	})
}

// jsonLines makes the objects of rows.
type jsonLines struct {
	digits int
	// duration is the key of durations, with a comma before it.
	duration string
	// stacks and processes say that rows may have these keys.
	stacks, processes bool

	index  growing
	clock  recentTime
	zone   zone
	utc    recentTime
	recent recent
}

func (j *jsonLines) append(dst []byte, r *rows.Row) []byte {
	dst, _ = j.start(dst, r)
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

// start implements [briefColumns].
func (j *jsonLines) start(dst []byte, r *rows.Row) (text []byte, low int) {
	dst = j.index.append(append(dst, `{"index":`...), r.Index)
	low = len(dst) - 4
	return j.clock.append(append(dst, `,"time":"`...), r, j.digits), low
}

// call implements [briefColumns].
func (j *jsonLines) call(dst []byte, thread uint32, event rows.Event, depth int) []byte {
	dst = strconv.AppendUint(append(dst, `","thread":`...), uint64(thread), 10)
	dst = append(append(dst, `,"event":"`...), event.String()...)
	dst = strconv.AppendInt(append(dst, `","depth":`...), int64(depth), 10)
	return append(dst, j.duration...)
}

// rest implements [briefColumns].
func (j *jsonLines) rest(dst []byte, r *rows.Row) (text []byte, end int, ok bool) {
	ahead, known := j.zone.ahead(r)
	if known {
		if ahead%time.Second != 0 {
			return nil, 0, false // the decimals of UTC differ from those of the local time
		}
		dst = j.utc.appendWall(append(dst, `,"`+utcColumn+`":"`...), r.Wall.Add(-ahead), j.digits)
		end = len(dst)
		dst = append(dst, `Z"`...)
	}
	return append(dst, "}\n"...), end, true
}

// names appends the members from function to symbols, each with a comma before it.
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

// appendJSONText appends a key and a string, or nothing if the string is empty.
func appendJSONText(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return rows.AppendJSONString(append(dst, key...), s)
}
