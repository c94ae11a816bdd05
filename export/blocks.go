package export

import (
	"context"
	"io"
	"runtime"
	"sync"
	"time"

	"logparser/message"
	"logparser/rows"
)

const (
	// blockRows is how many rows a worker reads at a time.
	blockRows = rows.BlockLen
	// formatRows is how many of them are held and formatted at a time, so few that they fit into the processor's first-level
	// cache.
	formatRows = 256
	// longRow is the text of a row with long names, in bytes.
	longRow = 1 << 10
	// partBytes bounds a piece of formatted text, in bytes. A block is one piece but where names are very long: a worker waits
	// before it hands over a second one.
	partBytes = 2 << 20
	// blocksAhead is how many blocks each worker may be ahead of the writer.
	blocksAhead = 2
	// progressEvery is the least time between two calls of Options.Progress.
	progressEvery = 50 * time.Millisecond
)

// A block is a range of rows that a worker formats for the writer.
type block struct {
	from int64
	n    int
	// parts carries the text in order, and is closed after the last part. It buffers one part: a worker with more text waits
	// until the writer has reached this block.
	parts chan []byte
	// err is set before parts is closed.
	err error
	// buffers belong to the worker that formats the block. They are set before the first part is sent.
	buffers *buffers
}

// buffers are a worker's free buffers for text. The buffer freed last is reused first, because its memory is probably still in
// the processor's cache.
type buffers struct {
	mu   sync.Mutex
	list [][]byte
}

func (b *buffers) take() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.list)
	if n == 0 {
		return make([]byte, 0, partBytes/4)
	}
	text := b.list[n-1]
	b.list = b.list[:n-1]
	return text[:0]
}

func (b *buffers) put(text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.list) < 2*blocksAhead {
		b.list = append(b.list, text)
	}
}

// lines are a worker's functions to append lines: row for one row, and briefs for a list of brief rows. briefs is nil if the
// format does not support these.
type lines struct {
	row    func(dst []byte, r *rows.Row) []byte
	briefs func(dst []byte, list *rows.Briefs) []byte
}

// writeRows formats the rows of src from opt.From up to n, and writes them in order. Each worker calls newAppend once, for a
// function that appends the line of a row. A file begins with head, unless opt.NoHead is set, and ends with tail.
func writeRows(ctx context.Context, out *output, src rows.Source, n int64, opt Options, head, tail func() []byte,
	newAppend func() func(dst []byte, r *rows.Row) []byte) error {
	return writeLines(ctx, out, src, n, opt, head, tail, func() lines { return lines{row: newAppend()} })
}

// writeLines is writeRows for formats that support brief rows.
func writeLines(ctx context.Context, out *output, src rows.Source, n int64, opt Options, head, tail func() []byte, newLines func() lines) error {
	from := opt.From
	if !opt.NoHead {
		if err := out.write(head()); err != nil {
			return err
		}
	}
	// Files are divided between blocks, so a block must not have more rows than a file may have.
	blockRows := int64(blockRows)
	if out.limits.Rows > 0 {
		blockRows = min(blockRows, out.limits.Rows)
	}
	if out.limits.Bytes > 0 {
		blockRows = min(blockRows, max(out.limits.Bytes/longRow, 1))
	}
	workers := int(min(int64(runtime.GOMAXPROCS(0)), (n-from+blockRows-1)/blockRows))
	ahead := workers * blocksAhead
	jobs := newQueue[*block](ahead)
	cancelled := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f := newFormatter(src, newLines())
			for b, ok := jobs.take(); ok; b, ok = jobs.take() {
				b.buffers = &f.buffers
				b.err = b.format(ctx, f)
				close(b.parts)
			}
		}()
	}
	defer jobs.close()

	var pending []*block
	asked, done := from, from
	var told time.Time
	for done < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		for ; asked < n && len(pending) < ahead; asked += blockRows {
			b := &block{from: asked, n: int(min(blockRows, n-asked)), parts: make(chan []byte, 1)}
			pending = append(pending, b)
			jobs.put(b)
		}
		b := pending[0]
		pending = append(pending[:0], pending[1:]...)
		for first, open := true, true; open; first = false {
			var part []byte
			select {
			case <-cancelled:
				return ctx.Err()
			case part, open = <-b.parts:
			}
			if !open {
				break
			}
			if first && out.full(int64(b.n), int64(len(part))) {
				if err := out.next(tail(), head); err != nil {
					return err
				}
			}
			if _, err := out.Write(part); err != nil {
				return message.Errorf("writing rows %d to %d: %w", b.from, b.from+int64(b.n)-1, err)
			}
			b.buffers.put(part)
		}
		if b.err != nil {
			return b.err
		}
		done += int64(b.n)
		out.rows += int64(b.n)
		if progress := opt.Progress; progress != nil && (done == n || time.Since(told) >= progressEvery) {
			told = time.Now()
			progress(done, n)
		}
	}
	return out.write(tail())
}

// nothing is the head or tail of a file that has none.
func nothing() []byte { return nil }

// A batch is a range of rows that a worker reads for readBatches.
type batch struct {
	from int64
	// n is the number of rows that were read so far, and in the end the number of all. rows has those from number first of the
	// batch on: all rows, or only the last piece if lean is set. The piece that was read last begins at number last. If brief
	// is set, this piece is in briefs, not in rows.
	n, first, last int
	rows           []rows.Row
	brief          bool
	briefs         rows.Briefs
	ready          chan error
	// preformatted is the text that the worker made of the rows.
	preformatted preformatted
}

