package attached

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"sync"

	"logparser/message"
)

// A Role says what a file in a container is for.
type Role string

const (
	RoleLog     Role = "log"
	RoleModules Role = "modules"
	RoleSource  Role = "source"
)

// A File is a file in a container. It is safe for concurrent use.
type File struct {
	// Name is its base name, of a source file the path that the symbols name.
	Name string
	Role Role
	// Log is the number of the log that it belongs to.
	Log uint32
	// Size is its length, Stored what it takes in the container, in bytes.
	Size, Stored int64

	container *Container
	// offset and length are those of its blocks in the container.
	offset, length int64
}

// The fields of a file's part.
const (
	fieldFileName = 1
	fieldFileRole = 2
	fieldFileSize = 3

	// maxFileHead bounds what stands before a file's blocks, in bytes.
	maxFileHead = 1 << 18
)

// A Spool holds the compressed contents of files in a temporary file until they
// are written. It is not safe for concurrent use.
type Spool struct {
	file *os.File
	size int64
}

// NewSpool makes an empty spool. Close it when the container is written.
func NewSpool() (*Spool, error) {
	f, err := os.CreateTemp("", "logparser-pack-*")
	if err != nil {
		return nil, err
	}
	return &Spool{file: f}, nil
}

// Close removes what the spool holds.
func (s *Spool) Close() error {
	err := s.file.Close()
	os.Remove(s.file.Name())
	return err
}

// Add compresses a file of size bytes on all processors, and returns it as a part
// that is valid until the spool is closed. Progress, if not nil, is told how many
// bytes are done.
func (s *Spool) Add(ctx context.Context, r io.Reader, size int64, f File, progress func(done int64)) (Part, error) {
	w := &blockWriter{w: io.NewOffsetWriter(s.file, s.size)}
	start := s.size
	batch := make([][]byte, runtime.GOMAXPROCS(0))
	packed := make([][]byte, len(batch))
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return Part{}, err
		}
		n := 0
		var work sync.WaitGroup
		for begin := at; n < len(batch) && begin < size; n++ {
			if batch[n] == nil {
				batch[n] = make([]byte, maxBlock)
			}
			batch[n] = batch[n][:min(maxBlock, size-begin)]
			if _, err := io.ReadFull(r, batch[n]); err != nil {
				work.Wait()
				return Part{}, err
			}
			begin += int64(len(batch[n]))
			work.Add(1)
			go func(i int) {
				defer work.Done()
				packed[i] = pack(packed[i][:0], fileCompressor(), batch[i])
			}(n)
		}
		work.Wait()
		for i := range n {
			if err := w.append(uint64(at), len(batch[i]), packed[i]); err != nil {
				return Part{}, err
			}
			at += int64(len(batch[i]))
		}
		if progress != nil {
			progress(at)
		}
	}
	s.size += w.size
	fields := appendField(nil, fieldFileName, []byte(f.Name))
	fields = appendField(fields, fieldFileRole, []byte(f.Role))
	fields = appendField(fields, fieldFileSize, binary.LittleEndian.AppendUint64(nil, uint64(size)))
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(fields)))
	head = append(append(head, fields...), w.head()...)
	return Part{KindFile, f.Log, int64(len(head)) + w.size, func(out io.Writer) error {
		if _, err := out.Write(head); err != nil {
			return err
		}
		return copyRange(out, s.file, start, start+w.size)
	}}, nil
}

// Files returns the files of a container, in its order.
func (c *Container) Files() ([]*File, error) {
	var list []*File
	total := int64(0)
	for _, e := range c.entries {
		if e.kind != KindFile {
			continue
		}
		var length [4]byte
		if e.length < 4 {
			return nil, message.Errorf("%w: a file at %#x", ErrFormat, e.offset)
		}
		if err := readAt(c.r, length[:], e.offset); err != nil {
			return nil, err
		}
		n := int64(binary.LittleEndian.Uint32(length[:]))
		if total += n; n > min(maxFileHead, e.length-4) || total > maxModules {
			return nil, message.Errorf("%w: a file at %#x", ErrFormat, e.offset)
		}
		fields := make([]byte, n)
		if err := readAt(c.r, fields, e.offset+4); err != nil {
			return nil, err
		}
		f := &File{Log: e.owner, Stored: e.length, container: c, offset: e.offset + 4 + n, length: e.length - 4 - n}
		err := eachField(fields, func(number uint64, b []byte) {
			switch {
			case number == fieldFileName:
				f.Name = string(b)
			case number == fieldFileRole:
				f.Role = Role(b)
			case number == fieldFileSize && len(b) == 8:
				f.Size = int64(binary.LittleEndian.Uint64(b))
			}
		})
		if err != nil || f.Size < 0 {
			return nil, message.Errorf("%w: a file at %#x", ErrFormat, e.offset)
		}
		list = append(list, f)
	}
	return list, nil
}

// WriteTo writes the file's contents.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	b, err := openBlocks(f.container.r, f.offset, f.length)
	if err != nil {
		return 0, err
	}
	// Each block says how long it is: what they have together is known before
	// anything is written.
	size := int64(0)
	for i := range b.list {
		if b.list[i].key != uint64(size) {
			return 0, message.Errorf("%w: the blocks of %s", ErrFormat, f.Name)
		}
		size += int64(b.list[i].raw)
	}
	if size != f.Size {
		return 0, message.Errorf("%w: %s has %d bytes and should have %d", ErrFormat, f.Name, size, f.Size)
	}
	written := int64(0)
	for i := range b.list {
		columns, err := b.read(i, 1)
		if err != nil {
			return written, err
		}
		if len(columns[0]) != int(b.list[i].raw) {
			return written, message.Errorf("%w: the blocks of %s", ErrFormat, f.Name)
		}
		n, err := w.Write(columns[0])
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
