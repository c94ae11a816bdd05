package modules

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"

	"logparser/message"
)

// ErrEncoding is wrapped by errors about an encoding that has no such name.
var ErrEncoding = message.New("unknown encoding")

// decodeText turns the bytes of a modules file into UTF-8. name forces an
// encoding; a byte-order mark that contradicts it is ignored, one that fits it
// is removed. used is the name of the encoding taken, note a remark for the
// reader of the log where it was guessed.
func decodeText(data []byte, name string) (text, used string, note message.Text, err error) {
	if name != "" {
		e, err := lookupEncoding(name)
		if err != nil {
			return "", "", message.Text{}, err
		}
		used, _ = htmlindex.Name(e)
		if used == "" {
			used = strings.ToLower(name)
		}
		text, err := decodeWith(e, data)
		return text, used, message.Text{}, err
	}
	switch {
	case bytes.HasPrefix(data, []byte(Header)):
		// The recorder writes UTF-8. On Linux a path is any bytes, and they are
		// needed as they are to find the file.
		return string(data), "utf-8", message.Text{}, nil
	case bytes.HasPrefix(data, []byte{0xEF, 0xBB, 0xBF}):
		return validUTF8(data[3:]), "utf-8", message.Text{}, nil
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		text, err = decodeWith(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), data[2:])
		return text, "utf-16le", message.Text{}, err
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		text, err = decodeWith(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), data[2:])
		return text, "utf-16be", message.Text{}, err
	}
	if order, ok := guessUTF16(data); ok {
		text, err = decodeWith(unicode.UTF16(order, unicode.IgnoreBOM), data)
		used = "utf-16le"
		if order == unicode.BigEndian {
			used = "utf-16be"
		}
		return text, used, message.Textf("the modules file is read as %s, a guess: it has no byte-order mark", used), err
	}
	if utf8.Valid(data) {
		return string(data), "utf-8", message.Text{}, nil
	}
	used, e := "windows-1252", encoding.Encoding(charmap.Windows1252)
	if likelyGBK(data) {
		used, e = "gb18030", simplifiedchinese.GB18030
	}
	text, err = decodeWith(e, data)
	return text, used, message.Textf("the modules file is read as %s, a guess: it is not valid UTF-8", used), err
}

// CheckEncoding reports whether name is an encoding that [Parse] knows.
func CheckEncoding(name string) error {
	if name == "" {
		return nil
	}
	_, err := lookupEncoding(name)
	return err
}

func lookupEncoding(name string) (encoding.Encoding, error) {
	// The names that Windows and programmers use, beside those of the web.
	alias := map[string]string{
		"utf8": "utf-8", "utf16": "utf-16le", "utf-16": "utf-16le", "utf16le": "utf-16le", "utf16be": "utf-16be",
		"cp936": "gbk", "cp1252": "windows-1252", "cp950": "big5", "cp949": "euc-kr", "cp932": "shift_jis",
		"cp1250": "windows-1250", "cp1251": "windows-1251", "ansi": "windows-1252", "latin1": "windows-1252",
	}
	n := strings.ToLower(strings.TrimSpace(name))
	if a, ok := alias[n]; ok {
		n = a
	}
	e, err := htmlindex.Get(n)
	if err != nil {
		if len(name) > 60 {
			name = name[:60] + "..."
		}
		return nil, message.Errorf("%q: %w (utf-8, utf-16le, utf-16be, gbk, gb18030, big5, shift_jis, euc-kr, windows-1252, ...)", name, ErrEncoding)
	}
	return e, nil
}

func decodeWith(e encoding.Encoding, data []byte) (string, error) {
	b, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return "", message.Errorf("decoding: %w", err)
	}
	return string(bytes.TrimPrefix(b, []byte("\uFEFF"))), nil
}

func validUTF8(data []byte) string { return strings.ToValidUTF8(string(data), "\uFFFD") }

// guessUTF16 recognises UTF-16 without a mark: the text is mostly ASCII, so
// nearly every second byte of the head is zero, and always the same one.
func guessUTF16(data []byte) (unicode.Endianness, bool) {
	head := data[:min(len(data), 512)&^1]
	var zero [2]int
	for i, b := range head {
		if b == 0 {
			zero[i&1]++
		}
	}
	n := len(head) / 2
	switch {
	case n < 8:
		return unicode.LittleEndian, false
	case zero[1] > n/2 && zero[0] == 0:
		return unicode.LittleEndian, true
	case zero[0] > n/2 && zero[1] == 0:
		return unicode.BigEndian, true
	}
	return unicode.LittleEndian, false
}

// likelyGBK judges text that is not UTF-8. Nearly every pair of bytes with
// the high bit set is some GBK character, so that decoding without an error
// proves little: "Größe" in windows-1252 is one too. But Chinese text is made
// mostly of the 3,755 commonest characters, whose first byte is B0 to D7 and
// whose second has the high bit, while the accented small letters of western
// Europe are E0 and up and mostly stand alone.
func likelyGBK(data []byte) bool {
	common, pairs := 0, 0
	for i := 0; i < len(data); i++ {
		lead := data[i]
		if lead < 0x80 {
			continue
		}
		if lead == 0x80 || lead == 0xFF || i+1 == len(data) {
			return false
		}
		i++
		trail := data[i]
		if trail >= 0x30 && trail <= 0x39 {
			// Four bytes: a character of GB18030 beyond GBK.
			if i+2 >= len(data) || data[i+1] < 0x81 || data[i+2] < 0x30 || data[i+2] > 0x39 {
				return false
			}
			i += 2
			continue
		}
		if trail < 0x40 || trail == 0x7F || trail == 0xFF {
			return false
		}
		if lead >= 0xA1 && lead <= 0xA3 && trail >= 0xA1 {
			continue // punctuation and full-width letters
		}
		pairs++
		if lead >= 0xB0 && lead <= 0xD7 && trail >= 0xA1 {
			common++
		}
	}
	return pairs > 0 && 2*common >= pairs
}