// row returns row i of a batch. It reads the row again if the batch does not have it.
func (b *batch) row(src rows.Source, i int) (*rows.Row, error) {
	if k := i - b.first; k >= 0 && k < len(b.rows) {
		return &b.rows[k], nil
	}
	b.first = i
	list := b.rows[:min(cap(b.rows), b.n-i)]
	got, err := src.Read(list, b.from+int64(i))
	b.rows = list[:got]
	if got == 0 {
		return nil, readError(b.from+int64(i), got, 1, err)
	}
	return &b.rows[0], nil
}

// readRows reads the rows of src from number from up to n, several batches ahead, and calls use with them in order.
func readRows(ctx context.Context, src rows.Source, from, n int64, progress func(done, total int64), use func(list []rows.Row) error) error {
	return readBatches(ctx, src, from, n, false, progress, func() func(*batch) { return func(*batch) {} }, func(b *batch) error { return use(b.rows) })
}

// readBatches is readRows with work for the workers. Each calls newPrepare once, for a function that is called when a batch
// begins and each time more of its rows were read. If lean is set, a batch keeps only its last rows; others are read again when
// they are needed.
func readBatches(ctx context.Context, src rows.Source, from, n int64, lean bool, progress func(done, total int64), newPrepare func() func(b *batch), use func(b *batch) error) error {
	workers := int(min(int64(runtime.GOMAXPROCS(0)), (n-from+blockRows-1)/blockRows))
	ahead := workers * blocksAhead
	jobs := newQueue[*batch](ahead)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer jobs.close()
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			prepare := newPrepare()
			for b, ok := jobs.take(); ok; b, ok = jobs.take() {
				// After the send, the batch belongs to the receiver.
				b.ready <- b.read(ctx, src, lean, prepare)
			}
		}()
	}
	var pending, free []*batch
	asked, done := from, from
	var told time.Time
	for done < n {
		for ; asked < n && len(pending) < ahead; asked += blockRows {
			var b *batch
			if k := len(free); k > 0 {
				b, free = free[k-1], free[:k-1]
			} else {
				b = &batch{ready: make(chan error, 1)}
				if lean {
					b.rows = make([]rows.Row, formatRows)
				} else {
					b.rows = make([]rows.Row, blockRows)
				}
			}
			b.from, b.n = asked, int(min(blockRows, n-asked))
			pending = append(pending, b)
			jobs.put(b)
		}
		b := pending[0]
		pending = append(pending[:0], pending[1:]...)
		if err := <-b.ready; err != nil {
			if e := ctx.Err(); e != nil {
				return e
			}
			return err
		}
		if err := use(b); err != nil {
			return err
		}
		done += int64(b.n)
		free = append(free, b)
		if progress != nil && (done == n || time.Since(told) >= progressEvery) {
			told = time.Now()
			progress(done, n)
		}
	}
	return ctx.Err()
}

// read reads the rows of the batch in pieces, so that each piece is prepared while it is in the processor's cache.
func (b *batch) read(ctx context.Context, src rows.Source, lean bool, prepare func(b *batch)) error {
	n, list := b.n, b.rows[:cap(b.rows)]
	b.n, b.first, b.last, b.rows = 0, 0, 0, list[:0]
	prepare(b)
	var reader rows.BriefReader
	if lean {
		reader, _ = src.(rows.BriefReader)
	}
	for b.n < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.last, b.brief = b.n, false
		if reader != nil {
			if got := reader.ReadBriefs(&b.briefs, b.from+int64(b.n), min(formatRows, n-b.n)); got > 0 {
				b.brief, b.first, b.rows = true, b.n, list[:0]
				b.n += got
				prepare(b)
				continue
			}
		}
		at := b.n
		if lean {
			b.first = b.n
			at = 0
		}
		piece := list[at : at+min(formatRows, n-b.n)]
		got, err := src.Read(piece, b.from+int64(b.n))
		if got < len(piece) {
			return readError(b.from+int64(b.n), got, len(piece), err)
		}
		b.n += got
		b.rows = list[:at+got]
		prepare(b)
	}
	return nil
}

// readError returns the error of a source that returned fewer rows than asked for.
func readError(from int64, got, want int, err error) error {
	if got >= want {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return message.Errorf("reading row %d: %w", from+int64(got), err)
}

// A formatter is the state of a worker that formats rows.
type formatter struct {
	src rows.Source
	lines
	list []rows.Row
	// brief is src if rows are read in brief form. Otherwise it is nil.
	brief   rows.BriefReader
	briefs  rows.Briefs
	buffers buffers
}

func newFormatter(src rows.Source, l lines) *formatter {
	f := &formatter{src: src, lines: l, list: make([]rows.Row, formatRows)}
	if l.briefs != nil && briefStep(src.TimeDigits()) > 0 {
		f.brief, _ = src.(rows.BriefReader)
	}
	return f
}

// format reads the block's rows in pieces and sends their text.
func (b *block) format(ctx context.Context, f *formatter) error {
	var text []byte
	take := func() { text = f.buffers.take() }
	send := func() error {
		select {
		case b.parts <- text:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	take()
	for done := 0; done < b.n; {
		at := b.from + int64(done)
		if f.brief != nil {
			if got := f.brief.ReadBriefs(&f.briefs, at, min(formatRows, b.n-done)); got > 0 {
				if len(text) >= partBytes {
					if err := send(); err != nil {
						return err
					}
					take()
				}
				text = f.lines.briefs(text, &f.briefs)
				done += got
				continue
			}
		}
		list := f.list[:min(len(f.list), b.n-done)]
		got, err := f.src.Read(list, at)
		for i := range list[:got] {
			if len(text) >= partBytes {
				if err := send(); err != nil {
					return err
				}
				take()
			}
			text = f.row(text, &list[i])
		}
		if got < len(list) {
			// The rows before the error are written.
			if sent := send(); sent != nil {
				return sent
			}
			return readError(at, got, len(list), err)
		}
		done += got
	}
	return send()
}
