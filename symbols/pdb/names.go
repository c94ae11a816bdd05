package pdb

import (
	"sync"

	"logparser/message"
	"logparser/symbols/pdb/msf"
)

const (
	namesSignature  = 0xEFFEEFFE
	namesHeaderSize = 12
)

// names is the string table "/names": source paths and names of modules,
// found by their offset.
type names struct {
	stream *msf.Stream
	size   int64

	mu   sync.RWMutex
	seen map[uint32]string
	kept int
}

// maxNames bounds the strings that are kept at a time, in bytes. Offsets into
// one long string may give many long strings.
const maxNames = 8 << 20

// readNames opens the string table. A file without one has no source paths.
func readNames(f *msf.File, stream uint32) (*names, error) {
	n := &names{seen: map[uint32]string{}}
	if stream == 0 {
		return n, nil
	}
	s, err := f.Stream(int(stream))
	if err != nil {
		return nil, message.Errorf("pdb: string table: %w", err)
	}
	if s.Size() == 0 {
		return n, nil
	}
	h, err := s.Read(0, min(s.Size(), namesHeaderSize))
	if err != nil {
		return nil, message.Errorf("pdb: string table: %w", err)
	}
	if len(h) < namesHeaderSize || le.Uint32(h) != namesSignature {
		return nil, message.Errorf("pdb: %w: stream %d is no string table", ErrDamaged, stream)
	}
	n.stream = s
	n.size = min(int64(le.Uint32(h[8:])), s.Size()-namesHeaderSize)
	return n, nil
}

// at returns the string at an offset.
func (n *names) at(off uint32) (string, error) {
	n.mu.RLock()
	s, ok := n.seen[off]
	n.mu.RUnlock()
	if ok {
		return s, nil
	}
	if n.stream == nil {
		return "", nil
	}
	if int64(off) >= n.size {
		return "", message.Errorf("pdb: %w: string %d of a table of %d bytes", ErrDamaged, off, n.size)
	}
	s, err := readString(n.stream, namesHeaderSize+int64(off), namesHeaderSize+n.size)
	if err != nil {
		return "", message.Errorf("pdb: string table: %w", err)
	}
	n.mu.Lock()
	if n.kept += len(s) + 32; n.kept > maxNames {
		clear(n.seen)
		n.kept = len(s) + 32
	}
	n.seen[off] = s
	n.mu.Unlock()
	return s, nil
}

// readString reads the string at an offset of a stream, which ends with a
// zero byte, at end, or at maxPath bytes.
func readString(s *msf.Stream, off, end int64) (string, error) {
	end = min(end, off+maxPath)
	for n := int64(256); ; n *= 8 {
		b, err := s.Read(off, min(n, end-off))
		if err != nil {
			return "", err
		}
		text := cString(b)
		if len(text) < len(b) || off+n >= end {
			return text, nil
		}
	}
}
