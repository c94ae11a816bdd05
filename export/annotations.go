package export

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"logparser/message"
	"logparser/rows"
)

// Annotations calls yield for each annotation of a log, in order of time, until yield returns false. An annotation is valid
// only during the call of yield.
type Annotations func(ctx context.Context, yield func(m *rows.Annotation) bool) error

// An annotationWriter is a callWriter whose format has a place for annotations.
type annotationWriter interface {
	// annotation appends the text of an annotation to dst, or keeps it until tail.
	annotation(dst []byte, t *thread, at int64, m *rows.Annotation) []byte
}

// An annotationQueue reads annotations in step with the rows of a walk.
type annotationQueue struct {
	to         annotationWriter
	next       func() (*rows.Annotation, error, bool)
	annotation *rows.Annotation // the first one that is not written yet
	err        error
}

// openAnnotations starts reading annotations, if the format can hold them. The caller must call stop.
func (w *walk) openAnnotations(ctx context.Context, annotations Annotations) (stop func()) {
	w.nextAnnotation = math.MaxInt64
	to, ok := w.to.(annotationWriter)
	if !ok || annotations == nil {
		return func() {}
	}
	w.annotations.to = to
	w.annotations.next, stop = iter.Pull2(func(yield func(*rows.Annotation, error) bool) {
		more := true
		err := annotations(ctx, func(m *rows.Annotation) bool {
			more = yield(m, nil)
			return more
		})
		if err != nil && more {
			yield(nil, err)
		}
	})
	w.pullAnnotation()
	return stop
}

// pullAnnotation reads the next annotation. Annotations before the first row get time 0. If reading fails, addAnnotations
// reports the error.
func (w *walk) pullAnnotation() {
	q := &w.annotations
	var ok bool
	switch q.annotation, q.err, ok = q.next(); {
	case !ok:
		w.nextAnnotation = math.MaxInt64
	case q.err != nil:
		w.nextAnnotation = 0
	default:
		w.nextAnnotation = max(bound(q.annotation.Elapsed), 0)
	}
}

// addAnnotations writes the annotations up to a time.
func (w *walk) addAnnotations(to int64) error {
	for w.nextAnnotation <= to {
		q := &w.annotations
		if q.err != nil {
			return message.Errorf("reading annotations: %w", q.err)
		}
		t := w.thread(q.annotation.Track())
		w.tell(t)
		w.buf = q.to.annotation(w.buf, t, w.nextAnnotation, q.annotation)
		w.out.rows++
		w.pullAnnotation()
		if err := w.part(); err != nil {
			return err
		}
		if err := w.flush(flushBytes); err != nil {
			return err
		}
	}
	return nil
}

// appendJSONValue appends the value of a counter: a number, or a string if JSON cannot express the number.
func appendJSONValue(dst []byte, m *rows.Annotation) []byte {
	if f := m.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
		return append(m.AppendValue(append(dst, '"')), '"')
	}
	return m.AppendValue(dst)
}

// AppendAnnotationText appends an annotation as a line of a text file of rows. digits is the number of decimals of a second.
// last is the index of the file's last row; it decides how wide the column of the index is.
func AppendAnnotationText(dst []byte, m *rows.Annotation, digits int, last int64, opt Options) []byte {
	t := txtLines{digits: digits, end: opt.lineEnd()}
	t.clock.Separator = ' '
	t.setWidths(&opt.Header, last, m.HasWall)
	start := len(dst)
	dst = t.appendHead(dst, &rows.Row{Index: last, Elapsed: m.Elapsed, Wall: m.Wall, HasWall: m.HasWall})
	for i := range t.indexWidth {
		dst[start+i] = ' '
	}
	dst = t.appendThread(dst, &rows.Row{Thread: m.Thread, Process: m.Process}, &txtThread{})
	dst = append(appendBlanks(dst, durationWidth+len("  ")), "-- "...)
	dst = append(dst, rows.Visible(m.Text)...)
	if m.Kind != rows.TextAnnotation {
		dst = m.AppendValue(append(dst, " = "...))
	}
	return append(dst, t.end...)
}

// annotationColumns are the columns of annotations. The last one is written only if rows are wanted.
var annotationColumns = []string{"time", "thread", "thread_name", "kind", "text", "value", "row"}

// An AnnotationWriter writes annotations as a table. It is not safe for concurrent use.
type AnnotationWriter struct {
	out    *bufio.Writer
	line   []byte
	digits int
	rows   bool
	opt    Options
	append func(m *rows.Annotation, row int64)
}

