package values

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"logparser/parser"
	"logparser/rows"
)

// asText reads values that a tool printed as text: NAME=VALUE, separated by blanks. A VALUE is a number, a text between
// quotation marks without escapes, or (fault).
func (d *Decoder) asText(b []byte, enter bool) []rows.Value {
	if len(b) < 4 {
		return []rows.Value{unknown("", "", damaged)}
	}
	var names []parser.ValueName
	if n := binary.LittleEndian.Uint32(b); int64(n) < int64(len(d.taken.Events)) {
		names = d.taken.Events[n]
	}
	b = b[4:]
	line := lineOf(b)
	var list []rows.Value
	for len(list) < MaxValues {
		name, rest, ok := printedName(b)
		if !ok {
			break
		}
		var v rows.Value
		v, b = line.value(rest)
		v.Name = string(name)
		if !enter && (v.Name == "ret" || v.Name == "arg1" || v.Name == "retval") {
			v.Name = Result
		}
		for i := range names {
			if names[i].Printed == string(name) {
				v.Name, v.Type = names[i].Name, names[i].Type
				retype(&v)
				break
			}
		}
		if n := len(list); n > 0 {
			cutText(&list[n-1], &v)
		}
		list = append(list, v)
	}
	return list
}

// cutText corrects a text whose length is known from the value size. The tool has printed the text up to the first 0, which may
// be before or after its real end.
func cutText(size, text *rows.Value) {
	of, isText := strings.CutSuffix(text.Name, ".data")
	counted, isSize := strings.CutSuffix(size.Name, ".size")
	if !isText || !isSize || of != counted || text.Kind != rows.TextValue || size.Kind != rows.SignedValue && size.Kind != rows.UnsignedValue {
		return
	}
	switch n := uint64(len(text.Characters)); {
	case size.Bits < n:
		text.Characters, text.Cut = text.Characters[:size.Bits], false
		text.Text = quote(text.Characters)
	case size.Bits == n:
		text.Cut = false
		text.Text = quote(text.Characters)
	case size.Bits > n && !text.Cut:
		text.Cut = true
		text.Text += "…"
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// printedName returns the next name followed by =, and the bytes after the =.
func printedName(b []byte) (name, rest []byte, ok bool) {
	for len(b) > 0 {
		n := 0
		for n < len(b) && wordByte(b[n]) {
			n++
		}
		if n > 0 && n < len(b) && b[n] == '=' {
			return b[:n], b[n+1:], true
		}
		i := bytes.IndexByte(b[n:], ' ')
		if i < 0 {
			break
		}
		b = b[n+i+1:]
	}
	return nil, nil, false
}

// A printedLine has the positions of the last name and of the last quotation mark of a line of values, in bytes before the end
// of the line, 0 if there is none. With them, the end of each text is found without reading the rest of the line again.
type printedLine struct{ name, mark int }

func lineOf(b []byte) (l printedLine) {
	for end := bytes.LastIndexByte(b, '='); end >= 0 && l.name == 0; end = bytes.LastIndexByte(b[:end], '=') {
		i := end
		for i > 0 && wordByte(b[i-1]) {
			i--
		}
		if i < end && i > 0 && b[i-1] == ' ' {
			l.name = len(b) - i
		}
	}
	if i := bytes.LastIndexByte(b, '"'); i >= 0 {
		l.mark = len(b) - i
	}
	return l
}

// goesOn reports whether a text may continue in behind, the rest of the line: it contains a quotation mark, but no name.
func (l printedLine) goesOn(behind []byte) bool {
	named := l.name > 0 && l.name < len(behind)
	return !named && l.mark > 0 && l.mark <= len(behind)
}

// atMost reads "/N", which scripts print after a text to tell that they take at most N bytes or characters. It returns N, or 0
// if that is missing, and the bytes after it.
func atMost(b []byte) (n int, rest []byte) {
	if len(b) == 0 || b[0] != '/' {
		return 0, b
	}
	k := 1
	for k < len(b) && k < 8 && b[k] >= '0' && b[k] <= '9' {
		n = 10*n + int(b[k]-'0')
		k++
	}
	return n, b[k:]
}

// value reads a value and returns the bytes after it.
func (l printedLine) value(b []byte) (v rows.Value, rest []byte) {
	if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
		// The text may contain quotation marks. So it ends at a mark that is followed by another name, or by the end of the
		// line.
		for from := 1; from < len(b); {
			i := bytes.IndexByte(b[from:], b[0])
			if i < 0 {
				break
			}
			i += from
			most, behind := atMost(b[i+1:])
			if from = i + 1; len(behind) > 0 && (behind[0] != ' ' || l.goesOn(behind)) {
				continue
			}
			v.Kind, v.Characters = rows.TextValue, string(b[1:i])
			v.Text = quote(v.Characters)
			if v.Cut = most > 0 && i-1 >= most; v.Cut {
				v.Text += "…"
			}
			return v, behind
		}
		v.Kind, v.Characters, v.Cut = rows.TextValue, string(b[1:]), true
		v.Text = quote(v.Characters) + "…"
		return v, nil
	}
	end := bytes.IndexByte(b, ' ')
	if end < 0 {
		end = len(b)
	}
	word, rest := string(b[:end]), b[end:]
	switch {
	case word == "(fault)":
		return unknown("", "", notReadable), rest
	case strings.HasPrefix(word, "0x"):
		if bits, err := strconv.ParseUint(word[2:], 16, 64); err == nil {
			return rows.Value{Text: word, Kind: rows.PointerValue, Bits: bits}, rest
		}
	default:
		if n, err := strconv.ParseInt(word, 10, 64); err == nil {
			return rows.Value{Text: word, Kind: rows.SignedValue, Bits: uint64(n)}, rest
		}
		if n, err := strconv.ParseUint(word, 10, 64); err == nil {
			return rows.Value{Text: word, Kind: rows.UnsignedValue, Bits: n}, rest
		}
		if f, err := strconv.ParseFloat(word, 64); err == nil {
			return rows.Value{Text: word, Kind: rows.FloatValue, Bits: math.Float64bits(f)}, rest
		}
	}
	return rows.Value{Text: printable(strings.ToValidUTF8(word, "�")), Kind: rows.OtherValue}, rest
}

// signedSizes are the sizes of signed types in bytes. perf prints some signed values as unsigned numbers, which are converted
// back.
var signedSizes = map[string]uint{"signed char": 1, "short": 2, "short int": 2, "int": 4, "long": 8, "long int": 8, "int8_t": 1, "int16_t": 2, "int32_t": 4, "int64_t": 8}

// retype shows a number by its type.
func retype(v *rows.Value) {
	if v.Kind == rows.UnknownValue || v.Kind == rows.TextValue || v.Kind == rows.OtherValue {
		return
	}
	typ := strings.TrimPrefix(strings.TrimSuffix(v.Type, " const"), "const ")
	switch typ {
	case "bool":
		showBool(v, []byte{byte(v.Bits)})
	case "char":
		showCharacter(v, []byte{byte(v.Bits)})
	case "float":
		if v.Kind == rows.PointerValue {
			showFloat(v, binary.LittleEndian.AppendUint32(nil, uint32(v.Bits)))
		}
	case "double":
		if v.Kind == rows.PointerValue {
			showFloat(v, binary.LittleEndian.AppendUint64(nil, v.Bits))
		}
	default:
		if size := signedSizes[typ]; size > 0 && v.Kind != rows.FloatValue {
			showInteger(v, binary.LittleEndian.AppendUint64(nil, v.Bits)[:size], true)
		}
	}
}
