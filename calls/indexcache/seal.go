package indexcache

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"logparser/message"
)

// What a store keeps is sealed: whoever does not have the store's key cannot
// write a file that is taken, however well he knows its format. A checksum would
// not do, since anybody can make it right, and of most numbers in an index only
// going through the whole log would tell whether they are true. A sealed file is
//
//	sealMagic
//	8 random bytes
//	the content in blocks of sealBlock bytes, of which the last may be shorter,
//	each with a tag of 16 bytes behind it
//
// A tag is AES-256-GCM's for the block as additional data, under the key and a
// nonce of the random bytes and the block's number, of which the highest bit is set
// for the last. So a block is good only in its place, and before anything in it is
// looked at; opening reads each once and waits for no other.
//
// The key lies beside the files, readable by nobody else, and is made when it is
// missing. Where it is lost, or a folder comes from somebody else without it, indexes
// are built anew.

const (
	sealMagic = "LPSEAL\x00\x01"
	sealBlock = 64 << 10
	sealHead  = len(sealMagic) + 8
	sealTag   = 16
	sealLast  = 1 << 31

	// keyName is the file with the key of a store.
	keyName = "index.key"
	keyLen  = 32
)

// errForeign says that a file, or the store's key, is none that this user wrote.
var errForeign = message.New("the file is not one that this user wrote")

