package classic

import (
	"bytes"
	"encoding/binary"

	"logparser/message"
)

// A magic is what files of another kind have at an offset.
type magic struct {
	offset int
	bytes  string
	kind   message.Text
}

var magics = []magic{
	{0, "\x28\xb5\x2f\xfd", message.Textf("compressed (%s): unpack it first", "zstd")},
	{0, "\xfd7zXZ\x00", message.Textf("compressed (%s): unpack it first", "xz")},
	{4, "1AY&SY", message.Textf("compressed (%s): unpack it first", "bzip2")},
	{0, "7z\xbc\xaf\x27\x1c", message.Textf("an archive (%s): unpack it first", "7z")},
	{257, "ustar", message.Textf("an archive (%s): unpack it first", "tar")},
	{0, "!<arch>\n", message.Textf("a library of object files (%s)", "ar")},
	{0, "\x89PNG\r\n\x1a\n", message.Textf("a picture (%s)", "PNG")},
	{0, "GIF8", message.Textf("a picture (%s)", "GIF")},
	{0, "\xff\xd8\xff\xe0", message.Textf("a picture (%s)", "JPEG")},
	{0, "Microsoft C/C++ MSF 7.00\r\n", message.Textf("symbols (%s)", "PDB")},
	{0, "PERFILE2", message.Textf("a recording of perf")},
	{0, "PAR1", message.Textf("a table (%s)", "Parquet")},
	{0, "SQLite format 3\x00", message.Textf("a database (%s)", "SQLite")},
	{0, "%PDF-", message.Textf("a document (%s)", "PDF")},
	{0, "\xde\x12\x04\x95", message.Textf("translations (%s)", "gettext")},
	{0, "\x95\x04\x12\xde", message.Textf("translations (%s)", "gettext")},
}

// kindOf says what a file with that beginning is that is surely no log, nothing
// where it may be one. Two bytes of magic are not enough: an address may have them.
func kindOf(head []byte) message.Text {
	for _, m := range magics {
		if len(head) > m.offset && bytes.HasPrefix(head[m.offset:], []byte(m.bytes)) {
			return m.kind
		}
	}
	switch {
	case len(head) >= 10 && head[0] == 0x1f && head[1] == 0x8b && head[2] == 8 && head[3] < 0x20:
		return message.Textf("compressed (%s): unpack it first", "gzip")
	case len(head) >= 30 && bytes.HasPrefix(head, []byte("PK\x03\x04")) && head[5] == 0 && head[9] == 0:
		return message.Textf("an archive (%s): unpack it first", "zip")
	case isPerfetto(head):
		return message.Textf("a saved trace (%s)", "Perfetto")
	}
	return message.Text{}
}

// isPerfetto recognises the protocol buffer that is a sequence of packets, each
// with its length: a few that follow each other and are made of fields.
func isPerfetto(head []byte) bool {
	const packet, least = 1<<3 | 2, 4
	for range least {
		if len(head) < 2 || head[0] != packet {
			return false
		}
		size, k := binary.Uvarint(head[1:])
		if k <= 0 || size > uint64(len(head)-1-k) || !isFields(head[1+k:][:size]) {
			return false
		}
		head = head[1+k+int(size):]
	}
	return true
}

// isFields reports whether b is fields of a protocol buffer.
func isFields(b []byte) bool {
	for len(b) > 0 {
		tag, k := binary.Uvarint(b)
		if k <= 0 || tag>>3 == 0 {
			return false
		}
		b = b[k:]
		size := uint64(0)
		switch tag & 7 {
		case 0:
			_, k = binary.Uvarint(b)
		case 1:
			k, size = 0, 8
		case 2:
			size, k = binary.Uvarint(b)
		case 5:
			k, size = 0, 4
		default:
			return false
		}
		if k < 0 || k == 0 && size == 0 || size > uint64(len(b)-k) {
			return false
		}
		b = b[k+int(size):]
	}
	return true
}
