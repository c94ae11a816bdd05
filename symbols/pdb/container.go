package pdb

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"logparser/message"
	"logparser/symbols"
	"logparser/symbols/pdb/cab"
	"logparser/symbols/pdb/msf"
)

// container is a kind of file that is called a PDB.
type container int

const (
	containerUnknown container = iota
	containerMSF
	containerSmall    // "JG": the format up to Visual C++ 6
	containerMSFZ     // compressed
	containerPortable // of .NET
	containerCabinet  // compressed for a symbol store, "name.pd_"
)

// containerOf tells what a file is by its first bytes.
func containerOf(head []byte) container {
	for _, c := range []struct {
		magic string
		kind  container
	}{
		{msf.Magic, containerMSF},
		{"Microsoft C/C++ program database 2.00\r\n\x1aJG", containerSmall},
		{"Microsoft MSFZ Container\r\n\x1aALD", containerMSFZ},
		{"BSJB", containerPortable},
		{cab.Magic, containerCabinet},
	} {
		if strings.HasPrefix(string(head[:min(len(head), len(c.magic))]), c.magic) {
			return c.kind
		}
	}
	return containerUnknown
}

// openContainer opens the streams of a file. done, which may be nil, gives up
// what was made for that; the file itself stays the caller's.
func openContainer(f *symbols.File) (m *msf.File, done func() error, err error) {
	kind, err := kindOf(f)
	if err != nil {
		return nil, nil, err
	}
	if kind == containerCabinet {
		f, err = unpack(f)
		if err != nil {
			return nil, nil, message.Errorf("pdb: %w", err)
		}
		done = f.Close
		if kind, err = kindOf(f); err != nil {
			done()
			return nil, nil, err
		}
	}
	switch kind {
	case containerSmall:
		err = message.Errorf("pdb: PDB 2.00 (JG), written up to Visual C++ 6: %w", ErrUnsupported)
	case containerMSFZ:
		err = message.Errorf("pdb: compressed PDB (MSFZ): %w", ErrUnsupported)
	case containerPortable:
		err = message.Errorf("pdb: portable PDB of .NET, without native code: %w", symbols.ErrNoSymbols)
	case containerCabinet:
		err = message.Errorf("pdb: cabinet in a cabinet: %w", ErrUnsupported)
	default:
		if m, err = msf.Open(f, f.Size); err != nil {
			err = message.Errorf("pdb: %w", err)
		}
	}
	if err != nil && done != nil {
		done()
		done = nil
	}
	return m, done, err
}

// kindOf reads the first bytes of a file and tells what it is.
func kindOf(f *symbols.File) (container, error) {
	head := make([]byte, min(64, max(f.Size, 0)))
	if n, err := f.ReadAt(head, 0); n < len(head) {
		return containerUnknown, message.Errorf("pdb: offset 0: %w", err)
	}
	return containerOf(head), nil
}

// MaxUnpacked is the size in bytes up to which a PDB is taken out of a
// cabinet. It must not be changed while files are opened.
var MaxUnpacked int64 = 4 << 30

// maxRatio is how many times larger than its cabinet a PDB may be. Real ones
// are up to some 20 times as large.
const maxRatio = 500

// unpack takes the PDB out of a cabinet into a temporary file, which is gone
// when the file that is returned is closed.
func unpack(f *symbols.File) (*symbols.File, error) {
	c, err := cab.Open(f, f.Size)
	if err != nil {
		return nil, err
	}
	if c.Size/maxRatio > f.Size {
		return nil, message.Errorf("%w: cabinet of %d bytes with a file of %d", cab.ErrTooLarge, f.Size, c.Size)
	}
	tmp, err := os.CreateTemp("", "logparser-*.pdb")
	if err != nil {
		return nil, symbols.NoTemporary(err)
	}
	t := &temporary{File: tmp}
	// Where an open file can be removed, nothing is left even after a crash.
	t.removed = os.Remove(tmp.Name()) == nil
	w := bufio.NewWriterSize(tmp, 1<<20)
	if err = c.Extract(w, MaxUnpacked); err == nil {
		err = w.Flush()
	}
	if err != nil {
		t.Close()
		return nil, err
	}
	return &symbols.File{Path: f.Path, ReaderAt: tmp, Size: c.Size, Closer: t}, nil
}

// temporary is a file that is removed when it is closed.
type temporary struct {
	*os.File
	removed bool
}

func (t *temporary) Close() error {
	err := t.File.Close()
	if !t.removed {
		err = errors.Join(err, os.Remove(t.Name()))
	}
	return err
}