// NewAnnotationWriter returns a writer for the format txt, csv or jsonl. digits is the number of decimals of a second. withRows
// adds a column with the row of each annotation. The caller must call Flush at the end.
func NewAnnotationWriter(w io.Writer, format string, digits int, withRows bool, opt Options) (*AnnotationWriter, error) {
	m := &AnnotationWriter{out: bufio.NewWriterSize(w, 64<<10), digits: digits, rows: withRows, opt: opt}
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
		return nil, message.Errorf("annotations have no format %q", format)
	}
	return m, nil
}

// Write writes an annotation. row is the number of its row, or -1 if it has none.
func (w *AnnotationWriter) Write(m *rows.Annotation, row int64) error {
	w.line = w.line[:0]
	w.append(m, row)
	_, err := w.out.Write(w.line)
	return err
}

// Flush writes the buffered data, and returns the first error of writing.
func (w *AnnotationWriter) Flush() error { return w.out.Flush() }

func (w *AnnotationWriter) csvHead() {
	if w.opt.BOM {
		w.out.WriteString(byteOrderMark)
	}
	columns := annotationColumns
	if !w.rows {
		columns = columns[:len(columns)-1]
	}
	if len(w.opt.Header.Processes) > 0 {
		columns = append(slices.Clone(columns), "process")
	}
	for i, c := range columns {
		if i > 0 {
			w.out.WriteByte(',')
		}
		w.out.WriteString(c)
	}
	w.out.WriteString(w.opt.lineEnd())
}

func (w *AnnotationWriter) csv(m *rows.Annotation, row int64) {
	b := append(m.AppendTime(w.line, w.digits), ',')
	b = append(strconv.AppendUint(b, uint64(m.Thread), 10), ',')
	b = append(appendCSVText(b, m.ThreadName, w.opt.Raw), ',')
	b = append(append(b, m.Kind.String()...), ',')
	b = append(appendCSVText(b, m.Text, w.opt.Raw), ',')
	b = m.AppendValue(b)
	if w.rows {
		if b = append(b, ','); row >= 0 {
			b = strconv.AppendInt(b, row, 10)
		}
	}
	if len(w.opt.Header.Processes) > 0 {
		b = appendCSVText(append(b, ','), m.Process.Text(), w.opt.Raw)
	}
	w.line = append(b, w.opt.lineEnd()...)
}

func (w *AnnotationWriter) jsonl(m *rows.Annotation, row int64) {
	b := append(m.AppendTime(append(w.line, `{"time":"`...), w.digits), `","thread":`...)
	b = strconv.AppendUint(b, uint64(m.Thread), 10)
	b = appendJSONText(b, `,"thread_name":`, m.ThreadName)
	b = append(append(append(b, `,"kind":"`...), m.Kind.String()...), '"')
	b = rows.AppendJSONString(append(b, `,"text":`...), m.Text)
	if m.Kind != rows.TextAnnotation {
		b = appendJSONValue(append(b, `,"value":`...), m)
	}
	if row >= 0 {
		b = strconv.AppendInt(append(b, `,"row":`...), row, 10)
	}
	b = appendJSONText(b, `,"process":`, m.Process.Text())
	w.line = append(b, "}\n"...)
}

// Widths of the columns of the text table, in character cells.
const (
	annotationTimeWidth   = 29
	annotationThreadWidth = 24
	annotationValueWidth  = 20
)

func (w *AnnotationWriter) txtHead() {
	row := ""
	if w.rows {
		row = fmt.Sprintf("%10s  ", "row")
	}
	fmt.Fprintf(w.out, "%-*s  %s%-*s  %*s  %s%s", annotationTimeWidth, "time", row, annotationThreadWidth, "thread", annotationValueWidth, "value", "text", w.opt.lineEnd())
}

func (w *AnnotationWriter) txt(m *rows.Annotation, row int64) {
	b := appendPadded(w.line, string(m.AppendTime(nil, w.digits)), annotationTimeWidth)
	b = append(b, "  "...)
	if w.rows {
		number := ""
		if row >= 0 {
			number = strconv.FormatInt(row, 10)
		}
		b = fmt.Appendf(b, "%10s  ", number)
	}
	name := strconv.FormatUint(uint64(m.Thread), 10)
	if m.ThreadName != "" {
		name += " " + rows.Visible(m.ThreadName)
	}
	if m.Process != nil {
		name += ", process " + rows.Visible(m.Process.Label)
	}
	b = append(appendPadded(b, name, annotationThreadWidth), "  "...)
	b = fmt.Appendf(b, "%*s  ", annotationValueWidth, m.AppendValue(nil))
	w.line = append(append(b, rows.Visible(m.Text)...), w.opt.lineEnd()...)
}