// seal returns what makes and checks tags with the store's key. Where there is no
// key that is good it makes one if it may.
func (s *Store) seal(make bool) (cipher.AEAD, error) {
	path := filepath.Join(s.Folder, keyName)
	key := readKey(path)
	if key == nil && !make {
		return nil, errForeign
	}
	if key == nil {
		if err := writeKey(s.Folder, path); err != nil {
			return nil, err
		}
		// Of several processes that made one the last has it.
		if key = readKey(path); key == nil {
			return nil, errForeign
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// readKey returns the key in a file, nil where there is none that only this user
// knows.
func readKey(path string) []byte {
	f, info, err := openOwn(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info.Size() != keyLen || !secret(info) {
		return nil
	}
	key := make([]byte, keyLen)
	if _, err := io.ReadFull(f, key); err != nil {
		return nil
	}
	return key
}

func writeKey(folder, path string) error {
	f, err := os.CreateTemp(folder, keyName+partSuffix+"*")
	if err != nil {
		return err
	}
	key := make([]byte, keyLen)
	rand.Read(key)
	_, err = f.Write(key)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// A sealNonce is that of a block.
type sealNonce [12]byte

func (n *sealNonce) of(block int64, last bool) []byte {
	k := uint32(block)
	if last {
		k |= sealLast
	}
	binary.LittleEndian.PutUint32(n[8:], k)
	return n[:]
}

// A sealWriter seals what is written to it, until it is cancelled. Close ends the
// content, not the file.
type sealWriter struct {
	ctx   context.Context
	w     io.Writer
	aead  cipher.AEAD
	nonce sealNonce
	block []byte
	n     int64 // blocks written
	err   error
}

func newSealWriter(ctx context.Context, w io.Writer, aead cipher.AEAD) *sealWriter {
	s := &sealWriter{ctx: ctx, w: w, aead: aead, block: make([]byte, 0, sealBlock+sealTag)}
	rand.Read(s.nonce[:8])
	_, s.err = w.Write(append([]byte(sealMagic), s.nonce[:8]...))
	return s
}

func (s *sealWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && s.err == nil {
		// A full block waits for more: only Close knows which is the last.
		if len(s.block) == sealBlock {
			s.flush(false)
		}
		k := min(len(p), sealBlock-len(s.block))
		s.block, p = append(s.block, p[:k]...), p[k:]
	}
	return n - len(p), s.err
}

func (s *sealWriter) flush(last bool) {
	if s.err == nil {
		s.err = s.ctx.Err()
	}
	if s.err == nil {
		_, s.err = s.w.Write(s.aead.Seal(s.block, s.nonce.of(s.n, last), nil, s.block))
		s.block, s.n = s.block[:0], s.n+1
	}
}

func (s *sealWriter) Close() error {
	s.flush(true)
	return s.err
}

// sealAhead is how many blocks are read, and their tags checked in parallel, at a
// time.
const sealAhead = 16

// A sealReader reads the content of a sealed file: nothing of a block before its
// tag was found to be right.
type sealReader struct {
	ctx    context.Context
	r      io.Reader
	aead   cipher.AEAD
	nonce  sealNonce
	left   int64 // of the content, not read yet
	n      int64 // blocks read
	buf    []byte
	blocks [][]byte // checked, not handed out yet
}

// newSealReader returns a reader of the content of a file of so many bytes, and how
// long that is.
func newSealReader(ctx context.Context, r io.Reader, size int64, aead cipher.AEAD) (*sealReader, int64, error) {
	var head [sealHead]byte
	size -= int64(sealHead)
	blocks := (size + sealBlock + sealTag - 1) / (sealBlock + sealTag)
	content := size - blocks*sealTag
	if size < sealTag || content <= (blocks-1)*sealBlock && blocks > 1 || blocks >= sealLast {
		return nil, 0, ErrOther
	}
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, 0, err
	}
	if !bytes.HasPrefix(head[:], []byte(sealMagic)) {
		return nil, 0, ErrOther
	}
	s := &sealReader{ctx: ctx, r: r, aead: aead, left: content, buf: make([]byte, min(size, sealAhead*(sealBlock+sealTag)))}
	copy(s.nonce[:], head[len(sealMagic):])
	// An empty content has a block, too.
	return s, content, s.next()
}

// next reads some blocks.
func (s *sealReader) next() error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	n := min(s.left, sealAhead*sealBlock)
	count := max(1, (n+sealBlock-1)/sealBlock)
	b := s.buf[:n+count*sealTag]
	if _, err := io.ReadFull(s.r, b); err != nil {
		return err
	}
	s.left -= n
	var good atomic.Int64
	var others sync.WaitGroup
	check := func(from, step int64) {
		nonce := s.nonce
		for i := from; i < count; i += step {
			block := b[i*(sealBlock+sealTag) : min((i+1)*(sealBlock+sealTag), int64(len(b)))]
			k := len(block) - sealTag
			if _, err := s.aead.Open(nil, nonce.of(s.n+i, s.left == 0 && i == count-1), block[k:], block[:k]); err != nil {
				return
			}
			good.Add(1)
		}
	}
	workers := min(int64(runtime.GOMAXPROCS(0)), count)
	for w := range workers - 1 {
		others.Add(1)
		go func() {
			defer others.Done()
			check(w+1, workers)
		}()
	}
	check(0, workers)
	others.Wait()
	if good.Load() != count {
		return ErrOther
	}
	s.n += count
	for len(b) > 0 {
		k := min(len(b), sealBlock+sealTag)
		s.blocks, b = append(s.blocks, b[:k-sealTag]), b[k:]
	}
	return nil
}

func (s *sealReader) Read(p []byte) (int, error) {
	for len(s.blocks) > 0 && len(s.blocks[0]) == 0 {
		s.blocks = s.blocks[1:]
	}
	if len(s.blocks) == 0 {
		if s.left == 0 {
			return 0, io.EOF
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.blocks[0])
	s.blocks[0] = s.blocks[0][n:]
	return n, nil
}

// Open opens a file of the store that this user wrote, and returns a reader
// of its content, how long that is, and the file, which the caller closes.
func (s *Store) Open(ctx context.Context, path string) (f *os.File, r io.Reader, size int64, err error) {
	aead, err := s.seal(false)
	if err != nil {
		return nil, nil, 0, err
	}
	f, info, err := openOwn(path)
	if err != nil {
		return nil, nil, 0, err
	}
	if r, size, err = newSealReader(ctx, f, info.Size(), aead); err != nil {
		f.Close()
		return nil, nil, 0, err
	}
	return f, r, size, nil
}
