package attached

import (
	"encoding/binary"
	"io"
	"sort"
	"sync"

	"github.com/klauspost/compress/zstd"

	"logparser/message"
)

const (
	// maxBlock is the most that a block holds before it is compressed, in bytes.
	maxBlock = 1 << 20
	// indexHead and indexEntry are the bytes before a part's blocks: the
	// number of blocks, and what is said of each.
	indexHead  = 8
	indexEntry = 24
	// maxIndex bounds the index of a part, in bytes. It is enough for files of
	// more than 40 TB.
	maxIndex = 1 << 30
	// minPacked is the least length of a column, in bytes, that is compressed.
	minPacked = 32
	// maxColumns bounds the columns of a block.
	maxColumns = 64
)

// Compressors and decompressors of zstd are costly to make and can be shared. Files
// are larger than symbols, and compressed in less time.
var (
	compressor = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderCRC(false), zstd.WithWindowSize(maxBlock))
		if err != nil {
			panic(err) // only of wrong options
		}
		return e
	})
	fileCompressor = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderCRC(false), zstd.WithWindowSize(maxBlock))
		if err != nil {
			panic(err)
		}
		return e
	})
	decompressor = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderMaxWindow(maxBlock))
		if err != nil {
			panic(err)
		}
		return d
	})
)

// blockWriter collects the blocks of a part.
type blockWriter struct {
	// w takes the compressed blocks, one after the other.
	w     io.Writer
	index []byte
	n     int
	size  int64
	buf   []byte
}

// add compresses the columns of a block, of at most maxBlock bytes together.
// A block is found by key; each key is larger than the one before.
func (b *blockWriter) add(key uint64, columns ...[]byte) error {
	raw := 0
	for _, c := range columns {
		raw += len(c)
	}
	if raw > maxBlock {
		return message.Errorf("a block of %d bytes is larger than %d", raw, maxBlock)
	}
	b.buf = pack(b.buf[:0], compressor(), columns...)
	return b.append(key, raw, b.buf)
}

// pack appends the columns of a block, compressed, to b.
func pack(b []byte, by *zstd.Encoder, columns ...[]byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(columns)))
	for _, c := range columns {
		packed := c
		if len(c) >= minPacked {
			if p := by.EncodeAll(c, nil); len(p) < len(c) {
				packed = p
			}
		}
		b = binary.AppendUvarint(b, uint64(len(c)))
		b = binary.AppendUvarint(b, uint64(len(packed)))
		b = append(b, packed...)
	}
	return b
}

// append writes a block that was packed from raw bytes.
func (b *blockWriter) append(key uint64, raw int, packed []byte) error {
	le := binary.LittleEndian
	b.index = le.AppendUint64(b.index, key)
	b.index = le.AppendUint32(b.index, uint32(len(packed)))
	b.index = le.AppendUint32(b.index, uint32(raw))
	b.index = le.AppendUint32(b.index, checksum(packed))
	b.index = le.AppendUint32(b.index, 0)
	b.n++
	b.size += int64(len(packed))
	_, err := b.w.Write(packed)
	return err
}

// head returns what stands before the blocks.
func (b *blockWriter) head() []byte {
	head := binary.LittleEndian.AppendUint32(nil, uint32(b.n))
	head = binary.LittleEndian.AppendUint32(head, checksum(b.index))
	return append(head, b.index...)
}

// blocks are those of a part as they lie in the container.
type blocks struct {
	r    io.ReaderAt
	list []block
}

type block struct {
	key        uint64
	offset     int64
	length     uint32
	raw, check uint32
}

// openBlocks reads the index of the blocks that fill [offset, offset+length).
func openBlocks(r io.ReaderAt, offset, length int64) (*blocks, error) {
	le := binary.LittleEndian
	bad := func() (*blocks, error) {
		return nil, message.Errorf("%w: the index of the blocks at %#x", ErrFormat, offset)
	}
	var head [indexHead]byte
	if length < indexHead {
		return bad()
	}
	if err := readAt(r, head[:], offset); err != nil {
		return nil, err
	}
	n := int64(le.Uint32(head[:]))
	if n*indexEntry > min(length-indexHead, maxIndex) {
		return bad()
	}
	index := make([]byte, n*indexEntry)
	if err := readAt(r, index, offset+indexHead); err != nil {
		return nil, err
	}
	if checksum(index) != le.Uint32(head[4:]) {
		return bad()
	}
	b := &blocks{r: r, list: make([]block, n)}
	at, end := offset+indexHead+int64(len(index)), offset+length
	for i := range b.list {
		e := index[i*indexEntry:]
		k := block{le.Uint64(e), at, le.Uint32(e[8:]), le.Uint32(e[12:]), le.Uint32(e[16:])}
		if k.raw > maxBlock || int64(k.length) > end-at || i > 0 && k.key <= b.list[i-1].key {
			return bad()
		}
		at += int64(k.length)
		b.list[i] = k
	}
	return b, nil
}

// find returns the block that a key lies in: the last one whose key is not
// larger, -1 for none.
func (b *blocks) find(key uint64) int {
	return sort.Search(len(b.list), func(i int) bool { return b.list[i].key > key }) - 1
}

// read returns the columns of a block, at least n of them; a later version may have added
// more behind these. The caller owns them.
func (b *blocks) read(i, n int) ([][]byte, error) {
	k := &b.list[i]
	stored, err := b.stored(i)
	if err != nil {
		return nil, err
	}
	columns, ok := unpack(stored, uint64(k.raw))
	if !ok || len(columns) < n {
		return nil, message.Errorf("%w: the block at %#x cannot be decompressed", ErrFormat, k.offset)
	}
	return columns, nil
}

// stored returns a block as it lies in the container.
func (b *blocks) stored(i int) ([]byte, error) {
	k := &b.list[i]
	stored := make([]byte, k.length)
	if err := readAt(b.r, stored, k.offset); err != nil {
		return nil, message.Errorf("the block at %#x: %w", k.offset, err)
	}
	if checksum(stored) != k.check {
		return nil, message.Errorf("%w: the checksum of the block at %#x is wrong", ErrFormat, k.offset)
	}
	return stored, nil
}

// unpack takes the columns of a block apart. room is how many bytes they have together.
func unpack(stored []byte, room uint64) (columns [][]byte, ok bool) {
	n, ok := uvarint(&stored, maxColumns)
	for range n {
		raw, ok := uvarint(&stored, room)
		if !ok {
			return nil, false
		}
		packed, ok := uvarint(&stored, raw)
		if !ok || packed > uint64(len(stored)) {
			return nil, false
		}
		column := stored[:packed:packed]
		stored = stored[packed:]
		room -= raw
		if packed < raw {
			var err error
			column, err = decompressor().DecodeAll(column, make([]byte, 0, raw))
			if err != nil || uint64(len(column)) != raw {
				return nil, false
			}
		}
		columns = append(columns, column)
	}
	return columns, ok
}

// uvarint takes a number that is at most limit off b.
func uvarint(b *[]byte, limit uint64) (uint64, bool) {
	v, n := binary.Uvarint(*b)
	if n <= 0 || v > limit {
		return 0, false
	}
	*b = (*b)[n:]
	return v, true
}
