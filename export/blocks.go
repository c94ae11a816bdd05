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
	// blockRows is how many rows one worker reads at a time: as many as
	// belong together where a log's pairs are found, so that this is done
	// once.
	blockRows = 4096
	// formatRows is how many of them are held and formatted at a time, few
	// enough that they hardly leave the processor's first cache.
	formatRows = 256
	// partBytes bounds a piece of formatted text: where names are very long,
	// a block is handed over in several.
	partBytes = 1 << 20
	// blocksAhead is how many blocks a worker may be ahead of the writer.
	blocksAhead = 2
	// progressEvery is the least time between two calls of a Progress.
	progressEvery = 50 * time.Millisecond
)

// A block is a range of rows on its way from a worker to the writer.
type block struct {
	from int64
	n    int
	// parts brings its text, in order, and is closed after the last. It
	// holds one: a worker with more to say waits until the writer has come
	// to this block.
	parts chan []byte
	// err is set before parts is closed.
	err error
	// buffers are those of the worker that formats it, set before there is a part.
	buffers *buffers
}

// buffers are a worker's memory for text that was written. What was written last is in the cache of the processor that
// the worker mostly runs on, and is used again first.
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

// lines are a worker's functions that append one row's line, and the lines of rows in brief, nil
// where a format has no use for these.
type lines struct {
	row    func(dst []byte, r *rows.Row) []byte
	briefs func(dst []byte, list *rows.Briefs) []byte
}

// writeRows formats the rows of src from opt.From on, up to n, and writes them
// in order. Each worker makes itself a function that appends one row's line. A
// file begins with its head, unless opt.NoHead, and ends with its tail.
func writeRows(ctx context.Context, out *output, src rows.Source, n int64, opt Options, head, tail func() []byte,
	newAppend func() func(dst []byte, r *rows.Row) []byte) error {
	return writeLines(ctx, out, src, n, opt, head, tail, func() lines { return lines{row: newAppend()} })
}

// writeLines is writeRows for formats that may write rows in brief.
func writeLines(ctx context.Context, out *output, src rows.Source, n int64, opt Options, head, tail func() []byte, newLines func() lines) error {
	from := opt.From
	if !opt.NoHead {
		if err := out.write(head()); err != nil {
			return err
		}
	}
	// A part never has more rows than it may.
	blockRows := int64(blockRows)
	if out.limits.Rows > 0 {
		blockRows = min(blockRows, out.limits.Rows)
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

// nothing is the head or tail of files that have none.
func nothing() []byte { return nil }

// A batch is a range of rows on its way from a worker to who uses them.
type batch struct {
	from int64
	// n is how many rows it has, or those that are there, and rows has the last of them, from number first
	// of the batch on: all of them, but where lean is what is read for lean. What was read last begins at
	// number last, in brief with the rows in briefs.
	n, first, last int
	rows           []rows.Row
	brief          bool
	briefs         rows.Briefs
	ready          chan error
	// preformatted is what was made of them besides.
	preformatted preformatted
}

// row returns row i of a batch, and reads it again where it is not there.
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

// readRows reads the rows of src from number from on, up to n, ahead, and has
// use look at them in order.
func readRows(ctx context.Context, src rows.Source, from, n int64, progress func(done, total int64), use func(list []rows.Row) error) error {
	return readBatches(ctx, src, from, n, false, progress, func() func(*batch) { return func(*batch) {} }, func(b *batch) error { return use(b.rows) })
}

// readBatches is readRows for who has the workers do more. Each makes itself a
// function that is called with a batch when it begins and whenever more of its
// rows have been read. With lean a batch keeps but some rows: others are read again
// where they are asked for.
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
				// What was sent is the receiver's.
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

// read reads the batch's rows, as many at a time as are prepared while they are
// in the processor's cache.
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

// readError is the error of a source that gave fewer rows than were asked for.
func readError(from int64, got, want int, err error) error {
	if got >= want {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return message.Errorf("reading row %d: %w", from+int64(got), err)
}

// A formatter is a worker's memory for making text of rows.
type formatter struct {
	src rows.Source
	lines
	list []rows.Row
	// brief is src where rows are read in brief, else nil.
	brief  rows.BriefReader
	briefs rows.Briefs
	// buffers are for the text.
	buffers buffers
}

func newFormatter(src rows.Source, l lines) *formatter {
	f := &formatter{src: src, lines: l, list: make([]rows.Row, formatRows)}
	if l.briefs != nil && briefStep(src.TimeDigits()) > 0 {
		f.brief, _ = src.(rows.BriefReader)
	}
	return f
}

// format reads the block's rows, some at a time, and sends their text.
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
			// What could be read is written.
			if sent := send(); sent != nil {
				return sent
			}
			return readError(at, got, len(list), err)
		}
		done += got
	}
	return send()
}
