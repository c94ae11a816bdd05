package attached

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"logparser/message"
	"logparser/symbols"
)

// The STACK records of Breakpad's symbol files (see [unwind.StackRecords]) are kept as the text that they are: what they
// compute is a program of its own, which looks for return addresses on the stack, too.

const (
	// stackBlock is how much of the text a block has, in bytes.
	stackBlock = 64 << 10
	// maxStackText bounds the text, maxStackRatio how many times larger it may be than what is stored of it, from freeStackText bytes
	// on: records of real files become 5 to 20 times smaller.
	maxStackText  = 4 << 30
	maxStackRatio = 500
	freeStackText = 16 << 20
)

var stackPrefix = []byte("STACK ")

// EncodedStack are the STACK records of a module, ready to be written.
type EncodedStack struct {
	data []byte
	text int64
	// block is what the next block has so far.
	block  []byte
	blocks blockWriter
	packed bytes.Buffer
}

// EncodeStack keeps the STACK records of a symbol file of Breakpad's. It returns nil for a file that has none.
func EncodeStack(ctx context.Context, f *symbols.File) (*EncodedStack, error) {
	e := &EncodedStack{}
	e.blocks.w = &e.packed
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size), 1<<17)
	// Records that belong together follow each other: an empty line stands for what was between those that do not.
	gap := false
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		line, err := in.ReadSlice('\n')
		wanted := bytes.HasPrefix(line, stackPrefix)
		if wanted && gap && e.text > 0 {
			if err := e.add([]byte("\n")); err != nil {
				return nil, err
			}
		}
		gap = !wanted
		for {
			if wanted {
				if err := e.add(line); err != nil {
					return nil, err
				}
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				break
			}
			line, err = in.ReadSlice('\n')
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if e.text == 0 {
		return nil, nil
	}
	if err := e.flush(); err != nil {
		return nil, err
	}
	e.data = append(e.blocks.head(), e.packed.Bytes()...)
	return e, nil
}

// add takes some text.
func (e *EncodedStack) add(text []byte) error {
	if e.text += int64(len(text)); e.text > maxStackText {
		return message.Errorf("more than %d bytes of STACK records", int64(maxStackText))
	}
	for len(text) > 0 {
		n := min(len(text), stackBlock-len(e.block))
		e.block = append(e.block, text[:n]...)
		text = text[n:]
		if len(e.block) == stackBlock {
			if err := e.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *EncodedStack) flush() error {
	if len(e.block) == 0 {
		return nil
	}
	err := e.blocks.add(uint64(e.blocks.n)*stackBlock, e.block)
	e.block = e.block[:0]
	return err
}

// Size returns the bytes that the records take, 0 of none.
func (e *EncodedStack) Size() int64 {
	if e == nil {
		return 0
	}
	return int64(len(e.data))
}

// Parts returns what a container has of the records; owner is the module's number there. e may be nil.
func (e *EncodedStack) Parts(owner uint32) []Part {
	if e == nil {
		return nil
	}
	return []Part{bytesPart(KindStack, owner, e.data)}
}

// Stack is the text of the STACK records of a module in a container. It is safe for concurrent use. It reads from what the
// container was opened on.
type Stack struct {
	container *Container
	kept      entry
	text      *blocks
	size      int64
	cache     cache
}

// OpenStack opens the module's STACK records. The error wraps [ErrNoUnwind] where there are none.
func (m *Module) OpenStack() (*Stack, error) {
	c := m.container
	e, ok := c.part(KindStack, m.owner)
	if !ok {
		return nil, ErrNoUnwind
	}
	text, err := openBlocks(c.r, e.offset, e.length)
	if err != nil {
		return nil, err
	}
	s := &Stack{container: c, kept: e, text: text}
	for i := range text.list {
		if text.list[i].key != uint64(s.size) || text.list[i].raw == 0 {
			return nil, message.Errorf("%w: the STACK records at %#x", ErrFormat, e.offset)
		}
		s.size += int64(text.list[i].raw)
	}
	if s.size > maxStackText || s.size > freeStackText && s.size/maxStackRatio > e.length {
		return nil, message.Errorf("%w: %d bytes in %d", ErrFormat, s.size, e.length)
	}
	return s, nil
}

// File returns the text as a file that has nothing but the records.
func (s *Stack) File() *symbols.File { return &symbols.File{ReaderAt: s, Size: s.size} }

// Parts returns the records as parts of another container; owner is the module's number there. What s reads from is
// needed until they are written.
func (s *Stack) Parts(owner uint32) []Part {
	e := s.kept
	return []Part{{KindStack, owner, e.length, func(w io.Writer) error {
		return copyRange(w, s.container.r, e.offset, e.offset+e.length)
	}}}
}

// ReadAt implements [io.ReaderAt].
func (s *Stack) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, message.Errorf("%w: offset %#x", ErrFormat, offset)
	}
	for n < len(p) {
		at := offset + int64(n)
		if at >= s.size {
			return n, io.EOF
		}
		i := s.text.find(uint64(at))
		v, err := s.cache.get(cacheKey{s.text, i}, func() (any, int, error) {
			columns, err := s.text.read(i, 1)
			if err != nil {
				return nil, 0, err
			}
			if len(columns[0]) != int(s.text.list[i].raw) {
				return nil, 0, message.Errorf("%w: the STACK records at %#x", ErrFormat, s.text.list[i].offset)
			}
			return columns[0], len(columns[0]), nil
		})
		if err != nil {
			return n, err
		}
		n += copy(p[n:], v.([]byte)[at-int64(s.text.list[i].key):])
	}
	return n, nil
}
