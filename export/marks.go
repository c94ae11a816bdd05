package export

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"

	"logparser/message"
	"logparser/rows"
)

// Marks calls yield with what the program wrote into its log, in order of time,
// until it returns false. A mark is good until then.
type Marks func(ctx context.Context, yield func(m *rows.Mark) bool) error

// A markTeller is a callWriter that has something for marks.
type markTeller interface {
	// userMark is told a mark.
	userMark(dst []byte, t *thread, at int64, m *rows.Mark) []byte
}

// A markQueue is the marks that a walk has not told yet.
type markQueue struct {
	to   markTeller
	next func() (*rows.Mark, error, bool)
	mark *rows.Mark // the next
	err  error
}

// openMarks begins with the marks that there are, if the writer wants any. What
// it returns ends that.
func (w *walk) openMarks(ctx context.Context, marks Marks) (stop func()) {
	w.nextMark = math.MaxInt64
	to, ok := w.to.(markTeller)
	if !ok || marks == nil {
		return func() {}
	}
	w.marks.to = to
	w.marks.next, stop = iter.Pull2(func(yield func(*rows.Mark, error) bool) {
		more := true
		err := marks(ctx, func(m *rows.Mark) bool {
			more = yield(m, nil)
			return more
		})
		if err != nil && more {
			yield(nil, err)
		}
	})
	w.pullMark()
	return stop
}

// pullMark takes the next mark. Those of before the first row come with it. An
// error is told when its turn has come.
func (w *walk) pullMark() {
	q := &w.marks
	var ok bool
	switch q.mark, q.err, ok = q.next(); {
	case !ok:
		w.nextMark = math.MaxInt64
	case q.err != nil:
		w.nextMark = 0
	default:
		w.nextMark = max(bound(q.mark.Elapsed), 0)
	}
}

// addMarks tells the marks up to a time.
func (w *walk) addMarks(to int64) error {
	for w.nextMark <= to {
		q := &w.marks
		if q.err != nil {
			return message.Errorf("reading marks: %w", q.err)
		}
		t := w.thread(q.mark.Thread)
		w.tell(t)
		w.buf = q.to.userMark(w.buf, t, w.nextMark, q.mark)
		w.out.rows++
		w.pullMark()
		if err := w.part(); err != nil {
			return err
		}
		if err := w.flush(flushBytes); err != nil {
			return err
		}
	}
	return nil
}

// appendJSONValue appends a counter's value: a number, or text where JSON has no
// number for it.
func appendJSONValue(dst []byte, m *rows.Mark) []byte {
	if f := m.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
		return append(m.AppendValue(append(dst, '"')), '"')
	}
	return m.AppendValue(dst)
}

// markColumns are the columns of marks; the last only where it is asked for.
var markColumns = []string{"time", "thread", "thread_name", "kind", "text", "value", "row"}

// A MarkWriter writes marks as a table.
type MarkWriter struct {
	out    *bufio.Writer
	line   []byte
	digits int
	rows   bool
	opt    Options
	append func(m *rows.Mark, name string, row int64)
}

// NewMarkWriter begins a table in a format: txt, csv or jsonl. Digits are those
// that times are worth. With withRows the row of each mark is written, too.
func NewMarkWriter(w io.Writer, format string, digits int, withRows bool, opt Options) (*MarkWriter, error) {
	m := &MarkWriter{out: bufio.NewWriterSize(w, 64<<10), digits: digits, rows: withRows, opt: opt}
	switch format {
	case "txt":
		m.append = m.txt
		m.txtHead()
	case "csv":
		m.append = m.csv
		m.csvHead()
	case "jsonl":
		m.append = m.jsonl
	default:
		return nil, message.Errorf("marks have no format %q", format)
	}
	return m, nil
}

// Write writes a mark, the name of its thread ("" for none) and its row (-1 for
// none).
func (w *MarkWriter) Write(m *rows.Mark, thread string, row int64) error {
	w.line = w.line[:0]
	w.append(m, thread, row)
	_, err := w.out.Write(w.line)
	return err
}

// Flush writes what is left.
func (w *MarkWriter) Flush() error { return w.out.Flush() }

func (w *MarkWriter) csvHead() {
	if w.opt.BOM {
		w.out.WriteString(byteOrderMark)
	}
	columns := markColumns
	if !w.rows {
		columns = columns[:len(columns)-1]
	}
	for i, c := range columns {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.out.WriteString(c)
	}
	w.out.WriteString(w.opt.lineEnd())
}

func (w *MarkWriter) csv(m *rows.Mark, thread string, row int64) {
	b := append(m.AppendTime(w.line, w.digits), ',')
	b = append(strconv.AppendUint(b, uint64(m.Thread), 10), ',')
	b = append(appendCSVText(b, thread, w.opt.Raw), ',')
	b = append(append(b, m.Kind.String()...), ',')
	b = append(appendCSVText(b, m.Text, w.opt.Raw), ',')
	b = m.AppendValue(b)
	if w.rows {
		if b = append(b, ','); row >= 0 {
			b = strconv.AppendInt(b, row, 10)
		}
	}
	w.line = append(b, w.opt.lineEnd()...)
}

func (w *MarkWriter) jsonl(m *rows.Mark, thread string, row int64) {
	b := append(m.AppendTime(append(w.line, `{"time":"`...), w.digits), `","thread":`...)
	b = strconv.AppendUint(b, uint64(m.Thread), 10)
	b = appendJSONText(b, `,"thread_name":`, thread)
	b = append(append(append(b, `,"kind":"`...), m.Kind.String()...), '"')
	b = rows.AppendJSONString(append(b, `,"text":`...), m.Text)
	if m.Kind != rows.TextMark {
		b = appendJSONValue(append(b, `,"value":`...), m)
	}
	if row >= 0 {
		b = strconv.AppendInt(append(b, `,"row":`...), row, 10)
	}
	w.line = append(b, "}\n"...)
}

// The widths of the text table's cells.
const (
	markTimeWidth   = 29
	markThreadWidth = 24
	markValueWidth  = 20
)

func (w *MarkWriter) txtHead() {
	row := ""
	if w.rows {
		row = fmt.Sprintf("%10s  ", "row")
	}
	fmt.Fprintf(w.out, "%-*s  %s%-*s  %*s  %s%s", markTimeWidth, "time", row, markThreadWidth, "thread", markValueWidth, "value", "text", w.opt.lineEnd())
}

func (w *MarkWriter) txt(m *rows.Mark, thread string, row int64) {
	b := appendPadded(w.line, string(m.AppendTime(nil, w.digits)), markTimeWidth)
	b = append(b, "  "...)
	if w.rows {
		number := ""
		if row >= 0 {
			number = strconv.FormatInt(row, 10)
		}
		b = fmt.Appendf(b, "%10s  ", number)
	}
	name := strconv.FormatUint(uint64(m.Thread), 10)
	if thread != "" {
		name += " " + rows.Visible(thread)
	}
	b = append(appendPadded(b, name, markThreadWidth), "  "...)
	b = fmt.Appendf(b, "%*s  ", markValueWidth, m.AppendValue(nil))
	w.line = append(append(b, rows.Visible(m.Text)...), w.opt.lineEnd()...)
}
