package indexcache

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"logparser/message"
	"logparser/wholefile"
)

// What a store keeps is sealed: whoever does not have the store's key cannot
// write a file that is taken, however well he knows its format. A checksum would
// not do, since anybody can make it right, and of most numbers in an index only
// going through the whole log would tell whether they are true. A sealed file is
//
//	sealMagic
//	8 random bytes
//	the content, as it is to lie in memory
//	a tag of 16 bytes for each sealBlock bytes of the content, of which the last may
//	be fewer, and one for an empty content
//
// A tag is AES-256-GCM's for the block as additional data, under the key and a
// nonce of the random bytes and the block's number, of which the highest bit is set
// for the last. So a block is good only in its place, and before anything in it is
// looked at.
//
// The key lies beside the files, readable by nobody else, and is made when it is
// missing. Where it is lost, or a folder comes from somebody else without it, indexes
// are built anew.

const (
	sealMagic = "LPSEAL\x00\x02"
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
		if err := writeKey(path); err != nil {
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

func writeKey(path string) error {
	key := make([]byte, keyLen)
	rand.Read(key)
	return wholefile.Replace(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(key)
		return err
	})
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
	tags  []byte // of the blocks written
	err   error
}

func newSealWriter(ctx context.Context, w io.Writer, aead cipher.AEAD) *sealWriter {
	s := &sealWriter{ctx: ctx, w: w, aead: aead, block: make([]byte, 0, sealBlock)}
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
		_, s.err = s.w.Write(s.block)
		s.tags = s.aead.Seal(s.tags, s.nonce.of(int64(len(s.tags)/sealTag), last), nil, s.block)
		s.block = s.block[:0]
	}
}

func (s *sealWriter) Close() error {
	if s.flush(true); s.err == nil {
		_, s.err = s.w.Write(s.tags)
	}
	return s.err
}

// unseal returns the content of a sealed file, a part of it, when it has found all tags
// right.
func unseal(ctx context.Context, file []byte, aead cipher.AEAD) ([]byte, error) {
	size := int64(len(file) - sealHead)
	blocks := (size + sealBlock + sealTag - 1) / (sealBlock + sealTag)
	n := size - blocks*sealTag
	if size < sealTag || n <= (blocks-1)*sealBlock && blocks > 1 || blocks >= sealLast || !bytes.HasPrefix(file, []byte(sealMagic)) {
		return nil, ErrOther
	}
	content, tags := file[sealHead:][:n:n], file[int64(sealHead)+n:]
	var next, good atomic.Int64
	var others sync.WaitGroup
	check := func() {
		var nonce sealNonce
		copy(nonce[:], file[len(sealMagic):sealHead])
		for ctx.Err() == nil {
			i := next.Add(1) - 1
			if i >= blocks {
				return
			}
			block := content[i*sealBlock : min((i+1)*sealBlock, n)]
			if _, err := aead.Open(nil, nonce.of(i, i == blocks-1), tags[i*sealTag:(i+1)*sealTag], block); err != nil {
				return
			}
			good.Add(1)
		}
	}
	for range min(int64(runtime.GOMAXPROCS(0)), blocks) - 1 {
		others.Add(1)
		go func() {
			defer others.Done()
			// A fault is a tag that was not found right.
			defer func(before bool) {
				recover()
				debug.SetPanicOnFault(before)
			}(debug.SetPanicOnFault(true))
			check()
		}()
	}
	func() {
		defer func(before bool) {
			recover()
			debug.SetPanicOnFault(before)
		}(debug.SetPanicOnFault(true))
		check()
	}()
	others.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if good.Load() != blocks {
		return nil, ErrOther
	}
	return content, nil
}

// A Kept is the content of a file of the store.
type Kept struct {
	// Content begins at a multiple of 8 in memory. It may be written to, which changes
	// nothing in the file, until Close.
	Content []byte
	// Mapped says that it is not the process's own memory, but for what was written to.
	Mapped bool
	unmap  func() error
}

// Close gives the memory back.
func (k *Kept) Close() error {
	if k.unmap == nil {
		return nil
	}
	unmap := k.unmap
	k.Content, k.unmap = nil, nil
	return unmap()
}

// Open returns the content of a file of the store that this user wrote, mapped into
// memory where that can be. The store never changes a file that it has written.
func (s *Store) Open(ctx context.Context, path string) (*Kept, error) {
	aead, err := s.seal(false)
	if err != nil {
		return nil, err
	}
	f, info, err := openOwn(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() < int64(sealHead+sealTag) || info.Size() > math.MaxInt {
		return nil, ErrOther
	}
	k := &Kept{}
	file, unmap, err := mapPrivate(f, int(info.Size()))
	if err == nil {
		k.Mapped, k.unmap = true, unmap
	} else {
		file = make([]byte, info.Size())
		if _, err := io.ReadFull(f, file); err != nil {
			return nil, err
		}
	}
	if k.Content, err = unseal(ctx, file, aead); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}
