package modules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A rawLine is a line of a modules file that is no comment and no time.
type rawLine struct {
	number int
	text   string
	came   int64 // as File.Came has it, but for the scanner's copied
}

// An entry is what names one module: a line, or the lines of a block joined by
// blockSeparator. Which of its numbers means what is not known yet.
type entry struct {
	number int // its first line, counted from 1
	text   string
	// front and back are the numbers that the text begins and ends with, back
	// from the end inwards. In a text without anything else both have all.
	front, back []token
	// What our recorder's columns say, where they are there.
	pointerSize int
	identity    Identity
	timestamp   uint32
}

// A token is a number of an entry.
type token struct {
	text       string // with 0x where a mark of another kind said hexadecimal
	start, end int    // bytes of the entry's text
}

// blockSeparator stands between the lines of a block.
const blockSeparator = "\n"

// separators divide columns, and hardSeparators cannot be meant otherwise.
const (
	separators     = " \t,;|" + blockSeparator
	hardSeparators = "\t;|" + blockSeparator
)

func newEntry(number int, text string) entry {
	e := entry{number: number, text: text}
	for pos := 0; len(e.front) < maxColumns; {
		start := pos + countAny(text[pos:], separators)
		end := start + wordLength(text[start:])
		numbers := numbersOf(text[start:end], start)
		if numbers == nil {
			break
		}
		e.front = append(e.front, numbers...)
		pos = end
	}
	for pos := len(text); len(e.back) < maxColumns; {
		end := len(strings.TrimRight(text[:pos], separators))
		start := strings.LastIndexAny(text[:end], separators) + 1
		numbers := numbersOf(text[start:end], start)
		if numbers == nil {
			if pos == len(text) && isUnit(text[start:end]) && start > 0 {
				pos = start
				continue
			}
			break
		}
		for i := len(numbers) - 1; i >= 0; i-- {
			e.back = append(e.back, numbers[i])
		}
		pos = start
	}
	return e
}

func countAny(s, set string) int { return len(s) - len(strings.TrimLeft(s, set)) }

func wordLength(s string) int {
	if i := strings.IndexAny(s, separators); i >= 0 {
		return i
	}
	return len(s)
}

// isUnit recognises what may stand behind a size.
func isUnit(s string) bool {
	switch strings.ToLower(strings.Trim(s, "().")) {
	case "bytes", "byte", "字节":
		return true
	}
	return false
}

// numbersOf returns the number that a word is, or the two of a range; nil for
// other words. at is where the word begins.
func numbersOf(word string, at int) []token {
	if t, ok := numberText(word); ok {
		return []token{{t, at, at + len(word)}}
	}
	i := strings.IndexByte(word, '-')
	if i < 4 || len(word)-i <= 4 {
		return nil
	}
	from, ok1 := numberText(word[:i])
	to, ok2 := numberText(word[i+1:])
	if !ok1 || !ok2 {
		return nil
	}
	return []token{{from, at, at + i}, {to, at + i + 1, at + len(word)}}
}

// numberText recognises a hexadecimal or decimal number: with 0x, with an h
// behind it, or with at least one decimal digit in it, so that words like "add"
// are none.
func numberText(s string) (text string, ok bool) {
	t, prefixed := cutPrefix0x(s)
	if !prefixed && len(t) > 1 && (t[len(t)-1] == 'h' || t[len(t)-1] == 'H') && t[0] >= '0' && t[0] <= '9' {
		t = t[:len(t)-1]
		prefixed, s = true, "0x"+t
	}
	if t == "" || len(t) > 20 {
		return "", false
	}
	decimal := prefixed
	for i := 0; i < len(t); i++ {
		switch c := t[i]; {
		case c >= '0' && c <= '9':
			decimal = true
		case c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return "", false
		}
	}
	return s, decimal
}

// middle returns the text of an entry without its first and last numbers; ok is
// false where it has not that many or nothing is left.
func (e *entry) middle(front, back int) (text string, ok bool) {
	if front > len(e.front) || back > len(e.back) {
		return "", false
	}
	start, end := 0, len(e.text)
	if front > 0 {
		start = e.front[front-1].end
	}
	if back > 0 {
		end = e.back[back-1].start
	}
	if start >= end {
		return "", false
	}
	text = strings.Trim(e.text[start:end], separators)
	return text, text != ""
}

// column returns number i of an entry whose first front and last back numbers
// are columns.
func (e *entry) column(i, front, back int) string {
	if i < front {
		return e.front[i].text
	}
	return e.back[back-1-(i-front)].text
}

// nameTrouble says why a text is not the name of a module and nothing else.
type nameTrouble uint8

const (
	nameFits nameTrouble = iota
	nameNot              // it is no name at all
	nameMore             // it has something else besides
)

// judgeName looks at the text that is left for the name. commas says that
// commas divide the columns, so that one inside is not of the name.
func judgeName(text string, commas bool) nameTrouble {
	name := unquote(text)
	if name == "" {
		return nameNot
	}
	if _, number := numberText(name); number || !strings.ContainsFunc(name, isNameRune) {
		return nameNot
	}
	if name != text {
		return nameFits // quoted
	}
	if strings.ContainsAny(name, hardSeparators) || strings.Contains(name, "  ") || commas && strings.Contains(name, ",") {
		return nameMore
	}
	for i := 1; i < len(name); i++ {
		if !strings.ContainsRune(separators+"\"'(=", rune(name[i-1])) {
			continue
		}
		if isRooted(name[i:]) {
			return nameMore
		}
	}
	if i := imageExtension(name); i >= 0 && i < len(name) {
		return nameMore
	}
	return nameFits
}

func isNameRune(r rune) bool { return unicode.IsLetter(r) || r == utf8.RuneError }

// isRooted recognises the beginning of an absolute path.
func isRooted(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, `\`) ||
		len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && (s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z')
}

// imageExtensions are those of files that are loaded into programs.
var imageExtensions = []string{".exe", ".dll", ".so", ".ocx", ".sys", ".drv", ".cpl", ".ax", ".acm", ".ime", ".mui", ".node", ".pyd", ".ko", ".dylib"}

// imageExtension returns where the first extension of an image ends that a blank
// or a comma follows, the length of the name where it ends with one, else -1.
func imageExtension(name string) int {
	lower := strings.ToLower(name)
	for _, e := range imageExtensions {
		for from := 0; ; {
			i := strings.Index(lower[from:], e)
			if i < 0 {
				break
			}
			from += i + len(e)
			if from == len(lower) || lower[from] == ' ' || lower[from] == ',' {
				return from
			}
		}
	}
	return -1
}

// beginsOrEndsWithNumber reports whether a name might have another column of
// numbers before or behind it.
func beginsOrEndsWithNumber(name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(separators, r) })
	if len(words) < 2 {
		return false
	}
	_, first := numberText(words[0])
	_, last := numberText(words[len(words)-1])
	return first || last
}
