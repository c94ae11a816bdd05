package texts

import "strings"

// Texts pass through other programs before they come here: terminals colour frames, and containers, journals and runners put a
// time and a source before each line. The formats are recognised without either, and what is found is told by its place in the line as it is.

// undressed is a line without colours and without what a logging program put before it.
type undressed struct {
	text string
	// cut is how many bytes were taken off the front, and columns is where the rest of the bytes stand; nil if nothing was taken out of
	// their midst.
	cut     int
	columns []int
}

// undress takes colours and the prefix of a log off a line.
func undress(line string) (u undressed) {
	u.text = line
	if strings.IndexByte(line, '\x1b') >= 0 {
		u.uncolour()
	}
	u.cut = logPrefix(u.text)
	u.text = u.text[u.cut:]
	return u
}

// at returns where a byte stands in the line as it is.
func (u *undressed) at(i int) int {
	if u.columns == nil {
		return u.cut + i
	}
	return u.columns[u.cut+i]
}

// uncolour takes the escape sequences of terminals out of the text: ESC [ … letter, and ESC ] … BEL.
func (u *undressed) uncolour() {
	line := u.text
	var b strings.Builder
	u.columns = make([]int, 0, len(line)+1)
	for i := 0; i < len(line); {
		if n := escapeLength(line[i:]); n > 0 {
			i += n
			continue
		}
		b.WriteByte(line[i])
		u.columns = append(u.columns, i)
		i++
	}
	u.columns = append(u.columns, len(line))
	u.text = b.String()
}

// escapeLength returns the length of the escape sequence that a text begins with, 0 if there is none.
func escapeLength(s string) int {
	if len(s) < 2 || s[0] != '\x1b' {
		return 0
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= '@' && s[i] <= '~' {
				return i + 1
			}
		}
		return len(s)
	case ']':
		if i := strings.IndexByte(s, '\a'); i >= 0 {
			return i + 1
		}
		if i := strings.Index(s, "\x1b\\"); i > 0 {
			return i + 2
		}
		return len(s)
	}
	return 2
}

// logPrefix returns the length of what a logging program put before a line:
//
//	containers      2024-05-01T10:00:00.123456789Z stderr F
//	runners         2024-05-01T10:00:00.1234567Z
//	syslog          May  1 10:00:00 host app[123]:
//	compositions    web_1  |
//
// What stands behind it keeps its indentation.
func logPrefix(line string) int {
	c := scanner{s: line}
	switch {
	case c.isoTime():
		c.stream()
	case c.syslogTime():
		// The host, then the program.
		if !c.word() || !c.text(" ") {
			return 0
		}
		program := c.pos
		if !c.word() || c.s[c.pos-1] != ':' || c.pos == program+1 || !c.text(" ") {
			return 0
		}
	default:
		name, rest, ok := strings.Cut(line, "| ")
		if trimmed := strings.TrimRight(name, " "); !ok || trimmed == "" || trimmed == name || strings.ContainsAny(trimmed, " \t/\"(") || rest == "" {
			return 0
		}
		return len(name) + 2
	}
	return c.pos
}

// isoTime skips a time such as 2024-05-01T10:00:00.123Z and the blank behind it.
func (c *scanner) isoTime() bool {
	if !shaped(c.rest(), "0000-00-00T00:00:00") {
		return false
	}
	i := c.pos + len("0000-00-00T00:00:00")
	if i < len(c.s) && (c.s[i] == '.' || c.s[i] == ',') {
		i++
		i += digits(c.s[i:])
	}
	switch rest := c.s[i:]; {
	case strings.HasPrefix(rest, "Z"):
		i++
	case shaped(rest, "+00:00"), shaped(rest, "-00:00"):
		i += len("+00:00")
	case shaped(rest, "+0000"), shaped(rest, "-0000"):
		i += len("+0000")
	}
	if i >= len(c.s) || c.s[i] != ' ' {
		return false
	}
	c.pos = i + 1
	return true
}

// stream skips the name of a stream as the logs of containers have it, and whether the line is whole.
func (c *scanner) stream() {
	for _, s := range [...]string{"stdout F ", "stderr F ", "stdout P ", "stderr P ", "stdout ", "stderr "} {
		if c.text(s) {
			return
		}
	}
}

// syslogTime skips a time such as "May  1 10:00:00" and the blank behind it.
func (c *scanner) syslogTime() bool {
	const form = "Mmm 00 00:00:00 "
	s := c.rest()
	if len(s) < len(form) || !strings.Contains("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ", s[:4]) || s[0] == ' ' ||
		!shaped(s[4:], "00 00:00:00 ") && !shaped(s[4:], " 0 00:00:00 ") {
		return false
	}
	c.pos += len(form)
	return true
}

// word skips what is up to the next blank.
func (c *scanner) word() bool {
	i := strings.IndexByte(c.rest(), ' ')
	if i <= 0 {
		return false
	}
	c.pos += i
	return true
}

// shaped reports whether a text begins with a form, in which 0 stands for any digit.
func shaped(s, form string) bool {
	if len(s) < len(form) {
		return false
	}
	for i := range len(form) {
		if isDigit := s[i] >= '0' && s[i] <= '9'; form[i] == '0' && !isDigit || form[i] != '0' && s[i] != form[i] {
			return false
		}
	}
	return true
}
