package modules

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A labelled is a value with the label in front of it: "Size: 0x1000". The text
// before the first label of a line has the label "".
type labelled struct {
	label, value string
}

// wideSeparators are the Chinese comma and semicolon.
const wideSeparators = "，；、"

// cutLabels divides a line at its labels.
func cutLabels(line string) []labelled {
	var found []labelled
	label, from := "", 0 // of the value under way
	colons := 0
	for i, r := range line {
		if r != ':' && r != '=' && r != '：' && r != '＝' {
			continue
		}
		if colons++; colons > maxColons {
			break
		}
		start := labelStart(line[from:i], len(found) == 0 && label == "")
		if start < 0 {
			continue
		}
		behind := line[i+utf8.RuneLen(r):]
		if i == from+start+1 && (strings.HasPrefix(behind, `\`) || strings.HasPrefix(behind, "/")) {
			continue // a drive
		}
		if v := trimValue(line[from : from+start]); v != "" || label != "" {
			found = append(found, labelled{label, v})
		}
		label = strings.ToLower(strings.Join(strings.Fields(line[from+start:i]), " "))
		from = i + utf8.RuneLen(r)
	}
	if label == "" {
		return nil
	}
	return append(found, labelled{label, trimValue(line[from:])})
}

func trimValue(s string) string { return unquote(strings.Trim(s, separators+wideSeparators)) }

// maxColons bounds the places of a line where a label may end.
const maxColons = 64

// maxLabel is how far before its colon a label may begin, in bytes.
const maxLabel = 200

// labelStart returns where the label begins that s ends with, -1 for none. Behind
// a separator, or at the beginning of a line, any words are a label; behind
// a value only those that are known.
func labelStart(s string, first bool) int {
	if n := len(s); n > maxLabel {
		// Looking through a long value at each of its colons takes too long.
		skip := n - maxLabel
		for !utf8.RuneStart(s[skip]) {
			skip++
		}
		if start := labelStart(s[skip:], false); start >= 0 {
			return skip + start
		}
		return -1
	}
	cut := 0
	if i := strings.LastIndexAny(s, ",;|\t"+wideSeparators); i >= 0 {
		_, n := utf8.DecodeRuneInString(s[i:])
		cut = i + n
	}
	var starts []int
	whole := cut > 0 || first
	behindValue := -1
	for at := cut; at < len(s); {
		at += countAny(s[at:], " ")
		if at == len(s) {
			break
		}
		end := len(s)
		if i := strings.IndexByte(s[at:], ' '); i >= 0 {
			end = at + i
		}
		starts = append(starts, at)
		word := s[at:end]
		_, known := roleOfLabel(word)
		switch {
		case !isLabelWord(word):
			whole, behindValue = false, -1
		case !known && !isFiller(word):
			behindValue = -1
		case behindValue < 0:
			behindValue = at
		}
		at = end
	}
	if whole && len(starts) > 0 && len(starts) <= 4 {
		return starts[0]
	}
	return behindValue
}

func isLabelWord(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) && r != '_' {
			return false
		}
	}
	return s != ""
}

// isFiller recognises the words between the others of a label: "size of image".
func isFiller(s string) bool {
	switch strings.ToLower(s) {
	case "of", "in", "the", "memory":
		return true
	}
	return false
}

// labelledColumns are those that a labelled file's entries are brought to.
var labelledColumns = Columns{{Role: Base}, {Role: Name}, {Role: Size}}

// labelledEntries reads lines whose values have labels, one or several a line,
// as entries of labelledColumns. ok is false where the lines have no labels, or
// not those that a module needs.
func labelledEntries(lines []rawLine) (entries []entry, columns Columns, rejected []rawLine, ok bool) {
	roles := rolesOfLabels(lines[:min(len(lines), 100)])
	if roles == nil {
		return nil, nil, nil, false
	}
	columns = slices.Clone(labelledColumns)
	for _, role := range roles {
		if role == End {
			columns[2].Role = End
		}
	}
	var current [Name + 1]string
	var line rawLine
	open := false
	finish := func() {
		size := current[columns[2].Role]
		switch {
		case !open:
		case current[Base] == "" || size == "" || current[Name] == "":
			rejected = append(rejected, line)
		default:
			entries = append(entries, newEntry(line.number, current[Base]+blockSeparator+`"`+current[Name]+`"`+blockSeparator+size))
		}
		current, open = [Name + 1]string{}, false
	}
	first, begun := "", false
	for _, l := range lines {
		values := cutLabels(l.text)
		if values == nil {
			rejected = append(rejected, l)
		}
		for _, v := range values {
			role, known := roles[v.label]
			if !known {
				continue
			}
			if !begun {
				first, begun = v.label, true
			}
			if v.label == first {
				finish()
				line, open = l, true
			}
			if role != Skip && open && current[role] == "" {
				current[role] = v.value
			}
		}
	}
	finish()
	return entries, columns, rejected, len(entries) > 0
}

// rolesOfLabels returns what the labels of lines are, nil where they do not say
// where a module lies and what it is called. Of several labels that may be the
// same, such as a base and an address, none can be told from the other.
func rolesOfLabels(lines []rawLine) map[string]Role {
	roles := map[string]Role{}
	var count [Name + 1]int
	with := 0
	for _, l := range lines {
		values := cutLabels(l.text)
		if values != nil {
			with++
		}
		for _, v := range values {
			if _, seen := roles[v.label]; seen {
				continue
			}
			role, _ := roleOfLabel(v.label)
			roles[v.label] = role
			count[role]++
		}
	}
	if _, unlabelled := roles[""]; unlabelled && count[Name] == 0 {
		roles[""] = Name
		count[Name]++
	}
	if 2*with < len(lines) || count[Base] != 1 || count[Name] != 1 || count[Size]+count[End] != 1 {
		return nil
	}
	return roles
}

// headColumns reads a line that names the columns of those below it.
func headColumns(line string) Columns {
	if len(line) > maxLabel*maxColumns {
		return nil
	}
	var words []string
	switch {
	case strings.ContainsAny(line, ",;|\t"):
		words = strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(",;|\t", r) })
	case strings.Contains(line, "  "):
		for _, w := range strings.Split(line, "  ") {
			if strings.TrimSpace(w) != "" {
				words = append(words, w)
			}
		}
	default:
		words = strings.Fields(line)
	}
	var c Columns
	for _, w := range words {
		for _, part := range strings.Fields(w) {
			if !isLabelWord(unquote(part)) {
				return nil
			}
		}
		role, known := roleOfLabel(unquote(w))
		if !known && len(words) < 4 {
			return nil
		}
		c = append(c, Column{Role: role})
	}
	if c.check() != nil {
		return nil
	}
	return c
}
