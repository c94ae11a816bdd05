package pdb

import (
	"encoding/binary"

	"logparser/message"
	"logparser/modules"
	"logparser/symbols/pdb/msf"
)

var le = binary.LittleEndian

// ErrDamaged says that a file contradicts itself. The text around it names
// the stream and the offset.
var ErrDamaged = msf.ErrDamaged

// Numbers of the streams that are always at the same place.
const (
	streamInfo = 1
	streamTPI  = 2
	streamDBI  = 3
	streamIPI  = 4
)

// Features that the information stream may list behind its names. Of the
// linkers of Visual Studio 2005 and 2008 there are none; those of 2012 write
// featureVC110, and nothing behind it, later ones featureVC140.
const (
	featureVC110    = 20091201
	featureVC140    = 20140508
	featureFastlink = 0x494E494D // "MINI"
)

// Versions of the information stream: vc4 is the first one with names of
// streams, vc70Deprecated the last one without a GUID.
const (
	vc4            = 19950623
	vc70Deprecated = 19990604
)

// info is what the information stream says.
type info struct {
	age      uint32
	guid     modules.GUID
	fastlink bool
	// names is the number of the stream called "/names", or 0.
	names uint32
	// ids says that streamIPI is the id stream. Without it the stream may hold
	// anything.
	ids bool
	// streamIPINamed says that streamIPI has a name, so that it is something
	// else.
	streamIPINamed bool
}

// maxInfo bounds how much of the information stream is read. It holds the
// names of a few streams, or of some thousands where source files are
// embedded.
const maxInfo = 16 << 20

func readInfo(f *msf.File) (*info, error) {
	s, err := f.Stream(streamInfo)
	if err != nil {
		return nil, message.Errorf("pdb: information stream: %w", err)
	}
	b, err := s.Read(0, min(s.Size(), maxInfo))
	if err != nil {
		return nil, message.Errorf("pdb: information stream: %w", err)
	}
	if len(b) < 12 {
		return nil, message.Errorf("pdb: %w: information stream has %d bytes", ErrDamaged, len(b))
	}
	in := &info{age: le.Uint32(b[8:])}
	version, at := le.Uint32(b), 12
	if version < vc4 {
		return in, nil
	}
	if version > vc70Deprecated {
		if len(b) < 28 {
			return nil, message.Errorf("pdb: %w: information stream has %d bytes and no room for a GUID", ErrDamaged, len(b))
		}
		at += copy(in.guid[:], b[12:28])
	}
	if err := in.readNames(b, at); err != nil {
		return nil, err
	}
	return in, nil
}

// readNames reads the table of named streams, which is kept as a serialised
// hash table: the strings, the table's size and capacity, a bit set of the
// entries in use, one of those deleted, and the entries in use (offset of the
// string, number of the stream).
func (in *info) readNames(b []byte, at int) error {
	damaged := func(what string, at int) error {
		return message.Errorf("pdb: %w: information stream: %s at offset %d", ErrDamaged, what, at)
	}
	next := func(what string) (int, error) {
		if len(b)-at < 4 {
			return 0, damaged(what, at)
		}
		v := le.Uint32(b[at:])
		at += 4
		if v > uint32(len(b)) {
			return 0, damaged(what, at-4)
		}
		return int(v), nil
	}
	size, err := next("length of the stream names")
	if err != nil {
		return err
	}
	if size > len(b)-at {
		return damaged("length of the stream names", at-4)
	}
	strings := b[at : at+size]
	at += size
	count, err := next("number of stream names")
	if err != nil {
		return err
	}
	if _, err = next("capacity of the stream names"); err != nil {
		return err
	}
	for range 2 {
		n, err := next("bit set of the stream names")
		if err != nil {
			return err
		}
		if n > (len(b)-at)/4 {
			return damaged("bit set of the stream names", at-4)
		}
		at += 4 * n
	}
	if count > (len(b)-at)/8 {
		return damaged("entries of the stream names", at)
	}
	for range count {
		off, stream := le.Uint32(b[at:]), le.Uint32(b[at+4:])
		at += 8
		if off < uint32(len(strings)) && cString(strings[off:]) == "/names" {
			in.names = stream
		}
		in.streamIPINamed = in.streamIPINamed || stream == streamIPI
	}
	// One number that means nothing any more, then the features.
	for at += 4; len(b)-at >= 4; at += 4 {
		switch le.Uint32(b[at:]) {
		case featureVC110:
			in.ids = true
			return nil
		case featureVC140:
			in.ids = true
		case featureFastlink:
			in.fastlink = true
		}
	}
	return nil
}

// cString returns the text of b up to its first zero byte, or all of it.
func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}
