package export

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"logparser/rows"
)

const (
	// blockRows is how many rows are read and formatted at a time.
	blockRows = 2048
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
}

// writeRows formats the rows of src from number from on, up to n, and writes
// them in order. Each worker makes itself a function that appends one row's
// line.
func writeRows(ctx context.Context, w io.Writer, src rows.Source, from, n int64, progress func(done, total int64),
	newAppend func() func(dst []byte, r *rows.Row) []byte) error {
	workers := int(min(int64(runtime.GOMAXPROCS(0)), (n-from+blockRows-1)/blockRows))
	ahead := workers * blocksAhead
	jobs := make(chan *block, ahead)
	buffers := make(chan []byte, 2*ahead)
	cancelled := ctx.Done()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			list := make([]rows.Row, blockRows)
			appendRow := newAppend()
			for b := range jobs {
				b.err = b.format(ctx, src, list[:b.n], appendRow, buffers)
				close(b.parts)
			}
		}()
	}
	defer close(jobs)

	var pending []*block
	asked, done := from, from
	var told time.Time
	for done < n {
		for ; asked < n && len(pending) < ahead; asked += blockRows {
			b := &block{from: asked, n: int(min(blockRows, n-asked)), parts: make(chan []byte, 1)}
			pending = append(pending, b)
			jobs <- b
		}
		b := pending[0]
		pending = append(pending[:0], pending[1:]...)
		for open := true; open; {
			var part []byte
			select {
			case <-cancelled:
				return ctx.Err()
			case part, open = <-b.parts:
			}
			if !open {
				break
			}
			if _, err := w.Write(part); err != nil {
				return fmt.Errorf("writing rows %d to %d: %w", b.from, b.from+int64(b.n)-1, err)
			}
			select {
			case buffers <- part[:0]:
			default:
			}
		}
		if b.err != nil {
			return b.err
		}
		done += int64(b.n)
		if progress != nil && (done == n || time.Since(told) >= progressEvery) {
			told = time.Now()
			progress(done, n)
		}
	}
	return nil
}

// format reads the block's rows into list and sends their text.
func (b *block) format(ctx context.Context, src rows.Source, list []rows.Row,
	appendRow func(dst []byte, r *rows.Row) []byte, buffers <-chan []byte) error {
	var text []byte
	take := func() {
		select {
		case text = <-buffers:
		default:
			text = make([]byte, 0, partBytes/4)
		}
	}
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
	got, err := src.Read(list, b.from)
	take()
	for i := range list[:got] {
		if len(text) >= partBytes {
			if err := send(); err != nil {
				return err
			}
			take()
		}
		text = appendRow(text, &list[i])
	}
	if sent := send(); sent != nil {
		return sent
	}
	if got < len(list) {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("reading row %d: %w", b.from+int64(got), err)
	}
	return nil
}
